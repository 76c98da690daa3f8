#include "model.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void check(ek_status status)
{
    if (status != EK_OK) {
        fprintf(stderr, "pipeline: %s: %s\n", ek_status_name(status), ek_error_message());
        exit(1);
    }
}

/* The next of a row of numbers in [-1, 1) (the generator is Steele and others' SplitMix64, 2014).
 */
static float next_weight(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (float)(int32_t)((z ^ (z >> 31)) >> 32) * 0x1p-31f;
}

void model_init(model *model, ek_queue *queue, int rows, int width, int layers)
{
    *model = (struct model){.rows = rows, .width = width, .layers = layers};
    int64_t shape[] = {layers, width, width};
    size_t count = (size_t)layers * (size_t)width * (size_t)width;
    float *host = malloc(count * sizeof *host);
    if (!host)
        abort();
    /* The variance that keeps the size of what goes through a rectifier (He and others, 2015):
     * 2 / width, and that of the numbers above is 1/3. */
    float scale = sqrtf(6.0f / (float)width);
    uint64_t state = 1;
    for (size_t i = 0; i < count; i++)
        host[i] = scale * next_weight(&state);

    ek_device *cpu;
    check(ek_device_open("cpu", &cpu));
    ek_array from = ek_array_view(host, EK_F32, cpu, 3, shape);
    check(ek_array_alloc(queue, EK_F32, 3, shape, &model->weights));
    check(ek_copy(queue, &model->weights, &from));
    check(ek_array_alloc(queue, EK_F32, 0, NULL, &model->scale));
    check(ek_fill(queue, &(float){1.0f / 256}, &model->scale));
    check(ek_queue_sync(queue));
    ek_device_close(cpu);
    free(host);
}

void model_free(model *model, ek_queue *queue)
{
    check(ek_array_free(queue, &model->weights));
    check(ek_array_free(queue, &model->scale));
}

void model_workspace_init(model_workspace *work, const model *model, ek_queue *queue)
{
    int64_t shape[] = {model->rows, model->width};
    for (int i = 0; i < 2; i++)
        check(ek_array_alloc(queue, EK_F32, 2, shape, &work->x[i]));
}

void model_workspace_free(model_workspace *work, ek_queue *queue)
{
    for (int i = 0; i < 2; i++)
        check(ek_array_free(queue, &work->x[i]));
}

void model_apply(const model *model, model_workspace *work, ek_queue *queue, const ek_array *pixels,
                 ek_array *labels)
{
    const ek_gemm_options plain = EK_GEMM_DEFAULTS;
    int64_t shape[] = {model->width, model->width};
    ek_array layer = model->weights, *in = &work->x[0], *out = &work->x[1];
    layer.ndim = 2;
    layer.shape = shape;
    layer.strides = NULL;
    check(ek_cast(queue, pixels, in));
    check(ek_mul(queue, in, &model->scale, in));
    for (int l = 0; l < model->layers; l++) {
        check(ek_gemm_exact(queue, &plain, in, &layer, out));
        check(ek_relu(queue, out, out));
        layer.byte_offset += (uint64_t)shape[0] * (uint64_t)shape[1] * sizeof(float);
        ek_array *next = in;
        in = out;
        out = next;
    }
    check(ek_argmax(queue, in, 1, false, labels));
}
