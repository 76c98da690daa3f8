/* Products of matrices. Typed and array calls both become an ek_gemm_problem: matrices by address
 * and steps in either direction, so that a transposed operand is nothing special to a kernel. */
#ifndef EK_GEMM_H
#define EK_GEMM_H

#include <stdbool.h>

#include "einkorn/gemm.h"
#include "error.h"
#include "kind.h"

/* alpha or beta; which member counts follows from the dtype. Half types take the f32. */
typedef union ek_gemm_scalar {
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    float f32;
    double f64;
    ek_c64 c64;
    ek_c128 c128;
} ek_gemm_scalar;

typedef struct ek_gemm_matrix {
    void *data;
    int64_t row, column; /* steps in elements: to the next row, to the next column */
    int64_t batch;       /* to the next matrix of the batch */
    bool conjugate;
} ek_gemm_matrix;

typedef struct ek_gemm_problem {
    ek_dtype dtype;
    int64_t m, n, k, batch; /* none negative */
    ek_gemm_matrix a, b, c; /* op(A), op(B), C */
    ek_gemm_scalar alpha, beta;
    bool reads_ab; /* alpha and k are not zero */
    bool reads_c;  /* beta is not zero */
} ek_gemm_problem;

/* Computes a checked problem: a cell of the tables behind ek_op_info's kernels, one a dtype. */
typedef ek_status ek_gemm_fn(ek_queue *queue, const ek_gemm_problem *problem);

extern const ek_kind ek_kind_gemm;

/* The array call. `options` may be null. */
ek_status ek_gemm_arrays(ek_queue *queue, const ek_op_info *op, const ek_gemm_options *options,
                         const ek_array *a, const ek_array *b, ek_array *c);

/* Checks a typed call and makes its problem. `call` is the name for messages. */
ek_status ek_gemm_typed(const char *call, ek_dtype dtype, const ek_gemm_shape *shape,
                        ek_gemm_scalar alpha, const void *a, const void *b, ek_gemm_scalar beta,
                        void *c, ek_gemm_problem *problem);

/* True if there is nothing to compute. */
static inline bool ek_gemm_empty(const ek_gemm_problem *problem)
{
    return problem->m == 0 || problem->n == 0 || problem->batch == 0;
}

/* How a BLAS names a matrix: rows of `ld` elements, transposed or not. */
typedef struct ek_gemm_blas_matrix {
    ek_transpose transpose;
    int64_t ld;
} ek_gemm_blas_matrix;

/* Describes the operands as a row-major BLAS takes them; C is never transposed: where its columns
 * are what lies together, the problem becomes C^T = op(B)^T op(A)^T. False if no BLAS call can do
 * it: A and B unread, steps in both directions, a conjugate without a transpose. */
bool ek_gemm_for_blas(ek_gemm_problem *problem, ek_gemm_blas_matrix *a, ek_gemm_blas_matrix *b,
                      int64_t *ldc);

#endif
