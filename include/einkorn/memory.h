/* Memory of a queue's device. */
#ifndef EINKORN_MEMORY_H
#define EINKORN_MEMORY_H

#include <stddef.h>

#include "einkorn/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates `bytes` bytes on the queue's device and stores the address in *memory: 64-byte aligned
 * on the CPU, 256-byte on CUDA, not initialised. On CUDA the memory comes from the device's pool in
 * the order of the queue's work. Zero bytes give a null pointer. */
ek_status ek_alloc(ek_queue *queue, size_t bytes, void **memory);

/* Gives memory back in the order of the queue's work: what the queue was told before may still use
 * it. Work of another queue that uses it must be ordered before this call by an event. A null
 * pointer is allowed. */
ek_status ek_free(ek_queue *queue, void *memory);

#ifdef __cplusplus
}
#endif
#endif
