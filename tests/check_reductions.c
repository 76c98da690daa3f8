/* Reductions, argmax, softmax, norms and scans: the bits of the plain reference for every layout,
 * variant and number of threads; refusals; cases that went wrong elsewhere (named O...). */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "cpu/features.h"
#include "einkorn/ops/all.h"
#include "einkorn/ops/any.h"
#include "einkorn/ops/argmax.h"
#include "einkorn/ops/argmin.h"
#include "einkorn/ops/count_nonzero.h"
#include "einkorn/ops/cummax.h"
#include "einkorn/ops/cummin.h"
#include "einkorn/ops/cumprod.h"
#include "einkorn/ops/cumsum.h"
#include "einkorn/ops/layer_norm.h"
#include "einkorn/ops/log_softmax.h"
#include "einkorn/ops/logsumexp.h"
#include "einkorn/ops/max.h"
#include "einkorn/ops/mean.h"
#include "einkorn/ops/min.h"
#include "einkorn/ops/norm2.h"
#include "einkorn/ops/rms_norm.h"
#include "einkorn/ops/softmax.h"
#include "einkorn/ops/std.h"
#include "einkorn/ops/sum.h"
#include "einkorn/ops/var.h"
#include "op_test.h"
#include "place.h"
#include "reference_moments.h"
#include "reference_tree.h"
#include "values.h"

enum { POISON = 0xA5, GUARD = 64, NDIM = 4 };

static const double eps = 1e-3;

typedef ek_status typed_call(ek_queue *q, ek_dtype dtype, int64_t outer, int64_t n, int64_t inner,
                             const void *x, const void *gain, const void *bias, void *out);

typedef struct operation {
    const ek_op_info *info;
    typed_call *typed;
    const ek_typed_test *test; /* in place of it, and all array calls are by the row */
    /* The array call; the others are null. */
    ek_status (*over_axes)(ek_queue *q, const ek_array *x, int32_t naxes, const int32_t *axes,
                           bool keepdims, ek_array *out);
    ek_status (*place)(ek_queue *q, const ek_array *x, int32_t axis, bool keepdims, ek_array *out);
    ek_status (*along)(ek_queue *q, const ek_array *x, int32_t axis, ek_array *out);
} operation;

#define REAL_CASES(op)                                                                             \
    case EK_B8:                                                                                    \
        return ek_##op##_b8(q, outer, n, inner, x, out);                                           \
    case EK_I8:                                                                                    \
        return ek_##op##_i8(q, outer, n, inner, x, out);                                           \
    case EK_I16:                                                                                   \
        return ek_##op##_i16(q, outer, n, inner, x, out);                                          \
    case EK_I32:                                                                                   \
        return ek_##op##_i32(q, outer, n, inner, x, out);                                          \
    case EK_I64:                                                                                   \
        return ek_##op##_i64(q, outer, n, inner, x, out);                                          \
    case EK_U8:                                                                                    \
        return ek_##op##_u8(q, outer, n, inner, x, out);                                           \
    case EK_U16:                                                                                   \
        return ek_##op##_u16(q, outer, n, inner, x, out);                                          \
    case EK_U32:                                                                                   \
        return ek_##op##_u32(q, outer, n, inner, x, out);                                          \
    case EK_U64:                                                                                   \
        return ek_##op##_u64(q, outer, n, inner, x, out);

#define FLOAT_CASES(op)                                                                            \
    case EK_F16:                                                                                   \
        return ek_##op##_f16(q, outer, n, inner, x, out);                                          \
    case EK_BF16:                                                                                  \
        return ek_##op##_bf16(q, outer, n, inner, x, out);                                         \
    case EK_F32:                                                                                   \
        return ek_##op##_f32(q, outer, n, inner, x, out);                                          \
    case EK_F64:                                                                                   \
        return ek_##op##_f64(q, outer, n, inner, x, out);

#define COMPLEX_CASES(op)                                                                          \
    case EK_C64:                                                                                   \
        return ek_##op##_c64(q, outer, n, inner, x, out);                                          \
    case EK_C128:                                                                                  \
        return ek_##op##_c128(q, outer, n, inner, x, out);

#define NORM_CASES(op, ...)                                                                        \
    case EK_F16:                                                                                   \
        return ek_##op##_f16(q, outer, n, inner, x, __VA_ARGS__, eps, out);                        \
    case EK_BF16:                                                                                  \
        return ek_##op##_bf16(q, outer, n, inner, x, __VA_ARGS__, eps, out);                       \
    case EK_F32:                                                                                   \
        return ek_##op##_f32(q, outer, n, inner, x, __VA_ARGS__, eps, out);                        \
    case EK_F64:                                                                                   \
        return ek_##op##_f64(q, outer, n, inner, x, __VA_ARGS__, eps, out);

#define TYPED(op, cases)                                                                           \
    static ek_status typed_##op(ek_queue *q, ek_dtype dtype, int64_t outer, int64_t n,             \
                                int64_t inner, const void *x, const void *gain, const void *bias,  \
                                void *out)                                                         \
    {                                                                                              \
        (void)gain;                                                                                \
        (void)bias;                                                                                \
        switch (dtype) {                                                                           \
            cases default : return EK_UNSUPPORTED;                                                 \
        }                                                                                          \
    }

TYPED(sum, REAL_CASES(sum) FLOAT_CASES(sum) COMPLEX_CASES(sum))
TYPED(mean, REAL_CASES(mean) FLOAT_CASES(mean) COMPLEX_CASES(mean))
TYPED(max, REAL_CASES(max) FLOAT_CASES(max))
TYPED(min, REAL_CASES(min) FLOAT_CASES(min))
TYPED(argmax, REAL_CASES(argmax) FLOAT_CASES(argmax))
TYPED(argmin, REAL_CASES(argmin) FLOAT_CASES(argmin))
TYPED(any, REAL_CASES(any) FLOAT_CASES(any) COMPLEX_CASES(any))
TYPED(all, REAL_CASES(all) FLOAT_CASES(all) COMPLEX_CASES(all))
TYPED(count_nonzero,
      REAL_CASES(count_nonzero) FLOAT_CASES(count_nonzero) COMPLEX_CASES(count_nonzero))
TYPED(softmax, FLOAT_CASES(softmax))
TYPED(log_softmax, FLOAT_CASES(log_softmax))
TYPED(logsumexp, FLOAT_CASES(logsumexp))
TYPED(layer_norm, NORM_CASES(layer_norm, gain, bias))
TYPED(rms_norm, NORM_CASES(rms_norm, gain))
TYPED(cumsum, REAL_CASES(cumsum) FLOAT_CASES(cumsum) COMPLEX_CASES(cumsum))
TYPED(cumprod, REAL_CASES(cumprod) FLOAT_CASES(cumprod) COMPLEX_CASES(cumprod))
TYPED(cummax, REAL_CASES(cummax) FLOAT_CASES(cummax))
TYPED(cummin, REAL_CASES(cummin) FLOAT_CASES(cummin))

TYPED(norm2, REAL_CASES(norm2) FLOAT_CASES(norm2) COMPLEX_CASES(norm2))

/* What the tests give as ddof. */
static int64_t ddof_of(const ek_op_info *op)
{
    return op == &ek_op_var.info ? 1 : 0;
}

#define DDOF_CASE(op, ENUM, name)                                                                  \
    case ENUM:                                                                                     \
        return ek_##op##_##name(q, outer, n, inner, ddof_of(&ek_op_##op.info), x, out);
#define DDOF_CASES(op)                                                                             \
    DDOF_CASE(op, EK_B8, b8)                                                                       \
    DDOF_CASE(op, EK_I8, i8)                                                                       \
    DDOF_CASE(op, EK_I16, i16)                                                                     \
    DDOF_CASE(op, EK_I32, i32)                                                                     \
    DDOF_CASE(op, EK_I64, i64)                                                                     \
    DDOF_CASE(op, EK_U8, u8)                                                                       \
    DDOF_CASE(op, EK_U16, u16)                                                                     \
    DDOF_CASE(op, EK_U32, u32)                                                                     \
    DDOF_CASE(op, EK_U64, u64)                                                                     \
    DDOF_CASE(op, EK_F16, f16)                                                                     \
    DDOF_CASE(op, EK_BF16, bf16)                                                                   \
    DDOF_CASE(op, EK_F32, f32)                                                                     \
    DDOF_CASE(op, EK_F64, f64)                                                                     \
    DDOF_CASE(op, EK_C64, c64)                                                                     \
    DDOF_CASE(op, EK_C128, c128)

TYPED(var, DDOF_CASES(var))
TYPED(std, DDOF_CASES(std))

enum { MOST_OPERATIONS = 64 };

