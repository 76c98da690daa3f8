/* What it costs to allocate and free, beside what the system and the driver take for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "einkorn/memory.h"
#include "error.h"
#include "overhead.h"

typedef struct memory {
    ek_device *device;
    ek_queue *queue;
    size_t bytes;
} memory;

static ek_status open_memory(memory *m, const char *name)
{
    EK_TRY(ek_device_open(name, &m->device));
    return ek_queue_open(m->device, &m->queue);
}

static void close_memory(memory *m)
{
    ek_queue_close(m->queue);
    ek_device_close(m->device);
}

static void describe(result *r, const char *what, size_t bytes)
{
    snprintf(r->what, sizeof r->what, "%s, %zu bytes", what, bytes);
}

static ek_status allocate(void *context, int64_t times, double *ns)
{
    const memory *m = context;
    void *block;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++) {
        EK_TRY(ek_alloc(m->queue, m->bytes, &block));
        EK_TRY(ek_free(m->queue, block));
    }
    *ns = clock_ns() - start;
    return EK_OK;
}

/* ---- on the CPU */

static void *volatile kept; /* so that no compiler leaves the allocation out */

static ek_status allocate_system(void *context, int64_t times, double *ns)
{
    const memory *m = context;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++) {
        kept = malloc(m->bytes);
        free(kept);
    }
    *ns = clock_ns() - start;
    return EK_OK;
}

/* Writes to all of it, which is when the system gives pages. */
static ek_status fill(void *context, int64_t times, double *ns)
{
    const memory *m = context;
    void *block;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++) {
        EK_TRY(ek_alloc(m->queue, m->bytes, &block));
        memset(block, 1, m->bytes);
        EK_TRY(ek_free(m->queue, block));
    }
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status fill_system(void *context, int64_t times, double *ns)
{
    const memory *m = context;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++) {
        kept = malloc(m->bytes);
        if (!kept)
            return ek_fail(EK_OUT_OF_MEMORY, "malloc: no memory");
        memset(kept, 1, m->bytes);
        free(kept);
    }
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status measure_cpu(memory *m)
{
    static const size_t sizes[] = {64, 4096, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        result r = {.device = "cpu", .beside = "malloc, free", .goal = GOAL_NS, .bound = 40};
        m->bytes = sizes[i];
        describe(&r, "ek_alloc, ek_free", m->bytes);
        EK_TRY(measure(allocate, allocate_system, m, 1 << 16, &r.time));
        overhead_add(&r);
    }
    result r = {.device = "cpu", .beside = "malloc, memset, free", .goal = GOAL_SPEED, .bound = 1};
    m->bytes = 64 << 20;
    describe(&r, "ek_alloc, memset, ek_free", m->bytes);
    EK_TRY(measure(fill, fill_system, m, 16, &r.time));
    overhead_add(&r);
    return EK_OK;
}

/* ---- on a GPU */

#if EK_HAVE_CUDA

#    include "cuda/guard.h"
#    include "cuda/queue.h"

static ek_status allocate_driver(void *context, int64_t times, double *ns)
{
    const memory *m = context;
    CUmemoryPool pool = ek_cuda_device_of(m->device)->pool;
    CUstream stream = ek_cuda_stream_of(m->queue);
    CUdeviceptr block;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++) {
        EK_CUDA_TRY("pool", cuMemAllocFromPoolAsync, (&block, m->bytes, pool, stream));
        EK_CUDA_TRY("pool", cuMemFreeAsync, (block, stream));
    }
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status pin(void *context, int64_t times, double *ns)
{
    const memory *m = context;
    void *block;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++) {
        EK_TRY(ek_pinned_alloc(m->device, m->bytes, &block));
        EK_TRY(ek_pinned_free(m->device, block));
    }
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status pin_driver(void *context, int64_t times, double *ns)
{
    const memory *m = context;
    ek_cuda_guard guard;
    CUresult result = CUDA_SUCCESS;
    EK_TRY(ek_cuda_guard_enter("pin", m->device, &guard));
    double start = clock_ns();
    for (int64_t i = 0; i < times && result == CUDA_SUCCESS; i++) {
        void *block;
        result = ek_cu.cuMemHostAlloc(&block, m->bytes, CU_MEMHOSTALLOC_PORTABLE);
        if (result == CUDA_SUCCESS)
            result = ek_cu.cuMemFreeHost(block);
    }
    *ns = clock_ns() - start;
    ek_cuda_guard_leave(&guard);
    return result == CUDA_SUCCESS ? EK_OK : ek_cuda_fail("pin", "cuMemHostAlloc", result);
}

