/* Moving tiles; compiled once a variant. */
#include <string.h>

#include "cpu/stream.h"
#include "cpu/tile.h"
#include "cpu/variant.h"
#include "cpu/vector.h"
#if defined(__SSE2__)
#    include <immintrin.h>
#endif

/* Note [Transposing in registers]
 *
 * A vector has lanes of 16 bytes, and a lane L elements. A block is L rows of one vector each.
 * Lane j of vector k is loaded from column j L + k: it holds that column's elements of all L rows.
 * So each lane is an L by L matrix spread over L vectors, and transposing it leaves in vector r
 * all columns of row r. Interleaving vector i with vector i + L / 2, log2(L) times, does that for
 * all lanes at once with the cheapest shuffles there are, those that stay in their lane. */

#define LANE 16

typedef uint32_t cells __attribute__((vector_size(LANE)));
typedef uint64_t lane __attribute__((vector_size(LANE)));
typedef uint64_t vector __attribute__((vector_size(EK_VEC_BYTES)));

EK_VEC_INLINE lane load_lane(const char *from)
{
    lane x;
    memcpy(&x, from, sizeof x);
    return x;
}

/* Lanes that lie `apart` bytes from each other. */
EK_VEC_INLINE vector load_lanes(const char *from, int64_t apart)
{
#if EK_VEC_BYTES == LANE
    (void)apart;
    return load_lane(from);
#else
    typedef uint64_t pair __attribute__((vector_size(2 * LANE)));
    pair low = __builtin_shufflevector(load_lane(from), load_lane(from + apart), 0, 1, 2, 3);
#    if EK_VEC_BYTES == 2 * LANE
    return low;
#    else
    from += 2 * apart;
    pair high = __builtin_shufflevector(load_lane(from), load_lane(from + apart), 0, 1, 2, 3);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
#    endif
#endif
}

/* The indices that interleave a half of each lane: n is the elements of a vector, i a lane's first
 * index, or that of its upper half. */
#define PAIR(i, n) (i), (i) + (n)
#define HALF_8(i, n) PAIR(i, n)
#define HALF_4(i, n) PAIR(i, n), PAIR((i) + 1, n)
#define HALF_2(i, n) HALF_4(i, n), HALF_4((i) + 2, n)
#define HALF_1(i, n) HALF_2(i, n), HALF_2((i) + 4, n)
#if EK_VEC_BYTES == LANE
#    define LANES(half, i, lane, n) half(i, n)
#elif EK_VEC_BYTES == 2 * LANE
#    define LANES(half, i, lane, n) half(i, n), half((i) + (lane), n)
#else
#    define LANES(half, i, lane, n)                                                                \
        half(i, n), half((i) + (lane), n), half((i) + 2 * (lane), n), half((i) + 3 * (lane), n)
#endif

