/* Matrix products. Every exact result is compared bit for bit with a plain chain of fma, in every
 * place: CPU variants with one thread and with two, or the GPU that EK_TEST_DEVICE names. Tests
 * with a number such as O076 hold a fault found in another library. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "einkorn/ops/gemm.h"
#include "einkorn/ops/gemm_exact.h"
#include "format.h"
#include "gemm_case.h"
#include "values.h"

static bool is_integer(ek_dtype dtype)
{
    return dtype < EK_F16;
}

static ek_gemm_shape shape_of(int64_t m, int64_t n, int64_t k, ek_transpose trans_a,
                              ek_transpose trans_b, int64_t gap)
{
    ek_gemm_shape s = ek_gemm_plain_shape(m, n, k);
    s.trans_a = trans_a;
    s.trans_b = trans_b;
    s.lda = (trans_a == EK_NO_TRANSPOSE ? k : m) + gap;
    s.ldb = (trans_b == EK_NO_TRANSPOSE ? n : k) + gap;
    s.ldc = n + gap;
    s.lda += s.lda == 0;
    s.ldb += s.ldb == 0;
    s.ldc += s.ldc == 0;
    return s;
}

/* Scalars that go through the kinds of results: plain, scaled, added. */
static void set_scalars(gemm_case *t, int64_t which)
{
    static const double alpha[] = {1, 1, 2, -3, 1, 0};
    static const double beta[] = {0, 1, 0, 2, -1, 2};
    static const double real_alpha[] = {1, 1, 0.3, -1.7, 1, 0};
    static const double real_beta[] = {0, 1, 0, 0.6, -1, 0.9};
    which %= 6;
    bool integer = is_integer(t->dtype);
    bool is_unsigned = t->dtype >= EK_U8 && integer;
    t->alpha.re = integer ? fabs(alpha[which]) : real_alpha[which];
    t->beta.re = integer ? fabs(beta[which]) : real_beta[which];
    if (integer && !is_unsigned) {
        t->alpha.re = alpha[which];
        t->beta.re = beta[which];
    }
    t->alpha.im = which == 3 ? 0.4 : 0;
    t->beta.im = which == 3 ? -1.1 : 0;
}

static int transposes_of(ek_dtype dtype)
{
    return ek_is_complex(dtype) ? 3 : 2;
}

/* ---- sizes */

/* O077: with operands that end where memory ends. */
START_TEST(small_sizes)
{
    gemm_case t = {.dtype = (ek_dtype)_i};
    int kinds = transposes_of(t.dtype);
    int64_t count = 0;
    for (int64_t m = 1; m <= 9; m++) {
        for (int64_t n = 1; n <= 9; n++) {
            for (int64_t k = 1; k <= 9; k++, count++) {
                t.shape = shape_of(m, n, k, (ek_transpose)(count % kinds),
                                   (ek_transpose)(count / kinds % kinds), count % 4);
                set_scalars(&t, count / 7);
                gemm_check_exact(&t, (uint64_t)count);
            }
        }
    }
}
END_TEST

static const int64_t edges[][3] = {
    {13, 31, 5},   {14, 32, 40},  {15, 33, 41},  {27, 16, 3},    {28, 17, 9},   {29, 48, 8},
    {63, 64, 65},  {64, 65, 63},  {65, 63, 64},  {127, 17, 128}, {15, 129, 30}, {128, 128, 16},
    {129, 70, 17}, {5, 9, 255},   {6, 130, 256}, {33, 15, 257},  {3, 5, 1000},  {70, 40, 300},
    {1, 200, 270}, {200, 1, 270}, {1, 1, 1000},  {1, 64, 513},   {2, 256, 33},  {100, 6, 64},
};

START_TEST(blocking_edges)
{
    gemm_case t = {.dtype = (ek_dtype)_i};
    int kinds = transposes_of(t.dtype);
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        for (int kind = 0; kind < kinds * kinds; kind++) {
            /* All transposes where code differs by them; the others take turns. */
            if (t.dtype != EK_F32 && t.dtype != EK_C64 && kind != (int)i % (kinds * kinds))
                continue;
            t.shape = shape_of(edges[i][0], edges[i][1], edges[i][2], (ek_transpose)(kind % kinds),
                               (ek_transpose)(kind / kinds), (int64_t)i % 3);
            set_scalars(&t, (int64_t)i + kind);
            gemm_check_exact(&t, i);
        }
    }
}
END_TEST

