/* Lookups on the CPU. */
#ifndef EK_CPU_RUN_LOOKUP_H
#define EK_CPU_RUN_LOOKUP_H

#include "lookup.h"

/* Elements of a target side by side that a kernel joins at a time, and levels of chains: more than
 * 2^60 values have. */
enum { EK_LOOKUP_WIDTH = 128, EK_LOOKUP_LEVELS = 13 };

/* Joins `count` > 0 rows of values to a target in place: row r of them begins at[r] elements from
 * `values`. `width` <= EK_LOOKUP_WIDTH elements lie `values_step` and `out_step` apart. */
typedef void ek_lookup_fold_fn(int64_t count, const int64_t *at, const void *values, int64_t width,
                               int64_t values_step, void *out, int64_t out_step);

/* The same of targets of one element each: those from first[t] to before first[t + 1] of `at` are
 * joined to the element out_at[t] of `out`. */
typedef void ek_lookup_fold_ones_fn(int64_t targets, const int64_t *first, const int64_t *at,
                                    const void *values, void *out, const int64_t *out_at);

/* The same of values that are not sorted, for targets that are not many more than they: value i, at
 * at[i], is joined to element key[i] * out_step of `out`. `room` is for EK_LOOKUP_ROOM bytes. */
typedef void ek_lookup_fold_all_fn(int64_t count, const int64_t *key, const int64_t *at,
                                   const void *values, int64_t targets, void *room, void *out,
                                   int64_t out_step);

/* The most targets of so many values that have more than a chain, and the most chains of those. */
#define EK_LOOKUP_LONG(count) ((count) / EK_LOOKUP_CHAIN + 1)
#define EK_LOOKUP_KEPT(count) (2 * EK_LOOKUP_LONG(count))
#define EK_LOOKUP_ROOM(count, targets)                                                             \
    (8 * (EK_LOOKUP_LONG(count) + 2 * EK_LOOKUP_KEPT(count)) + 16 * (targets))

typedef struct ek_lookup_kernels {
    const char *name;        /* of the typed call */
    bool scatters;           /* from the rows into the table, not from the table into the rows */
    ek_lookup_fold_fn *fold; /* null: the last value of a target stays */
    ek_lookup_fold_ones_fn *fold_ones;
    ek_lookup_fold_all_fn *fold_all;
} ek_lookup_kernels;

#endif
