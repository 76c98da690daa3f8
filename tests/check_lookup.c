/* Elements taken, put and joined by indices: the bits of a plain reference in every place, layout
 * and dtype of indices; what is refused and what that leaves untouched. EK_TEST_DEVICE=cuda tests a
 * GPU. A test with a number such as O040 holds a fault found in another library. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "einkorn/array.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"
#include "einkorn/ops/put.h"
#include "einkorn/ops/scatter_add.h"
#include "einkorn/ops/scatter_and.h"
#include "einkorn/ops/scatter_max.h"
#include "einkorn/ops/scatter_min.h"
#include "einkorn/ops/scatter_or.h"
#include "einkorn/ops/scatter_xor.h"
#include "einkorn/ops/take.h"
#include "place.h"
#include "values.h"

#define MUST(call) ck_assert_msg((call) == EK_OK, "%s: %s", #call, ek_error_message())

enum { RAISE, WRAP, CLIP, CHAIN = 32 };

static int64_t place_of(int64_t index, int64_t n, int mode)
{
    if (mode == CLIP)
        return index < 0 ? 0 : (index < n ? index : n - 1);
    return (index % n + n) % n;
}

/* The sum of values in chains of 32, and those in chains again. `values` is overwritten. */
static float chained(int64_t count, float *values)
{
    while (count > 1) {
        int64_t chains = 0;
        for (int64_t first = 0; first < count; first += CHAIN) {
            float sum = values[first];
            for (int64_t i = first + 1; i < first + CHAIN && i < count; i++)
                sum += values[i];
            values[chains++] = sum;
        }
        count = chains;
    }
    return values[0];
}

/* A problem in C order: x[outer][n][inner], rows of m. */
typedef struct setting {
    int64_t outer, n, m, inner;
    bool along;
} setting;

static const setting settings[] = {
    {1, 5, 7, 1, false},    {1, 1, 100, 1, false},     {1, 7, 40000, 1, false},
    {3, 4, 9, 5, false},    {1, 50, 300, 64, false},   {2, 3, 2000, 6, false},
    {1, 1, 1100, 3, false}, {1, 70000, 900, 1, false}, {2, 5, 11, 3, true},
    {4, 3, 1, 1, true},     {1, 9, 5000, 2, true},     {2, 2, 70, 130, false},
};

enum { SETTINGS = sizeof settings / sizeof settings[0] };

static int64_t indices_of(const setting *s)
{
    return s->along ? s->outer * s->m * s->inner : s->m;
}

/* Where element (o, j, i) of the rows has its index. */
static int64_t index_at(const setting *s, int64_t o, int64_t j, int64_t i)
{
    return s->along ? (o * s->m + j) * s->inner + i : j;
}

static void expect_add(const setting *s, int mode, const float *x, const int64_t *indices,
                       const float *values, float *out)
{
    float *mine = malloc((size_t)s->m * sizeof *mine);
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t i = 0; i < s->inner; i++) {
            /* The values of each target, found by walking all rows once a target would be slow. */
            int64_t *count = calloc((size_t)s->n + 1, sizeof *count);
            float *sorted = malloc((size_t)s->m * sizeof *sorted);
            for (int64_t j = 0; j < s->m; j++)
                count[place_of(indices[index_at(s, o, j, i)], s->n, mode) + 1]++;
            for (int64_t t = 0; t < s->n; t++)
                count[t + 1] += count[t];
            int64_t *next = malloc((size_t)s->n * sizeof *next);
            memcpy(next, count, (size_t)s->n * sizeof *next);
            for (int64_t j = 0; j < s->m; j++)
                sorted[next[place_of(indices[index_at(s, o, j, i)], s->n, mode)]++] =
                    values[(o * s->m + j) * s->inner + i];
            for (int64_t t = 0; t < s->n; t++) {
                int64_t at = (o * s->n + t) * s->inner + i, k = count[t + 1] - count[t];
                memcpy(mine, sorted + count[t], (size_t)k * sizeof *mine);
                out[at] = k > 0 ? x[at] + chained(k, mine) : x[at];
            }
            free(count);
            free(sorted);
            free(next);
        }
    free(mine);
}

