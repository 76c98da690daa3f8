#include "cuda/graph.h"
#include "cuda/queue.h"

ek_status ek_cuda_alloc_on(const ek_device *device, CUstream stream, size_t bytes, void **memory)
{
    CUdeviceptr address = 0;
    CUresult result =
        ek_cu.cuMemAllocFromPoolAsync(&address, bytes, ek_cuda_device_of(device)->pool, stream);
    if (EK_UNLIKELY(result == CUDA_ERROR_OUT_OF_MEMORY))
        return ek_fail(EK_OUT_OF_MEMORY, "ek_alloc: %s has no room for %zu bytes", device->name,
                       bytes);
    if (EK_UNLIKELY(result != CUDA_SUCCESS))
        return ek_cuda_fail("ek_alloc", "cuMemAllocFromPoolAsync", result);
    *memory = (void *)address;
    return EK_OK;
}

ek_status ek_cuda_alloc(ek_queue *queue, size_t bytes, void **memory)
{
    if (EK_UNLIKELY(ek_recording(queue)))
        return ek_cuda_program_alloc(ek_recording(queue), bytes, memory);
    return ek_cuda_alloc_on(ek_queue_device(queue), ek_cuda_stream_of(queue), bytes, memory);
}

ek_status ek_cuda_free(ek_queue *queue, void *memory)
{
    CUstream stream = ek_cuda_stream_of(queue);
    if (EK_UNLIKELY(ek_recording(queue)))
        stream = ek_cuda_program_aside(ek_recording(queue));
    EK_CUDA_TRY("ek_free", cuMemFreeAsync, ((CUdeviceptr)memory, stream));
    return EK_OK;
}
