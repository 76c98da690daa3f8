/* Note [Locks and fork]
 *
 * A child of fork() has one thread and a copy of the memory of its parent. A lock that another
 * thread held at that moment is taken in the copy for ever, and who waits for it hangs. Handlers
 * that take every lock around a fork (pthread_atfork) would make each fork of an application wait
 * for this library, and two forks for each other. So a lock here says which process took it, and
 * what another process has left behind is free. In exchange, what it guards must be in order at
 * every moment: lists and tables change by single stores, and an object is in one while it is
 * whole. (What is counted may be off by one in such a child.)
 *
 * Free locks are taken in less time than a mutex. They are meant to be free: who waits sleeps in
 * small steps. */
#ifndef EK_LOCK_H
#define EK_LOCK_H

#include <stdatomic.h>

/* Free if all its bytes are 0. */
typedef struct ek_lock {
    _Atomic(int) holder; /* a process; 0: no one */
} ek_lock;

void ek_lock_take(ek_lock *lock);

static inline void ek_lock_give(ek_lock *lock)
{
    atomic_store_explicit(&lock->holder, 0, memory_order_release);
}

#endif
