#include "process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic(int) *known; /* 0 in a child until it asks; null: there is no such memory */

static void make_page(void)
{
#ifdef MADV_WIPEONFORK
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return;
    if (madvise(page, bytes, MADV_WIPEONFORK) == 0)
        known = page;
    else
        munmap(page, bytes);
#endif
}

int ek_process(void)
{
    pthread_once(&once, make_page);
    if (!known)
        return (int)getpid();
    int process = atomic_load_explicit(known, memory_order_relaxed);
    if (process == 0) {
        process = (int)getpid();
        atomic_store_explicit(known, process, memory_order_relaxed);
    }
    return process;
}
