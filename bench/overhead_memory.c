/* A sum of two large arrays beside a loop that does nothing but move them. */
#include <omp.h>
#include <stdio.h>

#include "clock.h"
#include "einkorn/device.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"
#include "error.h"
#include "overhead.h"

#if defined(__SSE2__)
#    include <emmintrin.h>
#endif

enum { SIZE = 32000000, MOST_THREADS = 2, STEP = 16 };

typedef struct arrays {
    ek_queue *queue;
    int threads;
    float *x, *y, *out;
} arrays;

/* Two loads and a store that goes around the cache; whole cache lines. */
static void move(const arrays *a, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i += STEP) {
#if defined(__SSE2__)
        for (int k = 0; k < STEP; k += 4)
            _mm_stream_ps(a->out + i + k,
                          _mm_add_ps(_mm_load_ps(a->x + i + k), _mm_load_ps(a->y + i + k)));
#else
        for (int k = 0; k < STEP; k++)
            a->out[i + k] = a->x[i + k] + a->y[i + k];
#endif
    }
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

static ek_status move_all(void *context, int64_t times, double *ns)
{
    const arrays *a = context;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++) {
#pragma omp parallel num_threads(a->threads)
        {
            int64_t steps = SIZE / STEP, thread = omp_get_thread_num(),
                    threads = omp_get_num_threads();
            move(a, steps * thread / threads * STEP, steps * (thread + 1) / threads * STEP);
        }
    }
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status add_all(void *context, int64_t times, double *ns)
{
    const arrays *a = context;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++)
        EK_TRY(ek_add_f32(a->queue, SIZE, a->x, a->y, a->out));
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status measure_memory(arrays *a)
{
    const size_t bytes = SIZE * sizeof(float);
    a->threads = omp_get_max_threads() < MOST_THREADS ? omp_get_max_threads() : MOST_THREADS;
    EK_TRY(ek_queue_set_threads(a->queue, a->threads));
    EK_TRY(ek_alloc(a->queue, bytes, (void **)&a->x));
    EK_TRY(ek_alloc(a->queue, bytes, (void **)&a->y));
    EK_TRY(ek_alloc(a->queue, bytes, (void **)&a->out));
    for (int64_t i = 0; i < SIZE; i++) {
        a->x[i] = 1;
        a->y[i] = a->out[i] = 2;
    }
    result r = {
        .device = "cpu", .beside = "a loop that only moves", .goal = GOAL_SPEED, .bound = 0.9};
    snprintf(r.what, sizeof r.what, "ek_add_f32, n = %d, %d threads", SIZE, a->threads);
    EK_TRY(measure(add_all, move_all, a, 16, &r.time));
    overhead_add(&r);
    return EK_OK;
}

ek_status overhead_memory(void)
{
    ek_device *device;
    arrays a = {0};
    EK_TRY(ek_device_open("cpu", &device));
    ek_status status = ek_queue_open(device, &a.queue);
    ek_device_close(device);
    if (status != EK_OK)
        return status;
    status = measure_memory(&a);
    ek_free(a.queue, a.x);
    ek_free(a.queue, a.y);
    ek_free(a.queue, a.out);
    ek_queue_close(a.queue);
    return status;
}