typedef struct sharing {
    memory m;
    ek_queue *other;
} sharing;

/* What an array call does for an operand of another queue. */
static ek_status declare(void *context, int64_t times, double *ns)
{
    const sharing *s = context;
    void *block;
    EK_TRY(ek_alloc(s->other, s->m.bytes, &block));
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++)
        EK_TRY(ek_memory_use(s->m.queue, block));
    *ns = clock_ns() - start;
    return ek_free(s->other, block);
}

static ek_status share(void *context, int64_t times, double *ns)
{
    const sharing *s = context;
    void *block;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++) {
        EK_TRY(ek_alloc(s->other, s->m.bytes, &block));
        EK_TRY(ek_memory_use(s->m.queue, block));
        EK_TRY(ek_free(s->other, block));
    }
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status measure_sharing(sharing *s)
{
    s->m.bytes = 4096;
    result use = {.device = "cuda", .what = "ek_memory_use", .goal = GOAL_NS, .bound = 10};
    EK_TRY(measure(declare, NULL, s, 1 << 16, &use.time));
    overhead_add(&use);
    result r = {.device = "cuda", .beside = "of the driver's pool, one stream"};
    describe(&r, "ek_alloc, ek_memory_use, ek_free", s->m.bytes);
    EK_TRY(measure(share, allocate_driver, s, 256, &r.time));
    overhead_add(&r);
    return EK_OK;
}

static ek_status measure_gpu(memory *m)
{
    static const size_t sizes[] = {4096, 1 << 20, 32 << 20, 256 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        result r = {.device = "cuda",
                    .beside = "cuMemAllocFromPoolAsync, FreeAsync",
                    .goal = GOAL_NS,
                    .bound = 100};
        m->bytes = sizes[i];
        describe(&r, "ek_alloc, ek_free", m->bytes);
        EK_TRY(measure(allocate, allocate_driver, m, 1 << 12, &r.time));
        overhead_add(&r);
    }
    result r = {.device = "cuda", .beside = "cuMemHostAlloc, cuMemFreeHost", .goal = GOAL_NONE};
    m->bytes = 1 << 20;
    describe(&r, "ek_pinned_alloc, ek_pinned_free", m->bytes);
    EK_TRY(measure(pin, pin_driver, m, 1 << 10, &r.time));
    overhead_add(&r);
    sharing s = {.m = *m};
    EK_TRY(ek_queue_open(m->device, &s.other));
    ek_status status = measure_sharing(&s);
    ek_queue_close(s.other);
    return status;
}

static ek_status overhead_gpu(void)
{
    memory m = {0};
    if (ek_device_count(EK_DEVICE_CUDA) == 0)
        return EK_OK; /* overhead_launch says so */
    ek_status status = open_memory(&m, "cuda");
    if (status == EK_OK)
        status = measure_gpu(&m);
    close_memory(&m);
    return status;
}

#endif

ek_status overhead_alloc(void)
{
    memory m = {0};
    ek_status status = open_memory(&m, "cpu");
    if (status == EK_OK)
        status = measure_cpu(&m);
    close_memory(&m);
#if EK_HAVE_CUDA
    if (status == EK_OK)
        status = overhead_gpu();
#endif
    return status;
}
