/* CUDA without a GPU: which context is current around every call, where work goes, what a failing
 * driver does to the library. Each test runs in a process of its own, with a fresh fake driver. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "check_guards.h"
#include "counts.h"
#include "cuda/launch.h"
#include "einkorn/array.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"
#include "einkorn/ops/lt.h"
#include "einkorn/ops/sum.h"
#include "einkorn/program.h"
#include "fake.h"

/* ---- what a call of each sort does, in one function that stops at the first failure */

static ek_status use_memory(ek_queue *queue)
{
    enum { N = 8 };
    float host[N] = {1, 2, 3}, back[N] = {0};
    float *x = NULL;
    const ek_backend *backend = ek_queue_device(queue)->backend;
    EK_TRY(ek_alloc(queue, sizeof host, (void **)&x));
    ek_status status =
        backend->transfer(queue, x, 0, EK_DEVICE_CUDA, host, 0, EK_DEVICE_CPU, sizeof host, 1);
    if (status == EK_OK)
        status = ek_add_f32(queue, N, x, x, x);
    if (status == EK_OK)
        status = backend->transfer(queue, back, 8, EK_DEVICE_CPU, x, 8, EK_DEVICE_CUDA, 4, N / 2);
    void *room = NULL;
    if (status == EK_OK)
        status = ek_cuda_workspace(queue, 100, &room);
    ek_status freed = ek_free(queue, x);
    return status != EK_OK ? status : freed;
}

static ek_status use_events(ek_queue *queue)
{
    ek_event *start = NULL, *end = NULL;
    int reached = 0;
    double nanoseconds = 0;
    EK_TRY(ek_event_open(ek_queue_device(queue), &start));
    ek_status status = ek_event_open(ek_queue_device(queue), &end);
    if (status == EK_OK)
        status = ek_event_record(start, queue);
    if (status == EK_OK)
        status = ek_event_record(end, queue);
    if (status == EK_OK)
        status = ek_event_wait(end, queue);
    if (status == EK_OK)
        status = ek_event_sync(end);
    if (status == EK_OK)
        status = ek_event_query(end, &reached);
    if (status == EK_OK)
        status = ek_event_elapsed(start, end, &nanoseconds);
    ek_event_close(start);
    ek_event_close(end);
    return status;
}

/* Calls that need memory of their own and of their queue. */
static ek_status record_calls(ek_queue *queue)
{
    enum { N = 10000 };
    float *x = NULL;
    EK_TRY(ek_alloc(queue, (N + 1) * sizeof *x, (void **)&x));
    ek_status status = ek_add_f32(queue, N, x, x, x);
    if (status == EK_OK)
        status = ek_sum_f32(queue, 1, N, 1, x, x + N);
    ek_status freed = ek_free(queue, x);
    return status != EK_OK ? status : freed;
}

static ek_status use_programs(ek_queue *queue)
{
    ek_program *program = NULL;
    EK_TRY(ek_record_begin(queue));
    ek_status status = record_calls(queue);
    ek_status ended = ek_record_end(queue, &program);
    status = status != EK_OK ? status : ended;
    for (int run = 0; run < 2 && status == EK_OK; run++)
        status = ek_program_run(queue, program);
    ek_program_close(program);
    return status;
}

static ek_status use_device(const char *name)
{
    ek_device *device = NULL;
    ek_queue *queue = NULL;
    EK_TRY(ek_device_open(name, &device));
    ek_status status = ek_queue_open(device, &queue);
    if (status == EK_OK)
        status = use_memory(queue);
    if (status == EK_OK)
        status = use_events(queue);
    if (status == EK_OK)
        status = use_programs(queue);
    if (status == EK_OK)
        status = ek_queue_sync(queue);
    ek_queue_close(queue);
    ek_device_close(device);
    return status;
}

/* ---- the caller's context */