/* Host copies of a problem's operands, 64-bit indices. */
typedef struct data {
    int64_t table, rows, indices;
    float *x, *values, *out, *wanted;
    int64_t *wide;
    int32_t *narrow;
} data;

static data make_data(const setting *s, int mode, uint64_t seed)
{
    data d = {
        s->outer * s->n * s->inner, s->outer * s->m * s->inner, indices_of(s), 0, 0, 0, 0, 0, 0};
    size_t most = (size_t)(d.table > d.rows ? d.table : d.rows) * sizeof(float);
    d.x = malloc(most);
    d.values = malloc(most);
    d.out = malloc(most);
    d.wanted = malloc(most);
    d.wide = malloc((size_t)d.indices * sizeof *d.wide);
    d.narrow = malloc((size_t)d.indices * sizeof *d.narrow);
    ek_ordinary_values(EK_F32, seed, d.table, d.x);
    ek_ordinary_values(EK_F32, seed + 1, d.rows, d.values);
    ek_random_values(EK_U64, seed + 2, d.indices, d.wide);
    for (int64_t i = 0; i < d.indices; i++) {
        int64_t index = (int64_t)((uint64_t)d.wide[i] >> 33);
        d.wide[i] = mode == RAISE ? index % (2 * s->n) - s->n : index % (5 * s->n) - 2 * s->n;
        d.narrow[i] = (int32_t)d.wide[i];
    }
    return d;
}

static void free_data(data *d)
{
    free(d->x);
    free(d->values);
    free(d->out);
    free(d->wanted);
    free(d->wide);
    free(d->narrow);
}

/* Operands on a place's device, one after the other. */
typedef struct operands {
    float *x, *values, *out;
    void *indices;
} operands;

static operands upload(const ek_place *place, const data *d, bool narrow)
{
    size_t most =
        (size_t)(d->table > d->rows ? d->table : d->rows) * sizeof(float) / 256 * 256 + 256;
    size_t indices = (size_t)d->indices * (narrow ? 4 : 8);
    char *memory = ek_place_memory(place, 3 * most + indices);
    operands o = {(float *)memory, (float *)(memory + most), (float *)(memory + 2 * most),
                  memory + 3 * most};
    ek_upload(place, o.x, d->x, (size_t)d->table * sizeof(float));
    ek_upload(place, o.values, d->values, (size_t)d->rows * sizeof(float));
    ek_upload(place, o.indices, narrow ? (void *)d->narrow : (void *)d->wide, indices);
    return o;
}

/* The same bits. */
static void same(const ek_place *place, const char *what, int64_t n, const float *out,
                 const float *wanted)
{
    int64_t i = 0;
    while (i < n && memcmp(&out[i], &wanted[i], sizeof *out) == 0)
        i++;
    ck_assert_msg(i == n, "%s: %s: element %ld is %a, must be %a", place->name, what, (long)i,
                  i < n ? (double)out[i] : 0, i < n ? (double)wanted[i] : 0);
}

