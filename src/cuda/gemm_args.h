/* What the host and the matrix product's kernels agree on; read by C and by CUDA C. */
#ifndef EK_CUDA_GEMM_ARGS_H
#define EK_CUDA_GEMM_ARGS_H

#include <stdint.h>

/* Threads of a block: 16 rows of 16. */
#define EK_CUDA_GEMM_SIDE 16
#define EK_CUDA_GEMM_THREADS (EK_CUDA_GEMM_SIDE * EK_CUDA_GEMM_SIDE)

typedef struct ek_cuda_gemm_matrix {
    void *data;
    int64_t row, column, batch; /* steps in elements */
    int32_t conjugate;
} ek_cuda_gemm_matrix;

/* A kernel's parameter. */
typedef struct ek_cuda_gemm_args {
    ek_cuda_gemm_matrix a, b, c; /* op(A), op(B), C */
    int64_t m, n, k, batch;
    int64_t tiles_m, tiles_n;   /* of the kernel's size, to cover C */
    uint64_t alpha[2], beta[2]; /* of the type results are finished in */
    int32_t reads_c;
} ek_cuda_gemm_args;

#endif
