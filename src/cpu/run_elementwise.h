/* Running elementwise kernels on the CPU. */
#ifndef EK_CPU_RUN_ELEMENTWISE_H
#define EK_CPU_RUN_ELEMENTWISE_H

#include <string.h>

#include "backend.h"
#include "cpu/half.h"
#include "cpu/variant.h"
#include "elementwise.h"
#include "typed.h"

/* Up to this many elements a call runs at once in the calling thread, without a further thought:
 * the work is below a few microseconds even for the costliest body. */
enum { EK_SMALL = 1024 };

/* One row of contiguous elements in the calling thread. */
static inline void ek_cpu_elementwise_row(ek_elementwise_fn *kernel, int64_t n, void *const *data,
                                          const uint8_t *size, const ek_scalar *params)
{
    static const int64_t zeros[EK_MAX_OPERANDS];
    if (kernel)
        kernel(1, n, data, zeros, params);
    else if (n > 0)
        memcpy(data[0], data[1], (size_t)(n * size[0]));
}

/* Larger arrays: threads, and stores around the cache. Any arrays while the queue records. */
ek_status ek_cpu_elementwise_large(ek_queue *queue, ek_elementwise_fn *kernel, int outputs,
                                   int operands, int64_t n, void *const *data, const uint8_t *size,
                                   const ek_scalar *params);

/* A typed call whose arguments are right; without a kernel it copies. `params` are EK_MAX_PARAMS,
 * or null. */
static inline ek_status ek_cpu_elementwise(ek_queue *queue, ek_elementwise_fn *kernel, int outputs,
                                           int operands, int64_t n, void *const *data,
                                           const uint8_t *size, const ek_scalar *params)
{
    if (n > ek_queue_base_of(queue)->at_once)
        return ek_cpu_elementwise_large(queue, kernel, outputs, operands, n, data, size, params);
    ek_cpu_elementwise_row(kernel, n, data, size, params);
    return EK_OK;
}

/* A typed call that sets n elements of data[0] to the one at data[1]. */
ek_status ek_cpu_fill(ek_queue *queue, int64_t n, void *const *data, const uint8_t *size);

#endif
