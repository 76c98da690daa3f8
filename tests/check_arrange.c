/* Joining, repeating and padding on every place under test, against models that know no strides:
 * random shapes, layouts and element sizes. EK_TEST_DEVICE=cuda tests a GPU. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "einkorn/arrange.h"
#include "einkorn/program.h"
#include "einkorn/view.h"
#include "place.h"
#include "values.h"
#include "view_model.h"

enum { BYTES = 1 << 20, TRIALS = 300, MOST_ARRAYS = 170, NDIM = 4 };

static char before[BYTES], wanted[BYTES], after[BYTES];
static int64_t used; /* of them */
static uint64_t seed, drawn;

static int64_t draw(int64_t low, int64_t high)
{
    return low + (int64_t)(ek_random(seed, drawn++) % (uint64_t)(high - low + 1));
}

static const ek_dtype dtypes[] = {EK_B8, EK_F16, EK_F32, EK_I64, EK_C64, EK_C128};

static void begin(uint64_t number)
{
    seed = number;
    drawn = 0;
    used = 0;
    ek_random_values(EK_U8, number + 1, sizeof before, before);
    memcpy(wanted, before, sizeof before);
}

/* An array of that shape somewhere in memory that no other has: in C order, at a boundary of 16 or
 * not, or with gaps, its axes in any order and direction. */
static void some_array(ek_dtype dtype, int32_t ndim, const int64_t *shape, bool plain,
                       ek_view *view)
{
    int64_t room[NDIM] = {1, 1, 1, 1}, elements = 1, size = (int64_t)ek_dtype_size(dtype);
    int32_t order[NDIM], back[NDIM];
    ek_range ranges[NDIM];
    bool turned = !plain && draw(0, 1);
    for (int32_t d = 0; d < ndim; d++)
        order[d] = d;
    for (int32_t d = ndim - 1; d > 0 && turned; d--) {
        int32_t other = (int32_t)draw(0, d), moved = order[d];
        order[d] = order[other];
        order[other] = moved;
    }
    for (int32_t d = 0; d < ndim; d++) {
        int64_t n = shape[order[d]], step = plain ? 1 : draw(1, 2), gap = plain ? 0 : draw(0, 2);
        bool backward = !plain && draw(0, 2) == 0;
        room[d] = n * step + gap;
        ranges[d] = (ek_range){0, n * step, step};
        if (backward && n > 0)
            ranges[d] = (ek_range){(n - 1) * step, EK_NONE, -step};
        elements *= room[d];
        back[order[d]] = d;
    }
    used = (used + 15) / 16 * 16 + (draw(0, 1) ? draw(0, 3) * size : 0);
    ck_assert_int_le(used + elements * size, BYTES);
    ek_array x = ek_array_view(before + used, dtype, NULL, ndim, room);
    x.device.type = EK_DEVICE_CPU;
    used += elements * size;
    ck_assert_int_eq(ek_slice(&x, ndim, ranges, view), EK_OK);
    ck_assert_int_eq(ek_permute(&view->array, back, view), EK_OK);
}

/* The same array in the memory of a place. */
static ek_array at_place(const ek_view *view, const ek_place *place, char *memory)
{
    ek_array array = view->array;
    array.data = memory + ((char *)array.data - before);
    array.device = ek_array_view(NULL, EK_F32, ek_queue_device(place->queue), 0, NULL).device;
    return array;
}

static int64_t size_of(const ek_view *view)
{
    return view->array.type.bits / 8;
}

/* Element i of out, in C order, is to be at `from`. */
static void expect(const model *out, int64_t i, const char *from, int64_t size)
{
    memcpy(wanted + (out->at[i] - before), from, (size_t)size);
}

typedef ek_status arrange_fn(ek_queue *queue, const ek_array *const *in, const void *args,
                             ek_array *out);

