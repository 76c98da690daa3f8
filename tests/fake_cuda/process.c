/* What becomes of the driver when the process forks or ends. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pid_t started;
static _Atomic(bool) over;

static void end(void)
{
    over = true;
}

/* The real driver takes its leave when handlers of atexit run, in their order. */
void fake_process_begin(void)
{
    if (!started && atexit(end) == 0)
        started = getpid();
}

/* The real one crashes a child of fork() in some entries and hangs its parent in others. */
CUresult fake_process_check(void)
{
    if (started && started != getpid()) {
        fprintf(stderr, "the driver is called in a forked child\n");
        abort();
    }
    return over ? CUDA_ERROR_DEINITIALIZED : CUDA_SUCCESS;
}
