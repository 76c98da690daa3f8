/* ek_roll on every place under test. EK_TEST_DEVICE=cuda tests a GPU; without one all is skipped.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "einkorn/array.h"
#include "place.h"
#include "values.h"

enum { BYTES = 1 << 20 };

/* An array of three dimensions at `offset` elements into memory. */
typedef struct view {
    int64_t offset, stride[3];
} view;

static int64_t element(const view *view, const int64_t *index)
{
    int64_t at = view->offset;
    for (int d = 0; d < 3; d++)
        at += index[d] * view->stride[d];
    return at;
}

static int64_t modulo(int64_t a, int64_t n)
{
    return a % n < 0 ? a % n + n : a % n;
}

/* What rolling x by `shift` along every axis leaves in the memory of out. */
static void expect(const int64_t *shape, const int64_t *shift, size_t size, const view *x,
                   const char *from, const view *out, char *to)
{
    int64_t i[3], rolled[3];
    for (i[0] = 0; i[0] < shape[0]; i[0]++)
        for (i[1] = 0; i[1] < shape[1]; i[1]++)
            for (i[2] = 0; i[2] < shape[2]; i[2]++) {
                for (int d = 0; d < 3; d++)
                    rolled[d] = modulo(i[d] + shift[d] % shape[d], shape[d]);
                memcpy(to + (size_t)element(out, rolled) * size,
                       from + (size_t)element(x, i) * size, size);
            }
}

static ek_array array_of(const ek_place *place, char *memory, ek_dtype dtype, int64_t *shape,
                         view *view)
{
    ek_array array = ek_array_view(memory, dtype, ek_queue_device(place->queue), 3, shape);
    array.byte_offset = (uint64_t)view->offset * ek_dtype_size(dtype);
    array.strides = view->stride;
    return array;
}

static void check(ek_dtype dtype, int64_t *shape, const int64_t *shift, view *x, view *out)
{
    static char before[2 * BYTES], wanted[2 * BYTES], after[2 * BYTES];
    static const int32_t axes[] = {0, 1, -1, 1};
    const ek_place *places;
    int count = ek_tested_places(&places);
    ek_random_values(EK_U8, 7, sizeof before, before);
    memcpy(wanted, before, sizeof before);
    expect(shape, shift, ek_dtype_size(dtype), x, before, out, wanted + BYTES);
    /* The second axis is named twice. */
    const int64_t shifts[] = {shift[0], shift[1] - 2, shift[2], 2};
    for (int i = 0; i < count; i++) {
        char *memory = ek_place_memory(&places[i], sizeof before);
        ek_upload(&places[i], memory, before, sizeof before);
        ek_array from = array_of(&places[i], memory, dtype, shape, x);
        ek_array to = array_of(&places[i], memory + BYTES, dtype, shape, out);
        ek_status status = ek_roll(places[i].queue, &from, 4, shifts, axes, &to);
        ck_assert_msg(status == EK_OK, "%s: %s", places[i].name, ek_error_message());
        ek_download(&places[i], after, memory, sizeof after);
        ck_assert_msg(memcmp(after, wanted, sizeof after) == 0,
                      "%s, %s: shape (%d, %d, %d), shifts %d, %d, %d", places[i].name,
                      ek_dtype_name(dtype), (int)shape[0], (int)shape[1], (int)shape[2],
                      (int)shift[0], (int)shift[1], (int)shift[2]);
    }
}

START_TEST(every_dtype)
{
    static const int64_t shifts[][3] = {{0, 0, 0},  {0, 0, 1},   {0, 3, 0},          {1, 0, 0},
                                        {0, 2, -5}, {4, -9, 77}, {-1000003, 1, 1000}};
    int64_t shape[] = {5, 23, 68};
    view plain = {0, {23 * 68, 68, 1}}, skewed = {3, {24 * 69, 69, 1}};
    view turned = {1, {1, 5, 5 * 23}}, backward = {5 * 23 * 68, {-23 * 68, 68, -1}};
    backward.offset -= 68 * 22 + 1;
    view *views[] = {&plain, &skewed, &turned, &backward};
    for (size_t i = 0; i < sizeof shifts / sizeof shifts[0]; i++)
        for (int v = 0; v < 4; v++)
            check((ek_dtype)_i, shape, shifts[i], views[v], views[(v + i) % 4]);
}
END_TEST

