/* The array call of matrix products: layouts, broadcasting, and the call by the row. */
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "einkorn/ops/gemm.h"
#include "einkorn/ops/gemm_exact.h"
#include "format.h"
#include "gemm_case.h"
#include "values.h"

enum { NDIM = 4 };

/* An operand in memory of its own; `offset` is where its first element lies. */
typedef struct layout {
    int32_t ndim;
    int64_t shape[NDIM], stride[NDIM];
    int64_t offset, elements;
} layout;

typedef struct array_case {
    const char *name;
    ek_gemm_options options;
    layout a, b, c;
} array_case;

#define PLAIN EK_GEMM_DEFAULTS
#define TURNED_A                                                                                   \
    {                                                                                              \
        EK_TRANSPOSE, EK_NO_TRANSPOSE, 1, 0, 0, 0                                                  \
    }
#define TURNED_B                                                                                   \
    {                                                                                              \
        EK_NO_TRANSPOSE, EK_TRANSPOSE, 2, 0, 1, 0                                                  \
    }
#define CONJUGATE_BOTH                                                                             \
    {                                                                                              \
        EK_CONJUGATE_TRANSPOSE, EK_CONJUGATE_TRANSPOSE, 1, 0.5, 0, 0                               \
    }

/* The first four are O083. */
static const array_case cases[] = {
    {"one row without steps",
     PLAIN,
     {2, {1, 2}, {0, 0}, 0, 1},
     {2, {2, 3}, {3, 1}, 0, 6},
     {2, {1, 3}, {3, 1}, 0, 3}},
    {"one row with a large step",
     PLAIN,
     {2, {1, 300}, {16384, 1}, 0, 300},
     {2, {300, 5}, {5, 1}, 0, 1500},
     {2, {1, 5}, {99, 1}, 0, 5}},
    {"slice of columns",
     PLAIN,
     {2, {64, 256}, {1792, 1}, 256, 113408},
     {2, {256, 9}, {1, 256}, 0, 2304},
     {2, {64, 9}, {20, 1}, 3, 1280}},
    {"one column with a large step",
     PLAIN,
     {2, {6, 1}, {1, 77}, 0, 6},
     {2, {1, 5}, {3, 2}, 0, 9},
     {2, {6, 5}, {5, 1}, 0, 30}},
    {"C by columns",
     PLAIN,
     {2, {6, 7}, {7, 1}, 0, 42},
     {2, {7, 5}, {5, 1}, 0, 35},
     {2, {6, 5}, {1, 6}, 0, 30}},
    {"C by columns, all else transposed",
     TURNED_A,
     {2, {7, 6}, {1, 9}, 0, 63},
     {2, {7, 5}, {1, 8}, 0, 40},
     {2, {6, 5}, {2, 13}, 0, 65}},
    {"backwards",
     TURNED_B,
     {2, {6, 7}, {-7, 1}, 35, 42},
     {2, {5, 7}, {7, -1}, 6, 35},
     {2, {6, 5}, {-5, 1}, 25, 30}},
    {"every second element",
     PLAIN,
     {2, {6, 7}, {28, 2}, 0, 160},
     {2, {7, 5}, {20, 3}, 1, 140},
     {2, {6, 5}, {30, 3}, 2, 180}},
    {"A repeated by a step of 0",
     PLAIN,
     {2, {6, 7}, {0, 1}, 0, 7},
     {2, {7, 5}, {1, 0}, 0, 7},
     {2, {6, 5}, {5, 1}, 0, 30}},
    {"B for all of a batch",
     PLAIN,
     {4, {2, 3, 4, 5}, {60, 20, 5, 1}, 0, 120},
     {2, {5, 6}, {6, 1}, 0, 30},
     {4, {2, 3, 4, 6}, {72, 24, 6, 1}, 0, 144}},
    {"batches that cross",
     TURNED_B,
     {4, {2, 1, 4, 5}, {20, 20, 5, 1}, 0, 40},
     {3, {3, 6, 5}, {30, 5, 1}, 0, 90},
     {4, {2, 3, 4, 6}, {24, 48, 6, 1}, 0, 144}},
    {"heads side by side",
     PLAIN,
     {3, {3, 4, 5}, {5, 15, 1}, 0, 60},
     {3, {3, 5, 6}, {6, 18, 1}, 0, 90},
     {3, {3, 4, 6}, {6, 18, 1}, 0, 72}},
    {"conjugates",
     CONJUGATE_BOTH,
     {2, {7, 6}, {6, 1}, 0, 42},
     {2, {5, 7}, {7, 1}, 0, 35},
     {2, {6, 5}, {5, 1}, 0, 30}},
    {"conjugates by columns",
     CONJUGATE_BOTH,
     {2, {7, 6}, {1, 7}, 0, 42},
     {2, {5, 7}, {7, 1}, 0, 35},
     {2, {6, 5}, {1, 6}, 0, 30}},
    {"no product",
     PLAIN,
     {3, {0, 4, 5}, {20, 5, 1}, 0, 0},
     {2, {5, 6}, {6, 1}, 0, 30},
     {3, {0, 4, 6}, {24, 6, 1}, 0, 0}},
    {"empty sums",
     TURNED_B,
     {2, {4, 0}, {1, 1}, 0, 0},
     {2, {3, 0}, {1, 1}, 0, 0},
     {2, {4, 3}, {3, 1}, 0, 12}},
};

