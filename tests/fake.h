/* The fake CUDA driver seen by a test program: its entry points and what it tells about itself. */
#ifndef EK_TEST_FAKE_H
#define EK_TEST_FAKE_H

#include <cuda.h>

#include "fake_cuda/fake_cuda.h"

typedef struct fake_driver {
    __typeof__(ek_fake_calls) *calls;
    __typeof__(ek_fake_context_failures) *context_failures;
    __typeof__(ek_fake_fail) *fail_call;
    __typeof__(ek_fake_alive) *alive;
    __typeof__(ek_fake_libraries) *libraries;
    __typeof__(ek_fake_last_launch) *last_launch;
    __typeof__(ek_fake_kernels) *kernels;
    __typeof__(cuInit) *init;
    __typeof__(cuDevicePrimaryCtxRetain) *retain;
    __typeof__(cuDevicePrimaryCtxRelease) *release;
    __typeof__(cuCtxPushCurrent) *push;
    __typeof__(cuCtxPopCurrent) *pop;
    __typeof__(cuCtxGetCurrent) *current;
    __typeof__(cuStreamCreate) *stream_create;
    __typeof__(cuStreamDestroy) *stream_destroy;
    __typeof__(cuStreamBeginCapture) *stream_begin_capture;
    __typeof__(cuStreamEndCapture) *stream_end_capture;
    __typeof__(cuMemHostAlloc) *host_alloc;
    __typeof__(cuMemFreeHost) *host_free;
} fake_driver;

extern fake_driver fake;

/* Opens tests/fake_cuda/libcuda.so.1 in the current folder, where make check runs. From then on the
 * library's own dlopen("libcuda.so.1") finds it, because a library of that name is there already.
 * Returns 0, with a line on stderr, if it cannot be opened. */
int fake_open(void);

#endif
