/* Debug builds (configure --enable-debug) notice when two threads are in one queue. */
#ifndef EK_ENTRY_H
#define EK_ENTRY_H

#include "error.h"

/* Begins every public call that works on a queue. Until the call returns the queue is the calling
 * thread's, and a call from another thread meanwhile is refused in the name of both. Calls that the
 * call itself makes are part of it. Other builds leave nothing of it. */
#if EK_DEBUG
#    include "einkorn/queue.h"

#    define EK_ENTRY(queue, call)                                                                  \
        ek_queue *ek_entered __attribute__((cleanup(ek_leave))) = 0;                               \
        EK_TRY(ek_enter(queue, call, &ek_entered))

/* The same for the call that closes the queue, which stays as it is if another thread is in it. */
#    define EK_LAST_ENTRY(queue, call)                                                             \
        do {                                                                                       \
            ek_queue *ek_entered = 0;                                                              \
            if (ek_enter(queue, call, &ek_entered) != EK_OK)                                       \
                return;                                                                            \
        } while (0)

/* *entered is the queue, if it was not entered before, for ek_leave. */
ek_status ek_enter(ek_queue *queue, const char *call, ek_queue **entered);
void ek_leave(ek_queue **entered);
#else
#    define EK_ENTRY(queue, call) ((void)0)
#    define EK_LAST_ENTRY(queue, call) ((void)0)
#endif

#endif
