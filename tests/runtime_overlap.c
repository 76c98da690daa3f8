/* Which views share memory, and what array calls make of it. */
#include <stdint.h>

#include "check_runtime.h"
#include "einkorn/array.h"
#include "einkorn/ops/copy.h"
#include "einkorn/ops/neg.h"
#include "einkorn/ops/sub.h"
#include "layout.h"
#include "values.h"

enum { CELLS = 64, TRIES = 20000 };

static char memory[8 * CELLS];

/* A view of `memory` from a byte on; steps in elements. */
static ek_operand view(ek_dtype dtype, int64_t first, int32_t ndim, int64_t *shape, int64_t *stride)
{
    ek_operand operand;
    ek_array array = ek_array_view(memory, dtype, ek_cpu, ndim, shape);
    array.byte_offset = (uint64_t)first;
    array.strides = stride;
    EK_MUST(ek_operand_init("test", "array", ek_cpu_queue, &array, &operand));
    return operand;
}

START_TEST(views_that_overlap_themselves)
{
    static const struct {
        int64_t shape[3], stride[3];
        int overlaps;
    } cases[] = {
        {{2, 3, 4}, {12, 4, 1}, 0}, {{2, 3, 4}, {1, 2, 6}, 0}, {{2, 3, 4}, {-12, 4, -1}, 0},
        {{2, 3, 4}, {12, 4, 0}, 1}, {{1, 1, 1}, {0, 0, 0}, 0}, {{0, 3, 4}, {0, 0, 0}, 0},
        {{1, 7, 2}, {99, 1, 2}, 1}, {{1, 2, 8}, {0, 2, 1}, 1}, {{2, 2, 2}, {1, 2, 3}, 1},
        {{2, 2, 2}, {1, -2, 4}, 0}, {{3, 1, 4}, {4, 0, 1}, 0}, {{3, 1, 4}, {3, 0, 1}, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ek_operand a = view(EK_I32, 256, 3, (int64_t *)cases[i].shape, (int64_t *)cases[i].stride);
        ck_assert_msg(ek_self_overlaps(&a) == cases[i].overlaps, "case %zu", i);
    }
}
END_TEST

/* Marks the bytes of a view; returns 1 if one was marked already. */
static int mark(const ek_operand *a, char *bytes)
{
    int64_t size = (int64_t)ek_dtype_size(a->dtype);
    int met = 0;
    for (int64_t i = 0; i < a->size; i++) {
        int64_t rest = i, at = (char *)a->data - memory;
        for (int32_t d = a->ndim - 1; d >= 0; d--) {
            at += rest % a->shape[d] * a->stride[d] * size;
            rest /= a->shape[d];
        }
        for (int64_t b = 0; b < size; b++)
            met |= bytes[at + b]++;
    }
    return met;
}

/* A random view of two dimensions that stays in the memory. */
static ek_operand random_view(uint64_t seed, int64_t *shape, int64_t *stride)
{
    static const ek_dtype dtypes[] = {EK_I8, EK_I16, EK_I32};
    ek_dtype dtype = dtypes[ek_random(seed, 0) % 3];
    for (int d = 0; d < 2; d++) {
        shape[d] = (int64_t)(ek_random(seed, 2 * (uint64_t)d + 1) % 5);
        stride[d] = (int64_t)(ek_random(seed, 2 * (uint64_t)d + 2) % 11) - 5;
    }
    /* The most negative start is 4 * 5 * 2 elements of 4 bytes below the middle. */
    int64_t first = (int64_t)sizeof memory / 2 + (int64_t)(ek_random(seed, 9) % 64);
    return view(dtype, first, 2, shape, stride);
}

START_TEST(overlap_agrees_with_marking)
{
    for (uint64_t seed = 0; seed < TRIES; seed++) {
        int64_t shape[2][2], stride[2][2];
        char bytes[sizeof memory] = {0};
        ek_operand a = random_view(2 * seed, shape[0], stride[0]);
        ek_operand b = random_view(2 * seed + 1, shape[1], stride[1]);
        int self = mark(&a, bytes);
        /* A view may be refused that does not overlap itself, but never the other way round. */
        if (self && !ek_self_overlaps(&a))
            ck_abort_msg("seed %llu: a self-overlap is not seen", (unsigned long long)seed);
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = bytes[i] != 0;
        char others[sizeof memory] = {0};
        mark(&b, others);
        bool shared = false;
        for (size_t i = 0; i < sizeof bytes; i++)
            shared |= bytes[i] && others[i];
        if (ek_overlaps(&a, &b) != shared || ek_overlaps(&b, &a) != shared)
            ck_abort_msg("seed %llu: overlap is %d", (unsigned long long)seed, shared);
    }
}
END_TEST

START_TEST(hard_equations_end)
{
    /* Many dimensions with awkward steps: the answer may be "shared", but must come soon. */
    int64_t shape[EK_MAX_NDIM], a_stride[EK_MAX_NDIM], b_stride[EK_MAX_NDIM];
    static char large[1 << 22];
    for (int d = 0; d < EK_MAX_NDIM; d++) {
        shape[d] = 2;
        a_stride[d] = 6 * (INT64_C(1009) * (d + 1) % 701);
        b_stride[d] = 6 * (INT64_C(2003) * (d + 3) % 811);
    }
    ek_operand a, b;
    ek_array x = ek_array_view(large, EK_I8, ek_cpu, EK_MAX_NDIM, shape);
    x.strides = a_stride;
    EK_MUST(ek_operand_init("test", "x", ek_cpu_queue, &x, &a));
    x.data = large + 1;
    x.strides = b_stride;
    EK_MUST(ek_operand_init("test", "y", ek_cpu_queue, &x, &b));
    ck_assert(!ek_overlaps(&a, &b)); /* all steps are multiples of 6, the distance is not */
    x.data = large + 6;
    EK_MUST(ek_operand_init("test", "y", ek_cpu_queue, &x, &b));
    ek_overlaps(&a, &b);
}
END_TEST

START_TEST(interleaved_columns)
{
    float cells[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    int64_t four[] = {4}, two[] = {2};
    ek_array even = ek_array_view(cells, EK_F32, ek_cpu, 1, four);
    even.strides = two;
    ek_array odd = even;
    odd.byte_offset = sizeof(float);
    EK_MUST(ek_neg(ek_cpu_queue, &even, &odd));
    for (int i = 0; i < 4; i++)
        ck_assert_float_eq(cells[2 * i + 1], -cells[2 * i]);
}
END_TEST

START_TEST(long_interleaved_columns)
{
    /* Far more elements than the search for a shared byte may look at one by one. */
    enum { PAIRS = 1 << 17 };
    static float cells[2 * PAIRS];
    int64_t shape[] = {PAIRS}, two[] = {2};
    ek_array even = ek_array_view(cells, EK_F32, ek_cpu, 1, shape);
    even.strides = two;
    ek_array odd = even;
    odd.byte_offset = sizeof(float);
    for (int i = 0; i < PAIRS; i++)
        cells[2 * i] = (float)i;
    EK_MUST(ek_neg(ek_cpu_queue, &even, &odd));
    for (int i = 0; i < PAIRS; i++)
        ck_assert_float_eq(cells[2 * i + 1], -cells[2 * i]);
    odd.byte_offset = 2 * sizeof(float);
    shape[0] = PAIRS - 1;
    EK_MUST_REFUSE(ek_neg(ek_cpu_queue, &even, &odd), EK_OVERLAP, "out at");
}
END_TEST

START_TEST(strides_beyond_memory_are_refused)
{
    static const int64_t far[] = {INT64_MIN,        INT64_MIN + 1,    -(INT64_C(1) << 59),
                                  INT64_C(1) << 58, INT64_C(1) << 62, INT64_MAX};
    float cells[4] = {1, 2, 3, 4}, results[4] = {-1, -1, -1, -1};
    int64_t shape[] = {2, 2}, plane[] = {1, 2};
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        int64_t stride[] = {far[i], 1};
        ek_array x = ek_array_view(cells, EK_F32, ek_cpu, 2, shape);
        ek_array out = ek_array_view(results, EK_F32, ek_cpu, 2, shape);
        x.strides = stride;
        EK_MUST_REFUSE(ek_neg(ek_cpu_queue, &x, &out), EK_INVALID_ARGUMENT, "x has a stride");
        EK_MUST_REFUSE(ek_copy(ek_cpu_queue, &out, &x), EK_INVALID_ARGUMENT, "src has a stride");
        x.strides = NULL;
        out.strides = stride;
        EK_MUST_REFUSE(ek_neg(ek_cpu_queue, &x, &out), EK_INVALID_ARGUMENT, "out has a stride");
        for (int k = 0; k < 4; k++)
            ck_assert_float_eq(results[k], -1);
    }
    /* Of a dimension of one element, a stride means nothing. */
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        int64_t stride[] = {far[i], 1};
        ek_array x = ek_array_view(cells, EK_F32, ek_cpu, 2, plane);
        ek_array out = ek_array_view(results, EK_F32, ek_cpu, 2, plane);
        x.strides = out.strides = stride;
        EK_MUST(ek_neg(ek_cpu_queue, &x, &out));
        ck_assert_float_eq(results[1], -2);
    }
    ek_array x = ek_array_view(cells, EK_F32, ek_cpu, 2, shape);
    ek_array out = ek_array_view(results, EK_F32, ek_cpu, 2, shape);
    x.byte_offset = UINT64_MAX;
    EK_MUST_REFUSE(ek_neg(ek_cpu_queue, &x, &out), EK_INVALID_ARGUMENT, "x has byte_offset");
}
END_TEST

