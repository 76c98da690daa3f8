#include "backend.h"
#include "error.h"

ek_status ek_pinned_alloc(ek_device *device, size_t bytes, void **memory)
{
    if (!device || !memory)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_pinned_alloc: %s is null",
                       device ? "memory" : "device");
    if (bytes > (size_t)INT64_MAX)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_pinned_alloc: bytes is %zu: must be below 2^63",
                       bytes);
    if (bytes == 0) {
        *memory = NULL;
        return EK_OK;
    }
    return device->backend->pinned_alloc(device, bytes, memory);
}

ek_status ek_pinned_free(ek_device *device, void *memory)
{
    if (!memory)
        return EK_OK;
    if (!device)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_pinned_free: device is null");
    return device->backend->pinned_free(device, memory);
}