/* Those that the tests name, and from there on what else of these kinds the table and the reference
 * have. */
static operation operations[MOST_OPERATIONS] = {
    {&ek_op_sum.info, typed_sum, .over_axes = ek_sum},
    {&ek_op_mean.info, typed_mean, .over_axes = ek_mean},
    {&ek_op_max.info, typed_max, .over_axes = ek_max},
    {&ek_op_min.info, typed_min, .over_axes = ek_min},
    {&ek_op_argmax.info, typed_argmax, .place = ek_argmax},
    {&ek_op_softmax.info, typed_softmax, .along = ek_softmax},
    {&ek_op_log_softmax.info, typed_log_softmax, .along = ek_log_softmax},
    {&ek_op_argmin.info, typed_argmin, .place = ek_argmin},
    {&ek_op_any.info, typed_any, .over_axes = ek_any},
    {&ek_op_all.info, typed_all, .over_axes = ek_all},
    {&ek_op_count_nonzero.info, typed_count_nonzero, .over_axes = ek_count_nonzero},
    {&ek_op_var.info, typed_var, .along = NULL},
    {&ek_op_std.info, typed_std, .along = NULL},
    {&ek_op_norm2.info, typed_norm2, .over_axes = ek_norm2},
    {&ek_op_logsumexp.info, typed_logsumexp, .over_axes = ek_logsumexp},
    {&ek_op_layer_norm.info, typed_layer_norm, .along = NULL},
    {&ek_op_rms_norm.info, typed_rms_norm, .along = NULL},
    {&ek_op_cumsum.info, typed_cumsum, .along = ek_cumsum},
    {&ek_op_cumprod.info, typed_cumprod, .along = ek_cumprod},
    {&ek_op_cummax.info, typed_cummax, .along = ek_cummax},
    {&ek_op_cummin.info, typed_cummin, .along = ek_cummin},
};

enum {
    SUM,
    MEAN,
    MAX,
    MIN,
    ARGMAX,
    SOFTMAX,
    LOG_SOFTMAX,
    ARGMIN,
    ANY,
    ALL,
    COUNT_NONZERO,
    VAR,
    STD,
    NORM2,
    LOGSUMEXP,
    LAYER_NORM,
    RMS_NORM,
    CUMSUM,
    CUMPROD,
    CUMMAX,
    CUMMIN,
    OPERATIONS
};

static int operation_count = OPERATIONS;

static void add_others(void)
{
    static const char *const kinds[] = {"reduction", "argreduction", "scan"};
    for (int i = 0; i < ek_typed_test_count; i++) {
        const ek_op_info *op = ek_typed_tests[i]->info;
        bool ours = false, named = false;
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
            ours |= strcmp(op->kind, kinds[k]) == 0;
        for (int k = 0; k < OPERATIONS; k++)
            named |= operations[k].info == op;
        if (!ours || named || !ek_reference_knows(op->name))
            continue;
        ck_assert_int_lt(operation_count, MOST_OPERATIONS);
        operations[operation_count++] = (operation){op, .test = ek_typed_tests[i]};
    }
}

static ek_status call_typed(const operation *operation, ek_queue *q, ek_dtype dtype, int64_t outer,
                            int64_t n, int64_t inner, const void *x, const void *gain,
                            const void *bias, void *out)
{
    const int64_t lengths[] = {outer, n, inner};
    int loop = 0;
    if (operation->typed)
        return operation->typed(q, dtype, outer, n, inner, x, gain, bias, out);
    while (operation->info->loops[loop].in[0] != dtype)
        loop++;
    return operation->test->call(q, loop, lengths, &x, &out);
}

static bool is_scan(const ek_op_info *op)
{
    return strcmp(op->kind, "scan") == 0;
}

static bool per_element(const ek_op_info *op)
{
    return strcmp(op->kind, "row") == 0 || strcmp(op->kind, "norm") == 0 || is_scan(op);
}

static bool is_rowwise(const ek_op_info *op)
{
    return per_element(op) || strcmp(op->kind, "rowreduction") == 0;
}

static bool is_moments(const ek_op_info *op)
{
    return strcmp(op->kind, "moments") == 0;
}

/* Those whose results are places, along one axis or all. */
static bool is_place(const ek_op_info *op)
{
    return strcmp(op->kind, "argreduction") == 0;
}

static bool needs_elements(const ek_op_info *op)
{
    bool sums = strstr(op->name, "cum");
    return is_place(op) || (!sums && (strstr(op->name, "max") || strstr(op->name, "min")) &&
                            !strstr(op->name, "softmax"));
}

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

/* Gain and bias of norms: n values, and how far apart they are. Some calls go without. */
static void set_affine(const ek_op_info *op, ek_dtype dtype, int64_t n, char *memory, size_t apart,
                       ek_reference_affine *affine)
{
    *affine = (ek_reference_affine){.eps = eps};
    if (strcmp(op->kind, "norm") != 0)
        return;
    ek_ordinary_values(dtype, 77, n, memory);
    ek_ordinary_values(dtype, 78, n, memory + apart);
    if (n % 3 != 1)
        affine->gain = memory;
    if (n % 5 != 2 && op->inputs > 2)
        affine->bias = memory + apart;
}

static void reference(const ek_op_info *op, ek_dtype dtype, int64_t n, const void *x,
                      const ek_reference_affine *affine, void *out)
{
    if (is_scan(op))
        ek_reference_scan(op->name, dtype, n, x, out);
    else if (is_rowwise(op))
        ek_reference_rowwise(op->name, dtype, n, x, affine, out);
    else if (is_moments(op))
        ek_reference_moments(op->name, dtype, ddof_of(op), n, x, out);
    else
        ek_reference_reduce(op->name, dtype, n, x, out);
}

/* ---- typed calls */

/* What x[outer][n][inner] gives. */
static void *expected_typed(const ek_op_info *op, const ek_loop *loop, int64_t outer, int64_t n,
                            int64_t inner, const char *x, const ek_reference_affine *affine)
{
    int64_t size = (int64_t)ek_dtype_size((ek_dtype)loop->in[0]);
    int64_t out_size = (int64_t)ek_dtype_size((ek_dtype)loop->out[0]);
    int64_t results = per_element(op) ? n : 1;
    char *expected = allocate((size_t)(outer * inner * results * out_size));
    char *row = allocate((size_t)(n * size)), *result = allocate((size_t)(results * out_size));
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t c = 0; c < inner; c++) {
            for (int64_t i = 0; i < n; i++)
                memcpy(row + i * size, x + ((o * n + i) * inner + c) * size, (size_t)size);
            reference(op, (ek_dtype)loop->in[0], n, row, affine, result);
            for (int64_t i = 0; i < results; i++)
                memcpy(expected + ((o * results + i) * inner + c) * out_size, result + i * out_size,
                       (size_t)out_size);
        }
    }
    free(row);
    free(result);
    return expected;
}

static void compare(const ek_op_info *op, const ek_loop *loop, const ek_place *place,
                    const char *text, int64_t count, const void *got, const void *expected)
{
    char a[96], b[96];
    ek_dtype out = (ek_dtype)loop->out[0];
    int64_t size = (int64_t)ek_dtype_size(out);
    int64_t at = ek_first_difference(out, count, got, expected);
    if (at >= 0)
        ck_abort_msg("ek_%s_%s on %s, %s: result %lld is %s, must be %s", op->name,
                     ek_dtype_name((ek_dtype)loop->in[0]), place->name, text, (long long)at,
                     ek_element_text(out, (const char *)got + at * size, a),
                     ek_element_text(out, (const char *)expected + at * size, b));
}