START_TEST(bits_of_the_reference)
{
    const setting *s = &settings[_i % SETTINGS];
    int mode = _i / SETTINGS % 3;
    bool narrow = _i / SETTINGS / 3;
    data d = make_data(s, mode, (uint64_t)_i);
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int p = 0; p < count; p++) {
        ek_queue *q = places[p].queue;
        operands o = upload(&places[p], &d, narrow);
        /* taken */
        if (narrow)
            MUST(ek_take_f32_i32(q, s->outer, s->n, s->m, s->inner, o.x, o.indices, s->along, mode,
                                 o.out));
        else
            MUST(ek_take_f32_i64(q, s->outer, s->n, s->m, s->inner, o.x, o.indices, s->along, mode,
                                 o.out));
        ek_download(&places[p], d.out, o.out, (size_t)d.rows * sizeof(float));
        for (int64_t i = 0; i < d.rows; i++) {
            int64_t k = i % s->inner, j = i / s->inner % s->m, a = i / s->inner / s->m;
            int64_t at = place_of(d.wide[index_at(s, a, j, k)], s->n, mode);
            d.wanted[i] = d.x[(a * s->n + at) * s->inner + k];
        }
        same(&places[p], "taken", d.rows, d.out, d.wanted);
        /* added, to another array and in place */
        expect_add(s, mode, d.x, d.wide, d.values, d.wanted);
        for (int in_place = 0; in_place < 2; in_place++) {
            float *out = in_place ? o.x : o.out;
            if (narrow)
                MUST(ek_scatter_add_f32_i32(q, s->outer, s->n, s->m, s->inner, o.x, o.indices,
                                            o.values, s->along, mode, out));
            else
                MUST(ek_scatter_add_f32_i64(q, s->outer, s->n, s->m, s->inner, o.x, o.indices,
                                            o.values, s->along, mode, out));
            ek_download(&places[p], d.out, out, (size_t)d.table * sizeof(float));
            same(&places[p], in_place ? "added in place" : "added", d.table, d.out, d.wanted);
        }
        /* put */
        ek_upload(&places[p], o.x, d.x, (size_t)d.table * sizeof(float));
        if (narrow)
            MUST(ek_put_f32_i32(q, s->outer, s->n, s->m, s->inner, o.x, o.indices, o.values,
                                s->along, mode, o.out));
        else
            MUST(ek_put_f32_i64(q, s->outer, s->n, s->m, s->inner, o.x, o.indices, o.values,
                                s->along, mode, o.out));
        memcpy(d.wanted, d.x, (size_t)d.table * sizeof(float));
        for (int64_t i = 0; i < d.rows; i++) {
            int64_t k = i % s->inner, j = i / s->inner % s->m, a = i / s->inner / s->m;
            int64_t at = place_of(d.wide[index_at(s, a, j, k)], s->n, mode);
            d.wanted[(a * s->n + at) * s->inner + k] = d.values[i];
        }
        ek_download(&places[p], d.out, o.out, (size_t)d.table * sizeof(float));
        same(&places[p], "put", d.table, d.out, d.wanted);
    }
    free_data(&d);
}
END_TEST

/* Array calls: shapes, strides that no single step crosses, values that broadcast. */
START_TEST(arrays_of_any_layout)
{
    enum { X = 4 * 5 * 6, ROWS = 4 * 6 * 6 };
    float x[X], out[ROWS], wanted[ROWS], one = 2;
    int64_t indices[] = {3, -1, 0, 0, 4, 2};
    ek_ordinary_values(EK_F32, 3, X, x);
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int p = 0; p < count; p++) {
        const ek_device *device = ek_queue_device(places[p].queue);
        char *memory = ek_place_memory(&places[p], 1 << 14);
        ek_upload(&places[p], memory, x, sizeof x);
        ek_upload(&places[p], memory + 4096, indices, sizeof indices);
        ek_upload(&places[p], memory + 4200, &one, sizeof one);
        int64_t shape[] = {4, 6, 5}, strides[] = {30, 1, 6}, flipped[] = {3, 2}, back[] = {-2, 1};
        int64_t result[] = {4, 6, 3, 2};
        /* x with its last two axes swapped, indices from the last row to the first */
        ek_array a = ek_array_view(memory, EK_F32, device, 3, shape);
        a.strides = strides;
        ek_array i = ek_array_view(memory + 4096 + 32, EK_I64, device, 2, flipped);
        i.strides = back;
        ek_array o = ek_array_view(memory + 8192, EK_F32, device, 4, result);
        MUST(ek_take(places[p].queue, &a, &i, -1, false, RAISE, &o));
        ek_download(&places[p], out, memory + 8192, sizeof out);
        for (int b = 0; b < 4; b++)
            for (int c = 0; c < 6; c++)
                for (int k = 0; k < 6; k++) {
                    int64_t at = (indices[4 - 2 * (k / 2) + k % 2] + 5) % 5;
                    wanted[(b * 6 + c) * 6 + k] = x[b * 30 + at * 6 + c];
                }
        ck_assert_int_eq(memcmp(out, wanted, sizeof out), 0);
        /* a number for all, in place */
        ek_array v = ek_array_view(memory + 4200, EK_F32, device, 0, NULL);
        MUST(ek_scatter_add(places[p].queue, &a, &i, &v, 2, false, RAISE, &a));
        ek_download(&places[p], out, memory, sizeof x);
        for (int k = 0; k < X; k++) {
            static const int times[5] = {2, 0, 1, 1, 2};
            int t = k / 6 % 5;
            float sum = times[t] == 2 ? one + one : one;
            ck_assert_float_eq(out[k], times[t] ? x[k] + sum : x[k]);
        }
    }
}
END_TEST

