/* Note [Large blocks on the CPU]
 *
 * The system maps a large block page by page as it is touched, and unmaps it when it is freed. For
 * 64 MB that takes several times as long as adding two such arrays, so the last ones freed are
 * kept: by the device, since few are alive at a time. How much is kept follows from how much the
 * machine has. */
#include "cpu/memory.h"

#include <stdlib.h>
#include <unistd.h>

#include "cpu/pages.h"
#include "cuda/address.h"
#include "error.h"

enum {
    HEADER = 64, /* keeps the memory behind it aligned */
    LOG_QUANTUM = 6,
    LARGEST = 1 << 20,
    KEEP = 8 << 20
};

_Static_assert(sizeof(ek_block) <= HEADER, "a block's header is before its memory");

static size_t shelf_bytes(void)
{
    const size_t most = (size_t)1 << 30;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0)
        return most / 4;
    size_t part = (size_t)pages / 32 * (size_t)page;
    return part < most ? part : most;
}

void ek_cpu_memory_open(ek_cpu_device *device)
{
    ek_stock *stock = &device->base.stock;
    stock->log_quantum = LOG_QUANTUM;
    stock->largest = LARGEST;
    stock->keep = KEEP;
    stock->limit = SIZE_MAX;
    ek_shelf_init(&device->shelf, shelf_bytes());
}

static void free_blocks(ek_device *device, ek_block *block)
{
    while (block) {
        ek_block *next = block->next;
        ek_stock_unreserve(&device->stock, block->bytes);
        free(block);
        block = next;
    }
}

void ek_cpu_memory_close(ek_cpu_device *device)
{
    ek_caches_free(&device->base);
    free_blocks(&device->base, ek_shelf_shrink(&device->shelf, 0));
}

ek_status ek_cpu_block_take(ek_device *device, void *line, size_t bytes, ek_block **block)
{
    (void)line;
    if (bytes > LARGEST && (*block = ek_shelf_take(&((ek_cpu_device *)device)->shelf, bytes, NULL)))
        return EK_OK;
    EK_TRY(ek_stock_reserve(&device->stock, bytes));
    ek_block *fresh = ek_pages_alloc(HEADER + bytes);
    if (!fresh) {
        ek_stock_unreserve(&device->stock, bytes);
        return ek_fail(EK_OUT_OF_MEMORY, "ek_alloc: no host memory for %zu bytes", bytes);
    }
    *fresh = (ek_block){.memory = (char *)fresh + HEADER, .bytes = bytes, .class = -1};
    *block = fresh;
    return EK_OK;
}

void ek_cpu_give(ek_device *device, ek_block *block)
{
    block->state = EK_BLOCK_FREE;
    block->next = NULL;
    if (block->bytes > LARGEST)
        block = ek_shelf_put(&((ek_cpu_device *)device)->shelf, block);
    free_blocks(device, block);
}

void ek_cpu_block_release(ek_cache *cache, ek_block *block)
{
    ek_cpu_give(cache->device, block);
}

/* What lies before memory of a GPU cannot be read. */
static ek_block *find_on_gpu(const void *memory)
{
#if EK_HAVE_CUDA
    return ek_cuda_block_find(memory);
#else
    (void)memory;
    return NULL;
#endif
}

static ek_block *header_of(const void *memory)
{
    /* Other addresses cannot have a header there. */
    return (uintptr_t)memory % HEADER == 0 ? (ek_block *)((char *)memory - HEADER) : NULL;
}

ek_block *ek_cpu_block_find(const void *memory)
{
    ek_block *found = find_on_gpu(memory);
    return EK_UNLIKELY(found != NULL) ? found : header_of(memory);
}

ek_status ek_cpu_stock_trim(ek_device *device, size_t keep)
{
    free_blocks(device, ek_shelf_shrink(&((ek_cpu_device *)device)->shelf, keep));
    return EK_OK;
}

ek_status ek_cpu_stock_info(ek_device *device, ek_memory_info *info)
{
    info->cached += ek_shelf_kept(&((ek_cpu_device *)device)->shelf);
    info->reserved = info->in_use + info->cached;
    return EK_OK;
}

/* Ordinary memory, counted like a program's: it has no queue. */
ek_status ek_cpu_pinned_alloc(ek_device *device, size_t bytes, void **memory)
{
    ek_block *block;
    EK_TRY(ek_stock_take(device, NULL, (bytes + HEADER - 1) / HEADER * HEADER, &block));
    block->state = EK_BLOCK_PINNED;
    ek_stock_count_program(&device->stock, (int64_t)block->bytes);
    *memory = block->memory;
    return EK_OK;
}

ek_status ek_cpu_pinned_free(ek_device *device, void *memory)
{
    if (find_on_gpu(memory))
        return ek_fail(EK_DEVICE_MISMATCH,
                       "ek_pinned_free: memory is %p of a GPU: the device is %s", memory,
                       device->name);
    ek_block *block = header_of(memory);
    if (!block || block->memory != memory || block->state != EK_BLOCK_PINNED)
        return ek_fail(EK_INVALID_ARGUMENT,
                       "ek_pinned_free: memory is %p: not from ek_pinned_alloc, or freed already",
                       memory);
    ek_stock_count_program(&device->stock, -(int64_t)block->bytes);
    ek_cpu_give(device, block);
    return EK_OK;
}
