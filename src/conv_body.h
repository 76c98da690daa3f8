/* Where an element of a filter meets the source, the same for C and CUDA C. */
#ifndef EK_CONV_BODY_H
#define EK_CONV_BODY_H

#include "conv_args.h"
#include "einkorn/body.h"

/* The row (axis 0) or column that element k of a filter meets at a place; -1: none. */
EK_BODY int64_t ek_unfold_at(const ek_unfold *u, int axis, int64_t place, int64_t k)
{
    int64_t length = axis ? u->columns : u->rows, stride = u->stride[axis];
    if (!u->transposed) {
        int64_t at = place * stride - u->padding[axis] + k * u->dilation;
        return at >= 0 && at < length ? at : -1;
    }
    int64_t from = place + u->padding[axis] - k * u->dilation;
    if (from < 0)
        return -1;
#if defined(__CUDACC__)
    int64_t at =
        (from | stride) >> 32 ? from / stride : (int64_t)((uint32_t)from / (uint32_t)stride);
#else
    int64_t at = stride == 1 ? from : from / stride;
#endif
    return at < length && at * stride == from ? at : -1;
}

#endif