START_TEST(others_join_exactly)
{
    const int32_t x[3] = {5, -7, 12}, values[5] = {9, 3, -8, 6, 10};
    const int64_t indices[5] = {0, 2, 1, 0, 2};
    static const int32_t wanted[5][3] = {{9, -7, 12},
                                         {5, -8, 3},
                                         {5 & 9 & 6, -8 & -7, 12 & 3 & 10},
                                         {5 | 9 | 6, -8 | -7, 12 | 3 | 10},
                                         {5 ^ 9 ^ 6, -8 ^ -7, 12 ^ 3 ^ 10}};
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int p = 0; p < count; p++) {
        ek_queue *q = places[p].queue;
        char *memory = ek_place_memory(&places[p], 1024);
        int32_t *on = (int32_t *)memory, *from = on + 16, *to = on + 32, out[3];
        int64_t *at = (int64_t *)(memory + 512);
        ek_upload(&places[p], on, x, sizeof x);
        ek_upload(&places[p], from, values, sizeof values);
        ek_upload(&places[p], at, indices, sizeof indices);
        for (int op = 0; op < 5; op++) {
            ek_status status =
                op == 0   ? ek_scatter_max_i32_i64(q, 1, 3, 5, 1, on, at, from, false, RAISE, to)
                : op == 1 ? ek_scatter_min_i32_i64(q, 1, 3, 5, 1, on, at, from, false, RAISE, to)
                : op == 2 ? ek_scatter_and_i32_i64(q, 1, 3, 5, 1, on, at, from, false, RAISE, to)
                : op == 3 ? ek_scatter_or_i32_i64(q, 1, 3, 5, 1, on, at, from, false, RAISE, to)
                          : ek_scatter_xor_i32_i64(q, 1, 3, 5, 1, on, at, from, false, RAISE, to);
            MUST(status);
            ek_download(&places[p], out, to, sizeof out);
            ck_assert_msg(memcmp(out, wanted[op], sizeof out) == 0, "%s: %d", places[p].name, op);
        }
    }
}
END_TEST

/* O028: an index of no place is refused in the name of the call that had it; nothing is written.
 * On a GPU a later call says so, every one until ek_queue_sync has. */
