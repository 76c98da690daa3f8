/* What the host and the kernels of rows' backward operations agree on; read by C and by CUDA C. */
#ifndef EK_CUDA_ROWBACKWARD_ARGS_H
#define EK_CUDA_ROWBACKWARD_ARGS_H

#include <stdint.h>

#include "einkorn/limits.h"
#include "lanes.h"

#define EK_CUDA_ROWBACKWARD_OPERANDS 5

/* A warp or a block has a row. Up to EK_CUDA_ROWBACKWARD_KEPT elements a thread, they are kept in
 * registers from the sums to the results; else they are read again. */
#define EK_CUDA_ROWBACKWARD_THREADS 128
#define EK_CUDA_ROWBACKWARD_WARPS (EK_CUDA_ROWBACKWARD_THREADS / 32)
#define EK_CUDA_ROWBACKWARD_KEPT 8

typedef struct ek_cuda_rowbackward_args {
    void *data[EK_CUDA_ROWBACKWARD_OPERANDS];
    int64_t step[EK_CUDA_ROWBACKWARD_OPERANDS]; /* along a row, in elements */
    int64_t rows, n;
    int32_t ndim; /* of the rows */
    int64_t shape[EK_MAX_NDIM];
    int64_t stride[EK_MAX_NDIM][EK_CUDA_ROWBACKWARD_OPERANDS];
} ek_cuda_rowbackward_args;

#endif
