#include "shelf.h"

#include <stdlib.h>

void ek_shelf_init(ek_shelf *shelf, size_t keep)
{
    atomic_init(&shelf->lock.holder, 0);
    shelf->first = NULL;
    shelf->kept = 0;
    shelf->keep = keep;
}

ek_block *ek_shelf_take(ek_shelf *shelf, size_t bytes, bool (*ready)(ek_block *block))
{
    ek_block **best = NULL;
    ek_lock_take(&shelf->lock);
    for (ek_block **at = &shelf->first; *at; at = &(*at)->next) {
        size_t size = (*at)->bytes;
        if (size >= bytes && size - bytes <= bytes / 4 && (!best || size < (*best)->bytes) &&
            (!ready || ready(*at)))
            best = at;
    }
    ek_block *found = best ? *best : NULL;
    if (found) {
        *best = found->next;
        shelf->kept -= found->bytes;
    }
    ek_lock_give(&shelf->lock);
    return found;
}

/* What does not fit beside the younger ones goes. */
static ek_block *shrink_locked(ek_shelf *shelf, size_t keep)
{
    ek_block *gone = NULL;
    size_t kept = 0;
    for (ek_block **at = &shelf->first; *at;) {
        ek_block *block = *at;
        if (block->bytes <= keep - kept) {
            kept += block->bytes;
            at = &block->next;
        } else {
            *at = block->next;
            block->next = gone;
            gone = block;
        }
    }
    shelf->kept = kept;
    return gone;
}

ek_block *ek_shelf_put(ek_shelf *shelf, ek_block *block)
{
    ek_lock_take(&shelf->lock);
    block->next = shelf->first;
    shelf->first = block;
    ek_block *gone = shrink_locked(shelf, shelf->keep);
    ek_lock_give(&shelf->lock);
    return gone;
}

ek_block *ek_shelf_shrink(ek_shelf *shelf, size_t keep)
{
    ek_lock_take(&shelf->lock);
    ek_block *gone = shrink_locked(shelf, keep);
    ek_lock_give(&shelf->lock);
    return gone;
}

size_t ek_shelf_kept(ek_shelf *shelf)
{
    ek_lock_take(&shelf->lock);
    size_t kept = shelf->kept;
    ek_lock_give(&shelf->lock);
    return kept;
}
