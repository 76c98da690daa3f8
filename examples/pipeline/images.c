#include "images.h"

#include <stdlib.h>
#include <string.h>

/* A number that depends on both arguments in every bit (the finalizer of MurmurHash3's 64-bit
 * form, by Appleby). */
static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t h = a * UINT64_C(0x9e3779b97f4a7c15) + b;
    h = (h ^ (h >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ (h >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ (h >> 33);
}

void images_init(images *images, int count, int width)
{
    *images = (struct images){.count = count, .width = width};
    images->pixels = malloc((size_t)count * (size_t)width);
    if (!images->pixels)
        abort();
    for (int i = 0; i < count; i++) {
        unsigned step = 1 + (unsigned)(mix(1, (uint64_t)i) % 64), at = 0;
        for (int j = 0; j < width; j++, at += step) {
            unsigned up = at % 512;
            images->pixels[(size_t)i * (size_t)width + (size_t)j] =
                (uint8_t)(up < 256 ? up : 511 - up);
        }
    }
}

void images_free(images *images)
{
    free(images->pixels);
}

void images_prepare(const images *images, int64_t batch, int rows, uint8_t *out)
{
    size_t width = (size_t)images->width;
    for (int row = 0; row < rows; row++) {
        uint64_t drawn = mix((uint64_t)batch, (uint64_t)row) % (uint64_t)images->count;
        memcpy(out + (size_t)row * width, images->pixels + drawn * width, width);
    }
}
