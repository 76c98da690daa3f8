/* Where the images come from: a collection in host memory, from which batches are prepared. */
#ifndef PIPELINE_IMAGES_H
#define PIPELINE_IMAGES_H

#include <stdint.h>

typedef struct images {
    int count, width;
    uint8_t *pixels; /* count x width */
} images;

/* Makes the collection: waves of different lengths, the same ones every time. */
void images_init(images *images, int count, int width);
void images_free(images *images);

/* Prepares batch number `batch`: `rows` images drawn from the collection. */
void images_prepare(const images *images, int64_t batch, int rows, uint8_t *out);

#endif
