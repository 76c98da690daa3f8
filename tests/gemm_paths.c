/* Exact products on every path: values that show another order, another rounding or a flushed
 * subnormal; operands that take the CPU through panels; each of a GPU's tiles, whole and cut. */
#include <math.h>
#include <stdlib.h>

#include "format.h"
#include "gemm_case.h"
#include "values.h"

/* ---- values */

typedef enum kind {
    SPREAD,  /* sums lose bits at every step */
    WIDE,    /* all exponents: overflow, underflow */
    TINY,    /* products and sums are subnormal */
    CANCEL,  /* ties, and terms that take each other away */
    ZEROS,   /* signs of zeros */
    SPECIAL, /* a few infinities and NaN among ordinary values */
    KINDS
} kind;

static double pick(const double *from, int count, uint64_t random)
{
    return from[random % (uint64_t)count];
}

/* A value for a dtype (of a part, if complex) with `bits` of precision. */
static double draw(kind kind, int bits, uint64_t seed, uint64_t counter)
{
    uint64_t random = ek_random(seed, 2 * counter), more = ek_random(seed, 2 * counter + 1);
    double unit = (double)(int64_t)random * 0x1p-63;
    int range = bits == 53 ? 500 : 70, least = bits == 53 ? -1074 : -149;
    const double one = 1, next = 1 + ldexp(1, 1 - bits), large = ldexp(1, bits);
    const double cancel[] = {one, -one, next, -next, large, -large, 1 / large, 2 * large};
    const double zeros[] = {0.0, -0.0, ldexp(1, least / 2 - 9), -ldexp(1, least / 2 - 9)};
    const double special[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0, ldexp(1, least)};
    switch (kind) {
    case SPREAD:
        return ldexp(unit, (int)(more % 41) - 20);
    case WIDE:
        return ldexp(unit, (int)(more % (uint64_t)(2 * range)) - range);
    case TINY:
        return ldexp(unit, least / 2 + (int)(more % 24));
    case CANCEL:
        return pick(cancel, sizeof cancel / sizeof cancel[0], more);
    case ZEROS:
        return pick(zeros, sizeof zeros / sizeof zeros[0], more);
    default:
        return more % 64 ? unit : pick(special, sizeof special / sizeof special[0], more / 64);
    }
}

static void *operand(ek_dtype dtype, kind kind, uint64_t seed, int64_t n)
{
    ek_dtype part = ek_is_complex(dtype) ? ek_real_dtype(dtype) : dtype;
    int64_t parts = ek_is_complex(dtype) ? 2 * n : n;
    size_t size = ek_dtype_size(part);
    char *values = malloc((size_t)parts * size + 1);
    ck_assert_ptr_nonnull(values);
    for (int64_t i = 0; i < parts; i++)
        ek_element_round(part, draw(kind, part == EK_F64 ? 53 : 24, seed, (uint64_t)i),
                         values + (size_t)i * size);
    return values;
}

static void check_kind(const gemm_case *t, kind kind)
{
    void *a = operand(t->dtype, kind, 1, gemm_extent_a(&t->shape));
    void *b = operand(t->dtype, kind, 2, gemm_extent_b(&t->shape));
    void *c = operand(t->dtype, kind, 3, gemm_extent_c(&t->shape));
    gemm_check_operands(t, a, b, c);
    free(a);
    free(b);
    free(c);
}

/* Among the f64 places is a GPU's tensor cores: this decides whether they may be used. */
START_TEST(telling_values)
{
    gemm_case t = {.dtype = (ek_dtype)_i, .alpha = {1, 0}};
    for (kind kind = 0; kind < KINDS; kind++) {
        for (int64_t k = 61; k <= 68; k += kind == SPREAD ? 1 : 7) {
            t.shape = ek_gemm_plain_shape(70, 50, k);
            t.beta.re = k % 2 ? 0 : 1;
            check_kind(&t, kind);
        }
    }
}
END_TEST

