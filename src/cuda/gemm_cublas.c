/* The fast matrix product on CUDA: cuBLAS. */
#include "cuda/cublas.h"
#include "cuda/guard.h"
#include "cuda/queue.h"
#include "cuda/run_gemm.h"
#include "program.h"

static cublasOperation_t operation(ek_transpose transpose)
{
    return transpose == EK_NO_TRANSPOSE ? CUBLAS_OP_N
           : transpose == EK_TRANSPOSE  ? CUBLAS_OP_T
                                        : CUBLAS_OP_C;
}

/* A number of cuBLAS is aligned as a whole, a complex one of ours only as its parts. */
static bool aligned(const ek_gemm_matrix *x, ek_dtype dtype)
{
    return (uintptr_t)x->data % ek_dtype_size(dtype) == 0;
}

typedef struct types {
    cudaDataType_t data;
    cublasComputeType_t compute; /* without the reduced modes */
} types;

static types types_of(ek_dtype dtype)
{
    switch (dtype) {
    case EK_F16:
        return (types){CUDA_R_16F, CUBLAS_COMPUTE_32F};
    case EK_BF16:
        return (types){CUDA_R_16BF, CUBLAS_COMPUTE_32F};
    case EK_F64:
        return (types){CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case EK_C64:
        return (types){CUDA_C_32F, CUBLAS_COMPUTE_32F};
    case EK_C128:
        return (types){CUDA_C_64F, CUBLAS_COMPUTE_64F};
    default:
        return (types){CUDA_R_32F, CUBLAS_COMPUTE_32F};
    }
}

/* cuBLAS stores by columns, so it is asked for C^T = op(B)^T op(A)^T: what it takes for columns of
 * the transposes are our rows. */
static cublasStatus_t run(cublasHandle_t handle, const ek_gemm_problem *p,
                          const ek_gemm_blas_matrix *a, const ek_gemm_blas_matrix *b, int64_t ldc)
{
    types t = types_of(p->dtype);
    return ek_cublas.gemm_ex(handle, operation(b->transpose), operation(a->transpose), p->n, p->m,
                             p->k, &p->alpha, p->b.data, t.data, b->ld, p->b.batch, p->a.data,
                             t.data, a->ld, p->a.batch, &p->beta, p->c.data, t.data, ldc,
                             p->c.batch, p->batch, t.compute, CUBLAS_GEMM_DEFAULT);
}

static ek_status run_checked(ek_queue *queue, const char *call, cublasHandle_t handle,
                             const ek_gemm_problem *p, const ek_gemm_blas_matrix *a,
                             const ek_gemm_blas_matrix *b, int64_t ldc)
{
    bool recording = ek_recording(queue);
    if (EK_UNLIKELY(recording))
        EK_TRY(ek_cublas_enter_program(queue));
    cublasStatus_t result = run(handle, p, a, b, ldc);
    if (EK_UNLIKELY(recording))
        ek_cublas_leave_program(queue);
    if (result != CUBLAS_STATUS_SUCCESS)
        return ek_cublas_fail(queue, call, "cublasGemmStridedBatchedEx", result);
    return ek_cuda_given(queue, "gemm");
}

ek_status ek_cuda_gemm_cublas(ek_queue *queue, const char *call, ek_gemm_fn *exact,
                              const ek_gemm_problem *problem)
{
    ek_gemm_problem turned = *problem;
    ek_gemm_blas_matrix a, b;
    int64_t ldc;
    if (ek_gemm_empty(problem) || !ek_gemm_for_blas(&turned, &a, &b, &ldc) ||
        !aligned(&turned.a, turned.dtype) || !aligned(&turned.b, turned.dtype) ||
        !aligned(&turned.c, turned.dtype))
        return exact(queue, problem);
    cublasHandle_t handle;
    ek_cuda_guard guard;
    ek_status status = ek_cublas_handle(queue, &handle);
    if (EK_UNLIKELY(status != EK_OK))
        return status == EK_UNSUPPORTED ? status : ek_recorded(queue, status);
    EK_TRY(ek_recorded(queue, ek_cuda_guard_enter(call, ek_queue_device(queue), &guard)));
    status = run_checked(queue, call, handle, &turned, &a, &b, ldc);
    ek_cuda_guard_leave(&guard);
    return ek_recorded(queue, status);
}
