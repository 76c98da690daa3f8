/* var, std and norm2: how far from the exact value they are for elements that are hard to reduce,
 * what comes of extreme ones, and ddof. tests/check_reductions.c has their bits. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "einkorn/ops/norm2.h"
#include "einkorn/ops/std.h"
#include "einkorn/ops/var.h"
#include "format.h"
#include "place.h"
#include "reference_moments.h"
#include "values.h"

static void must(ek_status status)
{
    ck_assert_msg(status == EK_OK, "%s", ek_error_message());
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes + 1);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

/* Reduces all of n elements in memory of the place, which x is copied to. */
static void reduce(const ek_place *place, const ek_op_info *op, ek_dtype dtype, int64_t ddof,
                   int64_t n, const void *x, ek_dtype out, void *result)
{
    size_t bytes = (size_t)n * ek_dtype_size(dtype), at = (bytes + 63) / 64 * 64;
    char *memory = ek_place_memory(place, at + 64);
    ek_upload(place, memory, x, bytes);
    const ek_device *device = ek_queue_device(place->queue);
    ek_array in = ek_array_view(memory, dtype, device, 1, &n);
    ek_array target = ek_array_view(memory + at, out, device, 0, NULL);
    const ek_array *const ins[] = {&in};
    const ek_param param = {.name = "ddof", .integer = ddof};
    must(ek_apply(place->queue, op, ins, ddof ? 1 : 0, &param, (ek_array *[]){&target}));
    ek_download(place, result, memory + at, ek_dtype_size(out));
}

static double reduce_f64(const ek_place *place, const ek_op_info *op, int64_t ddof, int64_t n,
                         const double *x)
{
    double result;
    reduce(place, op, EK_F64, ddof, n, x, EK_F64, &result);
    return result;
}

static double reduce_f32(const ek_place *place, const ek_op_info *op, int64_t ddof, int64_t n,
                         const float *x)
{
    float result;
    reduce(place, op, EK_F32, ddof, n, x, EK_F32, &result);
    return result;
}

/* ---- errors */

enum {
    UNIFORM,
    OFFSET,      /* a mean of 10^8 times the spread */
    FIRST_APART, /* one element far away, at the start */
    LAST_APART,
    CHUNKS_APART, /* a level for each chunk */
    RAMP,
    SIZES, /* of many orders of magnitude */
    NEAR,  /* few different neighbouring numbers */
    PATTERNS
};

static double draw(uint64_t seed, int64_t i)
{
    return (double)(ek_random(seed, (uint64_t)i) >> 11) * 0x1p-53;
}

static double pattern_value(int pattern, ek_dtype part, int64_t n, int64_t i)
{
    double x = draw((uint64_t)n, i), far = part == EK_F16 ? 1e4 : 1e15;
    switch (pattern) {
    case OFFSET:
        return part == EK_F64 ? 1e8 + x : part == EK_F32 ? 1e4 + x : 100 + x;
    case FIRST_APART:
        return i == 0 ? far : x;
    case LAST_APART:
        return i == n - 1 ? far : x;
    case CHUNKS_APART:
        return (double)(i / 4096 % 7) * far / 7 + x;
    case RAMP:
        return (double)i * 0x1p-4;
    case SIZES:
        return ldexp(x - 0.5, (int)(ek_random(5, (uint64_t)i) % (part == EK_F16 ? 20 : 60)) - 15);
    case NEAR:
        return 1 + (x < 0.01 ? (part == EK_F64 ? 0x1p-52 : 0x1p-7) : 0);
    default:
        return x;
    }
}

static void fill(ek_dtype dtype, int pattern, int64_t n, void *x)
{
    ek_dtype part = ek_real_dtype(dtype);
    int parts = ek_is_complex(dtype) ? 2 : 1;
    size_t size = ek_dtype_size(part);
    for (int64_t i = 0; i < n * parts; i++)
        ek_element_round(part, pattern_value(pattern, part, n, i / parts) + (double)(i % parts),
                         (char *)x + (size_t)i * size);
}

/* In units of the last place, as the pages say. An outlier costs a float64 variance most. */
static double bound(const ek_op_info *op, const ek_loop *loop, int pattern)
{
    if (loop->ulp > 0)
        return loop->ulp;
    if (op == &ek_op_norm2.info)
        return 2;
    return pattern == FIRST_APART ? 50 : 3;
}

