#include "fake.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

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
    ENTRY(context_failures, ek_fake_context_failures),
    ENTRY(fail_call, ek_fake_fail),
    ENTRY(alive, ek_fake_alive),
    ENTRY(libraries, ek_fake_libraries),
    ENTRY(last_launch, ek_fake_last_launch),
    ENTRY(kernels, ek_fake_kernels),
    ENTRY(init, cuInit),
    ENTRY(retain, cuDevicePrimaryCtxRetain),
    ENTRY(release, cuDevicePrimaryCtxRelease),
    ENTRY(push, cuCtxPushCurrent),
    ENTRY(pop, cuCtxPopCurrent),
    ENTRY(current, cuCtxGetCurrent),
    ENTRY(stream_create, cuStreamCreate),
    ENTRY(stream_destroy, cuStreamDestroy),
    ENTRY(stream_begin_capture, cuStreamBeginCapture),
    ENTRY(stream_end_capture, cuStreamEndCapture),
    ENTRY(host_alloc, cuMemHostAlloc),
    ENTRY(host_free, cuMemFreeHost),
};

fake_driver fake;

int fake_open(void)
{
    void *library = dlopen("tests/fake_cuda/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s (run it in the build folder)\n", dlerror());
        return 0;
    }
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        void *entry = dlsym(library, entries[i].symbol);
        memcpy((char *)&fake + entries[i].offset, &entry, sizeof entry);
    }
    return 1;
}
