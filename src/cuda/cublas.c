#include "cuda/cublas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/guard.h"
#include "cuda/launch.h"
#include "cuda/queue.h"

#define ENTRY(field, symbol)                                                                       \
    {                                                                                              \
#        symbol, offsetof(ek_cublas_table, field)                                                  \
    }

static const struct {
    const char *symbol;
    size_t offset;
} entries[] = {
    ENTRY(create, cublasCreate_v2),
    ENTRY(destroy, cublasDestroy_v2),
    ENTRY(set_stream, cublasSetStream_v2),
    ENTRY(set_workspace, cublasSetWorkspace_v2),
    ENTRY(set_math_mode, cublasSetMathMode),
    ENTRY(status_string, cublasGetStatusString),
    ENTRY(gemm_ex, cublasGemmStridedBatchedEx_64),
};

enum { ENTRIES = sizeof entries / sizeof entries[0] };

_Static_assert(sizeof(ek_cublas_table) == ENTRIES * sizeof(void *), "an entry is not looked up");

static const char call[] = "ek_gemm";

static const size_t workspace_bytes = EK_CUBLAS_WORKSPACE;

ek_cublas_table ek_cublas;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool usable;
static char why_not[160];

/* The version of the headers first: the entries are the same in 12 and 13. */
static void *open_library(void)
{
    static const int majors[] = {CUBLAS_VER_MAJOR, 13, 12};
    for (size_t i = 0; i < sizeof majors / sizeof majors[0]; i++) {
        char name[32];
        snprintf(name, sizeof name, "libcublas.so.%d", majors[i]);
        void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
    }
    return NULL;
}

static void open_cublas(void)
{
    ek_cublas_table table;
    void *library = open_library();
    if (!library) {
        snprintf(why_not, sizeof why_not,
                 "cuBLAS is missing: neither libcublas.so.13 nor libcublas.so.12 can be opened");
        return;
    }
    for (int i = 0; i < ENTRIES; i++) {
        void *entry = dlsym(library, entries[i].symbol);
        if (!entry) {
            snprintf(why_not, sizeof why_not, "cuBLAS lacks %s: its version must be 12.0 or later",
                     entries[i].symbol);
            return;
        }
        memcpy((char *)&table + entries[i].offset, &entry, sizeof entry);
    }
    ek_cublas = table;
    usable = true;
}

/* cuBLAS has one word for all that goes wrong on a device; the driver knows if it was earlier work.
 */
ek_status ek_cublas_fail(const ek_queue *queue, const char *name, const char *entry,
                         cublasStatus_t result)
{
    ek_status status = EK_DEVICE_ERROR;
    CUresult earlier = ek_cuda_earlier(queue);
    if (earlier != CUDA_SUCCESS)
        return ek_cuda_queue_fail(queue, name, entry, earlier);
    if (result == CUBLAS_STATUS_ALLOC_FAILED)
        status = EK_OUT_OF_MEMORY;
    else if (result == CUBLAS_STATUS_NOT_SUPPORTED || result == CUBLAS_STATUS_ARCH_MISMATCH)
        status = EK_UNSUPPORTED;
    return ek_fail(status, "%s: %s: %s", name, entry, ek_cublas.status_string(result));
}

/* The stream first: setting it takes the workspace away. Without a workspace per queue cuBLAS would
 * share one of its own, and its choice of algorithm with it. */
