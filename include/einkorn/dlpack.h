/* Exchange of arrays with other libraries through DLPack, ABI version 1: nothing is copied, and
 * each side learns when the other has done with the memory. A program that includes DLPack's own
 * header as well passes its structs as they are; this one needs nothing of it.
 *
 * What DLPack leaves open, the order of work on a GPU: the side that gives says nothing of a
 * stream, so the work that wrote the memory must be ordered before the work that reads it. Where
 * the other side names a stream, as Python's __dlpack__(stream=...) does, ek_queue_signal_stream
 * makes that stream wait for a queue, and ek_queue_wait_stream (queue.h) makes a queue wait for it.
 */
#ifndef EINKORN_DLPACK_H
#define EINKORN_DLPACK_H

#include "einkorn/array.h"

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensor;
struct DLManagedTensorVersioned;

/* What was taken from another library. */
typedef struct ek_dlpack {
    ek_array array; /* a view of the other library's memory; its shape and strides stay there too */
    int read_only;  /* 1: the other library forbids to write to it, though nothing here would stop
                       a call that does */
    void *tensor;   /* private: what to release, and how */
    int versioned;
} ek_dlpack;

/* Takes a tensor, in CPU, CUDA or pinned memory. On success it belongs to *taken until it is
 * released; a tensor that is refused is still the caller's. EK_DTYPE_MISMATCH if no dtype is its
 * type, EK_DEVICE_MISMATCH if its device is none of those, EK_UNSUPPORTED if its major version is
 * not 1, EK_INVALID_ARGUMENT for a null pointer or a shape that no array can have. The unversioned
 * form, which older libraries give, says nothing of writing. */
ek_status ek_dlpack_take(struct DLManagedTensorVersioned *tensor, ek_dlpack *taken);
ek_status ek_dlpack_take_unversioned(struct DLManagedTensor *tensor, ek_dlpack *taken);

/* Gives back what was taken, by its own deleter, once; and clears *taken, so that giving it back
 * again does nothing. The other library may reuse the memory at once, so work that uses it must be
 * done: if `queue` is not null, that of this queue is waited for here. Instead a stream of the
 * other library can be made to wait (ek_queue_signal_stream). The tensor is given back even if the
 * queue's work has failed, whose status is then returned. */
ek_status ek_dlpack_release(ek_queue *queue, ek_dlpack *taken);

/* Lends an array, on any device, whose memory stays the caller's. The tensor has a copy of shape
 * and strides, and its deleter, which the other side calls once, in any thread, calls
 * release(context). Where `read_only` is not 0 the other side is told not to write. */
ek_status ek_dlpack_lend(const ek_array *array, int read_only, void (*release)(void *context),
                         void *context, struct DLManagedTensorVersioned **tensor);
ek_status ek_dlpack_lend_unversioned(const ek_array *array, void (*release)(void *context),
                                     void *context, struct DLManagedTensor **tensor);

/* Gives an array of ek_array_alloc away with its memory, and clears *array. The deleter, which may
 * be called in any thread and after everything else of the device was closed, frees the memory. On
 * a GPU it waits until that is idle, since it cannot know on which streams the other side used the
 * memory; where that is too long, lend the array. `queue` is of the array's device. */
ek_status ek_dlpack_give(ek_queue *queue, ek_array *array,
                         struct DLManagedTensorVersioned **tensor);
ek_status ek_dlpack_give_unversioned(ek_queue *queue, ek_array *array,
                                     struct DLManagedTensor **tensor);

#ifdef __cplusplus
}
#endif
#endif
