#include "blas.h"

#include <stddef.h>

#if EK_HAVE_BLAS

#    include <cblas.h>
#    include <omp.h>

#    include "cpu/run_gemm.h"

const char *blas_library(void)
{
    return openblas_get_config();
}

const char *blas_refusal(void)
{
    if (ek_cpu_blas_is_safe())
        return NULL;
    return openblas_get_parallel() == OPENBLAS_SEQUENTIAL ? "it has no threads"
                                                          : "it has threads of its own";
}

int blas_set_threads(int threads)
{
    int before;
    if (openblas_get_parallel() == OPENBLAS_OPENMP) { /* which asks OpenMP each time */
        before = omp_get_max_threads();
        omp_set_num_threads(threads);
    } else {
        before = openblas_get_num_threads();
        openblas_set_num_threads(threads);
    }
    return before;
}

#else

const char *blas_library(void)
{
    return NULL;
}

const char *blas_refusal(void)
{
    return "this build has no OpenBLAS";
}

int blas_set_threads(int threads)
{
    return threads;
}

#endif
