/* Reductions on arrays of any shape and strides. */
#ifndef EK_REDUCTION_H
#define EK_REDUCTION_H

#include "kind.h"
#include "rows.h"

extern const ek_kind ek_kind_reduction;

/* Reductions that have no result for no elements. */
extern const ek_kind ek_kind_reduction_nonempty;

/* The array call, of every kind that is called as reductions are: checks, merges dimensions, and
 * has the kind run the rows. */
ek_status ek_reduction(ek_queue *queue, const ek_op_info *op, const ek_array *x, int32_t naxes,
                       const int32_t *axes, bool keepdims, ek_array *out);

/* The same for those that subtract ddof from the divisor. */
ek_status ek_reduction_ddof(ek_queue *queue, const ek_op_info *op, const ek_array *x, int32_t naxes,
                            const int32_t *axes, int64_t ddof, bool keepdims, ek_array *out);

/* Their part of ek_kind: parameters `axes`, `keepdims` and `ddof`. */
ek_status ek_reduction_infer(const ek_op_info *op, const ek_array *const *in, int32_t param_count,
                             const ek_param *params, ek_output *out);
ek_status ek_reduction_apply(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                             int32_t param_count, const ek_param *params, ek_array *const *out);

/* The backends' parts of it, over checked rows; a row may have no element if the operation has an
 * identity. */
struct ek_reduction_kernels;
ek_status ek_cpu_reduce(ek_queue *queue, const struct ek_reduction_kernels *kernels,
                        const ek_rows *rows);
#if EK_HAVE_CUDA
struct ek_cuda_kernels;
ek_status ek_cuda_reduce(ek_queue *queue, const struct ek_cuda_kernels *kernels,
                         const ek_op_info *op, int32_t loop, const ek_rows *rows);
#endif

#endif
