#include "hash.h"

#include <string.h>

/* Bytes of a real number of the dtype and the bits of its infinity; 0 bytes if it has no NaN. */
typedef struct format {
    size_t size;
    uint64_t infinity;
} format;

static format format_of(ek_dtype dtype)
{
    switch (dtype) {
    case EK_F16:
        return (format){2, 0x7c00};
    case EK_BF16:
        return (format){2, 0x7f80};
    case EK_F32:
    case EK_C64:
        return (format){4, 0x7f800000};
    case EK_F64:
    case EK_C128:
        return (format){8, UINT64_C(0x7ff0000000000000)};
    default:
        return (format){0, 0};
    }
}

/* An invertible step, so that no two words leave the same hash: a multiplication by an odd number
 * and a shift (G. Marsaglia, "Xorshift RNGs", 2003). */
static uint64_t take_in(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t word_at(const unsigned char *at, size_t size)
{
    uint64_t word = 0;
    for (size_t i = 0; i < size; i++)
        word |= (uint64_t)at[i] << 8 * i;
    return word;
}

uint64_t hash_elements(uint64_t hash, ek_dtype dtype, int64_t n, const void *data)
{
    const unsigned char *at = data;
    format f = format_of(dtype);
    size_t element = ek_dtype_size(dtype), step = f.size ? f.size : element;
    for (const unsigned char *end = at + (size_t)n * element; at != end; at += step) {
        uint64_t word = word_at(at, step);
        uint64_t magnitude = word & ~(UINT64_C(1) << (8 * step - 1));
        hash = take_in(hash, f.size && magnitude > f.infinity ? f.infinity + 1 : word);
    }
    return take_in(hash, (uint64_t)n);
}
