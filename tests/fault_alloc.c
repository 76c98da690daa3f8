#include "fault_alloc.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static _Atomic(int) fails_in, fails_every;
static _Atomic(bool) hit;
static _Atomic(long) alive;

void fault_alloc(int n, int every)
{
    fails_every = every;
    hit = false;
    fails_in = n;
}

bool fault_alloc_hit(void)
{
    return hit;
}

long fault_alloc_alive(void)
{
    return alive;
}

static bool fails(void)
{
    if (fails_in <= 0 || --fails_in > 0)
        return false;
    fails_in = fails_every;
    hit = true;
    return true;
}

static void *count(void *memory)
{
    if (memory)
        alive++;
    return memory;
}

/* The linker gives these the calls of malloc and so on, and calls the real ones __real_malloc. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void __wrap_free(void *memory);

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : count(__real_malloc(bytes));
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return fails() ? NULL : count(__real_calloc(n, bytes));
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    if (fails())
        return NULL;
    void *moved = __real_realloc(memory, bytes);
    return memory ? moved : count(moved);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : count(__real_aligned_alloc(alignment, bytes));
}

void __wrap_free(void *memory)
{
    if (memory)
        alive--;
    __real_free(memory);
}