/* Where element (i, j) of a matrix of a batch lies; `index` counts in the batch of C. */
static int64_t position(const layout *x, const layout *c, int64_t index, int64_t i, int64_t j)
{
    int64_t at = x->offset + i * x->stride[x->ndim - 2] + j * x->stride[x->ndim - 1];
    for (int32_t d = c->ndim - 3; d >= 0; d--) {
        int32_t own = d - (c->ndim - x->ndim);
        if (own >= 0 && x->shape[own] > 1)
            at += index % c->shape[d] * x->stride[own];
        index /= c->shape[d];
    }
    return at;
}

/* One element of C, as a product of one row and one column. */
static void element(const array_case *t, ek_dtype dtype, const char *a, const char *b, char *c,
                    int64_t index, int64_t i, int64_t j)
{
    bool turned_a = t->options.trans_a != EK_NO_TRANSPOSE;
    bool turned_b = t->options.trans_b != EK_NO_TRANSPOSE;
    int64_t k = t->a.shape[t->a.ndim - (turned_a ? 2 : 1)];
    size_t size = ek_dtype_size(dtype);
    char row[300 * sizeof(ek_c128)], column[300 * sizeof(ek_c128)];
    for (int64_t p = 0; p < k; p++) {
        int64_t at_a = position(&t->a, &t->c, index, turned_a ? p : i, turned_a ? i : p);
        int64_t at_b = position(&t->b, &t->c, index, turned_b ? j : p, turned_b ? p : j);
        memcpy(row + (size_t)p * size, a + (size_t)at_a * size, size);
        memcpy(column + (size_t)p * size, b + (size_t)at_b * size, size);
    }
    gemm_case one = {.dtype = dtype,
                     .shape = ek_gemm_plain_shape(1, 1, k),
                     .alpha = {t->options.alpha, t->options.alpha_im},
                     .beta = {t->options.beta, t->options.beta_im}};
    one.shape.trans_a = t->options.trans_a;
    one.shape.trans_b = t->options.trans_b;
    one.shape.lda = turned_a ? 1 : k;
    one.shape.ldb = turned_b ? k : 1;
    gemm_reference(&one, row, column, c + (size_t)position(&t->c, &t->c, index, i, j) * size);
}

static ek_array view(const layout *x, ek_dtype dtype, const ek_place *place, void *memory)
{
    ek_array array =
        ek_array_view(memory, dtype, ek_queue_device(place->queue), x->ndim, (int64_t *)x->shape);
    array.strides = (int64_t *)x->stride;
    array.byte_offset = (uint64_t)x->offset * ek_dtype_size(dtype);
    return array;
}

