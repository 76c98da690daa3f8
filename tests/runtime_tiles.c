/* How layouts become contiguous rows on the CPU: tiles moved in every direction, and operations on
 * arrays that are cut into many of them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check_runtime.h"
#include "cpu/features.h"
#include "cpu/stream.h"
#include "cpu/tile.h"
#include "einkorn/array.h"
#include "einkorn/ops/add.h"
#include "einkorn/ops/cast.h"
#include "einkorn/ops/neg.h"
#include "values.h"

enum { SIZES = 5 };

static const int64_t sizes[SIZES] = {1, 2, 4, 8, 16};
static const ek_dtype dtypes[SIZES] = {EK_U8, EK_U16, EK_F32, EK_F64, EK_C128};

/* A tile of elements from a field to another of the same size; what lies between stays. */
typedef struct pattern {
    int64_t from_row, from_column, to_row, to_column; /* in elements */
} pattern;

enum { FIELD = 1 << 16, MIDDLE = FIELD / 2 };

static void check_tile(ek_variant variant, int64_t size, int64_t rows, int64_t columns,
                       const pattern *steps, int64_t skew, bool stream)
{
    static unsigned char from[FIELD * 16 + 64], to[FIELD * 16 + 64], wanted[FIELD * 16 + 64];
    if (from[0] == 0)
        ek_random_values(EK_U8, 1, sizeof from, from);
    const size_t bytes = (size_t)(FIELD * size) + 64;
    memset(to, 0x5a, bytes);
    memset(wanted, 0x5a, bytes);
    const int64_t start = MIDDLE * size + skew;
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++)
            memcpy(wanted + start + (r * steps->to_row + c * steps->to_column) * size,
                   from + start + (r * steps->from_row + c * steps->from_column) * size,
                   (size_t)size);
    }
    ek_tile tile = {.rows = rows,
                    .columns = columns,
                    .from = (const char *)from + start,
                    .from_row = steps->from_row * size,
                    .from_column = steps->from_column * size,
                    .to = (char *)to + start,
                    .to_row = steps->to_row * size,
                    .to_column = steps->to_column * size};
    ek_tile_move(variant, &tile, size, stream);
    ek_stream_end();
    if (memcmp(to, wanted, bytes) != 0)
        ck_abort_msg("%lld x %lld elements of %lld bytes, steps %lld %lld to %lld %lld, skew %lld",
                     (long long)rows, (long long)columns, (long long)size,
                     (long long)steps->from_row, (long long)steps->from_column,
                     (long long)steps->to_row, (long long)steps->to_column, (long long)skew);
}

START_TEST(tiles_move_in_every_direction)
{
    static const pattern patterns[] = {
        {128, 1, 128, 1},  {1, 128, 128, 1}, {-1, 128, 128, 1}, {1, -128, 128, 1},
        {128, -1, 128, 1}, {128, 0, 128, 1}, {0, 1, 128, 1},    {0, 0, 128, 1},
        {1, 101, 101, 1},  {1, 128, 3, 128}, {300, 2, 128, 1},  {400, 3, 128, 1},
        {500, 4, 128, 1},  {401, 5, 128, 1}, {401, -5, 128, 1}, {128, 1, 300, 2},
        {2, 257, 128, 1},  {64, 1, 64, 1},   {1, 64, 64, 1},    {-300, -2, 500, 4},
    };
    static const int64_t shapes[][2] = {{1, 1},   {1, 40},  {40, 1},  {2, 3},   {3, 50},
                                        {50, 3},  {16, 16}, {17, 31}, {64, 64}, {63, 33},
                                        {33, 63}, {8, 60},  {60, 8}};
    ek_variant variant = (ek_variant)_i;
    if (!ek_variant_available(variant))
        return;
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            for (int i = 0; i < SIZES; i++) {
                int64_t skew = (int64_t)(p + s) % 3 * 7;
                /* Rows of the output may not meet. */
                if (shapes[s][1] > 60 && patterns[p].to_row == 64)
                    continue;
                check_tile(variant, sizes[i], shapes[s][0], shapes[s][1], &patterns[p], skew,
                           (p + s) % 2);
                check_tile(variant, sizes[i], shapes[s][0], shapes[s][1], &patterns[p], 0, true);
            }
        }
    }
}
END_TEST