START_TEST(bad_index_O028)
{
    const float x[4] = {1, 2, 3, 4}, before[4] = {7, 7, 7, 7};
    const int64_t indices[4] = {0, -4, INT64_C(1) << 40, 9};
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int p = 0; p < count; p++) {
        ek_queue *q = places[p].queue;
        float *on = ek_place_memory(&places[p], 256), *to = on + 8, out[4];
        int64_t *at = (int64_t *)(on + 16);
        bool late = q->variant == EK_CUDA;
        for (int put = 0; put < 2; put++) {
            for (int each = 0; each < (late ? 2 : 1); each++) {
                ek_upload(&places[p], on, x, sizeof x);
                ek_upload(&places[p], to, before, sizeof before);
                ek_upload(&places[p], at, indices, sizeof indices);
                if (late)
                    MUST(ek_queue_set_options(q, each ? EK_SYNC_EACH_CALL : 0));
                ek_status status = put ? ek_put_f32_i64(q, 1, 4, 4, 1, on, at, on, false, RAISE, to)
                                       : ek_take_f32_i64(q, 1, 4, 4, 1, on, at, false, RAISE, to);
                if (late && !each) {
                    ek_add_f32(q, 4, on, on, on);
                    status = ek_queue_sync(q);
                }
                ck_assert_int_eq(status, late ? EK_ASYNC_ERROR : EK_INVALID_ARGUMENT);
                ck_assert_ptr_nonnull(strstr(ek_error_message(), put ? "ek_put" : "ek_take"));
                ck_assert_ptr_nonnull(strstr(ek_error_message(), "1099511627776 at place 2"));
                if (late)
                    MUST(ek_queue_set_options(q, 0));
                MUST(ek_queue_sync(q));
                ek_download(&places[p], out, to, sizeof out);
                ck_assert_int_eq(memcmp(out, before, sizeof out), 0);
            }
        }
        /* The queue works as before. */
        MUST(ek_take_f32_i64(q, 1, 4, 2, 1, on, at, false, RAISE, to));
        MUST(ek_queue_sync(q));
    }
}
END_TEST

/* O040: nothing to add leaves all as it is. */
START_TEST(no_indices_O040)
{
    const float x[2] = {1, 2};
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int p = 0; p < count; p++) {
        float *on = ek_place_memory(&places[p], 64), *to = on + 8, out[2];
        ek_upload(&places[p], on, x, sizeof x);
        MUST(ek_scatter_add_f32_i64(places[p].queue, 1, 2, 0, 1, on, NULL, NULL, false, RAISE, to));
        ek_download(&places[p], out, to, sizeof out);
        ck_assert_int_eq(memcmp(out, x, sizeof x), 0);
        MUST(ek_take_f32_i64(places[p].queue, 1, 0, 0, 1, NULL, NULL, false, RAISE, NULL));
        ck_assert_int_eq(
            ek_take_f32_i64(places[p].queue, 1, 0, 1, 1, NULL, (int64_t *)on, false, WRAP, to),
            EK_SHAPE_MISMATCH);
    }
}
END_TEST

/* O091: a target named several times, a bad index among good ones, in every dtype that adds. */
START_TEST(duplicates_O091)
{
    const float x[4] = {0}, values[4] = {1, 2, 3, 4}, wanted[4] = {4, 6, 0, 0};
    const int32_t indices[4] = {1, 1, 1, 0};
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int p = 0; p < count; p++) {
        float *on = ek_place_memory(&places[p], 256), *from = on + 8, *to = on + 16, out[4];
        int32_t *at = (int32_t *)(on + 24);
        ek_upload(&places[p], on, x, sizeof x);
        ek_upload(&places[p], from, values, sizeof values);
        ek_upload(&places[p], at, indices, sizeof indices);
        MUST(ek_scatter_add_f32_i32(places[p].queue, 1, 4, 4, 1, on, at, from, false, RAISE, to));
        ek_download(&places[p], out, to, sizeof out);
        ck_assert_int_eq(memcmp(out, wanted, sizeof out), 0);
    }
}
END_TEST

/* O043: a table of more than 2^31 elements, of which only the rows that count are written. On the
 * CPU its pages are the system's until then; a GPU has the room. */
