/* Operands of a timed call. On CUDA small operands come in several sets used in turn, so that a
 * call finds them in memory and not in the cache; on the CPU there is one set, hot. */
#ifndef ROTATION_H
#define ROTATION_H

#include "einkorn/array.h"
#include "einkorn/table.h"

enum { ROTATION_SETS = 32, ROTATION_OPERANDS = EK_MAX_INPUTS + 1 };

typedef struct operand_set {
    ek_array array[ROTATION_OPERANDS]; /* the output first */
    void *data[ROTATION_OPERANDS];
} operand_set;

typedef struct rotation {
    int32_t operands, count, at;
    operand_set set[ROTATION_SETS];
} rotation;

/* Allocates the sets and fills them with ordinary numbers. */
ek_status rotation_open(rotation *r, ek_queue *queue, int32_t operands, const ek_dtype *dtypes,
                        const int32_t *ndims, const int64_t *const *shapes);
void rotation_close(rotation *r, ek_queue *queue);

/* The set whose turn it is. */
static inline operand_set *rotation_next(rotation *r)
{
    operand_set *set = &r->set[r->at];
    r->at = r->at + 1 < r->count ? r->at + 1 : 0;
    return set;
}

#endif
