#include "cpu/record.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/memory.h"
#include "cpu/run_elementwise.h"

typedef struct call {
    struct call *next;
    ek_cpu_run_fn *run;
    const void *kernels;
    _Alignas(16) char what[];
} call;

typedef struct cpu_program {
    ek_program base;
    call *first;
    call **end; /* where the next call goes */
} cpu_program;

ek_status ek_cpu_record_begin(ek_queue *queue, ek_program **program)
{
    cpu_program *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return ek_fail(EK_OUT_OF_MEMORY, "ek_record_begin: no host memory");
    fresh->end = &fresh->first;
    ek_queue_base_of(queue)->at_once = -1;
    *program = &fresh->base;
    return EK_OK;
}

ek_status ek_cpu_record_end(ek_queue *queue, ek_program *program)
{
    (void)program;
    ek_queue_base_of(queue)->at_once = EK_SMALL;
    return EK_OK;
}

ek_status ek_cpu_program_take(ek_program *program, size_t bytes, ek_block **block)
{
    return ek_stock_take(program->device, NULL, bytes, block);
}

ek_status ek_cpu_record(ek_queue *queue, ek_cpu_run_fn *run, const void *kernels, const void *what,
                        size_t bytes)
{
    cpu_program *program = (cpu_program *)ek_recording(queue);
    call *fresh = malloc(sizeof *fresh + bytes);
    if (!fresh)
        return ek_recorded(queue, ek_fail(EK_OUT_OF_MEMORY, "no host memory for a recorded call"));
    fresh->next = NULL;
    fresh->run = run;
    fresh->kernels = kernels;
    memcpy(fresh->what, what, bytes);
    *program->end = fresh;
    program->end = &fresh->next;
    return EK_OK;
}

ek_status ek_cpu_program_run(ek_queue *queue, const ek_program *program)
{
    for (const call *call = ((const cpu_program *)program)->first; call; call = call->next)
        EK_TRY(call->run(queue, call->kernels, call->what));
    return EK_OK;
}

static void release(ek_program *program, ek_block *block)
{
    ek_cpu_give(program->device, block);
}

void ek_cpu_program_close(ek_program *program)
{
    cpu_program *cpu = (cpu_program *)program;
    while (cpu->first) {
        call *next = cpu->first->next;
        free(cpu->first);
        cpu->first = next;
    }
    ek_program_release(program, release);
    free(cpu);
}
