/* What ran on the CPU because it has no CUDA variant, on queues with EK_FALLBACK (queue.h). */
#ifndef EINKORN_FALLBACK_H
#define EINKORN_FALLBACK_H

#include <stdint.h>

#include "einkorn/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Calls of the queue so far that ran on the CPU instead. */
int64_t ek_fallback_count(const ek_queue *queue);

/* Lets `announce` be called with `context` and the name of an operation ("add") before the first
 * call of each operation that the queue runs on the CPU from now on, in the thread that makes the
 * call. It must not use the queue. Null, as a queue begins: no one is told. */
ek_status ek_fallback_announce(ek_queue *queue,
                               void (*announce)(void *context, const char *operation),
                               void *context);

#ifdef __cplusplus
}
#endif
#endif