/* Runs the call with host memory in a place; c receives the result. */
static void run(const array_case *t, ek_dtype dtype, bool exact, const ek_place *place,
                const void *a, const void *b, void *c)
{
    size_t size = ek_dtype_size(dtype), line = 256;
    size_t bytes_a = (size_t)t->a.elements * size, bytes_b = (size_t)t->b.elements * size;
    size_t bytes_c = (size_t)t->c.elements * size;
    char *memory = ek_place_memory(place, bytes_a + bytes_b + bytes_c + 3 * line);
    char *at_b = memory + bytes_a / line * line + line;
    char *at_c = at_b + bytes_b / line * line + line;
    ek_upload(place, memory, a, bytes_a);
    ek_upload(place, at_b, b, bytes_b);
    ek_upload(place, at_c, c, bytes_c);
    ek_array array_a = view(&t->a, dtype, place, memory), array_b = view(&t->b, dtype, place, at_b);
    ek_array array_c = view(&t->c, dtype, place, at_c);
    ek_status status = exact
                           ? ek_gemm_exact(place->queue, &t->options, &array_a, &array_b, &array_c)
                           : ek_gemm(place->queue, &t->options, &array_a, &array_b, &array_c);
    ck_assert_msg(status == EK_OK, "%s: %s", t->name, ek_error_message());
    ek_download(place, c, at_c, bytes_c);
}

static void check_fast(const array_case *t, ek_dtype dtype, const ek_place *place, const void *got,
                       const void *wanted)
{
    /* The shapes are small and f32 has 24 bits: an error of any order is far below this. */
    const double bound = 0x1p-8;
    ek_dtype part = ek_real_dtype(dtype);
    size_t size = ek_dtype_size(part);
    int64_t count = t->c.elements * (ek_is_complex(dtype) ? 2 : 1);
    for (int64_t e = 0; e < count; e++) {
        double x = ek_element_value(part, (const char *)got + (size_t)e * size);
        double y = ek_element_value(part, (const char *)wanted + (size_t)e * size);
        if (!gemm_near(x, y, bound))
            ck_abort_msg("%s: %s: element %ld of c is %g, must be near %g", place->name, t->name,
                         (long)e, x, y);
    }
}

static void check(const array_case *t, ek_dtype dtype)
{
    size_t size = ek_dtype_size(dtype);
    char *a = malloc((size_t)t->a.elements * size + 1),
         *b = malloc((size_t)t->b.elements * size + 1);
    size_t bytes = (size_t)t->c.elements * size;
    char *c = malloc(bytes + 1), *wanted = malloc(bytes + 1), *got = malloc(bytes + 1);
    ek_ordinary_values(dtype, 1, t->a.elements, a);
    ek_ordinary_values(dtype, 2, t->b.elements, b);
    ek_ordinary_values(dtype, 3, t->c.elements, c);
    memcpy(wanted, c, bytes);
    int64_t batch = 1;
    for (int32_t d = 0; d < t->c.ndim - 2; d++)
        batch *= t->c.shape[d];
    for (int64_t index = 0; index < batch; index++) {
        for (int64_t i = 0; i < t->c.shape[t->c.ndim - 2]; i++) {
            for (int64_t j = 0; j < t->c.shape[t->c.ndim - 1]; j++)
                element(t, dtype, a, b, wanted, index, i, j);
        }
    }
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int p = 0; p < count; p++) {
        memcpy(got, c, bytes);
        run(t, dtype, true, &places[p], a, b, got);
        int64_t at = ek_first_difference(dtype, t->c.elements, got, wanted);
        ck_assert_msg(at < 0, "%s: %s: %s: element %ld of c differs", places[p].name,
                      ek_dtype_name(dtype), t->name, (long)at);
        if (dtype < EK_F32)
            continue;
        memcpy(got, c, bytes);
        run(t, dtype, false, &places[p], a, b, got);
        check_fast(t, dtype, &places[p], got, wanted);
    }
    free(a);
    free(b);
    free(c);
    free(wanted);
    free(got);
}

START_TEST(layouts)
{
    static const ek_dtype dtypes[] = {EK_I16, EK_F16, EK_F32, EK_F64, EK_C64, EK_C128};
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        array_case t = cases[_i];
        if (!ek_is_complex(dtypes[i]))
            t.options.alpha_im = 0;
        check(&t, dtypes[i]);
    }
}
END_TEST

