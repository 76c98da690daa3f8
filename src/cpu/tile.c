#include "cpu/tile.h"

#include <string.h>

#include "cpu/stream.h"

ek_tile_fn ek_tile_move__base;
#if EK_HAVE_X86
ek_tile_fn ek_tile_move__avx2, ek_tile_move__avx512;
#endif

/* One a CPU variant. */
static ek_tile_fn *const move[EK_CUDA] = {
    [EK_CPU_BASE] = ek_tile_move__base,
#if EK_HAVE_X86
    [EK_CPU_AVX2] = ek_tile_move__avx2,
    [EK_CPU_AVX512] = ek_tile_move__avx512,
#endif
};

/* The tile seen the other way: its columns as rows. */
static ek_tile turned(const ek_tile *tile)
{
    return (ek_tile){.rows = tile->columns,
                     .columns = tile->rows,
                     .from = tile->from,
                     .from_row = tile->from_column,
                     .from_column = tile->from_row,
                     .to = tile->to,
                     .to_row = tile->to_column,
                     .to_column = tile->to_row};
}

/* The same tile from its last row to its first. */
static ek_tile upside_down(const ek_tile *tile)
{
    ek_tile down = *tile;
    down.from += (tile->rows - 1) * tile->from_row;
    down.to += (tile->rows - 1) * tile->to_row;
    down.from_row = -tile->from_row;
    down.to_row = -tile->to_row;
    return down;
}

static void copy_rows(ek_variant variant, const ek_tile *tile, int64_t size, bool stream)
{
    int64_t rows = tile->rows, bytes = tile->columns * size;
    if (tile->from_row == bytes && tile->to_row == bytes) {
        bytes *= rows;
        rows = 1;
    }
    for (int64_t r = 0; r < rows; r++) {
        char *to = tile->to + r * tile->to_row;
        const char *from = tile->from + r * tile->from_row;
        if (stream)
            ek_stream(variant, to, from, (size_t)bytes);
        else
            memcpy(to, from, (size_t)bytes);
    }
}

void ek_tile_move(ek_variant variant, const ek_tile *tile, int64_t size, bool stream)
{
    enum {
        NARROW = 8, /* so few columns of more rows: the other way the loop inside is longer */
    };
    ek_tile way = *tile;
    bool narrow = way.columns < NARROW && way.rows > way.columns && !stream;
    if (way.from_column == size && way.to_column == size && !narrow) {
        copy_rows(variant, tile, size, stream);
        return;
    }
    if (narrow)
        way = turned(&way);
    else if (way.from_row == -size && way.to_column == size)
        way = upside_down(&way);
    move[variant](&way, size, stream);
}
