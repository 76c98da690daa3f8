/* Launching the kernels of an operation. A CUkernel belongs to no context, so it is looked up once
 * a process; the stream decides where it runs, and no call here needs a current context. */
#ifndef EK_CUDA_LAUNCH_H
#define EK_CUDA_LAUNCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "einkorn/queue.h"
#include "error.h"

/* Bytes of a lane's numbers, 4 unless it has several, and of what a chunk is reduced to. */
typedef struct ek_cuda_sizes {
    uint8_t lane, part;
} ek_cuda_sizes;

/* The kernels of one operation: its fatbin, embedded as data, and the names in it. Generated. */
typedef struct ek_cuda_kernels {
    const char *op;
    const void *image;
    int32_t count;
    const char *const *names;
    const ek_cuda_sizes *sizes; /* (reductions) for each loop */
    int32_t layouts;            /* (elementwise) kernels of each loop */
    _Atomic(void *) *loaded;    /* a CUkernel for each name; null until first used */
    /* The most bytes of dynamic shared memory that each is launched with. Null if none is launched
     * with more than the 48 kB that need no permission. */
    const int32_t *shared;
} ek_cuda_kernels;

typedef struct ek_grid {
    uint32_t blocks[3];
    uint32_t threads[3];
    uint32_t shared; /* bytes of dynamic shared memory */
} ek_grid;

/* Launches kernel `index` on the queue's stream. params[i] points to the i-th argument. Loads the
 * operation's fatbin on first use. */
ek_status ek_cuda_launch(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t index,
                         const ek_grid *grid, void **params);

/* The same with blocks in clusters of so many, which must divide their number. For queues of which
 * ek_cuda_has_clusters is true, or with 1. */
ek_status ek_cuda_launch_clusters(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t index,
                                  const ek_grid *grid, int32_t cluster, void **params);

/* Whether the queue's device and this build's kernels have clusters of blocks. */
bool ek_cuda_has_clusters(const ek_queue *queue);

/* At least `bytes` bytes of the queue's own device memory for the calls that need room between two
 * kernels; valid until the next call on the queue that asks for more. Grows and is kept, so a warm
 * call allocates nothing. 256-byte aligned. */
ek_status ek_cuda_workspace(ek_queue *queue, size_t bytes, void **memory);

/* EK_CUDA_TICKETS counters, all 0, which kernels leave as they found them; there once the queue has
 * had a workspace. */
uint32_t *ek_cuda_tickets(const ek_queue *queue);

/* 8 bytes that are 0 before their first use, and last as long as the tickets. */
void *ek_cuda_word(const ek_queue *queue);

/* Multiprocessors of the queue's device. */
int32_t ek_cuda_multiprocessors(const ek_queue *queue);

/* Its compute capability: 90 is 9.0. */
int32_t ek_cuda_capability(const ek_queue *queue);

#endif
