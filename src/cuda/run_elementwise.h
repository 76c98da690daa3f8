/* Running elementwise kernels on CUDA. Loop i of an operation has kernel 2i for contiguous operands
 * and kernel 2i + 1 for any strides. */
#ifndef EK_CUDA_RUN_ELEMENTWISE_H
#define EK_CUDA_RUN_ELEMENTWISE_H

#include "cuda/elementwise_args.h"
#include "cuda/launch.h"
#include "elementwise.h"
#include "typed.h"

/* A typed call that ek_typed_ok has passed. `align[]` holds the alignment each operand's elements
 * need: unlike most CPUs, a GPU ends the context's life over a misaligned address. */
ek_status ek_cuda_elementwise(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t loop,
                              int32_t operands, int64_t n, void *const *data, const uint8_t *size,
                              const uint8_t *align);

#endif
