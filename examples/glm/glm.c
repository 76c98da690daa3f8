/* Logistic regression whose inputs may be arrays of the host or of the device.
 *
 *   glm [--device cpu|cuda|cuda:N] [--rows N] [--columns N] [--steps N]
 *
 * The same function, regression_fit, is called four times: with inputs on the device and in host
 * memory, on a queue that refuses operands of the host, as queues do by default, and on one that
 * copies them in (EK_HOST_TO_DEVICE). Nothing is ever copied in silence: what is not allowed is
 * refused, and the message says by what it could be. A fifth call brings the inputs over once, by
 * ek_asarray, which does nothing where they are there already. */
#include <einkorn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "regression.h"

typedef struct problem {
    int64_t rows, columns;
    int steps;
    ek_array x, y; /* in host memory */
    int64_t x_shape[2], y_shape[2], w_shape[2];
} problem;

static void check(ek_status status)
{
    if (status != EK_OK) {
        fprintf(stderr, "glm: %s: %s\n", ek_status_name(status), ek_error_message());
        exit(1);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The next of a row of numbers in [-1, 1) (the generator is Steele and others' SplitMix64, 2014).
 */
static float next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (float)(int32_t)((z ^ (z >> 31)) >> 32) * 0x1p-31f;
}

/* Rows whose label is the side of a plane they are on, up to some noise. */
static void make(problem *p, ek_device *cpu)
{
    float *x = malloc((size_t)(p->rows * p->columns) * sizeof *x);
    float *y = malloc((size_t)p->rows * sizeof *y);
    if (!x || !y)
        abort();
    uint64_t state = 1;
    for (int64_t row = 0; row < p->rows; row++) {
        float side = next(&state);
        for (int64_t i = 0; i < p->columns; i++) {
            float value = next(&state);
            x[row * p->columns + i] = value;
            side += i % 2 ? value : -value;
        }
        y[row] = side > 0;
    }
    p->x_shape[0] = p->y_shape[0] = p->rows;
    p->x_shape[1] = p->w_shape[0] = p->columns;
    p->y_shape[1] = p->w_shape[1] = 1;
    p->x = ek_array_view(x, EK_F32, cpu, 2, p->x_shape);
    p->y = ek_array_view(y, EK_F32, cpu, 2, p->y_shape);
}

static uint64_t hash(ek_queue *queue, const ek_array *w, ek_device *cpu)
{
    size_t bytes = (size_t)w->shape[0] * sizeof(float);
    unsigned char *memory = malloc(bytes);
    if (!memory)
        abort();
    ek_array host = ek_array_view(memory, EK_F32, cpu, 2, w->shape);
    check(ek_copy(queue, &host, w));
    check(ek_queue_sync(queue));
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ memory[i]) * UINT64_C(0x100000001b3);
    free(memory);
    return hash;
}

/* Fits and reports; returns the hash of the weights, or 0 if the queue refused. */
static uint64_t fit(const char *what, ek_queue *queue, const problem *p, const ek_array *x,
                    const ek_array *y, ek_device *cpu)
{
    const float rate = 8;
    double share;
    uint64_t result = 0;
    ek_array w;
    check(ek_array_alloc(queue, EK_F32, 2, p->w_shape, &w));
    double start = now();
    ek_status status = regression_fit(queue, x, y, p->steps, rate, &w);
    if (status == EK_DEVICE_MISMATCH) {
        printf("%-28s refused: %s\n", what, ek_error_message());
    } else {
        check(status);
        check(ek_queue_sync(queue));
        double seconds = now() - start;
        check(regression_accuracy(queue, x, y, &w, &share));
        result = hash(queue, &w, cpu);
        printf("%-28s %7.1f us a step, %.2f%% right, weights %016" PRIx64 "\n", what,
               1e6 * seconds / p->steps, 100 * share, result);
    }
    check(ek_array_free(queue, &w));
    return result;
}

/* Every way to hand over the inputs; returns 0 if all that ran gave the same weights. */
static int compare(ek_device *device, const problem *p, ek_device *cpu)
{
    ek_queue *strict, *open;
    ek_array x, y;
    bool x_made, y_made;
    uint64_t first;
    int same = 1;
    check(ek_queue_open(device, &strict));
    check(ek_queue_open(device, &open));
    check(ek_queue_set_options(strict, 0));
    check(ek_queue_set_options(open, EK_HOST_TO_DEVICE));
    check(ek_asarray(strict, EK_F32, &p->x, &x, &x_made));
    check(ek_asarray(strict, EK_F32, &p->y, &y, &y_made));
    check(ek_queue_sync(strict));

    first = fit("inputs there by ek_asarray", strict, p, &x, &y, cpu);
    same &= fit("the same, copying allowed", open, p, &x, &y, cpu) == first;
    uint64_t refused = fit("inputs in host memory", strict, p, &p->x, &p->y, cpu);
    same &= refused == 0 || refused == first;
    same &= fit("the same, copying allowed", open, p, &p->x, &p->y, cpu) == first;

    if (x_made)
        check(ek_array_free(strict, &x));
    if (y_made)
        check(ek_array_free(strict, &y));
    ek_queue_close(open);
    ek_queue_close(strict);
    printf("%s\n", same ? "the same weights, bit for bit" : "THE WEIGHTS DIFFER");
    return !same;
}

static int usage(void)
{
    fprintf(stderr, "usage: glm [--device NAME] [--rows N] [--columns N] [--steps N]\n");
    return 2;
}

int main(int argc, char **argv)
{
    const char *name = "cpu";
    problem p = {.rows = 20000, .columns = 64, .steps = 100};
    for (int i = 1; i < argc; i += 2) {
        int number = i + 1 < argc ? atoi(argv[i + 1]) : 0;
        if (i + 1 < argc && strcmp(argv[i], "--device") == 0)
            name = argv[i + 1];
        else if (number > 0 && strcmp(argv[i], "--rows") == 0)
            p.rows = number;
        else if (number > 0 && strcmp(argv[i], "--columns") == 0)
            p.columns = number;
        else if (number > 0 && strcmp(argv[i], "--steps") == 0)
            p.steps = number;
        else
            return usage();
    }
    ek_device *cpu, *device;
    check(ek_device_open("cpu", &cpu));
    check(ek_device_open(name, &device));
    make(&p, cpu);
    printf("%s: %d rows of %d numbers, %d steps\n", ek_device_name(device), (int)p.rows,
           (int)p.columns, p.steps);
    int failed = compare(device, &p, cpu);
    free(p.x.data);
    free(p.y.data);
    ek_device_close(device);
    ek_device_close(cpu);
    return failed;
}