/* ---- panels */

/* B with gaps between its rows, too large to be read in place. */
START_TEST(panels)
{
    static const int64_t sizes[][3] = {
        {13, 31, 5},  {14, 32, 40}, {15, 33, 257}, {29, 48, 300}, {6, 130, 256}, {70, 40, 300},
        {1, 64, 513}, {100, 6, 64}, {1, 1, 300},   {27, 17, 9},   {64, 64, 256}, {28, 16, 255},
    };
    gemm_case t = {.dtype = (ek_dtype)_i, .alpha = {2, 0}};
    int64_t size = (int64_t)ek_dtype_size(t.dtype);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int64_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
        t.shape = ek_gemm_plain_shape(m, n, k);
        t.shape.ldb = n + (600 << 10) / (k * size);
        t.beta.re = (double)(i % 2);
        if (i % 3 == 0) {
            t.shape.trans_a = EK_TRANSPOSE;
            t.shape.lda = m;
        }
        gemm_check_exact(&t, i);
    }
}
END_TEST

/* The same for a transposed B, of which only many elements make it large. */
START_TEST(panels_of_transposed)
{
    gemm_case t = {.dtype = (ek_dtype)_i, .alpha = {1, 0}};
    t.shape = ek_gemm_plain_shape(29, 33, (600 << 10) / 33 / (int64_t)ek_dtype_size(t.dtype));
    t.shape.trans_b = EK_TRANSPOSE;
    t.shape.ldb = t.shape.k;
    gemm_check_exact(&t, 1);
}
END_TEST

/* ---- a GPU's tiles */

/* Products so many that a GPU computes each in the largest tile that wastes little of itself. */
START_TEST(tiles)
{
    static const int64_t sides[][2] = {{127, 124}, {64, 62}, {31, 32}};
    gemm_case t = {.dtype = (ek_dtype)_i, .alpha = {1, 0}, .beta = {1, 0}};
    int kinds = ek_is_complex(t.dtype) ? 3 : 2;
    /* Whose reference takes long, and whose slices are short. */
    bool narrow = ek_dtype_size(t.dtype) <= 2;
    /* Kernels do not tell signed integers from unsigned ones. */
    if (!ek_testing_gpu() || t.dtype <= EK_I64)
        return;
    for (int i = 0; i < (int)(sizeof sides / sizeof sides[0]); i++) {
        int64_t m = sides[i][0], n = sides[i][1], k = narrow ? 9 : 19 + i;
        for (int turns = 0; turns < kinds * kinds; turns++) {
            /* All transposes where there are kernels for each; else they take turns. */
            if (t.dtype != EK_F64 && turns != (i * 3 + _i) % (kinds * kinds))
                continue;
            t.shape = ek_gemm_plain_shape(m, n, k);
            t.shape.trans_a = (ek_transpose)(turns % kinds);
            t.shape.trans_b = (ek_transpose)(turns / kinds);
            t.shape.lda = (t.shape.trans_a ? m : k) + i % 3;
            t.shape.ldb = (t.shape.trans_b ? k : n) + i % 2;
            t.shape.ldc = n + i % 2;
            t.shape.batch = 264;
            t.shape.stride_a = (t.shape.trans_a ? k : m) * t.shape.lda;
            t.shape.stride_c = m * t.shape.ldc;
            gemm_check_exact(&t, (uint64_t)i);
        }
    }
}
END_TEST

TCase *gemm_path_tests(void)
{
    TCase *tests = tcase_create("paths");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, telling_values, EK_F16, EK_DTYPES);
    tcase_add_loop_test(tests, panels, EK_I8, EK_DTYPES);
    tcase_add_loop_test(tests, panels_of_transposed, EK_F32, EK_DTYPES);
    tcase_add_loop_test(tests, tiles, EK_I8, EK_DTYPES);
    return tests;
}
