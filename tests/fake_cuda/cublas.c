/* cuBLAS for the fake driver. A handle works in the context in which it was made, on a stream of
 * it, with a workspace that no other handle has; what is not so is refused. Products of float32 and
 * float64 are computed, others are only noted. */
#include <cublas_api.h>
#include <stdlib.h>

#include "driver.h"

struct cublasContext {
    struct cublasContext *next;
    CUcontext context;
    CUstream stream;
    void *workspace;
};

static cublasHandle_t handles;

static cublasStatus_t status_of(CUresult result)
{
    switch (result) {
    case CUDA_SUCCESS:
        return CUBLAS_STATUS_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY:
        return CUBLAS_STATUS_ALLOC_FAILED;
    default:
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
}

#define ENTER_BLAS(name)                                                                           \
    do {                                                                                           \
        CUresult injected = fake_enter(name);                                                      \
        if (injected != CUDA_SUCCESS)                                                              \
            return status_of(injected);                                                            \
    } while (0)

cublasStatus_t CUBLASWINAPI cublasCreate_v2(cublasHandle_t *handle)
{
    ENTER_BLAS("cublasCreate");
    REQUIRE(fake_needs_context(NULL), CUBLAS_STATUS_NOT_INITIALIZED);
    REQUIRE(fake_current()->broken == CUDA_SUCCESS, CUBLAS_STATUS_NOT_INITIALIZED);
    cublasHandle_t fresh = calloc(1, sizeof *fresh);
    REQUIRE(fresh, CUBLAS_STATUS_ALLOC_FAILED);
    fresh->context = fake_current();
    pthread_mutex_lock(&fake_lock);
    fresh->next = handles;
    handles = fresh;
    pthread_mutex_unlock(&fake_lock);
    fake_change_alive(1);
    *handle = fresh;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasDestroy_v2(cublasHandle_t handle)
{
    CUresult injected = fake_enter("cublasDestroy");
    REQUIRE(fake_needs_context(handle->context), CUBLAS_STATUS_NOT_INITIALIZED);
    pthread_mutex_lock(&fake_lock);
    cublasHandle_t *at = &handles;
    while (*at != handle)
        at = &(*at)->next;
    *at = handle->next;
    handle->context->synchronized++;
    pthread_mutex_unlock(&fake_lock);
    free(handle);
    fake_change_alive(-1);
    return status_of(injected);
}

/* As the real one it takes the workspace away. */
cublasStatus_t CUBLASWINAPI cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    ENTER_BLAS("cublasSetStream");
    REQUIRE(fake_needs_context(handle->context), CUBLAS_STATUS_NOT_INITIALIZED);
    REQUIRE(stream && stream->context == handle->context, CUBLAS_STATUS_INVALID_VALUE);
    handle->stream = stream;
    pthread_mutex_lock(&fake_lock);
    handle->workspace = NULL;
    pthread_mutex_unlock(&fake_lock);
    return CUBLAS_STATUS_SUCCESS;
}

/* A workspace is its last user's: who had it before finds that out at its next product. */
static void take_away(const void *workspace)
{
    for (cublasHandle_t at = handles; at; at = at->next) {
        if (at->workspace == workspace)
            at->workspace = NULL;
    }
}

static const void *workspace_of(cublasHandle_t handle)
{
    pthread_mutex_lock(&fake_lock);
    const void *workspace = handle->workspace;
    pthread_mutex_unlock(&fake_lock);
    return workspace;
}

static bool on_device(cublasHandle_t handle, const void *memory, size_t bytes)
{
    block *known = fake_find_block(memory, bytes);
    return known && known->device == handle->context->device;
}

cublasStatus_t CUBLASWINAPI cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace,
                                                  size_t bytes)
{
    ENTER_BLAS("cublasSetWorkspace");
    REQUIRE(fake_needs_context(handle->context), CUBLAS_STATUS_NOT_INITIALIZED);
    REQUIRE(bytes > 0 && on_device(handle, workspace, bytes), CUBLAS_STATUS_INVALID_VALUE);
    pthread_mutex_lock(&fake_lock);
    take_away(workspace);
    handle->workspace = workspace;
    pthread_mutex_unlock(&fake_lock);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    ENTER_BLAS("cublasSetMathMode");
    REQUIRE(fake_needs_context(handle->context), CUBLAS_STATUS_NOT_INITIALIZED);
    REQUIRE((mode & CUBLAS_TF32_TENSOR_OP_MATH) != CUBLAS_TF32_TENSOR_OP_MATH,
            CUBLAS_STATUS_INVALID_VALUE);
    return CUBLAS_STATUS_SUCCESS;
}

