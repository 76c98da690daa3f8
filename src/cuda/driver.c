/* Note [CUDA and fork]
 *
 * CUDA does not work in a child of a process that has used it, and says so only at some entries:
 * others crash, and some write to memory of the GPU that is still the parent's, which then hangs.
 * (Seen with driver 580: cuStreamDestroy; cuMemsetD8Async, cuGraphLaunch, cuEventRecord.) So none
 * of them may be called there. The child of a fork begins with a function of ours that puts a
 * refusal in the place of every entry. It takes no lock and the parent is not kept waiting; calls
 * before and after cost what they always do. */
#include "cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Two steps, so that a name that cuda.h defines as a macro is written as the symbol it stands for.
 */
#define SYMBOL_(entry) #entry
#define SYMBOL(entry) SYMBOL_(entry)
#define ENTRY(entry)                                                                               \
    {                                                                                              \
        SYMBOL(entry), offsetof(ek_cuda_table, entry)                                              \
    }

static const struct {
    const char *symbol;
    size_t offset;
} entries[] = {
    ENTRY(cuInit),
    ENTRY(cuGetErrorString),
    ENTRY(cuDeviceGet),
    ENTRY(cuDeviceGetCount),
    ENTRY(cuDeviceGetName),
    ENTRY(cuDeviceGetAttribute),
    ENTRY(cuDeviceCanAccessPeer),
    ENTRY(cuDevicePrimaryCtxRetain),
    ENTRY(cuDevicePrimaryCtxRelease),
    ENTRY(cuCtxGetCurrent),
    ENTRY(cuCtxPushCurrent),
    ENTRY(cuCtxPopCurrent),
    ENTRY(cuCtxSynchronize),
    ENTRY(cuMemPoolCreate),
    ENTRY(cuMemPoolDestroy),
    ENTRY(cuMemPoolSetAttribute),
    ENTRY(cuMemPoolGetAttribute),
    ENTRY(cuMemPoolTrimTo),
    ENTRY(cuMemAllocFromPoolAsync),
    ENTRY(cuMemFreeAsync),
    ENTRY(cuMemHostAlloc),
    ENTRY(cuMemFreeHost),
    ENTRY(cuMemsetD8Async),
    ENTRY(cuMemcpyAsync),
    ENTRY(cuMemcpy2DAsync),
    ENTRY(cuMemcpyPeerAsync),
    ENTRY(cuPointerGetAttribute),
    ENTRY(cuStreamCreate),
    ENTRY(cuStreamDestroy),
    ENTRY(cuStreamGetCtx),
    ENTRY(cuStreamIsCapturing),
    ENTRY(cuStreamQuery),
    ENTRY(cuStreamSynchronize),
    ENTRY(cuStreamWaitEvent),
    ENTRY(cuEventCreate),
    ENTRY(cuEventDestroy),
    ENTRY(cuEventRecord),
    ENTRY(cuEventSynchronize),
    ENTRY(cuEventQuery),
    ENTRY(cuEventElapsedTime),
    ENTRY(cuStreamBeginCapture),
    ENTRY(cuStreamEndCapture),
    ENTRY(cuGraphInstantiate),
    ENTRY(cuGraphLaunch),
    ENTRY(cuGraphDestroy),
    ENTRY(cuGraphExecDestroy),
    ENTRY(cuLibraryLoadData),
    ENTRY(cuLibraryUnload),
    ENTRY(cuLibraryGetKernel),
    ENTRY(cuKernelSetAttribute),
    ENTRY(cuLaunchKernel),
    ENTRY(cuLaunchKernelEx),
};

enum { ENTRIES = sizeof entries / sizeof entries[0] };

_Static_assert(sizeof(ek_cuda_table) == ENTRIES * sizeof(void *), "an entry is not looked up");

ek_cuda_table ek_cu;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int32_t device_count;
static bool lost; /* see Note [CUDA and fork] */
static char why_none[160];
static const char why_lost[] =
    "this process was forked from one that used CUDA, which works in the parent only";

