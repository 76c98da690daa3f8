/* Products of matrices: what the calls of ek_gemm (the system's BLAS or cuBLAS) and ek_gemm_exact
 * (the same bits everywhere) take. Both compute, for each product of a batch,
 *
 *     C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C
 *
 * in row-major storage. With beta = 0, C is not read (a NaN in it does not matter); with alpha = 0
 * or k = 0, A and B are not read. C must not overlap A or B. */
#ifndef EINKORN_GEMM_H
#define EINKORN_GEMM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What op does. For real dtypes the last two are the same. */
typedef enum ek_transpose { EK_NO_TRANSPOSE, EK_TRANSPOSE, EK_CONJUGATE_TRANSPOSE } ek_transpose;

/* The shape of a typed call. All lengths and steps count elements. A step is what lies between the
 * starts of two rows of a matrix as it is stored, that is before op. */
typedef struct ek_gemm_shape {
    ek_transpose trans_a, trans_b;
    int64_t m, n, k;  /* op(A) is m by k, op(B) k by n, C m by n; zero is allowed */
    int64_t lda;      /* at least 1 and the length of a stored row of A: k, or m if transposed */
    int64_t ldb;      /* at least 1 and n, or k if transposed */
    int64_t ldc;      /* at least 1 and n; what lies between rows of C stays as it is */
    int64_t batch;    /* how many products; 0: none, nothing is done */
    int64_t stride_a; /* from one A to the next, 0: the same A in every product */
    int64_t stride_b; /* likewise */
    int64_t stride_c; /* from one C to the next; products must not share elements of C */
} ek_gemm_shape;

/* The shape of one product of matrices without transposes or gaps. Change fields as needed. */
static inline ek_gemm_shape ek_gemm_plain_shape(int64_t m, int64_t n, int64_t k)
{
    ek_gemm_shape shape = {EK_NO_TRANSPOSE, EK_NO_TRANSPOSE, m, n, k, k, n, n, 1, 0, 0, 0};
    shape.lda += k == 0;
    shape.ldb += n == 0;
    shape.ldc += n == 0;
    return shape;
}

/* The options of an array call. Start from EK_GEMM_DEFAULTS: a zeroed alpha is zero. The numbers
 * are converted to the arrays' dtype; an integer dtype must hold them exactly, and a real one takes
 * no imaginary part. */
typedef struct ek_gemm_options {
    ek_transpose trans_a, trans_b;
    double alpha, alpha_im;
    double beta, beta_im;
} ek_gemm_options;

/* C = A * B. */
#define EK_GEMM_DEFAULTS                                                                           \
    {                                                                                              \
        EK_NO_TRANSPOSE, EK_NO_TRANSPOSE, 1, 0, 0, 0                                               \
    }

#ifdef __cplusplus
}
#endif
#endif
