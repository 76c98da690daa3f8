#include "gemm_case.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compare.h"
#include "einkorn/ops/gemm.h"
#include "einkorn/ops/gemm_exact.h"
#include "format.h"
#include "values.h"

static int64_t extent(int64_t batch, int64_t stride, int64_t rows, int64_t columns, int64_t ld)
{
    return batch && rows && columns ? (batch - 1) * stride + (rows - 1) * ld + columns : 0;
}

int64_t gemm_extent_a(const ek_gemm_shape *s)
{
    bool turned = s->trans_a != EK_NO_TRANSPOSE;
    return extent(s->batch, s->stride_a, turned ? s->k : s->m, turned ? s->m : s->k, s->lda);
}

int64_t gemm_extent_b(const ek_gemm_shape *s)
{
    bool turned = s->trans_b != EK_NO_TRANSPOSE;
    return extent(s->batch, s->stride_b, turned ? s->n : s->k, turned ? s->k : s->n, s->ldb);
}

int64_t gemm_extent_c(const ek_gemm_shape *s)
{
    return extent(s->batch, s->stride_c, s->m, s->n, s->ldc);
}

#define CALL(op, name, scalar)                                                                     \
    return ek_##op##_##name(queue, &t->shape, (scalar)t->alpha.re, a, b, (scalar)t->beta.re, c)
