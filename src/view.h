/* Making views: a draft is checked and changed, and becomes a view when nothing can fail any more.
 */
#ifndef EK_VIEW_H
#define EK_VIEW_H

#include "einkorn/view.h"
#include "error.h"
#include "layout.h"

typedef struct ek_draft {
    const char *call;
    ek_array x; /* as it was given; its shape and strides may be overwritten by the view */
    ek_dtype dtype;
    int32_t ndim;
    int64_t size; /* of x */
    int64_t shape[EK_MAX_NDIM];
    int64_t stride[EK_MAX_NDIM]; /* in elements; those of arrays without elements are 0 */
    int64_t offset;              /* bytes from the first element of x to that of the view */
} ek_draft;

/* Begins with x as it is; refuses an array that describes nothing, and a null view. */
ek_status ek_draft_open(const char *call, const ek_array *x, const void *view, ek_draft *draft);

/* Makes the view. */
void ek_draft_close(const ek_draft *draft, ek_view *view);

/* An axis out of ndim ones, counted from the front. */
ek_status ek_draft_axis(const ek_draft *draft, int32_t axis, int32_t ndim, int32_t *found);

/* A list of different axes out of ndim ones: bit d of *named is set for axis d. */
ek_status ek_draft_axes(const ek_draft *draft, const char *name, int32_t count, const int32_t *axes,
                        int32_t ndim, uint32_t *named);

/* Refuses more than EK_MAX_NDIM dimensions, and a negative number. */
ek_status ek_draft_ndim(const ek_draft *draft, int64_t ndim);

/* Takes another order: axis i is what axis order[i] was. */
void ek_draft_reorder(ek_draft *draft, int32_t ndim, const int32_t *order);

/* Takes an axis away. */
void ek_draft_drop(ek_draft *draft, int32_t axis);

/* Begins at index `at` of an axis. */
void ek_draft_advance(ek_draft *draft, int32_t axis, int64_t at);

/* Walks an axis backward. */
void ek_draft_flip(ek_draft *draft, int32_t axis);

/* Takes a slice of an axis. */
ek_status ek_draft_slice(ek_draft *draft, int32_t axis, const ek_range *range);

/* Takes another shape that repeats axes of length 1, and new ones in front. */
ek_status ek_draft_broadcast(ek_draft *draft, int32_t ndim, const int64_t *shape);

#endif
