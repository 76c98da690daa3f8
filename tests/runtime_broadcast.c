/* ek_broadcast, and shapes that array calls must take or refuse. */
#include <stdint.h>
#include <stdio.h>

#include "check_runtime.h"
#include "einkorn/array.h"
#include "einkorn/ops/add.h"
#include "einkorn/ops/neg.h"

enum { MOST = 4 };

/* A shape as text: digits, "-" for none. */
static int32_t parse(const char *text, int64_t *shape)
{
    int32_t ndim = 0;
    for (; *text && *text != '-'; text++)
        shape[ndim++] = *text - '0';
    return ndim;
}

static void broadcast(const char *a, const char *b, const char *wanted)
{
    int64_t shape[3][MOST], got[EK_MAX_NDIM];
    int32_t ndim = -1;
    ek_array x = ek_array_view(NULL, EK_F32, ek_cpu, parse(a, shape[0]), shape[0]);
    ek_array y = ek_array_view(NULL, EK_F32, ek_cpu, parse(b, shape[1]), shape[1]);
    const ek_array *both[] = {&x, &y};
    if (!wanted) {
        EK_MUST_REFUSE(ek_broadcast(2, both, &ndim, got), EK_SHAPE_MISMATCH, "ek_broadcast");
        ck_assert_int_eq(ndim, -1);
        return;
    }
    EK_MUST(ek_broadcast(2, both, &ndim, got));
    int32_t want = parse(wanted, shape[2]);
    ck_assert_msg(ndim == want, "%s and %s: %d dimensions", a, b, (int)ndim);
    for (int32_t d = 0; d < want; d++)
        ck_assert_msg(got[d] == shape[2][d], "%s and %s: length %lld", a, b, (long long)got[d]);
}

/* O039 */
START_TEST(shapes_broadcast)
{
    broadcast("1", "0", "0");
    broadcast("0", "1", "0");
    broadcast("05", "15", "05");
    broadcast("20", "21", "20");
    broadcast("3", "0", NULL);
    broadcast("0", "3", NULL);
    broadcast("-", "12", "12");
    broadcast("-", "-", "-");
    broadcast("-", "0", "0");
    broadcast("234", "4", "234");
    broadcast("234", "31", "234");
    broadcast("214", "131", "234");
    broadcast("2", "3", NULL);
    broadcast("23", "2", NULL);
    broadcast("1111", "2", "1112");
}
END_TEST

START_TEST(broadcast_of_none_and_of_wrong)
{
    int64_t got[EK_MAX_NDIM], shape[] = {-2};
    int32_t ndim = -1;
    EK_MUST(ek_broadcast(0, NULL, &ndim, got));
    EK_MUST_REFUSE(ek_broadcast(-1, NULL, &ndim, got), EK_INVALID_ARGUMENT, "count is -1");
    EK_MUST_REFUSE(ek_broadcast(1, NULL, &ndim, got), EK_INVALID_ARGUMENT, "arrays is null");
    EK_MUST_REFUSE(ek_broadcast(0, NULL, NULL, got), EK_INVALID_ARGUMENT, "ndim is null");
    EK_MUST_REFUSE(ek_broadcast(0, NULL, &ndim, NULL), EK_INVALID_ARGUMENT, "shape is null");
    ck_assert_int_eq(ndim, 0);
    ek_array x = ek_array_view(NULL, EK_F32, ek_cpu, 1, shape);
    const ek_array *wrong[] = {&x}, *null[] = {NULL};
    EK_MUST_REFUSE(ek_broadcast(1, wrong, &ndim, got), EK_INVALID_ARGUMENT, "(-2,)");
    EK_MUST_REFUSE(ek_broadcast(1, null, &ndim, got), EK_INVALID_ARGUMENT, "null");
}
END_TEST

