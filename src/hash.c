#include "einkorn/hash.h"

#include <inttypes.h>
#include <string.h>

#include "einkorn/ops/murmur3_x64_128.h"
#include "einkorn/ops/murmur64_step.h"
#include "error.h"
#include "layout.h"

enum { HASHES = 4 };

ek_status ek_hash(ek_queue *q, const ek_array *ids, int64_t seed, ek_array *out)
{
    ek_operand x, table;
    char text[2][128];
    EK_TRY(ek_operand_describe("ek_hash", "ids", ids, &x));
    EK_TRY(ek_operand_describe("ek_hash", "out", out, &table));
    if (x.dtype != EK_U64 || table.dtype != EK_U32)
        return ek_fail(EK_DTYPE_MISMATCH, "ek_hash: ids is %s and out %s: must be u64 and u32",
                       ek_dtype_name(x.dtype), ek_dtype_name(table.dtype));
    bool fits = table.ndim == x.ndim + 1 && table.shape[x.ndim] == HASHES;
    for (int32_t d = 0; fits && d < x.ndim; d++)
        fits = table.shape[d] == x.shape[d];
    if (!fits)
        return ek_fail(
            EK_SHAPE_MISMATCH,
            "ek_hash: out has the shape %s and ids %s: out must have a last dimension of 4 "
            "more",
            ek_shape_text(table.ndim, table.shape, text[0]),
            ek_shape_text(x.ndim, x.shape, text[1]));
    ek_array column[HASHES];
    for (int k = 0; k < HASHES; k++) {
        column[k] = *out;
        column[k].ndim = x.ndim;
        column[k].strides = table.stride;
        column[k].data = x.size ? ek_array_data(out) : out->data;
        column[k].byte_offset = 0;
        if (x.size)
            column[k].data = (char *)column[k].data +
                             k * table.stride[x.ndim] * (int64_t)ek_dtype_size(table.dtype);
    }
    return ek_murmur3_x64_128(q, ids, seed, &column[0], &column[1], &column[2], &column[3]);
}

ek_status ek_ngrams(ek_queue *q, int64_t n, const ek_array *keys, ek_array *out)
{
    ek_operand x, hashes;
    EK_TRY(ek_operand_describe("ek_ngrams", "keys", keys, &x));
    EK_TRY(ek_operand_describe("ek_ngrams", "out", out, &hashes));
    if (x.dtype != EK_U64 || hashes.dtype != EK_U64)
        return ek_fail(EK_DTYPE_MISMATCH, "ek_ngrams: keys is %s and out %s: must be u64",
                       ek_dtype_name(x.dtype), ek_dtype_name(hashes.dtype));
    if (x.ndim != 1 || hashes.ndim != 1)
        return ek_fail(EK_SHAPE_MISMATCH, "ek_ngrams: keys has %d and out %d dimensions: must be 1",
                       (int)x.ndim, (int)hashes.ndim);
    int64_t windows = n < 1 || n > x.size ? 0 : x.size - n + 1;
    if (hashes.size != windows)
        return ek_fail(EK_SHAPE_MISMATCH,
                       "ek_ngrams: out has %" PRId64 " elements: %" PRId64 " keys have %" PRId64
                       " windows of %" PRId64,
                       hashes.size, x.size, windows, n);
    EK_TRY(ek_operand_read("ek_ngrams", "keys", keys, &x));
    EK_TRY(ek_operand_read("ek_ngrams", "out", out, &hashes));
    if (windows > 0 && ek_overlaps(&x, &hashes))
        return ek_fail(EK_OVERLAP, "ek_ngrams: out overlaps keys");
    for (int64_t j = 0; j < (windows > 0 ? n : 1); j++) {
        ek_array key = *keys;
        key.shape = &windows;
        key.strides = x.stride;
        key.data = (uint64_t *)x.data + j * x.stride[0];
        key.byte_offset = 0;
        EK_TRY(ek_murmur64_step(q, j ? out : &key, &key, n < 1 ? 1 : n, j == 0, j == n - 1, out));
    }
    return EK_OK;
}
