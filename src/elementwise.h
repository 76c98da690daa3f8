/* Elementwise operations on arrays of any shape and strides. */
#ifndef EK_ELEMENTWISE_H
#define EK_ELEMENTWISE_H

#include "kind.h"
#include "layout.h"
#include "params.h"

/* Computes rows of n contiguous elements, one row or more: data[] are the outputs, then the inputs,
 * step[] how many elements lie between the starts of two of their rows, params the parameters as
 * the loop computes with them. The CPU kernel of every elementwise loop; a null pointer stands for
 * one whose output is its input. */
typedef void ek_elementwise_fn(int64_t rows, int64_t n, void *const *data, const int64_t *step,
                               const ek_scalar *params);

extern const ek_kind ek_kind_elementwise;

/* The array call of an elementwise operation: checks, broadcasts, collapses dimensions, runs.
 * `params` are those of an array call; null where the operation has none. */
ek_status ek_elementwise(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         const ek_scalar *params, ek_array *const *out);

/* Runs a loop of an operation over a checked layout, on whatever device the queue is of. `params`
 * are the loop's, EK_MAX_PARAMS of them, or null. */
ek_status ek_elementwise_run(ek_queue *queue, const ek_op_info *op, int32_t loop,
                             const ek_layout *layout, const ek_scalar *params);

/* The bytes of an element of each operand of a loop. */
void ek_loop_sizes(const ek_op_info *op, int32_t loop, uint8_t *size);

/* The backends' parts of it. */
ek_status ek_cpu_elementwise_layout(ek_queue *queue, ek_elementwise_fn *kernel,
                                    const ek_layout *layout, const uint8_t *size,
                                    const ek_scalar *params);
#if EK_HAVE_CUDA
struct ek_cuda_kernels;
ek_status ek_cuda_elementwise_layout(ek_queue *queue, const struct ek_cuda_kernels *kernels,
                                     int32_t loop, const ek_layout *layout, const uint8_t *size,
                                     const ek_scalar *params);
#endif

#endif
