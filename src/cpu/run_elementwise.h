/* Running elementwise kernels on the CPU. */
#ifndef EK_CPU_RUN_ELEMENTWISE_H
#define EK_CPU_RUN_ELEMENTWISE_H

#include "backend.h"
#include "cpu/variant.h"
#include "elementwise.h"
#include "typed.h"

/* Up to this many elements a call runs at once in the calling thread, without a further thought:
 * the work is below a few microseconds even for the costliest body. */
enum { EK_SMALL = 1024 };

/* Larger arrays: threads, and stores around the cache. Any arrays while the queue records. */
ek_status ek_cpu_elementwise_large(ek_queue *queue, ek_elementwise_fn *kernel, int operands,
                                   int64_t n, void *const *data, const uint8_t *size);

static inline ek_status ek_cpu_elementwise(ek_queue *queue, ek_elementwise_fn *kernel, int operands,
                                           int64_t n, void *const *data, const uint8_t *size)
{
    static const int64_t ones[EK_MAX_OPERANDS] = {1, 1, 1, 1};
    if (n > ek_queue_base_of(queue)->at_once)
        return ek_cpu_elementwise_large(queue, kernel, operands, n, data, size);
    kernel(n, data, ones);
    return EK_OK;
}

/* The same for an output and one input whose single element is used for all of it. */
ek_status ek_cpu_broadcast(ek_queue *queue, ek_elementwise_fn *kernel, int64_t n, void *const *data,
                           const uint8_t *size);

#endif
