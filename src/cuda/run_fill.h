/* Filling on CUDA, by the kernels of elementwise operations. */
#ifndef EK_CUDA_RUN_FILL_H
#define EK_CUDA_RUN_FILL_H

#include "cuda/run_elementwise.h"
#include "fill.h"

/* A typed call that ek_typed_ok has passed. `value` is one element in host memory. */
static inline ek_status ek_cuda_fill(ek_queue *queue, const ek_op_info *op,
                                     const ek_cuda_kernels *kernels, int32_t loop, int64_t n,
                                     const void *value, void *out, uint8_t size, uint8_t align)
{
    void *const data[] = {out};
    if (n == 0)
        return EK_OK;
    if (ek_cuda_packs_fit(1, data, &size, EK_CUDA_WIDTH(size)))
        return ek_cuda_run_contiguous(queue, kernels, loop, 1, n, data, &size, value);
    if (!ek_cuda_packs_fit(1, data, &align, 1))
        return ek_cuda_refuse_address(op, loop, data, &align);
    return ek_cuda_run_line(queue, kernels, loop, 1, 1, n, data, &size, value);
}

#endif
