/* Running scans on the CPU, in the order of src/prefixes.h. */
#ifndef EK_CPU_RUN_SCAN_H
#define EK_CPU_RUN_SCAN_H

#include "prefixes.h"
#include "scan.h"

/* The most bytes of accumulators that a kernel has side by side. */
#define EK_SCAN_WIDTH_BYTES 512

/* What the elements of a row come to so far, or of rows side by side: accumulators. */
typedef struct ek_scan_carry {
    int64_t chunk;                                    /* the number of the next one in its row */
    _Alignas(64) char chunks[EK_SCAN_WIDTH_BYTES];    /* those of its span before it */
    _Alignas(64) char spans[EK_SCAN_WIDTH_BYTES];     /* those of its stretch before that */
    _Alignas(64) char stretches[EK_SCAN_WIDTH_BYTES]; /* and those of its row before that */
} ek_scan_carry;

/* Whether there are any of each before the next chunk. */
static inline bool ek_scan_after_chunks(const ek_scan_carry *carry)
{
    return carry->chunk % EK_SPAN_CHUNKS > 0;
}

static inline bool ek_scan_after_spans(const ek_scan_carry *carry)
{
    return carry->chunk / EK_SPAN_CHUNKS % EK_STRETCH_SPANS > 0;
}

static inline bool ek_scan_after_stretches(const ek_scan_carry *carry)
{
    return carry->chunk >= EK_SPAN_CHUNKS * EK_STRETCH_SPANS;
}

/* The kernels of one loop. Generated. */
typedef struct ek_scan_kernels {
    /* The results of n neighbouring elements that begin with a chunk of a row. */
    void (*row)(int64_t n, const void *x, ek_scan_carry *carry, void *out);
    /* The carry after n neighbouring elements, which are whole chunks. */
    void (*total)(int64_t n, const void *x, ek_scan_carry *carry);
    /* Of n <= EK_SCAN_CHUNK elements of each of `width` rows that lie side by side; elements are
     * `step` apart and results `out_step`. */
    void (*columns)(int64_t n, int64_t width, int64_t step, const void *x, ek_scan_carry *carry,
                    int64_t out_step, void *out);
    /* Lets n accumulators take in those before them. */
    void (*take_in)(int64_t n, const void *before, void *values);
    uint8_t in_size, out_size, size; /* bytes of an element, a result, an accumulator */
} ek_scan_kernels;

#endif