/* O031 */
START_TEST(reversed_planes)
{
    enum { ROWS = 300, COLUMNS = 10 };
    static double image[ROWS][COLUMNS][2], out[ROWS][COLUMNS];
    double quarter = 0.25;
    for (int i = 0; i < ROWS * COLUMNS * 2; i++)
        (&image[0][0][0])[i] = i;
    int64_t shape[] = {ROWS, COLUMNS}, stride[] = {-2 * COLUMNS, 2};
    ek_array x = ek_array_view(image[ROWS - 1], EK_F64, ek_cpu, 2, shape);
    x.strides = stride;
    ek_array y = ek_array_view(&quarter, EK_F64, ek_cpu, 0, NULL);
    ek_array result = ek_array_view(out, EK_F64, ek_cpu, 2, shape);
    EK_MUST(ek_sub(ek_cpu_queue, &x, &y, &result));
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++)
            ck_assert_double_eq(out[i][j], image[ROWS - 1 - i][j][0] - 0.25);
    }
}
END_TEST

/* O032 */
START_TEST(shifted_differences_are_refused)
{
    for (int64_t n = 2; n <= 70; n++) {
        float x[70];
        int64_t length[] = {n - 1};
        for (int i = 0; i < 70; i++)
            x[i] = (float)(1 << i % 20);
        ek_array head = ek_array_view(x, EK_F32, ek_cpu, 1, length);
        ek_array tail = ek_array_view(x + 1, EK_F32, ek_cpu, 1, length);
        ek_status status = ek_sub(ek_cpu_queue, &tail, &head, &tail);
        ck_assert_int_eq(status, n > 2 ? EK_OVERLAP : EK_OK);
        for (int i = 0; i < 70 && n > 2; i++)
            ck_assert_float_eq(x[i], (float)(1 << i % 20));
    }
}
END_TEST

