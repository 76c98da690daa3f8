/* The header of a .npy file: a Python dictionary, of which three keys with plain values are read.
 */
#ifndef NPY_HEADER_H
#define NPY_HEADER_H

#include <stdbool.h>
#include <stddef.h>

#include "einkorn/array.h"

/* The most bytes a header may have. 32 dimensions need less than 1,000. */
enum { NPY_HEADER_BYTES = 65536 };

/* Room for what npy_header_format writes: 32 lengths of 19 digits and some words. */
enum { NPY_PREAMBLE_BYTES = 1024 };

typedef struct npy_header {
    ek_dtype dtype;
    bool swapped; /* bytes of each number are in the other order than this machine's */
    bool fortran;
    int32_t ndim;
    int64_t shape[EK_MAX_NDIM];
} npy_header;

/* Reads a header's text. */
ek_status npy_header_parse(const char *name, const char *text, size_t length, npy_header *header);

/* Writes a whole preamble, magic string and padding included, for an array in C order. `text` has
 * NPY_PREAMBLE_BYTES. Returns its length. */
size_t npy_header_format(ek_dtype dtype, int32_t ndim, const int64_t *shape, char *text);

/* Bytes of one number: a complex element has two of them. */
size_t npy_number_size(ek_dtype dtype);

#endif
