/* Reductions to an index, on arrays of any shape and strides. */
#ifndef EK_ARGREDUCTION_H
#define EK_ARGREDUCTION_H

#include "kind.h"
#include "rows.h"

extern const ek_kind ek_kind_argreduction;

/* The array call: checks, merges dimensions, runs. axis may be EK_ALL_AXES. */
ek_status ek_argreduction(ek_queue *queue, const ek_op_info *op, const ek_array *x, int32_t axis,
                          bool keepdims, ek_array *out);

/* The backends' parts of it, over checked rows of at least one element. */
struct ek_argreduction_kernels;
ek_status ek_cpu_argreduce(ek_queue *queue, const struct ek_argreduction_kernels *kernels,
                           const ek_rows *rows);
#if EK_HAVE_CUDA
struct ek_cuda_kernels;
ek_status ek_cuda_argreduce(ek_queue *queue, const struct ek_cuda_kernels *kernels,
                            const ek_op_info *op, int32_t loop, const ek_rows *rows);
#endif

#endif
