/* A queue of a GPU: a stream and what its calls need beside it. */
#ifndef EK_CUDA_QUEUE_H
#define EK_CUDA_QUEUE_H

#include <stdbool.h>

#include "cuda/device.h"

typedef struct ek_cuda_queue {
    ek_queue_base base;
    bool owns_stream;
    void *workspace; /* null until first asked for */
    size_t workspace_bytes;
    void *cublas; /* its cublasHandle_t; null until first used */
    void *cublas_workspace;
} ek_cuda_queue;

static inline ek_cuda_queue *ek_cuda_queue_of(const ek_queue *queue)
{
    return (ek_cuda_queue *)queue;
}

static inline CUstream ek_cuda_stream_of(const ek_queue *queue)
{
    return (CUstream)ek_queue_base_of(queue)->stream;
}

/* Releases what cublas.c made for the queue. The queue's context is current. */
void ek_cublas_release(ek_cuda_queue *queue);

#endif
