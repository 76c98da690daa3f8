/* What docs/compositions.md says, on every place under test. EK_TEST_DEVICE=cuda tests a GPU. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "einkorn/arrange.h"
#include "einkorn/ops/add.h"
#include "einkorn/ops/arange.h"
#include "einkorn/ops/fill.h"
#include "einkorn/ops/max.h"
#include "einkorn/ops/packbits.h"
#include "einkorn/ops/pow.h"
#include "einkorn/ops/reciprocal.h"
#include "einkorn/ops/sum.h"
#include "einkorn/ops/tril.h"
#include "einkorn/ops/unpackbits.h"
#include "einkorn/ops/where.h"
#include "einkorn/view.h"
#include "place.h"

enum { ROOM = 64, ARRAYS = 8 }; /* numbers of an array, and arrays of a place's memory */

typedef struct scene {
    const ek_place *place;
    ek_queue *q;
    char *memory;
    int64_t shape[ARRAYS][2];
    int used;
} scene;

#define OK(call) ck_assert_msg((call) == EK_OK, "%s: %s", #call, ek_error_message())

/* A new array of float64 numbers; null: of anything. */
static ek_array make(scene *s, int32_t ndim, int64_t rows, int64_t columns, const double *numbers)
{
    int64_t *shape = s->shape[s->used];
    char *memory = s->memory + (size_t)s->used++ * ROOM * sizeof *numbers;
    ck_assert_int_le(s->used, ARRAYS);
    shape[0] = rows;
    shape[1] = columns;
    if (numbers)
        ek_upload(s->place, memory, numbers,
                  (size_t)(rows * (ndim > 1 ? columns : 1)) * sizeof *numbers);
    return ek_array_view(memory, EK_F64, ek_queue_device(s->q), ndim, shape);
}

static void expect(const scene *s, const ek_array *x, int64_t n, const double *numbers)
{
    double got[ROOM];
    ek_download(s->place, got, x->data, (size_t)n * sizeof *got);
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(got[i] == numbers[i], "%s: number %d is %g, should be %g", s->place->name,
                      (int)i, got[i], numbers[i]);
}

/* Copies a view to a new array and compares. */
static void expect_view(scene *s, const ek_view *v, const double *numbers)
{
    ek_array out = make(s, 2, v->shape[0], v->shape[1], NULL);
    OK(ek_copy(s->q, &out, &v->array));
    expect(s, &out, v->shape[0] * v->shape[1], numbers);
}

static void masked(scene *s)
{
    ek_array src = make(s, 1, 4, 0, (double[]){1, 2, 3, 4});
    ek_array dst = make(s, 1, 4, 0, (double[]){5, 6, 7, 8}), mask = make(s, 1, 4, 0, NULL);
    ek_upload(s->place, mask.data, (char[]){1, 0, 0, 1}, 4);
    mask.type = ek_array_view(NULL, EK_B8, NULL, 0, NULL).type;
    OK(ek_where(s->q, &mask, &src, &dst, &dst));
    expect(s, &dst, 4, (double[]){1, 6, 7, 4});
}

static void deleted_and_inserted(scene *s)
{
    ek_array x = make(s, 1, 5, 0, (double[]){1, 2, 3, 4, 5});
    ek_array y = make(s, 1, 2, 0, (double[]){8, 9});
    ek_array less = make(s, 1, 3, 0, NULL), more = make(s, 1, 7, 0, NULL);
    ek_view head, tail;
    OK(ek_slice(&x, 1, &(ek_range){EK_NONE, 1, 1}, &head));
    OK(ek_slice(&x, 1, &(ek_range){3, EK_NONE, 1}, &tail));
    OK(ek_concatenate(s->q, 2, (const ek_array *[]){&head.array, &tail.array}, 0, &less));
    expect(s, &less, 3, (double[]){1, 4, 5});
    OK(ek_slice(&x, 1, &(ek_range){1, EK_NONE, 1}, &tail));
    OK(ek_concatenate(s->q, 3, (const ek_array *[]){&head.array, &y, &tail.array}, 0, &more));
    expect(s, &more, 7, (double[]){1, 8, 9, 2, 3, 4, 5});
}

static void padded_with_maximum(scene *s)
{
    ek_array x = make(s, 2, 2, 2, (double[]){1, 5, 7, 3});
    ek_array out = make(s, 2, 2, 4, NULL), edge = make(s, 2, 2, 1, NULL);
    const int64_t before[] = {0, 2}, after[] = {0, 0};
    const int32_t axis = 1;
    ek_view slab;
    OK(ek_pad(s->q, &x, before, after, EK_PAD_EMPTY, NULL, &out));
    OK(ek_max(s->q, &x, 1, &axis, true, &edge));
    OK(ek_slice(&out, 2, (ek_range[]){EK_WHOLE, {0, 2, 1}}, &slab));
    OK(ek_copy(s->q, &slab.array, &edge));
    expect(s, &out, 8, (double[]){5, 5, 1, 5, 7, 7, 7, 3});
}

