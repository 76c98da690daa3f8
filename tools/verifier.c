#include "verify.h"

#include <stdio.h>
#include <string.h>

#include "command.h"
#include "error.h"

static ek_status add_target(verifier *v, const char *device, ek_variant variant, int32_t threads)
{
    if (v->target_count == VERIFY_TARGETS || v->columns == VERIFY_COLUMNS)
        return ek_fail(EK_INVALID_ARGUMENT, "device is '%s': more devices than verify compares",
                       device);
    target *t = &v->targets[v->target_count];
    EK_TRY(command_open(device, &t->queue));
    v->target_count++;
    t->column = v->columns;
    if (variant == EK_CUDA)
        return EK_OK;
    EK_TRY(ek_queue_set_variant(t->queue, variant));
    return ek_queue_set_threads(t->queue, threads);
}

static void name_column(verifier *v, verify_column *columns)
{
    const target *last = &v->targets[v->target_count - 1];
    if (columns) {
        snprintf(columns[v->columns].device, sizeof columns->device, "%s",
                 ek_device_name(ek_queue_device(last->queue)));
        columns[v->columns].variant = (ek_variant)last->queue->variant;
    }
    v->columns++;
}

ek_status verifier_open(verifier *v, bool threaded, int device_count, char **devices,
                        verify_column *columns)
{
    memset(v, 0, sizeof *v);
    verifier_clear(v);
    for (int variant = EK_CPU_BASE; variant < EK_CUDA; variant++) {
        if (!ek_variant_available((ek_variant)variant))
            continue;
        EK_TRY(add_target(v, "cpu", (ek_variant)variant, 1));
        if (threaded)
            EK_TRY(add_target(v, "cpu", (ek_variant)variant, 2));
        name_column(v, columns);
    }
    for (int i = 0; i < device_count; i++) {
        EK_TRY(add_target(v, devices[i], EK_CUDA, 1));
        name_column(v, columns);
    }
    EK_TRY(command_open("cpu", &v->precise)); /* the fastest variant */
    return ek_queue_set_threads(v->precise, 1);
}

ek_status verifier_open_one(verifier *v)
{
    memset(v, 0, sizeof *v);
    verifier_clear(v);
    EK_TRY(command_open("cpu", &v->targets[0].queue));
    v->target_count = 1;
    return EK_OK;
}

bool verify_same_bits(const ek_op_info *op)
{
    return strcmp(op->bits, "same") == 0;
}

void verifier_close(verifier *v)
{
    for (int32_t i = 0; i < v->target_count; i++)
        ek_queue_close(v->targets[i].queue);
    ek_queue_close(v->precise);
    v->target_count = 0;
    v->precise = NULL;
}

void verifier_clear(verifier *v)
{
    memset(v->results, 0, sizeof v->results);
    v->error = (error_found){.ulp = -1};
    v->hash = 0;
}

void verifier_merge(verifier *to, const verifier *from)
{
    for (int32_t i = 0; i < from->columns; i++) {
        const result *r = &from->results[i];
        to->results[i].compared += r->compared;
        to->results[i].differing += r->differing;
        if (r->described && !to->results[i].described) {
            to->results[i].described = true;
            memcpy(to->results[i].difference, r->difference, sizeof r->difference);
        }
    }
    if (from->error.ulp > to->error.ulp)
        to->error = from->error;
}
