/* Matrix products beside OpenBLAS called directly. */
#include <omp.h>
#include <stdio.h>

#include "error.h"
#include "overhead.h"

#if EK_HAVE_BLAS

#    include <cblas.h>

#    include "blas.h"
#    include "clock.h"
#    include "einkorn/device.h"
#    include "einkorn/memory.h"
#    include "einkorn/ops/gemm.h"
#    include "einkorn/ops/gemm_exact.h"

enum { SIDE = 1024 };

typedef struct matrices {
    ek_queue *queue;
    int side;
    float *a, *b, *c;
} matrices;

static ek_status fast(void *context, int64_t times, double *ns)
{
    const matrices *m = context;
    ek_gemm_shape shape = ek_gemm_plain_shape(m->side, m->side, m->side);
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++)
        EK_TRY(ek_gemm_f32(m->queue, &shape, 1, m->a, m->b, 0, m->c));
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status exact(void *context, int64_t times, double *ns)
{
    const matrices *m = context;
    ek_gemm_shape shape = ek_gemm_plain_shape(m->side, m->side, m->side);
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++)
        EK_TRY(ek_gemm_exact_f32(m->queue, &shape, 1, m->a, m->b, 0, m->c));
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status direct(void *context, int64_t times, double *ns)
{
    const matrices *m = context;
    int n = m->side;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, m->a, n, m->b, n, 0,
                    m->c, n);
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status measure_gemm(matrices *m, const char *name, measure_fn *work, int side,
                              int threads, double bound)
{
    result r = {.device = "cpu",
                .beside = "cblas_sgemm",
                .goal = bound > 0 ? GOAL_SPEED : GOAL_NONE,
                .bound = bound};
    snprintf(r.what, sizeof r.what, "%s, %d^3, %d thread%s", name, side, threads,
             threads > 1 ? "s" : "");
    m->side = side;
    EK_TRY(ek_queue_set_threads(m->queue, threads));
    int before = blas_set_threads(threads);
    ek_status status = measure(work, direct, m, 1 << 16, &r.time);
    blas_set_threads(before);
    EK_TRY(status);
    overhead_add(&r);
    return EK_OK;
}

static ek_status measure_all(matrices *m, int all_threads)
{
    const size_t bytes = SIDE * SIDE * sizeof(float);
    EK_TRY(ek_alloc(m->queue, bytes, (void **)&m->a));
    EK_TRY(ek_alloc(m->queue, bytes, (void **)&m->b));
    EK_TRY(ek_alloc(m->queue, bytes, (void **)&m->c));
    for (int i = 0; i < SIDE * SIDE; i++) {
        m->a[i] = (float)(i % 7) - 3;
        m->b[i] = (float)(i % 5) - 2;
    }
    static const struct {
        int side;
        double fast, exact; /* parts of OpenBLAS's speed to reach; 0: none */
    } sizes[] = {{8, 0, 0}, {32, 0, 0}, {128, 0.97, 0.85}, {SIDE, 0.97, 0.85}};
    for (int threads = 1;; threads = all_threads) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            int side = sizes[i].side;
            EK_TRY(measure_gemm(m, "ek_gemm_f32", fast, side, threads, sizes[i].fast));
            EK_TRY(measure_gemm(m, "ek_gemm_exact_f32", exact, side, threads, sizes[i].exact));
        }
        if (threads == all_threads)
            return EK_OK;
    }
}

ek_status overhead_gemm(void)
{
    ek_device *device;
    matrices m = {0};
    int threads = omp_get_max_threads();
    EK_TRY(ek_device_open("cpu", &device));
    ek_status status = ek_queue_open(device, &m.queue);
    ek_device_close(device);
    if (status != EK_OK)
        return status;
    status = measure_all(&m, threads);
    ek_free(m.queue, m.a);
    ek_free(m.queue, m.b);
    ek_free(m.queue, m.c);
    ek_queue_close(m.queue);
    return status;
}

#else

ek_status overhead_gemm(void)
{
    printf("cpu   matrix products: left out, this build has no BLAS to stand beside\n");
    return EK_OK;
}

#endif
