/* Matrix products on a GPU beside cuBLAS called directly, by the device's clock. */
#include "overhead.h"

#if EK_HAVE_CUDA

#    include <dlfcn.h>
#    include <stdio.h>
#    include <stdlib.h>

#    include "cuda/cublas.h"
#    include "cuda/guard.h"
#    include "einkorn/array.h"
#    include "einkorn/event.h"
#    include "einkorn/memory.h"
#    include "einkorn/ops/gemm.h"
#    include "einkorn/ops/gemm_exact.h"
#    include "error.h"

enum { LARGEST = 4096, MOST_CALLS = 256 };

typedef struct gpu {
    ek_device *device;
    ek_queue *queue;
    int64_t n;
    float *x, *y, *out;
    cublasHandle_t handle;
    __typeof__(cublasSgemm_v2) *sgemm;
    ek_event *start, *end;
} gpu;

static ek_status elapsed(gpu *g, double *ns)
{
    EK_TRY(ek_event_record(g->end, g->queue));
    EK_TRY(ek_event_sync(g->end));
    return ek_event_elapsed(g->start, g->end, ns);
}

static ek_status fast_gemm(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    ek_gemm_shape shape = ek_gemm_plain_shape(g->n, g->n, g->n);
    EK_TRY(ek_event_record(g->start, g->queue));
    for (int64_t i = 0; i < times; i++)
        EK_TRY(ek_gemm_f32(g->queue, &shape, 1, g->x, g->y, 0, g->out));
    return elapsed(g, ns);
}

static ek_status exact_gemm(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    ek_gemm_shape shape = ek_gemm_plain_shape(g->n, g->n, g->n);
    EK_TRY(ek_event_record(g->start, g->queue));
    for (int64_t i = 0; i < times; i++)
        EK_TRY(ek_gemm_exact_f32(g->queue, &shape, 1, g->x, g->y, 0, g->out));
    return elapsed(g, ns);
}

/* Row-major C = A B is column-major C' = B' A'. */
static ek_status direct_gemm(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    const float one = 1, zero = 0;
    int n = (int)g->n;
    ek_cuda_guard guard;
    EK_TRY(ek_cuda_guard_enter("cublasSgemm", g->device, &guard));
    cublasStatus_t result = CUBLAS_STATUS_SUCCESS;
    ek_status status = ek_event_record(g->start, g->queue);
    for (int64_t i = 0; i < times && result == CUBLAS_STATUS_SUCCESS; i++)
        result = g->sgemm(g->handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, g->y, n, g->x, n,
                          &zero, g->out, n);
    ek_cuda_guard_leave(&guard);
    if (result != CUBLAS_STATUS_SUCCESS)
        return ek_cublas_fail("cublasSgemm", "cublasSgemm", result);
    EK_TRY(status);
    return elapsed(g, ns);
}

static ek_status measure_gemm(gpu *g)
{
    static const int64_t sides[] = {512, 1024, LARGEST};
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        result fast = {
            .device = "cuda", .beside = "cublasSgemm", .goal = GOAL_SPEED, .bound = 0.97};
        g->n = sides[i];
        snprintf(fast.what, sizeof fast.what, "ek_gemm_f32, %d^3", (int)g->n);
        EK_TRY(measure(fast_gemm, direct_gemm, g, MOST_CALLS, &fast.time));
        overhead_add(&fast);

        result exact = {.device = "cuda", .beside = "cublasSgemm"};
        snprintf(exact.what, sizeof exact.what, "ek_gemm_exact_f32, %d^3", (int)g->n);
        EK_TRY(measure(exact_gemm, direct_gemm, g, MOST_CALLS, &exact.time));
        overhead_add(&exact);
    }
    return EK_OK;
}

/* What an application calls. The library itself uses the batched form, for every shape. */
static ek_status find_sgemm(gpu *g)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12"};
    void *library = NULL;
    for (int i = 0; i < 2 && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
    if (library)
        *(void **)&g->sgemm = dlsym(library, "cublasSgemm_v2");
    return g->sgemm ? EK_OK : ek_fail(EK_UNSUPPORTED, "cublasSgemm: not found in cuBLAS");
}

/* Numbers of ordinary size: with zeros a GPU draws less power and runs faster than at work. */
static ek_status fill(gpu *g, float *matrix)
{
    int64_t size = (int64_t)LARGEST * LARGEST;
    ek_device *cpu;
    float *numbers = malloc((size_t)size * sizeof *numbers);
    if (!numbers)
        return ek_fail(EK_OUT_OF_MEMORY, "no host memory for a matrix");
    uint32_t random = 1;
    for (int64_t i = 0; i < size; i++) {
        random = random * 1664525 + 1013904223;
        numbers[i] = (float)random * 0x1p-31f - 1;
    }
    ek_status status = ek_device_open("cpu", &cpu);
    if (status == EK_OK) {
        ek_array from = ek_array_view(numbers, EK_F32, cpu, 1, &size);
        ek_array to = ek_array_view(matrix, EK_F32, g->device, 1, &size);
        status = ek_copy(g->queue, &to, &from);
        if (status == EK_OK)
            status = ek_queue_sync(g->queue);
        ek_device_close(cpu);
    }
    free(numbers);
    return status;
}

static ek_status measure_gpu(gpu *g)
{
    float **operands[] = {&g->x, &g->y, &g->out};
    EK_TRY(ek_event_open(g->device, &g->start));
    EK_TRY(ek_event_open(g->device, &g->end));
    for (int i = 0; i < 3; i++) {
        EK_TRY(ek_alloc(g->queue, sizeof(float) * LARGEST * LARGEST, (void **)operands[i]));
        EK_TRY(fill(g, *operands[i]));
    }
    EK_TRY(ek_cublas_handle(g->queue, &g->handle));
    EK_TRY(find_sgemm(g));
    return measure_gemm(g);
}

ek_status overhead_cublas(void)
{
    gpu g = {0};
    if (ek_device_count(EK_DEVICE_CUDA) == 0)
        return EK_OK;
    EK_TRY(ek_device_open("cuda", &g.device));
    ek_status status = ek_queue_open(g.device, &g.queue);
    if (status == EK_OK) {
        status = measure_gpu(&g);
        ek_free(g.queue, g.x);
        ek_free(g.queue, g.y);
        ek_free(g.queue, g.out);
        ek_event_close(g.start);
        ek_event_close(g.end);
        ek_queue_close(g.queue);
    }
    ek_device_close(g.device);
    return status;
}

#else

ek_status overhead_cublas(void)
{
    return EK_OK;
}

#endif
