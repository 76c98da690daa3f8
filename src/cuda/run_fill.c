#include "cuda/run_fill.h"

#include <string.h>

ek_status ek_cuda_fill(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t loop, int64_t n,
                       const void *value, void *out, uint8_t size)
{
    void *params[] = {&n, &out, (void *)value};
    if (n == 0)
        return EK_OK;
    int64_t blocks = (n - 1) / EK_CUDA_TILE(size) + 1;
    if (blocks > INT32_MAX)
        return ek_cuda_refuse_count(kernels, 2 * loop, n);
    ek_grid grid = {{(uint32_t)blocks, 1, 1}, {EK_CUDA_THREADS, 1, 1}, 0};
    return ek_cuda_launch(queue, kernels, 2 * loop, &grid, params);
}

ek_status ek_cuda_fill_layout(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t loop,
                              const ek_layout *layout, const void *value, uint8_t size)
{
    if (layout->ndim == 0 || (layout->ndim == 1 && layout->stride[0][0] == 1))
        return ek_cuda_fill(queue, kernels, loop, layout->size, value, layout->data[0], size);
    ek_cuda_walk walk; /* large, so only what its dimensions need is set */
    walk.size = layout->size;
    walk.ndim = layout->ndim;
    walk.data[0] = layout->data[0];
    memcpy(walk.shape, layout->shape, (size_t)layout->ndim * sizeof walk.shape[0]);
    memcpy(walk.stride, layout->stride, (size_t)layout->ndim * sizeof walk.stride[0]);
    int64_t blocks = (walk.size - 1) / EK_CUDA_THREADS + 1;
    if (blocks > INT32_MAX)
        return ek_cuda_refuse_count(kernels, 2 * loop + 1, walk.size);
    ek_grid grid = {{(uint32_t)blocks, 1, 1}, {EK_CUDA_THREADS, 1, 1}, 0};
    void *params[] = {&walk, (void *)value};
    return ek_cuda_launch(queue, kernels, 2 * loop + 1, &grid, params);
}
