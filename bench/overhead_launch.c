/* What a typed call costs the host on a GPU beside a bare launch of the same kernel, what the
 * guards would cost that it does without, and what the guard of library entries costs. */
#include <stdio.h>

#include "error.h"
#include "overhead.h"

#if EK_HAVE_CUDA

#    include <dlfcn.h>
#    include <stdbool.h>

#    include "clock.h"
#    include "cuda/device.h"
#    include "cuda/guard.h"
#    include "einkorn/memory.h"
#    include "einkorn/ops/add.h"

/* Launches of a round: below what a stream takes before the host has to wait. */
enum { MOST_LAUNCHES = 256 };

typedef struct gpu {
    ek_device *device;
    ek_queue *queue;
    int64_t n;
    float *x, *y, *out;
    /* Entries the library has no use for; null where they are missing. */
    __typeof__(cuCtxSetCurrent) *set_current;
    int (*get_device)(int *device); /* the CUDA runtime's */
    int (*set_device)(int device);
} gpu;

/* ---- a typed call, and the launch it makes */

static ek_status typed_calls(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    EK_TRY(ek_queue_sync(g->queue));
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++)
        EK_TRY(ek_add_f32(g->queue, g->n, g->x, g->y, g->out));
    *ns = clock_ns() - start;
    return ek_queue_sync(g->queue);
}

static __typeof__(cuLaunchKernel) *driver_launch;
static int64_t launch_times;
static double launch_ns;

/* Stands in for the driver's entry while one call is made, and repeats its launch: the very same
 * kernel, grid and arguments, whatever the call did to make them. */
static CUresult CUDAAPI repeat_launch(CUfunction kernel, unsigned blocks_x, unsigned blocks_y,
                                      unsigned blocks_z, unsigned threads_x, unsigned threads_y,
                                      unsigned threads_z, unsigned shared, CUstream stream,
                                      void **params, void **extra)
{
    CUresult result = CUDA_SUCCESS;
    double start = clock_ns();
    for (int64_t i = 0; i < launch_times && result == CUDA_SUCCESS; i++)
        result = driver_launch(kernel, blocks_x, blocks_y, blocks_z, threads_x, threads_y,
                               threads_z, shared, stream, params, extra);
    launch_ns = clock_ns() - start;
    return result;
}

static ek_status bare_launches(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    EK_TRY(ek_queue_sync(g->queue));
    driver_launch = ek_cu.cuLaunchKernel;
    launch_times = times;
    ek_cu.cuLaunchKernel = repeat_launch;
    ek_status status = ek_add_f32(g->queue, g->n, g->x, g->y, g->out);
    ek_cu.cuLaunchKernel = driver_launch;
    *ns = launch_ns;
    return status == EK_OK ? ek_queue_sync(g->queue) : status;
}

static ek_status measure_launches(gpu *g)
{
    static const int64_t sizes[] = {16, 256, 1024};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        result r = {.device = "cuda",
                    .beside = "cuLaunchKernel of its kernel",
                    .goal = GOAL_MORE,
                    .bound = 100};
        g->n = sizes[i];
        snprintf(r.what, sizeof r.what, "ek_add_f32, n = %d, host time", (int)g->n);
        EK_TRY(measure(typed_calls, bare_launches, g, MOST_LAUNCHES, &r.time));
        overhead_add(&r);
    }
    return EK_OK;
}

/* ---- guards that a call could have and has not */

static ek_status guard_get(void *context, int64_t times, double *ns)
{
    (void)context;
    CUcontext current;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++)
        EK_CUDA_TRY("guard", cuCtxGetCurrent, (&current));
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status guard_set(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    CUcontext wanted = ek_cuda_device_of(g->device)->context, current;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++) {
        EK_CUDA_TRY("guard", cuCtxGetCurrent, (&current));
        g->set_current(wanted);
        g->set_current(current);
    }
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status guard_push(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    CUcontext wanted = ek_cuda_device_of(g->device)->context, popped;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++) {
        EK_CUDA_TRY("guard", cuCtxPushCurrent, (wanted));
        EK_CUDA_TRY("guard", cuCtxPopCurrent, (&popped));
    }
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status guard_runtime(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    int current = 0;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++) {
        g->get_device(&current);
        g->set_device(0);
        g->set_device(current);
    }
    *ns = clock_ns() - start;
    return EK_OK;
}

