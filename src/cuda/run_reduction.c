#include "argreduction.h"
#include "cuda/run_rows.h"
#include "reduction.h"

/* Bytes of a winner: the value and its index. */
enum { WINNER_SIZE = 16 };

static ek_status run(ek_queue *queue, const ek_cuda_kernels *kernels, const ek_op_info *op,
                     int32_t loop, int64_t acc_size, const ek_rows *rows)
{
    if (rows->count == 0)
        return EK_OK;
    EK_TRY(ek_cuda_check_address(op, loop, rows));
    ek_cuda_reduction reduction = {
        .kernels = kernels,
        .in_size = (int64_t)ek_dtype_size((ek_dtype)op->loops[loop].in[0]),
        .acc_size = acc_size,
    };
    for (int i = 0; i < EK_CUDA_REDUCTION_KERNELS; i++)
        reduction.kernel[i] = loop * EK_CUDA_REDUCTION_KERNELS + i;
    size_t bytes = ek_cuda_parts_bytes(rows, acc_size);
    void *parts = NULL;
    if (bytes > 0)
        EK_TRY(ek_cuda_workspace(queue, bytes, &parts));
    reduction.parts = parts;
    return ek_cuda_reduce_rows(queue, &reduction, rows);
}

ek_status ek_cuda_reduce(ek_queue *queue, const ek_cuda_kernels *kernels, const ek_op_info *op,
                         int32_t loop, const ek_rows *rows)
{
    /* Accumulators have the dtype of the results; half types are kept in float. */
    ek_dtype out = (ek_dtype)op->loops[loop].out;
    bool half = out == EK_F16 || out == EK_BF16;
    return run(queue, kernels, op, loop,
               half ? (int64_t)sizeof(float) : (int64_t)ek_dtype_size(out), rows);
}

ek_status ek_cuda_argreduce(ek_queue *queue, const ek_cuda_kernels *kernels, const ek_op_info *op,
                            int32_t loop, const ek_rows *rows)
{
    return run(queue, kernels, op, loop, WINNER_SIZE, rows);
}
