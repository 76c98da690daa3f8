/* How random kernels are launched. A loop has two: one for operands without gaps from a place on
 * that begins a counter, one for everything else. */
#include <string.h>

#include "cuda/launch.h"
#include "cuda/random_args.h"
#include "random.h"

enum { CONTIGUOUS, WALK, KERNELS };

static bool is_contiguous(const ek_random_work *work)
{
    bool contiguous = work->ndim == 1 && work->place % EK_CUDA_RANDOM_GROUP == 0;
    for (int i = 0; i < work->operands; i++)
        contiguous &= work->stride[0][i] == 1 && (uintptr_t)work->data[i] % 16 == 0;
    return contiguous;
}

static ek_status launch(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t kernel,
                        const ek_random_work *work, int64_t threads, void **params)
{
    int64_t blocks = (threads - 1) / EK_CUDA_THREADS + 1;
    if (EK_UNLIKELY(blocks > INT32_MAX))
        return ek_fail(EK_INVALID_ARGUMENT,
                       "ek_%s: %lld elements: more than a grid has threads for", kernels->op,
                       (long long)work->size);
    ek_grid grid = {{(uint32_t)blocks, 1, 1}, {EK_CUDA_THREADS, 1, 1}, 0};
    return ek_cuda_launch(queue, kernels, kernel, &grid, params);
}

ek_status ek_cuda_random(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t loop,
                         const ek_random_work *work)
{
    const void *scalars = work->params;
    if (is_contiguous(work)) {
        int64_t n = work->size, each = EK_CUDA_RANDOM_TILE(work->bytes[0]) / EK_CUDA_THREADS;
        void *data[] = {work->data[0], work->operands > 1 ? work->data[1] : NULL};
        uint64_t place = work->place;
        void *params[] = {&n, &place, &data[0], &data[1], (void *)scalars};
        return launch(queue, kernels, KERNELS * loop + CONTIGUOUS, work, (n - 1) / each + 1,
                      params);
    }
    ek_cuda_random_walk walk; /* large, so only what its dimensions need is set */
    size_t ndim = (size_t)work->ndim;
    memcpy(walk.data, work->data, sizeof walk.data);
    walk.size = work->size;
    walk.place = work->place;
    walk.ndim = work->ndim;
    memcpy(walk.shape, work->shape, ndim * sizeof *walk.shape);
    memcpy(walk.stride, work->stride, ndim * sizeof *walk.stride);
    uint64_t first = work->place / EK_CUDA_RANDOM_GROUP;
    uint64_t last = (work->place + (uint64_t)work->size - 1) / EK_CUDA_RANDOM_GROUP;
    void *params[] = {&walk, (void *)scalars};
    return launch(queue, kernels, KERNELS * loop + WALK, work, (int64_t)(last - first) + 1, params);
}
