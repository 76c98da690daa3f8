/* A device's stock of memory: what all its queues share. */
#ifndef EK_STOCK_H
#define EK_STOCK_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "einkorn/device.h"
#include "einkorn/status.h"

typedef enum ek_block_state {
    EK_BLOCK_FREE = 0x65, /* values unlikely to be found in memory that is none of ours */
    EK_BLOCK_USED = 0x6b62c4d1,
    EK_BLOCK_OF_PROGRAM = 0x6b62c4d2,
    EK_BLOCK_PINNED = 0x6b62c4d3
} ek_block_state;

struct ek_cache;

/* A piece of memory as it came from the system or the driver. */
typedef struct ek_block {
    struct ek_block *next; /* in a list of free ones */
    char *memory;
    size_t bytes;
    ek_block_state state;
    int32_t class;           /* of its size, see cache.h; -1: larger than all classes */
    struct ek_cache *owner;  /* of the queue that was given it; null: a program's, or pinned */
    _Atomic(uint64_t) users; /* bits of other queues */
} ek_block;

/* What changes on hot paths is not here but in the caches of the queues. */
typedef struct ek_stock {
    int32_t log_quantum;   /* sizes are multiples of 2^log_quantum */
    size_t largest;        /* block of a class */
    size_t keep;           /* bytes of such that a queue keeps */
    size_t keep_large;     /* and of larger ones; 0: they are the backend's to keep */
    _Atomic(size_t) limit; /* of held */
    _Atomic(int64_t) held; /* bytes in use or kept */
    _Atomic(int64_t) in_use, peak;
    _Atomic(int64_t) in_programs; /* bytes of programs, which no queue counts */
    _Atomic(uint64_t) trims;
} ek_stock;

/* Counts bytes as held, unless that is beyond the limit, and no longer. For backends: around what
 * the system gives and takes. */
ek_status ek_stock_reserve(ek_stock *stock, size_t bytes);
void ek_stock_unreserve(ek_stock *stock, size_t bytes);

/* A block of at least `bytes` bytes, ready in the order of `line`: a stream, or null on the CPU.
 * Where there is no room, empties the caches and tries once more; the failure after that is
 * ek_alloc's. Not counted as in use. */
ek_status ek_stock_take(ek_device *device, void *line, size_t bytes, ek_block **block);

/* Makes the device's caches keep at most `keep` bytes. */
ek_status ek_stock_empty(ek_device *device, size_t keep);

/* Counts what came into use, for the peak; and what programs use, or less of it. */
void ek_stock_count(ek_stock *stock, int64_t bytes);
void ek_stock_count_program(ek_stock *stock, int64_t bytes);

/* Bytes in use, exactly. */
size_t ek_stock_in_use(const ek_device *device);

#endif
