#include "entry.h"

#if EK_DEBUG
#    include "backend.h"

/* Its address is the thread. */
static _Thread_local char me;

/* Nothing here orders what threads do, or tools that look for races would miss those in queues. */
ek_status ek_enter(ek_queue *queue, const char *call, ek_queue **entered)
{
    if (!queue)
        return EK_OK;
    ek_queue_base *base = ek_queue_base_of(queue);
    const void *user = NULL;
    if (atomic_compare_exchange_strong_explicit(&base->user, &user, &me, memory_order_relaxed,
                                                memory_order_relaxed)) {
        atomic_store_explicit(&base->user_call, call, memory_order_relaxed);
        *entered = queue;
        return EK_OK;
    }
    if (user == &me)
        return EK_OK;
    const char *other = atomic_load_explicit(&base->user_call, memory_order_relaxed);
    return ek_fail(EK_INVALID_ARGUMENT,
                   "%s: queue is in use by another thread, in %s: one thread at a time may use it",
                   call, other ? other : "its first call");
}

void ek_leave(ek_queue **entered)
{
    if (*entered)
        atomic_store_explicit(&ek_queue_base_of(*entered)->user, NULL, memory_order_relaxed);
}
#endif
