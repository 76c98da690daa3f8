/* What the host and the kernels of images agree on; read by C and by CUDA C. */
#ifndef EK_IMAGE_ARGS_H
#define EK_IMAGE_ARGS_H

#include <stdint.h>

#include "einkorn/limits.h"

/* How the elements of two images belong together. Of two numbers the first is for rows, the second
 * for columns. */
typedef struct ek_window {
    int64_t image[2];  /* the image that windows lie over, or that is scaled */
    int64_t result[2]; /* how many windows there are, or the scaled image */
    int64_t kernel[2], stride[2], padding[2], dilation;
    int64_t every; /* a parameter of an operation's own */
} ek_window;

#define EK_IMAGE_OPERANDS 4

/* A checked call, of the output and then the inputs. Dimensions before the last two lead to a
 * plane; those that all operands cross in one step are merged. */
typedef struct ek_image_call {
    ek_window window;
    int64_t planes, height, width; /* of the output */
    int32_t operands, ndim;
    void *data[EK_IMAGE_OPERANDS];
    int64_t row[EK_IMAGE_OPERANDS], column[EK_IMAGE_OPERANDS]; /* steps in elements */
    int64_t shape[EK_MAX_NDIM];
    int64_t step[EK_MAX_NDIM][EK_IMAGE_OPERANDS];
} ek_image_call;

#endif