/* One typed call on every place, x given; its base lies `skew` elements past a boundary. */
static void check_typed(const operation *operation, const ek_loop *loop, int64_t outer, int64_t n,
                        int64_t inner, const void *x, int skew)
{
    const ek_op_info *op = operation->info;
    size_t size = ek_dtype_size((ek_dtype)loop->in[0]),
           out_size = ek_dtype_size((ek_dtype)loop->out[0]);
    size_t in_bytes = (size_t)(outer * n * inner) * size;
    int64_t results = outer * inner * (per_element(op) ? n : 1);
    size_t out_at = (in_bytes + (size_t)skew * size + 2 * GUARD) / GUARD * GUARD;
    size_t affine_at = out_at + ((size_t)results + (size_t)skew) * out_size + GUARD;
    size_t apart = (size_t)n * size + GUARD, bytes = affine_at / GUARD * GUARD + 2 * apart;
    char *image = allocate(bytes), *after = allocate(bytes), text[96];
    ek_reference_affine affine;
    affine_at = affine_at / GUARD * GUARD;
    snprintf(text, sizeof text, "(%lld, %lld, %lld) at %d", (long long)outer, (long long)n,
             (long long)inner, skew);
    memset(image, POISON, bytes);
    memcpy(image + (size_t)skew * size, x, in_bytes);
    set_affine(op, (ek_dtype)loop->in[0], n, image + affine_at, apart, &affine);
    char *expected = expected_typed(op, loop, outer, n, inner, x, &affine);
    out_at += (size_t)skew * out_size;
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int i = 0; i < count; i++) {
        char *memory = ek_place_memory(&places[i], bytes);
        ek_upload(&places[i], memory, image, bytes);
        must(call_typed(operation, places[i].queue, (ek_dtype)loop->in[0], outer, n, inner,
                        memory + (size_t)skew * size, affine.gain ? memory + affine_at : NULL,
                        affine.bias ? memory + affine_at + apart : NULL, memory + out_at));
        ek_download(&places[i], after, memory, bytes);
        compare(op, loop, &places[i], text, results, after + out_at, expected);
        memcpy(after + out_at, image + out_at, (size_t)results * out_size);
        ck_assert_msg(memcmp(after, image, bytes) == 0, "ek_%s on %s, %s: wrote elsewhere",
                      op->name, places[i].name, text);
    }
    free(expected);
    free(image);
    free(after);
}

static void check_shape(const operation *operation, const ek_loop *loop, int64_t outer, int64_t n,
                        int64_t inner, uint64_t seed, int skew)
{
    int64_t count = outer * n * inner;
    if (n == 0 && needs_elements(operation->info))
        return;
    void *x = allocate((size_t)count * ek_dtype_size((ek_dtype)loop->in[0]));
    if (seed % 4 == 3)
        ek_random_values((ek_dtype)loop->in[0], seed, count, x);
    else
        ek_ordinary_values((ek_dtype)loop->in[0], seed, count, x);
    check_typed(operation, loop, outer, n, inner, x, skew);
    free(x);
}

static void each_loop(void (*check)(const operation *, const ek_loop *), int index)
{
    for (int32_t i = 0; i < operations[index].info->loop_count; i++)
        check(&operations[index], &operations[index].info->loops[i]);
}

static void check_lengths(const operation *operation, const ek_loop *loop)
{
    static const int64_t longer[] = {127, 128, 129, 255, 1000, 4095, 4096, 4097, 8193};
    for (int64_t n = 0; n <= 70; n++)
        check_shape(operation, loop, 1, n, 1, (uint64_t)n, (int)(n % 2));
    for (size_t i = 0; i < sizeof longer / sizeof longer[0]; i++) {
        for (int skew = 0; skew < 3; skew++)
            check_shape(operation, loop, 1, longer[i], 1, i + (uint64_t)skew, skew);
    }
    check_shape(operation, loop, 1, 70001, 1, 1, 1);
}

START_TEST(test_lengths)
{
    each_loop(check_lengths, _i);
}
END_TEST

