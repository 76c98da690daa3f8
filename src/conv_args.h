/* What the host and the kernels of convolutions agree on; read by C and by CUDA C. */
#ifndef EK_CONV_ARGS_H
#define EK_CONV_ARGS_H

#include <stdint.h>

/* Unfolding: for each image, and for each channel and element of a filter, what that element meets
 * at `count` places one after the other, from `first` on; zeros outside of the source. Places lie
 * in a grid with rows of `width`. */
typedef struct ek_unfold {
    const void *from;
    void *to; /* [image][channel][kernel row][kernel column][place] */
    int64_t images, channels, rows, columns;
    int64_t step[4]; /* of these four, in elements */
    int64_t kernel[2], stride[2], padding[2], dilation;
    int64_t width, first, count;
    int32_t transposed; /* places are those of the image, and the source is the result */
} ek_unfold;

/* Elements in four dimensions: between any steps and C order. */
typedef struct ek_conv_pack {
    const void *from;
    void *to;
    int64_t length[4], step[4]; /* of the side that is not in C order */
} ek_conv_pack;

/* total[i] is the sum of part[0][i], part[1][i], ..., added one after the other to what it holds
 * if `resume`, else to +0. */
typedef struct ek_conv_join {
    const void *part;
    void *total;
    int64_t parts, n;
    int32_t resume;
} ek_conv_join;

#endif
