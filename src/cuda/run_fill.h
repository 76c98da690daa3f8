/* Filling on CUDA. Loop i has kernel 2i for contiguous memory and kernel 2i + 1 for any strides. */
#ifndef EK_CUDA_RUN_FILL_H
#define EK_CUDA_RUN_FILL_H

#include "cuda/run_elementwise.h"
#include "fill.h"

/* n elements of `size` bytes at out; `value` is one element in host memory. */
ek_status ek_cuda_fill(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t loop, int64_t n,
                       const void *value, void *out, uint8_t size);

#endif