/* The call as a program. */
static ek_status recorded(ek_queue *queue, const ek_array *const *in, const void *args,
                          ek_array *out, arrange_fn *call)
{
    ek_program *program = NULL;
    ck_assert_int_eq(ek_record_begin(queue), EK_OK);
    ek_status status = call(queue, in, args, out);
    ck_assert_msg(ek_record_end(queue, &program) == EK_OK, "%s", ek_error_message());
    if (status == EK_OK)
        status = ek_program_run(queue, program);
    if (status == EK_OK)
        status = ek_queue_sync(queue);
    ek_program_close(program);
    return status;
}

/* Runs a call at every place and compares the memory. */
static void compare(const char *name, const ek_view *out, int32_t count, const ek_view *in,
                    arrange_fn *call, const void *args)
{
    static ek_array arrays[MOST_ARRAYS];
    const ek_array *list[MOST_ARRAYS];
    const ek_place *places;
    int tested = ek_tested_places(&places);
    for (int i = 0; i < tested; i++) {
        char *memory = ek_place_memory(&places[i], sizeof before);
        ek_upload(&places[i], memory, before, sizeof before);
        for (int32_t k = 0; k < count; k++) {
            arrays[k] = at_place(&in[k], &places[i], memory);
            list[k] = &arrays[k];
        }
        ek_array to = at_place(out, &places[i], memory);
        ek_status status = seed % 4 ? call(places[i].queue, list, args, &to)
                                    : recorded(places[i].queue, list, args, &to, call);
        ck_assert_msg(status == EK_OK, "%s, seed %d, %s: %s", name, (int)seed, places[i].name,
                      ek_error_message());
        ek_download(&places[i], after, memory, sizeof after);
        ck_assert_msg(memcmp(after, wanted, sizeof after) == 0, "%s, seed %d, %s: other bytes",
                      name, (int)seed, places[i].name);
    }
}

static int32_t some_shape(int64_t *shape, int64_t most)
{
    int32_t ndim = (int32_t)draw(1, NDIM);
    for (int32_t d = 0; d < ndim; d++)
        shape[d] = draw(0, 19) ? draw(1, most) : 0;
    return ndim;
}

/* The coordinates of element i of a model. */
static void index_of(const model *m, int64_t i, int64_t *index)
{
    for (int32_t d = m->ndim - 1; d >= 0; d--) {
        index[d] = i % m->shape[d];
        i /= m->shape[d];
    }
}

static int64_t place_of(const model *m, const int64_t *index)
{
    int64_t at = 0;
    for (int32_t d = 0; d < m->ndim; d++)
        at = at * m->shape[d] + index[d];
    return at;
}

/* ---- joining */

typedef struct join {
    int32_t count, axis;
} join;

static ek_status concatenate(ek_queue *queue, const ek_array *const *in, const void *args,
                             ek_array *out)
{
    const join *join = args;
    return ek_concatenate(queue, join->count, in, join->axis, out);
}

static ek_status stack(ek_queue *queue, const ek_array *const *in, const void *args, ek_array *out)
{
    const join *join = args;
    return ek_stack(queue, join->count, in, join->axis, out);
}