/* Enough for two threads, several spans of k and, on a GPU, large tiles. */
START_TEST(larger)
{
    gemm_case t = {.dtype = (ek_dtype)_i};
    set_scalars(&t, 3);
    bool slow = t.dtype == EK_F16 || t.dtype == EK_BF16; /* the reference is, for halves */
    t.shape = shape_of(150, slow ? 40 : 190, slow ? 270 : 520, EK_NO_TRANSPOSE, EK_TRANSPOSE, 1);
    gemm_check_exact(&t, 1);
    t.shape = shape_of(slow ? 300 : 1500, slow ? 300 : 1300, 11, EK_TRANSPOSE, EK_NO_TRANSPOSE, 0);
    gemm_check_exact(&t, 2);
}
END_TEST

START_TEST(random_bits)
{
    gemm_case t = {.dtype = (ek_dtype)_i};
    for (int64_t k = 1; k <= 4; k++) {
        t.shape = shape_of(20, 30, k, EK_NO_TRANSPOSE, EK_NO_TRANSPOSE, 0);
        set_scalars(&t, k == 4 ? 3 : k);
        size_t size = ek_dtype_size(t.dtype);
        void *a = malloc(20 * 4 * size), *b = malloc(30 * 4 * size), *c = malloc(20 * 30 * size);
        ek_random_values(t.dtype, 1, 20 * k, a);
        ek_random_values(t.dtype, 2, 30 * k, b);
        ek_random_values(t.dtype, 3, 20 * 30, c);
        gemm_check_operands(&t, a, b, c);
        free(a);
        free(b);
        free(c);
    }
}
END_TEST

/* A sum of -0 stays -0: nothing, not even a zero, is added beyond k. */
START_TEST(negative_zero)
{
    for (int64_t k = 1; k < 20; k++) {
        gemm_case t = {.dtype = EK_F32, .alpha = {1, 0}};
        t.shape = shape_of(3, 3, k, EK_NO_TRANSPOSE, EK_NO_TRANSPOSE, 0);
        float a[3 * 20], b[3 * 20], c[9] = {0};
        for (int64_t i = 0; i < 3 * k; i++) {
            a[i] = -1e-30f;
            b[i] = 1e-30f;
        }
        gemm_check_operands(&t, a, b, c);
        gemm_reference(&t, a, b, c);
        ck_assert(signbit(c[8]));
    }
}
END_TEST

/* ---- batches */

START_TEST(batches)
{
    gemm_case t = {.dtype = (ek_dtype)_i};
    set_scalars(&t, 1);
    t.shape = shape_of(5, 7, 6, EK_NO_TRANSPOSE, EK_TRANSPOSE, 1);
    t.shape.batch = 4;
    t.shape.stride_c = 5 * t.shape.ldc + 3;
    for (int which = 0; which < 4; which++) {
        t.shape.stride_a = which & 1 ? 0 : 5 * t.shape.lda + 2;
        t.shape.stride_b = which & 2 ? 0 : 7 * t.shape.ldb;
        gemm_check_exact(&t, (uint64_t)which);
    }
    /* Products side by side in the rows of one wide matrix. */
    t.shape.stride_a = 5 * t.shape.lda;
    t.shape.ldc = 4 * 7 + 1;
    t.shape.stride_c = 7;
    gemm_check_exact(&t, 9);
    /* Many small ones are shared out among threads. */
    t.shape = ek_gemm_plain_shape(24, 24, 24);
    t.shape.batch = 100;
    t.shape.stride_a = t.shape.stride_b = t.shape.stride_c = 24 * 24;
    if (t.dtype != EK_F16 && t.dtype != EK_BF16)
        gemm_check_exact(&t, 10);
}
END_TEST

/* O026: more products than a grid's second dimension has blocks. */
START_TEST(large_batches)
{
    static const int64_t counts[] = {65535, 65536, 131073};
    gemm_case t = {.dtype = EK_F32, .alpha = {1, 0}, .shape = ek_gemm_plain_shape(1, 1, 4)};
    t.shape.batch = counts[_i];
    t.shape.stride_a = 4;
    t.shape.stride_c = 1;
    float *a = malloc((size_t)counts[_i] * 4 * sizeof *a), v[] = {1, 1, 1, 1};
    float *c = malloc((size_t)counts[_i] * sizeof *c);
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int64_t i = 0; i < counts[_i] * 4; i++)
        a[i] = 1;
    for (int exact = 0; exact < 2; exact++) {
        for (int p = 0; p < count; p++) {
            for (int64_t i = 0; i < counts[_i]; i++)
                c[i] = NAN;
            ck_assert_int_eq(gemm_run(&places[p], exact, &t, a, v, c), EK_OK);
            for (int64_t i = 0; i < counts[_i]; i++)
                if (c[i] != 4)
                    ck_abort_msg("%s: c[%ld] is %g", places[p].name, (long)i, c[i]);
        }
    }
    free(a);
    free(c);
}
END_TEST

