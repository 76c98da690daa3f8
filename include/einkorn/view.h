/* Views: arrays that share the memory of another one. Nothing here computes, copies, allocates or
 * needs a queue; arrays of any device will do. The semantics are NumPy's.
 *
 * A view has room for its own shape and strides, and `array` is what calls take:
 *
 *     ek_view rows;
 *     if (ek_slice(&x, 1, &(ek_range){10, EK_NONE, 2}, &rows) == EK_OK)
 *         status = ek_sum(queue, &rows.array, ...);
 *
 * `array` points into its ek_view, so a view is not copied by assignment: ek_view_make makes
 * another one. A view may be made of itself: ek_flip(&v.array, 0, NULL, &v) turns v around. It is
 * good as long as the memory is; the shape and strides of x are not needed any more. Where x begins
 * and the bounds of memory are x's own matter: what a view reaches, x reaches.
 *
 * Axes count from the end if negative. An axis that x does not have, or that is named twice, an
 * index out of range, a length that does not fit are EK_INVALID_ARGUMENT or EK_SHAPE_MISMATCH; a
 * refused call leaves the view as it was. Results have at most EK_MAX_NDIM dimensions. */
#ifndef EINKORN_VIEW_H
#define EINKORN_VIEW_H

#include "einkorn/array.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ek_view {
    ek_array array; /* its shape and strides are those below */
    int64_t shape[EK_MAX_NDIM];
    int64_t strides[EK_MAX_NDIM];
} ek_view;

/* What Python's None means between colons: from the one end, or to the other. */
#define EK_NONE INT64_MIN

/* start:stop:step, as Python has it: negative places count from the end, places beyond an end are
 * that end, a negative step walks backward. A step of 0 is refused, EK_NONE is 1. */
typedef struct ek_range {
    int64_t start, stop, step;
} ek_range;

/* All of an axis. */
#define EK_WHOLE ((ek_range){EK_NONE, EK_NONE, EK_NONE})

/* x itself, with a shape and strides of its own. */
ek_status ek_view_make(const ek_array *x, ek_view *view);

/* ---- shapes */

/* The elements of x in C order with another shape. One length may be -1: what the others leave.
 * Other numbers of elements are EK_SHAPE_MISMATCH. Where no strides give that order, as for the
 * rows of a transposed matrix side by side, it is EK_UNSUPPORTED: x must be copied (ek_copy to an
 * array in C order) before it is reshaped. */
ek_status ek_reshape(const ek_array *x, int32_t ndim, const int64_t *shape, ek_view *view);

/* One dimension with all elements in C order; EK_UNSUPPORTED where that needs a copy. */
ek_status ek_ravel(const ek_array *x, ek_view *view);

/* Repeats x to a shape: its axes are the last ones, and lengths of 1 stretch, with strides of 0.
 * EK_SHAPE_MISMATCH if others differ. Such a view is an input: as an output it overlaps itself. */
ek_status ek_broadcast_to(const ek_array *x, int32_t ndim, const int64_t *shape, ek_view *view);

/* Several arrays broadcast to the shape that ek_broadcast gives: views[i] is of arrays[i]. */
ek_status ek_broadcast_arrays(int32_t count, const ek_array *const *arrays, ek_view *views);

/* New axes of length 1, at the places that they have in the result. */
ek_status ek_expand_dims(const ek_array *x, int32_t count, const int32_t *axes, ek_view *view);

/* Without these axes, whose length must be 1. If `axes` is null, without all that have it. */
ek_status ek_squeeze(const ek_array *x, int32_t count, const int32_t *axes, ek_view *view);

/* At least ndim dimensions, 1 to 3: NumPy's atleast_1d (n), atleast_2d (1, n) and atleast_3d
 * (1, n, 1), (m, n, 1). */
ek_status ek_atleast(const ek_array *x, int32_t ndim, ek_view *view);

/* ---- order of axes */

/* Axis i of the view is axis axes[i] of x; a null `axes` turns the order around. */
ek_status ek_permute(const ek_array *x, const int32_t *axes, ek_view *view);

ek_status ek_swapaxes(const ek_array *x, int32_t axis1, int32_t axis2, ek_view *view);

/* Axis from[i] of x is axis to[i] of the view; the others keep their order. */
ek_status ek_moveaxis(const ek_array *x, int32_t count, const int32_t *from, const int32_t *to,
                      ek_view *view);

/* ---- parts */

/* ranges[i] of axis i; axes from `count` on are whole. */
ek_status ek_slice(const ek_array *x, int32_t count, const ek_range *ranges, ek_view *view);

/* One index of an axis, which is gone then. Out of range: EK_INVALID_ARGUMENT. */
ek_status ek_index(const ek_array *x, int32_t axis, int64_t index, ek_view *view);

/* Backward along these axes; a null `axes` means all. flipud is axis 0, fliplr axis 1. */
ek_status ek_flip(const ek_array *x, int32_t count, const int32_t *axes, ek_view *view);

/* Turned by 90 degrees `times` times, from axis1 towards axis2. */
ek_status ek_rot90(const ek_array *x, int32_t times, int32_t axis1, int32_t axis2, ek_view *view);

/* The elements whose index along axis2 is `offset` more than that along axis1. Both axes are gone,
 * and the diagonal is the last one. */
ek_status ek_diagonal(const ek_array *x, int64_t offset, int32_t axis1, int32_t axis2,
                      ek_view *view);

/* Every window of lengths[i] along axes[i]. An axis of n becomes one of n - length + 1 windows, and
 * the axes of a window come last. A window longer than its axis is EK_SHAPE_MISMATCH. An axis may
 * be named again: windows of its windows. */
ek_status ek_sliding_window(const ek_array *x, int32_t count, const int32_t *axes,
                            const int64_t *lengths, ek_view *view);

/* Cuts an axis into `count` views, one or more. `cuts` are count - 1 places: view i is the slice
 * from cuts[i - 1] to cuts[i], with negative places and those beyond the end as in ek_slice. If it
 * is null the parts are even, and the first n % count are longer by one: NumPy's array_split. */
ek_status ek_split(const ek_array *x, int32_t axis, int32_t count, const int64_t *cuts,
                   ek_view *views);

/* The real and the imaginary parts of a complex array; others are EK_DTYPE_MISMATCH. */
ek_status ek_real_part(const ek_array *x, ek_view *view);
ek_status ek_imag_part(const ek_array *x, ek_view *view);

/* The same bytes as elements of another dtype. If their sizes differ, the last axis is as much
 * longer or shorter; it must have no gaps, and it and all steps must be multiples of the new size
 * (EK_SHAPE_MISMATCH). Where elements may begin is for the calls to check that use the view. */
ek_status ek_bit_cast(const ek_array *x, ek_dtype dtype, ek_view *view);

/* ---- memory */

/* The first byte of x, and the first one behind it, whatever its strides. Both are where x begins
 * if it has no element. */
ek_status ek_byte_bounds(const ek_array *x, const void **low, const void **high);

/* Whether the bounds of two arrays of one device overlap; arrays of two devices never do. */
ek_status ek_may_share_memory(const ek_array *x, const ek_array *y, bool *shares);

/* Whether they have a byte in common. Exact for all layouts that occur; where the search takes more
 * than some thousand steps it says true. */
ek_status ek_shares_memory(const ek_array *x, const ek_array *y, bool *shares);

#ifdef __cplusplus
}
#endif
#endif