#define INTERLEAVE(size, first)                                                                    \
    (vector)                                                                                       \
        __builtin_shufflevector(x, y, LANES(HALF_##size, first, LANE / size, EK_VEC_BYTES / size))

#define DEFINE_INTERLEAVE(size, type)                                                              \
    typedef type cells_##size __attribute__((vector_size(EK_VEC_BYTES)));                          \
    EK_VEC_INLINE vector low_##size(vector a, vector b)                                            \
    {                                                                                              \
        cells_##size x = (cells_##size)a, y = (cells_##size)b;                                     \
        return INTERLEAVE(size, 0);                                                                \
    }                                                                                              \
    EK_VEC_INLINE vector high_##size(vector a, vector b)                                           \
    {                                                                                              \
        cells_##size x = (cells_##size)a, y = (cells_##size)b;                                     \
        return INTERLEAVE(size, LANE / size / 2);                                                  \
    }

DEFINE_INTERLEAVE(1, uint8_t)
DEFINE_INTERLEAVE(2, uint16_t)
DEFINE_INTERLEAVE(4, uint32_t)
DEFINE_INTERLEAVE(8, uint64_t)

/* Interleaves the lower or upper halves of the lanes. */
EK_VEC_INLINE vector interleave(int size, bool high, vector x, vector y)
{
    switch (size) {
    case 1:
        return high ? high_1(x, y) : low_1(x, y);
    case 2:
        return high ? high_2(x, y) : low_2(x, y);
    case 4:
        return high ? high_4(x, y) : low_4(x, y);
    default:
        return high ? high_8(x, y) : low_8(x, y);
    }
}

/* Transposes a block whose columns lie `column` bytes apart. */
EK_VEC_INLINE void move_block(const int size, const char *from, int64_t column, char *to,
                              int64_t row, bool stream)
{
    const int rows = LANE / size;
    vector x[LANE], y[LANE];
    EK_UNROLL for (int k = 0; k < rows; k++) x[k] = load_lanes(from + k * column, rows * column);
    EK_UNROLL for (int stage = 1; stage < rows; stage *= 2)
    {
        EK_UNROLL for (int i = 0; i < rows / 2; i++)
        {
            y[2 * i] = interleave(size, false, x[i], x[i + rows / 2]);
            y[2 * i + 1] = interleave(size, true, x[i], x[i + rows / 2]);
        }
        EK_UNROLL for (int i = 0; i < rows; i++) x[i] = y[i];
    }
#if EK_VEC_BYTES == EK_LINE
    if (stream) {
        EK_UNROLL for (int k = 0; k < rows; k++)
            _mm512_stream_si512((void *)(to + k * row), (__m512i)x[k]);
        return;
    }
#endif
    EK_UNROLL for (int k = 0; k < rows; k++) memcpy(to + k * row, &x[k], sizeof x[k]);
}

/* Columns of a strip, as many as have a line each in a page. */
enum { STRIP = 64 };

/* How far ahead of the line it loads a strip asks for more of a column, in bytes. Measured: a
 * transpose larger than the cache takes 0.6 of the time that it takes without. */
enum { AHEAD = 2 * EK_LINE };

/* Note [Lines before blocks]
 *
 * A block uses a part of each line it loads, and where columns lie a power of two apart their lines
 * fall into one set of the cache and drive each other out before the next block comes. So the lines
 * of a strip are first copied one after the other. The blocks of a few rows then are stored along
 * these rows, for the same reason. */
EK_VEC_INLINE void move_strip(const int size, const char *from, int64_t column, int64_t rows,
                              int64_t columns, char *to, int64_t row, bool stream)
{
    const int width = EK_VEC_BYTES / size, height = LANE / size;
    _Alignas(EK_LINE) char lines[STRIP][EK_LINE];
    if (rows * size == EK_LINE) {
        for (int64_t c = 0; c < columns; c++) {
            __builtin_prefetch(from + c * column + AHEAD, 0, 2);
            memcpy(lines[c], from + c * column, EK_LINE);
        }
        from = lines[0];
        column = EK_LINE;
    }
    for (int64_t r = 0; r < rows; r += height) {
        int64_t up = r + height <= rows ? r : rows - height;
        for (int64_t c = 0; c < columns; c += width) {
            int64_t left = c + width <= columns ? c : columns - width;
            move_block(size, from + left * column + up * size, column, to + up * row + left * size,
                       row, stream && left == c);
        }
    }
}

/* Rows that are contiguous in columns of `from`. What is left over at the end of a row or column
 * is moved again with what comes before it. */
EK_VEC_INLINE void transpose(const int size, const ek_tile *tile, bool stream)
{
    const int64_t width = EK_VEC_BYTES / size, line = EK_LINE / size;
    const int64_t height = tile->rows < line ? tile->rows : line;
    stream &= ((uintptr_t)tile->to | (uint64_t)tile->to_row) % EK_LINE == 0;
    for (int64_t c = 0; c < tile->columns; c += STRIP) {
        int64_t columns = tile->columns - c < STRIP ? tile->columns - c : STRIP;
        int64_t column = columns < width ? tile->columns - width : c;
        columns = columns < width ? width : columns;
        for (int64_t r = 0; r < tile->rows; r += height) {
            int64_t row = r + height <= tile->rows ? r : tile->rows - height;
            move_strip(size, tile->from + column * tile->from_column + row * size,
                       tile->from_column, height, columns,
                       tile->to + row * tile->to_row + column * size, tile->to_row,
                       stream && column == c);
        }
    }
}

/* Steps that are constants make loops that compilers vectorize. */
EK_VEC_INLINE void walk(const int size, const ek_tile *tile, int64_t from_column)
{
    for (int64_t r = 0; r < tile->rows; r++) {
        const char *from = tile->from + r * tile->from_row;
        char *to = tile->to + r * tile->to_row;
        EK_SIMD
        for (int64_t c = 0; c < tile->columns; c++)
            memcpy(to + c * size, from + c * from_column, (size_t)size);
    }
}

/* Elements `step` bytes apart. */
EK_VEC_INLINE lane gather_lane(const int size, const char *from, int64_t step)
{
    if (size == 4) {
        uint32_t x[4];
        EK_UNROLL for (int k = 0; k < 4; k++) memcpy(&x[k], from + k * step, 4);
        return (lane)(cells){x[0], x[1], x[2], x[3]};
    }
    uint64_t x[2];
    EK_UNROLL for (int k = 0; k < 2; k++) memcpy(&x[k], from + k * step, 8);
    return (lane){x[0], x[1]};
}

/* Any steps: a few elements at a time, or the loop itself would take longest. */
EK_VEC_INLINE void walk_any(const int size, const ek_tile *tile)
{
    enum { AT_ONCE = 8 };
    const int64_t step = tile->from_column, ahead = tile->to_column;
    for (int64_t r = 0; r < tile->rows; r++) {
        const char *from = tile->from + r * tile->from_row;
        char *to = tile->to + r * tile->to_row;
        int64_t left = tile->columns;
        if ((size == 4 || size == 8) && ahead == size) {
            for (; left >= AT_ONCE; left -= AT_ONCE) {
                EK_UNROLL for (int k = 0; k < AT_ONCE; k += LANE / size)
                {
                    lane x = gather_lane(size, from + k * step, step);
                    memcpy(to + k * size, &x, LANE);
                }
                from += AT_ONCE * step;
                to += AT_ONCE * ahead;
            }
        }
        for (; left >= AT_ONCE; left -= AT_ONCE) {
            EK_SCALAR;
            EK_UNROLL for (int k = 0; k < AT_ONCE; k++)
                memcpy(to + k * ahead, from + k * step, (size_t)size);
            from += AT_ONCE * step;
            to += AT_ONCE * ahead;
        }
        for (; left > 0; left--) {
            EK_SCALAR;
            memcpy(to, from, (size_t)size);
            from += step;
            to += ahead;
        }
    }
}

/* A vector of one element over and over. */
EK_VEC_INLINE vector all(const int size, const char *from)
{
    uint64_t x = 0;
    lane pair;
    memcpy(size == LANE ? (char *)&pair : (char *)&x, from, (size_t)size);
    switch (size) {
    case 1:
        return (vector)((cells_1){0} + (uint8_t)x);
    case 2:
        return (vector)((cells_2){0} + (uint16_t)x);
    case 4:
        return (vector)((cells_4){0} + (uint32_t)x);
    case 8:
        return (cells_8){0} + x;
    default:
        return load_lanes((const char *)&pair, 0);
    }
}

EK_VEC_INLINE void repeat(const int size, const ek_tile *tile)
{
    const int64_t bytes = tile->columns * size;
    for (int64_t r = 0; r < tile->rows; r++) {
        vector x = all(size, tile->from + r * tile->from_row);
        char *to = tile->to + r * tile->to_row;
        int64_t done = 0;
        for (; done + EK_VEC_BYTES <= bytes; done += EK_VEC_BYTES)
            memcpy(to + done, &x, EK_VEC_BYTES);
        if (bytes > EK_VEC_BYTES) /* the last whole vector once more, moved back */
            memcpy(to + bytes - EK_VEC_BYTES, &x, EK_VEC_BYTES);
        else
            memcpy(to + done, &x, (size_t)(bytes - done));
    }
}

/* Contiguous rows are not for here: the C library copies them as well. */
EK_VEC_INLINE void move(const int size, const ek_tile *tile, bool stream)
{
    /* Three or four channels of bytes or floats; the baseline has no shuffles for them. */
    const bool shuffles = EK_VEC_BYTES > LANE && (size == 1 || size == 4);
    int64_t step = tile->to_column == size ? tile->from_column / size : INT64_MAX;
    if (step == 0)
        repeat(size, tile);
    else if (step != INT64_MAX && tile->from_row == size && tile->rows >= LANE / size &&
             tile->columns >= EK_VEC_BYTES / size)
        transpose(size, tile, stream);
    else if (step == -1 && size < LANE)
        walk(size, tile, -size);
    else if (step == 2 && size < LANE)
        walk(size, tile, 2 * size);
    else if (step == 3 && shuffles)
        walk(size, tile, 3 * size);
    else if (step == 4 && shuffles)
        walk(size, tile, 4 * size);
    else
        walk_any(size, tile);
}

#define DEFINE_MOVE(size)                                                                          \
    static void move_##size(const ek_tile *tile, bool stream)                                      \
    {                                                                                              \
        const ek_tile copy = *tile; /* stores cannot change it */                                  \
        move(size, &copy, stream);                                                                 \
    }

DEFINE_MOVE(1)
DEFINE_MOVE(2)
DEFINE_MOVE(4)
DEFINE_MOVE(8)
DEFINE_MOVE(16)

ek_tile_fn EK_CPU_NAME(ek_tile_move);

void EK_CPU_NAME(ek_tile_move)(const ek_tile *tile, int64_t size, bool stream)
{
    switch (size) {
    case 1:
        move_1(tile, stream);
        break;
    case 2:
        move_2(tile, stream);
        break;
    case 4:
        move_4(tile, stream);
        break;
    case 8:
        move_8(tile, stream);
        break;
    default:
        move_16(tile, stream);
    }
}
