#include "fake.h"

#include <check.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "einkorn/memory.h"

#define SYMBOL_(entry) #entry
#define SYMBOL(entry) SYMBOL_(entry)
#define ENTRY(field, entry)                                                                        \
    {                                                                                              \
        SYMBOL(entry), offsetof(fake_driver, field)                                                \
    }

static const struct {
    const char *symbol;
    size_t offset;
} entries[] = {
    ENTRY(calls, ek_fake_calls),
    ENTRY(entry, ek_fake_entry),
    ENTRY(context_failures, ek_fake_context_failures),
    ENTRY(fail_call, ek_fake_fail),
    ENTRY(alive, ek_fake_alive),
    ENTRY(libraries, ek_fake_libraries),
    ENTRY(last_launch, ek_fake_last_launch),
    ENTRY(kernels, ek_fake_kernels),
    ENTRY(kernels_of, ek_fake_kernels_of),
    ENTRY(fail_any, ek_fake_fail_any),
    ENTRY(meet, ek_fake_meet),
    ENTRY(failed, ek_fake_failed),
    ENTRY(break_device, ek_fake_break),
    ENTRY(hold, ek_fake_hold),
    ENTRY(late_uses, ek_fake_late_uses),
    ENTRY(room, ek_fake_room),
    ENTRY(init, cuInit),
    ENTRY(retain, cuDevicePrimaryCtxRetain),
    ENTRY(release, cuDevicePrimaryCtxRelease),
    ENTRY(state, cuDevicePrimaryCtxGetState),
    ENTRY(push, cuCtxPushCurrent),
    ENTRY(pop, cuCtxPopCurrent),
    ENTRY(current, cuCtxGetCurrent),
    ENTRY(stream_create, cuStreamCreate),
    ENTRY(stream_destroy, cuStreamDestroy),
    ENTRY(stream_begin_capture, cuStreamBeginCapture),
    ENTRY(stream_end_capture, cuStreamEndCapture),
    ENTRY(graph_destroy, cuGraphDestroy),
    ENTRY(host_alloc, cuMemHostAlloc),
    ENTRY(host_free, cuMemFreeHost),
};

fake_driver fake;

const char *const fake_device_names[FAKE_DEVICES] = {"cuda:0", "cuda:1"};

int fake_open(void)
{
    void *library = dlopen("tests/fake_cuda/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library || !dlopen("tests/fake_cuda/libcublas.so", RTLD_NOW | RTLD_LOCAL)) {
        fprintf(stderr, "%s (run it in the build folder)\n", dlerror());
        return 0;
    }
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        void *entry = dlsym(library, entries[i].symbol);
        memcpy((char *)&fake + entries[i].offset, &entry, sizeof entry);
    }
    return 1;
}

CUcontext fake_set_current(int device)
{
    CUcontext context = NULL;
    fake.init(0);
    if (device >= 0) {
        ck_assert_int_eq(fake.retain(&context, device), CUDA_SUCCESS);
        ck_assert_int_eq(fake.push(context), CUDA_SUCCESS);
    }
    return context;
}

CUcontext fake_current(void)
{
    CUcontext context = NULL;
    fake.current(&context);
    return context;
}

CUstream fake_stream(int device)
{
    CUcontext popped;
    CUstream stream = NULL;
    fake_set_current(device);
    ck_assert_int_eq(fake.stream_create(&stream, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    fake.pop(&popped);
    return stream;
}

ek_queue *fake_queue(const char *name)
{
    ek_device *device = NULL;
    ek_queue *queue = NULL;
    ck_assert_msg(ek_device_open(name, &device) == EK_OK, "%s", ek_error_message());
    ck_assert_msg(ek_queue_open(device, &queue) == EK_OK, "%s", ek_error_message());
    ek_device_close(device);
    return queue;
}

float *fake_floats(ek_queue *queue, size_t n)
{
    void *memory = NULL;
    ck_assert_msg(ek_alloc(queue, n * sizeof(float), &memory) == EK_OK, "%s", ek_error_message());
    return memory;
}
