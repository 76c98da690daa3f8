/* Running elementwise kernels on CUDA. A loop of an operation has a kernel for each kind of layout,
 * the fastest first. */
#ifndef EK_CUDA_RUN_ELEMENTWISE_H
#define EK_CUDA_RUN_ELEMENTWISE_H

#include "cuda/elementwise_args.h"
#include "cuda/launch.h"
#include "elementwise.h"
#include "typed.h"

enum {
    EK_CUDA_CONTIGUOUS, /* operands without gaps at boundaries of packs */
    EK_CUDA_LINES,      /* lines of such, or of one element for all of a line */
    EK_CUDA_WALK,       /* anything */
    EK_CUDA_LAYOUTS,
    /* Two more for operations that only move elements. */
    EK_CUDA_SLIDE = EK_CUDA_LAYOUTS, /* lines without gaps, forward or backward */
    EK_CUDA_TURN,                    /* lines across lines of the input */
    EK_CUDA_MOVE_LAYOUTS
};

/* Unlike most CPUs, a GPU answers a misaligned address with the end of its context. */
ek_status ek_cuda_refuse_address(const ek_op_info *op, int32_t loop, void *const *data,
                                 const uint8_t *align) __attribute__((cold));

ek_status ek_cuda_refuse_count(const ek_cuda_kernels *kernels, int64_t n) __attribute__((cold));

/* Runs a loop over a layout that has elements. What a kernel takes by value beside the operands is
 * at `value`: an operation's parameters, or the element that arrays are filled with. */
ek_status ek_cuda_run_layout(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t loop,
                             const ek_layout *layout, const uint8_t *size, const void *value);

/* The same for one dimension without gaps, which may begin anywhere. */
ek_status ek_cuda_run_line(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t loop,
                           int32_t outputs, int32_t operands, int64_t n, void *const *data,
                           const uint8_t *size, const void *value);

static inline int ek_cuda_largest(int32_t operands, const uint8_t *size)
{
    int largest = size[0];
    for (int32_t i = 1; i < operands; i++)
        largest = size[i] > largest ? size[i] : largest;
    return largest;
}

/* True if every operand begins at a boundary of packs. */
static inline bool ek_cuda_packs_fit(int32_t operands, void *const *data, const uint8_t *size,
                                     int width)
{
    uintptr_t skew = 0;
    for (int32_t i = 0; i < operands; i++)
        skew |= (uintptr_t)data[i] & (uintptr_t)(size[i] * width - 1);
    return skew == 0;
}

/* The same for n > 0 elements without gaps that begin at boundaries of packs. */
static inline ek_status ek_cuda_run_contiguous(ek_queue *queue, const ek_cuda_kernels *kernels,
                                               int32_t loop, int32_t operands, int64_t n,
                                               void *const *data, const uint8_t *size,
                                               const void *value)
{
    void *params[2 + EK_MAX_OPERANDS] = {&n};
    for (int i = 0; i < operands; i++)
        params[i + 1] = (void *)&data[i];
    params[operands + 1] = (void *)value;
    int64_t blocks = (n - 1) / EK_CUDA_TILE(ek_cuda_largest(operands, size)) + 1;
    if (EK_UNLIKELY(blocks > INT32_MAX))
        return ek_cuda_refuse_count(kernels, n);
    ek_grid grid = {{(uint32_t)blocks, 1, 1}, {EK_CUDA_THREADS, 1, 1}, 0};
    return ek_cuda_launch(queue, kernels, kernels->layouts * loop, &grid, params);
}

/* A typed call that ek_typed_ok has passed. `align[]` holds what the operands' elements need. */
static inline ek_status ek_cuda_elementwise(ek_queue *queue, const ek_op_info *op,
                                            const ek_cuda_kernels *kernels, int32_t loop,
                                            int32_t operands, int64_t n, void *const *data,
                                            const uint8_t *size, const uint8_t *align,
                                            const ek_scalar *params)
{
    int width = EK_CUDA_WIDTH(ek_cuda_largest(operands, size));
    if (n == 0)
        return EK_OK;
    if (ek_cuda_packs_fit(operands, data, size, width))
        return ek_cuda_run_contiguous(queue, kernels, loop, operands, n, data, size, params);
    if (!ek_cuda_packs_fit(operands, data, align, 1))
        return ek_cuda_refuse_address(op, loop, data, align);
    return ek_cuda_run_line(queue, kernels, loop, op->outputs, operands, n, data, size, params);
}

#endif
