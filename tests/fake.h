/* The fake CUDA driver seen by a test program: its entry points and what it tells about itself. */
#ifndef EK_TEST_FAKE_H
#define EK_TEST_FAKE_H

#include <cuda.h>

#include "einkorn/queue.h"
#include "fake_cuda/fake_cuda.h"

typedef struct fake_driver {
    __typeof__(ek_fake_calls) *calls;
    __typeof__(ek_fake_entry) *entry;
    __typeof__(ek_fake_context_failures) *context_failures;
    __typeof__(ek_fake_fail) *fail_call;
    __typeof__(ek_fake_alive) *alive;
    __typeof__(ek_fake_libraries) *libraries;
    __typeof__(ek_fake_last_launch) *last_launch;
    __typeof__(ek_fake_kernels) *kernels;
    __typeof__(ek_fake_kernels_of) *kernels_of;
    __typeof__(ek_fake_fail_any) *fail_any;
    __typeof__(ek_fake_meet) *meet;
    __typeof__(ek_fake_failed) *failed;
    __typeof__(ek_fake_break) *break_device;
    __typeof__(ek_fake_hold) *hold;
    __typeof__(ek_fake_late_uses) *late_uses;
    __typeof__(ek_fake_room) *room;
    __typeof__(cuInit) *init;
    __typeof__(cuDevicePrimaryCtxRetain) *retain;
    __typeof__(cuDevicePrimaryCtxRelease) *release;
    __typeof__(cuDevicePrimaryCtxGetState) *state;
    __typeof__(cuCtxPushCurrent) *push;
    __typeof__(cuCtxPopCurrent) *pop;
    __typeof__(cuCtxGetCurrent) *current;
    __typeof__(cuStreamCreate) *stream_create;
    __typeof__(cuStreamDestroy) *stream_destroy;
    __typeof__(cuStreamBeginCapture) *stream_begin_capture;
    __typeof__(cuStreamEndCapture) *stream_end_capture;
    __typeof__(cuGraphDestroy) *graph_destroy;
    __typeof__(cuMemHostAlloc) *host_alloc;
    __typeof__(cuMemFreeHost) *host_free;
} fake_driver;

extern fake_driver fake;

/* Opens tests/fake_cuda/libcuda.so.1 and the cuBLAS beside it in the current folder, where make
 * check runs. From then on the library's own dlopen("libcuda.so.1") finds it, because a library of
 * that name is there already. Returns 0, with a line on stderr, if they cannot be opened. */
int fake_open(void);

/* Its devices, unless a test wants another number. */
enum { FAKE_DEVICES = 2 };
extern const char *const fake_device_names[FAKE_DEVICES];

/* Makes a device's context current as an application does, or none for -1, and returns it. */
CUcontext fake_set_current(int device);

/* What is current in this thread. */
CUcontext fake_current(void);

/* A stream that an application made on a device. */
CUstream fake_stream(int device);

/* A queue that alone keeps its device, and uninitialised memory for n floats. */
ek_queue *fake_queue(const char *device);
float *fake_floats(ek_queue *queue, size_t n);

#endif
