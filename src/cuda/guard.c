#include "cuda/guard.h"

#include "cuda/device.h"

ek_status ek_cuda_guard_enter(const char *call, const ek_device *device, ek_cuda_guard *guard)
{
    CUcontext wanted = ek_cuda_device_of(device)->context, current = NULL;
    guard->pushed = false;
    EK_CUDA_TRY(call, cuCtxGetCurrent, (&current));
    if (current == wanted)
        return EK_OK;
    EK_CUDA_TRY(call, cuCtxPushCurrent, (wanted));
    guard->pushed = true;
    return EK_OK;
}

void ek_cuda_guard_leave(const ek_cuda_guard *guard)
{
    CUcontext popped;
    if (guard->pushed)
        ek_cu.cuCtxPopCurrent(&popped);
}
