/* usage: overhead [FILE]
 *
 * Prints a table of what the library's calls cost beside what they stand on, and writes it to FILE
 * as JSON. Exit status 0 if everything could be measured, whether or not it reached its goal. */
#include "overhead.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "einkorn/device.h"
#include "json.h"

enum { MOST_RESULTS = 128 };

static result results[MOST_RESULTS];
static int result_count;

static double speed(const result *r)
{
    return r->time.beside_ns / r->time.ns;
}

static bool reached(const result *r)
{
    switch (r->goal) {
    case GOAL_NS:
        return r->time.ns <= r->bound;
    case GOAL_MORE:
        return r->time.ns - r->time.beside_ns <= r->bound;
    case GOAL_SPEED:
        return speed(r) >= r->bound;
    default:
        return true;
    }
}

static void describe_goal(const result *r, char *text, size_t size)
{
    static const char *const formats[] = {
        [GOAL_NONE] = "",
        [GOAL_NS] = "at most %g ns",
        [GOAL_MORE] = "at most %g ns more",
        [GOAL_SPEED] = "at least %g of its speed",
    };
    text[0] = '\0';
    if (r->goal != GOAL_NONE)
        snprintf(text, size, formats[r->goal], r->bound);
}

static void print_result(const result *r)
{
    char bound[40];
    describe_goal(r, bound, sizeof bound);
    printf("%-5s %-46s %13.1f", r->device, r->what, r->time.ns);
    if (r->beside)
        printf("  %-34s %13.1f %6.3f %+10.1f", r->beside, r->time.beside_ns, speed(r),
               r->time.ns - r->time.beside_ns);
    else
        printf("  %-34s %13s %6s %10s", "-", "-", "-", "-");
    if (r->goal != GOAL_NONE)
        printf("  %s: %s", bound, reached(r) ? "yes" : "NO");
    printf("\n");
    fflush(stdout);
}

void overhead_add(const result *r)
{
    if (result_count < MOST_RESULTS)
        results[result_count++] = *r;
    print_result(r);
}

static void write_result(json *out, const result *r)
{
    char bound[40];
    json_object(out, NULL);
    json_string(out, "what", r->what);
    json_string(out, "device", r->device);
    json_number(out, "ns", r->time.ns);
    if (r->beside) {
        json_string(out, "beside", r->beside);
        json_number(out, "beside_ns", r->time.beside_ns);
        json_number(out, "speed", speed(r));
    }
    if (r->goal != GOAL_NONE) {
        describe_goal(r, bound, sizeof bound);
        json_string(out, "goal", bound);
        json_bool(out, "reached", reached(r));
    }
    json_end(out);
}

static void write_machine(json *out)
{
    static const char *const names[] = {"cpu", "cuda"};
    json_object(out, "machine");
    for (int i = 0; i < 2; i++) {
        ek_device *device;
        if (ek_device_open(names[i], &device) != EK_OK)
            continue;
        json_string(out, names[i], ek_device_model(device));
        ek_device_close(device);
    }
    json_end(out);
}

static int write_report(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file) {
        fprintf(stderr, "overhead: '%s' cannot be written\n", path);
        return 1;
    }
    json out = json_begin(file);
    write_machine(&out);
    json_array(&out, "rows");
    for (int i = 0; i < result_count; i++)
        write_result(&out, &results[i]);
    json_end(&out);
    json_finish(&out);
    if (fclose(file) != 0) {
        fprintf(stderr, "overhead: '%s' cannot be written\n", path);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static ek_status (*const parts[])(void) = {overhead_calls,  overhead_memory,  overhead_alloc,
                                               overhead_gemm,   overhead_launch,  overhead_program,
                                               overhead_cublas, overhead_threads, overhead_copy};
    int failed = 0;
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        fprintf(stderr, "usage: overhead [FILE]\n");
        return 2;
    }
    printf("%-5s %-46s %13s  %-34s %13s %6s %10s  %s\n", "", "WHAT", "NS", "BESIDE", "NS", "SPEED",
           "NS MORE", "GOAL");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i]() != EK_OK) {
            fprintf(stderr, "overhead: %s\n", ek_error_message());
            failed = 1;
        }
    }
    if (argc == 2)
        failed |= write_report(argv[1]);
    return failed;
}
