/* Elementwise operations on arrays of any shape and strides. */
#ifndef EK_ELEMENTWISE_H
#define EK_ELEMENTWISE_H

#include "kind.h"
#include "layout.h"

/* Computes rows of n contiguous elements, one row or more: data[0] is the output, data[1..] the
 * inputs, step[] how many elements lie between the starts of two of their rows. The CPU kernel of
 * every elementwise loop; a null pointer stands for one whose output is its input. */
typedef void ek_elementwise_fn(int64_t rows, int64_t n, void *const *data, const int64_t *step);

extern const ek_kind ek_kind_elementwise;

/* The array call of an elementwise operation: checks, broadcasts, collapses dimensions, runs. */
ek_status ek_elementwise(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         ek_array *out);

/* Runs a loop of an operation over a checked layout, on whatever device the queue is of. */
ek_status ek_elementwise_run(ek_queue *queue, const ek_op_info *op, int32_t loop,
                             const ek_layout *layout);

/* The backends' parts of it. */
ek_status ek_cpu_elementwise_layout(ek_queue *queue, ek_elementwise_fn *kernel,
                                    const ek_layout *layout, const uint8_t *size);
#if EK_HAVE_CUDA
struct ek_cuda_kernels;
ek_status ek_cuda_elementwise_layout(ek_queue *queue, const struct ek_cuda_kernels *kernels,
                                     int32_t loop, const ek_layout *layout, const uint8_t *size);
#endif

#endif
