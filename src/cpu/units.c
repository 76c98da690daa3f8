#include "cpu/units.h"

/* The least neighbouring rows that columns are split down to for the sake of threads. */
enum { NARROW = 16 };

ek_pattern ek_rows_pattern(const ek_rows *rows)
{
    if (rows->row_ndim == 0 || rows->n == 0 || (rows->row_ndim == 1 && rows->row_x[0] == 1))
        return EK_ROWS;
    if (rows->row_ndim == 1 && rows->kept_ndim > 0 && rows->kept_x[rows->kept_ndim - 1] == 1)
        return EK_COLUMNS;
    return EK_GATHER;
}

ek_units ek_units_cut(const ek_rows *rows, ek_pattern pattern, int64_t most, int threads)
{
    ek_units units = {.rows = rows, .pattern = pattern, .last = 1};
    if (rows->kept_ndim > 0)
        units.last = rows->kept_shape[rows->kept_ndim - 1];
    while (most > NARROW && rows->count / most < threads)
        most /= 2;
    units.width = most < units.last ? most : units.last;
    units.per_last = (units.last + units.width - 1) / units.width;
    units.count = rows->count / units.last * units.per_last;
    return units;
}

ek_unit ek_units_at(const ek_units *units, int64_t index)
{
    ek_unit unit;
    int64_t at = index % units->per_last * units->width;
    ek_rows_offsets(units->rows, index / units->per_last * units->last + at, &unit.x, &unit.out);
    unit.width = units->last - at < units->width ? units->last - at : units->width;
    /* Rows without elements may have no memory either. */
    if (units->rows->n == 0)
        unit.x = 0;
    return unit;
}

int64_t ek_rows_bytes(const ek_rows *rows, int64_t size)
{
    int64_t bytes;
    if (__builtin_mul_overflow(rows->count, rows->n, &bytes) ||
        __builtin_mul_overflow(bytes, size, &bytes))
        return INT64_MAX;
    return bytes;
}