/* The guard of calls of cuBLAS, with whatever is current. */
static ek_status guard_library(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    ek_cuda_guard guard;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++) {
        EK_TRY(ek_cuda_guard_enter("guard", g->device, &guard));
        ek_cuda_guard_leave(&guard);
    }
    *ns = clock_ns() - start;
    return EK_OK;
}

/* Beside the usual guard: the runtime's, if there is one and it may leave its own context current.
 */
static ek_status measure_library_guard(gpu *g, bool own)
{
    bool runtime = own && g->get_device && g->set_device;
    result r = {.device = "cuda",
                .beside = runtime ? "cudaGetDevice, SetDevice, and back"
                                  : "cuCtxGetCurrent, SetCurrent, and back",
                .goal = own ? GOAL_NS : GOAL_NONE,
                .bound = 15};
    if (!runtime && !g->set_current)
        r.beside = NULL;
    snprintf(r.what, sizeof r.what, "guard of library entries, %s current",
             own ? "its own context" : "no context");
    measure_fn *usual = runtime ? guard_runtime : guard_set;
    EK_TRY(measure(guard_library, r.beside ? usual : NULL, g, 1 << 16, &r.time));
    overhead_add(&r);
    return EK_OK;
}

/* No context is current here but while the first is measured. */
static ek_status measure_library_guards(gpu *g)
{
    CUcontext popped;
    EK_CUDA_TRY("guard", cuCtxPushCurrent, (ek_cuda_device_of(g->device)->context));
    ek_status status = measure_library_guard(g, true);
    EK_CUDA_TRY("guard", cuCtxPopCurrent, (&popped));
    EK_TRY(status);
    return measure_library_guard(g, false);
}

static ek_status measure_guards(gpu *g)
{
    const struct {
        const char *what;
        measure_fn *work;
        bool there;
    } guards[] = {
        {"guard: cuCtxGetCurrent", guard_get, true},
        {"guard: cuCtxGetCurrent, SetCurrent, and back", guard_set, g->set_current},
        {"guard: cuCtxPushCurrent, PopCurrent", guard_push, true},
        {"guard: cudaGetDevice, SetDevice, and back", guard_runtime,
         g->get_device && g->set_device},
    };
    for (size_t i = 0; i < sizeof guards / sizeof guards[0]; i++) {
        if (!guards[i].there)
            continue;
        result r = {.device = "cuda"};
        snprintf(r.what, sizeof r.what, "%s", guards[i].what);
        EK_TRY(measure(guards[i].work, NULL, g, 1 << 16, &r.time));
        overhead_add(&r);
    }
    return EK_OK;
}

static void find_entries(gpu *g)
{
    static const char *const runtimes[] = {"libcudart.so.13", "libcudart.so.12"};
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *runtime = NULL;
    for (int i = 0; i < 2 && !runtime; i++)
        runtime = dlopen(runtimes[i], RTLD_NOW);
    if (driver)
        *(void **)&g->set_current = dlsym(driver, "cuCtxSetCurrent");
    if (runtime) {
        *(void **)&g->get_device = dlsym(runtime, "cudaGetDevice");
        *(void **)&g->set_device = dlsym(runtime, "cudaSetDevice");
    }
}

static ek_status measure_gpu(gpu *g)
{
    float **operands[] = {&g->x, &g->y, &g->out};
    for (int i = 0; i < 3; i++)
        EK_TRY(ek_alloc(g->queue, 1024 * sizeof(float), (void **)operands[i]));
    find_entries(g);
    EK_TRY(measure_launches(g));
    EK_TRY(measure_library_guards(g));
    return measure_guards(g);
}

ek_status overhead_launch(void)
{
    gpu g = {0};
    if (ek_device_count(EK_DEVICE_CUDA) == 0) {
        printf("cuda  left out: this machine has no GPU\n");
        return EK_OK;
    }
    EK_TRY(ek_device_open("cuda", &g.device));
    ek_status status = ek_queue_open(g.device, &g.queue);
    if (status == EK_OK) {
        status = measure_gpu(&g);
        ek_free(g.queue, g.x);
        ek_free(g.queue, g.y);
        ek_free(g.queue, g.out);
        ek_queue_close(g.queue);
    }
    ek_device_close(g.device);
    return status;
}

#else

ek_status overhead_launch(void)
{
    printf("cuda  left out: this build has no CUDA\n");
    return EK_OK;
}

#endif
