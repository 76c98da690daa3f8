/* Operands of a timed call. Cold operands come in so many sets used in turn that no cache holds any
 * of the last round; hot ones are a single set. */
#ifndef ROTATION_H
#define ROTATION_H

#include "einkorn/array.h"
#include "einkorn/table.h"
#include "view.h"

enum { ROTATION_OPERANDS = EK_MAX_OPERANDS };

typedef struct operand_set {
    ek_array array[ROTATION_OPERANDS]; /* the outputs first */
    void *data[ROTATION_OPERANDS];     /* the first element of each */
} operand_set;

/* The arrays of a set point into the struct, so it is not to be moved. */
typedef struct rotation {
    int32_t operands;
    int64_t count, at;
    view views[ROTATION_OPERANDS];
    ek_array memory[ROTATION_OPERANDS]; /* all sets of an operand */
    int64_t step[ROTATION_OPERANDS];    /* bytes from one set to the next */
    operand_set set;
} rotation;

/* Allocates the sets and fills them with ordinary numbers. */
ek_status rotation_open(rotation *r, ek_queue *queue, bool cold, int32_t operands,
                        const ek_dtype *dtypes, const view *views);
void rotation_close(rotation *r, ek_queue *queue);

/* The set whose turn it is; what the last call returned is the same memory with other addresses. */
static inline operand_set *rotation_next(rotation *r)
{
    for (int32_t i = 0; i < r->operands; i++) {
        char *first = (char *)r->memory[i].data + r->at * r->step[i];
        r->set.array[i].data = first;
        r->set.data[i] = first + r->set.array[i].byte_offset;
    }
    r->at = r->at + 1 < r->count ? r->at + 1 : 0;
    return &r->set;
}

#endif
