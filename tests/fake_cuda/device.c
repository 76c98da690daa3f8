#include "driver.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_DEPTH = 16 };

int fake_device_count = -1;

static struct CUctx_st contexts[MAX_DEVICES];
static int context_failures;
static _Thread_local CUcontext stack[MAX_DEPTH];
static _Thread_local int depth;

CUresult CUDAAPI cuInit(unsigned int flags)
{
    static char name[64];
    int n = 0, result = CUDA_ERROR_OUT_OF_MEMORY;
    const char *fail = getenv("EK_FAKE_FAIL"), *devices = getenv("EK_FAKE_DEVICES");
    if (fake_device_count < 0 && fail && sscanf(fail, "%63[^:]:%d:%d", name, &n, &result) >= 2)
        ek_fake_fail(name, n, result);
    ENTER("cuInit");
    REQUIRE(flags == 0, CUDA_ERROR_INVALID_VALUE);
    fake_process_begin();
    fake_device_count = devices ? atoi(devices) : 2;
    for (int i = 0; i < MAX_DEVICES; i++)
        contexts[i].device = i;
    return fake_device_count > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text)
{
    switch (error) {
    case CUDA_ERROR_OUT_OF_MEMORY:
        *text = "out of memory";
        return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_CONTEXT:
        *text = "invalid device context";
        return CUDA_SUCCESS;
    case CUDA_ERROR_LAUNCH_FAILED:
        *text = "unspecified launch failure";
        return CUDA_SUCCESS;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
        *text = "an illegal address";
        return CUDA_SUCCESS;
    case CUDA_ERROR_NO_DEVICE:
        *text = "no CUDA-capable device is detected";
        return CUDA_SUCCESS;
    default:
        *text = "another failure";
        return CUDA_SUCCESS;
    }
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    ENTER("cuDeviceGetCount");
    *count = fake_device_count;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int index)
{
    ENTER("cuDeviceGet");
    REQUIRE(index >= 0 && index < fake_device_count, CUDA_ERROR_INVALID_DEVICE);
    *device = index;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int size, CUdevice device)
{
    ENTER("cuDeviceGetName");
    snprintf(name, (size_t)size, "fake GPU %d", device);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    ENTER("cuDeviceGetAttribute");
    REQUIRE(device >= 0 && device < fake_device_count, CUDA_ERROR_INVALID_DEVICE);
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = 132;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
        *value = 1;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = 9;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES:
        *value = 0;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUcontext fake_current(void)
{
    return depth > 0 ? stack[depth - 1] : NULL;
}

bool fake_needs_context(CUcontext wanted)
{
    bool right =
        fake_current() && fake_current()->retained > 0 && (!wanted || fake_current() == wanted);
    if (!right) {
        pthread_mutex_lock(&fake_lock);
        context_failures++;
        pthread_mutex_unlock(&fake_lock);
    }
    return right;
}

void ek_fake_break(int device, int result)
{
    contexts[device].broken = (CUresult)result;
}

CUresult fake_released(CUresult injected, CUcontext context)
{
    return injected != CUDA_SUCCESS ? injected : context->broken;
}

int ek_fake_context_failures(void)
{
    return context_failures;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    ENTER("cuDevicePrimaryCtxRetain");
    REQUIRE(device >= 0 && device < fake_device_count, CUDA_ERROR_INVALID_DEVICE);
    pthread_mutex_lock(&fake_lock);
    contexts[device].retained++;
    pthread_mutex_unlock(&fake_lock);
    fake_change_alive(1);
    *context = &contexts[device];
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device)
{
    CUresult injected = fake_enter("cuDevicePrimaryCtxRelease");
    REQUIRE(device >= 0 && device < fake_device_count && contexts[device].retained > 0,
            CUDA_ERROR_INVALID_CONTEXT);
    pthread_mutex_lock(&fake_lock);
    contexts[device].retained--;
    pthread_mutex_unlock(&fake_lock);
    fake_change_alive(-1);
    return injected;
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
    ENTER("cuDevicePrimaryCtxGetState");
    REQUIRE(device >= 0 && device < fake_device_count, CUDA_ERROR_INVALID_DEVICE);
    *flags = 0;
    *active = contexts[device].retained > 0;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context)
{
    ENTER("cuCtxGetCurrent");
    *context = fake_current();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext context)
{
    ENTER("cuCtxPushCurrent");
    REQUIRE(context && context->retained > 0, CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE(depth < MAX_DEPTH, CUDA_ERROR_OUT_OF_MEMORY);
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext *context)
{
    CUresult injected = fake_enter("cuCtxPopCurrent");
    REQUIRE(depth > 0, CUDA_ERROR_INVALID_CONTEXT);
    *context = stack[--depth];
    return injected;
}
