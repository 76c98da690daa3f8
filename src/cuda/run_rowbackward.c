/* How backward operations of rows are launched: a loop has a kernel for rows that a warp has each,
 * one for rows that a block keeps, and one for longer rows. */
#include <string.h>

#include "cuda/launch.h"
#include "cuda/rowbackward_args.h"
#include "rowbackward.h"
#include "typed.h"

_Static_assert((int)EK_CUDA_ROWBACKWARD_OPERANDS == (int)EK_ROWBACKWARD_OPERANDS, "one number");

enum { WARPS, BLOCKS, LONG, KERNELS };

/* A GPU answers a misaligned address with the end of its context. */
static ek_status check_addresses(const ek_op_info *op, int32_t loop,
                                 const ek_rowbackward_work *work)
{
    char call[EK_TYPED_CALL_TEXT];
    for (int32_t i = 0; i < work->operands; i++) {
        if (EK_UNLIKELY((uintptr_t)work->data[i] % work->bytes))
            return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is at %p: must be a multiple of %d",
                           ek_typed_call(op, loop, call), ek_operand_name(op, i), work->data[i],
                           work->bytes);
    }
    return EK_OK;
}

ek_status ek_cuda_rowbackward(ek_queue *queue, const ek_cuda_kernels *kernels, const ek_op_info *op,
                              int32_t loop, const ek_rowbackward_work *work)
{
    ek_cuda_rowbackward_args args; /* large, so only what its dimensions need is set */
    size_t ndim = (size_t)work->ndim;
    EK_TRY(check_addresses(op, loop, work));
    memcpy(args.data, work->data, sizeof args.data);
    memcpy(args.step, work->step, sizeof args.step);
    args.rows = work->rows;
    args.n = work->n;
    args.ndim = work->ndim;
    memcpy(args.shape, work->shape, ndim * sizeof *args.shape);
    memcpy(args.stride, work->stride, ndim * sizeof *args.stride);
    int32_t kernel = work->n <= 32 * EK_CUDA_ROWBACKWARD_KEPT                            ? WARPS
                     : work->n <= EK_CUDA_ROWBACKWARD_THREADS * EK_CUDA_ROWBACKWARD_KEPT ? BLOCKS
                                                                                         : LONG;
    int64_t each = kernel == WARPS ? EK_CUDA_ROWBACKWARD_WARPS : 1;
    int64_t blocks = (work->rows - 1) / each + 1;
    if (EK_UNLIKELY(blocks > INT32_MAX))
        return ek_fail(EK_INVALID_ARGUMENT, "ek_%s: %lld rows: more than a grid has blocks for",
                       kernels->op, (long long)work->rows);
    ek_grid grid = {{(uint32_t)blocks, 1, 1}, {EK_CUDA_ROWBACKWARD_THREADS, 1, 1}, 0};
    void *params[] = {&args, (void *)work->params};
    return ek_cuda_launch(queue, kernels, KERNELS * loop + kernel, &grid, params);
}
