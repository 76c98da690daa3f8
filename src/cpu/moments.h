/* What the CPU kernels of kind `moments` share. */
#ifndef EK_CPU_MOMENTS_H
#define EK_CPU_MOMENTS_H

#include <math.h>
#include <stdint.h>

#include "cpu/vector.h"

enum {
    /* Columns that a chunk has side by side: half a kilobyte of float32. */
    EK_MOMENTS_WIDTH = 128,
    /* Rows of these that are read before the next ones are fetched: where rows lie a power of two
     * apart, a cache has room for no more than some ten of them, and no processor foresees the
     * order in which they are met. */
    EK_TILE = 8,
};

/* Columns whose sums, so many of each, fill eight of the variant's registers, and lanes of a row,
 * for which AVX-512 has sixteen to spare. */
#define EK_SUMS_BLOCK(sums) (EK_VEC_BYTES / ((sums) == 3 ? 4 : (sums)))
#define EK_SUMS_ROW(sums) (EK_SUMS_BLOCK(sums) * (EK_VEC_BYTES == 64 ? 2 : 1))

/* sum + x * x where the product is exact, so that it may be fused: x has at most 26 bits. */
#ifdef __FMA__
#    define EK_ADD_SQUARE(x, sum) fma(x, x, sum)
#else
#    define EK_ADD_SQUARE(x, sum) ((sum) + (x) * (x))
#endif

/* Counts through the numbers below `used`, a power of two, with the bits in reverse. */
static inline int64_t ek_next_lane(int64_t used, int64_t j)
{
    int64_t bit = used / 2;
    for (; j & bit; bit /= 2)
        j -= bit;
    return j + bit;
}

#endif
