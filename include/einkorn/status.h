/* Status codes and the text of the last failure.
 *
 * Every call that can fail returns an ek_status. A call that is refused has not touched its
 * outputs; after EK_OUT_OF_MEMORY, EK_DEVICE_ERROR and EK_ASYNC_ERROR they hold anything. */
#ifndef EINKORN_STATUS_H
#define EINKORN_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ek_status {
    EK_OK = 0,
    EK_INVALID_ARGUMENT, /* a null pointer, a negative count, an unknown name or parameter */
    EK_SHAPE_MISMATCH,   /* shapes that do not broadcast, or an output of the wrong shape */
    EK_DTYPE_MISMATCH,   /* operands of different dtypes, or a dtype the operation does not have */
    EK_DEVICE_MISMATCH,  /* an operand on another device than the queue's */
    EK_OVERLAP,          /* an output that shares memory with an input, or with itself */
    EK_UNSUPPORTED,      /* the operation has no kernel for this variant, or the build lacks it */
    EK_OUT_OF_MEMORY,    /* host or device memory ran out; the library stays usable */
    EK_NO_DEVICE,        /* no such device, no driver, or no GPU on this machine */
    EK_DEVICE_ERROR,     /* a driver or library call failed; the message names it */
    EK_ASYNC_ERROR,      /* earlier, asynchronous work of this queue or its device failed */
    EK_STATUS_COUNT
} ek_status;

/* The name of a status as it is written in this header, "EK_OK" for example; "EK_?" for a value
 * that is none of them. */
const char *ek_status_name(ek_status status);

/* One line that describes the last failure in the calling thread: operation, argument, value and
 * what is allowed. Empty before the first failure; a call that succeeds leaves it alone. The text
 * belongs to the thread and stays until its next failure. */
const char *ek_error_message(void);

#ifdef __cplusplus
}
#endif

/* Late errors. Work on CUDA fails after the call that gave it has returned. A later call of the
 * queue, or its ek_queue_sync, then returns EK_ASYNC_ERROR, and the message names the last
 * operation that the queue was given before: the one that failed or one that came after it. With
 * EK_SYNC_EACH_CALL (queue.h) it is the operation itself that returns it.
 *
 * CUDA gives up a device whose kernel did something illegal: every call that needs it returns
 * EK_ASYNC_ERROR from then on, in every queue of the process, and only a new process can use it
 * again. Any other failure (a launch that is refused, memory that runs out) is returned by the call
 * that failed and by no other. Errors that the application's own calls of CUDA left behind are
 * never returned here. */
#endif
