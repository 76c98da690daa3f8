/* A program as all backends see it, and what a queue does while it records one. */
#ifndef EK_PROGRAM_H
#define EK_PROGRAM_H

#include <stdbool.h>

#include "backend.h"
#include "einkorn/program.h"
#include "error.h"

/* Memory of a program. */
typedef struct ek_program_block {
    struct ek_program_block *next;
    ek_block *block;
    bool used; /* at this point of the recording; else later calls may have it */
} ek_program_block;

/* A backend's own program struct begins with it. */
struct ek_program {
    ek_device *device;
    ek_program_block *blocks;
    ek_status failed; /* what left the recording incomplete; EK_OK: nothing */
    char failure[256];
};

/* Memory that stays with the program: a free block that is large enough, or a new one. */
ek_status ek_program_alloc(ek_program *program, size_t bytes, void **memory);

/* The same, but never memory that an earlier call of the recording writes to. */
ek_status ek_program_keep(ek_program *program, size_t bytes, void **memory);

/* Frees a block for what is recorded from here on. EK_UNSUPPORTED for any other memory. */
ek_status ek_program_free(ek_program *program, void *memory);

/* Calls `release` for each block and forgets it. */
void ek_program_release(ek_program *program, void (*release)(ek_program *program, ek_block *block));

/* The program that the queue records; null if it does not. */
static inline ek_program *ek_recording(const ek_queue *queue)
{
    return ek_queue_base_of(queue)->recording;
}

/* Notes that a call failed with the thread's message and may have been recorded in part. */
void ek_program_spoil(ek_program *program, ek_status status) __attribute__((cold));

/* Passes the status of a part of a call through; a failure spoils what is being recorded. */
static inline ek_status ek_recorded(const ek_queue *queue, ek_status status)
{
    if (EK_UNLIKELY(status != EK_OK && ek_recording(queue)))
        ek_program_spoil(ek_recording(queue), status);
    return status;
}

/* Refuses a call that a program cannot hold. */
static inline ek_status ek_check_not_recording(const char *call, const ek_queue *queue)
{
    if (EK_UNLIKELY(ek_recording(queue)))
        return ek_fail(EK_UNSUPPORTED, "%s: queue is recording: a program cannot hold this call",
                       call);
    return EK_OK;
}

/* Ends a recording without a program. */
void ek_record_drop(ek_queue *queue);

#endif
