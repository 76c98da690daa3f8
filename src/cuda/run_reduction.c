#include "argreduction.h"
#include "cuda/run_rows.h"
#include "reduction.h"

/* A winner: the value and its index. */
static const ek_cuda_sizes winner = {4, 16};

static ek_status run(ek_queue *queue, const ek_cuda_kernels *kernels, const ek_op_info *op,
                     int32_t loop, ek_cuda_sizes sizes, const ek_rows *rows)
{
    if (rows->count == 0)
        return EK_OK;
    EK_TRY(ek_cuda_check_address(op, loop, rows));
    ek_cuda_reduction reduction = {
        .kernels = kernels,
        /* (what two inputs have at one place is one element) */
        .in_size = op->inputs * (int64_t)ek_dtype_size((ek_dtype)op->loops[loop].in[0]),
        .sizes = sizes,
    };
    for (int i = 0; i < EK_CUDA_REDUCTION_KERNELS; i++)
        reduction.kernel[i] = loop * EK_CUDA_REDUCTION_KERNELS + i;
    size_t bytes = ek_cuda_parts_bytes(rows, sizes.part);
    void *parts = NULL;
    if (bytes > 0)
        EK_TRY(ek_cuda_workspace(queue, bytes, &parts));
    reduction.parts = parts;
    return ek_cuda_reduce_rows(queue, &reduction, rows);
}

ek_status ek_cuda_reduce(ek_queue *queue, const ek_cuda_kernels *kernels, const ek_op_info *op,
                         int32_t loop, const ek_rows *rows)
{
    return run(queue, kernels, op, loop, kernels->sizes[loop], rows);
}

ek_status ek_cuda_argreduce(ek_queue *queue, const ek_cuda_kernels *kernels, const ek_op_info *op,
                            int32_t loop, const ek_rows *rows)
{
    return run(queue, kernels, op, loop, winner, rows);
}
