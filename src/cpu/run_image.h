/* Image operations on the CPU. */
#ifndef EK_CPU_RUN_IMAGE_H
#define EK_CPU_RUN_IMAGE_H

#include "image.h"

/* Computes rows `first` to before `end` of a plane: data[] is where the operands' planes begin. */
typedef void ek_image_rows_fn(const ek_image_call *call, void *const *data, int64_t first,
                              int64_t end);

typedef struct ek_image_kernel {
    ek_image_rows_fn *rows;
    uint8_t size[EK_IMAGE_OPERANDS]; /* bytes of an element */
} ek_image_kernel;

#endif
