/* What the kernels of lookups are given beside the call. */
#ifndef EK_CUDA_LOOKUP_WORK_H
#define EK_CUDA_LOOKUP_WORK_H

#include "cuda/late.h"
#include "lookup_args.h"

/* Whether the indices of a call are all places. The word holds the number of the last call that had
 * one that is none, in its upper bits, and below them how far the first such place is from the
 * highest: the largest value of a call is its first place, and a later call's is larger than all of
 * an earlier's. So it need not be set back between calls. */
enum { EK_VERDICT_PLACE_BITS = 40 };

typedef struct ek_verdict {
    unsigned long long *word;
    uint64_t number; /* of the call; 0: nothing is refused */
    const char *call;
    ek_late *late;
} ek_verdict;

/* Values sorted by their targets: W is uint32_t, or uint64_t if there are very many. */
enum {
    EK_SORT_THREADS = 256,
    EK_SORT_ITEMS = 16,
    EK_SORT_TILE = EK_SORT_THREADS * EK_SORT_ITEMS,
    EK_SORT_BITS = 8,
    EK_SORT_DIGITS = 1 << EK_SORT_BITS,
};

typedef struct ek_sort {
    int64_t count, tiles;
    int32_t shift;
    bool first; /* values are where their places say */
    const void *key, *at;
    void *key_out, *at_out;
    void *counts; /* of each digit, for each tile */
    void *totals;
} ek_sort;

/* Chains of a target's values. A chain that is not all its target has leaves its result in a slot:
 * of 32 neighbouring values, the slot 1 for a target's first chain and 0 for any other. */
typedef struct ek_chains {
    int64_t count; /* of values */
    int64_t slots;
    int64_t distance; /* values from one result to the next that are joined now */
    int32_t wide;     /* elements of a row that a thread takes: 1, or 16 bytes */
    const void *key, *at;
    void *head; /* of each slot: the target's first value + 1; 0: not used */
    void *part; /* of each slot: a row of accumulators for each outer part */
} ek_chains;

#endif
