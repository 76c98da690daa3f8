/* Memory of a queue's device: given out and taken back in the order of the queue's work, kept for
 * reuse, counted.
 *
 * What is freed on a queue is reused by that queue's next calls without a call of the driver. Other
 * queues get it only when the work that uses it is done. A queue keeps a bounded amount; the rest
 * goes to a pool that all queues of the device share. Nothing here waits for the device,
 * except where it is said. */
#ifndef EINKORN_MEMORY_H
#define EINKORN_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "einkorn/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates `bytes` bytes on the queue's device and stores the address in *memory: 64-byte aligned
 * on the CPU, 256-byte on CUDA, not initialised. Other queues may use the memory once an event has
 * ordered their work behind this call. Zero bytes give a null pointer. Where there is no room left
 * the caches of the device are emptied, which waits for its queues, and it is tried once more; then
 * the call is EK_OUT_OF_MEMORY and all stays as it was. EK_UNSUPPORTED on a wrapped stream that the
 * application is capturing. */
ek_status ek_alloc(ek_queue *queue, size_t bytes, void **memory);

/* Gives memory back, through any queue of its device. It is not reused before what this queue was
 * told until now is done, nor what the queue that allocated it was told, nor the work that
 * ek_memory_use declared; no queue is held up by that. A null pointer is allowed. Memory that
 * ek_alloc did not give, or that was freed already, is EK_INVALID_ARGUMENT where that can be seen:
 * always on CUDA, and on the CPU unless the block went back to the system; what another device gave
 * is EK_DEVICE_MISMATCH, but memory of the CPU on a queue of CUDA is only unknown there.
 * EK_UNSUPPORTED while the application captures the stream of a queue that uses the memory; it
 * stays in use then. A failure of the driver is reported, but the memory is given back. */
ek_status ek_free(ek_queue *queue, void *memory);

/* Declares that what `queue` was told so far, and is told until the memory is freed, may use memory
 * that was allocated through another queue: ek_free then waits for that work too. Array calls
 * declare their operands by themselves; typed calls, ek_program_run and an application's own
 * kernels do not, and without a declaration the memory may be reused too early. `memory` may point
 * into the middle; memory that is not the library's is left alone. Costs a few nanoseconds. While
 * the queue records a program it does nothing: the memory must be there for as long as the program
 * is run. On the CPU, where work is done when a call returns, there is nothing to declare. */
ek_status ek_memory_use(ek_queue *queue, const void *memory);

/* What a device's memory is used for, in bytes. Blocks count with their whole size, which is up to
 * a quarter more than was asked for. */
typedef struct ek_memory_info {
    size_t in_use;   /* given out: arrays, workspaces of queues, memory of programs */
    size_t peak;     /* the most that was in use; with several queues up to 1 MB a queue high */
    size_t cached;   /* freed, and kept by queues and, on the CPU, by the device */
    size_t reserved; /* taken from the system; on CUDA also what the driver's pool holds free */
    size_t limit;    /* SIZE_MAX: none */
    size_t pinned;   /* pinned host memory given out */
    size_t pinned_cached; /* and freed, but kept */
    uint64_t allocations; /* how often memory was given out by queues */
    uint64_t reused;      /* how often it came from the queue's own cache */
    uint64_t trims;       /* how often memory ran out and the caches were emptied */
} ek_memory_info;

/* Tells what the memory of a device is used for. Exact if no other thread works meanwhile. */
ek_status ek_memory_stats(ek_device *device, ek_memory_info *info);

/* Limits what is in use and cached on the device together; SIZE_MAX for no limit. What is given out
 * already stays, even if it is more; what is cached beyond it is given back, as ek_memory_trim
 * does. Pinned memory does not count. */
ek_status ek_memory_set_limit(ek_device *device, size_t bytes);

/* Gives cached memory back to the system until at most `keep` bytes are cached. Waits for the work
 * of the device's queues, except those that record; other threads do not wait for that, unless they
 * close such a queue or begin to record on it. */
ek_status ek_memory_trim(ek_device *device, size_t keep);

/* Allocates host memory that a CUDA device copies to and from at full speed and without a wait:
 * page-locked, 64-byte aligned, not initialised, the same for all GPUs. An array over it is of type
 * EK_DEVICE_CUDA_HOST (or EK_DEVICE_CPU). On the CPU device it is ordinary memory, so that the same
 * code runs on a machine without a GPU. Zero bytes give a null pointer. */
ek_status ek_pinned_alloc(ek_device *device, size_t bytes, void **memory);

/* Gives pinned memory back to the device that it was allocated on, without waiting. It is not
 * reused before copies by ek_copy from or to it are done, nor before work that ek_memory_use
 * declared. A null pointer is allowed. */
ek_status ek_pinned_free(ek_device *device, void *memory);

#ifdef __cplusplus
}
#endif
#endif
