/* What belongs to the process and not to the library: the floating-point environment, the standard
 * streams; and denormals, which threads must keep. */
#include <fenv.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#if defined(__SSE2__)
#    include <xmmintrin.h>
#endif

#include "check_runtime.h"
#include "einkorn/ops/div.h"
#include "einkorn/ops/mul.h"

static unsigned control_word(void)
{
#if defined(__SSE2__)
    return _mm_getcsr() & ~0x3fu; /* without the flags, which any division sets */
#else
    return 0;
#endif
}

static float halved(float x, int64_t n)
{
    float *in = malloc((size_t)n * sizeof *in), *out = malloc((size_t)n * sizeof *out);
    float half = 0.5f;
    for (int64_t i = 0; i < n; i++)
        in[i] = x;
    for (int64_t i = 0; i < n; i++)
        out[i] = half;
    EK_MUST(ek_mul_f32(ek_cpu_queue, n, in, out, out));
    float first = out[0];
    for (int64_t i = 1; i < n; i++) {
        if (out[i] != first)
            ck_abort_msg("element %lld differs", (long long)i);
    }
    free(in);
    free(out);
    return first;
}

START_TEST(denormals_are_kept_in_threads)
{
    const float tiny = 1e-39f, wanted = 5e-40f;
    EK_MUST(ek_queue_set_threads(ek_cpu_queue, 2));
    ck_assert(halved(tiny, 1) == wanted);
    ck_assert(halved(tiny, 10000) == wanted);
    ck_assert(halved(tiny, 3000000) == wanted);
}
END_TEST

static void *in_a_thread(void *result)
{
    unsigned before = control_word();
    float x[100], y[100];
    for (int i = 0; i < 100; i++) {
        x[i] = 1e-39f;
        y[i] = 0;
    }
    ek_status status = ek_div_f32(ek_cpu_queue, 100, x, y, y);
    volatile double product = 1e-310;
    product *= 0.5;
    *(int *)result = status == EK_OK && before == control_word() && product == 5e-311;
    return NULL;
}

START_TEST(the_environment_is_left_alone)
{
    unsigned before = control_word();
    int fine = 0;
    volatile double product = 1e-310;
    product *= 0.5;
    ck_assert(product == 5e-311);
    ck_assert_int_eq(fegetround(), FE_TONEAREST);
    halved(1e-39f, 1000000);
    ck_assert_uint_eq(control_word(), before);
    pthread_t thread;
    pthread_create(&thread, NULL, in_a_thread, &fine);
    pthread_join(thread, NULL);
    ck_assert_int_eq(fine, 1);
}
END_TEST

START_TEST(nothing_is_printed)
{
    /* Both streams into a file, which must stay empty through success and refusal. */
    char name[] = "/tmp/einkorn-printed-XXXXXX";
    int file = mkstemp(name), out = dup(1), error = dup(2);
    ck_assert_int_ge(file, 0);
    unlink(name);
    fflush(NULL);
    dup2(file, 1);
    dup2(file, 2);
    float x[2] = {1, 2};
    ek_status good = ek_mul_f32(ek_cpu_queue, 2, x, x, x);
    ek_status bad = ek_mul_f32(ek_cpu_queue, -2, x, x, x);
    ek_device *none = NULL;
    ek_status absent = ek_device_open("cuda:77", &none);
    fflush(NULL);
    dup2(out, 1);
    dup2(error, 2);
    ck_assert_int_eq(good, EK_OK);
    ck_assert_int_eq(bad, EK_INVALID_ARGUMENT);
    ck_assert_int_eq(absent, EK_NO_DEVICE);
    ck_assert_int_eq(lseek(file, 0, SEEK_END), 0);
    close(file);
    close(out);
    close(error);
}
END_TEST

static int threads_of_process(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[128];
    int count = -1;
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "Threads: %d", &count);
    if (file)
        fclose(file);
    return count;
}

START_TEST(no_thread_for_small_work)
{
    int before = threads_of_process();
    float x[100] = {0};
    EK_MUST(ek_queue_set_threads(ek_cpu_queue, 2));
    EK_MUST(ek_mul_f32(ek_cpu_queue, 100, x, x, x));
    ck_assert_int_eq(threads_of_process(), before);
}
END_TEST

TCase *ek_environment_case(void)
{
    TCase *environment = tcase_create("environment");
    tcase_add_checked_fixture(environment, ek_open_cpu, ek_close_cpu);
    tcase_set_timeout(environment, 60);
    tcase_add_test(environment, no_thread_for_small_work);
    tcase_add_test(environment, denormals_are_kept_in_threads);
    tcase_add_test(environment, the_environment_is_left_alone);
    tcase_add_test(environment, nothing_is_printed);
    return environment;
}
