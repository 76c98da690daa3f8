/* Operations with a result per element that look at whole rows: softmax and its like. */
#ifndef EK_ROWWISE_H
#define EK_ROWWISE_H

#include "kind.h"
#include "rows.h"

extern const ek_kind ek_kind_row;

/* The array call: checks, merges dimensions, runs. */
ek_status ek_rowwise(ek_queue *queue, const ek_op_info *op, const ek_array *x, int32_t axis,
                     ek_array *out);

/* The backends' parts of it, over checked rows. */
struct ek_rowwise_kernels;
ek_status ek_cpu_rowwise(ek_queue *queue, const struct ek_rowwise_kernels *kernels,
                         const ek_rows *rows);
#if EK_HAVE_CUDA
struct ek_cuda_kernels;
ek_status ek_cuda_rowwise(ek_queue *queue, const struct ek_cuda_kernels *kernels,
                          const ek_op_info *op, int32_t loop, const ek_rows *rows);
#endif

#endif
