#include "plugin.h"

#include "einkorn/array.h"
#include "einkorn/memory.h"
#include "einkorn/ops/gemm.h"
#include "error.h"

static ek_status multiply(const char *name, float *result)
{
    float host[3] = {2, 3, 0}, *x;
    int64_t three[] = {3};
    ek_gemm_shape shape = ek_gemm_plain_shape(1, 1, 1);
    ek_device *device, *cpu;
    ek_queue *queue;
    EK_TRY(ek_device_open(name, &device));
    EK_TRY(ek_device_open("cpu", &cpu));
    EK_TRY(ek_queue_open(device, &queue));
    EK_TRY(ek_alloc(queue, sizeof host, (void **)&x));
    ek_array here = ek_array_view(host, EK_F32, cpu, 1, three);
    ek_array there = ek_array_view(x, EK_F32, device, 1, three);
    EK_TRY(ek_copy(queue, &there, &here));
    EK_TRY(ek_gemm_f32(queue, &shape, 1, x, x + 1, 0, x + 2));
    EK_TRY(ek_copy(queue, &here, &there));
    *result = host[2];
    return EK_OK;
}

float plugin_product(const char *device)
{
    float result = -1;
    multiply(device, &result);
    return result;
}
