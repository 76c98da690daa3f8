/* How long a call takes: repeated in batches until there are enough to trust their median. */
#ifndef TIMING_H
#define TIMING_H

#include <stdint.h>

#include "einkorn/queue.h"

/* Makes a call `calls` times without waiting for it. */
typedef ek_status timing_fn(void *context, int64_t calls);

typedef struct timing {
    double ns;      /* of one call, the median of all batches; on CUDA by the device's clock */
    double best_ns; /* the shortest batch */
    double spread;  /* distance of the quartiles as a share of the median */
    double host_ns; /* CUDA: what the calling thread needs to issue one call; else 0 */
} timing;

/* Warms up, then measures for at least `least_ns`. */
ek_status timing_measure(ek_queue *queue, timing_fn *call, void *context, double least_ns,
                         timing *out);

#endif