static void check_rows_and_columns(const operation *operation, const ek_loop *loop)
{
    static const int64_t shapes[][3] = {
        {3, 1, 1},     {5, 7, 1},      {300, 3, 1},   {17, 100, 1},  {4, 128, 1},  {3, 1000, 1},
        {2, 4097, 1},  {1, 1, 5},      {1, 3, 70},    {1, 40, 3},    {1, 40, 129}, {1, 300, 16},
        {1, 129, 64},  {2, 5, 33},     {3, 130, 17},  {1, 4096, 20}, {1, 4097, 8}, {2, 8200, 9},
        {1, 100, 200}, {1, 1000, 150}, {500, 16, 1},  {400, 17, 1},  {60, 64, 1},  {70, 256, 1},
        {9, 520, 1},   {3, 32768, 1},  {2, 33000, 1}, {3, 70001, 1}, {0, 4, 3},    {4, 3, 0},
        {2, 0, 3}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        check_shape(operation, loop, shapes[i][0], shapes[i][1], shapes[i][2], i, (int)(i % 2));
}

START_TEST(test_rows_and_columns)
{
    each_loop(check_rows_and_columns, _i);
}
END_TEST

/* Several levels of the tree, and work for two threads. */
START_TEST(test_large)
{
    for (int i = 0; i < operation_count; i++) {
        const ek_op_info *op = operations[i].info;
        for (int32_t k = 0; k < op->loop_count; k++) {
            if (op->loops[k].in[0] != EK_F32 && op->loops[k].in[0] != EK_BF16)
                continue;
            check_shape(&operations[i], &op->loops[k], 1, 600000, 1, 1, 0);
            check_shape(&operations[i], &op->loops[k], 3, 150001, 1, 2, 1);
            check_shape(&operations[i], &op->loops[k], 1, 20000, 40, 1, 0);
            check_shape(&operations[i], &op->loops[k], 700, 700, 1, 2, 0);
            check_shape(&operations[i], &op->loops[k], 1, 700, 700, 1, 0);
        }
    }
}
END_TEST

/* More than 4,096 chunks: three levels. */
START_TEST(test_three_levels)
{
    const int64_t n = 4096 * 4096 + 5000;
    check_shape(&operations[SUM], &ek_op_sum.info.loops[11], 1, n, 1, 1, 0);
    ck_assert_int_eq(ek_op_sum.info.loops[11].in[0], EK_F32);
}
END_TEST

/* Larger than the cache, so that results go around it while the next row is computed: rows of whole
 * lines and not, begun at a line and not. */
START_TEST(test_streamed_rows)
{
    enum { MOST = 64 << 20 };
    static const int lengths[] = {1024, 1001};
    int64_t elements = (int64_t)ek_cpu_cache_bytes() / 2 / (int64_t)sizeof(float);
    if (ek_cpu_cache_bytes() > MOST)
        return;
    for (int i = 0; i < 2; i++) {
        int64_t rows = elements / lengths[i] + 2;
        check_shape(&operations[SOFTMAX], &ek_op_softmax.info.loops[2], rows, lengths[i], 1, 1, i);
        check_shape(&operations[LAYER_NORM], &ek_op_layer_norm.info.loops[2], rows, lengths[i], 1,
                    2, 1 - i);
    }
}
END_TEST

/* Several stretches of a scan, as a row and as columns side by side. */
START_TEST(test_stretches)
{
    const int64_t n = 5 * 131072 + 5000;
    for (int i = 0; i < operation_count; i++) {
        const ek_op_info *op = operations[i].info;
        for (int32_t k = 0; k < op->loop_count && is_scan(op); k++) {
            ek_dtype dtype = (ek_dtype)op->loops[k].in[0];
            if (dtype != EK_F32 && dtype != EK_I8 && dtype != EK_C128)
                continue;
            check_shape(&operations[i], &op->loops[k], 1, n, 1, 1, 0);
            check_shape(&operations[i], &op->loops[k], 1, n / 2, 2, 2, 1);
            check_shape(&operations[i], &op->loops[k], 1, 131072 + 9000, 17, 1, 0);
        }
    }
}
END_TEST

/* Sums that cancel: within the bound that the page gives, and closer than adding one element after
 * another comes. */
START_TEST(test_scan_error)
{
    enum { N = 1000000 };
    const ek_place *places;
    int count = ek_tested_places(&places);
    float *x = allocate(N * sizeof *x), *out = allocate(N * sizeof *out);
    for (int i = 0; i < N; i++) {
        float large = (float)(ek_random(7, (uint64_t)i / 2) >> 40), small = (float)i / 3;
        x[i] = (i % 2 ? -large : large) + small / 1024;
    }
    for (int p = 0; p < count; p++) {
        size_t bytes = N * sizeof *x;
        char *memory = ek_place_memory(&places[p], 2 * bytes);
        ek_upload(&places[p], memory, x, bytes);
        must(ek_cumsum_f32(places[p].queue, 1, N, 1, (float *)memory, (float *)(memory + bytes)));
        ek_download(&places[p], out, memory + bytes, bytes);
        long double exact = 0, size = 0, error = 0, plain_error = 0;
        float plain = 0;
        for (int i = 0; i < N; i++) {
            exact += x[i];
            size += fabsl(x[i]);
            plain += x[i];
            long double bound = (60 + i / 131072) * 0x1p-24L * size;
            ck_assert_msg(fabsl(out[i] - exact) <= bound, "result %d is off by %Lg", i,
                          out[i] - exact);
            error += fabsl(out[i] - exact);
            plain_error += fabsl(plain - exact);
        }
        ck_assert_msg(error < plain_error, "error %Lg, one after another %Lg", error, plain_error);
    }
    free(x);
    free(out);
}
END_TEST

static void check_specials(const operation *operation, const ek_loop *loop)
{
    ek_dtype dtype = (ek_dtype)loop->in[0];
    size_t size = ek_dtype_size(dtype);
    enum { N = 300, WHOLE = 8192 };
    int count = ek_special_count(dtype);
    char *x = allocate(WHOLE * size);
    /* Each alone, each among ordinary numbers at the ends and inside, and all together. */
    for (int i = 0; i < count; i++) {
        static const int64_t places[] = {0, 77, N - 1};
        ek_special_value(dtype, i, x);
        check_typed(operation, loop, 1, 1, 1, x, 0);
        for (int k = 0; k < 3; k++) {
            ek_ordinary_values(dtype, 1, N, x);
            ek_special_value(dtype, i, x + places[k] * (int64_t)size);
            check_typed(operation, loop, 1, N, 1, x, 0);
        }
    }
    /* Whole chunks of one value: the quick ways of max and min must know what they are worth. */
    for (int i = 0; i < count && i < 12; i++) {
        for (int64_t k = 0; k < WHOLE; k++)
            ek_special_value(dtype, k == 5000 ? (i + 1) % count : i, x + k * (int64_t)size);
        check_typed(operation, loop, 1, WHOLE, 1, x, 0);
        check_typed(operation, loop, 1, WHOLE / 8, 8, x, 0);
    }
    for (int64_t k = 0; k < N; k++)
        ek_special_value(dtype, (int)(k % count), x + k * (int64_t)size);
    check_typed(operation, loop, 1, N, 1, x, 0);
    check_typed(operation, loop, N, 1, 1, x, 0);
    check_typed(operation, loop, N / 3, 3, 1, x, 0);
    free(x);
}

START_TEST(test_specials)
{
    each_loop(check_specials, _i);
}
END_TEST

/* ---- array calls */

typedef struct layout {
    int32_t ndim;
    int64_t shape[NDIM], stride[NDIM];
    int64_t first, span; /* in elements: the first element, and all memory */
} layout;

static uint64_t draw(uint64_t *state, uint64_t below)
{
    return ek_random(99, (*state)++) % below;
}

/* Strides for a shape: dimensions in any order in memory, with gaps and in either direction. An
 * input may also have a stride of zero. */
static void draw_strides(layout *layout, bool input, uint64_t *state)
{
    int order[NDIM] = {0, 1, 2, 3};
    int64_t step = 1, low = 0, high = 0;
    for (int d = layout->ndim - 1; d > 0; d--) {
        int other = (int)draw(state, (uint64_t)d + 1), kept = order[d];
        order[d] = order[other];
        order[other] = kept;
    }
    if (draw(state, 3) == 0) {
        for (int d = 0; d < layout->ndim; d++)
            order[d] = layout->ndim - 1 - d;
    }
    for (int i = 0; i < layout->ndim; i++) {
        int d = order[i];
        step *= draw(state, 4) == 0 ? 2 : 1;
        layout->stride[d] = draw(state, 4) == 0 ? -step : step;
        step *= layout->shape[d] ? layout->shape[d] : 1;
        if (input && draw(state, 8) == 0)
            layout->stride[d] = 0;
        int64_t reach = (layout->shape[d] > 0 ? layout->shape[d] - 1 : 0) * layout->stride[d];
        *(reach < 0 ? &low : &high) += reach;
    }
    layout->first = -low;
    layout->span = high - low + 1;
}

static int64_t size_of(const layout *layout)
{
    int64_t size = 1;
    for (int d = 0; d < layout->ndim; d++)
        size *= layout->shape[d];
    return size;
}

static int64_t offset_of(const layout *layout, int64_t i)
{
    int64_t offset = layout->first;
    for (int d = layout->ndim - 1; d >= 0; d--) {
        offset += i % layout->shape[d] * layout->stride[d];
        i /= layout->shape[d];
    }
    return offset;
}

/* Elements of x that belong to result `at` of the reduced shape, in C order. */
static int64_t gather(const layout *x, const bool *marked, int64_t at, int64_t size,
                      const char *memory, char *row)
{
    int64_t n = 0, total = size_of(x);
    for (int64_t i = 0; i < total; i++) {
        int64_t rest = i, result = 0, scale = 1;
        for (int d = x->ndim - 1; d >= 0; d--) {
            int64_t index = rest % x->shape[d];
            rest /= x->shape[d];
            if (!marked[d]) {
                result += index * scale;
                scale *= x->shape[d];
            }
        }
        if (result == at)
            memcpy(row + n++ * size, memory + offset_of(x, i) * size, (size_t)size);
    }
    return n;
}

typedef struct call {
    const operation *operation;
    const ek_loop *loop;
    layout x, out;
    bool marked[NDIM], keepdims, flattened;
    int axis; /* the marked axis of calls that take one */
} call;

static ek_status make_call(const call *call, ek_queue *queue, const ek_array *x,
                           const ek_array *gain, const ek_array *bias, ek_array *out, bool by_row)
{
    const ek_op_info *op = call->operation->info;
    int64_t list[NDIM];
    int32_t axes[NDIM], count = 0;
    for (int d = 0; d < call->x.ndim; d++) {
        if (call->marked[d]) {
            axes[count] = d % 2 ? d - call->x.ndim : d;
            list[count] = axes[count];
            count++;
        }
    }
    int32_t axis = call->flattened ? EK_ALL_AXES : call->axis;
    if (by_row || call->operation->test) {
        ek_param params[] = {{.name = "keepdims", .integer = call->keepdims},
                             {.name = "axes", .list = list, .count = count},
                             {.name = "ddof", .integer = ddof_of(op)}};
        const ek_array *const in[] = {x, gain, bias};
        if (per_element(op)) {
            params[0] = (ek_param){.name = "axis", .integer = axis};
            params[1] = (ek_param){.name = "eps", .real = eps};
            int32_t given = call->flattened ? 0 : strcmp(op->kind, "norm") == 0 ? 2 : 1;
            return ek_apply(queue, op, in, given, params, &out);
        }
        if (is_place(op))
            params[1] = (ek_param){.name = "axis", .integer = axis};
        int32_t given = is_place(op) && call->flattened ? 1 : ddof_of(op) ? 3 : 2;
        return ek_apply(queue, op, in, given, params, &out);
    }
    if (call->operation->over_axes)
        return call->operation->over_axes(queue, x, count, axes, call->keepdims, out);
    if (op == &ek_op_var.info)
        return ek_var(queue, x, count, axes, ddof_of(op), call->keepdims, out);
    if (op == &ek_op_std.info)
        return ek_std(queue, x, count, axes, ddof_of(op), call->keepdims, out);
    if (call->operation->place)
        return call->operation->place(queue, x, axis, call->keepdims, out);
    if (op == &ek_op_layer_norm.info)
        return ek_layer_norm(queue, x, gain, bias, axis, eps, out);
    if (op == &ek_op_rms_norm.info)
        return ek_rms_norm(queue, x, gain, axis, eps, out);
    return call->operation->along(queue, x, axis, out);
}

static ek_array view(const ek_place *place, ek_dtype dtype, layout *layout, char *memory)
{
    ek_array array =
        ek_array_view(memory, dtype, ek_queue_device(place->queue), layout->ndim, layout->shape);
    array.strides = layout->stride;
    array.byte_offset = (uint64_t)layout->first * ek_dtype_size(dtype);
    return array;
}

/* Calls on every place; the results must be the reference's, all other memory as before. */
static void check_call(call *call, uint64_t seed)
{
    const ek_op_info *op = call->operation->info;
    ek_dtype in = (ek_dtype)call->loop->in[0], out = (ek_dtype)call->loop->out[0];
    int64_t size = (int64_t)ek_dtype_size(in), out_size = (int64_t)ek_dtype_size(out);
    int64_t results = size_of(&call->out);
    size_t out_at = ((size_t)(call->x.span * size) + GUARD) / GUARD * GUARD;
    size_t affine_at = (out_at + (size_t)(call->out.span * out_size) + GUARD) / GUARD * GUARD;
    int64_t along = per_element(op) ? call->x.shape[call->axis] : 0;
    size_t apart = ((size_t)(along * size) + GUARD) / GUARD * GUARD;
    size_t bytes = affine_at + 4 * apart;
    ek_reference_affine affine;
    char *image = allocate(bytes), *after = allocate(bytes);
    char *row = allocate((size_t)(size_of(&call->x) * size));
    char *expected = allocate((size_t)(results * out_size));
    char *result = allocate((size_t)(size_of(&call->x) * out_size) + 16);
    memset(image, POISON, bytes);
    ek_ordinary_values(in, seed, call->x.span, image);
    /* In memory every second element counts, for the reference each. */
    char *dense = allocate(2 * apart);
    set_affine(op, in, along, dense, apart, &affine);
    for (int64_t i = 0; i < along; i++) {
        for (int k = 0; k < 2; k++)
            memcpy(image + affine_at + (size_t)k * 2 * apart + (size_t)(2 * i * size),
                   dense + (size_t)k * apart + (size_t)(i * size), (size_t)size);
    }
    int64_t rows = per_element(op) && results
                       ? (call->flattened ? 1 : results / call->x.shape[call->axis])
                       : results;
    for (int64_t i = 0; i < rows; i++) {
        int64_t n = gather(&call->x, call->marked, i, size, image, row);
        reference(op, in, n, row, &affine, result);
        if (!per_element(op)) {
            memcpy(expected + i * out_size, result, (size_t)out_size);
            continue;
        }
        int64_t inner = 1;
        for (int d = call->axis + 1; d < call->x.ndim && !call->flattened; d++)
            inner *= call->x.shape[d];
        for (int64_t k = 0; k < n; k++)
            memcpy(expected + ((i / inner * n + k) * inner + i % inner) * out_size,
                   result + k * out_size, (size_t)out_size);
    }
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int p = 0; p < 2 * count; p++) {
        const ek_place *place = &places[p / 2];
        char *memory = ek_place_memory(place, bytes), text[64];
        ek_upload(place, memory, image, bytes);
        ek_array x = view(place, in, &call->x, memory);
        ek_array target = view(place, out, &call->out, memory + out_at);
        layout spread = {.ndim = 1, .shape = {along}, .stride = {2}};
        ek_array gain = view(place, in, &spread, memory + affine_at);
        ek_array bias = view(place, in, &spread, memory + affine_at + 2 * apart);
        must(make_call(call, place->queue, &x, affine.gain ? &gain : NULL,
                       affine.bias ? &bias : NULL, &target, p % 2));
        ek_download(place, after, memory, bytes);
        snprintf(text, sizeof text, "layout %llu", (unsigned long long)seed);
        for (int64_t i = 0; i < results; i++) {
            char *at = after + out_at + offset_of(&call->out, i) * out_size;
            compare(op, call->loop, place, text, 1, at, expected + i * out_size);
            memset(at, POISON, (size_t)out_size);
        }
        ck_assert_msg(memcmp(after, image, bytes) == 0, "ek_%s, layout %llu: wrote elsewhere",
                      op->name, (unsigned long long)seed);
    }
    free(image);
    free(after);
    free(dense);
    free(row);
    free(expected);
    free(result);
}