/* ---- what is read and what is not */

/* Runs exact and fast with the same f32 or f64 operands; all results must be `wanted`. */
static void both_give(const gemm_case *t, const void *a, const void *b, const void *c,
                      const double *wanted)
{
    int64_t n = gemm_extent_c(&t->shape);
    size_t size = ek_dtype_size(t->dtype);
    char *got = malloc((size_t)n * size);
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int exact = 0; exact < 2; exact++) {
        for (int p = 0; p < count; p++) {
            memcpy(got, c, (size_t)n * size);
            ck_assert_msg(gemm_run(&places[p], exact, t, a, b, got) == EK_OK, "%s",
                          ek_error_message());
            for (int64_t i = 0; i < n; i++) {
                double value = ek_element_value(t->dtype, got + (size_t)i * size);
                if (!gemm_near(value, wanted[i], 0))
                    ck_abort_msg("%s %s: %s: c[%ld] is %g, must be %g", ek_dtype_name(t->dtype),
                                 exact ? "exact" : "fast", places[p].name, (long)i, value,
                                 wanted[i]);
            }
        }
    }
    free(got);
}

static void fill(ek_dtype dtype, int64_t n, const double *from, void *to)
{
    for (int64_t i = 0; i < n; i++)
        ek_element_round(dtype, from[i], (char *)to + (size_t)i * ek_dtype_size(dtype));
}

/* O076 */
START_TEST(beta_zero_does_not_read_c)
{
    static const ek_dtype dtypes[] = {EK_F16, EK_BF16, EK_F32, EK_F64};
    gemm_case t = {.dtype = dtypes[_i], .alpha = {1, 0}, .shape = ek_gemm_plain_shape(2, 2, 2)};
    double a[4], b[4], c[4];
    fill(t.dtype, 4, (double[]){1, 0, 0, 1}, a);
    fill(t.dtype, 4, (double[]){1, 2, 3, 4}, b);
    fill(t.dtype, 4, (double[]){NAN, NAN, NAN, NAN}, c);
    both_give(&t, a, b, c, (double[]){1, 2, 3, 4});
    t.alpha.re = 2;
    both_give(&t, a, b, c, (double[]){2, 4, 6, 8});
}
END_TEST

/* O078 */
START_TEST(vectors_do_not_read_c)
{
    double a[33 * 33] = {0}, x[33] = {0}, c[33], zero[33] = {0};
    for (int i = 0; i < 33; i++)
        c[i] = NAN;
    for (int64_t n = 1; n <= 33; n++) {
        for (int turned = 0; turned < 2; turned++) {
            gemm_case t = {.dtype = EK_F64, .alpha = {1, 0}};
            t.shape = shape_of(n, 1, n, (ek_transpose)turned, EK_NO_TRANSPOSE, 0);
            both_give(&t, a, x, c, zero);
            t.shape = shape_of(1, n, n, EK_NO_TRANSPOSE, (ek_transpose)turned, 0);
            both_give(&t, x, a, c, zero);
        }
    }
}
END_TEST

/* O079 */
START_TEST(beta_says_whether_to_add)
{
    gemm_case t = {.dtype = EK_F32, .alpha = {1, 0}, .shape = ek_gemm_plain_shape(1, 1, 1)};
    float a = 1, b = 2, c = 7;
    both_give(&t, &a, &b, &c, (double[]){2});
    t.beta.re = 1;
    both_give(&t, &a, &b, &c, (double[]){9});
}
END_TEST

/* O080 */
START_TEST(alpha_zero_does_not_read_a_and_b)
{
    gemm_case t = {.dtype = EK_F32, .beta = {2, 0}, .shape = ek_gemm_plain_shape(2, 2, 2)};
    float a[] = {NAN, 1, 1, 1}, b[] = {1, INFINITY, 1, 1}, c[] = {1, 1, 1, 1};
    both_give(&t, a, b, c, (double[]){2, 2, 2, 2});
    t.beta.re = 0;
    both_give(&t, a, b, c, (double[]){0, 0, 0, 0});
    t.alpha.re = 1;
    t.shape = ek_gemm_plain_shape(1, 1, 1);
    both_give(&t, (float[]){0}, (float[]){INFINITY}, c, (double[]){NAN});
}
END_TEST

