#include "cache.h"

#include "backend.h"
#include "program.h"
#include "sanitized.h"

/* Bytes that a queue may be ahead with; see count. */
enum { TOLERANCE = 1 << 20 };

/* Blocks that are given back for one that is freed, at the most: no free is a long affair. */
enum { MOST_EVICTED = 4 };

/* ---- classes: four to each power of two, so that at most a fifth of a block was not asked for */

int32_t ek_class_of(int32_t log_quantum, size_t bytes)
{
    size_t last = (bytes - 1) >> log_quantum;
    if (last < 4)
        return (int32_t)last;
    int shift = 61 - __builtin_clzll((unsigned long long)last);
    return 4 * shift + (int32_t)(last >> shift);
}

size_t ek_class_bytes(int32_t log_quantum, int32_t class)
{
    if (class < 4)
        return (size_t)(class + 1) << log_quantum;
    return (size_t)(class % 4 + 5) << (log_quantum + class / 4 - 1);
}

/* ---- what a sanitizer should see on the CPU: uses of memory that is free, and of what lies behind
 * the bytes that were asked for */

#ifdef EK_SANITIZED
#    include <sanitizer/asan_interface.h>

static void show(const ek_device *device, const ek_block *block, size_t bytes)
{
    if (device->type != EK_DEVICE_CPU)
        return;
    ASAN_UNPOISON_MEMORY_REGION(block->memory, bytes);
    ASAN_POISON_MEMORY_REGION(block->memory + bytes, block->bytes - bytes);
}

static void hide(const ek_device *device, const ek_block *block)
{
    if (device->type == EK_DEVICE_CPU)
        ASAN_POISON_MEMORY_REGION(block->memory, block->bytes);
}

#else
#    define show(device, block, bytes) ((void)0)
#    define hide(device, block) ((void)0)
#endif

/* ---- blocks of a cache whose lock is held */

/* The device's peak needs a number that all queues change, and such a number is slow. So a queue
 * tells at once when it has more than before, but when it has less only once that is much less:
 * what allocates and frees in turns tells nothing. */
static inline void count(ek_cache *cache, int64_t bytes)
{
    cache->in_use += bytes;
    int64_t ahead = cache->told - cache->in_use;
    if (EK_UNLIKELY(ahead < 0 || ahead > TOLERANCE)) {
        cache->told = cache->in_use;
        ek_stock_count(&cache->device->stock, -ahead);
    }
}

void ek_cache_count(ek_cache *cache, int64_t bytes)
{
    ek_lock_take(&cache->lock);
    count(cache, bytes);
    cache->allocations += bytes > 0;
    ek_lock_give(&cache->lock);
}

static inline ek_block *pop(ek_cache *cache, int32_t class)
{
    ek_block *block = cache->blocks[class];
    if (EK_UNLIKELY(!block))
        return NULL;
    cache->blocks[class] = block->next;
    if (!block->next)
        cache->filled &= ~(UINT64_C(1) << class);
    cache->kept -= block->bytes;
    return block;
}

static inline void push(ek_cache *cache, ek_block *block)
{
    block->next = cache->blocks[block->class];
    cache->blocks[block->class] = block;
    cache->filled |= UINT64_C(1) << block->class;
    cache->kept += block->bytes;
}

static void release(ek_cache *cache, ek_block *list)
{
    while (list) {
        ek_block *next = list->next;
        cache->device->backend->block_release(cache, list);
        list = next;
    }
}

size_t ek_cache_kept(ek_cache *cache)
{
    return cache->kept + ek_shelf_kept(&cache->large);
}

void ek_cache_shrink(ek_cache *cache, size_t keep)
{
    size_t beside = keep > cache->kept ? keep - cache->kept : 0;
    release(cache, ek_shelf_shrink(&cache->large, beside));
    while (cache->kept > keep)
        cache->device->backend->block_release(cache,
                                              pop(cache, 63 - __builtin_clzll(cache->filled)));
}

/* Evicts one block of each class in turn, so that sizes out of use do not stay for ever. False if
 * there is no room for so many bytes yet. */
static bool make_room(ek_cache *cache, size_t bytes)
{
    const size_t keep = cache->device->stock.keep;
    for (int i = 0; i < MOST_EVICTED && cache->filled && cache->kept + bytes > keep; i++) {
        uint64_t from_hand = cache->filled >> cache->hand << cache->hand;
        int32_t class = __builtin_ctzll(from_hand ? from_hand : cache->filled);
        cache->hand = (class + 1) % EK_CACHE_CLASSES;
        cache->device->backend->block_release(cache, pop(cache, class));
    }
    return cache->kept + bytes <= keep;
}

