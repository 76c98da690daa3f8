/* Products in many threads: the library's and the BLAS below. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check_threads.h"
#include "einkorn/memory.h"
#include "einkorn/ops/gemm.h"

/* ---- O008 */

enum { SIDE = 256, LOOPS = 200 };

/* Identity times a constant, over and over, each thread with its own constant and its own queue: a
 * handle, a stream or a workspace that two of them shared would mix them up. */
static void *own_products(void *number)
{
    enum { COUNT = SIDE * SIDE };
    static const size_t bytes = COUNT * sizeof(float);
    float mine = (float)(*(int *)number + 1), *host = calloc(COUNT, sizeof *host), *m;
    ek_gemm_shape shape = ek_gemm_plain_shape(SIDE, SIDE, SIDE);
    ek_queue *queue = open_queue(device_names[0]);
    MUST(ek_alloc(queue, 3 * bytes, (void **)&m));
    for (int i = 0; i < SIDE; i++)
        host[i * (SIDE + 1)] = 1;
    upload(queue, m, host, bytes);
    for (int i = 0; i < COUNT; i++)
        host[i] = mine;
    upload(queue, m + COUNT, host, bytes);
    for (int loop = 0; loop < (computes ? LOOPS : 1); loop++) {
        MUST(ek_gemm_f32(queue, &shape, 1, m, m + COUNT, 0, m + 2 * COUNT));
        if (loop % 20)
            continue;
        memset(host, 0, bytes);
        download(queue, host, m + 2 * COUNT, bytes);
        for (int i = 0; i < COUNT && computes; i++)
            REQUIRE(host[i] == mine);
    }
    MUST(ek_free(queue, m));
    ek_queue_close(queue);
    free(host);
    return NULL;
}

START_TEST(handles_are_not_shared)
{
    run_threads(4, own_products);
}
END_TEST

/* ---- O009 */

enum { ODD = 37, CALLS = 500, CALLERS = 20 };

static void *small_products(void *number)
{
    enum { COUNT = ODD * ODD };
    unsigned seed = (unsigned)*(int *)number;
    float a[COUNT], b[COUNT], c[COUNT], wanted[COUNT];
    ek_gemm_shape shape = ek_gemm_plain_shape(ODD, ODD, ODD);
    ek_queue *queue = open_queue("cpu");
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)(rand_r(&seed) % 7 - 3);
        b[i] = (float)(rand_r(&seed) % 7 - 3);
    }
    for (int i = 0; i < COUNT; i++) {
        wanted[i] = 0;
        for (int k = 0; k < ODD; k++)
            wanted[i] += a[i / ODD * ODD + k] * b[k * ODD + i % ODD];
    }
    for (int call = 0; call < CALLS; call++) {
        MUST(ek_gemm_f32(queue, &shape, 1, a, b, 0, c));
        REQUIRE(memcmp(c, wanted, sizeof c) == 0);
    }
    ek_queue_close(queue);
    return NULL;
}

START_TEST(small_products_are_exact)
{
    run_threads(CALLERS, small_products);
}
END_TEST

/* ---- O012 */

typedef void factor_fn(const int *m, const int *n, double *a, const int *lda, int *pivots,
                       int *info);

static factor_fn *factor; /* LAPACK's dgetrf of the same library; null if it has none */
static atomic_bool done;

/* Factors matrices of its own while the other thread multiplies. */
static void factor_on(void)
{
    enum { M = 64 };
    static double a[M * M];
    int pivots[M], info, m = M;
    while (!atomic_load(&done)) {
        for (int i = 0; i < M * M; i++)
            a[i] = i % (M + 1) ? 1 : M;
        factor(&m, &m, a, &m, pivots, &info);
        REQUIRE(info == 0);
    }
}

static void *multiply_or_factor(void *number)
{
    enum { M = 64, K = 128 };
    static double ones[M * K], c[M * M];
    if (*(int *)number) {
        if (factor)
            factor_on();
        return NULL;
    }
    ek_gemm_shape shape = ek_gemm_plain_shape(M, M, K);
    ek_queue *queue = open_queue("cpu");
    for (int i = 0; i < M * K; i++)
        ones[i] = 1;
    for (int loop = 0; loop < 2000; loop++) {
        MUST(ek_gemm_f64(queue, &shape, 1, ones, ones, 0, c));
        for (int i = 0; i < M * M; i++)
            REQUIRE(c[i] == K);
    }
    ek_queue_close(queue);
    atomic_store(&done, true);
    return NULL;
}

START_TEST(products_beside_lapack)
{
    *(void **)&factor = dlsym(RTLD_DEFAULT, "dgetrf_");
    run_threads(2, multiply_or_factor);
}
END_TEST

/* ---- O015 */

#ifdef __SANITIZE_THREAD__
enum { BLAS_THREADS = 1, ROWS = 1 << 14 }; /* it sees races in OpenMP's own threads */
#else
enum { BLAS_THREADS = 4, ROWS = 1 << 20 };
#endif

static void *tall_products(void *number)
{
    enum { COUNT = 2 * ROWS };
    double *a = malloc(COUNT * sizeof *a), *c = malloc(COUNT * sizeof *c);
    const double identity[] = {1, 0, 0, 1};
    ek_gemm_shape shape = ek_gemm_plain_shape(ROWS, 2, 2);
    ek_queue *queue = open_queue("cpu");
    MUST(ek_queue_set_threads(queue, BLAS_THREADS));
    for (int i = 0; i < COUNT; i++)
        a[i] = *(int *)number + 1;
    for (int twice = 0; twice < 2; twice++) {
        memset(c, 0, COUNT * sizeof *c);
        MUST(ek_gemm_f64(queue, &shape, 1, a, identity, 0, c));
        REQUIRE(memcmp(a, c, COUNT * sizeof *c) == 0);
    }
    free(a);
    free(c);
    ek_queue_close(queue);
    return NULL;
}

START_TEST(tall_products_are_right)
{
    run_threads(8, tall_products);
}
END_TEST

TCase *blas_case(void)
{
    TCase *blas = tcase_create("blas");
    tcase_set_timeout(blas, 120);
    tcase_add_test(blas, handles_are_not_shared);
    if (strcmp(device_names[0], "cpu") != 0)
        return blas; /* the others are the host's */
    tcase_add_test(blas, small_products_are_exact);
    tcase_add_test(blas, products_beside_lapack);
    tcase_add_test(blas, tall_products_are_right);
    return blas;
}