/* O035: refused whatever the width, but for one column, which is the array itself. */
START_TEST(first_column_from_all)
{
    for (int64_t n = 2; n <= 70; n++) {
        float a[140];
        for (int i = 0; i < 140; i++)
            a[i] = 1;
        int64_t shape[] = {2, n}, repeated[] = {n, 0};
        ek_array x = ek_array_view(a, EK_F32, ek_cpu, 2, shape), column = x;
        column.strides = repeated;
        EK_MUST_REFUSE(ek_sub(ek_cpu_queue, &x, &column, &x), EK_OVERLAP, "ek_sub: out");
        ck_assert_float_eq(a[0], 1);
    }
}
END_TEST

/* O033, O036, O037 */
START_TEST(outputs_that_overlap_themselves_are_refused)
{
    int32_t cells[14] = {0}, values[14] = {1};
    int64_t shape[] = {7, 2}, shared[] = {1, 2}, none[] = {0, 1}, zero[] = {0}, ten[] = {10};
    ek_array dst = ek_array_view(cells, EK_I32, ek_cpu, 2, shape);
    ek_array src = ek_array_view(values, EK_I32, ek_cpu, 2, shape);
    dst.strides = shared;
    EK_MUST_REFUSE(ek_copy(ek_cpu_queue, &dst, &src), EK_OVERLAP, "ek_copy: dst");
    dst.strides = none;
    EK_MUST_REFUSE(ek_sub(ek_cpu_queue, &dst, &src, &dst), EK_OVERLAP, "ek_sub: out");
    dst = ek_array_view(cells, EK_I32, ek_cpu, 1, ten);
    src = ek_array_view(values, EK_I32, ek_cpu, 1, ten);
    dst.strides = zero;
    EK_MUST_REFUSE(ek_copy(ek_cpu_queue, &dst, &src), EK_OVERLAP, "ek_copy: dst");
    EK_MUST_REFUSE(ek_neg(ek_cpu_queue, &dst, &dst), EK_OVERLAP, "ek_neg: out");
    ck_assert_int_eq(cells[0], 0);
}
END_TEST

TCase *ek_overlap_case(void)
{
    TCase *overlap = tcase_create("overlap");
    tcase_add_checked_fixture(overlap, ek_open_cpu, ek_close_cpu);
    tcase_set_timeout(overlap, 60);
    tcase_add_test(overlap, views_that_overlap_themselves);
    tcase_add_test(overlap, overlap_agrees_with_marking);
    tcase_add_test(overlap, hard_equations_end);
    tcase_add_test(overlap, interleaved_columns);
    tcase_add_test(overlap, long_interleaved_columns);
    tcase_add_test(overlap, strides_beyond_memory_are_refused);
    tcase_add_test(overlap, reversed_planes);
    tcase_add_test(overlap, shifted_differences_are_refused);
    tcase_add_test(overlap, first_column_from_all);
    tcase_add_test(overlap, outputs_that_overlap_themselves_are_refused);
    return overlap;
}
