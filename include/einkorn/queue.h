/* Queues: an ordered line of work on one device. On CUDA a stream, on the CPU immediate
 * execution. A queue is used by one thread at a time and may be handed from thread to thread. */
#ifndef EINKORN_QUEUE_H
#define EINKORN_QUEUE_H

#include <stdint.h>

#include "einkorn/device.h"
#include "einkorn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first field is public so that a typed call is a load, a load and a jump; the rest is the
 * library's own. Make queues with ek_queue_open, never by hand. */
typedef struct ek_queue {
    int32_t variant;
} ek_queue;

/* Opens a queue on a device. On CUDA it makes a non-blocking stream of the primary context. */
ek_status ek_queue_open(ek_device *device, ek_queue **queue);

/* Opens a queue on a CUDA stream (a CUstream or cudaStream_t) the application owns; the stream
 * must belong to the device's primary context and outlive the queue. A graph that the application
 * captures from the stream itself uses the queue's workspace, so it must not run while the queue has
 * other work; recorded programs (program.h) have their own. EK_UNSUPPORTED on the CPU. */
ek_status ek_queue_wrap_stream(ek_device *device, void *stream, ek_queue **queue);

/* Waits for the queue's work, then closes it. A null pointer is allowed. */
void ek_queue_close(ek_queue *queue);

/* Waits until all work of the queue is done. EK_ASYNC_ERROR if some of it failed. */
ek_status ek_queue_sync(ek_queue *queue);

ek_device *ek_queue_device(const ek_queue *queue);

/* The CUstream of a CUDA queue; NULL on the CPU. */
void *ek_queue_stream(const ek_queue *queue);

/* Threads a call may use on the CPU, 1 to 4096. A queue starts with OpenMP's maximum at the time
 * it is opened. No result depends on it. */
ek_status ek_queue_set_threads(ek_queue *queue, int32_t threads);
int32_t ek_queue_threads(const ek_queue *queue);

/* Chooses the CPU variant of a CPU queue. EK_UNSUPPORTED if this build or machine lacks it. */
ek_status ek_queue_set_variant(ek_queue *queue, ek_variant variant);

#ifdef __cplusplus
}
#endif
#endif
