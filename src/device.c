#include "backend.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "lock.h"

/* Open devices, so that opening one again gives the same object. One lock keeps the last close and
 * a new open from crossing; counts in between change without it. */
enum { MAX_DEVICES = 65 };

static ek_lock lock;
static ek_device *open_devices[MAX_DEVICES];

static const ek_backend *const backends[] = {
    &ek_cpu_backend,
#if EK_HAVE_CUDA
    &ek_cuda_backend,
#endif
};

enum { BACKENDS = sizeof backends / sizeof backends[0] };

/* Splits "cuda:1" into its backend and index; "cuda" is "cuda:0". */
static ek_status parse_name(const char *name, const ek_backend **backend, int32_t *index)
{
    if (!name)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_device_open: name is null");
    size_t length = strcspn(name, ":");
    if (length == 4 && strncmp(name, "cuda", 4) == 0 && BACKENDS == 1)
        return ek_fail(EK_NO_DEVICE, "ek_device_open: name is '%s': this build has no CUDA", name);
    for (int i = 0; i < BACKENDS; i++) {
        if (strlen(backends[i]->name) != length || strncmp(name, backends[i]->name, length) != 0)
            continue;
        *backend = backends[i];
        *index = 0;
        if (name[length] == '\0')
            return EK_OK;
        char *end;
        long value = strtol(name + length + 1, &end, 10);
        if (name[length + 1] < '0' || name[length + 1] > '9' || *end || value > INT32_MAX)
            break;
        *index = (int32_t)value;
        return EK_OK;
    }
    return ek_fail(EK_INVALID_ARGUMENT, "ek_device_open: name is '%s': must be cpu, cuda or cuda:N",
                   name);
}

static ek_status open_locked(const ek_backend *backend, int32_t index, ek_device **device)
{
    int free_slot = -1;
    for (int i = 0; i < MAX_DEVICES; i++) {
        ek_device *open = open_devices[i];
        if (!open) {
            free_slot = free_slot < 0 ? i : free_slot;
        } else if (open->backend == backend && open->index == index) {
            atomic_fetch_add_explicit(&open->count, 1, memory_order_relaxed);
            *device = open;
            return EK_OK;
        }
    }
    if (free_slot < 0)
        return ek_fail(EK_NO_DEVICE, "ek_device_open: %d devices are open already", MAX_DEVICES);
    ek_device *fresh = NULL;
    EK_TRY(backend->device_open(index, &fresh));
    fresh->backend = backend;
    fresh->type = backend->type;
    fresh->index = index;
    atomic_init(&fresh->count, 1);
    if (backend->type == EK_DEVICE_CPU)
        snprintf(fresh->name, sizeof fresh->name, "%s", backend->name);
    else
        snprintf(fresh->name, sizeof fresh->name, "%s:%d", backend->name, (int)index);
    open_devices[free_slot] = fresh;
    *device = fresh;
    return EK_OK;
}

ek_status ek_device_open(const char *name, ek_device **device)
{
    const ek_backend *backend = NULL;
    int32_t index = 0;
    if (!device)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_device_open: device is null");
    EK_TRY(parse_name(name, &backend, &index));
    int32_t count = backend->count();
    if (count > 0 && index >= count)
        return ek_fail(EK_NO_DEVICE, "ek_device_open: name is '%s': this machine has %d of them",
                       name, (int)count);
    /* The backend says why. A child of fork() may still have the GPUs of its parent in the table.
     */
    if (count == 0)
        return backend->device_open(index, device);
    ek_lock_take(&lock);
    ek_status status = open_locked(backend, index, device);
    ek_lock_give(&lock);
    return status;
}

void ek_device_retain(ek_device *device)
{
    atomic_fetch_add_explicit(&device->count, 1, memory_order_relaxed);
}

/* Gives back one of several counts; false if it is the last. */
static bool give_back_one(ek_device *device)
{
    int32_t count = atomic_load_explicit(&device->count, memory_order_acquire);
    while (count > 1) {
        if (atomic_compare_exchange_weak_explicit(&device->count, &count, count - 1,
                                                  memory_order_acq_rel, memory_order_acquire))
            return true;
    }
    return false;
}

void ek_device_close(ek_device *device)
{
    if (!device || give_back_one(device))
        return;
    ek_lock_take(&lock);
    if (!give_back_one(device)) {
        for (int i = 0; i < MAX_DEVICES; i++) {
            if (open_devices[i] == device)
                open_devices[i] = NULL;
        }
        device->backend->device_free(device);
    }
    ek_lock_give(&lock);
}

int32_t ek_device_count(ek_device_type type)
{
    for (int i = 0; i < BACKENDS; i++) {
        if (backends[i]->type == type)
            return backends[i]->count();
    }
    return 0;
}

const char *ek_device_name(const ek_device *device)
{
    return device->name;
}

const char *ek_device_model(const ek_device *device)
{
    return device->model;
}

ek_device_type ek_device_get_type(const ek_device *device)
{
    return device->type;
}

int32_t ek_device_index(const ek_device *device)
{
    return device->index;
}
