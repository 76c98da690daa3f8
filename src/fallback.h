/* The side of a queue on which operations run that its device has no kernels for. */
#ifndef EK_FALLBACK_H
#define EK_FALLBACK_H

#include "backend.h"
#include "einkorn/table.h"

typedef struct ek_fallback {
    ek_queue *host; /* of the CPU; null unless the option was set */
    int64_t count;
    void (*announce)(void *context, const char *operation);
    void *context;
    const ek_op_info **announced;
    size_t announced_count;
} ek_fallback;

/* Opens what fallbacks of the queue need: here, since no call may read the environment. */
ek_status ek_fallback_prepare(ek_queue *queue);

/* Announces an operation, unless it was before, and counts. */
ek_status ek_fallback_note(ek_queue *queue, const ek_op_info *op);

/* A null pointer is allowed. */
void ek_fallback_free(ek_fallback *fallback);

#endif
