/* The CUDA driver, opened at run time: nothing of CUDA is linked, so a program starts where there
 * is none of it. */
#ifndef EK_CUDA_DRIVER_H
#define EK_CUDA_DRIVER_H

#include <cuda.h>

#include "error.h"

#if CUDA_VERSION < 12000
#    error "CUDA 12.0 or later is needed"
#endif

/* The entry points used. cuda.h's macros give a field and the symbol it is looked up by the version
 * that its type has (cuCtxPushCurrent_v2). Constant once ek_cuda_devices has returned, but for a
 * fork: see driver.c. */
typedef struct ek_cuda_table {
    __typeof__(cuInit) *cuInit;
    __typeof__(cuGetErrorString) *cuGetErrorString;
    __typeof__(cuDeviceGet) *cuDeviceGet;
    __typeof__(cuDeviceGetCount) *cuDeviceGetCount;
    __typeof__(cuDeviceGetName) *cuDeviceGetName;
    __typeof__(cuDeviceGetAttribute) *cuDeviceGetAttribute;
    __typeof__(cuDeviceCanAccessPeer) *cuDeviceCanAccessPeer;
    __typeof__(cuDevicePrimaryCtxRetain) *cuDevicePrimaryCtxRetain;
    __typeof__(cuDevicePrimaryCtxRelease) *cuDevicePrimaryCtxRelease;
    __typeof__(cuCtxGetCurrent) *cuCtxGetCurrent;
    __typeof__(cuCtxPushCurrent) *cuCtxPushCurrent;
    __typeof__(cuCtxPopCurrent) *cuCtxPopCurrent;
    __typeof__(cuCtxSynchronize) *cuCtxSynchronize;
    __typeof__(cuMemPoolCreate) *cuMemPoolCreate;
    __typeof__(cuMemPoolDestroy) *cuMemPoolDestroy;
    __typeof__(cuMemPoolSetAttribute) *cuMemPoolSetAttribute;
    __typeof__(cuMemPoolGetAttribute) *cuMemPoolGetAttribute;
    __typeof__(cuMemPoolTrimTo) *cuMemPoolTrimTo;
    __typeof__(cuMemAllocFromPoolAsync) *cuMemAllocFromPoolAsync;
    __typeof__(cuMemFreeAsync) *cuMemFreeAsync;
    __typeof__(cuMemHostAlloc) *cuMemHostAlloc;
    __typeof__(cuMemFreeHost) *cuMemFreeHost;
    __typeof__(cuMemsetD8Async) *cuMemsetD8Async;
    __typeof__(cuMemcpyAsync) *cuMemcpyAsync;
    __typeof__(cuMemcpy2DAsync) *cuMemcpy2DAsync;
    __typeof__(cuMemcpyPeerAsync) *cuMemcpyPeerAsync;
    __typeof__(cuPointerGetAttribute) *cuPointerGetAttribute;
    __typeof__(cuStreamCreate) *cuStreamCreate;
    __typeof__(cuStreamDestroy) *cuStreamDestroy;
    __typeof__(cuStreamGetCtx) *cuStreamGetCtx;
    __typeof__(cuStreamIsCapturing) *cuStreamIsCapturing;
    __typeof__(cuStreamQuery) *cuStreamQuery;
    __typeof__(cuStreamSynchronize) *cuStreamSynchronize;
    __typeof__(cuStreamWaitEvent) *cuStreamWaitEvent;
    __typeof__(cuEventCreate) *cuEventCreate;
    __typeof__(cuEventDestroy) *cuEventDestroy;
    __typeof__(cuEventRecord) *cuEventRecord;
    __typeof__(cuEventSynchronize) *cuEventSynchronize;
    __typeof__(cuEventQuery) *cuEventQuery;
    __typeof__(cuEventElapsedTime) *cuEventElapsedTime;
    __typeof__(cuStreamBeginCapture) *cuStreamBeginCapture;
    __typeof__(cuStreamEndCapture) *cuStreamEndCapture;
    __typeof__(cuGraphInstantiate) *cuGraphInstantiate;
    __typeof__(cuGraphLaunch) *cuGraphLaunch;
    __typeof__(cuGraphDestroy) *cuGraphDestroy;
    __typeof__(cuGraphExecDestroy) *cuGraphExecDestroy;
    __typeof__(cuLibraryLoadData) *cuLibraryLoadData;
    __typeof__(cuLibraryUnload) *cuLibraryUnload;
    __typeof__(cuLibraryGetKernel) *cuLibraryGetKernel;
    __typeof__(cuKernelSetAttribute) *cuKernelSetAttribute;
    __typeof__(cuLaunchKernel) *cuLaunchKernel;
    __typeof__(cuLaunchKernelEx) *cuLaunchKernelEx;
} ek_cuda_table;

extern ek_cuda_table ek_cu;

/* The GPUs of this machine. Opens the driver on the first call; where there is none that works the
 * answer is 0, and *reason, unless `reason` is null, says why. */
int32_t ek_cuda_devices(const char **reason);

/* Fails with what the driver says of `result`, which `entry` returned: "ek_alloc: cuMem...: out of
 * memory". Failures of earlier work, which any entry may return, are named asynchronous. */
ek_status ek_cuda_fail(const char *call, const char *entry, CUresult result) __attribute__((cold));

/* The same where it is known what the device was given last ("add"; null: it is not). */
ek_status ek_cuda_fail_after(const char *given, const char *call, const char *entry,
                             CUresult result) __attribute__((cold));

/* The same if the work of that operation has just failed: "ek_add: an illegal ...". */
ek_status ek_cuda_fail_in(const char *op, CUresult result) __attribute__((cold));

/* Returns from the calling function with the failure of a driver entry. */
#define EK_CUDA_TRY(call, entry, args)                                                             \
    do {                                                                                           \
        CUresult ek_try_result = ek_cu.entry args;                                                 \
        if (EK_UNLIKELY(ek_try_result != CUDA_SUCCESS))                                            \
            return ek_cuda_fail(call, #entry, ek_try_result);                                      \
    } while (0)

#endif