static void diagonals(scene *s)
{
    const double zero = 0, one = 1;
    ek_array out = make(s, 2, 3, 4, NULL), x = make(s, 1, 2, 0, (double[]){8, 9});
    ek_array square = make(s, 2, 3, 3, NULL);
    ek_view v;
    OK(ek_fill(s->q, &zero, &out));
    OK(ek_diagonal(&out, 1, 0, 1, &v));
    OK(ek_fill(s->q, &one, &v.array));
    expect(s, &out, 12, (double[]){0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
    OK(ek_fill(s->q, &zero, &square));
    OK(ek_diagonal(&square, -1, 0, 1, &v));
    OK(ek_copy(s->q, &v.array, &x));
    expect(s, &square, 9, (double[]){0, 0, 0, 8, 0, 0, 0, 9, 0});
    OK(ek_fill(s->q, &one, &square));
    OK(ek_tril(s->q, &square, 0, &square));
    expect(s, &square, 9, (double[]){1, 0, 0, 1, 1, 0, 1, 1, 1});
}

static void grids(scene *s)
{
    ek_array numbers = make(s, 1, 2, 0, NULL), exponents = make(s, 1, 3, 0, NULL);
    ek_array x = make(s, 1, 2, 0, (double[]){2, 3}), out = make(s, 2, 2, 3, NULL);
    const int64_t shape[] = {2, 3};
    ek_view v, column;
    OK(ek_arange(s->q, 0, 1, &numbers));
    OK(ek_expand_dims(&numbers, 1, (int32_t[]){1}, &v));
    OK(ek_broadcast_to(&v.array, 2, shape, &v));
    expect_view(s, &v, (double[]){0, 0, 0, 1, 1, 1});
    OK(ek_arange(s->q, 2, -1, &exponents));
    OK(ek_expand_dims(&x, 1, (int32_t[]){1}, &column));
    OK(ek_pow(s->q, &column.array, &exponents, &out));
    expect(s, &out, 6, (double[]){4, 2, 1, 9, 3, 1});
}

static void special_matrices(scene *s)
{
    ek_array c = make(s, 1, 2, 0, (double[]){1, 2}), r = make(s, 1, 3, 0, (double[]){1, 8, 9});
    ek_array edge = make(s, 1, 4, 0, NULL), numbers = make(s, 1, 3, 0, NULL);
    const int64_t three = 3, two = 2;
    ek_view back, v;
    OK(ek_slice(&r, 1, &(ek_range){EK_NONE, 0, -1}, &back));
    OK(ek_concatenate(s->q, 2, (const ek_array *[]){&back.array, &c}, 0, &edge));
    OK(ek_sliding_window(&edge, 1, (int32_t[]){0}, &three, &v));
    OK(ek_flip(&v.array, 1, (int32_t[]){1}, &v));
    expect_view(s, &v, (double[]){1, 8, 9, 2, 1, 8});
    OK(ek_arange(s->q, 1, 1, &numbers));
    OK(ek_reciprocal(s->q, &numbers, &numbers));
    OK(ek_sliding_window(&numbers, 1, (int32_t[]){0}, &two, &v));
    expect_view(s, &v, (double[]){1, 0.5, 0.5, 1.0 / 3});
}

static void backward(scene *s)
{
    ek_array dx = make(s, 2, 2, 3, (double[]){1, 1, 1, 1, 1, 1});
    ek_array dy = make(s, 2, 3, 2, (double[]){1, 2, 3, 4, 5, 6}), part = dy;
    ek_array row = make(s, 2, 1, 3, NULL);
    int64_t shape[] = {2, 2};
    ek_view dv;
    OK(ek_permute(&dx, NULL, &dv));
    OK(ek_add(s->q, &dv.array, &dy, &dv.array));
    expect(s, &dx, 6, (double[]){2, 4, 6, 3, 5, 7});
    OK(ek_slice(&dx, 2, (ek_range[]){EK_WHOLE, {EK_NONE, EK_NONE, -2}}, &dv));
    part.shape = shape;
    OK(ek_add(s->q, &dv.array, &part, &dv.array));
    expect(s, &dx, 6, (double[]){4, 4, 7, 7, 5, 10});
    OK(ek_sum(s->q, &dx, 1, (int32_t[]){0}, true, &row));
    expect(s, &row, 3, (double[]){11, 9, 17});
}

static void packed(scene *s)
{
    static const unsigned char truths[] = {1, 0, 0, 2, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0, 1};
    static const unsigned char ones[] = {1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1};
    unsigned char got[16];
    ek_array x = make(s, 1, 16, 0, NULL), bits = make(s, 1, 2, 0, NULL),
             back = make(s, 1, 16, 0, NULL);
    ek_view words;
    ek_upload(s->place, x.data, truths, sizeof truths);
    x.type = bits.type = back.type = ek_array_view(NULL, EK_U8, NULL, 0, NULL).type;
    for (int little = 0; little < 2; little++) {
        OK(ek_bit_cast(&x, EK_U64, &words));
        OK(ek_packbits(s->q, &words.array, little, &bits));
        ek_download(s->place, got, bits.data, 2);
        ck_assert(got[0] == (little ? 0x89 : 0x91) && got[1] == (little ? 0x80 : 0x01));
        OK(ek_bit_cast(&back, EK_U64, &words));
        OK(ek_unpackbits(s->q, &bits, little, &words.array));
        ek_download(s->place, got, back.data, sizeof got);
        ck_assert(memcmp(got, ones, sizeof got) == 0);
    }
}

static void (*const compositions[])(scene *s) = {
    masked,  deleted_and_inserted, padded_with_maximum, diagonals, grids, special_matrices, packed,
    backward};
enum { COMPOSITIONS = sizeof compositions / sizeof compositions[0] };

START_TEST(composition)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int i = 0; i < count; i++) {
        scene s = {.place = &places[i], .q = places[i].queue};
        s.memory = ek_place_memory(s.place, ARRAYS * ROOM * sizeof(double));
        compositions[_i](&s);
    }
}
END_TEST

static Suite *compositions_suite(void)
{
    Suite *suite = suite_create("compositions");
    TCase *all = tcase_create("compositions");
    tcase_add_loop_test(all, composition, 0, COMPOSITIONS);
    suite_add_tcase(suite, all);
    return suite;
}

int main(void)
{
    return ek_run_at_places(compositions_suite, COMPOSITIONS);
}
