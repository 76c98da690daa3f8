/* Hashes of ids, of runs of keys and of bytes. */
#ifndef EINKORN_HASH_H
#define EINKORN_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "einkorn/array.h"
#include "einkorn/queue.h"
#include "einkorn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Four hashes of each id: out[..., k] is output h<k> of ek_murmur3_x64_128 of the id there. ids are
 * u64 of any shape; out is u32 and has that shape and one dimension of 4 more. */
ek_status ek_hash(ek_queue *q, const ek_array *ids, int64_t seed, ek_array *out);

/* The hash of each window of n neighbouring keys: out[i] is MurmurHash64A, seed 0, of the 8 n bytes
 * of keys[i] to keys[i + n - 1]. Both are u64 arrays of one dimension, and out has so many elements
 * as there are windows: none if n is below 1 or above the number of keys. out must not overlap
 * keys. */
ek_status ek_ngrams(ek_queue *q, int64_t n, const ek_array *keys, ek_array *out);

/* MurmurHash3 x86_32 of `length` bytes in host memory. Thinc hashes strings by it: the int32 of
 * that pattern, seed 0, of the UTF-8 bytes, is the key of a string. `bytes` may be null if there
 * are none. */
uint32_t ek_murmur3_x86_32_bytes(const void *bytes, size_t length, uint32_t seed);

#ifdef __cplusplus
}
#endif
#endif
