/* Reductions of pairs (dot, vdot, distances): the bits of a plain reference in every place, layout
 * and dtype, and what is refused. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "body/mul.h"
#include "compare.h"
#include "einkorn/body.h"
#include "einkorn/ops/distance_l1.h"
#include "einkorn/ops/distance_l2.h"
#include "einkorn/ops/distance_max.h"
#include "einkorn/ops/distance_squared.h"
#include "einkorn/ops/dot.h"
#include "einkorn/ops/vdot.h"
#include "format.h"
#include "place.h"
#include "reference_tree.h"
#include "values.h"

static const ek_op_info *const ops[] = {
    &ek_op_dot.info,         &ek_op_vdot.info,        &ek_op_distance_squared.info,
    &ek_op_distance_l2.info, &ek_op_distance_l1.info, &ek_op_distance_max.info,
};

enum { OPS = sizeof ops / sizeof ops[0], DIMS = 3 };

/* How an operand lies in memory. */
typedef enum order { AS_IT_IS, TURNED, BACKWARD, GAPS, ORDERS } order;

/* The shape that x and y broadcast to, the axes to reduce, and along which x and y have length 1.
 */
static const struct {
    int64_t shape[DIMS];
    unsigned axes, one_x, one_y;
} cases[] = {
    {{1, 1, 1}, 7, 0, 0},     {{1, 1, 127}, 4, 0, 0},   {{1, 1, 4099}, 4, 0, 0},
    {{1, 1, 70001}, 4, 0, 0}, {{1, 67, 33}, 4, 0, 2},   {{1, 33, 67}, 2, 0, 4},
    {{1, 67, 40}, 4, 2, 0},   {{1, 259, 70}, 2, 4, 0},  {{3, 5, 130}, 4, 0, 0},
    {{3, 131, 18}, 2, 0, 0},  {{5, 7, 9}, 5, 0, 0},     {{5, 7, 300}, 6, 0, 1},
    {{9, 11, 12}, 4, 2, 1},   {{1, 300, 2}, 4, 0, 0},   {{2, 4100, 5}, 2, 0, 5},
    {{1, 8200, 3}, 2, 0, 0},  {{4, 0, 3}, 2, 0, 0},     {{0, 4, 3}, 2, 0, 4},
    {{2, 2, 20000}, 4, 0, 0}, {{3, 1100, 64}, 2, 0, 4}, {{1, 6, 8192}, 4, 0, 2},
};

enum { CASES = sizeof cases / sizeof cases[0] };

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

/* An operand: its memory as it is in the host, and the array that looks at it. */
typedef struct operand {
    int64_t shape[DIMS], strides[DIMS];
    int64_t size, first; /* elements of memory, and the first one of the array */
    char *data;
} operand;

static void lay_out(operand *x, order order)
{
    int64_t step = order == GAPS ? 2 : 1;
    x->first = 0;
    for (int i = 0; i < DIMS; i++) {
        int d = order == TURNED ? i : DIMS - 1 - i;
        x->strides[d] = step;
        step *= x->shape[d];
    }
    x->size = step;
    for (int d = 0; d < DIMS && order == BACKWARD && step > 0; d++) {
        x->first += (x->shape[d] - 1) * x->strides[d];
        x->strides[d] = -x->strides[d];
    }
}

static const char *element(const operand *x, size_t size, const int64_t *index)
{
    int64_t at = x->first;
    for (int d = 0; d < DIMS; d++)
        at += x->shape[d] == 1 ? 0 : index[d] * x->strides[d];
    return x->data + at * (int64_t)size;
}

/* ---- what must come out */

/* The term of a pair, in the dtype that terms are reduced in. */
static void term(const ek_op_info *op, ek_dtype dtype, const void *x, const void *y, void *to)
{
    bool product = op == &ek_op_dot.info || op == &ek_op_vdot.info;
    bool squares = op == &ek_op_distance_squared.info || op == &ek_op_distance_l2.info;
    if (dtype == EK_I32) {
        uint32_t a, b;
        memcpy(&a, x, sizeof a);
        memcpy(&b, y, sizeof b);
        a *= b;
        memcpy(to, &a, sizeof a);
    } else if (dtype == EK_I64) {
        uint64_t a, b;
        memcpy(&a, x, sizeof a);
        memcpy(&b, y, sizeof b);
        a *= b;
        memcpy(to, &a, sizeof a);
    } else if (dtype == EK_C64) {
        ek_c64 a = *(const ek_c64 *)x, r;
        a.im = op == &ek_op_vdot.info ? -a.im : a.im;
        r = ek_body_mul_c64(a, *(const ek_c64 *)y);
        memcpy(to, &r, sizeof r);
    } else if (dtype == EK_C128) {
        ek_c128 a = *(const ek_c128 *)x, r;
        a.im = op == &ek_op_vdot.info ? -a.im : a.im;
        r = ek_body_mul_c128(a, *(const ek_c128 *)y);
        memcpy(to, &r, sizeof r);
    } else if (dtype == EK_F64) {
        double a = *(const double *)x, b = *(const double *)y, d = a - b;
        double r = product ? a * b : squares ? d * d : fabs(d);
        memcpy(to, &r, sizeof r);
    } else {
        float a = (float)ek_element_value(dtype, x), b = (float)ek_element_value(dtype, y);
        float d = a - b, r = product ? a * b : squares ? d * d : fabsf(d);
        memcpy(to, &r, sizeof r);
    }
}