START_TEST(joined)
{
    static ek_view in[MOST_ARRAYS], out;
    static model to, from[MOST_ARRAYS];
    static const int32_t counts[] = {1, 2, 3, 5, 90, MOST_ARRAYS};
    for (int trial = 0; trial < TRIALS; trial++) {
        int64_t shape[NDIM + 1], total = 0, owner[1024], first[MOST_ARRAYS];
        begin((uint64_t)(_i * TRIALS + trial));
        ek_dtype dtype = dtypes[draw(0, 5)];
        bool stacks = _i, plain = draw(0, 1);
        int32_t count = counts[draw(0, trial % 8 ? 3 : 5)];
        int32_t ndim = some_shape(shape, count > 5 ? 3 : 7);
        if (ndim == NDIM && (stacks || count > 5))
            ndim = 2;
        int32_t axis = (int32_t)draw(0, ndim - 1 + stacks), along = axis;
        for (int32_t k = 0; k < count; k++) {
            if (!stacks)
                shape[axis] = draw(0, 6);
            some_array(dtype, ndim, shape, plain || draw(0, 2), &in[k]);
            model_of(&in[k].array, &from[k]);
            first[k] = total;
            for (int64_t i = 0; i < (stacks ? 1 : shape[axis]); i++)
                owner[total++] = k;
        }
        for (int32_t d = ndim; d > axis && stacks; d--)
            shape[d] = shape[d - 1];
        shape[axis] = total;
        ndim += stacks;
        some_array(dtype, ndim, shape, plain || draw(0, 1), &out);
        model_of(&out.array, &to);
        for (int64_t i = 0; i < to.size; i++) {
            int64_t index[NDIM + 1];
            index_of(&to, i, index);
            int64_t k = owner[index[axis]];
            index[axis] -= first[k];
            for (int32_t d = axis; d + 1 < ndim && stacks; d++)
                index[d] = index[d + 1];
            expect(&to, i, from[k].at[place_of(&from[k], index)], size_of(&out));
        }
        const join args = {count, draw(0, 1) ? along : along - ndim};
        compare(stacks ? "stack" : "concatenate", &out, count, in, stacks ? stack : concatenate,
                &args);
    }
}
END_TEST

/* More bytes than a block has, at ends of any kind. */
START_TEST(joined_long)
{
    static const int64_t lengths[][3] = {
        {100000, 100000, 50000}, {100001, 99999, 7}, {1, 131072, 3}, {65537, 16, 65536}};
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        static ek_view in[3], out;
        int64_t size = (int64_t)ek_dtype_size(dtypes[_i]), total = 0;
        begin(k);
        for (int i = 0; i < 3; i++) {
            int64_t n = lengths[k][i] / size + (lengths[k][i] < size);
            some_array(dtypes[_i], 1, &n, true, &in[i]);
            total += n;
        }
        some_array(dtypes[_i], 1, &total, true, &out);
        char *to = wanted + ((char *)ek_array_data(&out.array) - before);
        for (int i = 0; i < 3; i++) {
            memcpy(to, ek_array_data(&in[i].array), (size_t)(in[i].shape[0] * size));
            to += in[i].shape[0] * size;
        }
        compare("concatenate", &out, 3, in, concatenate, &(join){3, 0});
    }
}
END_TEST

/* ---- repeating */

typedef struct times {
    int32_t count, axis;
    int64_t times[64];
} times;

static ek_status tile(ek_queue *queue, const ek_array *const *in, const void *args, ek_array *out)
{
    const times *t = args;
    return ek_tile(queue, in[0], t->count, t->times, out);
}

START_TEST(tiled)
{
    static ek_view x, out;
    static model from, to;
    for (int trial = 0; trial < TRIALS; trial++) {
        int64_t shape[NDIM], result[NDIM];
        times t;
        begin((uint64_t)trial);
        ek_dtype dtype = dtypes[draw(0, 5)];
        int32_t had = some_shape(shape, 5);
        t.count = (int32_t)draw(0, NDIM);
        int32_t ndim = t.count > had ? t.count : had;
        for (int32_t i = 0; i < t.count; i++)
            t.times[i] = draw(0, 15) ? draw(1, 3) : 0;
        for (int32_t d = 0; d < ndim; d++) {
            int32_t at = d - (ndim - had), which = d - (ndim - t.count);
            result[d] = (at < 0 ? 1 : shape[at]) * (which < 0 ? 1 : t.times[which]);
        }
        some_array(dtype, had, shape, draw(0, 1), &x);
        some_array(dtype, ndim, result, draw(0, 1), &out);
        model_of(&x.array, &from);
        model_of(&out.array, &to);
        for (int64_t i = 0; i < to.size; i++) {
            int64_t index[NDIM];
            index_of(&to, i, index);
            for (int32_t d = 0; d < had; d++)
                index[d] = index[d + ndim - had] % shape[d];
            expect(&to, i, from.at[place_of(&from, index)], size_of(&out));
        }
        compare("tile", &out, 1, &x, tile, &t);
    }
}
END_TEST

