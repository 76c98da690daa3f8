/* Queues beside what else an application does with CUDA: its own streams and contexts, the CUDA
 * runtime, arrays given to other libraries. On a GPU or on the fake driver. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check_threads.h"
#include "cuda/device.h"
#include "dlpack.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"
#include "einkorn/ops/fill.h"
#include "einkorn/program.h"

enum { N = 4096, BYTES = N * sizeof(float) };

#define CUDA(call) must_at(ek_cu.call == CUDA_SUCCESS, #call, __FILE__, __LINE__)

static ek_device *device;
static CUcontext primary;

static void open_device(void)
{
    MUST(ek_device_open(device_names[0], &device));
    primary = ek_cuda_device_of(device)->context;
}

static void close_device(void)
{
    ek_device_close(device);
}

static CUcontext current(void)
{
    CUcontext context = NULL;
    CUDA(cuCtxGetCurrent(&context));
    return context;
}

/* Contexts that may be current when a call is made: none, that of the device, another one. */
enum { NONE, OWN, OTHER, CURRENT };

/* What was current when NONE was asked for: the CUDA runtime, say, leaves one. */
static CUcontext set_aside;

static CUcontext make_current(int which)
{
    CUcontext context = NULL;
    set_aside = NULL;
    if (which == NONE && current())
        CUDA(cuCtxPopCurrent(&set_aside));
    if (which == OWN)
        context = primary;
    else if (which == OTHER && strcmp(device_names[0], device_names[1]) != 0)
        CUDA(cuDevicePrimaryCtxRetain(&context, 1));
    else if (which == OTHER) {
        /* A second context of the only GPU; made, it is current. */
        CUresult (*create)(CUcontext *, unsigned, CUdevice) = NULL;
        *(void **)&create = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuCtxCreate_v2");
        REQUIRE(create && create(&context, 0, 0) == CUDA_SUCCESS);
        return context;
    }
    if (context)
        CUDA(cuCtxPushCurrent(context));
    return context;
}

static void leave(CUcontext made_current)
{
    CUcontext popped;
    REQUIRE(current() == made_current);
    if (made_current)
        CUDA(cuCtxPopCurrent(&popped));
    if (set_aside)
        CUDA(cuCtxPushCurrent(set_aside));
}

static float ones[N], twos[N];

static void fill_hosts(void)
{
    for (int i = 0; i < N; i++) {
        ones[i] = 1;
        twos[i] = 2;
    }
}

/* Doubles memory of ones in the queue. */
static void use(ek_queue *queue)
{
    float *x, host[N];
    MUST(ek_alloc(queue, BYTES, (void **)&x));
    upload(queue, x, ones, BYTES);
    MUST(ek_add_f32(queue, N, x, x, x));
    download(queue, host, x, BYTES);
    REQUIRE(!computes || memcmp(host, twos, BYTES) == 0);
    MUST(ek_free(queue, x));
    MUST(ek_queue_sync(queue));
}