/* The layout of the output that goes with x and the marked axes. */
static void draw_out(call *call, uint64_t *state)
{
    call->out.ndim = 0;
    if (call->flattened && per_element(call->operation->info))
        call->out.shape[call->out.ndim++] = size_of(&call->x);
    for (int d = 0; d < call->x.ndim; d++) {
        bool whole = !call->marked[d] || per_element(call->operation->info);
        if (call->flattened && per_element(call->operation->info))
            continue;
        if (whole || call->keepdims)
            call->out.shape[call->out.ndim++] = whole ? call->x.shape[d] : 1;
    }
    draw_strides(&call->out, false, state);
}

static void check_layout(const operation *operation, const ek_loop *loop, uint64_t seed)
{
    static const int64_t lengths[] = {1, 2, 3, 5, 7, 4, 19, 0};
    uint64_t state = seed * 1000;
    call call = {.operation = operation, .loop = loop};
    bool one = per_element(operation->info) || is_place(operation->info);
    call.x.ndim = (int32_t)draw(&state, NDIM + 1);
    for (int d = 0; d < call.x.ndim; d++)
        call.x.shape[d] = lengths[draw(&state, draw(&state, 5) ? 7 : 8)];
    if (call.x.ndim == 2 && draw(&state, 2))
        call.x.shape[draw(&state, 2)] = 300;
    call.keepdims = draw(&state, 2);
    bool row = per_element(operation->info) && !is_scan(operation->info);
    if (row && call.x.ndim == 0)
        return;
    if (one && call.x.ndim > 0 && (row || draw(&state, 4))) {
        call.axis = (int)draw(&state, (uint64_t)call.x.ndim);
        call.marked[call.axis] = true;
    } else {
        call.flattened = one;
        for (int d = 0; d < call.x.ndim; d++)
            call.marked[d] = one || draw(&state, 2);
    }
    draw_strides(&call.x, true, &state);
    draw_out(&call, &state);
    if (needs_elements(operation->info) && size_of(&call.x) == 0 && size_of(&call.out) > 0)
        return;
    check_call(&call, seed);
}

static void check_layouts(const operation *operation, const ek_loop *loop)
{
    for (uint64_t seed = 1; seed <= 60; seed++)
        check_layout(operation, loop, seed);
}

START_TEST(test_layouts)
{
    each_loop(check_layouts, _i);
}
END_TEST

/* ---- in place, null axes, no axes */

START_TEST(test_in_place)
{
    static const int64_t shapes[][3] = {{3, 5, 1},   {2, 1000, 1}, {1, 9000, 1},
                                        {1, 50, 20}, {1, 5000, 9}, {2, 7, 3}};
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int i = 0; i < operation_count; i++) {
        const ek_op_info *op = operations[i].info;
        const ek_reference_affine none = {.eps = eps};
        if (!per_element(op))
            continue;
        for (int32_t k = 0; k < op->loop_count; k++) {
            if (op->loops[k].in[0] != op->loops[k].out[0])
                continue;
            for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
                int64_t outer = shapes[s][0], n = shapes[s][1], inner = shapes[s][2];
                ek_dtype dtype = (ek_dtype)op->loops[k].in[0];
                size_t bytes = (size_t)(outer * n * inner) * ek_dtype_size(dtype);
                char *x = allocate(bytes), *after = allocate(bytes);
                ek_ordinary_values(dtype, s, outer * n * inner, x);
                char *expected = expected_typed(op, &op->loops[k], outer, n, inner, x, &none);
                for (int p = 0; p < count; p++) {
                    char *memory = ek_place_memory(&places[p], bytes);
                    ek_upload(&places[p], memory, x, bytes);
                    must(call_typed(&operations[i], places[p].queue, dtype, outer, n, inner, memory,
                                    NULL, NULL, memory));
                    ek_download(&places[p], after, memory, bytes);
                    compare(op, &op->loops[k], &places[p], "in place", outer * n * inner, after,
                            expected);
                }
                free(x);
                free(after);
                free(expected);
            }
        }
    }
}
END_TEST

/* Arrays of float32 in memory of the place: data[] is x, the result lands in out[]. */
typedef struct small {
    ek_array x, out;
    int64_t x_shape[3], out_shape[3];
    char *out_memory;
} small;

static void set_small(small *small, const ek_place *place, int32_t ndim, const int64_t *shape,
                      const float *x, int32_t out_ndim, const int64_t *out_shape, ek_dtype out)
{
    int64_t count = 1;
    for (int d = 0; d < ndim; d++)
        count *= small->x_shape[d] = shape[d];
    for (int d = 0; d < out_ndim; d++)
        small->out_shape[d] = out_shape[d];
    char *memory = ek_place_memory(place, (size_t)count * sizeof *x + 4096);
    ek_upload(place, memory, x, (size_t)count * sizeof *x);
    small->out_memory = memory + ((size_t)count * sizeof *x + 63) / 64 * 64;
    const ek_device *device = ek_queue_device(place->queue);
    small->x = ek_array_view(memory, EK_F32, device, ndim, small->x_shape);
    small->out = ek_array_view(small->out_memory, out, device, out_ndim, small->out_shape);
}

START_TEST(test_which_axes)
{
    const float x[] = {1, 2, 3, 4, 5, 6};
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int p = 0; p < count; p++) {
        small small;
        float got[6];
        int64_t index;
        /* No list: all axes. */
        set_small(&small, &places[p], 2, (int64_t[]){2, 3}, x, 0, NULL, EK_F32);
        must(ek_sum(places[p].queue, &small.x, 0, NULL, false, &small.out));
        ek_download(&places[p], got, small.out_memory, sizeof *got);
        ck_assert_float_eq(got[0], 21);
        /* An empty list: none; each element is a sum of its own. */
        set_small(&small, &places[p], 2, (int64_t[]){2, 3}, x, 2, (int64_t[]){2, 3}, EK_F32);
        must(ek_sum(places[p].queue, &small.x, 0, (int32_t[]){0}, false, &small.out));
        ek_download(&places[p], got, small.out_memory, sizeof got);
        ck_assert_mem_eq(got, x, sizeof got);
        /* O045: a result of 0 dimensions, an input of 0 dimensions. */
        set_small(&small, &places[p], 0, NULL, x + 4, 0, NULL, EK_F32);
        must(ek_sum(places[p].queue, &small.x, 0, NULL, false, &small.out));
        ek_download(&places[p], got, small.out_memory, sizeof *got);
        ck_assert_float_eq(got[0], 5);
        set_small(&small, &places[p], 2, (int64_t[]){2, 3}, x, 0, NULL, EK_I64);
        must(ek_argmax(places[p].queue, &small.x, EK_ALL_AXES, false, &small.out));
        ek_download(&places[p], &index, small.out_memory, sizeof index);
        ck_assert_int_eq(index, 5);
    }
}
END_TEST

