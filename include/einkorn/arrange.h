/* Arrays put together from others: joined, repeated, padded. Nothing is computed and every bit is
 * kept. What needs no copy at all is in einkorn/view.h.
 *
 * x and out are on the queue's device, of one dtype, and have any strides. out has the shape that
 * the call says (EK_SHAPE_MISMATCH), and shares no memory with an input or itself (EK_OVERLAP). All
 * is checked before anything is written. Axes count from the end if negative. Work on CUDA is in
 * queue order. The semantics are NumPy's. */
#ifndef EINKORN_ARRANGE_H
#define EINKORN_ARRANGE_H

#include "einkorn/array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Joins `count` arrays, one or more, along an axis that they have. Their shapes are the same but
 * for that axis, and out's is the sum there. On a GPU arrays without gaps, or with rows without
 * gaps, are copied many at a time: a launch for 80 of them. */
ek_status ek_concatenate(ek_queue *queue, int32_t count, const ek_array *const *arrays,
                         int32_t axis, ek_array *out);

/* Joins arrays of one shape along a new axis: array i is index i of that axis of out. */
ek_status ek_stack(ek_queue *queue, int32_t count, const ek_array *const *arrays, int32_t axis,
                   ek_array *out);

/* Repeats x as a whole: `count` numbers say how often along each axis, from the last one backward;
 * missing ones are 1. More numbers than x has axes make new ones in front. */
ek_status ek_tile(ek_queue *queue, const ek_array *x, int32_t count, const int64_t *times,
                  ek_array *out);

/* Repeats each index of an axis: `count` numbers in host memory, one for each index, or one for
 * all; they are read before the call returns. out has their sum along the axis. */
ek_status ek_repeat(ek_queue *queue, const ek_array *x, int64_t count, const int64_t *times,
                    int32_t axis, ek_array *out);

/* The elements of x in C order, again and again, until out is full. Either may be empty, x only if
 * out is. Both must be views of one dimension (EK_UNSUPPORTED), as all arrays in C order are. */
ek_status ek_resize(ek_queue *queue, const ek_array *x, ek_array *out);

/* What an array is padded with. For 1 2 3 and a width of 2 at both ends: */
typedef enum ek_pad_mode {
    EK_PAD_CONSTANT,  /* v v 1 2 3 v v */
    EK_PAD_EDGE,      /* 1 1 1 2 3 3 3 */
    EK_PAD_REFLECT,   /* 3 2 1 2 3 2 1 */
    EK_PAD_SYMMETRIC, /* 2 1 1 2 3 3 2 */
    EK_PAD_WRAP,      /* 2 3 1 2 3 1 2 */
    EK_PAD_EMPTY,     /* what out holds stays */
    EK_PAD_MODES
} ek_pad_mode;

/* Puts x into out with before[d] elements before it and after[d] behind it along axis d; both are
 * lists of as many numbers as x has dimensions, not negative. `value` is one element in host
 * memory, read before the call returns; null if the mode needs none. An axis without elements can
 * only be padded by EK_PAD_CONSTANT and EK_PAD_EMPTY (EK_SHAPE_MISMATCH). EK_PAD_REFLECT of a
 * single element repeats it. Patterns go on for any width: a width of 5 reflects 1 2 3 as 2 1 2 3 2
 * 1 2 3. */
ek_status ek_pad(ek_queue *queue, const ek_array *x, const int64_t *before, const int64_t *after,
                 ek_pad_mode mode, const void *value, ek_array *out);

#ifdef __cplusplus
}
#endif
#endif