START_TEST(large_table_O043)
{
    enum { ROWS = 262144, WIDTH = 8960 };
    static const int64_t ids[3] = {239673, 239674, 262143};
    static int8_t row[WIDTH], out[3 * WIDTH];
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int p = 0; p < count; p += 2) { /* one thread and two are alike here */
        bool gpu = places[p].queue->variant == EK_CUDA;
        int8_t *table = NULL;
        char *memory = ek_place_memory(&places[p], 4 * WIDTH);
        if (gpu)
            MUST(ek_alloc(places[p].queue, (size_t)ROWS * WIDTH, (void **)&table));
        else
            table = malloc((size_t)ROWS * WIDTH);
        ck_assert_ptr_nonnull(table);
        for (int i = 0; i < 3; i++) {
            memset(row, (int)(ids[i] % 100), sizeof row);
            ek_upload(&places[p], table + ids[i] * WIDTH, row, sizeof row);
        }
        ek_upload(&places[p], memory, ids, sizeof ids);
        MUST(ek_take_i8_i64(places[p].queue, 1, ROWS, 3, WIDTH, table, (int64_t *)memory, false,
                            RAISE, (int8_t *)memory + 64));
        ek_download(&places[p], out, memory + 64, sizeof out);
        for (int i = 0; i < 3; i++) {
            memset(row, (int)(ids[i] % 100), sizeof row);
            ck_assert_int_eq(memcmp(out + i * WIDTH, row, sizeof row), 0);
        }
        if (gpu)
            MUST(ek_free(places[p].queue, table));
        else
            free(table);
    }
}
END_TEST

START_TEST(refusals)
{
    const ek_place *places;
    ek_tested_places(&places);
    ek_queue *q = places[0].queue;
    const ek_device *device = ek_queue_device(q);
    float *on = ek_place_memory(&places[0], 1024);
    int64_t three[] = {3, 2}, two[] = {2, 2};
    ek_array x = ek_array_view(on, EK_F32, device, 2, three);
    ek_array i = ek_array_view(on + 32, EK_I64, device, 1, two);
    ek_array f = ek_array_view(on + 32, EK_F32, device, 1, two);
    ek_array o = ek_array_view(on + 64, EK_F32, device, 2, two);
    ck_assert_int_eq(ek_take(q, &x, &f, 0, false, WRAP, &o), EK_DTYPE_MISMATCH);
    ck_assert_int_eq(ek_take(q, &x, &i, 2, false, WRAP, &o), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_take(q, &x, &i, 0, false, 3, &o), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_take(q, &x, &i, 1, false, WRAP, &o), EK_SHAPE_MISMATCH);
    ck_assert_int_eq(ek_take(q, &x, &i, 0, true, WRAP, &o), EK_SHAPE_MISMATCH);
    ck_assert_int_eq(ek_scatter_add(q, &x, &i, &x, 0, false, WRAP, &x), EK_OVERLAP);
    ck_assert_int_eq(ek_scatter_add(q, &x, &i, &o, 1, false, WRAP, &x), EK_SHAPE_MISMATCH);
    o.data = on + 2;
    ck_assert_int_eq(ek_take(q, &x, &i, 0, false, WRAP, &o), EK_OVERLAP);
    ck_assert_int_eq(ek_take_f32_i64(q, 1, -1, 2, 1, on, (int64_t *)(on + 32), false, WRAP, on),
                     EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_take_f32_i64(q, 1, 3, 2, 1, NULL, (int64_t *)(on + 32), false, WRAP, on),
                     EK_INVALID_ARGUMENT);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("lookup");
    TCase *cases = tcase_create("lookup");
    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, bits_of_the_reference, 0, SETTINGS * 6);
    tcase_add_test(cases, arrays_of_any_layout);
    tcase_add_test(cases, others_join_exactly);
    tcase_add_test(cases, bad_index_O028);
    tcase_add_test(cases, no_indices_O040);
    tcase_add_test(cases, duplicates_O091);
    tcase_add_test(cases, large_table_O043);
    tcase_add_test(cases, refusals);
    suite_add_tcase(suite, cases);
    return suite;
}

int main(void)
{
    return ek_run_at_places(suite, SETTINGS * 6 + 7);
}
