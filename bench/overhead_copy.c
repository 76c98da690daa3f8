/* Copies between the host and a GPU beside what the driver alone does with as many bytes that lie
 * together, and a copy beside compute on another queue. */
#include <stdio.h>

#include "error.h"
#include "overhead.h"

#if EK_HAVE_CUDA

#    include <stdlib.h>
#    include <string.h>

#    include "clock.h"
#    include "cuda/guard.h"
#    include "cuda/queue.h"
#    include "einkorn/array.h"
#    include "einkorn/memory.h"
#    include "einkorn/ops/exp.h"

enum { LARGE = 256 << 20, ROW = 4096 };

/* How the host's array lies. */
typedef struct layout {
    const char *what;
    int32_t ndim;
    int64_t shape[2], strides[2], first; /* in elements of float */
    bool pinned;
    double goal; /* of the speed of the same bytes side by side in the same sort of memory */
} layout;

static const layout layouts[] = {
    {"256 MB", 1, {LARGE / 4}, {1}, 0, true, 0.95},
    {"256 MB", 1, {LARGE / 4}, {1}, 0, false, 2},
    {"4 MB", 1, {1 << 20}, {1}, 0, false, 1},
    {"4 kB", 1, {1024}, {1}, 0, false, 0.8},
    {"reversed, 256 MB", 1, {LARGE / 4}, {-1}, LARGE / 4 - 1, true, 0.5},
    {"reversed, 256 MB", 1, {LARGE / 4}, {-1}, LARGE / 4 - 1, false, 0.5},
    {"transposed, 256 MB", 2, {8192, 8192}, {1, 8192}, 0, true, 0.5},
    {"transposed, 256 MB", 2, {8192, 8192}, {1, 8192}, 0, false, 0.5},
    {"every second, 128 MB", 1, {LARGE / 8}, {2}, 0, true, 0.5},
    {"every second, 128 MB", 1, {LARGE / 8}, {2}, 0, false, 0.5},
    {"half of each row of 16 kB", 2, {16384, ROW / 2}, {ROW, 1}, 0, true, 0.5},
    {"half of each row of 16 kB", 2, {16384, ROW / 2}, {ROW, 1}, 0, false, 0.5},
    {"16 columns of 4096", 2, {16384, 16}, {ROW, 1}, 0, true, 0.5},
    {"16 columns of 4096", 2, {16384, 16}, {ROW, 1}, 0, false, 0.5},
    {"a column of 4096", 1, {16384}, {ROW}, 0, true, 0.5},
    {"a column of 4096", 1, {16384}, {ROW}, 0, false, 0.5},
};

typedef struct gpu {
    ek_queue *queue, *other;
    float *pageable, *pinned, *device, *room;
    ek_array near, far; /* of the copy: on the device, on the host */
    size_t bytes;
    bool out;
} gpu;

static ek_status copies(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    EK_TRY(ek_queue_sync(g->queue));
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++)
        EK_TRY(ek_copy(g->queue, g->out ? &g->far : &g->near, g->out ? &g->near : &g->far));
    EK_TRY(ek_queue_sync(g->queue));
    *ns = clock_ns() - start;
    return EK_OK;
}

/* As many bytes of the same sort of memory, one after the other. */
static ek_status plain(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    CUdeviceptr near = (CUdeviceptr)g->device, far = (CUdeviceptr)g->far.data;
    EK_TRY(ek_queue_sync(g->queue));
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++)
        EK_CUDA_TRY(
            "plain", cuMemcpyAsync,
            (g->out ? far : near, g->out ? near : far, g->bytes, ek_cuda_stream_of(g->queue)));
    EK_TRY(ek_queue_sync(g->queue));
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status measure_layout(gpu *g, const layout *l, bool out)
{
    result r = {.device = "cuda", .beside = "cuMemcpyAsync", .goal = GOAL_SPEED, .bound = l->goal};
    int64_t shape[2] = {l->shape[0], l->shape[1]}, strides[2] = {l->strides[0], l->strides[1]};
    int64_t count = shape[0] * (l->ndim > 1 ? shape[1] : 1);
    g->near = ek_array_view(g->device, EK_F32, ek_queue_device(g->queue), l->ndim, shape);
    g->far = g->near;
    g->far.data = l->pinned ? g->pinned : g->pageable;
    g->far.device.type = l->pinned ? EK_DEVICE_CUDA_HOST : EK_DEVICE_CPU;
    g->far.device.index = 0;
    g->far.byte_offset = (uint64_t)l->first * sizeof(float);
    g->far.strides = strides;
    g->bytes = (size_t)count * sizeof(float);
    g->out = out;
    snprintf(r.what, sizeof r.what, "%s %s, %s", out ? "to" : "from",
             l->pinned ? "pinned" : "pageable", l->what);
    EK_TRY(measure(copies, plain, g, 64, &r.time));
    overhead_add(&r);
    return EK_OK;
}

/* ---- what scattered elements cost the host whatever is done with them: each brings a line */

typedef struct scattered {
    gpu *gpu;
    int64_t count, apart; /* elements */
} scattered;

