/* Matrix products on a GPU beside cuBLAS called directly, by the device's clock. */
#include "overhead.h"

#if EK_HAVE_CUDA

#    include <dlfcn.h>
#    include <stdio.h>
#    include <stdlib.h>
#    include <string.h>

#    include "cuda/cublas.h"
#    include "cuda/guard.h"
#    include "einkorn/array.h"
#    include "einkorn/event.h"
#    include "einkorn/memory.h"
#    include "einkorn/ops/gemm.h"
#    include "einkorn/ops/gemm_exact.h"
#    include "error.h"

enum { LARGEST = 8192, MOST_CALLS = 256 };

typedef struct gpu {
    ek_device *device;
    ek_queue *queue;
    ek_dtype dtype;
    int64_t n;
    void *x, *y, *out;
    cublasHandle_t handle;
    __typeof__(cublasGemmEx) *gemm_ex;
    ek_event *start, *end;
} gpu;

static ek_status elapsed(gpu *g, double *ns)
{
    EK_TRY(ek_event_record(g->end, g->queue));
    EK_TRY(ek_event_sync(g->end));
    return ek_event_elapsed(g->start, g->end, ns);
}

static ek_status fast_call(gpu *g, const ek_gemm_shape *shape)
{
    switch (g->dtype) {
    case EK_BF16:
        return ek_gemm_bf16(g->queue, shape, 1, g->x, g->y, 0, g->out);
    case EK_F64:
        return ek_gemm_f64(g->queue, shape, 1, g->x, g->y, 0, g->out);
    default:
        return ek_gemm_f32(g->queue, shape, 1, g->x, g->y, 0, g->out);
    }
}

static ek_status exact_call(gpu *g, const ek_gemm_shape *shape)
{
    switch (g->dtype) {
    case EK_BF16:
        return ek_gemm_exact_bf16(g->queue, shape, 1, g->x, g->y, 0, g->out);
    case EK_F64:
        return ek_gemm_exact_f64(g->queue, shape, 1, g->x, g->y, 0, g->out);
    default:
        return ek_gemm_exact_f32(g->queue, shape, 1, g->x, g->y, 0, g->out);
    }
}

static ek_status fast_gemm(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    ek_gemm_shape shape = ek_gemm_plain_shape(g->n, g->n, g->n);
    EK_TRY(ek_event_record(g->start, g->queue));
    for (int64_t i = 0; i < times; i++)
        EK_TRY(fast_call(g, &shape));
    return elapsed(g, ns);
}

static ek_status exact_gemm(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    ek_gemm_shape shape = ek_gemm_plain_shape(g->n, g->n, g->n);
    EK_TRY(ek_event_record(g->start, g->queue));
    for (int64_t i = 0; i < times; i++)
        EK_TRY(exact_call(g, &shape));
    return elapsed(g, ns);
}