/* Context of none, of device 0, of device 1; each with work on both devices. */
START_TEST(context_stays)
{
    CUcontext mine = fake_set_current(_i - 1);
    for (int device = 0; device < FAKE_DEVICES; device++) {
        OK(use_device(fake_device_names[device]));
        ck_assert_ptr_eq(fake_current(), mine);
    }
    ck_assert_int_eq(fake.context_failures(), 0);
}
END_TEST

/* Nothing is pushed where the right context is current already. */
START_TEST(no_needless_push)
{
    fake_set_current(1);
    int pushes = fake.calls("cuCtxPushCurrent");
    OK(use_device("cuda:1"));
    ck_assert_int_eq(fake.calls("cuCtxPushCurrent"), pushes);
    OK(use_device("cuda:0"));
    ck_assert_int_gt(fake.calls("cuCtxPushCurrent"), pushes);
    ck_assert_int_eq(fake.calls("cuCtxPushCurrent") - 1, fake.calls("cuCtxPopCurrent"));
}
END_TEST

/* ---- failures */

static const char *const failing[] = {
    "cuDeviceGet",         "cuDeviceGetName",       "cuDeviceGetAttribute",
    "cuMemPoolCreate",     "cuMemPoolSetAttribute", "cuDevicePrimaryCtxRetain",
    "cuCtxGetCurrent",     "cuCtxPushCurrent",      "cuMemAllocFromPoolAsync",
    "cuMemcpyAsync",       "cuMemcpy2DAsync",       "cuStreamCreate",
    "cuStreamSynchronize", "cuStreamWaitEvent",     "cuEventCreate",
    "cuEventRecord",       "cuEventSynchronize",    "cuEventQuery",
    "cuEventElapsedTime",  "cuLibraryLoadData",     "cuLibraryGetKernel",
    "cuLaunchKernel",      "cuStreamBeginCapture",  "cuStreamEndCapture",
    "cuGraphInstantiate",  "cuGraphLaunch",
};

enum { FAILING = sizeof failing / sizeof failing[0] };

/* Fails the first call of an entry, then the second, and so on until none is left to fail: each
 * time the status is a failure, nothing is left behind, the caller's context is the same, and the
 * same work succeeds afterwards. */
START_TEST(failures_leave_things_usable)
{
    const char *entry = failing[_i % FAILING];
    CUcontext mine = fake_set_current(_i < FAILING ? -1 : 1);
    int alive = fake.alive();
    ek_status status = EK_DEVICE_ERROR;
    for (int n = 1; status != EK_OK; n++) {
        ck_assert_int_lt(n, 100);
        fake.fail_call(entry, n, CUDA_ERROR_UNKNOWN);
        status = use_device("cuda:0");
        fake.fail_call(entry, 0, 0);
        ck_assert_ptr_eq(fake_current(), mine);
        ck_assert_int_eq(fake.alive(), alive);
        ck_assert_int_le(fake.libraries(), 2);
        if (status == EK_OK)
            ck_assert_int_gt(n, 1);
        else
            ck_assert_ptr_nonnull(strstr(ek_error_message(), "another failure"));
        OK(use_device("cuda:0"));
    }
    ck_assert_int_eq(fake.context_failures(), 0);
}
END_TEST

START_TEST(out_of_memory)
{
    ek_queue *queue = fake_queue("cuda");
    void *memory = queue;
    fake.room(0);
    ck_assert_int_eq(ek_alloc(queue, 4096, &memory), EK_OUT_OF_MEMORY);
    ck_assert_ptr_eq(memory, queue);
    ck_assert_str_eq(ek_error_message(), "ek_alloc: bytes is 4096: cuda:0 has no room for them: "
                                         "0 in use, no limit set");
    fake.room(SIZE_MAX);
    OK(ek_alloc(queue, 4096, &memory));
    OK(ek_free(queue, memory));
    ek_queue_close(queue);
}
END_TEST

