/* Note [Device guards]
 *
 * The library never leaves another context current than it found. Most calls of the driver take
 * their context from the stream, the event or the pool they are given and need no guard: launches,
 * allocation from a pool and its opposite, recording and waiting. Those that make something in "the
 * current context" (streams, events), copies (see transfer.c) and cuBLAS stand between enter and
 * leave. What is current is asked of the driver each time: an application changes it without
 * telling us, so a remembered answer would be wrong one day. */
#ifndef EK_CUDA_GUARD_H
#define EK_CUDA_GUARD_H

#include <stdbool.h>

#include "backend.h"

typedef struct ek_cuda_guard {
    bool pushed;
} ek_cuda_guard;

/* Makes the device's context current, unless it is. `call` is for the message of a failure, after
 * which nothing is to be left. */
ek_status ek_cuda_guard_enter(const char *call, const ek_device *device, ek_cuda_guard *guard);

/* Gives the caller's current context back. */
void ek_cuda_guard_leave(const ek_cuda_guard *guard);

#endif
