#include "regression.h"

/* Passes a failure on to the caller, after what was allocated so far is freed. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        if ((status = (call)) != EK_OK)                                                            \
            goto done;                                                                             \
    } while (0)

ek_status regression_fit(ek_queue *queue, const ek_array *x, const ek_array *y, int steps,
                         float rate, ek_array *w)
{
    const ek_gemm_options plain = EK_GEMM_DEFAULTS;
    ek_gemm_options transposed = EK_GEMM_DEFAULTS;
    transposed.trans_a = EK_TRANSPOSE;
    float zero = 0, step = -rate / (float)x->shape[0];
    ek_array off = {0}, slope = {0}, scale = {0};
    ek_status status;
    TRY(ek_array_alloc(queue, EK_F32, 2, y->shape, &off));
    TRY(ek_array_alloc(queue, EK_F32, 2, w->shape, &slope));
    TRY(ek_array_alloc(queue, EK_F32, 0, NULL, &scale));
    TRY(ek_fill(queue, &step, &scale));
    TRY(ek_fill(queue, &zero, w));
    for (int i = 0; i < steps; i++) {
        TRY(ek_gemm_exact(queue, &plain, x, w, &off));
        TRY(ek_sigmoid(queue, &off, &off));
        TRY(ek_sub(queue, &off, y, &off));
        TRY(ek_gemm_exact(queue, &transposed, x, &off, &slope));
        TRY(ek_fma(queue, &slope, &scale, w, w));
    }
done:
    ek_array_free(queue, &off);
    ek_array_free(queue, &slope);
    ek_array_free(queue, &scale);
    return status;
}

ek_status regression_accuracy(ek_queue *queue, const ek_array *x, const ek_array *y,
                              const ek_array *w, double *share)
{
    const ek_gemm_options plain = EK_GEMM_DEFAULTS;
    float half = 0.5f, mean = 0;
    ek_array chance = {0}, threshold = {0}, above = {0}, positive = {0}, right = {0}, wanted = {0};
    ek_status status;
    TRY(ek_array_alloc(queue, EK_F32, 2, y->shape, &chance));
    TRY(ek_array_alloc(queue, EK_F32, 0, NULL, &threshold));
    TRY(ek_array_alloc(queue, EK_B8, 2, y->shape, &above));
    TRY(ek_array_alloc(queue, EK_B8, 2, y->shape, &positive));
    TRY(ek_array_alloc(queue, EK_F32, 2, y->shape, &right));
    TRY(ek_array_alloc(queue, EK_F32, 0, NULL, &wanted));
    TRY(ek_fill(queue, &half, &threshold));
    TRY(ek_gemm_exact(queue, &plain, x, w, &chance));
    TRY(ek_sigmoid(queue, &chance, &chance));
    TRY(ek_lt(queue, &threshold, &chance, &above));
    TRY(ek_lt(queue, &threshold, y, &positive));
    TRY(ek_eq(queue, &above, &positive, &above));
    TRY(ek_cast(queue, &above, &right));
    TRY(ek_mean(queue, &right, 0, NULL, false, &wanted));

    ek_device *cpu;
    TRY(ek_device_open("cpu", &cpu));
    ek_array host = ek_array_view(&mean, EK_F32, cpu, 0, NULL);
    status = ek_copy(queue, &host, &wanted);
    ek_device_close(cpu);
    TRY(status);
    TRY(ek_queue_sync(queue));
    *share = (double)mean;
done:
    ek_array_free(queue, &chance);
    ek_array_free(queue, &threshold);
    ek_array_free(queue, &above);
    ek_array_free(queue, &positive);
    ek_array_free(queue, &right);
    ek_array_free(queue, &wanted);
    return status;
}
