/* Putting a problem into the words of a BLAS. */
#include "gemm.h"

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Rows of `columns` elements that lie together, `row` apart? The steps of a dimension of one
 * element do not matter. */
static bool has_rows(int64_t rows, int64_t columns, int64_t row, int64_t column, int64_t *ld)
{
    *ld = rows > 1 ? row : max(1, columns);
    return (columns <= 1 || column == 1) && *ld >= max(1, columns);
}

static bool describe(const ek_gemm_matrix *x, int64_t rows, int64_t columns,
                     ek_gemm_blas_matrix *made)
{
    made->transpose = EK_NO_TRANSPOSE;
    if (!x->conjugate && has_rows(rows, columns, x->row, x->column, &made->ld))
        return true;
    made->transpose = x->conjugate ? EK_CONJUGATE_TRANSPOSE : EK_TRANSPOSE;
    return has_rows(columns, rows, x->column, x->row, &made->ld);
}

static void turn(ek_gemm_matrix *x)
{
    int64_t row = x->row;
    x->row = x->column;
    x->column = row;
}

bool ek_gemm_for_blas(ek_gemm_problem *problem, ek_gemm_blas_matrix *a, ek_gemm_blas_matrix *b,
                      int64_t *ldc)
{
    const ek_gemm_matrix *c = &problem->c;
    if (!problem->reads_ab)
        return false;
    if (!has_rows(problem->m, problem->n, c->row, c->column, ldc)) {
        ek_gemm_matrix first = problem->a;
        int64_t m = problem->m;
        problem->a = problem->b;
        problem->b = first;
        problem->m = problem->n;
        problem->n = m;
        turn(&problem->a);
        turn(&problem->b);
        turn(&problem->c);
        if (!has_rows(problem->m, problem->n, c->row, c->column, ldc))
            return false;
    }
    return describe(&problem->a, problem->m, problem->k, a) &&
           describe(&problem->b, problem->k, problem->n, b);
}