START_TEST(null_options_are_the_defaults)
{
    const ek_place *places;
    ek_tested_places(&places);
    array_case t = cases[0];
    float a[] = {3}, b[] = {1, 2, 3, 4, 5, 6}, c[] = {-1, -1, -1}, wanted[] = {15, 21, 27};
    char *memory = ek_place_memory(&places[0], 3 * 256);
    ek_upload(&places[0], memory, a, sizeof a);
    ek_upload(&places[0], memory + 256, b, sizeof b);
    ek_array array_a = view(&t.a, EK_F32, &places[0], memory);
    ek_array array_b = view(&t.b, EK_F32, &places[0], memory + 256);
    ek_array array_c = view(&t.c, EK_F32, &places[0], memory + 512);
    ck_assert_int_eq(ek_gemm(places[0].queue, NULL, &array_a, &array_b, &array_c), EK_OK);
    ek_download(&places[0], c, memory + 512, sizeof c);
    ck_assert(memcmp(c, wanted, sizeof c) == 0);
    ck_assert_int_eq(ek_gemm_exact(places[0].queue, NULL, &array_a, &array_b, &array_c), EK_OK);
    ek_download(&places[0], c, memory + 512, sizeof c);
    ck_assert(memcmp(c, wanted, sizeof c) == 0);
}
END_TEST

START_TEST(by_the_row)
{
    const ek_place *places;
    ek_tested_places(&places);
    layout la = {2, {2, 3}, {3, 1}, 0, 6}, lb = {2, {2, 2}, {2, 1}, 0, 4};
    layout lc = {2, {3, 2}, {2, 1}, 0, 6};
    float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 10, 100, 1000}, c[] = {1, 1, 1, 1, 1, 1};
    char *memory = ek_place_memory(&places[0], 3 * 256);
    ek_upload(&places[0], memory, a, sizeof a);
    ek_upload(&places[0], memory + 256, b, sizeof b);
    ek_upload(&places[0], memory + 512, c, sizeof c);
    ek_array array_a = view(&la, EK_F32, &places[0], memory);
    ek_array array_b = view(&lb, EK_F32, &places[0], memory + 256);
    ek_array array_c = view(&lc, EK_F32, &places[0], memory + 512);
    const ek_array *const in[] = {&array_a, &array_b};
    const ek_param params[] = {{.name = "transa", .integer = 1},
                               {.name = "alpha", .real = 2},
                               {.name = "beta", .real = 0.5}};
    const ek_op_info *ops[] = {&ek_op_gemm.info, &ek_op_gemm_exact.info};
    const float wanted[2][6] = {{802.5f, 8020.5f, 1004.5f, 10040.5f, 1206.5f, 12060.5f},
                                {1203.25f, 12030.25f, 1506.25f, 15060.25f, 1809.25f, 18090.25f}};
    for (int i = 0; i < 2; i++) {
        ek_output product;
        ck_assert_int_eq(ek_infer(ops[i], in, 3, params, &product), EK_OK);
        ck_assert(product.dtype == EK_F32 && product.ndim == 2);
        ck_assert(product.shape[0] == 3 && product.shape[1] == 2);
        ck_assert_int_eq(ek_apply(places[0].queue, ops[i], in, 3, params, (ek_array *[]){&array_c}),
                         EK_OK);
        ek_download(&places[0], c, memory + 512, sizeof c);
        for (int e = 0; e < 6; e++)
            ck_assert_msg(c[e] == wanted[i][e], "%s: c[%d] is %g", ops[i]->name, e, c[e]);
    }
}
END_TEST

/* O029: batches of two dimensions with more products than a block has threads. */
START_TEST(many_products_of_one_element)
{
    enum { COUNT = 33 * 32 };
    static const array_case t = {"one element each",
                                 PLAIN,
                                 {4, {33, 32, 1, 1}, {32, 1, 1, 1}, 0, COUNT},
                                 {4, {33, 32, 1, 1}, {32, 1, 1, 1}, 0, COUNT},
                                 {4, {33, 32, 1, 1}, {32, 1, 1, 1}, 0, COUNT}};
    const ek_place *places;
    int count = ek_tested_places(&places);
    float ones[COUNT], c[COUNT];
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    for (int p = 0; p < 2 * count; p++) {
        memset(c, 0xff, sizeof c); /* NaN */
        run(&t, EK_F32, p % 2, &places[p / 2], ones, ones, c);
        ck_assert_mem_eq(c, ones, sizeof c);
    }
}
END_TEST

TCase *gemm_array_tests(void)
{
    TCase *tests = tcase_create("arrays");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, layouts, 0, sizeof cases / sizeof cases[0]);
    tcase_add_test(tests, null_options_are_the_defaults);
    tcase_add_test(tests, by_the_row);
    tcase_add_test(tests, many_products_of_one_element);
    return tests;
}
