/* What the host and the elementwise kernels agree on; read by C and by CUDA C. */
#ifndef EK_CUDA_ELEMENTWISE_ARGS_H
#define EK_CUDA_ELEMENTWISE_ARGS_H

#include <stdint.h>

#include "einkorn/limits.h"

/* Threads of a block. */
#define EK_CUDA_LOG_THREADS 8
#define EK_CUDA_THREADS (1 << EK_CUDA_LOG_THREADS)

/* Kernels move packs of neighbouring elements: 16 bytes of the largest operand. */
#define EK_CUDA_WIDTH(largest) (16 / (largest))

/* Packs a thread computes where operands are simply there, so that enough loads are under way to
 * fill the memory's latency. Elements of small types would take much code. */
#define EK_CUDA_PACKS(largest) ((largest) <= 2 ? 2 : 4)

/* Elements a block of a contiguous kernel computes. */
#define EK_CUDA_TILE(largest) (EK_CUDA_THREADS * EK_CUDA_WIDTH(largest) * EK_CUDA_PACKS(largest))

/* A length that indices are divided by: i / length is (high(i * multiplier) + i) >> shift for i
 * below 2^31, where high takes the upper half of the 64-bit product: the method of Granlund and
 * Montgomery ("Division by invariant integers using multiplication", 1994). */
typedef struct ek_cuda_length {
    uint32_t length, multiplier, shift;
} ek_cuda_length;

/* The layout a kernel walks. Lines are what the first output steps through in its smallest steps.
 * 2^across threads of a block work along each of several lines. A kernel's parameter, so a call
 * copies nothing to the device. */
typedef struct ek_cuda_walk {
    void *data[EK_MAX_OPERANDS];   /* the outputs, then the inputs */
    int64_t step[EK_MAX_OPERANDS]; /* along a line, in elements */
    int64_t length;                /* elements of a line */
    uint32_t lines;                /* all of them, or those of the last dimension if turned */
    uint32_t at_boundaries;        /* bit k: all lines of operand k are at boundaries of packs */
    uint32_t turned; /* bit k: operand k is loaded across the lines and turned in shared memory */
    int32_t across;
    int32_t ndim;         /* of the lines; at least 1, and 2 if turned */
    ek_cuda_length tiles; /* of a line */

    /* Short lines are folded into one: an input that then does not move evenly has bit k set, and
     * fold_stride[k] between the parts of fold.length elements. */
    uint32_t folded;
    ek_cuda_length fold;
    int64_t fold_stride[EK_MAX_OPERANDS];

    /* Dimensions of the lines. If turned, the last one is padded to whole tiles. */
    ek_cuda_length shape[EK_MAX_NDIM];
    int64_t stride[EK_MAX_NDIM][EK_MAX_OPERANDS]; /* in elements */
} ek_cuda_walk;

#endif
