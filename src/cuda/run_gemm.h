/* Matrix products on CUDA. */
#ifndef EK_CUDA_RUN_GEMM_H
#define EK_CUDA_RUN_GEMM_H

#include "cuda/gemm_args.h"
#include "cuda/launch.h"
#include "gemm.h"

/* An exact kernel. The orders say which operands it takes: 1, those whose k lie together in memory;
 * 0, the others; -1, any. */
typedef struct ek_cuda_gemm_kernel {
    ek_cuda_gemm_shape shape;
    int8_t a_by_row, b_by_row;
    bool mma; /* float64 on tensor cores, right on devices of compute capability 9.0 */
} ek_cuda_gemm_kernel;

/* The kernels of a dtype. */
typedef struct ek_cuda_gemm_choice {
    const ek_cuda_kernels *kernels;
    const ek_cuda_gemm_kernel *choice;
    int32_t first, count; /* the index of choice[0] among `kernels` */
    uint8_t align;        /* bytes that addresses are a multiple of */
} ek_cuda_gemm_choice;

/* Runs a problem with the exact kernel that is fastest for it. */
ek_status ek_cuda_gemm(ek_queue *queue, const char *call, const ek_cuda_gemm_choice *choice,
                       const ek_gemm_problem *problem);

/* Runs a problem with cuBLAS, or with `exact` where cuBLAS cannot. */
ek_status ek_cuda_gemm_cublas(ek_queue *queue, const char *call, ek_gemm_fn *exact,
                              const ek_gemm_problem *problem);

#endif
