#include "program.h"

#include <stdio.h>
#include <stdlib.h>

#include "entry.h"

/* The smallest free block that is large enough. */
static ek_program_block *find_free(const ek_program *program, size_t bytes)
{
    ek_program_block *best = NULL;
    for (ek_program_block *block = program->blocks; block; block = block->next) {
        if (!block->used && block->block->bytes >= bytes &&
            (!best || block->block->bytes < best->block->bytes))
            best = block;
    }
    return best;
}

ek_status ek_program_keep(ek_program *program, size_t bytes, void **memory)
{
    ek_stock *stock = &program->device->stock;
    size_t quantum = (size_t)1 << stock->log_quantum, size = (bytes + quantum - 1) & ~(quantum - 1);
    ek_program_block *block = malloc(sizeof *block);
    if (!block)
        return ek_fail(EK_OUT_OF_MEMORY, "ek_alloc: no host memory");
    ek_status status = program->device->backend->program_take(program, size, &block->block);
    if (status != EK_OK) {
        free(block);
        return status;
    }
    ek_stock_count_program(stock, (int64_t)block->block->bytes);
    block->block->state = EK_BLOCK_OF_PROGRAM;
    block->block->owner = NULL;
    block->used = true;
    block->next = program->blocks;
    program->blocks = block;
    *memory = block->block->memory;
    return EK_OK;
}

ek_status ek_program_alloc(ek_program *program, size_t bytes, void **memory)
{
    ek_program_block *block = find_free(program, bytes);
    if (!block)
        return ek_program_keep(program, bytes, memory);
    block->used = true;
    *memory = block->block->memory;
    return EK_OK;
}

ek_status ek_program_free(ek_program *program, void *memory)
{
    ek_program_block *block = program->blocks;
    while (block && !(block->used && block->block->memory == memory))
        block = block->next;
    if (!block)
        return ek_fail(EK_UNSUPPORTED,
                       "ek_free: memory is %p, from before the recording: a program can free only "
                       "what was allocated while it was recorded",
                       memory);
    block->used = false;
    return EK_OK;
}

void ek_program_release(ek_program *program, void (*release)(ek_program *program, ek_block *block))
{
    while (program->blocks) {
        ek_program_block *block = program->blocks;
        program->blocks = block->next;
        ek_stock_count_program(&program->device->stock, -(int64_t)block->block->bytes);
        release(program, block->block);
        free(block);
    }
}

void ek_program_spoil(ek_program *program, ek_status status)
{
    if (program->failed != EK_OK)
        return;
    program->failed = status;
    snprintf(program->failure, sizeof program->failure, "%s", ek_error_message());
}

ek_status ek_record_begin(ek_queue *queue)
{
    EK_ENTRY(queue, "ek_record_begin");
    if (!queue)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_record_begin: queue is null");
    ek_queue_base *base = ek_queue_base_of(queue);
    if (base->recording)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_record_begin: queue is recording already");
    ek_program *program = NULL;
    EK_TRY(base->device->backend->record_begin(queue, &program));
    program->device = base->device;
    ek_device_retain(program->device);
    base->recording = program;
    return EK_OK;
}

/* Stops recording. What the backend makes of it is in *program, a program without calls if that
 * fails. */
static ek_status end(ek_queue *queue, ek_program **program)
{
    ek_queue_base *base = ek_queue_base_of(queue);
    *program = base->recording;
    base->recording = NULL;
    ek_status status = base->device->backend->record_end(queue, *program);
    if ((*program)->failed != EK_OK)
        return ek_fail((*program)->failed, "ek_record_end: a call was not recorded whole: %s",
                       (*program)->failure);
    return status;
}

ek_status ek_record_end(ek_queue *queue, ek_program **program)
{
    EK_ENTRY(queue, "ek_record_end");
    if (!queue || !program)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_record_end: %s is null",
                       queue ? "program" : "queue");
    if (!ek_recording(queue))
        return ek_fail(EK_INVALID_ARGUMENT, "ek_record_end: queue is not recording");
    ek_program *made;
    ek_status status = end(queue, &made);
    if (status == EK_OK)
        *program = made;
    else
        ek_program_close(made);
    return status;
}

void ek_record_drop(ek_queue *queue)
{
    ek_program *program = ek_recording(queue);
    ek_queue_base_of(queue)->recording = NULL;
    if (program->failed == EK_OK)
        program->failed = EK_INVALID_ARGUMENT; /* so that nothing is made of it */
    program->device->backend->record_end(queue, program);
    ek_program_close(program);
}

ek_status ek_program_run(ek_queue *queue, const ek_program *program)
{
    EK_ENTRY(queue, "ek_program_run");
    if (!queue || !program)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_program_run: %s is null",
                       queue ? "program" : "queue");
    if (program->device != ek_queue_device(queue))
        return ek_fail(EK_DEVICE_MISMATCH, "ek_program_run: queue is of %s: the program is of %s",
                       ek_queue_device(queue)->name, program->device->name);
    EK_TRY(ek_check_not_recording("ek_program_run", queue));
    return program->device->backend->program_run(queue, program);
}

void ek_program_close(ek_program *program)
{
    if (!program)
        return;
    ek_device *device = program->device;
    device->backend->program_close(program);
    ek_device_close(device);
}
