/* Matrix products by OpenBLAS itself, beside which the library's are measured. */
#include "error.h"
#include "limits_cpu.h"

#if EK_HAVE_BLAS

#    include <cblas.h>

#    include "blas.h"
#    include "rotation.h"
#    include "timing.h"

typedef struct product {
    ek_dtype dtype;
    int size;
    rotation sets;
} product;

static ek_status product_calls(void *context, int64_t calls)
{
    static const double one[2] = {1, 0}, zero[2] = {0, 0};
    static const float onef[2] = {1, 0}, zerof[2] = {0, 0};
    product *p = context;
    int n = p->size;
    void *const *data = rotation_next(&p->sets)->data;
    for (int64_t i = 0; i < calls; i++) {
        switch (p->dtype) {
        case EK_F32:
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, data[1], n, data[2],
                        n, 0, data[0], n);
            break;
        case EK_F64:
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, data[1], n, data[2],
                        n, 0, data[0], n);
            break;
        case EK_C64:
            cblas_cgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, onef, data[1], n,
                        data[2], n, zerof, data[0], n);
            break;
        default:
            cblas_zgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, one, data[1], n,
                        data[2], n, zero, data[0], n);
            break;
        }
    }
    return EK_OK;
}

ek_status limits_cpu_gemm(ek_queue *queue, ek_dtype dtype, int64_t size, double least_ns,
                          double *gflops)
{
    if ((dtype != EK_F32 && dtype != EK_F64 && dtype != EK_C64 && dtype != EK_C128) ||
        size > INT32_MAX)
        return EK_OK;
    product p = {.dtype = dtype, .size = (int)size};
    const int64_t shape[] = {size, size};
    const view matrix = view_of_shape(2, shape), views[] = {matrix, matrix, matrix};
    const ek_dtype dtypes[] = {dtype, dtype, dtype};
    timing t;
    int threads = blas_set_threads(ek_queue_threads(queue));
    ek_status status = rotation_open(&p.sets, queue, false, 3, dtypes, views);
    if (status == EK_OK)
        status = timing_measure(queue, product_calls, &p, least_ns, &t);
    if (status == EK_OK)
        *gflops = limits_gemm_flops(dtype, size) / t.ns;
    rotation_close(&p.sets, queue);
    blas_set_threads(threads);
    return status;
}

#else

ek_status limits_cpu_gemm(ek_queue *queue, ek_dtype dtype, int64_t size, double least_ns,
                          double *gflops)
{
    (void)queue;
    (void)dtype;
    (void)size;
    (void)least_ns;
    *gflops = 0;
    return EK_OK;
}

#endif