static void reduce_terms(const ek_op_info *op, ek_dtype dtype, int64_t n, const void *terms,
                         void *out)
{
    bool half = dtype == EK_F16 || dtype == EK_BF16;
    char result[16] = {0}; /* an integer sum has 64 bits, of which the lower ones count */
    if (n > 0)
        ek_reference_reduce(op == &ek_op_distance_max.info ? "max" : "sum", half ? EK_F32 : dtype,
                            n, terms, result);
    if (half) {
        float sum;
        memcpy(&sum, result, sizeof sum);
        ek_element_round(dtype, (double)sum, out);
        return;
    }
    if (op == &ek_op_distance_l2.info && dtype == EK_F32)
        *(float *)(void *)result = sqrtf(*(float *)(void *)result);
    if (op == &ek_op_distance_l2.info && dtype == EK_F64)
        *(double *)(void *)result = sqrt(*(double *)(void *)result);
    memcpy(out, result, ek_dtype_size(dtype));
}

static void count_up(int64_t *index, const int64_t *shape, unsigned dims)
{
    for (int d = DIMS - 1; d >= 0; d--) {
        if (!(dims >> d & 1))
            continue;
        if (++index[d] < shape[d])
            return;
        index[d] = 0;
    }
}

static int64_t count_of(const int64_t *shape, unsigned dims)
{
    int64_t count = 1;
    for (int d = 0; d < DIMS; d++)
        count *= dims >> d & 1 ? shape[d] : 1;
    return count;
}

static void *reference(const ek_op_info *op, ek_dtype dtype, const int64_t *shape, unsigned axes,
                       const operand *x, const operand *y)
{
    size_t size = ek_dtype_size(dtype), wide = size < 4 ? 4 : size;
    int64_t n = count_of(shape, axes), results = count_of(shape, 7u & ~axes);
    char *terms = allocate((size_t)n * wide), *out = allocate((size_t)results * size);
    int64_t index[DIMS] = {0};
    for (int64_t i = 0; i < results; i++) {
        for (int64_t k = 0; k < n; k++) {
            term(op, dtype, element(x, size, index), element(y, size, index),
                 terms + (size_t)k * wide);
            count_up(index, shape, axes);
        }
        reduce_terms(op, dtype, n, terms, out + (size_t)i * size);
        count_up(index, shape, 7u & ~axes);
    }
    free(terms);
    return out;
}

/* ---- calls */

static ek_array array_of(const ek_place *place, const operand *x, ek_dtype dtype, char *memory)
{
    ek_array array = ek_array_view(memory + (size_t)x->first * ek_dtype_size(dtype), dtype,
                                   ek_queue_device(place->queue), DIMS, (int64_t *)x->shape);
    array.strides = (int64_t *)x->strides;
    return array;
}