/* ---- allocating and freeing */

/* A graph that the application captures by itself would hold on to memory that the queue gives to
 * others. */
static ek_status check_stream(const char *call, ek_cache *cache)
{
    if (cache->device->backend->cache_captured(cache))
        return ek_fail(EK_UNSUPPORTED,
                       "%s: the application captures the queue's stream: memory must be allocated "
                       "before and freed after (workspaces: call the operation once before)",
                       call);
    return EK_OK;
}

static ek_status take(ek_queue *queue, int32_t class, size_t bytes, ek_block **block)
{
    enum { PAGE = 4096 };
    ek_queue_base *base = ek_queue_base_of(queue);
    size_t size = class < 0 ? (bytes + PAGE - 1) / PAGE * PAGE
                            : ek_class_bytes(base->device->stock.log_quantum, class);
    if (EK_UNLIKELY(ek_recording(queue)))
        EK_TRY(base->device->backend->program_take(ek_recording(queue), size, block));
    else
        EK_TRY(ek_stock_take(base->device, base->stream, size, block));
    (*block)->class = class;
    ek_cache_count(base->cache, (int64_t)size);
    return EK_OK;
}

ek_status ek_cache_alloc(ek_queue *queue, size_t bytes, void **memory)
{
    ek_cache *cache = ek_queue_base_of(queue)->cache;
    const ek_stock *stock = &cache->device->stock;
    int32_t class = bytes <= stock->largest ? ek_class_of(stock->log_quantum, bytes) : -1;
    ek_block *block = NULL;
    if (EK_UNLIKELY(cache->exposed) && !ek_recording(queue))
        EK_TRY(check_stream("ek_alloc", cache));
    ek_lock_take(&cache->lock);
    if (class >= 0)
        block = pop(cache, class);
    else if (!ek_recording(queue))
        block = ek_shelf_take(&cache->large, bytes, NULL);
    if (block) {
        cache->allocations++;
        cache->reused++;
        count(cache, (int64_t)block->bytes);
    }
    ek_lock_give(&cache->lock);
    if (!block)
        EK_TRY(take(queue, class, bytes, &block));
    block->state = EK_BLOCK_USED;
    block->owner = cache;
    show(cache->device, block, bytes);
    *memory = block->memory;
    return EK_OK;
}

static ek_status find(const ek_cache *cache, void *memory, ek_block **block)
{
    *block = cache->device->backend->block_find(memory);
    if (EK_UNLIKELY(!*block || (*block)->memory != memory || (*block)->state != EK_BLOCK_USED))
        return ek_fail(EK_INVALID_ARGUMENT,
                       "ek_free: memory is %p: not from ek_alloc, or freed already, or a program's",
                       memory);
    const ek_device *owner = (*block)->owner->device;
    if (EK_UNLIKELY(owner != cache->device))
        return ek_fail(EK_DEVICE_MISMATCH, "ek_free: memory is %p of %s: the queue is of %s",
                       memory, owner->name, cache->device->name);
    return EK_OK;
}

ek_status ek_cache_free(ek_queue *queue, void *memory)
{
    ek_cache *cache = ek_queue_base_of(queue)->cache;
    const ek_backend *backend = cache->device->backend;
    bool recording = ek_recording(queue);
    ek_block *block;
    EK_TRY(find(cache, memory, &block));
    if (EK_UNLIKELY(cache->exposed) && !recording)
        EK_TRY(check_stream("ek_free", cache));
    bool shared = block->owner != cache ||
                  atomic_load_explicit(&block->users, memory_order_relaxed) != 0 ||
                  (recording && block->class < 0);
    if (EK_UNLIKELY(shared) && backend->block_free_shared)
        return backend->block_free_shared(queue, block);
    hide(cache->device, block);
    block->state = EK_BLOCK_FREE;
    ek_lock_take(&cache->lock);
    count(cache, -(int64_t)block->bytes);
    if (block->class < 0)
        release(cache, ek_shelf_put(&cache->large, block));
    else if (recording || cache->kept + block->bytes <= cache->device->stock.keep ||
             make_room(cache, block->bytes))
        push(cache, block);
    else
        backend->block_release(cache, block);
    ek_lock_give(&cache->lock);
    return EK_OK;
}