static ek_status repeat(ek_queue *queue, const ek_array *const *in, const void *args, ek_array *out)
{
    const times *t = args;
    return ek_repeat(queue, in[0], t->count, t->times, t->axis, out);
}

START_TEST(repeated)
{
    static ek_view x, out;
    static model from, to;
    for (int trial = 0; trial < TRIALS; trial++) {
        int64_t shape[NDIM], result[NDIM], owner[256], total = 0;
        times t;
        begin((uint64_t)trial);
        ek_dtype dtype = dtypes[draw(0, 5)];
        int32_t ndim = some_shape(shape, 6), axis = (int32_t)draw(0, ndim - 1);
        bool one = draw(0, 1);
        if (ndim == 1 && draw(0, 1))
            shape[0] = draw(0, 60);
        t.count = one ? 1 : (int32_t)shape[axis];
        t.axis = draw(0, 1) ? axis : axis - ndim;
        for (int32_t i = 0; i < t.count; i++)
            t.times[i] = draw(0, 3);
        for (int64_t i = 0; i < shape[axis]; i++)
            for (int64_t k = 0; k < t.times[one ? 0 : i]; k++)
                owner[total++] = i;
        memcpy(result, shape, sizeof shape);
        result[axis] = total;
        some_array(dtype, ndim, shape, draw(0, 1), &x);
        some_array(dtype, ndim, result, draw(0, 1), &out);
        model_of(&x.array, &from);
        model_of(&out.array, &to);
        for (int64_t i = 0; i < to.size; i++) {
            int64_t index[NDIM];
            index_of(&to, i, index);
            index[axis] = owner[index[axis]];
            expect(&to, i, from.at[place_of(&from, index)], size_of(&out));
        }
        compare("repeat", &out, 1, &x, repeat, &t);
    }
}
END_TEST

static ek_status resize(ek_queue *queue, const ek_array *const *in, const void *args, ek_array *out)
{
    (void)args;
    return ek_resize(queue, in[0], out);
}

START_TEST(resized)
{
    static ek_view x, out;
    static model from, to;
    for (int trial = 0; trial < TRIALS; trial++) {
        int64_t shape[NDIM], result[NDIM];
        begin((uint64_t)trial);
        ek_dtype dtype = dtypes[draw(0, 5)];
        int32_t had = some_shape(shape, 5), ndim = some_shape(result, 6);
        some_array(dtype, had, shape, true, &x);
        model_of(&x.array, &from);
        result[0] = from.size == 0 ? 0 : result[0];
        some_array(dtype, ndim, result, true, &out);
        model_of(&out.array, &to);
        for (int64_t i = 0; i < to.size; i++)
            expect(&to, i, from.at[i % from.size], size_of(&out));
        compare("resize", &out, 1, &x, resize, NULL);
    }
}
END_TEST

/* ---- padding */

typedef struct pads {
    int64_t before[NDIM], after[NDIM];
    ek_pad_mode mode;
    const void *value;
} pads;

static ek_status pad(ek_queue *queue, const ek_array *const *in, const void *args, ek_array *out)
{
    const pads *p = args;
    return ek_pad(queue, in[0], p->before, p->after, p->mode, p->value, out);
}

/* The index of x that an index beside it stands for, by single steps; -1: the value, -2: nothing.
 */
static int64_t source(ek_pad_mode mode, int64_t i, int64_t n)
{
    while (i < 0 || i >= n) {
        switch (mode) {
        case EK_PAD_CONSTANT:
            return -1;
        case EK_PAD_EMPTY:
            return -2;
        case EK_PAD_EDGE:
            return i < 0 ? 0 : n - 1;
        case EK_PAD_REFLECT:
            if (n == 1)
                return 0;
            i = i < 0 ? -i : 2 * (n - 1) - i;
            break;
        case EK_PAD_SYMMETRIC:
            i = i < 0 ? -1 - i : 2 * n - 1 - i;
            break;
        default:
            i += i < 0 ? n : -n;
        }
    }
    return i;
}

