/* Note [From an address to its block]
 *
 * Operands point anywhere into blocks, and calls look them up on their way, on any thread. So the
 * table is read without a lock, and is what a processor has for addresses: 49 bits in steps of 14,
 * 14 and 21. An entry stands for 2 MB. It is a block that holds all of that, or a leaf with an
 * entry for each 256 bytes, the least that the driver's blocks are apart. A large block thus costs
 * an entry for 2 MB, and small ones share a leaf.
 *
 * Addresses are one space for all devices and the host, so there is one table. What was made of it
 * stays for the process: addresses come back. */
#include "cuda/address.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    LOG_STEP = 8,
    LOG_GRANULE = 21,
    LOG_ENTRIES = 14,
    ENTRIES = 1 << LOG_ENTRIES,
    STEPS = 1 << (LOG_GRANULE - LOG_STEP),
    LEAF = 1 /* the bit that tells a leaf from a block */
};

typedef struct leaf {
    _Atomic(ek_block *) whole; /* the block that holds all of the 2 MB */
    _Atomic(ek_block *) steps[STEPS];
} leaf;

typedef struct table {
    _Atomic(uintptr_t) entries[ENTRIES];
} table;

static _Atomic(table *) root[ENTRIES];

static _Atomic(table *) *slot(uintptr_t address)
{
    uintptr_t index = address >> (LOG_GRANULE + LOG_ENTRIES);
    return index < ENTRIES ? &root[index] : NULL;
}

static size_t entry_of(uintptr_t address)
{
    return address >> LOG_GRANULE & (ENTRIES - 1);
}

static size_t step_of(uintptr_t address)
{
    return (address & ((UINT64_C(1) << LOG_GRANULE) - 1)) >> LOG_STEP;
}

ek_block *ek_cuda_block_find(const void *memory)
{
    uintptr_t address = (uintptr_t)memory;
    _Atomic(table *) *at = slot(address);
    table *table = at ? atomic_load_explicit(at, memory_order_acquire) : NULL;
    if (!table)
        return NULL;
    uintptr_t entry =
        atomic_load_explicit(&table->entries[entry_of(address)], memory_order_acquire);
    if (!(entry & LEAF))
        return (ek_block *)entry;
    leaf *leaf = (struct leaf *)(entry - LEAF);
    ek_block *block = atomic_load_explicit(&leaf->steps[step_of(address)], memory_order_acquire);
    return block ? block : atomic_load_explicit(&leaf->whole, memory_order_acquire);
}

/* The entry of an address, made if it is not there. Null if there is no host memory. */
static _Atomic(uintptr_t) *make_entry(uintptr_t address)
{
    _Atomic(table *) *at = slot(address);
    table *found = at ? atomic_load_explicit(at, memory_order_acquire) : NULL;
    if (at && !found) {
        table *fresh = calloc(1, sizeof *fresh);
        if (!fresh)
            return NULL;
        if (atomic_compare_exchange_strong(at, &found, fresh))
            found = fresh;
        else
            free(fresh); /* another thread was first */
    }
    return found ? &found->entries[entry_of(address)] : NULL;
}

static leaf *make_leaf(_Atomic(uintptr_t) *entry)
{
    uintptr_t found = atomic_load_explicit(entry, memory_order_acquire);
    if (!found) {
        leaf *fresh = calloc(1, sizeof *fresh);
        if (!fresh)
            return NULL;
        if (atomic_compare_exchange_strong(entry, &found, (uintptr_t)fresh | LEAF))
            return fresh;
        free(fresh);
    }
    return (leaf *)(found - LEAF);
}

/* Enters `value` for the part of [from, to) that is within the first granule. */
static bool set_granule(uintptr_t from, uintptr_t to, ek_block *value)
{
    _Atomic(uintptr_t) *entry = make_entry(from);
    if (!entry)
        return false;
    bool all = to - from == (uintptr_t)1 << LOG_GRANULE;
    uintptr_t found = atomic_load_explicit(entry, memory_order_acquire);
    if (all && !(found & LEAF)) {
        atomic_store_explicit(entry, (uintptr_t)value, memory_order_release);
        return true;
    }
    leaf *leaf = make_leaf(entry);
    if (!leaf)
        return false;
    if (all) {
        atomic_store_explicit(&leaf->whole, value, memory_order_release);
        return true;
    }
    size_t last = step_of(to - 1);
    for (size_t step = step_of(from); step <= last; step++)
        atomic_store_explicit(&leaf->steps[step], value, memory_order_release);
    return true;
}

/* Enters `value` from the beginning of the block up to `to`, or to the first failure. */
static uintptr_t set(const ek_block *block, uintptr_t to, ek_block *value)
{
    uintptr_t at = (uintptr_t)block->memory;
    while (at < to) {
        uintptr_t next = ((at >> LOG_GRANULE) + 1) << LOG_GRANULE;
        next = next < to ? next : to;
        if (!set_granule(at, next, value))
            break;
        at = next;
    }
    return at;
}

bool ek_cuda_address_add(ek_block *block)
{
    uintptr_t end = (uintptr_t)block->memory + block->bytes;
    uintptr_t done = set(block, end, block);
    if (done < end)
        set(block, done, NULL);
    return done == end;
}

void ek_cuda_address_remove(ek_block *block)
{
    set(block, (uintptr_t)block->memory + block->bytes, NULL);
}
