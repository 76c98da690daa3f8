/* A hash of results, the same on every machine. */
#ifndef HASH_H
#define HASH_H

#include <stdint.h>

#include "einkorn/dtype.h"

/* `hash` with n elements taken in, in order; any NaN counts as any other. */
uint64_t hash_elements(uint64_t hash, ek_dtype dtype, int64_t n, const void *data);

#endif
