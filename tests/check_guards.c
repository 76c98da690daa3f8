/* CUDA without a GPU: which context is current around every call, where work goes, what a failing
 * driver does to the library. Each test runs in a process of its own, with a fresh fake driver. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "counts.h"
#include "cuda/launch.h"
#include "einkorn/array.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"
#include "einkorn/ops/copy.h"
#include "einkorn/ops/lt.h"
#include "fake.h"

enum { DEVICES = 2 };

#define OK(call) ck_assert_msg((call) == EK_OK, "%s: %s", #call, ek_error_message())

static ek_queue *open_queue(const char *name)
{
    ek_device *device = NULL;
    ek_queue *queue = NULL;
    OK(ek_device_open(name, &device));
    OK(ek_queue_open(device, &queue));
    ek_device_close(device); /* the queue keeps it */
    return queue;
}

static float *floats(ek_queue *queue, size_t n)
{
    void *memory = NULL;
    OK(ek_alloc(queue, n * sizeof(float), &memory));
    return memory;
}

/* ---- what a call of each sort does, in one function that stops at the first failure */

static ek_status use_memory(ek_queue *queue)
{
    enum { N = 8 };
    float host[N] = {1, 2, 3}, back[N] = {0};
    float *x = NULL;
    const ek_backend *backend = ek_queue_device(queue)->backend;
    int32_t index = ek_device_index(ek_queue_device(queue));
    EK_TRY(ek_alloc(queue, sizeof host, (void **)&x));
    ek_status status = backend->transfer(queue, x, 0, EK_DEVICE_CUDA, index, host, 0, EK_DEVICE_CPU,
                                         0, sizeof host, 1);
    if (status == EK_OK)
        status = ek_add_f32(queue, N, x, x, x);
    if (status == EK_OK)
        status = backend->transfer(queue, back, 8, EK_DEVICE_CPU, 0, x, 8, EK_DEVICE_CUDA, index, 4,
                                   N / 2);
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
        status = ek_queue_sync(queue);
    ek_queue_close(queue);
    ek_device_close(device);
    return status;
}

static const char *const device_names[DEVICES] = {"cuda:0", "cuda:1"};

/* ---- the caller's context */

static void set_current(int which, CUcontext *context)
{
    *context = NULL;
    fake.init(0);
    if (which >= 0) {
        ck_assert_int_eq(fake.retain(context, which), CUDA_SUCCESS);
        ck_assert_int_eq(fake.push(*context), CUDA_SUCCESS);
    }
}

static CUcontext current(void)
{
    CUcontext context = NULL;
    fake.current(&context);
    return context;
}

/* Context of none, of device 0, of device 1; each with work on both devices. */
START_TEST(context_stays)
{
    CUcontext mine;
    set_current(_i - 1, &mine);
    for (int device = 0; device < DEVICES; device++) {
        OK(use_device(device_names[device]));
        ck_assert_ptr_eq(current(), mine);
    }
    ck_assert_int_eq(fake.context_failures(), 0);
}
END_TEST

/* Nothing is pushed where the right context is current already. */
START_TEST(no_needless_push)
{
    CUcontext mine;
    set_current(1, &mine);
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
    "cuLaunchKernel",
};

enum { FAILING = sizeof failing / sizeof failing[0] };

/* Fails the first call of an entry, then the second, and so on until none is left to fail: each time
 * the status is a failure, nothing is left behind, the caller's context is the same, and the same
 * work succeeds afterwards. */
START_TEST(failures_leave_things_usable)
{
    const char *entry = failing[_i % FAILING];
    CUcontext mine;
    set_current(_i < FAILING ? -1 : 1, &mine);
    int alive = fake.alive();
    ek_status status = EK_OUT_OF_MEMORY;
    int n = 0;
    while (status != EK_OK) {
        ck_assert_int_lt(++n, 100);
        fake.fail(entry, n, CUDA_ERROR_UNKNOWN);
        status = use_device("cuda:0");
        int left = fake.alive() - alive;
        ck_assert_ptr_eq(current(), mine);
        if (status != EK_OK)
            ck_assert_int_ge(strlen(ek_error_message()), 10);
        /* The operation's kernels stay once loaded. */
        ck_assert_int_eq(left, fake.calls("cuLibraryLoadData") > fake.calls("cuLibraryUnload") &&
                                   status != EK_OUT_OF_MEMORY && left > 0);
        /* The last call of a queue's life has nobody left to tell. */
        bool silent = status == EK_OK && strcmp(entry, "cuStreamSynchronize") == 0;
        fake.fail(entry, 0, 0);
        if (!silent)
            OK(use_device("cuda:0"));
        alive = fake.alive();
    }
    ck_assert_int_eq(fake.context_failures(), 0);
}
END_TEST