static ek_status set_up(ek_cuda_queue *queue, cublasHandle_t handle)
{
    cublasStatus_t result = ek_cublas.set_stream(handle, ek_cuda_stream_of(&queue->base.head));
    if (result != CUBLAS_STATUS_SUCCESS)
        return ek_cublas_fail(&queue->base.head, call, "cublasSetStream", result);
    if (!queue->cublas_workspace)
        EK_TRY(ek_cache_alloc(&queue->base.head, workspace_bytes, &queue->cublas_workspace));
    result = ek_cublas.set_workspace(handle, queue->cublas_workspace, workspace_bytes);
    if (result != CUBLAS_STATUS_SUCCESS)
        return ek_cublas_fail(&queue->base.head, call, "cublasSetWorkspace", result);
    result = ek_cublas.set_math_mode(
        handle,
        (cublasMath_t)(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
    if (result != CUBLAS_STATUS_SUCCESS)
        return ek_cublas_fail(&queue->base.head, call, "cublasSetMathMode", result);
    return EK_OK;
}

/* One that a closed queue has left, if there is one. */
static ek_cublas_owned *take_spare(ek_cuda_device *device)
{
    ek_lock_take(&device->cublas_lock);
    ek_cublas_owned *spare = device->cublas_spare;
    if (spare)
        device->cublas_spare = spare->next;
    ek_lock_give(&device->cublas_lock);
    return spare;
}

static ek_status create(const ek_queue *queue, ek_cublas_owned **owned)
{
    ek_cublas_owned *fresh = malloc(sizeof *fresh);
    if (!fresh)
        return ek_fail(EK_OUT_OF_MEMORY, "%s: no host memory", call);
    cublasStatus_t result = ek_cublas.create(&fresh->handle);
    if (result != CUBLAS_STATUS_SUCCESS) {
        free(fresh);
        return ek_cublas_fail(queue, call, "cublasCreate", result);
    }
    *owned = fresh;
    return EK_OK;
}

static ek_status make_handle(ek_cuda_queue *queue)
{
    queue->cublas = take_spare(ek_cuda_device_of(queue->base.device));
    if (!queue->cublas)
        EK_TRY(create(&queue->base.head, &queue->cublas));
    ek_status status = set_up(queue, queue->cublas->handle);
    if (status != EK_OK)
        ek_cublas_release(queue);
    return status;
}

ek_status ek_cublas_handle(ek_queue *queue, cublasHandle_t *handle)
{
    ek_cuda_queue *cuda = ek_cuda_queue_of(queue);
    if (EK_UNLIKELY(!cuda->cublas)) {
        pthread_once(&once, open_cublas);
        if (!usable)
            return ek_fail(EK_UNSUPPORTED, "%s: %s", call, why_not);
        ek_cuda_guard guard;
        EK_TRY(ek_cuda_check_not_captured(queue, "it cannot get a workspace for cuBLAS"));
        EK_TRY(ek_cuda_guard_enter(call, cuda->base.device, &guard));
        ek_status status = make_handle(cuda);
        ek_cuda_guard_leave(&guard);
        if (status != EK_OK)
            return status;
    }
    *handle = cuda->cublas->handle;
    return EK_OK;
}

void ek_cublas_release(ek_cuda_queue *queue)
{
    ek_cuda_device *device = ek_cuda_device_of(queue->base.device);
    ek_cublas_owned *owned = queue->cublas;
    if (!owned)
        return;
    queue->cublas = NULL;
    ek_lock_take(&device->cublas_lock);
    owned->next = device->cublas_spare;
    device->cublas_spare = owned;
    ek_lock_give(&device->cublas_lock);
}

void ek_cublas_destroy_spares(ek_cuda_device *device)
{
    ek_cuda_guard guard;
    ek_cublas_owned *spare = take_spare(device);
    if (!spare)
        return;
    /* Those that cannot be destroyed go with the context. */
    bool entered = ek_cuda_guard_enter("ek_device_close", &device->base, &guard) == EK_OK;
    for (; spare; spare = take_spare(device)) {
        if (entered)
            ek_cublas.destroy(spare->handle);
        free(spare);
    }
    if (entered)
        ek_cuda_guard_leave(&guard);
}

ek_status ek_cublas_enter_program(ek_queue *queue)
{
    void *memory = NULL;
    EK_TRY(ek_cuda_workspace(queue, workspace_bytes, &memory));
    cublasStatus_t result =
        ek_cublas.set_workspace(ek_cuda_queue_of(queue)->cublas->handle, memory, workspace_bytes);
    if (result != CUBLAS_STATUS_SUCCESS)
        return ek_cublas_fail(queue, call, "cublasSetWorkspace", result);
    return EK_OK;
}

void ek_cublas_leave_program(ek_queue *queue)
{
    ek_cuda_queue *cuda = ek_cuda_queue_of(queue);
    cublasStatus_t result =
        ek_cublas.set_workspace(cuda->cublas->handle, cuda->cublas_workspace, workspace_bytes);
    if (result != CUBLAS_STATUS_SUCCESS)
        ek_cublas_release(cuda);
}
