/* Note [Forked children]
 *
 * Threads do not survive a fork, but what OpenMP and OpenBLAS know of them does: a child that asks
 * them to share work out waits for threads that are not there. So the process in whose name threads
 * have worked is noted, and a child that finds its parent noted works in the calling thread alone:
 * nothing waits, and the bits are the same. Children of a process that never had threads at work
 * start their own. */
#ifndef EK_CPU_THREADS_H
#define EK_CPU_THREADS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the threads that this process knows of are its parent's; notes it if they are not. */
bool ek_cpu_forked(void);

/* Of a queue's threads those that a call is to use whose work is worth `useful` of them. */
int ek_cpu_threads(int32_t threads, int64_t useful);

#endif
