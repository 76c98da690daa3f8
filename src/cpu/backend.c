/* The CPU as a device: work is done when a call returns, so queues and events have little to do. */
#include "backend.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cpu/features.h"
#include "cpu/memory.h"
#include "cpu/record.h"
#include "cpu/run_elementwise.h"
#include "cpu/workspace.h"

typedef struct cpu_queue {
    ek_queue_base base;
    void *workspace;
    size_t workspace_bytes;
} cpu_queue;

typedef struct cpu_event {
    ek_event base;
    double nanoseconds;
} cpu_event;

static ek_status no_memory(const char *what)
{
    return ek_fail(EK_OUT_OF_MEMORY, "%s: no host memory", what);
}

static int32_t cpu_count(void)
{
    return 1;
}

static ek_status cpu_device_open(int32_t index, ek_device **device)
{
    (void)index;
    ek_variant variant = ek_cpu_best_variant();
    const char *wanted = getenv("EINKORN_CPU");
    if (wanted && *wanted) {
        if (ek_variant_parse(wanted, &variant) != EK_OK || variant == EK_CUDA ||
            !ek_variant_available(variant))
            return ek_fail(EK_UNSUPPORTED,
                           "ek_device_open: EINKORN_CPU is '%s': this machine's best "
                           "is %s",
                           wanted, ek_variant_name(ek_cpu_best_variant()));
    }
    ek_cpu_device *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return no_memory("ek_device_open");
    fresh->base.variant = variant;
    ek_cpu_model(fresh->base.model, sizeof fresh->base.model);
    ek_cpu_memory_open(fresh);
    *device = &fresh->base;
    return EK_OK;
}

static void cpu_device_free(ek_device *device)
{
    ek_cpu_memory_close((ek_cpu_device *)device);
    free(device);
}

static ek_status cpu_queue_open(ek_device *device, void *stream, ek_queue **queue)
{
    (void)stream;
    cpu_queue *fresh = calloc(1, sizeof *fresh);
    ek_cache *cache = fresh ? ek_cache_take(device, sizeof *cache) : NULL;
    if (!cache) {
        free(fresh);
        return no_memory("ek_queue_open");
    }
    ek_cache_open(cache);
    fresh->base.cache = cache;
    fresh->base.head.variant = device->variant;
    fresh->base.threads = omp_get_max_threads();
    fresh->base.at_once = EK_SMALL;
    fresh->base.device = device;
    *queue = &fresh->base.head;
    return EK_OK;
}

static void cpu_queue_free(ek_queue *queue)
{
    if (((cpu_queue *)queue)->workspace)
        ek_cache_free(queue, ((cpu_queue *)queue)->workspace);
    ek_cache_leave(ek_queue_base_of(queue)->cache, NULL);
    free(queue);
}

static ek_status cpu_queue_sync(ek_queue *queue)
{
    (void)queue;
    return EK_OK;
}

ek_status ek_cpu_workspace(ek_queue *queue, size_t bytes, void **memory)
{
    cpu_queue *cpu = (cpu_queue *)queue;
    if (EK_UNLIKELY(bytes > cpu->workspace_bytes)) {
        void *grown;
        EK_TRY(ek_cache_alloc(queue, bytes, &grown));
        if (cpu->workspace)
            ek_cache_free(queue, cpu->workspace);
        cpu->workspace = grown;
        cpu->workspace_bytes = bytes;
    }
    *memory = cpu->workspace;
    return EK_OK;
}

static ek_status cpu_event_open(ek_device *device, ek_event **event)
{
    cpu_event *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return no_memory("ek_event_open");
    fresh->base.device = device;
    *event = &fresh->base;
    return EK_OK;
}

static void cpu_event_free(ek_event *event)
{
    free(event);
}

static ek_status cpu_event_record(ek_event *event, ek_queue *queue)
{
    (void)queue;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    ((cpu_event *)event)->nanoseconds = (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
    return EK_OK;
}

static ek_status cpu_event_wait(ek_event *event, ek_queue *queue)
{
    (void)event;
    (void)queue;
    return EK_OK;
}

static ek_status cpu_event_sync(ek_event *event)
{
    (void)event;
    return EK_OK;
}

static ek_status cpu_event_query(ek_event *event, int *reached)
{
    (void)event;
    *reached = 1;
    return EK_OK;
}

static ek_status cpu_event_elapsed(ek_event *start, ek_event *end, double *nanoseconds)
{
    double from = ((cpu_event *)start)->nanoseconds, to = ((cpu_event *)end)->nanoseconds;
    if (from == 0 || to == 0)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_event_elapsed: %s was never recorded",
                       from == 0 ? "start" : "end");
    *nanoseconds = to - from;
    return EK_OK;
}

const ek_backend ek_cpu_backend = {
    .type = EK_DEVICE_CPU,
    .name = "cpu",
    .count = cpu_count,
    .device_open = cpu_device_open,
    .device_free = cpu_device_free,
    .queue_open = cpu_queue_open,
    .queue_free = cpu_queue_free,
    .queue_sync = cpu_queue_sync,
    .block_take = ek_cpu_block_take,
    .block_release = ek_cpu_block_release,
    .block_find = ek_cpu_block_find,
    .stock_trim = ek_cpu_stock_trim,
    .stock_info = ek_cpu_stock_info,
    .pinned_alloc = ek_cpu_pinned_alloc,
    .pinned_free = ek_cpu_pinned_free,
    .event_open = cpu_event_open,
    .event_free = cpu_event_free,
    .event_record = cpu_event_record,
    .event_wait = cpu_event_wait,
    .event_sync = cpu_event_sync,
    .event_query = cpu_event_query,
    .event_elapsed = cpu_event_elapsed,
    .record_begin = ek_cpu_record_begin,
    .record_end = ek_cpu_record_end,
    .program_take = ek_cpu_program_take,
    .program_run = ek_cpu_program_run,
    .program_close = ek_cpu_program_close,
};