/* ---- refusals */

static void refused(ek_status got, ek_status status, const char *word)
{
    ck_assert_msg(got == status, "status is %s, must be %s: %s", ek_status_name(got),
                  ek_status_name(status), ek_error_message());
    ck_assert_msg(strstr(ek_error_message(), word), "'%s' does not say '%s'", ek_error_message(),
                  word);
}

START_TEST(test_typed_refusals)
{
    const ek_place *places;
    ek_tested_places(&places);
    ek_queue *q = places[0].queue;
    char *memory = ek_place_memory(&places[0], 4096);
    const float *x = (const float *)memory;
    float *out = (float *)(memory + 1024);
    refused(ek_sum_f32(q, 1, -1, 1, x, out), EK_INVALID_ARGUMENT, "ek_sum_f32: n is -1");
    refused(ek_sum_f32(q, -2, 1, 1, x, out), EK_INVALID_ARGUMENT, "outer is -2");
    refused(ek_softmax_f32(q, 1, 1, -3, x, out), EK_INVALID_ARGUMENT, "inner is -3");
    refused(ek_sum_f32(q, 1, 8, 1, NULL, out), EK_INVALID_ARGUMENT, "x is null");
    refused(ek_max_f32(q, 1, 8, 1, x, NULL), EK_INVALID_ARGUMENT, "ek_max_f32: out is null");
    refused(ek_sum_f32(q, INT64_C(1) << 31, INT64_C(1) << 31, 2, x, out), EK_INVALID_ARGUMENT,
            "too many");
    refused(ek_sum_f32(q, 0, INT64_C(1) << 62, 2, x, out), EK_INVALID_ARGUMENT, "too many");
    refused(ek_sum_f32(q, 4, 8, 1, x, (float *)memory + 31), EK_OVERLAP, "overlaps x");
    refused(ek_cumsum_f32(q, 1, -4, 1, x, out), EK_INVALID_ARGUMENT, "ek_cumsum_f32: n is -4");
    refused(ek_cummax_f32(q, 4, 8, 1, x, (float *)memory + 1), EK_OVERLAP, "overlaps x");
    refused(ek_cumsum_i32(q, 1, 8, 1, (int32_t *)memory, (int64_t *)memory), EK_OVERLAP,
            "overlaps x");
    refused(ek_sum_f32(q, 1, 1, 8, x, (float *)memory), EK_OVERLAP, "overlaps x");
    refused(ek_softmax_f32(q, 4, 8, 1, x, (float *)memory + 1), EK_OVERLAP, "overlaps x");
    refused(ek_max_f32(q, 2, 0, 1, NULL, out), EK_INVALID_ARGUMENT, "no identity");
    refused(ek_min_i8(q, 1, 0, 1, NULL, (int8_t *)out), EK_INVALID_ARGUMENT, "ek_min_i8");
    refused(ek_argmax_f32(q, 1, 0, 3, NULL, (int64_t *)out), EK_INVALID_ARGUMENT, "no identity");
    must(ek_max_f32(q, 0, 0, 1, NULL, NULL));
    must(ek_argmax_f32(q, 0, 4, 1, NULL, NULL));
    must(ek_softmax_f32(q, 3, 0, 1, NULL, NULL));
    must(ek_layer_norm_f32(q, 3, 0, 1, NULL, NULL, NULL, eps, NULL));
    refused(ek_layer_norm_f32(q, 1, 8, 1, x, x, NULL, -1, out), EK_INVALID_ARGUMENT,
            "ek_layer_norm_f32: eps is -1");
    refused(ek_rms_norm_f32(q, 1, 8, 1, x, x, (double)NAN, out), EK_INVALID_ARGUMENT, "eps is nan");
    refused(ek_layer_norm_f32(q, 1, 8, 1, x, out + 7, NULL, eps, out), EK_OVERLAP, "overlaps gain");
    refused(ek_layer_norm_f32(q, 1, 8, 1, x, NULL, out, eps, out), EK_OVERLAP, "overlaps bias");
    refused(ek_rms_norm_f32(q, 4, 8, 1, x, NULL, eps, (float *)memory + 1), EK_OVERLAP,
            "overlaps x");
    refused(ek_logsumexp_f32(q, 1, -1, 1, x, out), EK_INVALID_ARGUMENT, "ek_logsumexp_f32: n is");
    must(ek_sum_f32(q, 0, 4, 1, NULL, NULL));
    must(ek_cumsum_f32(q, 3, 0, 1, NULL, NULL));
}
END_TEST

START_TEST(test_array_refusals)
{
    const float x[6] = {0};
    const int64_t shape[] = {2, 3};
    const ek_place *places;
    ek_tested_places(&places);
    ek_queue *q = places[0].queue;
    small s;
    set_small(&s, &places[0], 2, shape, x, 1, (int64_t[]){2}, EK_F32);
    refused(ek_sum(q, &s.x, 1, (int32_t[]){2}, false, &s.out), EK_INVALID_ARGUMENT, "axis is 2");
    refused(ek_sum(q, &s.x, 1, (int32_t[]){-3}, false, &s.out), EK_INVALID_ARGUMENT, "axis is -3");
    refused(ek_sum(q, &s.x, 2, (int32_t[]){1, -1}, false, &s.out), EK_INVALID_ARGUMENT, "twice");
    refused(ek_sum(q, &s.x, -1, NULL, false, &s.out), EK_INVALID_ARGUMENT, "naxes is -1");
    refused(ek_sum(q, &s.x, 2, NULL, false, &s.out), EK_INVALID_ARGUMENT, "naxes is 2");
    refused(ek_sum(q, &s.x, 99, (int32_t[99]){0}, false, &s.out), EK_INVALID_ARGUMENT,
            "naxes is 99");
    refused(ek_sum(q, &s.x, 1, (int32_t[]){0}, false, &s.out), EK_SHAPE_MISMATCH, "must be (3,)");
    refused(ek_sum(q, &s.x, 1, (int32_t[]){1}, true, &s.out), EK_SHAPE_MISMATCH, "must be (2, 1)");
    refused(ek_softmax(q, &s.x, 0, &s.out), EK_SHAPE_MISMATCH, "ek_softmax: out has shape (2,)");
    refused(ek_layer_norm(q, &s.x, NULL, NULL, -1, eps, &s.out), EK_SHAPE_MISMATCH,
            "ek_layer_norm: out has shape (2,)");
    refused(ek_layer_norm(q, &s.x, &s.out, NULL, 1, eps, &s.x), EK_SHAPE_MISMATCH,
            "gain has shape (2,): must be (3,)");
    refused(ek_layer_norm(q, &s.x, NULL, &s.x, 1, eps, &s.x), EK_SHAPE_MISMATCH,
            "bias has shape (2, 3): must be (3,)");
    refused(ek_layer_norm(q, &s.x, &s.out, NULL, 0, -eps, &s.x), EK_INVALID_ARGUMENT, "eps is");
    must(ek_rms_norm(q, &s.x, &s.out, 0, eps, &s.x));
    refused(ek_logsumexp(q, &s.x, 1, (int32_t[]){7}, false, &s.out), EK_INVALID_ARGUMENT,
            "axis is 7");
    refused(ek_sum(q, NULL, 0, NULL, false, &s.out), EK_INVALID_ARGUMENT, "x is null");
    refused(ek_sum(q, &s.x, 0, NULL, false, NULL), EK_INVALID_ARGUMENT, "out is null");
    refused(ek_sum(NULL, &s.x, 0, NULL, false, &s.out), EK_INVALID_ARGUMENT, "queue is null");
    refused(ek_argmax(q, &s.x, 1, false, &s.out), EK_DTYPE_MISMATCH, "ek_cast converts");
    refused(ek_argmax(q, &s.x, 5, false, &s.out), EK_DTYPE_MISMATCH, "(f32) to f32");
    refused(ek_cumsum(q, &s.x, 2, &s.out), EK_INVALID_ARGUMENT, "axis is 2");
    ek_array scalar = s.x; /* O045: it has no axis at all */
    scalar.ndim = 0;
    refused(ek_sum(q, &scalar, 1, (int32_t[]){-1}, false, &s.out), EK_INVALID_ARGUMENT,
            "axis is -1");
    refused(ek_cumsum(q, &s.x, 1, &s.out), EK_SHAPE_MISMATCH, "must be (2, 3)");
    refused(ek_cummin(q, &s.x, EK_ALL_AXES, &s.out), EK_SHAPE_MISMATCH, "must be (6,)");
    s.out.data = s.x.data;
    refused(ek_sum(q, &s.x, 1, (int32_t[]){1}, false, &s.out), EK_OVERLAP, "overlaps x");
    s.out.data = s.out_memory;
    int64_t still = 0;
    s.out.strides = &still;
    refused(ek_sum(q, &s.x, 1, (int32_t[]){1}, false, &s.out), EK_OVERLAP, "overlaps itself");

    /* O046: an empty axis that is not the reduced one is no reason to refuse. */
    set_small(&s, &places[0], 2, (int64_t[]){0, 2}, x, 1, (int64_t[]){0}, EK_F32);
    must(ek_min(q, &s.x, 1, (int32_t[]){1}, false, &s.out));
    set_small(&s, &places[0], 2, (int64_t[]){0, 2}, x, 1, (int64_t[]){2}, EK_F32);
    refused(ek_min(q, &s.x, 1, (int32_t[]){0}, false, &s.out), EK_INVALID_ARGUMENT, "no identity");
    set_small(&s, &places[0], 2, (int64_t[]){0, 2}, x, 1, (int64_t[]){0}, EK_I64);
    must(ek_argmax(q, &s.x, 1, false, &s.out));

    set_small(&s, &places[0], 2, shape, x, 0, NULL, EK_F32);
    const ek_array *const in[] = {&s.x};
    const ek_param unknown = {.name = "axis", .integer = 0};
    refused(ek_apply(q, &ek_op_sum.info, in, 1, &unknown, (ek_array *[]){&s.out}),
            EK_INVALID_ARGUMENT, "unknown parameter 'axis'");
}
END_TEST

