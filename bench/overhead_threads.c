/* Small operations from many threads, each in a queue of its own, beside the same number of threads
 * that call what is below: a plain loop on the CPU, the driver's launch on a GPU. Where ours are as
 * fast as theirs nothing of the library stands between threads. */
#include <pthread.h>
#include <stdio.h>

#include "clock.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"
#include "error.h"
#include "overhead.h"
#if EK_HAVE_CUDA
#    include "cuda/driver.h"
#endif

enum { MOST_THREADS = 16, SIZE = 16, APART = 64 };

typedef struct crowd crowd;

typedef struct worker {
    pthread_t thread;
    crowd *crowd;
    ek_queue *queue;
    float *x; /* SIZE floats each, APART so that no cache line is in two threads */
    ek_status status;
    double start, end;
} worker;

struct crowd {
    ek_device *device;
    int count;
    int64_t times; /* calls of a thread */
    void (*work)(worker *self);
    pthread_barrier_t barrier;
    worker workers[MOST_THREADS];
};

static void typed_calls(worker *self)
{
    float *x = self->x;
    pthread_barrier_wait(&self->crowd->barrier);
    self->start = clock_ns();
    for (int64_t i = 0; i < self->crowd->times && self->status == EK_OK; i++)
        self->status = ek_add_f32(self->queue, SIZE, x, x, x + SIZE);
    self->end = clock_ns();
}

typedef void plain_fn(int64_t n, const float *x, const float *y, float *out);

static void plain_add(int64_t n, const float *x, const float *y, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] + y[i];
}

static plain_fn *volatile plain = plain_add;

static void plain_calls(worker *self)
{
    float *x = self->x;
    pthread_barrier_wait(&self->crowd->barrier);
    self->start = clock_ns();
    for (int64_t i = 0; i < self->crowd->times; i++)
        plain(SIZE, x, x, x + SIZE);
    self->end = clock_ns();
}

#if EK_HAVE_CUDA
static __typeof__(cuLaunchKernel) *driver_launch;
static _Thread_local worker *launching;

/* Stands in for the driver's entry, and repeats the launch of one call in the thread that makes it:
 * the same kernel, grid and arguments. */
static CUresult CUDAAPI repeat_launch(CUfunction kernel, unsigned blocks_x, unsigned blocks_y,
                                      unsigned blocks_z, unsigned threads_x, unsigned threads_y,
                                      unsigned threads_z, unsigned shared, CUstream stream,
                                      void **params, void **extra)
{
    CUresult result = CUDA_SUCCESS;
    pthread_barrier_wait(&launching->crowd->barrier);
    launching->start = clock_ns();
    for (int64_t i = 0; i < launching->crowd->times && result == CUDA_SUCCESS; i++)
        result = driver_launch(kernel, blocks_x, blocks_y, blocks_z, threads_x, threads_y,
                               threads_z, shared, stream, params, extra);
    launching->end = clock_ns();
    return result;
}

static void bare_launches(worker *self)
{
    launching = self;
    self->status = ek_add_f32(self->queue, SIZE, self->x, self->x, self->x + SIZE);
}
#endif

static void *run_worker(void *context)
{
    worker *self = context;
    self->status = EK_OK;
    self->crowd->work(self);
    ek_status synced = ek_queue_sync(self->queue);
    self->status = self->status == EK_OK ? synced : self->status;
    return NULL;
}

/* The time of `times` calls in all, from the first start to the last end. */
static ek_status run_crowd(crowd *c, int64_t times, double *ns)
{
    double start = 0, end = 0;
    ek_status status = EK_OK;
    c->times = times / c->count > 0 ? times / c->count : 1;
    pthread_barrier_init(&c->barrier, NULL, (unsigned)c->count);
    for (int i = 0; i < c->count; i++)
        pthread_create(&c->workers[i].thread, NULL, run_worker, &c->workers[i]);
    for (int i = 0; i < c->count; i++) {
        const worker *w = &c->workers[i];
        pthread_join(w->thread, NULL);
        start = i == 0 || w->start < start ? w->start : start;
        end = w->end > end ? w->end : end;
        status = status == EK_OK ? w->status : status;
    }
    pthread_barrier_destroy(&c->barrier);
    *ns = (end - start) * (double)times / (double)(c->times * c->count);
    return status;
}

static ek_status measure_ours(void *context, int64_t times, double *ns)
{
    crowd *c = context;
    c->work = typed_calls;
    return run_crowd(c, times, ns);
}

static ek_status measure_theirs(void *context, int64_t times, double *ns)
{
    crowd *c = context;
    c->work = plain_calls;
#if EK_HAVE_CUDA
    if (ek_device_get_type(c->device) == EK_DEVICE_CUDA) {
        c->work = bare_launches;
        driver_launch = ek_cu.cuLaunchKernel;
        ek_cu.cuLaunchKernel = repeat_launch;
        ek_status status = run_crowd(c, times, ns);
        ek_cu.cuLaunchKernel = driver_launch;
        return status;
    }
#endif
    return run_crowd(c, times, ns);
}

static ek_status measure_counts(crowd *c)
{
    /* Below what a stream takes before the host has to wait, for each thread. */
    enum { LAUNCHES = 256, CALLS = 1 << 18 };
    bool cuda = ek_device_get_type(c->device) == EK_DEVICE_CUDA;
    for (c->count = 1; c->count <= MOST_THREADS; c->count *= 2) {
        result r = {.device = cuda ? "cuda" : "cpu",
                    .beside = cuda ? "cuLaunchKernel in as many threads"
                                   : "a plain loop in as many threads",
                    .goal = cuda ? GOAL_SPEED : GOAL_NONE,
                    .bound = 0.9};
        snprintf(r.what, sizeof r.what, "ek_add_f32, n = %d, threads: %d", SIZE, c->count);
        EK_TRY(measure(measure_ours, measure_theirs, c, (cuda ? LAUNCHES : CALLS) * c->count,
                       &r.time));
        overhead_add(&r);
    }
    return EK_OK;
}

static ek_status measure_device(const char *name)
{
    crowd c = {0};
    EK_TRY(ek_device_open(name, &c.device));
    ek_status status = EK_OK;
    for (int i = 0; i < MOST_THREADS && status == EK_OK; i++) {
        c.workers[i].crowd = &c;
        status = ek_queue_open(c.device, &c.workers[i].queue);
        if (status == EK_OK)
            status = ek_alloc(c.workers[i].queue, (2 * SIZE + APART) * sizeof(float),
                              (void **)&c.workers[i].x);
    }
    if (status == EK_OK)
        status = measure_counts(&c);
    for (int i = 0; i < MOST_THREADS; i++) {
        ek_free(c.workers[i].queue, c.workers[i].x);
        ek_queue_close(c.workers[i].queue);
    }
    ek_device_close(c.device);
    return status;
}

ek_status overhead_threads(void)
{
    EK_TRY(measure_device("cpu"));
    return ek_device_count(EK_DEVICE_CUDA) > 0 ? measure_device("cuda") : EK_OK;
}
