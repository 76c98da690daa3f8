#include "fake_cuda.h"

#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_DEVICES = 16, MAX_ENTRIES = 64, MAX_DEPTH = 16, MAX_KERNELS = 4096, MAX_NODES = 64 };

struct CUctx_st {
    int device;
    int retained;
};

struct CUmemPoolHandle_st {
    int device;
};

/* A launch, a copy or a fill of a graph. */
typedef struct node {
    ek_fake_launch launch; /* its kernel is null for the others */
    char *dst;
    const char *src; /* null for a fill */
    unsigned char value;
    size_t dst_pitch, src_pitch, width, rows;
} node;

struct CUgraph_st {
    bool broken;
    int count;
    node nodes[MAX_NODES];
};

struct CUgraphExec_st {
    struct CUgraph_st graph;
    CUcontext context;
};

struct CUstream_st {
    CUcontext context;
    CUgraph capture; /* null unless the stream is captured */
};

struct CUevent_st {
    CUcontext context;
    bool recorded;
};

struct CUkern_st {
    char name[64];
};

struct CUlib_st {
    CUlibrary next;
    int count;
    struct CUkern_st *kernels[MAX_KERNELS];
};

typedef struct entry {
    const char *name;
    int calls, fail_in;
    CUresult fail_with;
} entry;

/* Memory the driver knows of: a device's, or pinned memory of the host (device -1). */
typedef struct block {
    struct block *next;
    char *start;
    size_t bytes;
    int device;
} block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUctx_st contexts[MAX_DEVICES];
static int device_count = -1; /* until cuInit */
static entry entries[MAX_ENTRIES];
static int entry_count, context_failures, alive, library_count, kernels;
static block *blocks;
static CUlibrary libraries;
static ek_fake_launch last_launch;

static _Thread_local CUcontext stack[MAX_DEPTH];
static _Thread_local int depth;

static void change_alive(int by)
{
    pthread_mutex_lock(&lock);
    alive += by;
    pthread_mutex_unlock(&lock);
}

static entry *find_entry(const char *name)
{
    for (int i = 0; i < entry_count; i++) {
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    }
    if (entry_count == MAX_ENTRIES)
        abort();
    entries[entry_count].name = name;
    return &entries[entry_count++];
}

/* Counts a call and says whether it is one that shall fail. */
static CUresult enter(const char *name)
{
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    entry *entry = find_entry(name);
    entry->calls++;
    if (entry->fail_in > 0 && --entry->fail_in == 0)
        result = entry->fail_with;
    if (result == CUDA_SUCCESS && device_count < 0 && strcmp(name, "cuInit") != 0)
        result = CUDA_ERROR_NOT_INITIALIZED;
    pthread_mutex_unlock(&lock);
    return result;
}

#define ENTER(name)                                                                                \
    do {                                                                                           \
        CUresult injected = enter(name);                                                           \
        if (injected != CUDA_SUCCESS)                                                              \
            return injected;                                                                       \
    } while (0)

#define REQUIRE(condition, result)                                                                 \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return result;                                                                         \
    } while (0)

static CUcontext current(void)
{
    return depth > 0 ? stack[depth - 1] : NULL;
}

static bool needs_context(CUcontext wanted)
{
    bool right = current() && current()->retained > 0 && (!wanted || current() == wanted);
    if (!right) {
        pthread_mutex_lock(&lock);
        context_failures++;
        pthread_mutex_unlock(&lock);
    }
    return right;
}

#define NEED_CONTEXT(wanted) REQUIRE(needs_context(wanted), CUDA_ERROR_INVALID_CONTEXT)

/* Whether work may go to a stream that must not be captured. If it is, that is its end. */
static bool is_open(CUstream stream)
{
    if (stream->capture)
        stream->capture->broken = true;
    return !stream->capture;
}

#define NEED_OPEN(stream) REQUIRE(is_open(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)

/* The block that holds all of these bytes, or null. */
static block *find_block(const void *memory, size_t bytes)
{
    uintptr_t at = (uintptr_t)memory;
    pthread_mutex_lock(&lock);
    block *found = blocks;
    while (found &&
           !(at >= (uintptr_t)found->start && at + bytes <= (uintptr_t)found->start + found->bytes))
        found = found->next;
    pthread_mutex_unlock(&lock);
    return found;
}

