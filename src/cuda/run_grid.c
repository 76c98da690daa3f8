/* How a layout becomes a walk of lines along the output's smallest steps. */
#include <string.h>

#include "cuda/divide.h"
#include "cuda/grid_args.h"
#include "cuda/launch.h"
#include "cuda/run_elementwise.h"
#include "grid.h"
#include "integer.h"

/* Kernels count lines in 31 bits, with some room. */
#define MOST_LINES (INT64_C(1) << 30)

static int ceil_log2(int64_t value)
{
    return value > 1 ? 64 - __builtin_clzll((unsigned long long)value - 1) : 0;
}

static ek_status launch(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t loop,
                        const ek_layout *layout, uint8_t size, const ek_scalar *params)
{
    ek_cuda_walk walk; /* large, so only what its dimensions need is set */
    int32_t lines = layout->ndim - 1, row = ek_grid_row(layout);
    int64_t width = EK_CUDA_WIDTH(size), count = 1;
    memcpy(walk.data, layout->data, sizeof walk.data);
    for (int32_t k = row; k < row + 2; k++)
        walk.data[k] = (void *)((uintptr_t)walk.data[k] - EK_GRID_ORIGIN);
    walk.length = lines >= 0 ? layout->shape[lines] : 1;
    for (int32_t k = 0; k < layout->operands; k++)
        walk.step[k] = lines >= 0 ? layout->stride[lines][k] : 1;
    walk.turned = walk.folded = 0;
    walk.ndim = lines > 0 ? lines : 1;
    for (int32_t d = 0; d < walk.ndim; d++) {
        bool there = d < lines;
        walk.shape[d] = ek_cuda_divisible(there ? layout->shape[d] : 1);
        count *= there ? layout->shape[d] : 1;
        for (int32_t k = 0; k < layout->operands; k++)
            walk.stride[d][k] = there ? layout->stride[d][k] : 0;
    }
    walk.lines = (uint32_t)count;
    /* A line may begin before a boundary of packs. */
    int64_t packs = ek_divide_up(walk.length + width - 1, width * EK_CUDA_GRID_PACKS);
    int across = ceil_log2(packs);
    walk.across = across < EK_CUDA_LOG_THREADS ? across : EK_CUDA_LOG_THREADS;
    int64_t tiles = ek_divide_up(packs, INT64_C(1) << walk.across);
    int64_t bands = ek_divide_up(count, EK_CUDA_THREADS >> walk.across);
    if (tiles > INT32_MAX / bands)
        return ek_cuda_refuse_count(kernels, layout->size);
    walk.tiles = ek_cuda_divisible(tiles);
    ek_grid grid = {{(uint32_t)(tiles * bands), 1, 1}, {EK_CUDA_THREADS, 1, 1}, 0};
    void *args[] = {&walk, (void *)params};
    return ek_cuda_launch(queue, kernels, loop, &grid, args);
}

ek_status ek_cuda_grid(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t loop,
                       const ek_layout *layout, uint8_t size, const ek_scalar *params)
{
    int64_t lines = layout->ndim > 0 ? layout->size / layout->shape[layout->ndim - 1] : 1;
    int32_t longest = 0;
    if (lines <= MOST_LINES)
        return launch(queue, kernels, loop, layout, size, params);
    /* More are walked half by half. */
    for (int32_t d = 1; d < layout->ndim - 1; d++)
        longest = layout->shape[d] > layout->shape[longest] ? d : longest;
    for (int half = 0; half < 2; half++) {
        ek_layout part = *layout;
        int64_t first = half ? layout->shape[longest] / 2 : 0;
        part.shape[longest] = half ? layout->shape[longest] - first : layout->shape[longest] / 2;
        part.size = layout->size / layout->shape[longest] * part.shape[longest];
        for (int32_t k = 0; k < layout->operands; k++)
            part.data[k] = (char *)part.data[k] + first * layout->stride[longest][k] *
                                                      (k < ek_grid_row(layout) ? size : 1);
        EK_TRY(ek_cuda_grid(queue, kernels, loop, &part, size, params));
    }
    return EK_OK;
}