/* What earlier work did wrong is named asynchronous, whichever call hears of it. */
START_TEST(asynchronous_failures)
{
    ek_queue *queue = fake_queue("cuda");
    float *x = fake_floats(queue, 8);
    fake.fail_call("cuStreamSynchronize", 1, CUDA_ERROR_LAUNCH_FAILED);
    ck_assert_int_eq(ek_queue_sync(queue), EK_ASYNC_ERROR);
    ck_assert_str_eq(ek_error_message(), "ek_queue_sync: earlier asynchronous work failed: "
                                         "unspecified launch failure (seen by "
                                         "cuStreamSynchronize)");
    fake.fail_call("cuLaunchKernel", 1, CUDA_ERROR_LAUNCH_FAILED);
    ck_assert_int_eq(ek_add_f32(queue, 8, x, x, x), EK_ASYNC_ERROR);
    ck_assert_str_eq(ek_error_message(),
                     "ek_add_f32: earlier asynchronous work failed: unspecified "
                     "launch failure (seen by cuLaunchKernel)");
    OK(ek_free(queue, x));
    ek_queue_close(queue);
}
END_TEST

START_TEST(no_gpu)
{
    ek_device *device = NULL;
    setenv("EK_FAKE_DEVICES", "0", 1);
    ck_assert_int_eq(ek_device_count(EK_DEVICE_CUDA), 0);
    ck_assert_int_eq(ek_device_open("cuda", &device), EK_NO_DEVICE);
    ck_assert_ptr_null(device);
    ck_assert_str_eq(ek_error_message(), "ek_device_open: the CUDA driver does not start: "
                                         "no CUDA-capable device is detected");
}
END_TEST

START_TEST(too_high_index)
{
    ek_device *device = NULL;
    ck_assert_int_eq(ek_device_count(EK_DEVICE_CUDA), FAKE_DEVICES);
    ck_assert_int_eq(ek_device_open("cuda:2", &device), EK_NO_DEVICE);
    ck_assert_ptr_null(device);
}
END_TEST

/* ---- launches */

START_TEST(launches_reach_their_queue)
{
    for (int i = 0; i < FAKE_DEVICES; i++) {
        ek_queue *queue = fake_queue(fake_device_names[i]);
        float *x = fake_floats(queue, 10000);
        OK(ek_add_f32(queue, 10000, x, x, x));
        ek_fake_launch launch = fake.last_launch();
        ck_assert_str_eq(launch.kernel, "ek_add_f32");
        ck_assert_int_eq(launch.device, i);
        ck_assert_ptr_eq(launch.stream, ek_queue_stream(queue));
        ck_assert_uint_eq(launch.blocks[0], 3);
        OK(ek_free(queue, x));
        ek_queue_close(queue);
    }
}
END_TEST

/* A warm typed call is one call of the driver, whatever is current. */
START_TEST(one_driver_call)
{
    fake_set_current(_i - 1);
    ek_queue *queue = fake_queue("cuda:1");
    float *x = fake_floats(queue, 8);
    OK(ek_add_f32(queue, 8, x, x, x));
    int calls = fake.calls(NULL);
    OK(ek_add_f32(queue, 8, x, x, x));
    ck_assert_int_eq(fake.calls(NULL), calls + 1);
    OK(ek_free(queue, x));
    ek_queue_close(queue);
}
END_TEST

