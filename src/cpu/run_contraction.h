/* Running reductions of pairs on the CPU. */
#ifndef EK_CPU_RUN_CONTRACTION_H
#define EK_CPU_RUN_CONTRACTION_H

#include "contraction.h"
#include "cpu/tree.h"

/* The kernels of one loop. Generated. */
typedef struct ek_contraction_kernels {
    ek_tree_kernels tree;
    /* Reduces `count` runs of n <= EK_CHUNK pairs each; the runs are that many elements apart. */
    void (*rows)(int64_t count, int64_t n, int64_t x_apart, int64_t y_apart, const void *x,
                 const void *y, void *result);
    /* Reduces `width` columns of n <= EK_CHUNK rows each, that many elements apart. The columns of
     * y lie side by side, or are one for all. */
    void (*columns)(int64_t n, int64_t width, int64_t x_step, int64_t y_step, bool same_y,
                    const void *x, const void *y, void *result);
    /* Results of `count` reductions of n pairs, stored `stride` elements apart. */
    void (*finish)(int64_t count, int64_t n, const void *result, void *out, int64_t stride);
    uint8_t in_size, out_size;
} ek_contraction_kernels;

#endif
