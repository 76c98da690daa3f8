#include "einkorn/memory.h"

#include "entry.h"
#include "program.h"

ek_status ek_alloc(ek_queue *queue, size_t bytes, void **memory)
{
    EK_ENTRY(queue, "ek_alloc");
    if (!queue || !memory)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_alloc: %s is null", queue ? "memory" : "queue");
    if (bytes > (size_t)INT64_MAX)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_alloc: bytes is %zu: must be below 2^63", bytes);
    if (bytes == 0) {
        *memory = NULL;
        return EK_OK;
    }
    if (EK_UNLIKELY(ek_recording(queue)))
        return ek_program_alloc(ek_recording(queue), bytes, memory);
    return ek_cache_alloc(queue, bytes, memory);
}

ek_status ek_free(ek_queue *queue, void *memory)
{
    EK_ENTRY(queue, "ek_free");
    if (!memory)
        return EK_OK;
    if (!queue)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_free: queue is null");
    if (EK_UNLIKELY(ek_recording(queue)))
        return ek_program_free(ek_recording(queue), memory);
    return ek_cache_free(queue, memory);
}

ek_status ek_memory_use(ek_queue *queue, const void *memory)
{
    EK_ENTRY(queue, "ek_memory_use");
    if (!queue)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_memory_use: queue is null");
    const ek_backend *backend = ek_queue_device(queue)->backend;
    if (backend->memory_use)
        backend->memory_use(queue, memory);
    return EK_OK;
}
