/* The fast product: cuBLAS works in the current context, so its guards are proven here on one that
 * refuses every call in a wrong one, on a wrong stream, or with a workspace that is not its own. */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "check_guards.h"
#include "einkorn/memory.h"
#include "einkorn/ops/gemm.h"
#include "einkorn/program.h"
#include "fake.h"

enum { N = 2 };

/* A, B and C, one after the other. The fake's device memory can be reached from the host. */
static float *matrices(ek_queue *queue)
{
    float *x = fake_floats(queue, (size_t)3 * N * N);
    for (int i = 0; i < 2 * N * N; i++)
        x[i] = 1;
    return x;
}

static ek_status multiply(ek_queue *queue, float *x)
{
    ek_gemm_shape shape = ek_gemm_plain_shape(N, N, N);
    return ek_gemm_f32(queue, &shape, 1, x, x + N * N, 0, x + 2 * N * N);
}

static ek_array matrix(ek_queue *queue, float *data)
{
    static int64_t shape[] = {N, N};
    return ek_array_view(data, EK_F32, ek_queue_device(queue), 2, shape);
}

/* O003: data of one device while another is current, both ways round. */
START_TEST(products_of_another_device)
{
    CUcontext mine = fake_set_current(_i % (FAKE_DEVICES + 1) - 1);
    ek_queue *queue = fake_queue(fake_device_names[_i / (FAKE_DEVICES + 1)]);
    float *x = matrices(queue);
    ek_array a = matrix(queue, x), b = matrix(queue, x + N * N), c = matrix(queue, x + 2 * N * N);
    for (int call = 0; call < 4; call++) {
        memset(x + 2 * N * N, 0xa5, N * N * sizeof *x);
        if (call % 2)
            OK(multiply(queue, x));
        else
            OK(ek_gemm(queue, NULL, &a, &b, &c));
        for (int i = 0; i < N * N; i++)
            ck_assert(x[2 * N * N + i] == N);
        ck_assert_ptr_eq(fake_current(), mine);
    }
    ck_assert_str_eq(fake.last_launch().kernel, "cublasGemm");
    ck_assert_ptr_eq(fake.last_launch().stream, ek_queue_stream(queue));
    OK(ek_free(queue, x));
    ek_queue_close(queue);
    ck_assert_ptr_eq(fake_current(), mine);
    ck_assert_int_eq(fake.context_failures(), 0);
}
END_TEST

/* O003: A here and B there is refused before anything is launched. */
START_TEST(products_of_mixed_devices)
{
    CUcontext mine = fake_set_current(0);
    ek_queue *queue[FAKE_DEVICES];
    float *x[FAKE_DEVICES];
    for (int device = 0; device < FAKE_DEVICES; device++) {
        queue[device] = fake_queue(fake_device_names[device]);
        x[device] = matrices(queue[device]);
    }
    for (int mixed = 0; mixed < 3; mixed++) {
        ek_array operand[3];
        for (int i = 0; i < 3; i++)
            operand[i] = matrix(queue[i == mixed], x[i == mixed] + i * N * N);
        int calls = fake.calls(NULL);
        for (int device = 0; device < FAKE_DEVICES; device++)
            ck_assert_int_eq(ek_gemm(queue[device], NULL, &operand[0], &operand[1], &operand[2]),
                             EK_DEVICE_MISMATCH);
        ck_assert_int_eq(fake.calls(NULL), calls);
    }
    for (int device = 0; device < FAKE_DEVICES; device++) {
        OK(multiply(queue[device], x[device]));
        ck_assert(x[device][2 * N * N] == N);
        OK(ek_free(queue[device], x[device]));
        ek_queue_close(queue[device]);
    }
    ck_assert_ptr_eq(fake_current(), mine);
}
END_TEST

/* Fails the first call of an entry, then the second, and so on until the product succeeds. */
START_TEST(failing_products)
{
    static const char *const failing[] = {
        "cublasCreate",
        "cublasSetStream",
        "cublasSetWorkspace",
        "cublasSetMathMode",
        "cublasGemmStridedBatchedEx",
        "cuMemAllocFromPoolAsync",
        "cuCtxGetCurrent",
        "cuCtxPushCurrent",
    };
    CUcontext mine = fake_set_current(_i % 2 - 1);
    for (size_t entry = 0; entry < sizeof failing / sizeof failing[0]; entry++) {
        int alive = fake.alive();
        ek_queue *queue = fake_queue("cuda:1");
        float *x = matrices(queue);
        ek_status status = EK_DEVICE_ERROR;
        for (int n = 1; status != EK_OK; n++) {
            fake.fail_call(failing[entry], n, CUDA_ERROR_UNKNOWN);
            status = multiply(queue, x);
            fake.fail_call(failing[entry], 0, 0);
            ck_assert_int_lt(n, 10);
            ck_assert(status != EK_OK || n > 1);
            ck_assert_ptr_eq(fake_current(), mine);
        }
        OK(multiply(queue, x));
        ck_assert(x[2 * N * N] == N);
        OK(ek_free(queue, x));
        ek_queue_close(queue);
        ck_assert_int_eq(fake.alive(), alive);
    }
    ck_assert_int_eq(fake.context_failures(), 0);
}
END_TEST

