#include "cuda/launch.h"

#include <stdlib.h>

#include "cuda/queue.h"
#include "lock.h"
#include "program.h"

static ek_lock lock;

/* Permits a kernel all the shared memory it is launched with, on every device. */
static ek_status allow_shared(const char *name, CUkernel kernel, int32_t bytes)
{
    CUdevice device;
    for (int32_t i = 0; i < ek_cuda_devices(NULL); i++) {
        EK_CUDA_TRY(name, cuDeviceGet, (&device, i));
        CUresult result = ek_cu.cuKernelSetAttribute(
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes, kernel, device);
        /* What a device does not have, no one launches there. */
        if (result != CUDA_SUCCESS && result != CUDA_ERROR_INVALID_VALUE)
            return ek_cuda_fail(name, "cuKernelSetAttribute", result);
    }
    return EK_OK;
}

/* Looks up every kernel of the operation; `found` has room for them. */
static ek_status find_kernels(const ek_cuda_kernels *kernels, CUlibrary library, CUkernel *found)
{
    for (int32_t i = 0; i < kernels->count; i++) {
        CUresult result = ek_cu.cuLibraryGetKernel(&found[i], library, kernels->names[i]);
        if (result != CUDA_SUCCESS)
            return ek_cuda_fail(kernels->names[i], "cuLibraryGetKernel", result);
        if (kernels->shared)
            EK_TRY(allow_shared(kernels->names[i], found[i], kernels->shared[i]));
    }
    return EK_OK;
}

/* Loads the operation's fatbin for the rest of the process, all of it or nothing. */
static ek_status load_locked(const ek_cuda_kernels *kernels)
{
    if (atomic_load_explicit(&kernels->loaded[0], memory_order_relaxed))
        return EK_OK;
    CUlibrary library;
    CUkernel *found = malloc((size_t)kernels->count * sizeof *found);
    if (!found)
        return ek_fail(EK_OUT_OF_MEMORY, "%s: no host memory", kernels->names[0]);
    CUresult result =
        ek_cu.cuLibraryLoadData(&library, kernels->image, NULL, NULL, 0, NULL, NULL, 0);
    ek_status status = EK_OK;
    if (result != CUDA_SUCCESS) {
        status = ek_cuda_fail(kernels->names[0], "cuLibraryLoadData", result);
    } else {
        status = find_kernels(kernels, library, found);
        if (status != EK_OK)
            ek_cu.cuLibraryUnload(library);
    }
    /* The first one last: it says that all are there. */
    for (int32_t i = kernels->count - 1; i >= 0 && status == EK_OK; i--)
        atomic_store_explicit(&kernels->loaded[i], (void *)found[i], memory_order_release);
    free(found);
    return status;
}

static ek_status load(const ek_cuda_kernels *kernels)
{
    ek_lock_take(&lock);
    ek_status status = load_locked(kernels);
    ek_lock_give(&lock);
    return status;
}

/* Kernel `index`, loaded on first use. */
static inline ek_status get(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t index,
                            CUfunction *kernel)
{
    *kernel = atomic_load_explicit(&kernels->loaded[index], memory_order_acquire);
    if (EK_UNLIKELY(!*kernel)) {
        EK_TRY(ek_recorded(queue, load(kernels)));
        *kernel = atomic_load_explicit(&kernels->loaded[index], memory_order_acquire);
    }
    return EK_OK;
}

ek_status ek_cuda_launch(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t index,
                         const ek_grid *grid, void **params)
{
    CUfunction kernel;
    EK_TRY(get(queue, kernels, index, &kernel));
    CUresult result = ek_cu.cuLaunchKernel(
        kernel, grid->blocks[0], grid->blocks[1], grid->blocks[2], grid->threads[0],
        grid->threads[1], grid->threads[2], grid->shared, ek_cuda_stream_of(queue), params, NULL);
    if (EK_UNLIKELY(result != CUDA_SUCCESS))
        return ek_recorded(
            queue, ek_cuda_queue_fail(queue, kernels->names[index], "cuLaunchKernel", result));
    return ek_cuda_given(queue, kernels->op);
}

ek_status ek_cuda_launch_clusters(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t index,
                                  const ek_grid *grid, int32_t cluster, void **params)
{
    if (cluster == 1)
        return ek_cuda_launch(queue, kernels, index, grid, params);
    CUfunction kernel;
    EK_TRY(get(queue, kernels, index, &kernel));
    CUlaunchAttribute attribute = {
        .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
        .value = {.clusterDim = {.x = (unsigned)cluster, .y = 1, .z = 1}}};
    CUlaunchConfig config = {.gridDimX = grid->blocks[0],
                             .gridDimY = grid->blocks[1],
                             .gridDimZ = grid->blocks[2],
                             .blockDimX = grid->threads[0],
                             .blockDimY = grid->threads[1],
                             .blockDimZ = grid->threads[2],
                             .sharedMemBytes = grid->shared,
                             .hStream = ek_cuda_stream_of(queue),
                             .attrs = &attribute,
                             .numAttrs = 1};
    CUresult result = ek_cu.cuLaunchKernelEx(&config, kernel, params, NULL);
    if (EK_UNLIKELY(result != CUDA_SUCCESS))
        return ek_recorded(
            queue, ek_cuda_queue_fail(queue, kernels->names[index], "cuLaunchKernelEx", result));
    return ek_cuda_given(queue, kernels->op);
}
