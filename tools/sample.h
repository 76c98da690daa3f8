/* Inputs for verify and bench. A value depends on the kind of sample, the dtype, the input's number
 * and the element's number alone, so every run on every machine sees the same. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdint.h>

#include "einkorn/dtype.h"

typedef enum sample_kind {
    SAMPLE_ORDINARY, /* numbers of common size: floats in (-4, 4), integers up to 100 */
    SAMPLE_SPECIAL,  /* edges of the dtype, combined with each other over all inputs */
    SAMPLE_BITS,     /* random bit patterns */
    SAMPLE_ALL       /* every bit pattern, combined over all inputs */
} sample_kind;

/* One input's sample. For SAMPLE_SPECIAL and SAMPLE_ALL, `period` is how many elements keep a value
 * before the next one comes: the number of combinations of the inputs before this one. 0 chooses
 * combinations at random, for when there are too many. */
typedef struct sample {
    sample_kind kind;
    ek_dtype dtype;
    int32_t input;
    int64_t period;
} sample;

/* How many different elements a dtype has in a sample: SAMPLE_SPECIAL's list, or for SAMPLE_ALL
 * every pattern, where it has at most 32 bits. */
int64_t sample_count(sample_kind kind, ek_dtype dtype);

/* Elements first to first + count - 1. */
void sample_fill(const sample *s, int64_t first, int64_t count, void *data);

#endif
