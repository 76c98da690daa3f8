/* Reductions of pairs of elements of two arrays of any shape and strides. */
#ifndef EK_CONTRACTION_H
#define EK_CONTRACTION_H

#include "kind.h"
#include "rows.h"

/* Operations whose two arguments may change places. */
extern const ek_kind ek_kind_contraction;

/* All others. */
extern const ek_kind ek_kind_contraction_ordered;

/* The array call: x and y broadcast, and `naxes` axes of what they broadcast to are reduced. */
ek_status ek_contraction(ek_queue *queue, const ek_op_info *op, const ek_array *x,
                         const ek_array *y, int32_t naxes, const int32_t *axes, bool keepdims,
                         ek_array *out);

/* The check of a typed call over x[outer][n][inner] and y of the same shape, or y[n] if `same_y`,
 * and its rows along n. */
ek_status ek_contraction_typed(const ek_op_info *op, int32_t loop, int64_t outer, int64_t n,
                               int64_t inner, const void *x, bool same_y, const void *y, void *out,
                               ek_rows *rows);

/* How the rows are looked at: the elements of each row lie one after the other in x and y; those of
 * neighbouring rows do in x, and in y or are the same for all; neither. */
typedef enum ek_pair_pattern { EK_PAIR_ROWS, EK_PAIR_COLUMNS, EK_PAIR_GATHER } ek_pair_pattern;

ek_pair_pattern ek_pair_pattern_of(const ek_rows *rows);

/* The CPU's part, over checked rows. CUDA's is ek_cuda_reduce. */
struct ek_contraction_kernels;
ek_status ek_cpu_contract(ek_queue *queue, const struct ek_contraction_kernels *kernels,
                          const ek_rows *rows);

#endif
