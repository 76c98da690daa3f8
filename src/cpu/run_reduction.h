/* Running reductions on the CPU. */
#ifndef EK_CPU_RUN_REDUCTION_H
#define EK_CPU_RUN_REDUCTION_H

#include "cpu/tree.h"
#include "reduction.h"

/* The kernels of one loop. Generated. */
typedef struct ek_reduction_kernels {
    ek_tree_kernels tree;
    /* Reduces `count` runs of n <= EK_CHUNK elements each, `stride` elements apart. */
    void (*rows)(int64_t count, int64_t n, int64_t stride, const void *x, void *result);
    /* Reduces `width` columns of n <= EK_CHUNK rows each, `stride` elements apart. */
    void (*columns)(int64_t n, int64_t width, int64_t stride, const void *x, void *result);
    /* Results of `count` reductions with the divisor of ek_rows_divisor, stored `stride` elements
     * apart. */
    void (*finish)(int64_t count, int64_t divisor, const void *result, void *out, int64_t stride);
    uint8_t in_size, out_size;
    uint8_t width; /* the most columns of a chunk, if not EK_TREE_WIDTH_BYTES of them */
} ek_reduction_kernels;

#endif
