#include "lock.h"

#include <sched.h>
#include <stdbool.h>
#include <time.h>

#include "process.h"

static bool take_from(ek_lock *lock, int holder, int me)
{
    return atomic_compare_exchange_strong_explicit(&lock->holder, &holder, me, memory_order_acquire,
                                                   memory_order_relaxed);
}

static void wait_for(ek_lock *lock, int me)
{
    enum { YIELDS = 50 };
    static const struct timespec pause = {.tv_nsec = 20000};
    for (int tries = 0; !take_from(lock, 0, me); tries++) {
        int holder = atomic_load_explicit(&lock->holder, memory_order_relaxed);
        if (holder != 0 && holder != me && take_from(lock, holder, me))
            return;
        if (tries < YIELDS)
            sched_yield();
        else
            nanosleep(&pause, NULL);
    }
}

void ek_lock_take(ek_lock *lock)
{
    int me = ek_process();
    if (!take_from(lock, 0, me))
        wait_for(lock, me);
}
