/* The fast matrix product on the CPU: OpenBLAS. */
#include <omp.h>

#include "cpu/record.h"
#include "cpu/run_gemm.h"
#include "cpu/threads.h"

#if EK_HAVE_BLAS
#    include <cblas.h>
#    include <limits.h>

/* Everything a call of cblas_?gemm takes. */
typedef struct blas_call {
    CBLAS_TRANSPOSE trans_a, trans_b;
    blasint m, n, k, lda, ldb, ldc;
} blas_call;

static CBLAS_TRANSPOSE blas_transpose(ek_transpose transpose)
{
    return transpose == EK_NO_TRANSPOSE ? CblasNoTrans
           : transpose == EK_TRANSPOSE  ? CblasTrans
                                        : CblasConjTrans;
}

/* False if a length needs more bits than OpenBLAS has. */
static bool fits(const int64_t *lengths, int count)
{
    const int64_t most = sizeof(blasint) == sizeof(int64_t) ? INT64_MAX : INT_MAX;
    bool ok = true;
    for (int i = 0; i < count; i++)
        ok &= lengths[i] <= most;
    return ok;
}

static bool make_call(ek_gemm_problem *problem, blas_call *call)
{
    ek_gemm_blas_matrix a, b;
    int64_t ldc;
    if (problem->dtype < EK_F32 || !ek_gemm_for_blas(problem, &a, &b, &ldc))
        return false;
    const int64_t lengths[] = {problem->m, problem->n, problem->k, a.ld, b.ld, ldc};
    if (!fits(lengths, sizeof lengths / sizeof lengths[0]))
        return false;
    call->trans_a = blas_transpose(a.transpose);
    call->trans_b = blas_transpose(b.transpose);
    call->m = (blasint)problem->m;
    call->n = (blasint)problem->n;
    call->k = (blasint)problem->k;
    call->lda = (blasint)a.ld;
    call->ldb = (blasint)b.ld;
    call->ldc = (blasint)ldc;
    return true;
}

static void *element(const ek_gemm_matrix *x, int64_t index, size_t size)
{
    return (char *)x->data + index * x->batch * (int64_t)size;
}

static void run(const ek_gemm_problem *problem, const blas_call *t, int64_t index)
{
    const ek_gemm_scalar *alpha = &problem->alpha, *beta = &problem->beta;
    size_t size = ek_dtype_size(problem->dtype);
    const void *a = element(&problem->a, index, size), *b = element(&problem->b, index, size);
    void *c = element(&problem->c, index, size);
    switch (problem->dtype) {
    case EK_F32:
        cblas_sgemm(CblasRowMajor, t->trans_a, t->trans_b, t->m, t->n, t->k, alpha->f32, a, t->lda,
                    b, t->ldb, beta->f32, c, t->ldc);
        break;
    case EK_F64:
        cblas_dgemm(CblasRowMajor, t->trans_a, t->trans_b, t->m, t->n, t->k, alpha->f64, a, t->lda,
                    b, t->ldb, beta->f64, c, t->ldc);
        break;
    case EK_C64:
        cblas_cgemm(CblasRowMajor, t->trans_a, t->trans_b, t->m, t->n, t->k, &alpha->c64, a, t->lda,
                    b, t->ldb, &beta->c64, c, t->ldc);
        break;
    default:
        cblas_zgemm(CblasRowMajor, t->trans_a, t->trans_b, t->m, t->n, t->k, &alpha->c128, a,
                    t->lda, b, t->ldb, &beta->c128, c, t->ldc);
        break;
    }
}

/* Products that the exact kernels, which then read their operands where they are, have done before
 * OpenBLAS has begun. A narrow C would leave most of their vectors empty. */
static bool is_small(const ek_gemm_problem *problem)
{
    enum { SMALL = 64, NARROW = 8, TINY = 16 * 16 };
    int64_t m = problem->m, n = problem->n, k = problem->k;
    return m <= SMALL && n <= SMALL && k <= SMALL && (n >= NARROW || m * k <= TINY) &&
           (problem->dtype == EK_F32 || problem->dtype == EK_F64);
}

/* Whether OpenBLAS works in the threads it is called from and in those OpenMP has for them. One
 * without threads of its own lets callers share its buffers, unless it was built with
 * USE_LOCKING=1, which it does not tell. One with a pool of its own knows nothing of the queue's
 * number of threads, and two forks at one moment wait for each other while it works (O011). */
bool ek_cpu_blas_is_safe(void)
{
    return openblas_get_parallel() == OPENBLAS_OPENMP;
}

/* A product that OpenBLAS can do, in its words. */
typedef struct product {
    ek_gemm_problem problem;
    blas_call call;
    ek_gemm_fn *exact; /* does it in forked children, where OpenBLAS waits for lost threads */
} product;

static ek_status run_product(ek_queue *queue, const product *product)
{
    if (EK_UNLIKELY(ek_cpu_forked()))
        return product->exact(queue, &product->problem);
    /* OpenBLAS asks OpenMP how many threads the calling thread may have. */
    int callers = omp_get_max_threads(), threads = ek_queue_base_of(queue)->threads;
    if (threads != callers)
        omp_set_num_threads(threads);
    for (int64_t i = 0; i < product->problem.batch; i++)
        run(&product->problem, &product->call, i);
    if (threads != callers)
        omp_set_num_threads(callers);
    return EK_OK;
}

static ek_status run_recorded(ek_queue *queue, const void *kernels, const void *product)
{
    (void)kernels;
    return run_product(queue, product);
}

ek_status ek_cpu_gemm_blas(ek_queue *queue, ek_gemm_fn *exact, bool exact_is_quick,
                           const ek_gemm_problem *problem)
{
    if (ek_gemm_empty(problem) || (exact_is_quick && is_small(problem)))
        return exact(queue, problem);
    product product = {.problem = *problem, .exact = exact};
    if (!make_call(&product.problem, &product.call) || !ek_cpu_blas_is_safe())
        return exact(queue, problem);
    if (EK_UNLIKELY(ek_recording(queue)))
        return ek_cpu_record(queue, run_recorded, NULL, &product, sizeof product);
    return run_product(queue, &product);
}

#else

bool ek_cpu_blas_is_safe(void)
{
    return false;
}

ek_status ek_cpu_gemm_blas(ek_queue *queue, ek_gemm_fn *exact, bool exact_is_quick,
                           const ek_gemm_problem *problem)
{
    (void)exact_is_quick;
    return exact(queue, problem);
}

#endif
