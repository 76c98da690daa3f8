/* How the rows of a call are shared out on the CPU: in units of neighbouring rows. */
#ifndef EK_CPU_UNITS_H
#define EK_CPU_UNITS_H

#include "rows.h"

typedef enum ek_pattern {
    EK_ROWS,    /* the elements of a row lie one after the other */
    EK_COLUMNS, /* those of neighbouring rows do */
    EK_GATHER   /* neither */
} ek_pattern;

typedef struct ek_units {
    const ek_rows *rows;
    ek_pattern pattern;
    int64_t count;
    int64_t width;    /* rows of a unit; the last one of a dimension may have less */
    int64_t last;     /* length of the innermost kept dimension */
    int64_t per_last; /* units in it */
} ek_units;

/* One unit: where its first row and (first) result are, in elements, and how many rows it has. */
typedef struct ek_unit {
    int64_t x, out;
    int64_t width;
} ek_unit;

/* The pattern that the steps of x allow. */
ek_pattern ek_rows_pattern(const ek_rows *rows);

/* Cuts rows into units of at most `most` rows, or fewer if that leaves threads without work. */
ek_units ek_units_cut(const ek_rows *rows, ek_pattern pattern, int64_t most, int threads);

ek_unit ek_units_at(const ek_units *units, int64_t index);

/* Bytes of all elements, or the largest number if a broadcast array has more. */
int64_t ek_rows_bytes(const ek_rows *rows, int64_t size);

/* From one row of a unit to the next, in elements. */
static inline int64_t ek_units_x_step(const ek_units *units)
{
    const ek_rows *rows = units->rows;
    return rows->kept_ndim ? rows->kept_x[rows->kept_ndim - 1] : 0;
}

static inline int64_t ek_units_out_step(const ek_units *units)
{
    const ek_rows *rows = units->rows;
    return rows->kept_ndim ? rows->kept_out[rows->kept_ndim - 1] : 0;
}

#endif
