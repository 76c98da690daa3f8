#include "cuda/queue.h"

ek_status ek_cuda_alloc(ek_queue *queue, size_t bytes, void **memory)
{
    const ek_cuda_device *device = ek_cuda_device_of(ek_queue_base_of(queue)->device);
    CUdeviceptr address = 0;
    CUresult result =
        ek_cu.cuMemAllocFromPoolAsync(&address, bytes, device->pool, ek_cuda_stream_of(queue));
    if (EK_UNLIKELY(result == CUDA_ERROR_OUT_OF_MEMORY))
        return ek_fail(EK_OUT_OF_MEMORY, "ek_alloc: %s has no room for %zu bytes",
                       device->base.name, bytes);
    if (EK_UNLIKELY(result != CUDA_SUCCESS))
        return ek_cuda_fail("ek_alloc", "cuMemAllocFromPoolAsync", result);
    *memory = (void *)address;
    return EK_OK;
}

ek_status ek_cuda_free(ek_queue *queue, void *memory)
{
    EK_CUDA_TRY("ek_free", cuMemFreeAsync, ((CUdeviceptr)memory, ek_cuda_stream_of(queue)));
    return EK_OK;
}