static const char *error_text(CUresult result)
{
    const char *text = NULL;
    if (ek_cu.cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
        text = "unknown error";
    return text;
}

/* The entry of that symbol. Drivers of one major version take each other's programs, but the older
 * ones lack the newest "_v2" of entries that had none; its plain name has the same arguments. */
static void *look_up(void *library, const char *symbol)
{
    void *entry = dlsym(library, symbol);
    if (!entry && strcmp(symbol, "cuEventElapsedTime_v2") == 0)
        entry = dlsym(library, "cuEventElapsedTime");
    return entry;
}

/* Takes the place of every entry, whose arguments no calling convention we know lets it miss. */
static CUresult CUDAAPI refuse(void)
{
    return CUDA_ERROR_NOT_INITIALIZED;
}

static void lose_driver(void)
{
    CUresult(CUDAAPI * entry)(void) = refuse;
    for (int i = 0; i < ENTRIES; i++)
        memcpy((char *)&ek_cu + entries[i].offset, &entry, sizeof entry);
    lost = true;
}

static void open_driver(void)
{
    if (lost) /* the fork happened in the midst of this */
        return;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why_none, sizeof why_none, "no CUDA driver: libcuda.so.1 cannot be opened");
        return;
    }
    ek_cuda_table table;
    for (int i = 0; i < ENTRIES; i++) {
        void *entry = look_up(library, entries[i].symbol);
        if (!entry) {
            snprintf(why_none, sizeof why_none,
                     "the CUDA driver lacks %s: its version must be 12.0 or later",
                     entries[i].symbol);
            return;
        }
        memcpy((char *)&table + entries[i].offset, &entry, sizeof entry);
    }
    if (pthread_atfork(NULL, NULL, lose_driver) != 0) {
        snprintf(why_none, sizeof why_none, "no host memory to open the CUDA driver");
        return;
    }
    ek_cu = table;
    int count = 0;
    CUresult result = ek_cu.cuInit(0);
    if (result == CUDA_SUCCESS)
        result = ek_cu.cuDeviceGetCount(&count);
    if (result != CUDA_SUCCESS)
        snprintf(why_none, sizeof why_none, "the CUDA driver does not start: %s",
                 error_text(result));
    else if (count == 0)
        snprintf(why_none, sizeof why_none, "the CUDA driver sees no GPU");
    device_count = count;
}

int32_t ek_cuda_devices(const char **reason)
{
    pthread_once(&once, open_driver);
    if (reason)
        *reason = lost && device_count > 0 ? why_lost : why_none;
    return lost ? 0 : device_count;
}

/* What a driver result is to the caller of the library. */
static ek_status status_of(CUresult result)
{
    switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
        return EK_OUT_OF_MEMORY;
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        return EK_UNSUPPORTED;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ASSERT:
        return EK_ASYNC_ERROR;
    default:
        return EK_DEVICE_ERROR;
    }
}

ek_status ek_cuda_fail_after(const char *given, const char *call, const char *entry,
                             CUresult result)
{
    if (lost)
        return ek_fail(EK_NO_DEVICE, "%s: %s", call, why_lost);
    ek_status status = status_of(result);
    if (status != EK_ASYNC_ERROR)
        return ek_fail(status, "%s: %s: %s", call, entry, error_text(result));
    return ek_fail(status, "%s: earlier asynchronous work failed%s%s: %s (seen by %s)", call,
                   given ? " at or before ek_" : "", given ? given : "", error_text(result), entry);
}

ek_status ek_cuda_fail(const char *call, const char *entry, CUresult result)
{
    return ek_cuda_fail_after(NULL, call, entry, result);
}

ek_status ek_cuda_fail_in(const char *op, CUresult result)
{
    return ek_fail(EK_ASYNC_ERROR, "ek_%s: its work on the device failed: %s", op,
                   error_text(result));
}