const char *CUBLASWINAPI cublasGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_ALLOC_FAILED ? "no memory for cuBLAS" : "a failure of cuBLAS";
}

/* A matrix by columns, or several of them. */
typedef struct matrix {
    const void *data;
    int64_t rows, columns, ld, stride;
    bool turned;
} matrix;

static size_t size_of(cudaDataType type)
{
    switch (type) {
    case CUDA_R_16F:
    case CUDA_R_16BF:
        return 2;
    case CUDA_R_32F:
        return 4;
    case CUDA_C_64F:
        return 16;
    default:
        return 8;
    }
}

static bool is_there(cublasHandle_t handle, const matrix *x, int64_t batch, cudaDataType type)
{
    int64_t elements = (batch - 1) * x->stride + (x->columns - 1) * x->ld + x->rows;
    return x->ld >= x->rows && on_device(handle, x->data, (size_t)elements * size_of(type));
}

static int64_t place(const matrix *x, int64_t of, int64_t row, int64_t column)
{
    return of * x->stride + (x->turned ? column + row * x->ld : row + column * x->ld);
}

static double get(const matrix *x, cudaDataType type, int64_t at)
{
    return type == CUDA_R_32F ? (double)((const float *)x->data)[at]
                              : ((const double *)x->data)[at];
}

static void compute(const matrix *a, const matrix *b, const matrix *c, cudaDataType type, int64_t k,
                    int64_t batch, double alpha, double beta)
{
    for (int64_t i = 0; i < batch * c->rows * c->columns; i++) {
        int64_t of = i / (c->rows * c->columns), row = i % c->rows;
        int64_t column = i / c->rows % c->columns, at = place(c, of, row, column);
        double sum = 0;
        for (int64_t p = 0; p < k; p++)
            sum += get(a, type, place(a, of, row, p)) * get(b, type, place(b, of, p, column));
        sum = alpha * sum + (beta != 0 ? beta * get(c, type, at) : 0);
        if (type == CUDA_R_32F)
            ((float *)c->data)[at] = (float)sum;
        else
            ((double *)c->data)[at] = sum;
    }
}

cublasStatus_t CUBLASWINAPI cublasGemmStridedBatchedEx_64(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m, int64_t n,
    int64_t k, const void *alpha, const void *a, cudaDataType a_type, int64_t lda,
    long long stride_a, const void *b, cudaDataType b_type, int64_t ldb, long long stride_b,
    const void *beta, void *c, cudaDataType c_type, int64_t ldc, long long stride_c, int64_t batch,
    cublasComputeType_t compute_type, cublasGemmAlgo_t algorithm)
{
    bool at = transa != CUBLAS_OP_N, bt = transb != CUBLAS_OP_N;
    matrix x = {a, at ? k : m, at ? m : k, lda, stride_a, at};
    matrix y = {b, bt ? n : k, bt ? k : n, ldb, stride_b, bt}, z = {c, m, n, ldc, stride_c, false};
    ENTER_BLAS("cublasGemmStridedBatchedEx");
    REQUIRE(fake_needs_context(handle->context), CUBLAS_STATUS_NOT_INITIALIZED);
    REQUIRE(handle->stream && on_device(handle, workspace_of(handle), 1),
            CUBLAS_STATUS_NOT_INITIALIZED);
    REQUIRE(a_type == b_type && a_type == c_type && algorithm == CUBLAS_GEMM_DEFAULT,
            CUBLAS_STATUS_NOT_SUPPORTED);
    REQUIRE(compute_type == CUBLAS_COMPUTE_32F || compute_type == CUBLAS_COMPUTE_64F,
            CUBLAS_STATUS_NOT_SUPPORTED);
    REQUIRE(is_there(handle, &x, batch, a_type) && is_there(handle, &y, batch, a_type) &&
                is_there(handle, &z, batch, a_type),
            CUBLAS_STATUS_INVALID_VALUE);
    node node = {
        .launch = {"cublasGemm", handle->context->device, handle->stream, {1, 1, 1}, {1, 1, 1}}};
    CUresult result = fake_submit(&node, handle->stream);
    if (result != CUDA_SUCCESS || handle->stream->capture)
        return status_of(result);
    if (a_type == CUDA_R_32F)
        compute(&x, &y, &z, a_type, k, batch, (double)*(const float *)alpha,
                (double)*(const float *)beta);
    else if (a_type == CUDA_R_64F)
        compute(&x, &y, &z, a_type, k, batch, *(const double *)alpha, *(const double *)beta);
    return CUBLAS_STATUS_SUCCESS;
}