START_TEST(streams_are_wrapped)
{
    CUcontext mine = make_current(_i), popped;
    CUstream stream;
    ek_queue *queue;
    fill_hosts();
    CUDA(cuCtxPushCurrent(primary));
    CUDA(cuStreamCreate(&stream, _i == OWN ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
    CUDA(cuCtxPopCurrent(&popped));
    MUST(ek_queue_wrap_stream(device, stream, &queue));
    use(queue);
    REQUIRE(ek_queue_stream(queue) == (void *)stream);
    REQUIRE(current() == mine);
    ek_queue_close(queue);
    REQUIRE(current() == mine);
    CUDA(cuStreamSynchronize(stream)); /* still the application's */
    CUDA(cuStreamDestroy(stream));
    leave(mine);
}
END_TEST

/* O023: what such a handle stands for depends on who uses it. */
START_TEST(default_streams_are_refused)
{
    void *const streams[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    CUcontext mine = make_current(_i);
    for (int i = 0; i < 3; i++) {
        ek_queue *queue = NULL;
        REQUIRE(ek_queue_wrap_stream(device, streams[i], &queue) == EK_UNSUPPORTED);
        REQUIRE(!queue && strstr(ek_error_message(), "default stream"));
    }
    leave(mine);
}
END_TEST

START_TEST(streams_of_other_contexts_are_refused)
{
    CUcontext other = make_current(OTHER);
    CUstream stream;
    ek_queue *queue = NULL, *own;
    CUDA(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    REQUIRE(ek_queue_wrap_stream(device, stream, &queue) == EK_DEVICE_MISMATCH && !queue);
    MUST(ek_queue_open(device, &own));
    REQUIRE(ek_queue_wait_stream(own, stream) == EK_DEVICE_MISMATCH);
    REQUIRE(ek_queue_signal_stream(own, stream) == EK_DEVICE_MISMATCH);
    REQUIRE(current() == other);
    ek_queue_close(own);
    CUDA(cuStreamDestroy(stream));
    leave(other);
}
END_TEST

/* The application writes on its stream, the queue doubles, the application reads: only the streams
 * wait, not the host. */
static void work_in_turns(CUstream stream)
{
    float *x, *host = calloc(N, sizeof *host);
    ek_queue *queue;
    CUcontext popped;
    MUST(ek_queue_open(device, &queue));
    MUST(ek_alloc(queue, BYTES, (void **)&x));
    MUST(ek_queue_signal_stream(queue, stream)); /* the memory is there in the queue's order */
    for (int turn = 0; turn < 20; turn++) {
        memset(host, 0, BYTES);
        CUDA(cuCtxPushCurrent(primary));
        CUDA(cuMemcpyAsync((CUdeviceptr)x, (CUdeviceptr)ones, BYTES, stream));
        CUDA(cuCtxPopCurrent(&popped));
        MUST(ek_queue_wait_stream(queue, stream));
        MUST(ek_add_f32(queue, N, x, x, x));
        MUST(ek_queue_signal_stream(queue, stream));
        CUDA(cuCtxPushCurrent(primary));
        CUDA(cuMemcpyAsync((CUdeviceptr)host, (CUdeviceptr)x, BYTES, stream));
        CUDA(cuStreamSynchronize(stream));
        CUDA(cuCtxPopCurrent(&popped));
        REQUIRE(!computes || memcmp(host, twos, BYTES) == 0);
    }
    MUST(ek_free(queue, x));
    ek_queue_close(queue);
    free(host);
}

START_TEST(streams_and_queues_wait)
{
    CUstream made;
    CUcontext popped, mine;
    fill_hosts();
    CUDA(cuCtxPushCurrent(primary));
    CUDA(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
    CUDA(cuCtxPopCurrent(&popped));
    mine = make_current(_i);
    CUstream streams[] = {made, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    for (int i = 0; i < 3; i++)
        work_in_turns(streams[i]);
    ek_queue *queue, *same;
    MUST(ek_queue_open(device, &queue));
    MUST(ek_queue_wait_stream(queue, NULL));
    MUST(ek_queue_wrap_stream(device, made, &same));
    MUST(ek_queue_wait_stream(same, made)); /* itself */
    MUST(ek_record_begin(queue));
    REQUIRE(ek_queue_wait_stream(queue, made) == EK_UNSUPPORTED);
    ek_queue_close(queue);
    ek_queue_close(same);
    CUDA(cuStreamDestroy(made));
    leave(mine);
}
END_TEST

/* ---- the CUDA runtime, where there is one */

typedef struct runtime {
    int (*set_device)(int);
    int (*get_device)(int *);
    int (*malloc)(void **, size_t);
    int (*free)(void *);
    int (*memcpy)(void *, const void *, size_t, int);
    int (*stream_create)(void **);
    int (*stream_destroy)(void *);
    int (*last_error)(void);
} runtime;

static bool open_runtime(runtime *r)
{
    static const char *const names[] = {"libcudart.so.13", "libcudart.so.12"};
    const struct {
        void *field;
        const char *symbol;
    } entries[] = {
        {&r->set_device, "cudaSetDevice"},
        {&r->get_device, "cudaGetDevice"},
        {&r->malloc, "cudaMalloc"},
        {&r->free, "cudaFree"},
        {&r->memcpy, "cudaMemcpy"},
        {&r->stream_create, "cudaStreamCreate"},
        {&r->stream_destroy, "cudaStreamDestroy"},
        {&r->last_error, "cudaGetLastError"},
    };
    void *library = NULL;
    for (int i = 0; i < 2 && !library; i++)
        library = dlopen(names[i], RTLD_NOW);
    for (size_t i = 0; library && i < sizeof entries / sizeof entries[0]; i++)
        *(void **)entries[i].field = dlsym(library, entries[i].symbol);
    return library != NULL;
}

/* Memory, streams and the current device are the application's; the work is the library's. */
START_TEST(runtime_beside)
{
    runtime r;
    void *stream, *x;
    float host[N];
    ek_queue *queue;
    int which = -1;
    if (!computes || !open_runtime(&r))
        return;
    fill_hosts();
    REQUIRE(r.set_device(0) == 0 && r.stream_create(&stream) == 0 && r.malloc(&x, BYTES) == 0);
    MUST(ek_queue_wrap_stream(device, stream, &queue));
    REQUIRE(r.memcpy(x, ones, BYTES, 1) == 0);
    MUST(ek_add_f32(queue, N, x, x, x));
    MUST(ek_queue_sync(queue));
    REQUIRE(r.memcpy(host, x, BYTES, 2) == 0 && memcmp(host, twos, BYTES) == 0);
    use(queue);
    REQUIRE(r.get_device(&which) == 0 && which == 0 && r.last_error() == 0);
    REQUIRE(r.set_device(1000) != 0); /* a failure of the application's own, and no one else's */
    use(queue);
    r.last_error();
    ek_queue_close(queue);
    REQUIRE(r.stream_destroy(stream) == 0 && r.free(x) == 0 && r.last_error() == 0);
}
END_TEST

/* ---- DLPack */

static void *delete_elsewhere(void *tensor)
{
    ek_managed_versioned *managed = tensor;
    managed->deleter(managed);
    return NULL;
}

START_TEST(given_memory_of_a_gpu)
{
    struct DLManagedTensorVersioned *tensor;
    int64_t shape[] = {N};
    ek_queue *queue;
    ek_array array;
    ek_dlpack taken;
    pthread_t thread;
    CUcontext mine = make_current(_i);
    MUST(ek_queue_open(device, &queue));
    MUST(ek_array_alloc(queue, EK_F32, 1, shape, &array));
    MUST(ek_fill_f32(queue, N, 1, array.data));
    MUST(ek_dlpack_give(queue, &array, &tensor));
    MUST(ek_dlpack_take(tensor, &taken));
    MUST(ek_add_f32(queue, N, taken.array.data, taken.array.data, taken.array.data));
    MUST(ek_dlpack_release(queue, &taken));
    MUST(ek_array_alloc(queue, EK_F32, 1, shape, &array));
    MUST(ek_dlpack_give(queue, &array, &tensor));
    ek_queue_close(queue);
    REQUIRE(pthread_create(&thread, NULL, delete_elsewhere, tensor) == 0);
    pthread_join(thread, NULL);
    leave(mine);
}
END_TEST

TCase *streams_case(void)
{
    TCase *streams = tcase_create("streams");
    tcase_set_timeout(streams, 120);
    tcase_add_checked_fixture(streams, open_device, close_device);
    tcase_add_loop_test(streams, streams_are_wrapped, 0, CURRENT);
    tcase_add_loop_test(streams, default_streams_are_refused, 0, CURRENT);
    tcase_add_test(streams, streams_of_other_contexts_are_refused);
    tcase_add_loop_test(streams, streams_and_queues_wait, 0, CURRENT);
    tcase_add_test(streams, runtime_beside);
    tcase_add_loop_test(streams, given_memory_of_a_gpu, 0, CURRENT);
    return streams;
}
