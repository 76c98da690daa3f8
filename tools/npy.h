/* NumPy's .npy files, versions 1.0, 2.0 and 3.0: C or Fortran order, either byte order, the dtypes
 * the library has. bfloat16 is written as NumPy writes ml_dtypes' type, "<V2"; "V2" in any byte
 * order and "bfloat16" are read as such. Every failure names file, field and value. */
#ifndef NPY_H
#define NPY_H

#include <stdio.h>

#include "einkorn/array.h"

/* An array on the host that owns its memory; valid where it lies, so it must not be copied. */
typedef struct npy_array {
    ek_array array;
    ek_dtype dtype;
    int64_t shape[EK_MAX_NDIM];
    int64_t strides[EK_MAX_NDIM]; /* Fortran order is a matter of strides */
} npy_array;

/* Reads the file at `path`, which must hold one array and nothing else. */
ek_status npy_read(const char *path, npy_array *out);

/* The same from an open file; `name` stands for it in messages. */
ek_status npy_read_file(FILE *file, const char *name, npy_array *out);

/* Frees what a read allocated; a zeroed array is allowed. */
void npy_free(npy_array *array);

/* Writes an array in C order on the host to `path`. A regular file appears whole or not at all. */
ek_status npy_write(const char *path, const ek_array *array);

#endif
