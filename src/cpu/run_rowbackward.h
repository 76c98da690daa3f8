/* Rows of backward operations on the CPU: how what a row's chunks come to is added up. */
#ifndef EK_CPU_RUN_ROWBACKWARD_H
#define EK_CPU_RUN_ROWBACKWARD_H

#include <string.h>

#include "cpu/vector.h"
#include "lanes.h"
#include "rowbackward.h"
#include "typed.h"

/* Sums that a row has at a time, and levels of a pile: a row of 4096^LEVELS elements is beyond any
 * memory. */
enum { EK_ROW_SUMS = 3, EK_ROW_LEVELS = 4 };

/* Lanes that begin with -0, which changes no number that it is added to; and their fold, for each
 * sum. */
#define EK_ROW_SUM_FUNCTIONS(t, type)                                                              \
    EK_NOINLINE void ek_row_start_##t(int sums, type(*lanes)[EK_LANES])                            \
    {                                                                                              \
        for (int s = 0; s < sums; s++) {                                                           \
            EK_SIMD                                                                                \
            for (int j = 0; j < EK_LANES; j++)                                                     \
                lanes[s][j] = (type)-0.0;                                                          \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    EK_NOINLINE void ek_row_fold_##t(int sums, type(*lanes)[EK_LANES], type *total)                \
    {                                                                                              \
        for (int s = 0; s < sums; s++) {                                                           \
            for (int half = EK_LANES / 2; half > 0; half /= 2) {                                   \
                EK_SIMD                                                                            \
                for (int j = 0; j < half; j++)                                                     \
                    lanes[s][j] += lanes[s][j + half];                                             \
            }                                                                                      \
            total[s] = lanes[s][0];                                                                \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* What chunks come to, level over level: chunks of elements, chunks of those, and so on. */   \
    typedef struct ek_row_pile_##t {                                                               \
        int64_t count[EK_ROW_LEVELS];                                                              \
        type lanes[EK_ROW_LEVELS][EK_ROW_SUMS][EK_LANES];                                          \
    } ek_row_pile_##t;                                                                             \
                                                                                                   \
    EK_COMPACT void ek_row_add_##t(ek_row_pile_##t *pile, int level, int sums, const type *chunk)  \
    {                                                                                              \
        if (pile->count[level] == 0)                                                               \
            ek_row_start_##t(sums, pile->lanes[level]);                                            \
        for (int s = 0; s < sums; s++)                                                             \
            pile->lanes[level][s][pile->count[level] % EK_LANES] += chunk[s];                      \
        if (++pile->count[level] < EK_CHUNK)                                                       \
            return;                                                                                \
        type total[EK_ROW_SUMS];                                                                   \
        ek_row_fold_##t(sums, pile->lanes[level], total);                                          \
        pile->count[level] = 0;                                                                    \
        ek_row_add_##t(pile, level + 1, sums, total);                                              \
    }                                                                                              \
                                                                                                   \
    EK_COMPACT void ek_row_total_##t(ek_row_pile_##t *pile, int sums, type *total)                 \
    {                                                                                              \
        for (int level = 0; level < EK_ROW_LEVELS; level++) {                                      \
            bool above = false;                                                                    \
            for (int l = level + 1; l < EK_ROW_LEVELS; l++)                                        \
                above |= pile->count[l] > 0;                                                       \
            if (pile->count[level] == 0)                                                           \
                continue;                                                                          \
            ek_row_fold_##t(sums, pile->lanes[level], total);                                      \
            if (!above)                                                                            \
                return;                                                                            \
            ek_row_add_##t(pile, level + 1, sums, total);                                          \
        }                                                                                          \
    }

#endif