/* An array of three dimensions somewhere in memory. */
typedef struct field {
    unsigned char *memory;
    int64_t shape[3], stride[3];
    ek_array array;
} field;

static void field_open(field *field, ek_dtype dtype, const int64_t *shape, const int64_t *stride,
                       int64_t offset)
{
    int64_t size = (int64_t)ek_dtype_size(dtype), last = offset;
    for (int d = 0; d < 3; d++) {
        field->shape[d] = shape[d];
        field->stride[d] = stride[d];
        if (stride[d] > 0)
            last += (shape[d] - 1) * stride[d];
    }
    field->memory = malloc((size_t)((last + 1) * size));
    ck_assert_ptr_nonnull(field->memory);
    ek_random_values(EK_U8, (uint64_t)(7 + size), (size_t)((last + 1) * size), field->memory);
    field->array = ek_array_view(field->memory, dtype, ek_cpu, 3, field->shape);
    field->array.strides = field->stride;
    field->array.byte_offset = (uint64_t)(offset * size);
}

static const unsigned char *field_at(const field *field, int64_t size, const int64_t *index)
{
    int64_t at = 0;
    for (int d = 0; d < 3; d++)
        at += index[d] * field->stride[d];
    return field->memory + (int64_t)field->array.byte_offset + at * size;
}

static void check_copy(ek_dtype dtype, const int64_t *shape, const int64_t *from, int64_t offset,
                       const int64_t *to, int64_t to_offset)
{
    field x, y;
    int64_t size = (int64_t)ek_dtype_size(dtype), index[3];
    field_open(&x, dtype, shape, from, offset);
    field_open(&y, dtype, shape, to, to_offset);
    EK_MUST(ek_copy(ek_cpu_queue, &y.array, &x.array));
    for (index[0] = 0; index[0] < shape[0]; index[0]++) {
        for (index[1] = 0; index[1] < shape[1]; index[1]++) {
            for (index[2] = 0; index[2] < shape[2]; index[2]++) {
                if (memcmp(field_at(&x, size, index), field_at(&y, size, index), (size_t)size))
                    ck_abort_msg("%s: element %lld, %lld, %lld", ek_dtype_name(dtype),
                                 (long long)index[0], (long long)index[1], (long long)index[2]);
            }
        }
    }
    free(x.memory);
    free(y.memory);
}

/* Every order of three dimensions on both sides, with and without gaps; two threads where there is
 * enough for them. */
START_TEST(copies_permute_dimensions)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const int64_t shapes[][3] = {{5, 37, 70}, {67, 3, 129}, {130, 66, 65}};
    ek_dtype dtype = dtypes[_i % SIZES];
    const int64_t *shape = shapes[_i / SIZES];
    EK_MUST(ek_queue_set_threads(ek_cpu_queue, 2));
    for (int k = 0; k < 36; k++) {
        int64_t stride[2][3], offset[2] = {0, 0};
        for (int side = 0; side < 2; side++) {
            const int *order = orders[side ? k / 6 : k % 6];
            int64_t step = 1;
            for (int d = 2; d >= 0; d--) {
                stride[side][order[d]] = step;
                step *= shape[order[d]] + (k % 5 == side ? 3 : 0);
            }
        }
        if (k % 4 == 1) { /* the other way along one dimension */
            int d = k % 3;
            offset[k % 2] = (shape[d] - 1) * stride[k % 2][d];
            stride[k % 2][d] = -stride[k % 2][d];
        }
        check_copy(dtype, shape, stride[0], offset[0], stride[1], offset[1] + k % 2);
    }
}
END_TEST

/* Larger than the cache, so that results go around it: rows of whole lines and not, begun at a
 * line and not. */