START_TEST(refused_and_empty_calls_launch_nothing)
{
    ek_queue *queue = fake_queue("cuda");
    float *x = fake_floats(queue, 16);
    int calls = fake.calls(NULL);
    OK(ek_add_f32(queue, 0, x, x, x));
    OK(ek_add_f32(queue, 0, NULL, NULL, NULL));
    ck_assert_int_eq(ek_add_f32(queue, -1, x, x, x), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_add_f32(queue, 4, x, NULL, x), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_add_f32(queue, 4, x, x, x + 1), EK_OVERLAP);
    ck_assert_int_eq(ek_add_f32(queue, INT64_MAX / 8, x, x, x), EK_INVALID_ARGUMENT);
    float *odd = (float *)((char *)x + 2);
    ck_assert_int_eq(ek_add_f32(queue, 4, x, odd, x + 8), EK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(ek_error_message(), "ek_add_f32: y is at "));
    int64_t length = 4;
    ek_array a = ek_array_view(odd, EK_F32, ek_queue_device(queue), 1, &length);
    ek_array out = ek_array_view(x + 8, EK_F32, ek_queue_device(queue), 1, &length);
    ck_assert_int_eq(ek_add(queue, &a, &a, &out), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(fake.calls(NULL), calls);
    OK(ek_free(queue, x));
    ek_queue_close(queue);
}
END_TEST

/* Which kernel a layout gets: the order of dimensions alone does not make it another one. */
START_TEST(layouts_choose_kernels)
{
    ek_queue *queue = fake_queue("cuda");
    float *x = fake_floats(queue, 64);
    int64_t shape[] = {4, 8}, columns[] = {1, 4}, row[] = {0, 1}, wide[] = {8, 1};
    ek_array a = ek_array_view(x, EK_F32, ek_queue_device(queue), 2, shape);
    ek_array out = ek_array_view(x + 32, EK_F32, ek_queue_device(queue), 2, shape);
    a.strides = out.strides = columns;
    OK(ek_add(queue, &a, &a, &out));
    ck_assert_str_eq(fake.last_launch().kernel, "ek_add_f32");
    a.strides = wide;
    OK(ek_add(queue, &a, &a, &out));
    ck_assert_str_eq(fake.last_launch().kernel, "ek_add_f32_walk");
    out.strides = NULL;
    OK(ek_add(queue, &a, &a, &out));
    ck_assert_str_eq(fake.last_launch().kernel, "ek_add_f32");
    a.strides = row;
    OK(ek_add(queue, &a, &a, &out));
    ck_assert_str_eq(fake.last_launch().kernel, "ek_add_f32_lines");
    OK(ek_free(queue, x));
    ek_queue_close(queue);
}
END_TEST

static void *first_call(void *barrier)
{
    ek_queue *queue = fake_queue("cuda");
    float *x = fake_floats(queue, 8);
    pthread_barrier_wait(barrier);
    OK(ek_add_f32(queue, 8, x, x, x));
    OK(ek_lt_f32(queue, 8, x, x, (ek_b8 *)x + 16 * sizeof(float)));
    OK(ek_free(queue, x));
    ek_queue_close(queue);
    return NULL;
}

/* Kernels are loaded once, however many threads want them first. */
START_TEST(threads_load_once)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, first_call, &barrier), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    ck_assert_int_eq(fake.calls("cuLibraryLoadData"), 2);
    ck_assert_int_eq(fake.calls("cuLaunchKernel"), 2 * THREADS);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

/* ---- queues of an application's streams, workspace */

START_TEST(wrapped_streams)
{
    ek_device *device = NULL;
    ek_queue *queue = NULL;
    OK(ek_device_open("cuda:1", &device));
    CUstream other = fake_stream(0), mine = fake_stream(1);
    ck_assert_int_eq(ek_queue_wrap_stream(device, other, &queue), EK_DEVICE_MISMATCH);
    ck_assert_int_eq(ek_queue_wrap_stream(device, NULL, &queue), EK_UNSUPPORTED);
    ck_assert_int_eq(ek_queue_wrap_stream(device, CU_STREAM_LEGACY, &queue), EK_UNSUPPORTED);
    ck_assert_int_eq(ek_queue_wrap_stream(device, CU_STREAM_PER_THREAD, &queue), EK_UNSUPPORTED);
    OK(ek_queue_wrap_stream(device, mine, &queue));
    OK(use_memory(queue));
    ck_assert_ptr_eq(fake.last_launch().stream, mine);
    ek_queue_close(queue);
    ck_assert_int_eq(fake.calls("cuStreamDestroy"), 0);
    ek_device_close(device);
    fake.stream_destroy(other);
    fake.stream_destroy(mine);
}
END_TEST

