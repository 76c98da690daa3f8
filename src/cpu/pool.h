/* Windows side by side: which of them have an element of the image. */
#ifndef EK_CPU_POOL_H
#define EK_CPU_POOL_H

#include "image_args.h"
#include "integer.h"

/* The most windows that are computed at once: what they have come to stays in the cache. */
enum { EK_POOL_WINDOWS = 512 };

typedef struct ek_pool_span {
    int64_t first, end;
} ek_pool_span;

/* Of the windows `first` to before `end` those whose elements in column k lie in the image. */
static inline ek_pool_span ek_pool_inside(const ek_window *window, int64_t k, int64_t first,
                                          int64_t end)
{
    int64_t stride = window->stride[1], before = window->padding[1] - k * window->dilation;
    int64_t from = before > 0 ? ek_divide_up(before, stride) : 0;
    int64_t last = window->image[1] - 1 + before;
    int64_t to = last < 0 ? 0 : last / stride + 1;
    ek_pool_span in = {from > first ? from : first, to < end ? to : end};
    if (in.end < in.first)
        in.end = in.first;
    return in;
}

#endif
