/* The way into every array call. */
#ifndef EK_CALL_H
#define EK_CALL_H

#include "backend.h"
#include "einkorn/table.h"
#include "entry.h"

/* What an array call does: all checks, then the work. `args` is whatever else the calls of its kind
 * are given. */
typedef ek_status ek_call_fn(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                             const void *args, ek_array *const *out);

#if EK_HAVE_CUDA
/* Makes a call on a queue that has options: copies inputs in, or runs it on the CPU. */
ek_status ek_call_mixed(ek_call_fn *call, ek_queue *queue, const ek_op_info *op,
                        const ek_array *const *in, const void *args, ek_array *const *out);
#endif

/* Makes a call. What a queue's options allow is thus added in one place, for every kind. */
static inline ek_status ek_call(ek_call_fn *call, ek_queue *queue, const ek_op_info *op,
                                const ek_array *const *in, const void *args, ek_array *const *out)
{
    EK_ENTRY(queue, op->call);
#if EK_HAVE_CUDA
    if (queue && EK_UNLIKELY(ek_queue_base_of(queue)->options))
        return ek_call_mixed(call, queue, op, in, args, out);
#endif
    return call(queue, op, in, args, out);
}

#endif