#define CALL_COMPLEX(op, name, part)                                                               \
    return ek_##op##_##name(queue, &t->shape, (ek_##name){(part)t->alpha.re, (part)t->alpha.im},   \
                            a, b, (ek_##name){(part)t->beta.re, (part)t->beta.im}, c)

static ek_status call_fast(ek_queue *queue, const gemm_case *t, const void *a, const void *b,
                           void *c)
{
    switch (t->dtype) {
    case EK_F16:
        CALL(gemm, f16, float);
    case EK_BF16:
        CALL(gemm, bf16, float);
    case EK_F32:
        CALL(gemm, f32, float);
    case EK_F64:
        CALL(gemm, f64, double);
    case EK_C64:
        CALL_COMPLEX(gemm, c64, float);
    default:
        CALL_COMPLEX(gemm, c128, double);
    }
}

ek_status gemm_call(ek_queue *queue, bool exact, const gemm_case *t, const void *a, const void *b,
                    void *c)
{
    if (!exact)
        return call_fast(queue, t, a, b, c);
    switch (t->dtype) {
    case EK_I8:
        CALL(gemm_exact, i8, int8_t);
    case EK_I16:
        CALL(gemm_exact, i16, int16_t);
    case EK_I32:
        CALL(gemm_exact, i32, int32_t);
    case EK_I64:
        CALL(gemm_exact, i64, int64_t);
    case EK_U8:
        CALL(gemm_exact, u8, uint8_t);
    case EK_U16:
        CALL(gemm_exact, u16, uint16_t);
    case EK_U32:
        CALL(gemm_exact, u32, uint32_t);
    case EK_U64:
        CALL(gemm_exact, u64, uint64_t);
    case EK_F16:
        CALL(gemm_exact, f16, float);
    case EK_BF16:
        CALL(gemm_exact, bf16, float);
    case EK_F32:
        CALL(gemm_exact, f32, float);
    case EK_F64:
        CALL(gemm_exact, f64, double);
    case EK_C64:
        CALL_COMPLEX(gemm_exact, c64, float);
    default:
        CALL_COMPLEX(gemm_exact, c128, double);
    }
}

/* ---- the reference */

/* Where an element of op(A) or op(B) lies. */
static int64_t place_of(ek_transpose transpose, int64_t ld, int64_t row, int64_t column)
{
    return transpose == EK_NO_TRANSPOSE ? row * ld + column : column * ld + row;
}

static uint64_t load_integer(ek_dtype dtype, const void *x, int64_t i)
{
    uint64_t value = 0;
    size_t size = ek_dtype_size(dtype);
    memcpy(&value, (const char *)x + (size_t)i * size, size);
    return value;
}

static void integer_element(const gemm_case *t, const void *a, int64_t at_a, int64_t step_a,
                            const void *b, int64_t at_b, int64_t step_b, void *c, int64_t at_c)
{
    uint64_t sum = 0;
    uint64_t alpha = (uint64_t)(int64_t)t->alpha.re, beta = (uint64_t)(int64_t)t->beta.re;
    for (int64_t p = 0; p < t->shape.k && alpha; p++)
        sum += load_integer(t->dtype, a, at_a + p * step_a) *
               load_integer(t->dtype, b, at_b + p * step_b);
    uint64_t r = alpha * sum + beta * load_integer(t->dtype, c, at_c);
    size_t size = ek_dtype_size(t->dtype);
    memcpy((char *)c + (size_t)at_c * size, &r, size);
}

static float load_float(ek_dtype dtype, const void *x, int64_t i)
{
    if (dtype == EK_F32)
        return ((const float *)x)[i];
    return (float)ek_element_value(dtype, (const char *)x + 2 * i);
}

static void float_element(const gemm_case *t, const void *a, int64_t at_a, int64_t step_a,
                          const void *b, int64_t at_b, int64_t step_b, void *c, int64_t at_c)
{
    float sum = 0, alpha = (float)t->alpha.re, beta = (float)t->beta.re;
    for (int64_t p = 0; p < t->shape.k && alpha != 0; p++)
        sum = fmaf(load_float(t->dtype, a, at_a + p * step_a),
                   load_float(t->dtype, b, at_b + p * step_b), sum);
    float r = alpha * sum;
    if (beta != 0)
        r = fmaf(beta, load_float(t->dtype, c, at_c), r);
    if (t->dtype == EK_F32)
        ((float *)c)[at_c] = r;
    else
        ek_element_round(t->dtype, r, (char *)c + 2 * at_c);
}

static void double_element(const gemm_case *t, const double *a, int64_t at_a, int64_t step_a,
                           const double *b, int64_t at_b, int64_t step_b, double *c, int64_t at_c)
{
    double sum = 0, alpha = t->alpha.re, beta = t->beta.re;
    for (int64_t p = 0; p < t->shape.k && alpha != 0; p++)
        sum = fma(a[at_a + p * step_a], b[at_b + p * step_b], sum);
    double r = alpha * sum;
    c[at_c] = beta != 0 ? fma(beta, c[at_c], r) : r;
}

#define COMPLEX_ELEMENT(name, part, fma)                                                           \
    static ek_##name fma_##name(ek_##name x, ek_##name y, ek_##name z)                             \
    {                                                                                              \
        part re = fma(x.re, y.re, z.re), im = fma(x.re, y.im, z.im);                               \
        return (ek_##name){fma(-x.im, y.im, re), fma(x.im, y.re, im)};                             \
    }                                                                                              \
    static ek_##name load_##name(const ek_##name *x, int64_t i, ek_transpose transpose)            \
    {                                                                                              \
        ek_##name z = x[i];                                                                        \
        z.im = transpose == EK_CONJUGATE_TRANSPOSE ? -z.im : z.im;                                 \
        return z;                                                                                  \
    }                                                                                              \
    static void element_##name(const gemm_case *t, const ek_##name *a, int64_t at_a,               \
                               int64_t step_a, const ek_##name *b, int64_t at_b, int64_t step_b,   \
                               ek_##name *c, int64_t at_c)                                         \
    {                                                                                              \
        ek_##name sum = {0, 0};                                                                    \
        ek_##name x = {(part)t->alpha.re, (part)t->alpha.im};                                      \
        ek_##name y = {(part)t->beta.re, (part)t->beta.im};                                        \
        for (int64_t p = 0; p < t->shape.k && (x.re != 0 || x.im != 0); p++)                       \
            sum = fma_##name(load_##name(a, at_a + p * step_a, t->shape.trans_a),                  \
                             load_##name(b, at_b + p * step_b, t->shape.trans_b), sum);            \
        ek_##name r = {x.re * sum.re - x.im * sum.im, x.re * sum.im + x.im * sum.re};              \
        c[at_c] = y.re != 0 || y.im != 0 ? fma_##name(y, c[at_c], r) : r;                          \
    }

COMPLEX_ELEMENT(c64, float, fmaf)
COMPLEX_ELEMENT(c128, double, fma)

static void reference_element(const gemm_case *t, const void *a, const void *b, void *c,
                              int64_t index, int64_t i, int64_t j)
{
    const ek_gemm_shape *s = &t->shape;
    int64_t at_a = index * s->stride_a + place_of(s->trans_a, s->lda, i, 0);
    int64_t at_b = index * s->stride_b + place_of(s->trans_b, s->ldb, 0, j);
    int64_t at_c = index * s->stride_c + i * s->ldc + j;
    int64_t step_a = s->trans_a == EK_NO_TRANSPOSE ? 1 : s->lda;
    int64_t step_b = s->trans_b == EK_NO_TRANSPOSE ? s->ldb : 1;
    switch (t->dtype) {
    case EK_F16:
    case EK_BF16:
    case EK_F32:
        float_element(t, a, at_a, step_a, b, at_b, step_b, c, at_c);
        break;
    case EK_F64:
        double_element(t, a, at_a, step_a, b, at_b, step_b, c, at_c);
        break;
    case EK_C64:
        element_c64(t, a, at_a, step_a, b, at_b, step_b, c, at_c);
        break;
    case EK_C128:
        element_c128(t, a, at_a, step_a, b, at_b, step_b, c, at_c);
        break;
    default:
        integer_element(t, a, at_a, step_a, b, at_b, step_b, c, at_c);
        break;
    }
}

void gemm_reference(const gemm_case *t, const void *a, const void *b, void *c)
{
    for (int64_t index = 0; index < t->shape.batch; index++) {
        for (int64_t i = 0; i < t->shape.m; i++) {
            for (int64_t j = 0; j < t->shape.n; j++)
                reference_element(t, a, b, c, index, i, j);
        }
    }
}

/* ---- running a case */

/* Host memory whose end is the end of what may be touched; slots are used again and again. */
static char *guarded(int slot, size_t bytes)
{
    static char *start[3];
    static size_t held[3];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = (bytes + page - 1) / page * page;
    if (!start[slot] || held[slot] < whole) {
        if (start[slot])
            munmap(start[slot], held[slot] + page);
        start[slot] =
            mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ck_assert_ptr_ne(start[slot], MAP_FAILED);
        ck_assert_int_eq(mprotect(start[slot] + whole, page, PROT_NONE), 0);
        held[slot] = whole;
    }
    return start[slot] + held[slot] - bytes;
}

static size_t aligned(size_t bytes)
{
    enum { ALIGNMENT = 256 };
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

ek_status gemm_run(const ek_place *place, bool exact, const gemm_case *t, const void *a,
                   const void *b, void *c)
{
    size_t size = ek_dtype_size(t->dtype);
    const void *host[3] = {a, b, c};
    size_t bytes[3] = {(size_t)gemm_extent_a(&t->shape) * size,
                       (size_t)gemm_extent_b(&t->shape) * size,
                       (size_t)gemm_extent_c(&t->shape) * size};
    char *at[3];
    char *memory = NULL;
    if (place->queue->variant == EK_CUDA)
        memory = ek_place_memory(place, aligned(bytes[0]) + aligned(bytes[1]) + aligned(bytes[2]) +
                                            aligned(1));
    for (int i = 0; i < 3; i++) {
        at[i] = memory ? memory : guarded(i, bytes[i]);
        memory = memory ? memory + aligned(bytes[i]) : NULL;
        if (host[i] && bytes[i])
            ek_upload(place, at[i], host[i], bytes[i]);
    }
    ek_status status = gemm_call(place->queue, exact, t, at[0], at[1], at[2]);
    if (bytes[2])
        ek_download(place, c, at[2], bytes[2]);
    return status;
}

static const char *case_text(const gemm_case *t)
{
    static char text[320];
    const ek_gemm_shape *s = &t->shape;
    snprintf(text, sizeof text,
             "%s m %" PRId64 " n %" PRId64 " k %" PRId64 " trans %d %d ld %" PRId64 " %" PRId64
             " %" PRId64 " batch %" PRId64 " stride %" PRId64 " %" PRId64 " %" PRId64
             " alpha %g%+gi beta %g%+gi",
             ek_dtype_name(t->dtype), s->m, s->n, s->k, (int)s->trans_a, (int)s->trans_b, s->lda,
             s->ldb, s->ldc, s->batch, s->stride_a, s->stride_b, s->stride_c, t->alpha.re,
             t->alpha.im, t->beta.re, t->beta.im);
    return text;
}

static void *copy_of(const void *from, size_t bytes)
{
    void *copy = malloc(bytes + 1);
    ck_assert_ptr_nonnull(copy);
    if (bytes)
        memcpy(copy, from, bytes);
    return copy;
}

void gemm_check_operands(const gemm_case *t, const void *a, const void *b, const void *c)
{
    int64_t n = gemm_extent_c(&t->shape);
    size_t size = ek_dtype_size(t->dtype);
    char *wanted = copy_of(c, (size_t)n * size), *got = copy_of(c, (size_t)n * size);
    gemm_reference(t, a, b, wanted);
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int i = 0; i < count; i++) {
        memcpy(got, c, (size_t)n * size);
        ek_status status = gemm_run(&places[i], true, t, a, b, got);
        ck_assert_msg(status == EK_OK, "%s", ek_error_message());
        int64_t at = ek_first_difference(t->dtype, n, got, wanted);
        char left[96], right[96];
        if (at >= 0)
            ck_abort_msg("%s: %s: c[%" PRId64 "] is %s, must be %s", places[i].name, case_text(t),
                         at, ek_element_text(t->dtype, got + (size_t)at * size, left),
                         ek_element_text(t->dtype, wanted + (size_t)at * size, right));
    }
    free(wanted);
    free(got);
}

static void *ordinary(const gemm_case *t, uint64_t seed, int64_t n)
{
    void *values = malloc((size_t)n * ek_dtype_size(t->dtype) + 1);
    ck_assert_ptr_nonnull(values);
    ek_ordinary_values(t->dtype, seed, n, values);
    return values;
}

void gemm_check_exact(const gemm_case *t, uint64_t seed)
{
    void *a = ordinary(t, seed, gemm_extent_a(&t->shape));
    void *b = ordinary(t, seed + 1, gemm_extent_b(&t->shape));
    void *c = ordinary(t, seed + 2, gemm_extent_c(&t->shape));
    gemm_check_operands(t, a, b, c);
    free(a);
    free(b);
    free(c);
}

bool gemm_near(double got, double wanted, double bound)
{
    return (isnan(got) && isnan(wanted)) || got == wanted || fabs(got - wanted) <= bound;
}

/* Unit roundoff of a dtype. */
static double roundoff(ek_dtype dtype)
{
    switch (dtype) {
    case EK_F16:
        return 0x1p-11;
    case EK_BF16:
        return 0x1p-8;
    case EK_F32:
    case EK_C64:
        return 0x1p-24;
    default:
        return 0x1p-53;
    }
}

static double magnitude(ek_dtype dtype, const void *x, int64_t i)
{
    size_t size = ek_dtype_size(dtype);
    const char *at = (const char *)x + (size_t)i * size;
    if (!ek_is_complex(dtype))
        return fabs(ek_element_value(dtype, at));
    ek_dtype part = ek_real_dtype(dtype);
    return hypot(ek_element_value(part, at), ek_element_value(part, at + size / 2));
}

/* How far an element of C may be from the exact chain's: sums in another order differ by a small
 * multiple of the square root of their length in roundoffs, a reduced mode by far more. */
static double fast_bound(const gemm_case *t, const void *a, const void *b, double wanted,
                         int64_t index, int64_t i, int64_t j)
{
    const ek_gemm_shape *s = &t->shape;
    double sum = 0;
    for (int64_t p = 0; p < s->k; p++)
        sum += magnitude(t->dtype, a, index * s->stride_a + place_of(s->trans_a, s->lda, i, p)) *
               magnitude(t->dtype, b, index * s->stride_b + place_of(s->trans_b, s->ldb, p, j));
    double u = roundoff(t->dtype), inner = u > 0x1p-24 ? 0x1p-24 : u;
    return 8 * (sqrt((double)s->k) + 2) * inner * (sum * hypot(t->alpha.re, t->alpha.im) + 1) +
           (u > inner ? 2 * u * fabs(wanted) + 0x1p-24 : 4 * u * fabs(wanted));
}

static void check_near(const ek_place *place, const gemm_case *t, const void *a, const void *b,
                       const void *got, const void *wanted)
{
    const ek_gemm_shape *s = &t->shape;
    size_t size = ek_dtype_size(t->dtype);
    ek_dtype part = ek_real_dtype(t->dtype);
    size_t step = ek_dtype_size(part);
    for (int64_t e = 0; e < s->batch * s->m * s->n; e++) {
        int64_t j = e % s->n, i = e / s->n % s->m, index = e / s->n / s->m;
        size_t at = (size_t)(index * s->stride_c + i * s->ldc + j) * size;
        double bound =
            fast_bound(t, a, b, magnitude(t->dtype, (const char *)wanted + at, 0), index, i, j);
        for (size_t offset = 0; offset < size; offset += step) {
            double x = ek_element_value(part, (const char *)got + at + offset);
            double y = ek_element_value(part, (const char *)wanted + at + offset);
            if (!gemm_near(x, y, bound))
                ck_abort_msg("%s: %s: c[%" PRId64 ", %" PRId64 ", %" PRId64
                             "] is %.9g, must be within %g of %.9g",
                             place->name, case_text(t), index, i, j, x, bound, y);
        }
    }
}

void gemm_check_fast(const gemm_case *t, uint64_t seed)
{
    int64_t n = gemm_extent_c(&t->shape);
    size_t size = ek_dtype_size(t->dtype);
    void *a = ordinary(t, seed, gemm_extent_a(&t->shape));
    void *b = ordinary(t, seed + 1, gemm_extent_b(&t->shape));
    char *c = ordinary(t, seed + 2, n);
    char *wanted = copy_of(c, (size_t)n * size), *got = copy_of(c, (size_t)n * size);
    gemm_reference(t, a, b, wanted);
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int i = 0; i < count; i++) {
        memcpy(got, c, (size_t)n * size);
        ck_assert_msg(gemm_run(&places[i], false, t, a, b, got) == EK_OK, "%s", ek_error_message());
        check_near(&places[i], t, a, b, got, wanted);
    }
    free(a);
    free(b);
    free(c);
    free(wanted);
    free(got);
}
