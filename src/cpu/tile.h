/* Tiles: elements in rows and columns, moved from one place to another. What the rest of the CPU
 * code takes for a loop over contiguous elements is made from any layout by moving tiles. */
#ifndef EK_CPU_TILE_H
#define EK_CPU_TILE_H

#include <stdbool.h>
#include <stdint.h>

#include "einkorn/device.h"

/* Steps are bytes; those of `from` may be zero or negative. */
typedef struct ek_tile {
    int64_t rows, columns;
    const char *from;
    int64_t from_row, from_column;
    char *to;
    int64_t to_row, to_column;
} ek_tile;

/* Moves elements of `size` bytes: 1, 2, 4, 8 or 16. `to` is `from` or shares nothing with it. Fast
 * for rows or columns that lie one element after the other on both sides, also if rows there are
 * columns here. With `stream`, rows of `to` whose elements lie so go around the cache; then
 * ek_stream_end is due. */
void ek_tile_move(ek_variant variant, const ek_tile *tile, int64_t size, bool stream);

/* The part of it that is compiled once a variant: all but rows that only are copied. */
typedef void ek_tile_fn(const ek_tile *tile, int64_t size, bool stream);

#endif
