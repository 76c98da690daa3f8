/* Lengths that kernels divide indices by. */
#ifndef EK_CUDA_DIVIDE_H
#define EK_CUDA_DIVIDE_H

#include "cuda/elementwise_args.h"

/* A length of 1 to 2^31. */
ek_cuda_length ek_cuda_divisible(int64_t length);

#endif
