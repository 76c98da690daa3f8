/* What the host and the kernels of random operations agree on; read by C and by CUDA C. */
#ifndef EK_CUDA_RANDOM_ARGS_H
#define EK_CUDA_RANDOM_ARGS_H

#include <stdint.h>

#include "cuda/elementwise_args.h"

/* Elements that a thread draws at once: 16 bytes, and no fewer than EK_CUDA_RANDOM_GROUP, which
 * take whole counters. */
#define EK_CUDA_RANDOM_GROUP 4
#define EK_CUDA_RANDOM_EACH(size) ((size) > 4 ? EK_CUDA_RANDOM_GROUP : 16 / (size))

/* Times that a thread of the contiguous kernel does so. */
#define EK_CUDA_RANDOM_ROUNDS 4

/* Elements of a block of it. */
#define EK_CUDA_RANDOM_TILE(size)                                                                  \
    (EK_CUDA_THREADS * EK_CUDA_RANDOM_ROUNDS * EK_CUDA_RANDOM_EACH(size))

/* Any layout of an output and an input. */
typedef struct ek_cuda_random_walk {
    void *data[2];
    int64_t size;   /* elements */
    uint64_t place; /* of the first element */
    int32_t ndim;
    int64_t shape[EK_MAX_NDIM];
    int64_t stride[EK_MAX_NDIM][2]; /* in elements */
} ek_cuda_random_walk;

#endif
