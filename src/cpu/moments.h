/* What the CPU kernels of kind `moments` share. */
#ifndef EK_CPU_MOMENTS_H
#define EK_CPU_MOMENTS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* Rows of lanes that a block of lanes takes in before the next one does, so that elements are
     * read nearly in the order they lie in, */
    EK_TILE = 8,
    /* and how many such tiles ahead they are fetched: no processor foresees this order. */
    EK_TILES_AHEAD = 4,
    /* Columns that a chunk has side by side: half a kilobyte of float32. */
    EK_MOMENTS_WIDTH = 128,
};

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