START_TEST(padded)
{
    static ek_view x, out;
    static model from, to;
    for (int trial = 0; trial < TRIALS; trial++) {
        static char value[16];
        int64_t shape[NDIM], result[NDIM];
        pads p = {.mode = (ek_pad_mode)_i, .value = value};
        begin((uint64_t)trial);
        ek_dtype dtype = dtypes[draw(0, 5)];
        memset(value, dtype == EK_B8 ? 1 : 0x5a, sizeof value);
        int32_t ndim = some_shape(shape, 5);
        bool free = p.mode == EK_PAD_CONSTANT || p.mode == EK_PAD_EMPTY;
        int64_t most = ndim > 2 ? 3 : 12;
        for (int32_t d = 0; d < ndim; d++) {
            bool none = draw(0, 3) == 0 || (shape[d] == 0 && !free);
            p.before[d] = none ? 0 : draw(0, most);
            p.after[d] = none ? 0 : draw(0, most);
            result[d] = shape[d] + p.before[d] + p.after[d];
        }
        some_array(dtype, ndim, shape, draw(0, 1), &x);
        some_array(dtype, ndim, result, draw(0, 1), &out);
        model_of(&x.array, &from);
        model_of(&out.array, &to);
        for (int64_t i = 0; i < to.size; i++) {
            int64_t index[NDIM], least = 0;
            index_of(&to, i, index);
            for (int32_t d = 0; d < ndim; d++) {
                index[d] = source(p.mode, index[d] - p.before[d], shape[d]);
                least = index[d] < least ? index[d] : least;
            }
            if (least > -2)
                expect(&to, i, least < 0 ? value : from.at[place_of(&from, index)], size_of(&out));
        }
        compare("pad", &out, 1, &x, pad, &p);
    }
}
END_TEST

/* ---- refusals */

static void refused(ek_status status, ek_status wanted_status, const char *words)
{
    ck_assert_int_eq(status, wanted_status);
    ck_assert_msg(strstr(ek_error_message(), words), "%s", ek_error_message());
}