static void check_place(const ek_place *place, const ek_op_info *op, ek_dtype dtype, int number,
                        const operand *x, const operand *y, const void *wanted)
{
    size_t size = ek_dtype_size(dtype);
    unsigned axes = cases[number].axes;
    int64_t shape[DIMS], list[DIMS], results = count_of(cases[number].shape, 7u & ~axes);
    int32_t naxes = 0;
    for (int d = 0; d < DIMS; d++) {
        shape[d] = axes >> d & 1 ? 1 : cases[number].shape[d];
        if (axes >> d & 1)
            list[naxes++] = d - DIMS;
    }
    size_t x_bytes = (size_t)x->size * size, y_bytes = (size_t)y->size * size;
    size_t y_at = (x_bytes + 63) / 64 * 64, out_at = y_at + (y_bytes + 63) / 64 * 64;
    char *memory = ek_place_memory(place, out_at + (size_t)results * size + 64);
    ek_upload(place, memory, x->data, x_bytes);
    ek_upload(place, memory + y_at, y->data, y_bytes);
    ek_array in_x = array_of(place, x, dtype, memory);
    ek_array in_y = array_of(place, y, dtype, memory + y_at);
    ek_array out =
        ek_array_view(memory + out_at, dtype, ek_queue_device(place->queue), DIMS, shape);
    const ek_param params[] = {{.name = "axes", .list = list, .count = naxes},
                               {.name = "keepdims", .integer = 1}};
    must(ek_apply(place->queue, op, (const ek_array *[]){&in_x, &in_y}, 2, params,
                  (ek_array *[]){&out}));
    char *got = allocate((size_t)results * size);
    ek_download(place, got, memory + out_at, (size_t)results * size);
    int64_t at = ek_first_difference(dtype, results, got, wanted);
    if (at >= 0) {
        char a[96], b[96];
        ck_abort_msg("%s %s, %s, case %d, result %d is %s, not %s", op->name, ek_dtype_name(dtype),
                     place->name, number, (int)at,
                     ek_element_text(dtype, got + (size_t)at * size, a),
                     ek_element_text(dtype, (const char *)wanted + (size_t)at * size, b));
    }
    free(got);
}

static void check_case(const ek_op_info *op, ek_dtype dtype, int number, order of_x, order of_y,
                       bool any_bits)
{
    operand operands[2];
    for (int i = 0; i < 2; i++) {
        unsigned ones = i == 0 ? cases[number].one_x : cases[number].one_y;
        for (int d = 0; d < DIMS; d++)
            operands[i].shape[d] = ones >> d & 1 ? 1 : cases[number].shape[d];
        lay_out(&operands[i], i == 0 ? of_x : of_y);
        operands[i].data = allocate((size_t)operands[i].size * ek_dtype_size(dtype));
        if (any_bits)
            ek_random_values(dtype, (uint64_t)(number + i), operands[i].size, operands[i].data);
        else
            ek_ordinary_values(dtype, (uint64_t)(number + i), operands[i].size, operands[i].data);
    }
    void *wanted =
        reference(op, dtype, cases[number].shape, cases[number].axes, &operands[0], &operands[1]);
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int p = 0; p < count; p++)
        check_place(&places[p], op, dtype, number, &operands[0], &operands[1], wanted);
    free(wanted);
    free(operands[0].data);
    free(operands[1].data);
}

START_TEST(layouts)
{
    const ek_op_info *op = ops[_i];
    for (int32_t l = 0; l < op->loop_count; l++) {
        for (int number = 0; number < CASES; number++) {
            for (int layout = 0; layout < ORDERS; layout++)
                check_case(op, (ek_dtype)op->loops[l].in[0], number, (order)layout,
                           (order)((layout * 3 + number) % ORDERS), (number + layout) % 4 == 3);
            check_case(op, (ek_dtype)op->loops[l].in[0], number, AS_IT_IS, AS_IT_IS, false);
        }
    }
}
END_TEST

/* Typed calls are array calls, with a y of their own for each result or one for all. */
START_TEST(typed_calls)
{
    enum { OUTER = 3, N = 130, INNER = 5, ALL = OUTER * N * INNER };
    float x[ALL], y[ALL], out[OUTER * INNER], terms[N], wanted;
    ek_ordinary_values(EK_F32, 1, ALL, x);
    ek_ordinary_values(EK_F32, 2, ALL, y);
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int i = 0; i < 2 * count; i++) {
        const ek_place *place = &places[i / 2];
        bool same = i % 2;
        float *memory = ek_place_memory(place, sizeof x + sizeof y + sizeof out);
        ek_upload(place, memory, x, sizeof x);
        ek_upload(place, memory + ALL, y, sizeof y);
        must(ek_dot_f32(place->queue, OUTER, N, INNER, memory, same, memory + ALL,
                        memory + 2 * (size_t)ALL));
        ek_download(place, out, memory + 2 * (size_t)ALL, sizeof out);
        for (int r = 0; r < OUTER * INNER; r++) {
            for (int k = 0; k < N; k++) {
                int at = (r / INNER * N + k) * INNER + r % INNER;
                terms[k] = x[at] * y[same ? k : at];
            }
            ek_reference_reduce("sum", EK_F32, N, terms, &wanted);
            if (memcmp(&out[r], &wanted, sizeof wanted) != 0)
                ck_abort_msg("%s, same_y %d: result %d is %a, not %a", place->name, same, r,
                             (double)out[r], (double)wanted);
        }
    }
}
END_TEST