/* While a queue records, its handle has a workspace of the program. */
START_TEST(recorded_products)
{
    CUcontext mine = fake_set_current(0);
    int alive = fake.alive();
    ek_queue *queue = fake_queue("cuda:1");
    float *x = matrices(queue);
    ek_program *program = NULL;
    for (int n = 1; n < 20; n++) {
        OK(ek_record_begin(queue));
        fake.fail_call("cublasSetWorkspace", n, CUDA_ERROR_UNKNOWN);
        ek_status recorded = multiply(queue, x), ended = ek_record_end(queue, &program);
        fake.fail_call("cublasSetWorkspace", 0, 0);
        ck_assert_int_eq(recorded, ended);
        ck_assert_ptr_eq(fake_current(), mine);
        if (ended == EK_OK) {
            int kernels = fake.kernels_of(1);
            OK(ek_program_run(queue, program));
            ck_assert_int_eq(fake.kernels_of(1), kernels + 1);
            ek_program_close(program);
        }
        OK(multiply(queue, x));
    }
    OK(ek_free(queue, x));
    ek_queue_close(queue);
    ck_assert_int_eq(fake.alive(), alive);
    ck_assert_int_eq(fake.context_failures(), 0);
}
END_TEST

/* cuBLAS waits for the whole device when it destroys a handle, which ends recordings; so a queue
 * that closes meanwhile leaves its own to the next. */
START_TEST(closing_beside_a_recording)
{
    ek_queue *queue = fake_queue("cuda:1"), *other = fake_queue("cuda:1");
    float *x = matrices(queue), *y = matrices(other);
    ek_program *program = NULL;
    OK(multiply(other, y));
    OK(ek_free(other, y));
    OK(ek_record_begin(queue));
    ek_queue_close(other);
    OK(multiply(queue, x));
    OK(ek_record_end(queue, &program));
    OK(ek_program_run(queue, program));
    ek_program_close(program);
    ck_assert_int_eq(fake.calls("cublasCreate"), 1);
    OK(ek_free(queue, x));
    ek_queue_close(queue);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

enum { THREADS = 4, LOOPS = 200, SIZE = 8 };

typedef struct worker {
    float number;
    bool right;
} worker;

/* C = I * (number * ones) on a queue of its own. */
static void *work(void *argument)
{
    worker *w = argument;
    ek_queue *queue = fake_queue("cuda:1");
    float *a = fake_floats(queue, 3 * SIZE * SIZE), *b = a + SIZE * SIZE, *c = b + SIZE * SIZE;
    ek_gemm_shape shape = ek_gemm_plain_shape(SIZE, SIZE, SIZE);
    w->right = true;
    for (int loop = 0; loop < LOOPS; loop++) {
        for (int i = 0; i < SIZE * SIZE; i++) {
            a[i] = i / SIZE == i % SIZE;
            b[i] = w->number;
            c[i] = -1;
        }
        w->right &= ek_gemm_f32(queue, &shape, 1, a, b, 0, c) == EK_OK;
        for (int i = 0; i < SIZE * SIZE; i++)
            w->right &= c[i] == w->number;
    }
    w->right &= fake_current() == NULL && ek_free(queue, a) == EK_OK;
    ek_queue_close(queue);
    return NULL;
}

/* O008: threads on one device, each with a queue of its own and so with a handle and a workspace of
 * its own; the fake refuses a product on a workspace that another handle has taken. */
START_TEST(products_of_threads)
{
    pthread_t threads[THREADS];
    worker workers[THREADS];
    for (int t = 0; t < THREADS; t++) {
        workers[t].number = (float)(t + 1);
        pthread_create(&threads[t], NULL, work, &workers[t]);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        ck_assert(workers[t].right);
    }
    ck_assert_int_le(fake.calls("cublasCreate"),
                     THREADS); /* fewer if one ends before another begins */
    ck_assert_int_eq(fake.calls("cublasSetStream"), THREADS);
    ck_assert_int_eq(fake.context_failures(), 0);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

TCase *products_case(void)
{
    TCase *products = tcase_create("products");
    tcase_add_test(products, closing_beside_a_recording);
    tcase_add_loop_test(products, products_of_another_device, 0, FAKE_DEVICES * (FAKE_DEVICES + 1));
    tcase_add_test(products, products_of_mixed_devices);
    tcase_add_loop_test(products, failing_products, 0, 2);
    tcase_add_test(products, recorded_products);
    tcase_add_test(products, products_of_threads);
    return products;
}