START_TEST(large_transposes_are_streamed)
{
    enum { MOST = 64 << 20 };
    int64_t columns = 64;
    if (ek_cpu_cache_bytes() > MOST)
        return;
    while (columns * columns * 8 <= (int64_t)ek_cpu_cache_bytes())
        columns += 64;
    EK_MUST(ek_queue_set_threads(ek_cpu_queue, 1 + _i % 2));
    int64_t shape[] = {1, columns + (_i & 1 ? 7 : 16), columns + (_i & 2 ? 5 : 0)};
    int64_t from[] = {0, 1, shape[1]}, to[] = {0, shape[2], 1};
    check_copy(EK_F32, shape, from, 0, to, _i & 4 ? 3 : 0);
}
END_TEST

static float value(int64_t i)
{
    return (float)(i * 7919 % 1000) - 500;
}

/* Sums larger than the cache: rows whose lines begin together and not, longer and shorter than a
 * tile, of which an operand may be broadcast along the rows or from one to the next. */
START_TEST(large_sums_are_streamed)
{
    enum { MOST = 64 << 20 };
    static const int64_t lengths[] = {700, 16384 * 2 + 5};
    int64_t length = lengths[_i & 1], gap = _i & 2 ? 64 - length % 16 : 3, first = _i & 4 ? 5 : 0;
    int64_t rows = (int64_t)ek_cpu_cache_bytes() / length / 8 + 1;
    if (ek_cpu_cache_bytes() > MOST)
        return;
    int64_t shape[] = {rows, length}, step[] = {length + gap, 1}, size = rows * (length + gap) + 5;
    int64_t same[] = {0, 1}, each[] = {1, 0};
    float *x = calloc((size_t)size, sizeof *x), *out = calloc((size_t)size, sizeof *out);
    ck_assert(x && out);
    for (int64_t i = 0; i < size; i++)
        x[i] = value(i);
    ek_array a = ek_array_view(x, EK_F32, ek_cpu, 2, shape), b = a;
    ek_array to = ek_array_view(out + first, EK_F32, ek_cpu, 2, shape);
    a.strides = to.strides = step;
    b.strides = _i & 8 ? same : each;
    EK_MUST(ek_queue_set_threads(ek_cpu_queue, 1 + _i / 4 % 2));
    EK_MUST(ek_add(ek_cpu_queue, &a, &b, &to));
    for (int64_t i = 0; i < size; i++) {
        int64_t row = (i - first) / step[0], column = (i - first) % step[0];
        bool inside = i >= first && row < rows && column < length;
        float wanted = inside ? x[i - first] + value(_i & 8 ? column : row) : 0;
        if (out[i] != wanted)
            ck_abort_msg("element %lld", (long long)i);
    }
    free(x);
    free(out);
}
END_TEST

/* x + y where each may be turned, reversed, spread out or broadcast, of shapes with short and long
 * rows; the result in any of those layouts but the broadcast ones. */
START_TEST(sums_of_all_layouts)
{
    enum { LAYOUTS = 8 };
    static const int64_t shapes[][2] = {{3, 1000},  {1000, 3}, {70, 129},
                                        {300, 301}, {1, 5000}, {2000, 40}};
    int64_t rows = shapes[_i][0], columns = shapes[_i][1];
    const int64_t steps[LAYOUTS][3] = {
        {columns, 1, 0},     {1, rows, 0},
        {columns + 5, 1, 2}, {columns, -1, columns - 1},
        {2 * columns, 2, 0}, {-columns, 1, (rows - 1) * columns},
        {0, 1, 0},           {1, 0, 0},
    };
    int64_t most = 2 * (rows + 5) * (columns + 5);
    float *memory[3];
    for (int i = 0; i < 3; i++) {
        memory[i] = malloc((size_t)most * sizeof(float));
        ck_assert_ptr_nonnull(memory[i]);
    }
    for (int k = 0; k < LAYOUTS * LAYOUTS * 6; k++) {
        int layout[3] = {k % LAYOUTS, k / LAYOUTS % LAYOUTS, k / LAYOUTS / LAYOUTS};
        int64_t shape[2] = {rows, columns}, stride[3][2];
        ek_array array[3];
        if (layout[0] >= 6 && layout[1] >= 6)
            continue; /* broadcast to less than the output */
        for (int i = 0; i < 3; i++) {
            for (int64_t e = 0; e < most; e++)
                memory[i][e] = value(e + i);
            memcpy(stride[i], steps[layout[i]], sizeof stride[i]);
            array[i] = ek_array_view(memory[i], EK_F32, ek_cpu, 2, shape);
            array[i].strides = stride[i];
            array[i].byte_offset = (uint64_t)steps[layout[i]][2] * sizeof(float);
        }
        EK_MUST(ek_add(ek_cpu_queue, &array[0], &array[1], &array[2]));
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t c = 0; c < columns; c++) {
                int64_t at[3];
                for (int i = 0; i < 3; i++)
                    at[i] = steps[layout[i]][2] + r * stride[i][0] + c * stride[i][1];
                if (memory[2][at[2]] != value(at[0]) + value(at[1] + 1))
                    ck_abort_msg("layouts %d + %d to %d: element %lld, %lld", layout[0], layout[1],
                                 layout[2], (long long)r, (long long)c);
            }
        }
    }
    for (int i = 0; i < 3; i++)
        free(memory[i]);
}
END_TEST

