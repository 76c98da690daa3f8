/* Moving arrays between devices without a kernel: by what the driver can copy by itself. */
#ifndef EK_MOVE_H
#define EK_MOVE_H

#include "layout.h"

/* Describes memory for a copy of x: its shape, in the order and the directions of x, without gaps;
 * elements that x repeats (stride 0) are there once. Sets copy->stride and copy->device..., not its
 * data. Returns how many elements it needs; the first one is *first elements from its beginning. */
int64_t ek_mirror(const ek_operand *x, ek_device_type type, int32_t index, ek_operand *copy,
                  int64_t *first);

/* Moves src to dst, which has the same shape and repeats what src repeats, in queue order. One of
 * them is on the queue's device. Pageable memory has been read, or written, when it returns. */
ek_status ek_move(ek_queue *queue, const char *call, const ek_operand *dst, const ek_operand *src);

/* Moves a layout of two operands, element by element where it has to be. */
ek_status ek_move_layout(ek_queue *queue, const ek_operand *dst, const ek_operand *src,
                         const ek_layout *layout);

#endif
