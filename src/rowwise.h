/* Operations that look at whole rows: softmax and its like, norms, and reductions that look at
 * their elements twice. */
#ifndef EK_ROWWISE_H
#define EK_ROWWISE_H

#include "kind.h"
#include "rows.h"

/* A result per element; the same with gain and bias; a result per row, called as reductions are. */
extern const ek_kind ek_kind_row;
extern const ek_kind ek_kind_norm;
extern const ek_kind ek_kind_rowreduction;

/* What a norm's results are multiplied by and what is added, an element each along the row, and
 * what goes under its root. */
typedef struct ek_affine {
    const void *gain, *bias;      /* (optional) */
    int64_t gain_step, bias_step; /* in elements */
    double eps;
} ek_affine;

/* The array calls: checks, merges dimensions, runs. `in` has the operation's inputs. */
ek_status ek_rowwise(ek_queue *queue, const ek_op_info *op, const ek_array *x, int32_t axis,
                     ek_array *out);
ek_status ek_norm(ek_queue *queue, const ek_op_info *op, const ek_array *const *in, int32_t axis,
                  double eps, ek_array *out);

/* The check of a norm's typed call, as ek_rows_typed. */
ek_status ek_norm_typed(const ek_op_info *op, int32_t loop, int64_t outer, int64_t n, int64_t inner,
                        const void *x, const ek_affine *affine, void *out, ek_rows *rows);

/* The backends' parts of it, over checked rows. affine: null unless it is a norm. */
struct ek_rowwise_kernels;
ek_status ek_cpu_rowwise(ek_queue *queue, const struct ek_rowwise_kernels *kernels,
                         const ek_rows *rows, const ek_affine *affine);
#if EK_HAVE_CUDA
struct ek_cuda_kernels;
ek_status ek_cuda_rowwise(ek_queue *queue, const struct ek_cuda_kernels *kernels,
                          const ek_op_info *op, int32_t loop, const ek_rows *rows,
                          const ek_affine *affine);
#endif

#endif
