/* What bodies of image operations are given and may call, the same for C and CUDA C. */
#ifndef EK_IMAGE_BODY_H
#define EK_IMAGE_BODY_H

#include "einkorn/body.h"
#include "image_args.h"

/* A plane of an operand, and one of its elements in the type that bodies compute in. */
#define EK_IMAGE_VIEW(name, type, compute)                                                         \
    typedef struct ek_view_##name {                                                                \
        const type *data;                                                                          \
        int64_t row, column;                                                                       \
    } ek_view_##name;                                                                              \
    EK_BODY compute ek_at_##name(ek_view_##name view, int64_t row, int64_t column)                 \
    {                                                                                              \
        return ek_load_##name(view.data[row * view.row + column * view.column]);                   \
    }

EK_IMAGE_VIEW(f16, ek_f16, float)
EK_IMAGE_VIEW(bf16, ek_bf16, float)
EK_IMAGE_VIEW(f32, float, float)
EK_IMAGE_VIEW(f64, double, double)

#undef EK_IMAGE_VIEW

/* a / b of numbers that are not negative; GPUs divide those of 32 bits much faster. */
EK_BODY int64_t ek_window_divide(int64_t a, int64_t b)
{
#if defined(__CUDACC__)
    if (((a | b) >> 32) == 0)
        return (int64_t)((uint32_t)a / (uint32_t)b);
#endif
    return a / b;
}

/* Where element k of a window lies along an axis; outside of the image in its padding. */
EK_BODY int64_t ek_window_place(const ek_window *window, int axis, int64_t at, int64_t k)
{
    return at * window->stride[axis] - window->padding[axis] + k * window->dilation;
}

/* The window along an axis whose element k lies at `place`; -1: there is none. */
EK_BODY int64_t ek_window_at(const ek_window *window, int axis, int64_t place, int64_t k)
{
    int64_t stride = window->stride[axis];
    int64_t from = place + window->padding[axis] - k * window->dilation;
    if (from < 0)
        return -1;
    int64_t at = stride == 1 ? from : ek_window_divide(from, stride);
    return at < window->result[axis] && at * stride == from ? at : -1;
}

/* The element that element `at` of a scaled image repeats, along an axis. */
EK_BODY int64_t ek_window_nearest(const ek_window *window, int axis, int64_t at)
{
    return ek_window_divide(at * window->image[axis], window->result[axis]);
}

/* The first element of the scaled image that repeats element `place` or a later one. */
EK_BODY int64_t ek_window_first(const ek_window *window, int axis, int64_t place)
{
    int64_t n = window->image[axis];
    return ek_window_divide(place * window->result[axis] + n - 1, n);
}

/* Element `at` of a scaled image with the same corners lies behind this one by `part` of
 * result - 1, along an axis. */
EK_BODY int64_t ek_window_corner(const ek_window *window, int axis, int64_t at, int64_t *part)
{
    int64_t steps = window->result[axis] - 1, far = at * (window->image[axis] - 1);
    int64_t place = steps > 0 ? ek_window_divide(far, steps) : 0;
    *part = steps > 0 ? far - place * steps : 0;
    return place;
}

/* The elements of the scaled image that lie less than a step from `place`: from the one returned
 * to before `end`. */
EK_BODY int64_t ek_window_around(const ek_window *window, int axis, int64_t place, int64_t *end)
{
    int64_t last = window->image[axis] - 1, steps = window->result[axis] - 1;
    *end = steps + 1;
    if (last == 0 || steps == 0) {
        *end = place == 0 ? *end : 0;
        return 0;
    }
    if (place < last)
        *end = ek_window_divide((place + 1) * steps + last - 1, last);
    return place > 0 ? ek_window_divide((place - 1) * steps, last) + 1 : 0;
}

/* How much element `at` of the scaled image takes from `place`, in parts of result - 1; of a single
 * one, all of 1. */
EK_BODY int64_t ek_window_share(const ek_window *window, int axis, int64_t at, int64_t place)
{
    int64_t part, corner = ek_window_corner(window, axis, at, &part);
    int64_t steps = window->result[axis] > 1 ? window->result[axis] - 1 : 1;
    return corner == place ? steps - part : corner == place - 1 ? part : 0;
}

#endif
