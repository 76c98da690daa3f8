#include "driver.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct CUmemPoolHandle_st {
    int device;
};

/* Fresh memory holds anything; more of it than this takes too long to say so. */
enum { POISONED = 1 << 20 };

static block *blocks;
static uint64_t serials;
static size_t room = SIZE_MAX, in_use;

void ek_fake_room(size_t bytes)
{
    pthread_mutex_lock(&fake_lock);
    room = bytes;
    pthread_mutex_unlock(&fake_lock);
}

block *fake_find_block(const void *memory, size_t bytes)
{
    uintptr_t at = (uintptr_t)memory;
    pthread_mutex_lock(&fake_lock);
    block *found = blocks;
    while (found &&
           !(at >= (uintptr_t)found->start && at + bytes <= (uintptr_t)found->start + found->bytes))
        found = found->next;
    pthread_mutex_unlock(&fake_lock);
    return found;
}

static CUresult add_block(int device, size_t bytes, void **memory)
{
    REQUIRE(bytes > 0, CUDA_ERROR_INVALID_VALUE);
    block *fresh = malloc(sizeof *fresh);
    /* As aligned as a pool's memory, and exactly as long as asked for, so that a sanitizer sees a
     * copy that runs over. */
    void *start = NULL;
    if (!fresh || bytes > SIZE_MAX / 2 || posix_memalign(&start, 512, bytes)) {
        free(fresh);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memset(start, 0xa5, bytes < POISONED ? bytes : POISONED);
    pthread_mutex_lock(&fake_lock);
    bool fits = device < 0 || (bytes <= room && in_use <= room - bytes);
    if (fits) {
        *fresh = (block){blocks, start, bytes, device, ++serials};
        blocks = fresh;
        in_use += device < 0 ? 0 : bytes;
    }
    pthread_mutex_unlock(&fake_lock);
    if (!fits) {
        free(start);
        free(fresh);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    fake_change_alive(1);
    *memory = start;
    return CUDA_SUCCESS;
}

CUresult fake_remove_block(int device, const void *memory)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&fake_lock);
    for (block **at = &blocks; *at; at = &(*at)->next) {
        block *gone = *at;
        if (gone->start != memory || gone->device != device)
            continue;
        *at = gone->next;
        in_use -= device < 0 ? 0 : gone->bytes;
        free(gone->start);
        free(gone);
        result = CUDA_SUCCESS;
        break;
    }
    pthread_mutex_unlock(&fake_lock);
    if (result == CUDA_SUCCESS)
        fake_change_alive(-1);
    return result;
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
    ENTER("cuMemPoolCreate");
    REQUIRE(props->allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
                props->location.type == CU_MEM_LOCATION_TYPE_DEVICE && props->location.id >= 0 &&
                props->location.id < fake_device_count,
            CUDA_ERROR_INVALID_VALUE);
    *pool = malloc(sizeof **pool);
    REQUIRE(*pool, CUDA_ERROR_OUT_OF_MEMORY);
    (*pool)->device = props->location.id;
    fake_change_alive(1);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool)
{
    CUresult injected = fake_enter("cuMemPoolDestroy");
    free(pool);
    fake_change_alive(-1);
    return injected;
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                       void *value)
{
    ENTER("cuMemPoolSetAttribute");
    REQUIRE(pool && value &&
                (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD ||
                 attribute == CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES),
            CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

/* It keeps nothing that is free. */
CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                       void *value)
{
    ENTER("cuMemPoolGetAttribute");
    REQUIRE(pool && value && attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
            CUDA_ERROR_INVALID_VALUE);
    pthread_mutex_lock(&fake_lock);
    *(cuuint64_t *)value = 0;
    for (const block *block = blocks; block; block = block->next)
        *(cuuint64_t *)value += block->device == pool->device ? block->bytes : 0;
    pthread_mutex_unlock(&fake_lock);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
    (void)keep;
    ENTER("cuMemPoolTrimTo");
    REQUIRE(pool, CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *memory, size_t bytes, CUmemoryPool pool,
                                         CUstream stream)
{
    ENTER("cuMemAllocFromPoolAsync");
    REQUIRE(stream && stream->context->device == pool->device, CUDA_ERROR_INVALID_VALUE);
    NEED_WORKING(stream->context);
    NEED_OPEN(stream);
    void *start;
    CUresult result = add_block(pool->device, bytes, &start);
    if (result == CUDA_SUCCESS)
        *memory = (CUdeviceptr)start;
    return result;
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr memory, CUstream stream)
{
    CUresult injected = fake_enter("cuMemFreeAsync");
    block *known = fake_find_block((void *)memory, 1);
    REQUIRE(stream && known && known->device >= 0, CUDA_ERROR_INVALID_VALUE);
    NEED_OPEN(stream);
    CUresult removed = fake_do_free(stream, known->device, (void *)memory);
    return removed != CUDA_SUCCESS ? removed : fake_released(injected, stream->context);
}

CUresult CUDAAPI cuMemHostAlloc(void **memory, size_t bytes, unsigned int flags)
{
    ENTER("cuMemHostAlloc");
    NEED_CONTEXT(NULL);
    REQUIRE(flags < 8, CUDA_ERROR_INVALID_VALUE);
    return add_block(-1, bytes, memory);
}

CUresult CUDAAPI cuMemFreeHost(void *memory)
{
    CUresult injected = fake_enter("cuMemFreeHost");
    CUresult removed = fake_remove_block(-1, memory);
    return removed != CUDA_SUCCESS ? removed : injected;
}

CUresult CUDAAPI cuPointerGetAttribute(void *value, CUpointer_attribute attribute,
                                       CUdeviceptr memory)
{
    ENTER("cuPointerGetAttribute");
    block *known = fake_find_block((void *)memory, 1);
    REQUIRE(known && attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUDA_ERROR_INVALID_VALUE);
    *(CUmemorytype *)value = known->device < 0 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    return CUDA_SUCCESS;
}
