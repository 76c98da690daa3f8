/* Failures that come late: work on a GPU fails after the call that gave it has returned. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_guards.h"
#include "cuda/launch.h"
#include "einkorn/event.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"
#include "einkorn/ops/copy.h"
#include "einkorn/ops/exp.h"
#include "einkorn/ops/gemm.h"
#include "einkorn/ops/sum.h"
#include "einkorn/program.h"
#include "fake.h"

enum { N = 16 };

/* What a test works with: a queue, memory and an event of a device, and a program that adds. */
typedef struct bench {
    ek_device *cpu;
    ek_queue *queue;
    ek_event *event;
    ek_program *program;
    float *x;
} bench;

static void open_bench(bench *b, const char *device)
{
    OK(ek_device_open("cpu", &b->cpu));
    b->queue = fake_queue(device);
    b->x = fake_floats(b->queue, N);
    OK(ek_event_open(ek_queue_device(b->queue), &b->event));
    OK(ek_record_begin(b->queue));
    OK(ek_add_f32(b->queue, N, b->x, b->x, b->x));
    OK(ek_record_end(b->queue, &b->program));
}

static void close_bench(bench *b)
{
    ek_program_close(b->program);
    ek_event_close(b->event);
    ek_free(b->queue, b->x);
    ek_queue_close(b->queue);
    ek_device_close(b->cpu);
}

static const int64_t length = N;

static ek_array row(const bench *b)
{
    return ek_array_view(b->x, EK_F32, ek_queue_device(b->queue), 1, (int64_t *)&length);
}

/* ---- calls of every sort that give the device work or ask for it */

static ek_status typed_call(const bench *b)
{
    return ek_add_f32(b->queue, N, b->x, b->x, b->x);
}

static ek_status array_call(const bench *b)
{
    ek_array x = row(b);
    return ek_exp(b->queue, &x, &x);
}

static ek_status reduction(const bench *b)
{
    return ek_sum_f32(b->queue, 1, N - 1, 1, b->x, b->x + N - 1);
}

static ek_status product(const bench *b)
{
    ek_gemm_shape shape = ek_gemm_plain_shape(2, 2, 2);
    return ek_gemm_f32(b->queue, &shape, 1, b->x, b->x + 4, 0, b->x + 8);
}

static ek_status copy_in(const bench *b)
{
    float host[N] = {0};
    ek_array x = row(b), from = ek_array_view(host, EK_F32, b->cpu, 1, (int64_t *)&length);
    return ek_copy(b->queue, &x, &from);
}

static ek_status copy_out(const bench *b)
{
    float host[N];
    ek_array x = row(b), to = ek_array_view(host, EK_F32, b->cpu, 1, (int64_t *)&length);
    return ek_copy(b->queue, &to, &x);
}

static ek_status run_program(const bench *b)
{
    return ek_program_run(b->queue, b->program);
}

static ek_status record_event(const bench *b)
{
    return ek_event_record(b->event, b->queue);
}

static ek_status wait_for_event(const bench *b)
{
    return ek_event_wait(b->event, b->queue);
}

static ek_status sync_event(const bench *b)
{
    return ek_event_sync(b->event);
}

static ek_status query_event(const bench *b)
{
    int reached;
    return ek_event_query(b->event, &reached);
}

static ek_status sync_queue(const bench *b)
{
    return ek_queue_sync(b->queue);
}

static ek_status open_queue(const bench *b)
{
    ek_queue *queue;
    ek_status status = ek_queue_open(ek_queue_device(b->queue), &queue);
    if (status == EK_OK)
        ek_queue_close(queue);
    return status;
}

typedef struct sort_of_call {
    ek_status (*call)(const bench *b);
    const char *given; /* what is remembered of it; null: nothing */
} sort_of_call;

static const sort_of_call sorts[] = {
    {typed_call, "ek_add"},
    {array_call, "ek_exp"},
    {reduction, "ek_sum"},
    {product, "ek_gemm"},
    {run_program, "ek_program_run"},
    {copy_in, "ek_copy"},
    {copy_out, "ek_copy"},
    {record_event, NULL},
    {wait_for_event, NULL},
    {sync_event, NULL},
    {query_event, NULL},
    {sync_queue, NULL},
    {open_queue, NULL},
};

enum { SORTS = sizeof sorts / sizeof sorts[0] };

/* O028: what is broken stays so: every call says it and none returns ok, whatever is current and
 * however often it is asked. The other device does not mind. */