START_TEST(empty_products)
{
    gemm_case t = {.dtype = (ek_dtype)_i};
    set_scalars(&t, 3);
    t.shape = shape_of(3, 4, 0, EK_NO_TRANSPOSE, EK_NO_TRANSPOSE, 0);
    gemm_check_exact(&t, 1);
    set_scalars(&t, 0);
    gemm_check_exact(&t, 2);
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int p = 0; p < count; p++) {
        ek_queue *q = places[p].queue;
        t.shape = ek_gemm_plain_shape(0, 4, 5);
        ck_assert_int_eq(gemm_call(q, true, &t, NULL, NULL, NULL), EK_OK);
        t.shape = ek_gemm_plain_shape(4, 0, 5);
        ck_assert_int_eq(gemm_call(q, true, &t, NULL, NULL, NULL), EK_OK);
        t.shape = ek_gemm_plain_shape(4, 3, 5);
        t.shape.batch = 0;
        ck_assert_int_eq(gemm_call(q, true, &t, NULL, NULL, NULL), EK_OK);
        ck_assert(is_integer(t.dtype) || gemm_call(q, false, &t, NULL, NULL, NULL) == EK_OK);
    }
}
END_TEST

/* ---- large lengths */

/* O084 */
START_TEST(one_large_dimension)
{
    static const int64_t shapes[][3] = {{2, 1, 4194305}, {4, 4, 2000000}, {1, 200000, 1}};
    int64_t m = shapes[_i][0], n = shapes[_i][1], k = shapes[_i][2];
    gemm_case t = {.dtype = EK_F64, .alpha = {1, 0}};
    t.shape = shape_of(m, n, k, _i == 0 ? EK_TRANSPOSE : EK_NO_TRANSPOSE, EK_NO_TRANSPOSE, 0);
    double *ones = malloc((size_t)(4 * k + n) * sizeof *ones);
    double *c = calloc((size_t)(m * n), sizeof *c), *wanted = calloc((size_t)(m * n), sizeof *c);
    for (int64_t i = 0; i < 4 * k + n; i++)
        ones[i] = 1;
    for (int64_t i = 0; i < m * n; i++)
        wanted[i] = (double)k;
    both_give(&t, ones, ones, c, wanted);
    free(ones);
    free(c);
    free(wanted);
}
END_TEST

static void check_cell(const ek_place *place, const ek_f16 *c, int64_t i)
{
    const uint16_t one = 0x3c00;
    uint16_t bits;
    ek_download(place, &bits, c + i, sizeof bits);
    ck_assert_msg(bits == one, "%s: c[%ld] is 0x%04x", place->name, (long)i, bits);
}

/* O081: more than 2^31 elements of C, which takes 4.3 GB; with EK_TEST_LARGE=1 only. */
START_TEST(more_than_31_bits)
{
    const char *wanted = getenv("EK_TEST_LARGE");
    if (!wanted || strcmp(wanted, "1") != 0)
        return;
    ek_gemm_shape s = ek_gemm_plain_shape(46341, 46341, 1);
    if (_i == 1) {
        s = ek_gemm_plain_shape(128, 128, 1);
        s.batch = 131073;
        s.stride_c = 128 * 128;
    }
    int64_t cells = s.batch * s.m * s.n;
    const ek_place *places;
    int count = ek_tested_places(&places);
    const ek_place *place = &places[count - 1];
    char *memory = ek_place_memory(place, (size_t)(cells + 2 * 46592) * sizeof(ek_f16));
    ek_f16 *a = (ek_f16 *)memory, *b = a + 46592, *c = b + 46592;
    ek_f16 *ones = malloc(2 * 46592 * sizeof *ones);
    for (int i = 0; i < 2 * 46592; i++)
        ones[i].bits = 0x3c00;
    ek_upload(place, a, ones, 2 * 46592 * sizeof *ones);
    ck_assert_int_eq(ek_gemm_exact_f16(place->queue, &s, 1, a, b, 0, c), EK_OK);
    check_cell(place, c, 0);
    check_cell(place, c, INT64_C(1) << 31);
    check_cell(place, c, cells - 1);
    free(ones);
}
END_TEST

/* ---- the fast product */

