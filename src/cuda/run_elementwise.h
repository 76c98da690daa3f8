/* Running elementwise kernels on CUDA. Loop i of an operation has kernel 2i for contiguous operands
 * and kernel 2i + 1 for any strides. */
#ifndef EK_CUDA_RUN_ELEMENTWISE_H
#define EK_CUDA_RUN_ELEMENTWISE_H

#include "cuda/elementwise_args.h"
#include "cuda/launch.h"
#include "elementwise.h"
#include "typed.h"

/* Unlike most CPUs, a GPU answers a misaligned address with the end of its context. */
ek_status ek_cuda_refuse_address(const ek_op_info *op, const ek_cuda_kernels *kernels, int32_t loop,
                                 void *const *data, const uint8_t *align) __attribute__((cold));

ek_status ek_cuda_refuse_count(const ek_cuda_kernels *kernels, int32_t index, int64_t n)
    __attribute__((cold));

/* Computes n elements of contiguous operands. */
static inline ek_status ek_cuda_elementwise_run(ek_queue *queue, const ek_cuda_kernels *kernels,
                                                int32_t loop, int32_t operands, int64_t n,
                                                void *const *data, const uint8_t *size)
{
    void *params[1 + EK_MAX_OPERANDS] = {&n};
    int largest = 1;
    for (int i = 0; i < operands; i++) {
        params[i + 1] = (void *)&data[i];
        largest = size[i] > largest ? size[i] : largest;
    }
    if (n == 0)
        return EK_OK;
    int64_t blocks = (n - 1) / EK_CUDA_TILE(largest) + 1;
    if (EK_UNLIKELY(blocks > INT32_MAX))
        return ek_cuda_refuse_count(kernels, 2 * loop, n);
    ek_grid grid = {{(uint32_t)blocks, 1, 1}, {EK_CUDA_THREADS, 1, 1}, 0};
    return ek_cuda_launch(queue, kernels, 2 * loop, &grid, params);
}

/* A typed call that ek_typed_ok has passed. `align[]` holds what the operands' elements need. */
static inline ek_status ek_cuda_elementwise(ek_queue *queue, const ek_op_info *op,
                                            const ek_cuda_kernels *kernels, int32_t loop,
                                            int32_t operands, int64_t n, void *const *data,
                                            const uint8_t *size, const uint8_t *align)
{
    uintptr_t misaligned = 0;
    for (int i = 0; i < operands; i++)
        misaligned |= (uintptr_t)data[i] & (uintptr_t)(align[i] - 1);
    if (EK_UNLIKELY(misaligned && n > 0))
        return ek_cuda_refuse_address(op, kernels, loop, data, align);
    return ek_cuda_elementwise_run(queue, kernels, loop, operands, n, data, size);
}

#endif
