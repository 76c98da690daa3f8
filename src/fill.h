/* The fill kind: one value into an array of any shape and strides. */
#ifndef EK_FILL_H
#define EK_FILL_H

#include "elementwise.h"

enum { EK_FILL_PARAMS = 3 };

extern const ek_kind ek_kind_fill;
extern const ek_param_info ek_fill_params[EK_FILL_PARAMS];

/* The array call. On the CPU the value is an input with stride 0 that is copied. */
ek_status ek_fill_array(ek_queue *queue, const ek_op_info *op, const void *value, ek_array *out);

/* Fills a layout of one operand; `value` is host memory. The CPU's makes it an input
 * that is copied, with strides of 0. */
ek_status ek_cpu_fill_layout(ek_queue *queue, ek_layout *layout, const void *value,
                             const uint8_t *size);
#if EK_HAVE_CUDA
ek_status ek_cuda_fill_layout(ek_queue *queue, const struct ek_cuda_kernels *kernels, int32_t loop,
                              const ek_layout *layout, const void *value, uint8_t size);
#endif

#endif
