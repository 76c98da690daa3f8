/* How an operand lies in memory: the shape of an array in C order, and how it is looked at.
 *
 *   16384x16384                  as it is
 *   16384x16384:transposed       the last two dimensions exchanged
 *   512x512x1024:permuted=2,0,1  dimensions in this order
 *   4096x4096:flipped=0          an axis from its end to its beginning
 *   4096x4096:every=2            every second element of the last axis
 *   4096x4096:first=1000         the first elements of the last axis
 *   1000000:offset=1             begins so many elements after an aligned address
 *
 * Several of them apply from left to right. */
#ifndef VIEW_H
#define VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "einkorn/status.h"

enum { VIEW_NDIM = 4, VIEW_TEXT = 64 };

typedef struct view {
    char text[VIEW_TEXT];
    bool plain; /* C order from an aligned address */
    int32_t ndim;
    int64_t shape[VIEW_NDIM], stride[VIEW_NDIM];
    int64_t first;    /* element of the memory that the view begins with */
    int64_t elements; /* that the memory has */
} view;

/* An array in C order; at most VIEW_NDIM dimensions. */
view view_of_shape(int32_t ndim, const int64_t *shape);

ek_status view_parse(const char *text, view *v);

/* Elements one sees. */
int64_t view_size(const view *v);

#endif
