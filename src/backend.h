/* What a kind of device must offer the runtime. These calls are the cold ones: computing goes
 * through the ops table and never through a backend. */
#ifndef EK_BACKEND_H
#define EK_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "cache.h"
#include "einkorn/array.h"
#include "einkorn/device.h"
#include "einkorn/event.h"
#include "einkorn/memory.h"
#include "einkorn/program.h"
#include "einkorn/queue.h"
#include "layout.h"

typedef struct ek_backend {
    ek_device_type type;
    const char *name; /* "cpu", "cuda" */

    int32_t (*count)(void);
    ek_status (*device_open)(int32_t index, ek_device **device);
    void (*device_free)(ek_device *device);

    /* `stream`: an application's stream to wrap; null: make one. */
    ek_status (*queue_open)(ek_device *device, void *stream, ek_queue **queue);
    void (*queue_free)(ek_queue *queue);
    ek_status (*queue_sync)(ek_queue *queue);

    /* A block of `bytes` bytes, a multiple of the quantum, ready in the order of `line`: a stream,
     * or null on the CPU. Reserves in the device's stock what it takes from the system. */
    ek_status (*block_take)(ek_device *device, void *line, size_t bytes, ek_block **block);
    /* Gives back a block that is in no cache, in the order of the cache's queue. */
    void (*block_release)(ek_cache *cache, ek_block *block);
    /* The block that holds the address, null if none does that is known; the CPU knows only first
     * addresses. */
    ek_block *(*block_find)(const void *memory);
    /* Gives back a block that other queues use, or one that the queue cannot give back by itself
     * because it records. (null on the CPU, whose queues have done their work) */
    ek_status (*block_free_shared)(ek_queue *queue, ek_block *block);
    /* Marks the block that holds the address as used by the queue. (null on the CPU) */
    void (*memory_use)(const ek_queue *queue, const void *memory);
    /* Whether the cache's stream is captured and must be left alone. (null on the CPU) */
    bool (*cache_captured)(const ek_cache *cache);
    /* Gives free memory beyond `keep` bytes back to the system. May wait, so nothing is locked. */
    ek_status (*stock_trim)(ek_device *device, size_t keep);
    /* What the device's memory is made of beyond what its stock knows. */
    ek_status (*stock_info)(ek_device *device, ek_memory_info *info);

    ek_status (*pinned_alloc)(ek_device *device, size_t bytes, void **memory);
    ek_status (*pinned_free)(ek_device *device, void *memory);

    ek_status (*event_open)(ek_device *device, ek_event **event);
    void (*event_free)(ek_event *event);
    ek_status (*event_record)(ek_event *event, ek_queue *queue);
    ek_status (*event_wait)(ek_event *event, ek_queue *queue);
    ek_status (*event_sync)(ek_event *event);
    ek_status (*event_query)(ek_event *event, int *reached);
    ek_status (*event_elapsed)(ek_event *start, ek_event *end, double *nanoseconds);

    /* Whether work in queue order may use this host memory. The CPU's has no such work, and does
     * without this and the two that follow. */
    bool (*is_pinned)(ek_device_type type, const void *memory);
    /* Bytes between the queue's device and the host, in queue order, `rows` runs of `width` bytes
     * each, `dst_pitch` and `src_pitch` bytes apart. Pageable memory is waited for. */
    ek_status (*transfer)(ek_queue *queue, void *dst, int64_t dst_pitch, ek_device_type dst_type,
                          const void *src, int64_t src_pitch, ek_device_type src_type,
                          int64_t width, int64_t rows);
    /* Elements between host memory of any layout, data[1], and memory of the queue's device that
     * the layout visits in order, data[0]. The host's has been read or written on return. */
    ek_status (*stage)(ek_queue *queue, const char *call, const ek_layout *layout, int64_t element,
                       bool to_device);

    /* Makes an empty program and sends the queue's calls there. record_end stops that, whatever
     * else fails, and makes the program ready to run unless it is incomplete (program->failed). */
    ek_status (*record_begin)(ek_queue *queue, ek_program **program);
    ek_status (*record_end)(ek_queue *queue, ek_program *program);
    /* A block while a program is recorded, for the program or for the queue. */
    ek_status (*program_take)(ek_program *program, size_t bytes, ek_block **block);
    ek_status (*program_run)(ek_queue *queue, const ek_program *program);
    /* Frees the program with its memory. */
    void (*program_close)(ek_program *program);
} ek_backend;

struct ek_device {
    const ek_backend *backend;
    ek_device_type type;
    int32_t index;
    ek_variant variant; /* what its queues start with */
    _Atomic(int32_t) count;
    char name[16];
    char model[96];
    ek_stock stock;
};

/* What every queue has; a backend's own queue struct begins with it. */
typedef struct ek_queue_base {
    ek_queue head;
    int32_t threads;
    /* Up to this many elements a typed elementwise call on the CPU runs at once, without a further
     * thought. None while the queue records, which thus costs such calls no test of its own. */
    int64_t at_once;
    ek_device *device;
    ek_cache *cache;
    void *stream;
    ek_program *recording;        /* null unless the queue records */
    uint32_t options;             /* ek_queue_option */
    struct ek_fallback *fallback; /* (optional) src/fallback.h */
#if EK_DEBUG
    _Atomic(const void *) user; /* who is in a call, and in which: entry.h */
    _Atomic(const char *) user_call;
#endif
} ek_queue_base;

/* What every event has; a backend's own event struct begins with it. */
struct ek_event {
    ek_device *device;
};

static inline ek_queue_base *ek_queue_base_of(const ek_queue *queue)
{
    return (ek_queue_base *)queue;
}

/* Opens a queue without options, for the library's own use: reads no environment. */
ek_status ek_queue_make(ek_device *device, void *stream, ek_queue **queue);

/* One more count for an object that keeps the device. Whoever calls has one. */
void ek_device_retain(ek_device *device);

extern const ek_backend ek_cpu_backend;
#if EK_HAVE_CUDA
extern const ek_backend ek_cuda_backend;
#endif

#endif