START_TEST(fast_is_near)
{
    gemm_case t = {.dtype = (ek_dtype)_i};
    int kinds = transposes_of(t.dtype);
    int64_t count = 0;
    for (int64_t m = 1; m <= 9; m += 2) {
        for (int64_t n = 1; n <= 9; n++) {
            for (int64_t k = 1; k <= 9; k += 3, count++) {
                t.shape = shape_of(m, n, k, (ek_transpose)(count % kinds),
                                   (ek_transpose)(count / kinds % kinds), count % 4);
                set_scalars(&t, count / 7);
                gemm_check_fast(&t, (uint64_t)count);
            }
        }
    }
    set_scalars(&t, 3);
    t.shape = shape_of(65, 130, 200, EK_TRANSPOSE, EK_TRANSPOSE, 1);
    gemm_check_fast(&t, 1);
    t.shape = shape_of(5, 7, 6, EK_NO_TRANSPOSE, EK_TRANSPOSE, 1);
    t.shape.batch = 3;
    t.shape.stride_a = 5 * t.shape.lda;
    t.shape.stride_c = 5 * t.shape.ldc + 1;
    gemm_check_fast(&t, 2);
}
END_TEST

/* O085 */
START_TEST(no_reduced_precision)
{
    gemm_case t = {.dtype = EK_F32, .alpha = {1, 0}, .shape = ek_gemm_plain_shape(1, 1, 1)};
    both_give(&t, (float[]){1024.5f}, (float[]){1}, (float[]){0}, (double[]){1024.5});
    t.shape = ek_gemm_plain_shape(64, 64, 512);
    gemm_check_fast(&t, 7);
}
END_TEST

START_TEST(callers_threads_stay)
{
    int before = omp_get_max_threads();
    gemm_case t = {.dtype = EK_F32, .alpha = {1, 0}, .shape = ek_gemm_plain_shape(64, 64, 64)};
    gemm_check_fast(&t, 1);
    ck_assert_int_eq(omp_get_max_threads(), before);
}
END_TEST

/* O082 */
START_TEST(comparison_can_fail)
{
    ck_assert(!gemm_near(NAN, 1, 1e9));
    ck_assert(!gemm_near(1, NAN, 1e9));
    ck_assert(!gemm_near(INFINITY, -INFINITY, 1e9));
    ck_assert(gemm_near(NAN, NAN, 0));
}
END_TEST

static Suite *gemm_suite(void)
{
    Suite *suite = suite_create("gemm");
    TCase *exact = tcase_create("exact");
    tcase_set_timeout(exact, 300);
    tcase_add_loop_test(exact, small_sizes, EK_I8, EK_DTYPES);
    tcase_add_loop_test(exact, blocking_edges, EK_I8, EK_DTYPES);
    tcase_add_loop_test(exact, larger, EK_I8, EK_DTYPES);
    tcase_add_loop_test(exact, random_bits, EK_I8, EK_DTYPES);
    tcase_add_test(exact, negative_zero);
    tcase_add_loop_test(exact, batches, EK_I8, EK_DTYPES);
    tcase_add_loop_test(exact, empty_products, EK_I8, EK_DTYPES);
    suite_add_tcase(suite, exact);
    TCase *both = tcase_create("exact and fast");
    tcase_set_timeout(both, 300);
    tcase_add_loop_test(both, large_batches, 0, 3);
    tcase_add_loop_test(both, beta_zero_does_not_read_c, 0, 4);
    tcase_add_test(both, vectors_do_not_read_c);
    tcase_add_test(both, beta_says_whether_to_add);
    tcase_add_test(both, alpha_zero_does_not_read_a_and_b);
    tcase_add_loop_test(both, one_large_dimension, 0, 3);
    tcase_add_loop_test(both, more_than_31_bits, 0, 2);
    suite_add_tcase(suite, both);
    TCase *fast = tcase_create("fast");
    tcase_set_timeout(fast, 300);
    tcase_add_loop_test(fast, fast_is_near, EK_F16, EK_DTYPES);
    tcase_add_test(fast, no_reduced_precision);
    tcase_add_test(fast, callers_threads_stay);
    tcase_add_test(fast, comparison_can_fail);
    suite_add_tcase(suite, fast);
    suite_add_tcase(suite, gemm_path_tests());
    suite_add_tcase(suite, gemm_array_tests());
    suite_add_tcase(suite, gemm_refusal_tests());
    return suite;
}

int main(void)
{
    ek_counts counts = {0};
    ek_run_suite(gemm_suite(), &counts);
    return ek_end(&counts);
}