START_TEST(lengths_of_none_and_one)
{
    static const int64_t shift[] = {3, -1, 2};
    int64_t none[] = {4, 0, 3}, one[] = {1, 1, 1}, two[] = {1, 2, 1};
    view view = {0, {3, 1, 1}};
    check(EK_F32, one, shift, &view, &view);
    check(EK_F32, two, shift, &view, &view);
    const ek_place *places;
    ek_tested_places(&places);
    ek_array empty = ek_array_view(NULL, EK_F32, ek_queue_device(places->queue), 3, none);
    ck_assert_int_eq(ek_roll(places->queue, &empty, 1, shift, &(int32_t){0}, &empty), EK_OK);
}
END_TEST

static void refused(ek_status status, ek_status wanted, const char *word)
{
    ck_assert_int_eq(status, wanted);
    ck_assert_msg(strncmp(ek_error_message(), "ek_roll: ", 9) == 0, "%s", ek_error_message());
    ck_assert_msg(strstr(ek_error_message(), word), "%s", ek_error_message());
}

START_TEST(refusals)
{
    const ek_place *places;
    ek_tested_places(&places);
    ek_queue *queue = places->queue;
    const ek_device *device = ek_queue_device(queue);
    int64_t shape[] = {2, 3}, other[] = {3, 2}, shift[] = {1}, zero[] = {0, 1};
    int32_t axis[] = {1}, wrong[] = {2}, low[] = {-3};
    char *memory = ek_place_memory(places, BYTES);
    ek_array x = ek_array_view(memory, EK_F32, device, 2, shape);
    ek_array out = ek_array_view(memory + 512, EK_F32, device, 2, shape);
    refused(ek_roll(NULL, &x, 1, shift, axis, &out), EK_INVALID_ARGUMENT, "queue");
    refused(ek_roll(queue, NULL, 1, shift, axis, &out), EK_INVALID_ARGUMENT, "x is null");
    refused(ek_roll(queue, &x, 1, shift, axis, NULL), EK_INVALID_ARGUMENT, "out is null");
    refused(ek_roll(queue, &x, -1, shift, axis, &out), EK_INVALID_ARGUMENT, "count is -1");
    refused(ek_roll(queue, &x, 1, NULL, axis, &out), EK_INVALID_ARGUMENT, "shifts is null");
    refused(ek_roll(queue, &x, 1, shift, NULL, &out), EK_INVALID_ARGUMENT, "axes is null");
    refused(ek_roll(queue, &x, 1, shift, wrong, &out), EK_INVALID_ARGUMENT, "axis is 2");
    refused(ek_roll(queue, &x, 1, shift, low, &out), EK_INVALID_ARGUMENT, "axis is -3");
    refused(ek_roll(queue, &x, 1, shift, axis, &x), EK_OVERLAP, "overlaps x");
    out.strides = zero;
    refused(ek_roll(queue, &x, 1, shift, axis, &out), EK_OVERLAP, "overlaps itself");
    out.strides = NULL;
    out.shape = other;
    refused(ek_roll(queue, &x, 1, shift, axis, &out), EK_SHAPE_MISMATCH, "(3, 2)");
    out.ndim = 1;
    refused(ek_roll(queue, &x, 1, shift, axis, &out), EK_SHAPE_MISMATCH, "(3,)");
    out = ek_array_view(memory + 512, EK_I32, device, 2, shape);
    refused(ek_roll(queue, &x, 1, shift, axis, &out), EK_DTYPE_MISMATCH, "i32");
}
END_TEST

static Suite *roll_suite(void)
{
    Suite *suite = suite_create("roll");
    TCase *all = tcase_create("roll");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, every_dtype, 0, EK_DTYPES);
    tcase_add_test(all, lengths_of_none_and_one);
    tcase_add_test(all, refusals);
    suite_add_tcase(suite, all);
    return suite;
}

int main(void)
{
    return ek_run_at_places(roll_suite, EK_DTYPES + 2);
}
