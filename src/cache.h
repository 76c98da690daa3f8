/* Freed memory that a queue keeps for its next calls.
 *
 * Note [Who may reuse a block]
 *
 * The work of one queue runs in order, so memory freed on a queue may be given out again on the
 * same queue at once, whatever of its work is still to come: that is what a cache is for, and it
 * needs neither the driver nor another thread. Its lock is for the few who come from outside: a
 * trim, and statistics.
 *
 * A block belongs to the cache of the queue that was given it, and has a bit for every other queue
 * that uses it. If at its end there is any queue but the one that frees it, it skips the cache; see
 * cuda/share.c.
 *
 * A cache outlives its queue. When that is closed its work is done, so what still belongs to the
 * cache may as well belong to the queue that takes the cache over. So blocks can hold plain
 * pointers to caches, which stay until the device goes. */
#ifndef EK_CACHE_H
#define EK_CACHE_H

#include <stdbool.h>

#include "einkorn/queue.h"
#include "lock.h"
#include "shelf.h"

enum { EK_CACHE_CLASSES = 64 };

/* A backend's own cache struct begins with it. */
typedef struct ek_cache {
    ek_lock lock; /* of what follows */
    ek_block *blocks[EK_CACHE_CLASSES];
    uint64_t filled; /* a bit for each class that has blocks */
    size_t kept;     /* bytes of these */
    ek_shelf large;  /* blocks of no class */
    int32_t hand;    /* the class that is evicted next */
    int64_t in_use;  /* bytes given out less bytes taken back: negative if others give them out */
    int64_t told;    /* what the stock knows of in_use: no less, and not much more */
    uint64_t allocations, reused;

    ek_device *device; /* constant */
    uint64_t bit;      /* constant */
    bool exposed;      /* the application has its stream, and may capture it; the queue's own */
    bool open;         /* there is a queue; under ek_caches_lock, as is what follows */
    bool taken;        /* a queue is being opened, open or being closed */
    struct ek_cache *next;
} ek_cache;

/* The smallest class for so many bytes, more than 0, and the bytes of its blocks. */
int32_t ek_class_of(int32_t log_quantum, size_t bytes);
size_t ek_class_bytes(int32_t log_quantum, int32_t class);

/* ek_alloc and ek_free behind their checks, and the same for what a queue needs itself. */
ek_status ek_cache_alloc(ek_queue *queue, size_t bytes, void **memory);
ek_status ek_cache_free(ek_queue *queue, void *memory);

/* Counts bytes that the queue gives out, or takes back without keeping them. */
void ek_cache_count(ek_cache *cache, int64_t bytes);

/* Bytes of free blocks. The caller holds the lock. */
size_t ek_cache_kept(ek_cache *cache);

/* Gives blocks back, the largest first, until at most `keep` bytes are kept. The caller holds the
 * lock. */
void ek_cache_shrink(ek_cache *cache, size_t keep);

/* All caches of all devices, and their lock, which comes before the lock of a cache. It is for what
 * is rare: opening and closing queues, statistics, trims, and memory that several queues used. */
extern ek_lock ek_caches_lock;
extern ek_cache *ek_caches;

/* A cache for a queue that is being opened: one that a closed queue left, or a new one of `size`
 * bytes, all zero beyond its base. Null if there is no host memory. */
ek_cache *ek_cache_take(ek_device *device, size_t size);

/* Makes a cache that was taken one of an open queue. */
void ek_cache_open(ek_cache *cache);

/* Leaves a cache that was taken, open or not, to the next queue; the work of its own is done.
 * `end`, unless it is null, ends what the backend made for it. */
void ek_cache_leave(ek_cache *cache, void (*end)(ek_cache *cache));

/* Frees the caches of a device that is being freed. */
void ek_caches_free(const ek_device *device);

#endif