static void refused(ek_status got, ek_status status, const char *words)
{
    ck_assert_int_eq(got, status);
    ck_assert_msg(strstr(ek_error_message(), words), "'%s' lacks '%s'", ek_error_message(), words);
}

START_TEST(refusals)
{
    const ek_place *places;
    ek_tested_places(&places);
    ek_queue *q = places[0].queue;
    const ek_device *device = ek_queue_device(q);
    float *m = ek_place_memory(&places[0], 1024);
    const int64_t huge = INT64_MAX / 2;
    refused(ek_dot_f32(q, -1, 2, 3, m, false, m, m), EK_INVALID_ARGUMENT, "outer is -1");
    refused(ek_dot_f32(q, 1, -2, 3, m, false, m, m), EK_INVALID_ARGUMENT, "n is -2");
    refused(ek_dot_f32(q, 1, 2, -3, m, false, m, m), EK_INVALID_ARGUMENT, "inner is -3");
    refused(ek_dot_f32(q, huge, huge, 1, m, false, m, m), EK_INVALID_ARGUMENT, "too many");
    refused(ek_dot_f32(q, huge, 0, huge, m, true, m, m), EK_INVALID_ARGUMENT, "too many");
    refused(ek_dot_f32(q, 1, 4, 1, NULL, false, m, m + 16), EK_INVALID_ARGUMENT, "x is null");
    refused(ek_dot_f32(q, 1, 4, 1, m, false, NULL, m + 16), EK_INVALID_ARGUMENT, "y is null");
    refused(ek_dot_f32(q, 1, 4, 1, m, false, m + 8, NULL), EK_INVALID_ARGUMENT, "out is null");
    refused(ek_dot_f32(q, 1, 4, 1, m, false, m + 8, m + 3), EK_OVERLAP, "overlaps x");
    refused(ek_dot_f32(q, 1, 4, 1, m, false, m + 8, m + 11), EK_OVERLAP, "overlaps y");
    must(ek_dot_f32(q, 1, 4, 1, m, false, m, m + 4)); /* x may be y */
    must(ek_dot_f32(q, 0, 4, 1, NULL, false, NULL, NULL));
    must(ek_dot_f32(q, 2, 0, 3, NULL, true, NULL, m));

    int64_t two[] = {2}, three[] = {3}, square[] = {2, 2}, five[] = {2, 5};
    int32_t axis = 1, twice[] = {0, -2};
    ek_array a = ek_array_view(m, EK_F32, device, 1, two);
    ek_array b = ek_array_view(m + 8, EK_F32, device, 1, three);
    ek_array c = ek_array_view(m + 8, EK_F64, device, 1, two);
    ek_array s = ek_array_view(m + 16, EK_F32, device, 2, square);
    ek_array h = ek_array_view(m + 16, EK_F16, device, 1, two);
    ek_array f = ek_array_view(m + 16, EK_F32, device, 2, five);
    ek_array out = ek_array_view(m + 32, EK_F32, device, 0, NULL);
    ek_array within = ek_array_view(m + 17, EK_F32, device, 1, two);
    refused(ek_dot(q, &a, &b, 0, NULL, false, &out), EK_SHAPE_MISMATCH, "(3,)");
    refused(ek_dot(q, &a, &c, 0, NULL, false, &out), EK_DTYPE_MISMATCH, "y is f64");
    refused(ek_distance_l1(q, &h, &h, 0, NULL, false, &out), EK_DTYPE_MISMATCH, "f16");
    refused(ek_dot(q, &a, &a, 1, &axis, false, &out), EK_INVALID_ARGUMENT, "axis is 1");
    refused(ek_dot(q, &s, &s, 2, twice, false, &out), EK_INVALID_ARGUMENT, "twice");
    refused(ek_dot(q, &s, &s, 1, &axis, false, &out), EK_SHAPE_MISMATCH, "must be (2,)");
    refused(ek_dot(q, &s, &s, 33, &axis, false, &out), EK_INVALID_ARGUMENT, "33");
    refused(ek_dot(q, &s, &a, 1, &axis, false, &within), EK_OVERLAP, "overlaps x");
    refused(ek_dot(q, &a, &s, 1, &axis, false, &within), EK_OVERLAP, "overlaps y");
    refused(ek_dot(q, &f, &a, 1, &axis, false, &out), EK_SHAPE_MISMATCH, "(2, 5)");
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("contraction");
    TCase *tests = tcase_create("contraction");
    tcase_set_timeout(tests, 0);
    tcase_add_loop_test(tests, layouts, 0, OPS);
    tcase_add_test(tests, typed_calls);
    tcase_add_test(tests, refusals);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return ek_run_at_places(suite, OPS + 2);
}
