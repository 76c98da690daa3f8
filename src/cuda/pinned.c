/* Note [Pinned memory]
 *
 * Pinning takes the driver milliseconds, so freed blocks are kept for all queues of the device.
 * Copies from and to them may be under way when they are freed: a stream of the device's own waits
 * for the queues that used the block and records the block's event, and until that is reached the
 * block is not given out. */
#include <stdlib.h>

#include "cuda/address.h"
#include "cuda/guard.h"
#include "cuda/memory.h"

static const char alloc_call[] = "ek_pinned_alloc", free_call[] = "ek_pinned_free";

static ek_cuda_block *cuda_block_of(ek_block *block)
{
    return (ek_cuda_block *)block;
}

static bool is_ready(ek_block *block)
{
    ek_cuda_block *cuda = cuda_block_of(block);
    if (cuda->pending && ek_cu.cuEventQuery(cuda->reached) == CUDA_SUCCESS)
        cuda->pending = false;
    return !cuda->pending;
}

/* Frees a list of blocks. The context is current. */
static void unpin(ek_block *block)
{
    while (block) {
        ek_block *next = block->next;
        ek_cuda_block *cuda = cuda_block_of(block);
        ek_cuda_block_leave(block);
        if (cuda->pending)
            ek_cu.cuEventSynchronize(cuda->reached);
        if (cuda->reached)
            ek_cu.cuEventDestroy(cuda->reached);
        ek_cu.cuMemFreeHost(block->memory);
        free(cuda);
        block = next;
    }
}

static void unpin_guarded(ek_device *device, ek_block *list)
{
    ek_cuda_guard guard;
    if (!list)
        return;
    /* A driver that cannot even tell what is current may still free. */
    bool entered = ek_cuda_guard_enter(free_call, device, &guard) == EK_OK;
    unpin(list);
    if (entered)
        ek_cuda_guard_leave(&guard);
}

void ek_cuda_pinned_shrink(ek_device *device, size_t keep)
{
    unpin_guarded(device, ek_shelf_shrink(&ek_cuda_device_of(device)->pinned, keep));
}

static ek_status pin(ek_device *device, ek_block *block)
{
    void *memory = NULL;
    CUresult result = ek_cu.cuMemHostAlloc(&memory, block->bytes, CU_MEMHOSTALLOC_PORTABLE);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        unpin(ek_shelf_shrink(&ek_cuda_device_of(device)->pinned, 0));
        result = ek_cu.cuMemHostAlloc(&memory, block->bytes, CU_MEMHOSTALLOC_PORTABLE);
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        return ek_fail(EK_OUT_OF_MEMORY,
                       "%s: bytes is %zu: the host has no room to pin: %zu in use", alloc_call,
                       block->bytes, atomic_load(&ek_cuda_device_of(device)->pinned_in_use));
    if (result != CUDA_SUCCESS)
        return ek_cuda_fail(alloc_call, "cuMemHostAlloc", result);
    block->memory = memory;
    ek_status status = ek_cuda_block_enter(device, block);
    if (status != EK_OK)
        ek_cu.cuMemFreeHost(memory);
    return status;
}

static ek_status make(ek_device *device, size_t bytes, ek_block **block)
{
    ek_cuda_guard guard;
    ek_cuda_block *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return ek_fail(EK_OUT_OF_MEMORY, "%s: no host memory", alloc_call);
    fresh->base.bytes = bytes;
    ek_status status = ek_cuda_guard_enter(alloc_call, device, &guard);
    if (status == EK_OK) {
        status = pin(device, &fresh->base);
        ek_cuda_guard_leave(&guard);
    }
    if (status != EK_OK)
        free(fresh);
    *block = &fresh->base;
    return status;
}

ek_status ek_cuda_pinned_alloc(ek_device *device, size_t bytes, void **memory)
{
    enum { PAGE = 4096 };
    ek_cuda_device *cuda = ek_cuda_device_of(device);
    bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    ek_block *block = ek_shelf_take(&cuda->pinned, bytes, is_ready);
    if (!block)
        EK_TRY(make(device, bytes, &block));
    block->state = EK_BLOCK_PINNED;
    atomic_fetch_add(&cuda->pinned_in_use, block->bytes);
    *memory = block->memory;
    return EK_OK;
}

/* Makes what is needed to wait for the users of a block. */
static ek_status prepare(ek_device *device, ek_cuda_block *block)
{
    ek_cuda_device *cuda = ek_cuda_device_of(device);
    ek_cuda_guard guard;
    CUresult stream = CUDA_SUCCESS, event = CUDA_SUCCESS;
    if (cuda->pinned_line && block->reached)
        return EK_OK;
    EK_TRY(ek_cuda_guard_enter(free_call, device, &guard));
    if (!cuda->pinned_line)
        stream = ek_cu.cuStreamCreate(&cuda->pinned_line, CU_STREAM_NON_BLOCKING);
    if (!block->reached)
        event = ek_cu.cuEventCreate(&block->reached, CU_EVENT_DISABLE_TIMING);
    ek_cuda_guard_leave(&guard);
    if (stream != CUDA_SUCCESS) {
        cuda->pinned_line = NULL;
        return ek_cuda_fail(free_call, "cuStreamCreate", stream);
    }
    if (event != CUDA_SUCCESS) {
        block->reached = NULL;
        return ek_cuda_fail(free_call, "cuEventCreate", event);
    }
    return EK_OK;
}

static ek_status mark_end(ek_device *device, ek_cuda_block *block, uint64_t users)
{
    CUstream line = NULL;
    EK_TRY(prepare(device, block));
    line = ek_cuda_device_of(device)->pinned_line;
    EK_TRY(ek_cuda_wait_users(free_call, line, users));
    EK_CUDA_TRY(free_call, cuEventRecord, (block->reached, line));
    block->pending = true;
    return EK_OK;
}

/* Starts to wait for the users; where the driver cannot, the host does before that is reported. The
 * caches are locked. */
static ek_status leave_users(ek_device *device, ek_cuda_block *block, uint64_t users)
{
    ek_status status = mark_end(device, block, users);
    if (status != EK_OK)
        ek_cuda_sync_users(free_call, users);
    atomic_store_explicit(&block->base.users, 0, memory_order_relaxed);
    return status;
}

ek_status ek_cuda_pinned_free(ek_device *device, void *memory)
{
    ek_cuda_device *cuda = ek_cuda_device_of(device);
    ek_block *block = ek_cuda_block_find(memory);
    if (!block || block->memory != memory || block->state != EK_BLOCK_PINNED)
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: memory is %p: not from ek_pinned_alloc, or freed already", free_call,
                       memory);
    if (cuda_block_of(block)->device != device)
        return ek_fail(EK_DEVICE_MISMATCH, "%s: memory is %p of %s: the device is %s", free_call,
                       memory, cuda_block_of(block)->device->name, device->name);
    ek_status status = EK_OK;
    uint64_t users = atomic_load_explicit(&block->users, memory_order_relaxed);
    if (users != 0) {
        ek_lock_take(&ek_caches_lock);
        ek_status allowed = ek_cuda_check_users(free_call, users);
        if (allowed == EK_OK)
            status = leave_users(device, cuda_block_of(block), users);
        ek_lock_give(&ek_caches_lock);
        EK_TRY(allowed);
    }
    block->state = EK_BLOCK_FREE;
    atomic_fetch_sub(&cuda->pinned_in_use, block->bytes);
    unpin_guarded(device, ek_shelf_put(&cuda->pinned, block));
    return status;
}
