#include "fallback.h"

#include <stdlib.h>

#include "einkorn/fallback.h"
#include "error.h"

static ek_status no_memory(const char *call)
{
    return ek_fail(EK_OUT_OF_MEMORY, "%s: no host memory", call);
}

/* The queue's, made on the first call. */
static ek_status get(const char *call, ek_queue *queue, ek_fallback **fallback)
{
    ek_queue_base *base = ek_queue_base_of(queue);
    if (!base->fallback)
        base->fallback = calloc(1, sizeof *base->fallback);
    *fallback = base->fallback;
    return *fallback ? EK_OK : no_memory(call);
}

ek_status ek_fallback_prepare(ek_queue *queue)
{
    ek_fallback *fallback;
    ek_device *cpu;
    EK_TRY(get("ek_queue_set_options", queue, &fallback));
    if (fallback->host)
        return EK_OK;
    EK_TRY(ek_device_open("cpu", &cpu));
    ek_status status = ek_queue_open(cpu, &fallback->host);
    ek_device_close(cpu);
    return status;
}

ek_status ek_fallback_note(ek_queue *queue, const ek_op_info *op)
{
    ek_fallback *fallback = ek_queue_base_of(queue)->fallback;
    size_t known = 0;
    fallback->count++;
    if (!fallback->announce)
        return EK_OK;
    while (known < fallback->announced_count && fallback->announced[known] != op)
        known++;
    if (known < fallback->announced_count)
        return EK_OK;
    const ek_op_info **grown =
        realloc(fallback->announced, (known + 1) * sizeof *fallback->announced);
    if (!grown)
        return no_memory(op->call);
    grown[known] = op;
    fallback->announced = grown;
    fallback->announced_count = known + 1;
    fallback->announce(fallback->context, op->name);
    return EK_OK;
}

void ek_fallback_free(ek_fallback *fallback)
{
    if (!fallback)
        return;
    ek_queue_close(fallback->host);
    free(fallback->announced);
    free(fallback);
}

int64_t ek_fallback_count(const ek_queue *queue)
{
    const ek_fallback *fallback = ek_queue_base_of(queue)->fallback;
    return fallback ? fallback->count : 0;
}

ek_status ek_fallback_announce(ek_queue *queue,
                               void (*announce)(void *context, const char *operation),
                               void *context)
{
    ek_fallback *fallback;
    if (!queue)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_fallback_announce: queue is null");
    EK_TRY(get("ek_fallback_announce", queue, &fallback));
    fallback->announce = announce;
    fallback->context = context;
    fallback->announced_count = 0;
    return EK_OK;
}