START_TEST(broken_devices_say_so)
{
    bench broken, other;
    CUcontext mine = fake_set_current(_i - 1);
    open_bench(&broken, "cuda:1");
    open_bench(&other, "cuda:0");
    for (int i = 0; i < SORTS; i++)
        OK(sorts[i].call(&broken));
    fake.break_device(1, CUDA_ERROR_ILLEGAL_ADDRESS);
    for (int i = 0; i < 3 * SORTS; i++) {
        ek_status status = sorts[i % SORTS].call(&broken);
        ck_assert_msg(status == EK_ASYNC_ERROR, "call %d gives %s", i % SORTS,
                      ek_status_name(status));
        ck_assert_ptr_nonnull(strstr(ek_error_message(), "earlier asynchronous work failed"));
        ck_assert_ptr_eq(fake_current(), mine);
        OK(sorts[i % SORTS].call(&other));
    }
    close_bench(&broken);
    close_bench(&other);
    fake.break_device(1, 0);
    ck_assert_int_eq(fake.context_failures(), 0);
}
END_TEST

/* The message names what the queue was given last, and a recording gives it nothing. */
START_TEST(messages_name_the_operation)
{
    bench b;
    open_bench(&b, "cuda:1");
    for (int i = 0; i < SORTS; i++) {
        char wanted[64] = "failed: an illegal address";
        ek_program *recorded;
        if (!sorts[i].given)
            continue;
        snprintf(wanted, sizeof wanted, "at or before %s: an illegal address", sorts[i].given);
        OK(sorts[i].call(&b));
        OK(ek_record_begin(b.queue));
        OK(ek_add_f32(b.queue, N, b.x, b.x, b.x));
        OK(ek_record_end(b.queue, &recorded));
        ek_program_close(recorded);
        OK(ek_event_record(b.event, b.queue));
        fake.break_device(1, CUDA_ERROR_ILLEGAL_ADDRESS);
        for (int k = 0; k < SORTS; k++) {
            ck_assert_int_eq(sorts[k].call(&b), EK_ASYNC_ERROR);
            ck_assert_msg(sorts[k].call == open_queue || strstr(ek_error_message(), wanted),
                          "no '%s' in: %s", wanted, ek_error_message());
        }
        fake.break_device(1, 0);
    }
    close_bench(&b);
}
END_TEST

START_TEST(nothing_to_name)
{
    ek_queue *queue = fake_queue("cuda:1");
    fake.break_device(1, CUDA_ERROR_LAUNCH_FAILED);
    ck_assert_int_eq(ek_queue_sync(queue), EK_ASYNC_ERROR);
    ck_assert_str_eq(ek_error_message(), "ek_queue_sync: earlier asynchronous work failed: "
                                         "unspecified launch failure (seen by "
                                         "cuStreamSynchronize)");
    fake.break_device(1, 0);
    ek_queue_close(queue);
}
END_TEST

/* O028: with the option, or with EINKORN_SYNC=1 when the queue was opened, it is the operation
 * itself that fails. */
START_TEST(waiting_names_the_operation)
{
    bench b;
    if (_i)
        setenv("EINKORN_SYNC", "1", 1);
    open_bench(&b, "cuda:1");
    if (!_i)
        OK(ek_queue_set_options(b.queue, EK_SYNC_EACH_CALL));
    OK(product(&b)); /* makes cuBLAS ready */
    for (int i = 0; i < SORTS; i++) {
        if (!sorts[i].given)
            continue;
        char wanted[128];
        snprintf(wanted, sizeof wanted, "%s: its work on the device failed: an illegal address",
                 sorts[i].given);
        bool waits_anyway = sorts[i].call == copy_out; /* to pageable memory */
        int syncs = fake.calls("cuStreamSynchronize");
        OK(sorts[i].call(&b));
        ck_assert_int_eq(fake.calls("cuStreamSynchronize"), syncs + 1 + waits_anyway);
        fake.fail_call("cuStreamSynchronize", 1 + waits_anyway, CUDA_ERROR_ILLEGAL_ADDRESS);
        ck_assert_int_eq(sorts[i].call(&b), EK_ASYNC_ERROR);
        ck_assert_str_eq(ek_error_message(), wanted);
        OK(sorts[i].call(&b));
    }
    OK(ek_queue_set_options(b.queue, 0));
    int syncs = fake.calls("cuStreamSynchronize");
    OK(typed_call(&b));
    ck_assert_int_eq(fake.calls("cuStreamSynchronize"), syncs);
    close_bench(&b);
    unsetenv("EINKORN_SYNC");
}
END_TEST