static ek_status touch(void *context, int64_t times, double *ns)
{
    const scattered *s = context;
    const float *from = s->gpu->pinned;
    float *to = s->gpu->pageable;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++) {
#    pragma omp parallel for num_threads(ek_queue_threads(s->gpu->queue))
        for (int64_t at = 0; at < s->count; at++)
            to[at] = from[at * s->apart];
    }
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status copy_touched(void *context, int64_t times, double *ns)
{
    return plain(((scattered *)context)->gpu, times, ns);
}

static ek_status measure_scattered(gpu *g, const char *what, int64_t count, int64_t apart)
{
    result r = {.device = "cuda", .beside = "cuMemcpyAsync of as many", .goal = GOAL_NONE};
    scattered s = {g, count, apart};
    g->far.data = g->pinned;
    g->bytes = (size_t)count * sizeof(float);
    g->out = false;
    snprintf(r.what, sizeof r.what, "the host's own reading of %s", what);
    EK_TRY(measure(touch, copy_touched, &s, 16, &r.time));
    overhead_add(&r);
    return EK_OK;
}

/* ---- beside compute */

enum { EXPS = 60, EXP_SIZE = LARGE / 4 };

static ek_status compute(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    double start = clock_ns();
    for (int64_t i = 0; i < times * EXPS; i++)
        EK_TRY(ek_exp_f32(g->other, EXP_SIZE, g->room, g->room));
    EK_TRY(ek_queue_sync(g->other));
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status compute_and_copy(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    double start = clock_ns();
    for (int64_t i = 0; i < times * EXPS; i++)
        EK_TRY(ek_exp_f32(g->other, EXP_SIZE, g->room, g->room));
    for (int64_t i = 0; i < times; i++)
        EK_TRY(ek_copy(g->queue, &g->near, &g->far));
    EK_TRY(ek_queue_sync(g->other));
    *ns = clock_ns() - start;
    return ek_queue_sync(g->queue);
}

static ek_status measure_overlap(gpu *g, bool pinned)
{
    result r = {.device = "cuda", .beside = "the compute alone", .goal = GOAL_SPEED, .bound = 0.95};
    int64_t length = LARGE / 4;
    g->near = ek_array_view(g->device, EK_F32, ek_queue_device(g->queue), 1, &length);
    g->far = g->near;
    g->far.data = pinned ? g->pinned : g->pageable;
    g->far.device.type = EK_DEVICE_CPU;
    snprintf(r.what, sizeof r.what, "compute with a copy from %s on the side",
             pinned ? "pinned" : "pageable");
    EK_TRY(measure(compute_and_copy, compute, g, 1, &r.time));
    overhead_add(&r);
    return EK_OK;
}

static ek_status pin(gpu *g, size_t bytes)
{
    ek_cuda_guard guard;
    EK_TRY(ek_cuda_guard_enter("pin", ek_queue_device(g->queue), &guard));
    CUresult result = ek_cu.cuMemHostAlloc((void **)&g->pinned, bytes, 0);
    ek_cuda_guard_leave(&guard);
    return result == CUDA_SUCCESS ? EK_OK : ek_cuda_fail("pin", "cuMemHostAlloc", result);
}

static ek_status measure_gpu(gpu *g)
{
    g->pageable = malloc(LARGE);
    if (!g->pageable)
        return ek_fail(EK_OUT_OF_MEMORY, "no host memory");
    EK_TRY(pin(g, LARGE));
    memset(g->pageable, 0, LARGE);
    memset(g->pinned, 0, LARGE);
    EK_TRY(ek_alloc(g->queue, LARGE, (void **)&g->device));
    EK_TRY(ek_alloc(g->other, LARGE, (void **)&g->room));
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        EK_TRY(measure_layout(g, &layouts[i], false));
        EK_TRY(measure_layout(g, &layouts[i], true));
    }
    EK_TRY(measure_scattered(g, "a column of 4096", 16384, ROW));
    EK_TRY(measure_scattered(g, "every 16th of 256 MB", LARGE / 64, 16));
    EK_TRY(measure_overlap(g, true));
    return measure_overlap(g, false);
}

ek_status overhead_copy(void)
{
    gpu g = {0};
    ek_device *device;
    if (ek_device_count(EK_DEVICE_CUDA) == 0)
        return EK_OK; /* overhead_launch says so */
    EK_TRY(ek_device_open("cuda", &device));
    ek_status status = ek_queue_open(device, &g.queue);
    if (status == EK_OK)
        status = ek_queue_open(device, &g.other);
    ek_device_close(device);
    if (status == EK_OK)
        status = measure_gpu(&g);
    if (g.queue)
        ek_free(g.queue, g.device);
    if (g.other)
        ek_free(g.other, g.room);
    ek_queue_close(g.queue);
    ek_queue_close(g.other);
    if (g.pinned)
        ek_cu.cuMemFreeHost(g.pinned);
    free(g.pageable);
    return status;
}

#else

ek_status overhead_copy(void)
{
    return EK_OK; /* overhead_launch says why */
}

#endif
