/* Matrix products on CUDA. */
#ifndef EK_CUDA_RUN_GEMM_H
#define EK_CUDA_RUN_GEMM_H

#include "cuda/launch.h"
#include "gemm.h"

/* What an exact kernel computes at a time: `side` rows and columns of C a block, for the large
 * kernel and the small one, which follows it in the list of kernels. */
typedef struct ek_cuda_gemm_kernel {
    int32_t index; /* of the large kernel */
    int32_t large, small;
    uint8_t align; /* bytes that addresses are a multiple of */
} ek_cuda_gemm_kernel;

/* Runs a problem with an exact kernel. */
ek_status ek_cuda_gemm(ek_queue *queue, const ek_cuda_kernels *kernels,
                       const ek_cuda_gemm_kernel *kernel, const ek_gemm_problem *problem);

/* Runs a problem with cuBLAS, or with `exact` where cuBLAS cannot. */
ek_status ek_cuda_gemm_cublas(ek_queue *queue, const char *call, ek_gemm_fn *exact,
                              const ek_gemm_problem *problem);

#endif
