/* Large blocks that a device keeps for all its queues: few, and each dear to make. */
#ifndef EK_SHELF_H
#define EK_SHELF_H

#include <stdbool.h>

#include "lock.h"
#include "stock.h"

typedef struct ek_shelf {
    ek_lock lock;
    ek_block *first; /* the one put there last */
    size_t kept, keep;
} ek_shelf;

void ek_shelf_init(ek_shelf *shelf, size_t keep);

/* The smallest block of at least `bytes` bytes, and at most a quarter more, that is `ready` (null:
 * all are), or null. */
ek_block *ek_shelf_take(ek_shelf *shelf, size_t bytes, bool (*ready)(ek_block *block));

/* Puts a block there. Returns the list of those that must go for it, which may be itself. */
ek_block *ek_shelf_put(ek_shelf *shelf, ek_block *block);

/* The list of those that must go so that at most `keep` bytes are kept: the oldest. */
ek_block *ek_shelf_shrink(ek_shelf *shelf, size_t keep);

/* Bytes kept. */
size_t ek_shelf_kept(ek_shelf *shelf);

#endif