static CUresult add_block(int device, size_t bytes, void **memory)
{
    REQUIRE(bytes > 0, CUDA_ERROR_INVALID_VALUE);
    block *fresh = malloc(sizeof *fresh);
    /* As aligned as a pool's memory, and exactly as long as asked for, so that a sanitizer sees a
     * copy that runs over. */
    void *start = NULL;
    if (!fresh || bytes > SIZE_MAX / 2 || posix_memalign(&start, 512, bytes)) {
        free(fresh);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memset(start, 0xa5, bytes);
    pthread_mutex_lock(&lock);
    *fresh = (block){blocks, start, bytes, device};
    blocks = fresh;
    alive++;
    pthread_mutex_unlock(&lock);
    *memory = start;
    return CUDA_SUCCESS;
}

static CUresult remove_block(int device, const void *memory)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    for (block **at = &blocks; *at; at = &(*at)->next) {
        block *gone = *at;
        if (gone->start != memory || gone->device != device)
            continue;
        *at = gone->next;
        free(gone->start);
        free(gone);
        alive--;
        result = CUDA_SUCCESS;
        break;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- for the test */

int ek_fake_calls(const char *name)
{
    int calls = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < entry_count; i++)
        calls += !name || strcmp(entries[i].name, name) == 0 ? entries[i].calls : 0;
    pthread_mutex_unlock(&lock);
    return calls;
}

int ek_fake_context_failures(void)
{
    return context_failures;
}

void ek_fake_fail(const char *name, int n, int result)
{
    pthread_mutex_lock(&lock);
    entry *entry = find_entry(name);
    entry->fail_in = n;
    entry->fail_with = (CUresult)result;
    pthread_mutex_unlock(&lock);
}

int ek_fake_alive(void)
{
    return alive;
}

int ek_fake_libraries(void)
{
    return library_count;
}

ek_fake_launch ek_fake_last_launch(void)
{
    return last_launch;
}

int ek_fake_kernels(void)
{
    return kernels;
}

/* ---- start, devices */

CUresult CUDAAPI cuInit(unsigned int flags)
{
    static char name[64];
    int n = 0, result = CUDA_ERROR_OUT_OF_MEMORY;
    const char *fail = getenv("EK_FAKE_FAIL"), *devices = getenv("EK_FAKE_DEVICES");
    if (device_count < 0 && fail && sscanf(fail, "%63[^:]:%d:%d", name, &n, &result) >= 2)
        ek_fake_fail(name, n, result);
    ENTER("cuInit");
    REQUIRE(flags == 0, CUDA_ERROR_INVALID_VALUE);
    device_count = devices ? atoi(devices) : 2;
    for (int i = 0; i < MAX_DEVICES; i++)
        contexts[i].device = i;
    return device_count > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text)
{
    switch (error) {
    case CUDA_ERROR_OUT_OF_MEMORY:
        *text = "out of memory";
        return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_CONTEXT:
        *text = "invalid device context";
        return CUDA_SUCCESS;
    case CUDA_ERROR_LAUNCH_FAILED:
        *text = "unspecified launch failure";
        return CUDA_SUCCESS;
    case CUDA_ERROR_NO_DEVICE:
        *text = "no CUDA-capable device is detected";
        return CUDA_SUCCESS;
    default:
        *text = "another failure";
        return CUDA_SUCCESS;
    }
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    ENTER("cuDeviceGetCount");
    *count = device_count;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int index)
{
    ENTER("cuDeviceGet");
    REQUIRE(index >= 0 && index < device_count, CUDA_ERROR_INVALID_DEVICE);
    *device = index;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int size, CUdevice device)
{
    ENTER("cuDeviceGetName");
    snprintf(name, (size_t)size, "fake GPU %d", device);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    ENTER("cuDeviceGetAttribute");
    REQUIRE(device >= 0 && device < device_count, CUDA_ERROR_INVALID_DEVICE);
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = 132;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
        *value = 1;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = 9;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = 0;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* ---- contexts */

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    ENTER("cuDevicePrimaryCtxRetain");
    REQUIRE(device >= 0 && device < device_count, CUDA_ERROR_INVALID_DEVICE);
    pthread_mutex_lock(&lock);
    contexts[device].retained++;
    alive++;
    pthread_mutex_unlock(&lock);
    *context = &contexts[device];
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device)
{
    ENTER("cuDevicePrimaryCtxRelease");
    REQUIRE(device >= 0 && device < device_count && contexts[device].retained > 0,
            CUDA_ERROR_INVALID_CONTEXT);
    pthread_mutex_lock(&lock);
    contexts[device].retained--;
    alive--;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context)
{
    ENTER("cuCtxGetCurrent");
    *context = current();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext context)
{
    ENTER("cuCtxPushCurrent");
    REQUIRE(context && context->retained > 0, CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE(depth < MAX_DEPTH, CUDA_ERROR_OUT_OF_MEMORY);
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext *context)
{
    ENTER("cuCtxPopCurrent");
    REQUIRE(depth > 0, CUDA_ERROR_INVALID_CONTEXT);
    *context = stack[--depth];
    return CUDA_SUCCESS;
}

/* ---- memory */

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
    ENTER("cuMemPoolCreate");
    REQUIRE(props->allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
                props->location.type == CU_MEM_LOCATION_TYPE_DEVICE && props->location.id >= 0 &&
                props->location.id < device_count,
            CUDA_ERROR_INVALID_VALUE);
    *pool = malloc(sizeof **pool);
    REQUIRE(*pool, CUDA_ERROR_OUT_OF_MEMORY);
    (*pool)->device = props->location.id;
    change_alive(1);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool)
{
    ENTER("cuMemPoolDestroy");
    free(pool);
    change_alive(-1);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                       void *value)
{
    ENTER("cuMemPoolSetAttribute");
    REQUIRE(pool && value && attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
            CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *memory, size_t bytes, CUmemoryPool pool,
                                         CUstream stream)
{
    ENTER("cuMemAllocFromPoolAsync");
    REQUIRE(stream && stream->context->device == pool->device, CUDA_ERROR_INVALID_VALUE);
    NEED_OPEN(stream);
    void *start;
    CUresult result = add_block(pool->device, bytes, &start);
    if (result == CUDA_SUCCESS)
        *memory = (CUdeviceptr)start;
    return result;
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr memory, CUstream stream)
{
    ENTER("cuMemFreeAsync");
    block *known = find_block((void *)memory, 1);
    REQUIRE(stream && known && known->device >= 0, CUDA_ERROR_INVALID_VALUE);
    NEED_OPEN(stream);
    return remove_block(known->device, (void *)memory);
}

CUresult CUDAAPI cuMemHostAlloc(void **memory, size_t bytes, unsigned int flags)
{
    ENTER("cuMemHostAlloc");
    NEED_CONTEXT(NULL);
    REQUIRE(flags < 8, CUDA_ERROR_INVALID_VALUE);
    return add_block(-1, bytes, memory);
}

CUresult CUDAAPI cuMemFreeHost(void *memory)
{
    ENTER("cuMemFreeHost");
    return remove_block(-1, memory);
}

CUresult CUDAAPI cuPointerGetAttribute(void *value, CUpointer_attribute attribute,
                                       CUdeviceptr memory)
{
    ENTER("cuPointerGetAttribute");
    block *known = find_block((void *)memory, 1);
    REQUIRE(known && attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUDA_ERROR_INVALID_VALUE);
    *(CUmemorytype *)value = known->device < 0 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    return CUDA_SUCCESS;
}

/* ---- copies */

/* Memory the driver does not know may be the host's own; known memory must hold all the bytes. */
static bool readable(const void *memory, size_t bytes)
{
    return find_block(memory, bytes) || !find_block(memory, 1);
}

static bool on_device(const void *memory, size_t bytes, int device)
{
    block *known = find_block(memory, bytes);
    return known && (device < 0 ? known->device >= 0 : known->device == device);
}

static void run_node(const node *node, CUstream stream)
{
    if (!node->launch.kernel && !node->src) {
        memset(node->dst, node->value, node->width);
        return;
    }
    if (!node->launch.kernel) {
        for (size_t row = 0; row < node->rows; row++)
            memmove(node->dst + row * node->dst_pitch, node->src + row * node->src_pitch,
                    node->width);
        return;
    }
    pthread_mutex_lock(&lock);
    kernels++;
    last_launch = node->launch;
    last_launch.stream = stream;
    pthread_mutex_unlock(&lock);
}

/* Does it at once, or keeps it for the graph. */
static CUresult submit(const node *node, CUstream stream)
{
    if (!stream->capture) {
        run_node(node, stream);
        return CUDA_SUCCESS;
    }
    REQUIRE(stream->capture->count < MAX_NODES, CUDA_ERROR_OUT_OF_MEMORY);
    stream->capture->nodes[stream->capture->count++] = *node;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr memory, unsigned char value, size_t bytes,
                                 CUstream stream)
{
    ENTER("cuMemsetD8Async");
    block *known = find_block((void *)memory, bytes);
    REQUIRE(stream && known && known->device == stream->context->device, CUDA_ERROR_INVALID_VALUE);
    node node = {.dst = (char *)memory, .value = value, .width = bytes};
    return submit(&node, stream);
}

static CUresult copy_rows(CUstream stream, void *dst, size_t dst_pitch, const void *src,
                          size_t src_pitch, size_t width, size_t rows)
{
    node node = {.dst = dst, .src = src, .dst_pitch = dst_pitch, .src_pitch = src_pitch};
    node.width = width;
    node.rows = rows;
    return submit(&node, stream);
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    ENTER("cuMemcpyAsync");
    NEED_CONTEXT(stream->context);
    REQUIRE(readable((void *)dst, bytes) && readable((void *)src, bytes), CUDA_ERROR_INVALID_VALUE);
    return copy_rows(stream, (void *)dst, 0, (void *)src, 0, bytes, 1);
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
                                   CUcontext src_context, size_t bytes, CUstream stream)
{
    ENTER("cuMemcpyPeerAsync");
    REQUIRE(stream && dst_context->retained > 0 && src_context->retained > 0,
            CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE(on_device((void *)dst, bytes, dst_context->device) &&
                on_device((void *)src, bytes, src_context->device),
            CUDA_ERROR_INVALID_VALUE);
    return copy_rows(stream, (void *)dst, 0, (void *)src, 0, bytes, 1);
}

/* The last byte of rows that a pitched copy touches, plus one. */
static size_t extent(size_t pitch, size_t width, size_t rows)
{
    return (rows - 1) * pitch + width;
}

static bool pitches_fit(size_t dst_pitch, size_t src_pitch, size_t width)
{
    return dst_pitch >= width && src_pitch >= width && dst_pitch <= INT32_MAX &&
           src_pitch <= INT32_MAX;
}

CUresult CUDAAPI cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    ENTER("cuMemcpy2DAsync");
    NEED_CONTEXT(stream->context);
    bool to_host = copy->dstMemoryType == CU_MEMORYTYPE_HOST;
    bool from_host = copy->srcMemoryType == CU_MEMORYTYPE_HOST;
    char *dst = to_host ? copy->dstHost : (char *)copy->dstDevice;
    const char *src = from_host ? copy->srcHost : (const char *)copy->srcDevice;
    size_t dst_bytes = extent(copy->dstPitch, copy->WidthInBytes, copy->Height);
    size_t src_bytes = extent(copy->srcPitch, copy->WidthInBytes, copy->Height);
    REQUIRE(pitches_fit(copy->dstPitch, copy->srcPitch, copy->WidthInBytes) && copy->Height > 0 &&
                (to_host ? readable(dst, dst_bytes) : on_device(dst, dst_bytes, -1)) &&
                (from_host ? readable(src, src_bytes) : on_device(src, src_bytes, -1)),
            CUDA_ERROR_INVALID_VALUE);
    return copy_rows(stream, dst, copy->dstPitch, src, copy->srcPitch, copy->WidthInBytes,
                     copy->Height);
}

CUresult CUDAAPI cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    ENTER("cuMemcpy3DPeerAsync");
    REQUIRE(stream && copy->dstContext->retained > 0 && copy->srcContext->retained > 0,
            CUDA_ERROR_INVALID_CONTEXT);
    char *dst = (char *)copy->dstDevice;
    const char *src = (const char *)copy->srcDevice;
    REQUIRE(pitches_fit(copy->dstPitch, copy->srcPitch, copy->WidthInBytes) && copy->Depth == 1 &&
                copy->dstMemoryType == CU_MEMORYTYPE_DEVICE &&
                copy->srcMemoryType == CU_MEMORYTYPE_DEVICE &&
                on_device(dst, extent(copy->dstPitch, copy->WidthInBytes, copy->Height),
                          copy->dstContext->device) &&
                on_device(src, extent(copy->srcPitch, copy->WidthInBytes, copy->Height),
                          copy->srcContext->device),
            CUDA_ERROR_INVALID_VALUE);
    return copy_rows(stream, dst, copy->dstPitch, src, copy->srcPitch, copy->WidthInBytes,
                     copy->Height);
}

/* ---- streams and events */

CUresult CUDAAPI cuStreamCreate(CUstream *stream, unsigned int flags)
{
    ENTER("cuStreamCreate");
    NEED_CONTEXT(NULL);
    REQUIRE(flags <= CU_STREAM_NON_BLOCKING, CUDA_ERROR_INVALID_VALUE);
    *stream = malloc(sizeof **stream);
    REQUIRE(*stream, CUDA_ERROR_OUT_OF_MEMORY);
    **stream = (struct CUstream_st){current(), NULL};
    change_alive(1);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamDestroy(CUstream stream)
{
    ENTER("cuStreamDestroy");
    free(stream);
    change_alive(-1);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    ENTER("cuStreamGetCtx");
    REQUIRE(stream, CUDA_ERROR_INVALID_HANDLE);
    *context = stream->context;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream)
{
    ENTER("cuStreamSynchronize");
    REQUIRE(stream && stream->context->retained > 0, CUDA_ERROR_INVALID_HANDLE);
    NEED_OPEN(stream);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    ENTER("cuStreamWaitEvent");
    REQUIRE(stream && event, CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(flags == 0, CUDA_ERROR_INVALID_VALUE);
    NEED_OPEN(stream);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned int flags)
{
    ENTER("cuEventCreate");
    NEED_CONTEXT(NULL);
    REQUIRE(flags < 8, CUDA_ERROR_INVALID_VALUE);
    *event = malloc(sizeof **event);
    REQUIRE(*event, CUDA_ERROR_OUT_OF_MEMORY);
    **event = (struct CUevent_st){current(), false};
    change_alive(1);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventDestroy(CUevent event)
{
    ENTER("cuEventDestroy");
    free(event);
    change_alive(-1);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream)
{
    ENTER("cuEventRecord");
    REQUIRE(event && stream && event->context == stream->context, CUDA_ERROR_INVALID_HANDLE);
    NEED_OPEN(stream);
    event->recorded = true;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventQuery(CUevent event)
{
    ENTER("cuEventQuery");
    REQUIRE(event, CUDA_ERROR_INVALID_HANDLE);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventSynchronize(CUevent event)
{
    ENTER("cuEventSynchronize");
    REQUIRE(event, CUDA_ERROR_INVALID_HANDLE);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    ENTER("cuEventElapsedTime");
    REQUIRE(start && end && start->recorded && end->recorded, CUDA_ERROR_INVALID_HANDLE);
    *milliseconds = 0.5f;
    return CUDA_SUCCESS;
}

/* ---- kernels */

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit_options,
                                   void **jit_values, unsigned int jit_count,
                                   CUlibraryOption *options, void **values, unsigned int count)
{
    enum { FATBIN_MAGIC = 0xba55ed50u };
    uint32_t magic;
    (void)jit_options;
    (void)jit_values;
    (void)options;
    (void)values;
    ENTER("cuLibraryLoadData");
    /* As slow as the real one, so that threads have time to cross. */
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    memcpy(&magic, code, sizeof magic);
    REQUIRE(jit_count == 0 && count == 0, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(magic == FATBIN_MAGIC, CUDA_ERROR_INVALID_IMAGE);
    *library = calloc(1, sizeof **library);
    REQUIRE(*library, CUDA_ERROR_OUT_OF_MEMORY);
    pthread_mutex_lock(&lock);
    (*library)->next = libraries;
    libraries = *library;
    library_count++;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
    ENTER("cuLibraryUnload");
    pthread_mutex_lock(&lock);
    CUlibrary *at = &libraries;
    while (*at != library)
        at = &(*at)->next;
    *at = library->next;
    library_count--;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < library->count; i++)
        free(library->kernels[i]);
    free(library);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    ENTER("cuLibraryGetKernel");
    REQUIRE(library->count < MAX_KERNELS, CUDA_ERROR_OUT_OF_MEMORY);
    CUkernel fresh = malloc(sizeof *fresh);
    REQUIRE(fresh, CUDA_ERROR_OUT_OF_MEMORY);
    snprintf(fresh->name, sizeof fresh->name, "%s", name);
    library->kernels[library->count++] = fresh;
    *kernel = fresh;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                      CUdevice device)
{
    ENTER("cuKernelSetAttribute");
    REQUIRE(kernel && device >= 0 && device < device_count, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value >= 0,
            CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

static CUresult launch(CUfunction function, const unsigned *blocks, const unsigned *threads,
                       unsigned shared, CUstream stream, void **params, void **extra)
{
    uint64_t all = (uint64_t)threads[0] * threads[1] * threads[2];
    REQUIRE(function && stream && stream->context->retained > 0, CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(blocks[0] > 0 && blocks[0] <= INT32_MAX && blocks[1] > 0 && blocks[1] <= UINT16_MAX &&
                blocks[2] > 0 && blocks[2] <= UINT16_MAX && all > 0 && all <= 1024 &&
                shared <= 48 * 1024 && params && !extra,
            CUDA_ERROR_INVALID_VALUE);
    node node = {.launch = {
                     ((CUkernel)function)->name,
                     stream->context->device,
                     stream,
                     {blocks[0], blocks[1], blocks[2]},
                     {threads[0], threads[1], threads[2]},
                 }};
    return submit(&node, stream);
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned int blocks_x, unsigned int blocks_y,
                                unsigned int blocks_z, unsigned int threads_x,
                                unsigned int threads_y, unsigned int threads_z, unsigned int shared,
                                CUstream stream, void **params, void **extra)
{
    ENTER("cuLaunchKernel");
    return launch(function, (unsigned[]){blocks_x, blocks_y, blocks_z},
                  (unsigned[]){threads_x, threads_y, threads_z}, shared, stream, params, extra);
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
                                  void **extra)
{
    ENTER("cuLaunchKernelEx");
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];
        REQUIRE(attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
                    attribute->value.clusterDim.x <= 8 &&
                    config->gridDimX % attribute->value.clusterDim.x == 0,
                CUDA_ERROR_INVALID_VALUE);
    }
    return launch(function, (unsigned[]){config->gridDimX, config->gridDimY, config->gridDimZ},
                  (unsigned[]){config->blockDimX, config->blockDimY, config->blockDimZ},
                  config->sharedMemBytes, config->hStream, params, extra);
}

/* ---- graphs */

CUresult CUDAAPI cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    ENTER("cuStreamBeginCapture");
    REQUIRE(stream && mode == CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(!stream->capture, CUDA_ERROR_ILLEGAL_STATE);
    stream->capture = calloc(1, sizeof *stream->capture);
    REQUIRE(stream->capture, CUDA_ERROR_OUT_OF_MEMORY);
    change_alive(1);
    return CUDA_SUCCESS;
}

/* Whatever it returns, the capture is over. */
CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    CUresult injected = enter("cuStreamEndCapture");
    REQUIRE(stream && stream->capture, CUDA_ERROR_ILLEGAL_STATE);
    CUgraph captured = stream->capture;
    stream->capture = NULL;
    *graph = NULL;
    if (injected != CUDA_SUCCESS || captured->broken) {
        free(captured);
        change_alive(-1);
        return injected != CUDA_SUCCESS ? injected : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    *graph = captured;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph)
{
    ENTER("cuGraphDestroy");
    free(graph);
    change_alive(-1);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *made, CUgraph graph, unsigned long long flags)
{
    ENTER("cuGraphInstantiate");
    NEED_CONTEXT(NULL);
    REQUIRE(graph && flags == 0, CUDA_ERROR_INVALID_VALUE);
    *made = malloc(sizeof **made);
    REQUIRE(*made, CUDA_ERROR_OUT_OF_MEMORY);
    (*made)->graph = *graph;
    (*made)->context = current();
    change_alive(1);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec graph)
{
    ENTER("cuGraphExecDestroy");
    free(graph);
    change_alive(-1);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec graph, CUstream stream)
{
    ENTER("cuGraphLaunch");
    REQUIRE(graph && stream && stream->context == graph->context, CUDA_ERROR_INVALID_HANDLE);
    NEED_OPEN(stream);
    for (int i = 0; i < graph->graph.count; i++)
        run_node(&graph->graph.nodes[i], stream);
    return CUDA_SUCCESS;
}
