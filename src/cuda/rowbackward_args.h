/* What the host and the kernels of rows' backward operations agree on; read by C and by CUDA C. */
#ifndef EK_CUDA_ROWBACKWARD_ARGS_H
#define EK_CUDA_ROWBACKWARD_ARGS_H

#include <stdint.h>

#include "einkorn/limits.h"
#include "lanes.h"

#define EK_CUDA_ROWBACKWARD_OPERANDS 5

/* Up to so many elements a row is a warp's; longer ones are a block's. */
#define EK_CUDA_SHORT_ROW 1024
#define EK_CUDA_ROWBACKWARD_THREADS 128
#define EK_CUDA_ROWBACKWARD_WARPS (EK_CUDA_ROWBACKWARD_THREADS / 32)

typedef struct ek_cuda_rowbackward_args {
    void *data[EK_CUDA_ROWBACKWARD_OPERANDS];
    int64_t step[EK_CUDA_ROWBACKWARD_OPERANDS]; /* along a row, in elements */
    int64_t rows, n;
    int32_t ndim; /* of the rows */
    int64_t shape[EK_MAX_NDIM];
    int64_t stride[EK_MAX_NDIM][EK_CUDA_ROWBACKWARD_OPERANDS];
} ek_cuda_rowbackward_args;

#endif
