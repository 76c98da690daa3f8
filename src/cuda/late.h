/* Failures that kernels find themselves, in what only the GPU sees: an index in device memory. A
 * kernel notes the first one in pinned memory of the queue's, and a later call returns it. */
#ifndef EK_CUDA_LATE_H
#define EK_CUDA_LATE_H

#include <stdint.h>

/* Written by a kernel if `set` is 0, `set` last. */
typedef struct ek_late {
    const char *call; /* "ek_take" */
    int64_t place, index, length;
    uint32_t set;
} ek_late;

#if !defined(__CUDACC__)
#    include "einkorn/queue.h"

/* The queue's own, made at the first call. Refuses a queue that records or is captured: a program
 * runs in other queues too. */
ek_status ek_cuda_late(ek_queue *queue, const char *call, ek_late **late);

/* Gives it back with its queue. */
void ek_cuda_late_free(ek_queue *queue);

/* Fails with what was noted, which stays until ek_cuda_late_clear. */
ek_status ek_cuda_late_fail(const ek_queue *queue) __attribute__((cold));
void ek_cuda_late_clear(ek_queue *queue);
#endif

#endif
