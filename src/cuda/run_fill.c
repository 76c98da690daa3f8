#include "cuda/run_fill.h"

ek_status ek_cuda_fill_layout(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t loop,
                              const ek_layout *layout, const void *value, uint8_t size)
{
    return ek_cuda_run_layout(queue, kernels, loop, layout, &size, value);
}