START_TEST(test_infer)
{
    int64_t shape[] = {2, 3, 4}, axes[] = {-1, 0};
    float data[24];
    ek_device *cpu;
    ek_output got;
    must(ek_device_open("cpu", &cpu));
    ek_array x = ek_array_view(data, EK_I8, cpu, 3, shape);
    const ek_array *const in[] = {&x};
    ek_param params[] = {{.name = "axes", .list = axes, .count = 2},
                         {.name = "keepdims", .integer = 1}};
    must(ek_infer(&ek_op_sum.info, in, 1, params, &got));
    ck_assert(got.dtype == EK_I64 && got.ndim == 1 && got.shape[0] == 3);
    must(ek_infer(&ek_op_mean.info, in, 2, params, &got));
    ck_assert(got.dtype == EK_F64 && got.ndim == 3 && got.shape[0] == 1 && got.shape[1] == 3 &&
              got.shape[2] == 1);
    must(ek_infer(&ek_op_max.info, in, 0, NULL, &got));
    ck_assert(got.dtype == EK_I8 && got.ndim == 0);
    ek_param axis = {.name = "axis", .integer = -2};
    must(ek_infer(&ek_op_argmax.info, in, 1, &axis, &got));
    ck_assert(got.dtype == EK_I64 && got.ndim == 2 && got.shape[0] == 2 && got.shape[1] == 4);
    x = ek_array_view(data, EK_F16, cpu, 3, shape);
    must(ek_infer(&ek_op_cumsum.info, in, 0, NULL, &got));
    ck_assert(got.dtype == EK_F16 && got.ndim == 1 && got.shape[0] == 24);
    must(ek_infer(&ek_op_cummax.info, in, 1, &axis, &got));
    ck_assert(got.dtype == EK_F16 && got.ndim == 3 && got.shape[0] == 2 && got.shape[2] == 4);
    must(ek_infer(&ek_op_softmax.info, in, 0, NULL, &got));
    ck_assert(got.dtype == EK_F16 && got.ndim == 3 && got.shape[2] == 4);
    ek_device_close(cpu);
}
END_TEST

/* ---- cases */

static void result_of(const operation *operation, const ek_place *place, ek_dtype dtype, int64_t n,
                      int64_t inner, const void *x, size_t out_bytes, void *out)
{
    size_t bytes = (size_t)(n * inner) * ek_dtype_size(dtype), at = (bytes + 63) / 64 * 64;
    char *memory = ek_place_memory(place, at + out_bytes);
    ek_upload(place, memory, x, bytes);
    must(call_typed(operation, place->queue, dtype, 1, n, inner, memory, NULL, NULL, memory + at));
    ek_download(place, out, memory + at, out_bytes);
}

START_TEST(test_cases)
{
    const ek_place *place, *places;
    int count = ek_tested_places(&places);
    for (int p = 0; p < count; p++) {
        place = &places[p];
        float f[3], x[3] = {3, NAN, 5};
        int64_t index = -1;
        /* O049, O055: max and argmax agree about NaN. */
        result_of(&operations[MAX], place, EK_F32, 3, 1, x, sizeof *f, f);
        ck_assert(isnan(f[0]));
        result_of(&operations[ARGMAX], place, EK_F32, 3, 1, x, sizeof index, &index);
        ck_assert_int_eq(index, 1);
        result_of(&operations[MIN], place, EK_F32, 2, 1, x, sizeof *f, f);
        ck_assert(isnan(f[0]));
        /* O050: nothing but NaN. */
        result_of(&operations[ARGMAX], place, EK_F32, 3, 1, (float[]){NAN, NAN, NAN}, sizeof index,
                  &index);
        ck_assert_int_eq(index, 0);
        /* From the first NaN on; and zeros by their signs. */
        result_of(&operations[CUMMAX], place, EK_F32, 3, 1, x, sizeof f, f);
        ck_assert(f[0] == 3 && isnan(f[1]) && isnan(f[2]));
        result_of(&operations[CUMMIN], place, EK_F32, 3, 1, (float[]){0.0f, -0.0f, 0.0f}, sizeof f,
                  f);
        ck_assert(!signbit(f[0]) && signbit(f[1]) && signbit(f[2]));
        result_of(&operations[CUMSUM], place, EK_F32, 3, 1, (float[]){-0.0f, INFINITY, -INFINITY},
                  sizeof f, f);
        ck_assert(signbit(f[0]) && f[1] == INFINITY && isnan(f[2]));
        result_of(&operations[CUMPROD], place, EK_F32, 3, 1, (float[]){2, -0.0f, INFINITY},
                  sizeof f, f);
        ck_assert(f[0] == 2 && signbit(f[1]) && isnan(f[2]));
        /* O051: nothing but -inf; and one -inf. */
        result_of(&operations[SOFTMAX], place, EK_F32, 3, 1,
                  (float[]){-INFINITY, -INFINITY, -INFINITY}, sizeof f, f);
        ck_assert(isnan(f[0]) && isnan(f[1]) && isnan(f[2]));
        result_of(&operations[SOFTMAX], place, EK_F32, 3, 1, (float[]){0, -INFINITY, 0}, sizeof f,
                  f);
        ck_assert(f[0] == 0.5f && f[1] == 0 && f[2] == 0.5f);
        result_of(&operations[LOG_SOFTMAX], place, EK_F32, 3, 1, (float[]){0, -INFINITY, 0},
                  sizeof f, f);
        ck_assert(f[1] == -INFINITY);
        /* logsumexp keeps infinities apart from NaN. */
        result_of(&operations[LOGSUMEXP], place, EK_F32, 3, 1,
                  (float[]){-INFINITY, -INFINITY, -INFINITY}, sizeof *f, f);
        ck_assert(f[0] == -INFINITY);
        result_of(&operations[LOGSUMEXP], place, EK_F32, 3, 1, (float[]){0, INFINITY, -INFINITY},
                  sizeof *f, f);
        ck_assert(f[0] == INFINITY);
        result_of(&operations[LOGSUMEXP], place, EK_F32, 3, 1, (float[]){NAN, INFINITY, 0},
                  sizeof *f, f);
        ck_assert(isnan(f[0]));
        result_of(&operations[LOGSUMEXP], place, EK_F32, 0, 1, x, sizeof *f, f);
        ck_assert(f[0] == -INFINITY);
        result_of(&operations[LOGSUMEXP], place, EK_F32, 2, 1, (float[]){1000, 1000}, sizeof *f, f);
        ck_assert_float_eq_tol(f[0], 1000.6931f, 1e-4f);
        /* Equal elements, far from 0: no variance, and none below it. */
        result_of(&operations[LAYER_NORM], place, EK_F32, 3, 1, (float[]){1e8f, 1e8f, 1e8f},
                  sizeof f, f);
        ck_assert(f[0] == 0 && f[1] == 0 && f[2] == 0);
        result_of(&operations[LAYER_NORM], place, EK_F32, 3, 1,
                  (float[]){16777214, 16777215, 16777216}, sizeof f, f);
        ck_assert_float_eq_tol(f[0], -1.2238f, 1e-3f);
        result_of(&operations[RMS_NORM], place, EK_F32, 3, 1, (float[]){0, 0, 0}, sizeof f, f);
        ck_assert(f[0] == 0 && f[1] == 0 && f[2] == 0);
        /* A sum of negative zeros is one; the sum of nothing is not. */
        result_of(&operations[SUM], place, EK_F32, 2, 1, (float[]){-0.0f, -0.0f}, sizeof *f, f);
        ck_assert(f[0] == 0 && signbit(f[0]));
    }
}
END_TEST

