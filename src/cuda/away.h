/* Another GPU than the queue's, for copies between the two. */
#ifndef EK_CUDA_AWAY_H
#define EK_CUDA_AWAY_H

#include "cuda/queue.h"

/* What a queue keeps of another GPU: a queue there, and how bytes get from one to the other. */
typedef struct ek_cuda_away {
    struct ek_cuda_away *next;
    ek_queue *queue;
    bool direct; /* copies from GPU to GPU were tried and arrive; else they go through the host */
    struct ek_cuda_relay *relay;
    CUevent here, there; /* marks in the two queues, to order them */
} ek_cuda_away;

/* The queue's, made when the other GPU is first met: this opens the device and waits for both. */
ek_status ek_cuda_away_get(ek_queue *queue, int32_t index, ek_cuda_away **away);

/* What the queue was told before comes before what is told away->queue next; and the reverse. */
ek_status ek_cuda_away_begin(ek_queue *queue, const ek_cuda_away *away);
ek_status ek_cuda_away_end(ek_queue *queue, const ek_cuda_away *away);

/* Copies bytes between the two GPUs behind what both queues were told; both then wait for it. */
ek_status ek_cuda_away_copy(ek_queue *queue, ek_cuda_away *away, void *dst, const void *src,
                            size_t bytes, bool to_away);

/* Closes a list of them, of a queue of the device. A null pointer is allowed. */
void ek_cuda_away_free(ek_device *here, ek_cuda_away *away);

#endif
