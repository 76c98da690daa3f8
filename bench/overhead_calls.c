/* What a call costs when its work is next to nothing. */
#include <stdio.h>

#include "clock.h"
#include "einkorn/array.h"
#include "einkorn/ops/add.h"
#include "error.h"
#include "overhead.h"

enum { SIZE = 16 };

typedef void plain_fn(int64_t n, const float *x, const float *y, float *out);

typedef struct calls {
    ek_queue *queue;
    float x[SIZE], y[SIZE], out[SIZE];
    ek_array arrays[3];
} calls;

/* The same work without a library, behind a pointer as a kernel is. */
static void plain_add(int64_t n, const float *x, const float *y, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] + y[i];
}

static plain_fn *volatile plain = plain_add;

static ek_status plain_calls(void *context, int64_t times, double *ns)
{
    calls *c = context;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++)
        plain(SIZE, c->x, c->y, c->out);
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status typed_calls(void *context, int64_t times, double *ns)
{
    calls *c = context;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++)
        EK_TRY(ek_add_f32(c->queue, SIZE, c->x, c->y, c->out));
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status array_calls(void *context, int64_t times, double *ns)
{
    calls *c = context;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++)
        EK_TRY(ek_add(c->queue, &c->arrays[0], &c->arrays[1], &c->arrays[2]));
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status measure_calls(calls *c)
{
    const int64_t most = 1 << 22;
    result typed = {
        .device = "cpu", .beside = "a plain loop behind a pointer", .goal = GOAL_NS, .bound = 10};
    snprintf(typed.what, sizeof typed.what, "ek_add_f32, n = %d", SIZE);
    EK_TRY(measure(typed_calls, plain_calls, c, most, &typed.time));
    overhead_add(&typed);

    result array = {.device = "cpu", .beside = "ek_add_f32", .goal = GOAL_NS, .bound = 40};
    snprintf(array.what, sizeof array.what, "ek_add, n = %d", SIZE);
    EK_TRY(measure(array_calls, typed_calls, c, most, &array.time));
    overhead_add(&array);
    return EK_OK;
}

ek_status overhead_calls(void)
{
    static int64_t shape[] = {SIZE};
    ek_device *device;
    calls c = {0};
    EK_TRY(ek_device_open("cpu", &device));
    ek_status status = ek_queue_open(device, &c.queue);
    if (status == EK_OK) {
        float *data[] = {c.x, c.y, c.out};
        for (int i = 0; i < 3; i++)
            c.arrays[i] = ek_array_view(data[i], EK_F32, device, 1, shape);
        status = measure_calls(&c);
        ek_queue_close(c.queue);
    }
    ek_device_close(device);
    return status;
}
