/* Running reductions to an index on the CPU. The winner does not depend on the order in which
 * elements are compared (of equals the lowest index wins), so there is no tree. */
#ifndef EK_CPU_RUN_ARGREDUCTION_H
#define EK_CPU_RUN_ARGREDUCTION_H

#include "argreduction.h"
#include "cpu/tree.h"

/* The kernels of one loop. Generated. `best` holds winning elements as the operation compares them,
 * `index` their indices. */
typedef struct ek_argreduction_kernels {
    /* The places of the winners of `count` rows of n >= 1 elements each, `stride` elements apart;
     * those are stored `step` apart. */
    void (*rows)(int64_t count, int64_t n, int64_t stride, const void *x, int64_t *index,
                 int64_t step);
    /* The winner of n >= 1 elements, and its first place among them. */
    void (*best)(int64_t n, const void *x, void *best);
    int64_t (*place)(int64_t n, const void *x, const void *best);
    /* The winners of `width` columns of 1 <= n <= EK_CHUNK rows, `stride` elements apart. */
    void (*columns)(int64_t n, int64_t width, int64_t stride, const void *x, void *best,
                    int64_t *index);
    /* Later elements, with indices from `first` on, against earlier ones. */
    void (*merge)(int64_t width, const void *later, const int64_t *later_index, int64_t first,
                  void *best, int64_t *index);
    uint8_t in_size, size; /* bytes of an element in memory and in `best` */
} ek_argreduction_kernels;

#endif