/* O045 */
START_TEST(scalar_plus_row)
{
    float five = 5, row[] = {1, 2}, sum[2] = {0, 0};
    int64_t two[] = {2};
    ek_array x = ek_array_view(&five, EK_F32, ek_cpu, 0, NULL);
    ek_array y = ek_array_view(row, EK_F32, ek_cpu, 1, two);
    ek_array out = ek_array_view(sum, EK_F32, ek_cpu, 1, two);
    EK_MUST(ek_add(ek_cpu_queue, &x, &y, &out));
    ck_assert_float_eq(sum[0], 6);
    ck_assert_float_eq(sum[1], 7);
}
END_TEST

/* O042; tests/check_every_row.c does this to every operation. */
START_TEST(empty_arrays_need_no_data)
{
    static const char *const shapes[] = {"0", "02", "0020", "20"};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        int64_t shape[MOST];
        int32_t ndim = parse(shapes[i], shape);
        ek_array x = ek_array_view(NULL, EK_F32, ek_cpu, ndim, shape), out = x;
        EK_MUST(ek_neg(ek_cpu_queue, &x, &out));
        EK_MUST(ek_add(ek_cpu_queue, &x, &x, &out));
    }
    EK_MUST(ek_neg_f32(ek_cpu_queue, 0, NULL, NULL));
}
END_TEST

/* O044 */
START_TEST(empty_is_not_one_element)
{
    float value = 7;
    int64_t none[] = {0};
    ek_array x = ek_array_view(NULL, EK_F32, ek_cpu, 1, none);
    ek_array out = ek_array_view(&value, EK_F32, ek_cpu, 0, NULL);
    EK_MUST_REFUSE(ek_neg(ek_cpu_queue, &x, &out), EK_SHAPE_MISMATCH, "ek_neg");
    EK_MUST_REFUSE(ek_copy(ek_cpu_queue, &out, &x), EK_SHAPE_MISMATCH, "ek_copy");
    ck_assert_float_eq(value, 7);
}
END_TEST

START_TEST(most_dimensions)
{
    float x[2] = {1, -2}, out[2] = {0, 0};
    int64_t shape[EK_MAX_NDIM];
    for (int d = 0; d < EK_MAX_NDIM; d++)
        shape[d] = d == 15 ? 2 : 1;
    ek_array in = ek_array_view(x, EK_F32, ek_cpu, EK_MAX_NDIM, shape);
    ek_array result = ek_array_view(out, EK_F32, ek_cpu, EK_MAX_NDIM, shape);
    EK_MUST(ek_neg(ek_cpu_queue, &in, &result));
    ck_assert_float_eq(out[1], 2);
    /* Every second dimension transposed: nothing merges. */
    enum { LOG = 12 };
    static float many[1 << LOG], turned[1 << LOG];
    int64_t stride[EK_MAX_NDIM];
    for (int d = 0; d < LOG; d++) {
        shape[d] = 2;
        stride[d] = INT64_C(1) << d;
    }
    for (int i = 0; i < 1 << LOG; i++)
        many[i] = (float)i;
    in = ek_array_view(many, EK_F32, ek_cpu, LOG, shape);
    in.strides = stride;
    result = ek_array_view(turned, EK_F32, ek_cpu, LOG, shape);
    EK_MUST(ek_neg(ek_cpu_queue, &in, &result));
    for (int i = 0; i < 1 << LOG; i++) {
        int reversed = 0;
        for (int d = 0; d < LOG; d++)
            reversed |= (i >> d & 1) << (LOG - 1 - d);
        ck_assert_float_eq(turned[i], (float)-reversed);
    }
}
END_TEST

TCase *ek_broadcast_case(void)
{
    TCase *broadcast = tcase_create("broadcast");
    tcase_add_checked_fixture(broadcast, ek_open_cpu, ek_close_cpu);
    tcase_add_test(broadcast, shapes_broadcast);
    tcase_add_test(broadcast, broadcast_of_none_and_of_wrong);
    tcase_add_test(broadcast, scalar_plus_row);
    tcase_add_test(broadcast, empty_arrays_need_no_data);
    tcase_add_test(broadcast, empty_is_not_one_element);
    tcase_add_test(broadcast, most_dimensions);
    return broadcast;
}
