/* Streams of an application beside the queues of the library. */
#ifndef EK_CUDA_STREAMS_H
#define EK_CUDA_STREAMS_H

#include "backend.h"

/* The CUDA sides of ek_queue_wait_stream and ek_queue_signal_stream. */
ek_status ek_cuda_wait_stream(ek_queue *queue, void *stream);
ek_status ek_cuda_signal_stream(ek_queue *queue, void *stream);

/* Waits for all work of the GPU's primary context, whoever gave it. */
void ek_cuda_wait_until_idle(const ek_device *device);

#endif
