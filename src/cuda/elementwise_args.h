/* What the host and the elementwise kernels agree on; read by C and by CUDA C. */
#ifndef EK_CUDA_ELEMENTWISE_ARGS_H
#define EK_CUDA_ELEMENTWISE_ARGS_H

#include <stdint.h>

#include "einkorn/table.h"

/* Threads of a block. */
#define EK_CUDA_THREADS 256

/* Contiguous kernels move packs of 16 bytes of the largest operand, several a thread, so that
 * enough loads are under way to fill the memory's latency. Elements of small types would take much
 * code. */
#define EK_CUDA_WIDTH(largest) (16 / (largest))
#define EK_CUDA_PACKS(largest) ((largest) <= 2 ? 2 : 4)

/* Elements a block computes. */
#define EK_CUDA_TILE(largest) (EK_CUDA_THREADS * EK_CUDA_WIDTH(largest) * EK_CUDA_PACKS(largest))

/* Elements a thread of a strided kernel computes. */
#define EK_CUDA_ITEMS 4

/* The layout a strided kernel walks. A kernel's parameter, so a call copies nothing to the device.
 */
typedef struct ek_cuda_walk {
    void *data[EK_MAX_INPUTS + 1]; /* the output, then the inputs */
    int64_t size;                  /* elements */
    int32_t ndim;                  /* at least 1 */
    int32_t narrow;                /* 1 if every index fits 31 bits; then the divisors are set */
    int64_t shape[EK_MAX_NDIM];
    int64_t stride[EK_MAX_NDIM][EK_MAX_INPUTS + 1]; /* in elements */

    /* i / shape[d] is (high(i * multiplier[d]) + i) >> shift[d] for i below 2^31, where high takes
     * the upper half of the 64-bit product: the method of Granlund and Montgomery ("Division by
     * invariant integers using multiplication", 1994). */
    uint32_t multiplier[EK_MAX_NDIM];
    uint32_t shift[EK_MAX_NDIM];
} ek_cuda_walk;

#endif