static void check_error(const ek_op_info *op, const ek_loop *loop, int pattern, int64_t n)
{
    ek_dtype dtype = (ek_dtype)loop->in[0], out = (ek_dtype)loop->out[0];
    char result[16];
    const ek_place *places;
    int count = ek_tested_places(&places);
    void *x = allocate((size_t)n * ek_dtype_size(dtype));
    fill(dtype, pattern, n, x);
    for (int p = 0; p < count; p++) {
        reduce(&places[p], op, dtype, 0, n, x, out, result);
        double error = ek_moments_error(op->name, dtype, 0, n, x, out, result);
        if (!(error <= bound(op, loop, pattern)))
            ck_abort_msg("ek_%s of %lld %s, pattern %d, on %s: %g ulp", op->name, (long long)n,
                         ek_dtype_name(dtype), pattern, places[p].name, error);
    }
    free(x);
}

static const ek_op_info *const ops[] = {&ek_op_var.info, &ek_op_std.info, &ek_op_norm2.info};

START_TEST(test_errors)
{
    static const int64_t lengths[] = {1,   2,    3,    5,    16,   100,   127,  128,
                                      129, 1000, 4095, 4096, 4097, 10000, 40000};
    const ek_op_info *op = ops[_i];
    for (int32_t k = 0; k < op->loop_count; k++) {
        if (op->loops[k].in[0] < EK_F16)
            continue;
        for (int pattern = 0; pattern < PATTERNS; pattern++) {
            for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
                check_error(op, &op->loops[k], pattern, lengths[i]);
        }
    }
}
END_TEST

/* ---- extremes */

static void each_place(void (*check)(const ek_place *place))
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int p = 0; p < count; p++)
        check(&places[p]);
}

