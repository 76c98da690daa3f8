/* Reducing on the CPU: the tree over chunks. How a chunk is reduced is generated. */
#ifndef EK_CPU_TREE_H
#define EK_CPU_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "lanes.h"

enum {
    /* Results that a chunk kernel computes side by side have at most this many bytes, so that the
     * lanes of all of them (EK_LANES times as much) fit the second-level cache and the stack. With
     * fewer lanes than EK_LANES there may be more; ek_tree_width says how many. */
    EK_TREE_WIDTH_BYTES = 512,
    EK_TREE_LANES_BYTES = EK_TREE_WIDTH_BYTES * EK_LANES,
};

/* Lanes whose accumulators fill eight of the variant's registers (cpu/vector.h). */
#define EK_LANE_BLOCK(type)                                                                        \
    (8 * EK_VEC_BYTES / (int)sizeof(type) < EK_LANES ? 8 * EK_VEC_BYTES / (int)sizeof(type)        \
                                                     : EK_LANES)

/* name_64(lanes) for 64 lanes, and so on: the generated functions that fold a constant number. */
#define EK_FOLD(name, count, lanes)                                                                \
    ((count) == 128  ? name##_128(lanes)                                                           \
     : (count) == 64 ? name##_64(lanes)                                                            \
     : (count) == 32 ? name##_32(lanes)                                                            \
     : (count) == 16 ? name##_16(lanes)                                                            \
     : (count) == 8  ? name##_8(lanes)                                                             \
                     : name##_4(lanes))

/* What combines accumulators of one dtype. Lanes lie side by side: lane j of `width` results is at
 * j * width. */
typedef struct ek_tree_kernels {
    /* Sets n accumulators to the identity. */
    void (*start)(int64_t n, void *lanes);
    /* Lane i % EK_LANES takes in part i of n, `width` results each. */
    void (*join)(int64_t n, int64_t width, const void *parts, void *lanes);
    /* Folds `lanes` lanes, a power of two, into `width` results. */
    void (*fold)(int64_t lanes, int64_t width, void *memory, void *result);
    uint8_t size; /* bytes of an accumulator */
} ek_tree_kernels;

/* What is reduced: `width` results side by side, whose elements only `chunk` knows. */
typedef struct ek_tree {
    const ek_tree_kernels *kernels;
    int64_t width; /* at most ek_tree_width */
    /* Reduces elements first to first + n of each result; n is at most EK_CHUNK. */
    void (*chunk)(const void *source, int64_t first, int64_t n, void *result);
    const void *source;
} ek_tree;

/* The most results of `size` bytes that may be reduced side by side from n elements. */
int64_t ek_tree_width(int64_t n, int64_t size);

/* Reduces n elements to tree->width accumulators, with that many threads over the chunks. */
void ek_tree_reduce(const ek_tree *tree, int64_t n, int threads, void *result);

/* Lanes that n elements need: a power of two. */
static inline int64_t ek_tree_lanes(int64_t n)
{
    int64_t lanes = 1;
    while (lanes < n && lanes < EK_LANES)
        lanes *= 2;
    return lanes;
}

/* Threads that so many bytes to read are worth. */
int ek_tree_threads(int32_t threads, int64_t bytes);

#endif