START_TEST(workspace_grows_and_stays)
{
    ek_queue *queue = fake_queue("cuda");
    void *small = NULL, *same = NULL, *large = NULL;
    OK(ek_cuda_workspace(queue, 1000, &small));
    OK(ek_cuda_workspace(queue, 2000, &same));
    ck_assert_ptr_eq(small, same);
    fake.room(0);
    ck_assert_int_eq(ek_cuda_workspace(queue, 5 << 20, &large), EK_OUT_OF_MEMORY);
    fake.room(SIZE_MAX);
    OK(ek_cuda_workspace(queue, 2000, &same));
    ck_assert_ptr_eq(small, same);
    OK(ek_cuda_workspace(queue, 5 << 20, &large));
    memset(large, 0, 5 << 20);
    int calls = fake.calls(NULL);
    OK(ek_cuda_workspace(queue, 5 << 20, &same));
    ck_assert_ptr_eq(large, same);
    ck_assert_int_eq(fake.calls(NULL), calls);
    ek_queue_close(queue);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

/* ---- programs */

START_TEST(programs_are_graphs)
{
    CUcontext mine = fake_set_current(_i - 1);
    int alive = fake.alive();
    ek_queue *queue = fake_queue("cuda:1"), *other = fake_queue("cuda:1");
    ek_queue *elsewhere = fake_queue("cuda:0");
    ek_program *program = NULL;
    float *x = fake_floats(queue, 8);
    OK(ek_record_begin(queue));
    OK(ek_add_f32(queue, 8, x, x, x));
    OK(ek_lt_f32(queue, 4, x, x, (ek_b8 *)(x + 4)));
    ck_assert_int_eq(fake.kernels(), 0);
    OK(ek_record_end(queue, &program));
    ck_assert_ptr_eq(fake_current(), mine);
    int calls = fake.calls(NULL);
    OK(ek_program_run(other, program)); /* is one call of the driver */
    ck_assert_int_eq(fake.calls(NULL), calls + 1);
    ck_assert_int_eq(fake.kernels(), 2);
    ck_assert_str_eq(fake.last_launch().kernel, "ek_lt_f32");
    ck_assert_ptr_eq(fake.last_launch().stream, ek_queue_stream(other));
    ck_assert_int_eq(ek_program_run(elsewhere, program), EK_DEVICE_MISMATCH);
    ck_assert_int_eq(fake.kernels(), 2);
    ek_queue_close(elsewhere);
    OK(ek_free(queue, x));
    ek_queue_close(queue);
    ek_queue_close(other);
    ek_program_close(program); /* kept the device */
    ck_assert_int_eq(fake.alive(), alive);
    ck_assert_int_eq(fake.context_failures(), 0);
}
END_TEST

/* A recording takes its workspace from the program, and the queue has its own again afterwards. */
START_TEST(programs_keep_their_memory)
{
    ek_queue *queue = fake_queue("cuda");
    ek_program *program = NULL;
    void *own = NULL, *small = NULL, *same = NULL, *large = NULL, *reused = NULL;
    OK(ek_cuda_workspace(queue, 1000, &own));
    OK(ek_record_begin(queue));
    OK(ek_cuda_workspace(queue, 1000, &small));
    OK(ek_cuda_workspace(queue, 2000, &same));
    void *block = ek_cuda_tickets(queue); /* with which the workspace begins */
    OK(ek_cuda_workspace(queue, 5 << 20, &large));
    uint32_t *tickets = ek_cuda_tickets(queue);
    OK(ek_alloc(queue, 1 << 20, &reused));
    ck_assert_ptr_ne(small, own);
    ck_assert_ptr_eq(small, same);
    ck_assert_ptr_ne(large, small);
    ck_assert_ptr_eq(reused, block);
    OK(ek_record_end(queue, &program));
    int calls = fake.calls(NULL);
    OK(ek_cuda_workspace(queue, 1000, &same));
    ck_assert_ptr_eq(same, own);
    ck_assert_int_eq(fake.calls(NULL), calls);
    memset(large, 0, 5 << 20);
    tickets[0] = 7; /* as a run that failed may leave them: each run begins with fresh ones */
    OK(ek_program_run(queue, program));
    ck_assert_int_eq(tickets[0], 0);
    ek_queue_close(queue);
    memset(large, 0, 5 << 20); /* lives as long as the program */
    ek_program_close(program);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

/* A call that was recorded in part is the end of the recording, but not of the queue. */
START_TEST(programs_are_whole)
{
    ek_queue *queue = fake_queue("cuda");
    ek_program *program = NULL;
    float *x = fake_floats(queue, 10002);
    OK(ek_record_begin(queue));
    fake.fail_call("cuLaunchKernel", 2, CUDA_ERROR_UNKNOWN);
    ck_assert_int_eq(ek_sum_f32(queue, 1, 5000, 2, x, x + 10000), EK_DEVICE_ERROR);
    ck_assert_int_eq(ek_add_f32(queue, -1, x, x, x), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_record_end(queue, &program), EK_DEVICE_ERROR);
    ck_assert_str_eq(ek_error_message(), "ek_record_end: a call was not recorded whole: "
                                         "ek_sum_f32_join: cuLaunchKernel: another failure");
    ck_assert_ptr_null(program);
    OK(use_programs(queue));
    OK(ek_free(queue, x));
    ek_queue_close(queue);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

START_TEST(dropped_recordings)
{
    ek_queue *queue = fake_queue("cuda");
    OK(ek_record_begin(queue));
    OK(record_calls(queue));
    ek_queue_close(queue);
    ck_assert_int_eq(fake.calls("cuGraphInstantiate"), 0);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

/* The application captures its stream; a queue on it cannot. */
START_TEST(captured_streams)
{
    ek_device *device = NULL;
    ek_queue *queue = NULL;
    CUgraph graph = NULL;
    OK(ek_device_open("cuda:1", &device));
    CUstream mine = fake_stream(1);
    OK(ek_queue_wrap_stream(device, mine, &queue));
    fake.stream_begin_capture(mine, CU_STREAM_CAPTURE_MODE_RELAXED);
    ck_assert_int_eq(ek_record_begin(queue), EK_UNSUPPORTED);
    ck_assert_str_eq(ek_error_message(),
                     "ek_record_begin: the queue's stream is being captured already");
    ck_assert_int_eq(fake.stream_end_capture(mine, &graph), CUDA_SUCCESS);
    fake.graph_destroy(graph);
    OK(use_programs(queue));
    ek_queue_close(queue);
    ek_device_close(device);
    fake.stream_destroy(mine);
}
END_TEST

/* Copies of pinned memory are part of a program; others, and those between GPUs, are refused before
 * anything is recorded. */
START_TEST(programs_copy)
{
    enum { N = 8 };
    ek_queue *queue = fake_queue("cuda:0"), *other = fake_queue("cuda:1");
    ek_program *program = NULL;
    fake_set_current(0);
    int64_t shape[] = {2, N / 2}, gaps[] = {N, 2};
    float *x = fake_floats(queue, N), *away = fake_floats(other, N), *pinned, pageable[N];
    ck_assert_int_eq(fake.host_alloc((void **)&pinned, 2 * N * sizeof *pinned, 0), CUDA_SUCCESS);
    ek_array device = ek_array_view(x, EK_F32, ek_queue_device(queue), 2, shape);
    ek_array far = ek_array_view(away, EK_F32, ek_queue_device(other), 2, shape);
    ek_array host = device, loose = device, sparse;
    host.data = pinned;
    loose.data = pageable;
    host.device.type = loose.device.type = EK_DEVICE_CPU;
    sparse = host;
    sparse.strides = gaps;
    memset(pinned, 1, N * sizeof *pinned);
    memset(x, 2, N * sizeof *x);
    OK(ek_record_begin(queue));
    ck_assert_int_eq(ek_copy(queue, &device, &loose), EK_UNSUPPORTED);
    ck_assert_int_eq(ek_copy(queue, &loose, &device), EK_UNSUPPORTED);
    ck_assert_int_eq(ek_copy(queue, &device, &sparse), EK_UNSUPPORTED);
    ck_assert_int_eq(ek_copy(queue, &sparse, &device), EK_UNSUPPORTED);
    ck_assert_int_eq(ek_copy(queue, &device, &far), EK_UNSUPPORTED);
    ck_assert_int_eq(ek_copy(queue, &far, &device), EK_UNSUPPORTED);
    OK(ek_copy(queue, &device, &host));
    ck_assert_int_eq(((char *)x)[0], 2);
    OK(ek_record_end(queue, &program));
    for (int run = 3; run < 5; run++) {
        memset(pinned, run, N * sizeof *pinned);
        OK(ek_program_run(queue, program));
        ck_assert_mem_eq(x, pinned, N * sizeof *x);
    }
    ck_assert_int_eq(fake.kernels(), 0);
    ek_program_close(program);
    OK(ek_free(queue, x));
    OK(ek_free(other, away));
    fake.host_free(pinned);
    ek_queue_close(queue);
    ek_queue_close(other);
}
END_TEST

/* ---- copies */

/* A place of a copy: memory, and where it is. */
typedef struct place {
    unsigned char *data;
    ek_device_type type;
} place;

enum { PLACES = 3, BYTES = 64 };

static void fill(place *place, unsigned first)
{
    for (unsigned i = 0; i < BYTES; i++)
        place->data[i] = (unsigned char)(first + i);
}

/* Copies `rows` runs of `width` bytes, and looks at every byte of the destination. */
static void check_copy(ek_queue *queue, place *dst, place *src, int64_t dst_pitch,
                       int64_t src_pitch, int64_t width, int64_t rows)
{
    fill(dst, 0);
    fill(src, 100);
    OK(ek_cuda_backend.transfer(queue, dst->data, dst_pitch, dst->type, src->data, src_pitch,
                                src->type, width, rows));
    unsigned char wanted[BYTES];
    for (unsigned i = 0; i < BYTES; i++)
        wanted[i] = (unsigned char)i;
    for (int64_t row = 0; row < rows; row++)
        memcpy(wanted + row * dst_pitch, src->data + row * src_pitch, (size_t)width);
    ck_assert_mem_eq(dst->data, wanted, BYTES);
}

START_TEST(copies)
{
    CUcontext mine = fake_set_current(_i - 1);
    ek_queue *queue = fake_queue("cuda:0");
    unsigned char pageable[BYTES];
    place places[PLACES] = {
        {NULL, EK_DEVICE_CUDA}, {pageable, EK_DEVICE_CPU}, {NULL, EK_DEVICE_CUDA}};
    OK(ek_alloc(queue, BYTES, (void **)&places[0].data));
    OK(ek_alloc(queue, BYTES, (void **)&places[2].data));
    for (int i = 1; i < PLACES; i++) {
        for (int back = 0; back < 2; back++) {
            place *dst = &places[back ? 0 : i], *src = &places[back ? i : 0];
            int syncs = fake.calls("cuStreamSynchronize");
            check_copy(queue, dst, src, 0, 0, 35, 1);
            check_copy(queue, dst, src, 7, 7, 7, 5);
            check_copy(queue, dst, src, 9, 12, 7, 5);
            check_copy(queue, dst, src, 12, 0, 7, 5);
            check_copy(queue, dst, src, 7, 7, 0, 5);
            ck_assert_int_eq(fake.calls("cuStreamSynchronize") - syncs, i == 1 ? 4 - back : 0);
            ck_assert_ptr_eq(fake_current(), mine);
        }
    }
    ck_assert_int_eq(fake.context_failures(), 0);
    OK(ek_free(queue, places[0].data));
    OK(ek_free(queue, places[2].data));
    ek_queue_close(queue);
}
END_TEST

/* Pinned memory needs no waiting, whether the array says that it is pinned or not. */
START_TEST(pinned_copies_do_not_wait)
{
    ek_queue *queue = fake_queue("cuda:1");
    fake_set_current(1);
    place device = {NULL, EK_DEVICE_CUDA}, pinned = {NULL, EK_DEVICE_CPU};
    OK(ek_alloc(queue, BYTES, (void **)&device.data));
    ck_assert_int_eq(fake.host_alloc((void **)&pinned.data, BYTES, 0), CUDA_SUCCESS);
    int syncs = fake.calls("cuStreamSynchronize");
    check_copy(queue, &device, &pinned, 0, 0, BYTES, 1);
    pinned.type = EK_DEVICE_CUDA_HOST;
    check_copy(queue, &pinned, &device, 9, 12, 7, 5);
    ck_assert_int_eq(fake.calls("cuStreamSynchronize"), syncs);
    OK(ek_free(queue, device.data));
    fake.host_free(pinned.data);
    ek_queue_close(queue);
}
END_TEST

static Suite *guards_suite(void)
{
    Suite *suite = suite_create("guards");
    TCase *contexts = tcase_create("contexts");
    tcase_add_loop_test(contexts, context_stays, 0, FAKE_DEVICES + 1);
    tcase_add_test(contexts, no_needless_push);
    suite_add_tcase(suite, contexts);
    TCase *failures = tcase_create("failures");
    tcase_add_loop_test(failures, failures_leave_things_usable, 0, 2 * FAILING);
    tcase_add_test(failures, out_of_memory);
    tcase_add_test(failures, asynchronous_failures);
    tcase_add_test(failures, no_gpu);
    tcase_add_test(failures, too_high_index);
    suite_add_tcase(suite, failures);
    TCase *launches = tcase_create("launches");
    tcase_add_test(launches, launches_reach_their_queue);
    tcase_add_loop_test(launches, one_driver_call, 0, FAKE_DEVICES + 1);
    tcase_add_test(launches, refused_and_empty_calls_launch_nothing);
    tcase_add_test(launches, layouts_choose_kernels);
    tcase_add_test(launches, threads_load_once);
    suite_add_tcase(suite, launches);
    TCase *queues = tcase_create("queues");
    tcase_add_test(queues, wrapped_streams);
    tcase_add_test(queues, workspace_grows_and_stays);
    suite_add_tcase(suite, queues);
    TCase *programs = tcase_create("programs");
    tcase_add_loop_test(programs, programs_are_graphs, 0, FAKE_DEVICES + 1);
    tcase_add_test(programs, programs_keep_their_memory);
    tcase_add_test(programs, programs_are_whole);
    tcase_add_test(programs, dropped_recordings);
    tcase_add_test(programs, captured_streams);
    tcase_add_test(programs, programs_copy);
    suite_add_tcase(suite, programs);
    TCase *copying = tcase_create("copies");
    tcase_add_loop_test(copying, copies, 0, FAKE_DEVICES + 1);
    tcase_add_test(copying, pinned_copies_do_not_wait);
    suite_add_tcase(suite, copying);
    suite_add_tcase(suite, devices_case());
    suite_add_tcase(suite, products_case());
    suite_add_tcase(suite, late_errors_case());
    return suite;
}

int main(void)
{
    ek_counts counts = {0, 0, 0};
    if (!fake_open())
        return EXIT_FAILURE;
    ek_run_suite(guards_suite(), &counts);
    return ek_end(&counts);
}