/* In place, with elements of the output far apart and reversed. */
START_TEST(negations_in_place)
{
    enum { N = 5000 };
    static float x[3 * N];
    int64_t shape[] = {N}, stride[] = {-3};
    for (int64_t i = 0; i < 3 * N; i++)
        x[i] = value(i);
    ek_array array = ek_array_view(x, EK_F32, ek_cpu, 1, shape);
    array.strides = stride;
    array.byte_offset = (uint64_t)(N - 1) * 3 * sizeof *x;
    EK_MUST(ek_neg(ek_cpu_queue, &array, &array));
    for (int64_t i = 0; i < 3 * N; i++)
        ck_assert_float_eq(x[i], i % 3 ? value(i) : -value(i));
}
END_TEST

/* All numbers of a half type, there and back, at every place in a block. */
START_TEST(half_types_convert_exactly)
{
    enum { ALL = 1 << 16, MOST = ALL + 40 };
    static uint16_t half[MOST], back[MOST];
    static float wide[MOST];
    ek_variant variant = (ek_variant)(_i / 2);
    if (!ek_variant_available(variant))
        return;
    EK_MUST(ek_queue_set_variant(ek_cpu_queue, variant));
    for (int i = 0; i < MOST; i++)
        half[i] = (uint16_t)i;
    for (int64_t n = ALL; n <= MOST; n += 13) {
        if (_i % 2) {
            EK_MUST(ek_cast_f16_f32(ek_cpu_queue, n, (const ek_f16 *)half, wide));
            EK_MUST(ek_cast_f32_f16(ek_cpu_queue, n, wide, (ek_f16 *)back));
        } else {
            EK_MUST(ek_cast_bf16_f32(ek_cpu_queue, n, (const ek_bf16 *)half, wide));
            EK_MUST(ek_cast_f32_bf16(ek_cpu_queue, n, wide, (ek_bf16 *)back));
        }
        for (int64_t i = 0; i < n; i++) {
            if (wide[i] == wide[i]) /* a NaN may come back as another */
                ck_assert_uint_eq(back[i], half[i]);
        }
    }
}
END_TEST

TCase *ek_tiles_case(void)
{
    TCase *tiles = tcase_create("tiles");
    tcase_add_checked_fixture(tiles, ek_open_cpu, ek_close_cpu);
    tcase_set_timeout(tiles, 240);
    tcase_add_loop_test(tiles, tiles_move_in_every_direction, EK_CPU_BASE, EK_CPU_NEON);
    tcase_add_loop_test(tiles, copies_permute_dimensions, 0, 3 * SIZES);
    tcase_add_loop_test(tiles, large_transposes_are_streamed, 0, 8);
    tcase_add_loop_test(tiles, large_sums_are_streamed, 0, 16);
    tcase_add_loop_test(tiles, sums_of_all_layouts, 0, 6);
    tcase_add_test(tiles, negations_in_place);
    tcase_add_loop_test(tiles, half_types_convert_exactly, 0, 2 * EK_CPU_NEON);
    return tiles;
}