/* Repeats a few numbers up to n and gives the norm of them. */
static double norm_of(const ek_place *place, int64_t n, int count, const double *values)
{
    double *x = allocate((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = values[i % count];
    double result = reduce_f64(place, &ek_op_norm2.info, 0, n, x);
    free(x);
    return result;
}

static void check_norms(const ek_place *place)
{
    const double least = 0x1p-1074;
    for (int64_t n = 4; n <= 65536; n *= 4) {
        double root = sqrt((double)n);
        ck_assert_double_eq(norm_of(place, n, 1, &(double){0x1p+1000}), 0x1p+1000 * root);
        ck_assert_double_eq(norm_of(place, n, 1, &(double){-0x1p-1000}), 0x1p-1000 * root);
        ck_assert_double_eq(norm_of(place, n, 1, &least), least * root);
        ck_assert_double_eq(norm_of(place, n, 1, &(double){0}), 0);
        ck_assert_double_eq(norm_of(place, n, 2, (double[]){0x1p+600, 0x1p-600}),
                            0x1p+600 * sqrt((double)n / 2));
        ck_assert(isinf(norm_of(place, n, 1, &(double){DBL_MAX})));
        ck_assert(isinf(norm_of(place, n, 2, (double[]){-INFINITY, 1e-300})));
        ck_assert(isnan(norm_of(place, n, 2, (double[]){INFINITY, NAN})));
    }
    /* Chunks of different scales. */
    double *x = allocate(3 * 4096 * sizeof *x);
    for (int i = 0; i < 3 * 4096; i++)
        x[i] = i < 4096 ? 0x1p-700 : i < 8192 ? 0x1p+700 : 1;
    ck_assert_double_eq(reduce_f64(place, &ek_op_norm2.info, 0, 3 * 4096, x), 0x1p+706);
    ck_assert_double_eq(reduce_f64(place, &ek_op_norm2.info, 0, 4096, x), 0x1p-694);
    free(x);
    ck_assert_double_eq(norm_of(place, 1, 1, &(double){DBL_MAX}), DBL_MAX);
    ck_assert_double_eq(reduce_f32(place, &ek_op_norm2.info, 0, 2, (float[]){3e38f, 0}), 3e38f);
    ck_assert_double_eq(
        reduce_f32(place, &ek_op_norm2.info, 0, 2, (float[]){0x1.8p-148f, 0x1p-147f}), 0x1.4p-147f);
}

START_TEST(test_norms)
{
    each_place(check_norms);
}
END_TEST

static void check_variances(const ek_place *place)
{
    const ek_op_info *var = &ek_op_var.info;
    /* Equal numbers have no variance, and that is no negative zero. */
    double *x = allocate(9000 * sizeof *x);
    for (int64_t n = 1; n <= 9000; n += n < 140 ? 1 : 1777) {
        for (int64_t i = 0; i < n; i++)
            x[i] = -0.1;
        double got = reduce_f64(place, var, 0, n, x);
        ck_assert(got == 0 && !signbit(got));
    }
    free(x);
    ck_assert(isinf(reduce_f64(place, var, 0, 2, (double[]){1e200, -1e200})));
    ck_assert(isinf(reduce_f32(place, var, 0, 2, (float[]){3e38f, -3e38f})));
    ck_assert(reduce_f32(place, &ek_op_std.info, 0, 2, (float[]){3e38f, -3e38f}) == 3e38f);
    ck_assert(isnan(reduce_f64(place, var, 0, 2, (double[]){INFINITY, 1})));
    ck_assert(isnan(reduce_f64(place, var, 0, 1, (double[]){-INFINITY})));
    ck_assert(isnan(reduce_f32(place, var, 0, 3, (float[]){1, NAN, 1})));
}

START_TEST(test_variances)
{
    each_place(check_variances);
}
END_TEST

/* ---- ddof */

static void check_ddof(const ek_place *place)
{
    const ek_op_info *var = &ek_op_var.info;
    const double x[] = {1, 3, 5, 7};
    ck_assert_double_eq(reduce_f64(place, var, 0, 4, x), 5);
    ck_assert_double_eq(reduce_f64(place, var, 2, 4, x), 10);
    ck_assert_double_eq(reduce_f64(place, var, -1, 4, x), 4);
    ck_assert_double_eq(reduce_f64(place, &ek_op_std.info, -16, 4, x), 1);
    ck_assert(isnan(reduce_f64(place, var, 4, 4, x)));
    ck_assert(isnan(reduce_f64(place, &ek_op_std.info, 5, 4, x)));
    ck_assert(isnan(reduce_f64(place, var, INT64_MAX, 4, x)));
    ck_assert(reduce_f64(place, var, INT64_MIN, 4, x) > 0);
    ck_assert(isnan(reduce_f64(place, var, 0, 0, x)));
    ck_assert_double_eq(reduce_f64(place, var, -1, 0, x), 0);
    ck_assert_double_eq(reduce_f64(place, &ek_op_norm2.info, 0, 0, x), 0);
}

START_TEST(test_ddof)
{
    each_place(check_ddof);
}
END_TEST

static void refused(ek_status got, ek_status status, const char *word)
{
    ck_assert_msg(got == status, "status is %s, must be %s: %s", ek_status_name(got),
                  ek_status_name(status), ek_error_message());
    ck_assert_msg(strstr(ek_error_message(), word), "'%s' does not say '%s'", ek_error_message(),
                  word);
}

START_TEST(test_refusals)
{
    const ek_place *places;
    ek_tested_places(&places);
    ek_queue *q = places[0].queue;
    char *memory = ek_place_memory(&places[0], 4096);
    const float *x = (const float *)memory;
    float *out = (float *)(memory + 1024);
    refused(ek_var_f32(q, 1, -1, 1, 0, x, out), EK_INVALID_ARGUMENT, "ek_var_f32: n is -1");
    refused(ek_std_f32(q, 1, 8, 1, 0, NULL, out), EK_INVALID_ARGUMENT, "x is null");
    refused(ek_norm2_f32(q, 1, 8, 1, x, (float *)memory + 7), EK_OVERLAP, "overlaps x");
    must(ek_var_f32(q, 0, 4, 1, 0, NULL, NULL));
    int64_t n = 8;
    const ek_device *device = ek_queue_device(q);
    ek_array in = ek_array_view(memory, EK_C64, device, 1, &n);
    ek_array real = ek_array_view(memory + 1024, EK_F32, device, 0, NULL);
    ek_array complex = ek_array_view(memory + 1024, EK_C64, device, 0, NULL);
    const ek_array *const ins[] = {&in};
    const ek_param ddof = {.name = "ddof", .integer = 1};
    must(ek_var(q, &in, 0, NULL, 1, false, &real));
    refused(ek_var(q, &in, 0, NULL, 1, false, &complex), EK_DTYPE_MISMATCH, "(c64) to c64");
    refused(ek_norm2(q, &in, 1, (int32_t[]){1}, false, &real), EK_INVALID_ARGUMENT, "axis is 1");
    refused(ek_apply(q, &ek_op_norm2.info, ins, 1, &ddof, (ek_array *[]){&real}),
            EK_INVALID_ARGUMENT, "unknown parameter 'ddof'");
}
END_TEST

enum { OPS = sizeof ops / sizeof ops[0], SINGLE_TESTS = 4 };

static Suite *moments_suite(void)
{
    Suite *suite = suite_create("moments");
    TCase *tests = tcase_create("moments");
    tcase_set_timeout(tests, 600);
    tcase_add_loop_test(tests, test_errors, 0, OPS);
    tcase_add_test(tests, test_norms);
    tcase_add_test(tests, test_variances);
    tcase_add_test(tests, test_ddof);
    tcase_add_test(tests, test_refusals);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return ek_run_at_places(moments_suite, OPS + SINGLE_TESTS);
}