/* O056: of equals the first, wherever they are. */
START_TEST(test_ties)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int64_t n = 1; n <= 5000; n += n < 300 ? 1 : 613) {
        float *x = calloc((size_t)n, sizeof *x);
        for (int p = 0; p < count; p++) {
            int64_t index = -1, at = n / 3;
            x[at] = x[n - 1] = 0;
            result_of(&operations[ARGMAX], &places[p], EK_F32, n, 1, x, sizeof index, &index);
            ck_assert_int_eq(index, 0);
            x[at] = x[n - 1] = 1;
            result_of(&operations[ARGMAX], &places[p], EK_F32, n, 1, x, sizeof index, &index);
            ck_assert_int_eq(index, at);
        }
        free(x);
    }
}
END_TEST

/* O053: every row length, against the definition in double. */
START_TEST(test_row_lengths)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int64_t n = 1; n <= 1100; n += n < 140 ? 1 : 37) {
        float *x = allocate((size_t)n * sizeof *x), *out = allocate((size_t)n * sizeof *out);
        ek_ordinary_values(EK_F32, (uint64_t)n, n, x);
        double top = -INFINITY, sum = 0, mean = 0, squares = 0, deviations = 0;
        for (int64_t i = 0; i < n; i++) {
            top = x[i] > top ? x[i] : top;
            mean += x[i] / (double)n;
            squares += (double)x[i] * x[i] / (double)n;
        }
        for (int64_t i = 0; i < n; i++) {
            sum += exp(x[i] - top);
            deviations += (x[i] - mean) * (x[i] - mean) / (double)n;
        }
        for (int p = 0; p < count; p++) {
            result_of(&operations[LOG_SOFTMAX], &places[p], EK_F32, n, 1, x,
                      (size_t)n * sizeof *out, out);
            for (int64_t i = 0; i < n; i++)
                ck_assert_double_eq_tol(out[i], x[i] - top - log(sum), 2e-5);
            result_of(&operations[SOFTMAX], &places[p], EK_F32, n, 1, x, (size_t)n * sizeof *out,
                      out);
            for (int64_t i = 0; i < n; i++)
                ck_assert_double_eq_tol(out[i], exp(x[i] - top) / sum, 1e-6);
            result_of(&operations[LOGSUMEXP], &places[p], EK_F32, n, 1, x, sizeof *out, out);
            ck_assert_double_eq_tol(out[0], top + log(sum), 2e-5);
            result_of(&operations[LAYER_NORM], &places[p], EK_F32, n, 1, x, (size_t)n * sizeof *out,
                      out);
            for (int64_t i = 0; i < n; i++)
                ck_assert_double_eq_tol(out[i], (x[i] - mean) / sqrt(deviations + eps), 2e-5);
            result_of(&operations[RMS_NORM], &places[p], EK_F32, n, 1, x, (size_t)n * sizeof *out,
                      out);
            for (int64_t i = 0; i < n; i++)
                ck_assert_double_eq_tol(out[i], x[i] / sqrt(squares + eps), 2e-5);
        }
        free(x);
        free(out);
    }
}
END_TEST

/* O066, O070, O072: sums that stick or overflow when they are kept in the elements' type. */
START_TEST(test_long_sums)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    enum { N = 70000 };
    float *f = allocate(2 * 1025 * sizeof *f), sums[2];
    ek_f16 *h = allocate(N * sizeof *h), half;
    for (int i = 0; i < 2 * 1025; i++)
        f[i] = i < 2 ? 16777216 : 1;
    for (int p = 0; p < count; p++) {
        result_of(&operations[SUM], &places[p], EK_F32, 1025, 2, f, sizeof sums, sums);
        ck_assert(sums[0] > 16777216 + 1000 && sums[0] == sums[1]);
        for (int i = 0; i < 8; i++)
            h[i].bits = i < 4 ? 0x77d0 : 0xf7d0; /* 32000 and -32000 */
        result_of(&operations[SUM], &places[p], EK_F16, 8, 1, h, sizeof half, &half);
        ck_assert_int_eq(half.bits, 0);
        for (int i = 0; i < N; i++)
            h[i].bits = 0x3c00;
        result_of(&operations[MEAN], &places[p], EK_F16, N, 1, h, sizeof half, &half);
        ck_assert_int_eq(half.bits, 0x3c00);
        result_of(&operations[SUM], &places[p], EK_F16, N, 1, h, sizeof half, &half);
        ck_assert_int_eq(half.bits, 0x7c00);
    }
    free(f);
    free(h);
}
END_TEST

/* O038: rows of any length begin anywhere. */
START_TEST(test_odd_rows)
{
    for (int64_t n = 61; n <= 67; n++) {
        for (int skew = 0; skew < 4; skew++)
            check_shape(&operations[SOFTMAX], &ek_op_softmax.info.loops[2], 9, n, 1, 1, skew);
    }
}
END_TEST

/* Calls from threads of the application's own OpenMP team, each with a queue of one thread. */
START_TEST(test_callers_threads)
{
    enum { CALLERS = 4, N = 100000 };
    float *x = malloc(N * sizeof *x), *out = malloc(CALLERS * N * sizeof *out);
    bool failed = false;
    ek_device *device = NULL;
    ck_assert_ptr_nonnull(x);
    ck_assert_ptr_nonnull(out);
    for (int i = 0; i < N; i++)
        x[i] = (float)(i % 100) - 50;
    ck_assert_int_eq(ek_device_open("cpu", &device), EK_OK);
#pragma omp parallel for num_threads(CALLERS) schedule(static) reduction(| : failed)
    for (int i = 0; i < CALLERS; i++) {
        ek_queue *queue = NULL;
        failed |= ek_queue_open(device, &queue) != EK_OK;
        failed |= ek_queue_set_threads(queue, 1) != EK_OK;
        failed |= ek_softmax_f32(queue, 1, N, 1, x, out + (size_t)i * N) != EK_OK;
        ek_queue_close(queue);
    }
    ck_assert(!failed);
    const ek_place *places;
    ek_places(&places);
    float *alone = malloc(N * sizeof *alone);
    ck_assert_ptr_nonnull(alone);
    ck_assert_int_eq(ek_softmax_f32(places[0].queue, 1, N, 1, x, alone), EK_OK);
    for (int i = 0; i < CALLERS; i++)
        ck_assert_int_eq(memcmp(alone, out + (size_t)i * N, N * sizeof *out), 0);
    free(alone);
    ek_device_close(device);
    free(out);
    free(x);
}
END_TEST

enum { LOOPED_TESTS = 4, SINGLE_TESTS = 16 };

static Suite *reductions_suite(void)
{
    Suite *suite = suite_create("reductions");
    TCase *tests = tcase_create("reductions");
    tcase_set_timeout(tests, 600);
    tcase_add_loop_test(tests, test_lengths, 0, operation_count);
    tcase_add_loop_test(tests, test_rows_and_columns, 0, operation_count);
    tcase_add_loop_test(tests, test_specials, 0, operation_count);
    tcase_add_loop_test(tests, test_layouts, 0, operation_count);
    tcase_add_test(tests, test_large);
    tcase_add_test(tests, test_three_levels);
    tcase_add_test(tests, test_streamed_rows);
    tcase_add_test(tests, test_stretches);
    tcase_add_test(tests, test_scan_error);
    tcase_add_test(tests, test_in_place);
    tcase_add_test(tests, test_which_axes);
    tcase_add_test(tests, test_typed_refusals);
    tcase_add_test(tests, test_array_refusals);
    tcase_add_test(tests, test_infer);
    tcase_add_test(tests, test_cases);
    tcase_add_test(tests, test_ties);
    tcase_add_test(tests, test_row_lengths);
    tcase_add_test(tests, test_long_sums);
    tcase_add_test(tests, test_odd_rows);
    tcase_add_test(tests, test_callers_threads);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    add_others();
    return ek_run_at_places(reductions_suite, LOOPED_TESTS * operation_count + SINGLE_TESTS);
}
