#include "cpu/threads.h"

#include <stdatomic.h>

#include "process.h"

bool ek_cpu_forked(void)
{
    static _Atomic(int) noted; /* the process that has threads; 0: none yet */
    int owner = atomic_load_explicit(&noted, memory_order_relaxed), me = ek_process();
    if (owner == 0) /* threads that race note the same */
        atomic_store_explicit(&noted, me, memory_order_relaxed);
    return owner != 0 && owner != me;
}

int ek_cpu_threads(int32_t threads, int64_t useful)
{
    if (useful <= 1 || threads <= 1)
        return 1;
    if (ek_cpu_forked())
        return 1;
    return useful < threads ? (int)useful : threads;
}
