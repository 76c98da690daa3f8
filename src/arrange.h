/* What the calls of einkorn/arrange.h have in common. */
#ifndef EK_ARRANGE_H
#define EK_ARRANGE_H

#include "einkorn/arrange.h"
#include "layout.h"

/* An axis counted from the front. */
ek_status ek_arrange_axis(const char *call, int32_t axis, int32_t ndim, int32_t *found);

/* Refuses an input of another dtype than out, and one that shares memory with it. */
ek_status ek_arrange_input(const char *call, const ek_operand *x, const ek_operand *out);

/* Refuses an out that overlaps itself, or has another shape than is wanted. */
ek_status ek_arrange_out(const char *call, const ek_operand *out, int32_t ndim,
                         const int64_t *shape);

/* Moves an operand to index `first` of an axis, of which it has `length` from there on. Its shape
 * is at `shape`, which may be changed. */
void ek_arrange_part(ek_operand *operand, int64_t *shape, int32_t axis, int64_t first,
                     int64_t length);

#endif
