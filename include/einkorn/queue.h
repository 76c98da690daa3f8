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
 * must belong to the device's primary context, in which all work of the CUDA runtime is, and
 * outlive the queue; the context that is current plays no part. Default streams are EK_UNSUPPORTED
 * (null, the legacy one, the one per thread): they are names for a stream of whatever context and
 * thread uses them, so they stand for no line of work; ek_queue_wait_stream and
 * ek_queue_signal_stream order a queue with them. A graph that the application captures from the
 * stream itself uses the queue's workspace, so it must not run while the queue has other work;
 * recorded programs (program.h) have their own. EK_UNSUPPORTED on the CPU. */
ek_status ek_queue_wrap_stream(ek_device *device, void *stream, ek_queue **queue);

/* Order between a queue and any stream of the application in the same device's primary context: the
 * queue's next work waits for what the stream has been given, or the stream's next work for what
 * the queue has been given; the host waits for neither. Default streams, which cannot be wrapped,
 * are allowed here: null and the legacy one (handle 1) for that of the primary context, the handle
 * 2 for the calling thread's. On the CPU, where work is done when a call returns, the only stream
 * is null and nothing happens. EK_DEVICE_MISMATCH for a stream of another context, EK_UNSUPPORTED
 * while the queue records. */
ek_status ek_queue_wait_stream(ek_queue *queue, void *stream);
ek_status ek_queue_signal_stream(ek_queue *queue, void *stream);

/* Waits for the queue's work, then closes it. A null pointer is allowed. */
void ek_queue_close(ek_queue *queue);

/* Waits until all work of the queue is done. EK_ASYNC_ERROR if some of it failed. */
ek_status ek_queue_sync(ek_queue *queue);

ek_device *ek_queue_device(const ek_queue *queue);

/* The CUstream of a CUDA queue; NULL on the CPU. */
void *ek_queue_stream(const ek_queue *queue);

/* Threads a call may use on the CPU, 1 to 4096; on CUDA those are what ek_copy reads and writes host
 * memory with that is not pinned or has gaps. A queue starts with OpenMP's maximum at the time it is
 * opened. No result depends on it. */
ek_status ek_queue_set_threads(ek_queue *queue, int32_t threads);
int32_t ek_queue_threads(const ek_queue *queue);

/* What a queue may do beyond the word of a call; nothing of it by default. */
typedef enum ek_queue_option {
    /* Inputs of an array call that are in host memory, pinned or not, are copied to the queue's
     * device: in queue order, into memory that is freed in queue order, in the layout they have, so
     * that a broadcast row stays a row. Outputs are never copied, and nothing ever comes from
     * another GPU: such operands are EK_DEVICE_MISMATCH, as all are without the option. Pageable
     * memory has been read when the call returns; pinned memory must stay as it is until the queue
     * has come to it. */
    EK_HOST_TO_DEVICE = 1,
    /* An array call of an operation that has no CUDA variant runs on the CPU: its operands are
     * copied to the host, computed there when the queue has come to it, and the result is copied
     * back (einkorn/fallback.h counts and announces it). Without the option it is EK_UNSUPPORTED.
     */
    EK_FALLBACK = 2,
    /* Each operation, copy and run of a program on CUDA returns when the GPU is done with it, so
     * that one whose work fails is the one that returns EK_ASYNC_ERROR. For finding faults: nothing
     * overlaps any more. What is recorded, or captured by the application, does not wait. */
    EK_SYNC_EACH_CALL = 4
} ek_queue_option;

/* Sets all options of a queue: the sum of those that shall be on. They change nothing on the CPU;
 * the first two change nothing in typed calls, which are given addresses and not told where they
 * are. A queue is opened with those that the environment names: EINKORN_HOST_TO_DEVICE,
 * EINKORN_FALLBACK and EINKORN_SYNC are on if 1, yes, on or true, off if empty, 0, no, off or
 * false; anything else is refused by the opening. */
ek_status ek_queue_set_options(ek_queue *queue, uint32_t options);
uint32_t ek_queue_options(const ek_queue *queue);

/* Chooses the CPU variant of a CPU queue. EK_UNSUPPORTED if this build or machine lacks it. */
ek_status ek_queue_set_variant(ek_queue *queue, ek_variant variant);

#ifdef __cplusplus
}
#endif
#endif
