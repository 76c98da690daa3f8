/* Convolutions: the shape that typed calls of ek_conv2d, ek_convtrans2d, ek_conv2d_bwd_filters and
 * of their exact twins take. All three are about one convolution, so a convolution and its
 * gradients take the same shape:
 *
 *     x        (batch, channels, height, width)                    the image
 *     filters  (filters, channels / groups, kernel_y, kernel_x)
 *     y        (batch, filters, rows, columns)                     the result
 *
 * with rows = (height + 2 padding_y - dilation (kernel_y - 1) - 1) / stride_y + 1, rounded down,
 * and columns likewise. */
#ifndef EINKORN_CONV_H
#define EINKORN_CONV_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ek_conv_shape {
    int64_t batch, channels, height, width;
    int64_t filters, kernel_y, kernel_x;
    int64_t stride_y, stride_x;
    int64_t padding_y, padding_x; /* zeros around the image */
    int64_t dilation;             /* steps in the image from one element of a filter to the next */
    int64_t groups; /* into which channels and filters are divided, each by itself; both are
                       multiples of it */
} ek_conv_shape;

#ifdef __cplusplus
}
#endif
#endif
