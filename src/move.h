/* Moving arrays between the host and a device without a kernel. */
#ifndef EK_MOVE_H
#define EK_MOVE_H

#include "layout.h"

/* Describes memory for a copy of x: its shape, in the order and the directions of x, without gaps;
 * elements that x repeats (stride 0) are there once. Sets all of *copy but its data. Returns how
 * many elements it needs; the first one is *first elements from its beginning. */
int64_t ek_mirror(const ek_operand *x, ek_device_type type, int32_t index, ek_operand *copy,
                  int64_t *first);

/* True if two operands of one shape have the same strides, apart from those never used and from
 * dimensions of length 1 in front. */
bool ek_same_layout(const ek_operand *a, const ek_operand *b);

/* True if work of the queue may use this host memory when the call that gave it is over. */
bool ek_is_pinned(const ek_queue *queue, const ek_operand *operand);

/* Refuses host memory that a recorded program cannot use. */
ek_status ek_check_recorded(const ek_queue *queue, const char *call, const ek_operand *host);

/* True if both sides consist of the same runs of contiguous elements, in rows that a
 * two-dimensional copy of the driver takes. */
bool ek_has_runs(const ek_layout *layout);

/* Bytes of pageable memory that the driver takes along with the command of a plain copy. */
enum { EK_TAKEN_BYTES = 64 << 10 };

/* True if the driver copies a layout well by itself: few elements in one run from or to any host
 * memory, and long runs if that is pinned, which is only then asked for. */
bool ek_suits_driver(const ek_queue *queue, const ek_layout *layout, const ek_operand *host);

/* Moves a layout of two operands run by run, element by element where it has to be. One side is on
 * the host, the other on the queue's device. */
ek_status ek_move_runs(ek_queue *queue, const ek_operand *dst, const ek_operand *src,
                       const ek_layout *layout);

/* Moves src to dst, which has the same shape and repeats what src repeats. One of them is on the
 * host, the other, best without gaps, on the queue's device. Pinned memory without gaps is copied
 * in queue order; all other host memory has been read, or written, when the call returns. */
ek_status ek_move(ek_queue *queue, const char *call, const ek_operand *dst, const ek_operand *src);

#endif