/* To wait would be the end of a recording, and of a capture by the application. */
START_TEST(recordings_do_not_wait)
{
    bench b;
    ek_program *program = NULL;
    open_bench(&b, "cuda:1");
    OK(ek_queue_set_options(b.queue, EK_SYNC_EACH_CALL));
    int syncs = fake.calls("cuStreamSynchronize");
    OK(ek_record_begin(b.queue));
    OK(typed_call(&b));
    OK(ek_record_end(b.queue, &program));
    CUgraph graph = NULL;
    fake.stream_begin_capture(ek_queue_stream(b.queue), CU_STREAM_CAPTURE_MODE_RELAXED);
    OK(typed_call(&b));
    ck_assert_int_eq(fake.stream_end_capture(ek_queue_stream(b.queue), &graph), CUDA_SUCCESS);
    ck_assert_int_eq(fake.calls("cuStreamSynchronize"), syncs);
    fake.graph_destroy(graph);
    ek_program_close(program);
    close_bench(&b);
}
END_TEST

/* O030: a launch that is refused is the failure of one call. */
START_TEST(failed_launches_are_told_once)
{
    extern const ek_cuda_kernels ek_add__cuda;
    const ek_grid impossible = {{1, 1, 1}, {2048, 1, 1}, 0};
    ek_queue *queue = fake_queue("cuda:1");
    float *x = fake_floats(queue, N);
    void *params[] = {&x};
    ck_assert_int_eq(ek_cuda_launch(queue, &ek_add__cuda, 0, &impossible, params), EK_DEVICE_ERROR);
    OK(ek_add_f32(queue, N, x, x, x));
    OK(ek_queue_sync(queue));
    ck_assert_int_eq(fake.kernels(), 1);
    OK(ek_free(queue, x));
    ek_queue_close(queue);
}
END_TEST

/* O027: what the application did wrong before is its own matter. */
START_TEST(failures_of_the_application)
{
    CUcontext popped;
    CUstream stream;
    ek_queue *queue = fake_queue("cuda:1");
    float *x = fake_floats(queue, N);
    ck_assert_int_ne(fake.pop(&popped), CUDA_SUCCESS);
    ck_assert_int_ne(fake.stream_create(&stream, 0), CUDA_SUCCESS);
    ck_assert_int_ne(fake.host_free(x), CUDA_SUCCESS);
    OK(ek_sum_f32(queue, 1, N - 1, 1, x, x + N - 1));
    OK(ek_queue_sync(queue));
    OK(ek_free(queue, x));
    ek_queue_close(queue);
}
END_TEST

/* O025: what a capture by the application cannot hold is refused before the stream is touched; once
 * the queue has the room, it can. */
START_TEST(captures_by_the_application)
{
    enum { LONG = 100000 };
    ek_device *device = NULL;
    ek_queue *queue = NULL;
    OK(ek_device_open("cuda:1", &device));
    CUstream mine = fake_stream(1);
    OK(ek_queue_wrap_stream(device, mine, &queue));
    ek_queue *own = fake_queue("cuda:1");
    bench b = {.queue = queue, .x = fake_floats(own, LONG + 1)};
    for (int warm = 0; warm < 2; warm++) {
        CUgraph graph = NULL;
        ek_status wanted = warm ? EK_OK : EK_UNSUPPORTED;
        fake.stream_begin_capture(mine, CU_STREAM_CAPTURE_MODE_RELAXED);
        int kernels = fake.kernels();
        OK(typed_call(&b));
        ck_assert_int_eq(ek_sum_f32(queue, 1, LONG, 1, b.x, b.x + LONG), wanted);
        ck_assert_int_eq(product(&b), wanted);
        ck_assert_int_eq(fake.kernels(), kernels);
        ck_assert_int_eq(fake.stream_end_capture(mine, &graph), CUDA_SUCCESS);
        ck_assert_ptr_nonnull(graph);
        fake.graph_destroy(graph);
        OK(ek_sum_f32(queue, 1, LONG, 1, b.x, b.x + LONG));
        OK(product(&b));
    }
    OK(ek_free(own, b.x));
    ek_queue_close(own);
    ek_queue_close(queue);
    ek_device_close(device);
    fake.stream_destroy(mine);
    ck_assert_int_eq(fake.context_failures(), 0);
}
END_TEST

TCase *late_errors_case(void)
{
    TCase *late = tcase_create("late errors");
    tcase_add_loop_test(late, broken_devices_say_so, 0, FAKE_DEVICES + 1);
    tcase_add_test(late, messages_name_the_operation);
    tcase_add_test(late, nothing_to_name);
    tcase_add_loop_test(late, waiting_names_the_operation, 0, 2);
    tcase_add_test(late, recordings_do_not_wait);
    tcase_add_test(late, failed_launches_are_told_once);
    tcase_add_test(late, failures_of_the_application);
    tcase_add_test(late, captures_by_the_application);
    return late;
}
