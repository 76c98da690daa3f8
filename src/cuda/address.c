/* Note [From an address to its block]
 *
 * Operands point anywhere into blocks, and calls look them up on their way, on any thread. So the
 * table is read without a lock, and is what a processor has for addresses: nodes whose entries
 * stand for ever smaller ranges, from 32 GB down to the 256 bytes that blocks are apart at the
 * least. An entry is a block that has all of the range, or a node with the ranges within. A block
 * thus is entered where its ranges are largest: a large one costs an entry for 2 MB, and some at
 * its ends.
 *
 * Addresses are one space for all devices and the host, so there is one table. Nodes stay for the
 * process, since addresses come back. If a block has all of a range that has a node already, the
 * node says so itself. */
#include "cuda/address.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    LEVELS = 4,
    ROOT_ENTRIES = 1 << 14,
    NODE = 1 /* the bit that tells a node from a block */
};

/* Of the addresses' 49 bits an entry of level i stands for the lower shift[i], and a node of it has
 * entries[i] entries. */
static const int shift[LEVELS] = {35, 21, 14, 8};
static const size_t entries[LEVELS] = {ROOT_ENTRIES, 1 << 14, 1 << 7, 1 << 6};

typedef struct node {
    _Atomic(ek_block *) whole; /* the block that has all of the node's range; null: none */
    _Atomic(uintptr_t) entry[];
} node;

static _Atomic(uintptr_t) root[ROOT_ENTRIES];
static _Atomic(long) nodes;

long ek_cuda_address_nodes(void)
{
    return nodes;
}

static inline size_t index_of(uintptr_t address, int level)
{
    return address >> shift[level] & (entries[level] - 1);
}

static inline node *node_of(uintptr_t entry)
{
    return (node *)(entry - NODE);
}

ek_block *ek_cuda_block_find(const void *memory)
{
    uintptr_t address = (uintptr_t)memory, entry;
    ek_block *found = NULL;
    if (address >> shift[0] >= ROOT_ENTRIES)
        return NULL;
    entry = atomic_load_explicit(&root[index_of(address, 0)], memory_order_acquire);
    for (int level = 1; entry & NODE; level++) {
        node *node = node_of(entry);
        ek_block *whole = atomic_load_explicit(&node->whole, memory_order_acquire);
        found = whole ? whole : found;
        entry = atomic_load_explicit(&node->entry[index_of(address, level)], memory_order_acquire);
    }
    return entry ? (ek_block *)entry : found;
}

/* The node of an entry of that level, made if there is none. Null if there is no host memory. */
static node *make_node(_Atomic(uintptr_t) *entry, int level)
{
    uintptr_t there = atomic_load_explicit(entry, memory_order_acquire);
    if (there)
        return node_of(there);
    node *fresh = calloc(1, sizeof *fresh + entries[level + 1] * sizeof fresh->entry[0]);
    if (!fresh)
        return NULL;
    if (atomic_compare_exchange_strong(entry, &there, (uintptr_t)fresh | NODE)) {
        nodes++;
        return fresh;
    }
    free(fresh); /* another thread was first */
    return node_of(there);
}

/* Enters `value` for [from, to), which is within a node of that level. Returns where it stopped: at
 * `to` unless there is no host memory. */
static uintptr_t set(_Atomic(uintptr_t) *node_entries, int level, uintptr_t from, uintptr_t to,
                     ek_block *value)
{
    const uintptr_t range = (uintptr_t)1 << shift[level];
    while (from < to) {
        _Atomic(uintptr_t) *entry = &node_entries[index_of(from, level)];
        uintptr_t end = (from & ~(range - 1)) + range, next = end < to ? end : to;
        uintptr_t there = atomic_load_explicit(entry, memory_order_acquire);
        bool all = next - from == range || level == LEVELS - 1;
        if (all && there & NODE) {
            atomic_store_explicit(&node_of(there)->whole, value, memory_order_release);
        } else if (all) {
            atomic_store_explicit(entry, (uintptr_t)value, memory_order_release);
        } else {
            node *node = make_node(entry, level);
            uintptr_t stop = node ? set(node->entry, level + 1, from, next, value) : from;
            if (stop < next)
                return stop;
        }
        from = next;
    }
    return to;
}

bool ek_cuda_address_add(ek_block *block)
{
    uintptr_t start = (uintptr_t)block->memory, end = start + block->bytes;
    if ((end - 1) >> shift[0] >= ROOT_ENTRIES)
        return false;
    uintptr_t stop = set(root, 0, start, end, block);
    if (stop < end)
        set(root, 0, start, stop, NULL);
    return stop == end;
}

void ek_cuda_address_remove(ek_block *block)
{
    uintptr_t start = (uintptr_t)block->memory;
    set(root, 0, start, start + block->bytes, NULL);
}