/* Row-major C = A B is column-major C' = B' A'. */
static cublasStatus_t direct_call(const gpu *g)
{
    const float one = 1, zero = 0;
    const double one_f64 = 1, zero_f64 = 0;
    bool is_f64 = g->dtype == EK_F64;
    cudaDataType type = is_f64 ? CUDA_R_64F : g->dtype == EK_BF16 ? CUDA_R_16BF : CUDA_R_32F;
    const void *alpha = is_f64 ? (const void *)&one_f64 : &one;
    const void *beta = is_f64 ? (const void *)&zero_f64 : &zero;
    int n = (int)g->n;
    return g->gemm_ex(g->handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, alpha, g->y, type, n, g->x,
                      type, n, beta, g->out, type, n,
                      is_f64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

static ek_status direct_gemm(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    ek_cuda_guard guard;
    EK_TRY(ek_cuda_guard_enter("cublasGemmEx", g->device, &guard));
    cublasStatus_t result = CUBLAS_STATUS_SUCCESS;
    ek_status status = ek_event_record(g->start, g->queue);
    for (int64_t i = 0; i < times && result == CUBLAS_STATUS_SUCCESS; i++)
        result = direct_call(g);
    ek_cuda_guard_leave(&guard);
    if (result != CUBLAS_STATUS_SUCCESS)
        return ek_cublas_fail(g->queue, "cublasGemmEx", "cublasGemmEx", result);
    EK_TRY(status);
    return elapsed(g, ns);
}

static ek_status measure_size(gpu *g, const char *dtype, double exact_bound)
{
    result fast = {.device = "cuda", .beside = "cublasGemmEx", .goal = GOAL_SPEED, .bound = 0.97};
    snprintf(fast.what, sizeof fast.what, "ek_gemm_%s, %d^3", dtype, (int)g->n);
    EK_TRY(measure(fast_gemm, direct_gemm, g, MOST_CALLS, &fast.time));
    overhead_add(&fast);

    result exact = {.device = "cuda",
                    .beside = "cublasGemmEx",
                    .goal = exact_bound > 0 ? GOAL_SPEED : GOAL_NONE,
                    .bound = exact_bound};
    snprintf(exact.what, sizeof exact.what, "ek_gemm_exact_%s, %d^3", dtype, (int)g->n);
    EK_TRY(measure(exact_gemm, direct_gemm, g, MOST_CALLS, &exact.time));
    overhead_add(&exact);
    return EK_OK;
}

/* What an application calls. The library itself uses the batched form, for every shape. */
static ek_status find_gemm(gpu *g)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12"};
    void *library = NULL;
    for (int i = 0; i < 2 && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
    if (library)
        *(void **)&g->gemm_ex = dlsym(library, "cublasGemmEx");
    return g->gemm_ex ? EK_OK : ek_fail(EK_UNSUPPORTED, "cublasGemmEx: not found in cuBLAS");
}

/* Numbers of ordinary size: with zeros a GPU draws less power and runs faster than at work. */
static void make_numbers(ek_dtype dtype, int64_t size, void *numbers)
{
    uint32_t random = 1;
    for (int64_t i = 0; i < size; i++) {
        random = random * 1664525 + 1013904223;
        float number = (float)random * 0x1p-31f - 1;
        if (dtype == EK_F64)
            ((double *)numbers)[i] = number;
        else if (dtype == EK_F32)
            ((float *)numbers)[i] = number;
        else
            memcpy((uint16_t *)numbers + i, (char *)&number + 2, 2); /* its upper half */
    }
}

static ek_status fill(gpu *g, void *matrix, ek_dtype dtype, const void *numbers)
{
    int64_t size = (int64_t)LARGEST * LARGEST;
    ek_device *cpu;
    EK_TRY(ek_device_open("cpu", &cpu));
    ek_array from = ek_array_view((void *)numbers, dtype, cpu, 1, &size);
    ek_array to = ek_array_view(matrix, dtype, g->device, 1, &size);
    ek_status status = ek_copy(g->queue, &to, &from);
    if (status == EK_OK)
        status = ek_queue_sync(g->queue);
    ek_device_close(cpu);
    return status;
}

static ek_status measure_dtype(gpu *g, ek_dtype dtype, double exact_bound)
{
    static const int64_t sides[] = {512, 1024, 4096, LARGEST};
    int64_t size = (int64_t)LARGEST * LARGEST;
    void *numbers = malloc((size_t)size * ek_dtype_size(dtype));
    if (!numbers)
        return ek_fail(EK_OUT_OF_MEMORY, "no host memory for a matrix");
    make_numbers(dtype, size, numbers);
    g->dtype = dtype;
    ek_status status = fill(g, g->x, dtype, numbers);
    if (status == EK_OK)
        status = fill(g, g->y, dtype, numbers);
    free(numbers);
    EK_TRY(status);
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        g->n = sides[i];
        EK_TRY(measure_size(g, ek_dtype_name(dtype), g->n >= 4096 ? exact_bound : 0));
    }
    return EK_OK;
}

static ek_status measure_gemm(gpu *g)
{
    EK_TRY(measure_dtype(g, EK_F32, 0.85));
    EK_TRY(measure_dtype(g, EK_F64, 0.85));
    return measure_dtype(g, EK_BF16, 0);
}

static ek_status measure_gpu(gpu *g)
{
    void **operands[] = {&g->x, &g->y, &g->out};
    EK_TRY(ek_event_open(g->device, &g->start));
    EK_TRY(ek_event_open(g->device, &g->end));
    for (int i = 0; i < 3; i++)
        EK_TRY(ek_alloc(g->queue, sizeof(double) * LARGEST * LARGEST, operands[i]));
    EK_TRY(ek_cublas_handle(g->queue, &g->handle));
    EK_TRY(find_gemm(g));
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