START_TEST(refusals)
{
    const ek_place *places;
    ek_tested_places(&places);
    ek_queue *q = places->queue;
    const ek_device *device = ek_queue_device(q);
    char *memory = ek_place_memory(places, BYTES);
    int64_t shape[] = {2, 3}, wide[] = {2, 6}, tall[] = {3, 3}, zeros[] = {0, 0}, row[] = {6};
    int64_t two[] = {2, 2}, low[] = {1, -1}, none[] = {0, 3}, huge[] = {INT64_MAX, 2};
    ek_array x = ek_array_view(memory, EK_F32, device, 2, shape), y = x;
    ek_array out = ek_array_view(memory + 512, EK_F32, device, 2, wide), small = out;
    const ek_array *both[] = {&x, &y};
    float value = 1;
    small.shape = shape;
    refused(ek_concatenate(NULL, 2, both, 1, &out), EK_INVALID_ARGUMENT, "queue is null");
    refused(ek_concatenate(q, 0, both, 1, &out), EK_INVALID_ARGUMENT, "count is 0");
    refused(ek_concatenate(q, 2, NULL, 1, &out), EK_INVALID_ARGUMENT, "arrays is null");
    refused(ek_concatenate(q, 2, both, 2, &out), EK_INVALID_ARGUMENT, "axis is 2: there are 2");
    refused(ek_concatenate(q, 2, both, 0, &out), EK_SHAPE_MISMATCH, "(2, 6): must be (4, 3)");
    refused(ek_stack(q, 2, both, -4, &out), EK_INVALID_ARGUMENT, "axis is -4: there are 3");
    refused(ek_stack(q, 2, both, 0, &out), EK_SHAPE_MISMATCH, "must be (2, 2, 3)");
    y.shape = tall;
    refused(ek_concatenate(q, 2, both, 1, &out), EK_SHAPE_MISMATCH, "arrays[1] has shape (3, 3)");
    y = out;
    y.shape = shape;
    refused(ek_concatenate(q, 2, both, 1, &out), EK_OVERLAP, "overlaps arrays[1]");
    y = ek_array_view(memory, EK_I32, device, 2, shape);
    refused(ek_concatenate(q, 2, both, 1, &out), EK_DTYPE_MISMATCH, "arrays[1] is i32: out is f32");
    y = x;
    both[1] = NULL;
    refused(ek_concatenate(q, 2, both, 1, &out), EK_INVALID_ARGUMENT, "arrays[1] is null");
    both[1] = &y;
    out.strides = zeros;
    refused(ek_concatenate(q, 2, both, 1, &out), EK_OVERLAP, "out with shape (2, 6) overlaps");
    out.strides = NULL;
    refused(ek_tile(q, &x, 2, low, &out), EK_INVALID_ARGUMENT, "times[1] is -1");
    refused(ek_tile(q, &x, 2, two, &out), EK_SHAPE_MISMATCH, "must be (4, 6)");
    refused(ek_tile(q, &x, 2, huge, &out), EK_INVALID_ARGUMENT, "too large");
    refused(ek_tile(q, &x, -1, two, &out), EK_INVALID_ARGUMENT, "count is -1");
    refused(ek_tile(q, &x, 1, NULL, &out), EK_INVALID_ARGUMENT, "times is null");
    refused(ek_repeat(q, &x, 2, two, 1, &out), EK_SHAPE_MISMATCH, "axis 1 has a length of 3");
    refused(ek_repeat(q, &x, 1, two, 2, &out), EK_INVALID_ARGUMENT, "axis is 2");
    refused(ek_repeat(q, &x, 2, huge, 0, &out), EK_INVALID_ARGUMENT, "too large");
    refused(ek_repeat(q, &x, 2, low, 0, &out), EK_INVALID_ARGUMENT, "times[1] is -1");
    refused(ek_pad(q, &x, two, low, EK_PAD_EDGE, NULL, &out), EK_INVALID_ARGUMENT,
            "after[1] is -1");
    refused(ek_pad(q, &x, two, NULL, EK_PAD_EDGE, NULL, &out), EK_INVALID_ARGUMENT,
            "after is null");
    refused(ek_pad(q, &x, two, two, EK_PAD_MODES, NULL, &out), EK_INVALID_ARGUMENT, "mode is 6");
    refused(ek_pad(q, &x, two, two, EK_PAD_CONSTANT, NULL, &out), EK_INVALID_ARGUMENT, "value");
    refused(ek_pad(q, &x, two, two, EK_PAD_CONSTANT, &value, &out), EK_SHAPE_MISMATCH, "(6, 7)");
    y.shape = none;
    refused(ek_pad(q, &y, two, two, EK_PAD_WRAP, NULL, &out), EK_SHAPE_MISMATCH, "along axis 0");
    refused(ek_resize(q, &y, &out), EK_SHAPE_MISMATCH, "x is empty");
    refused(ek_resize(q, &small, &out), EK_OVERLAP, "overlaps x");
    y.shape = row;
    y.ndim = 1;
    refused(ek_concatenate(q, 2, both, 0, &out), EK_SHAPE_MISMATCH, "(6,): arrays[0] has (2, 3)");
}
END_TEST

static Suite *arrange_suite(void)
{
    Suite *suite = suite_create("arrange");
    TCase *all = tcase_create("arrange");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, joined, 0, 2);
    tcase_add_loop_test(all, joined_long, 0, 6);
    tcase_add_test(all, tiled);
    tcase_add_test(all, repeated);
    tcase_add_test(all, resized);
    tcase_add_loop_test(all, padded, 0, EK_PAD_MODES);
    tcase_add_test(all, refusals);
    suite_add_tcase(suite, all);
    return suite;
}

int main(void)
{
    return ek_run_at_places(arrange_suite, 12 + EK_PAD_MODES);
}
