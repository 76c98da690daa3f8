/* Recording on the CPU. What runs kernels (the files run_*.c) asks first if the queue records and
 * then leaves its arguments to the program instead of working on them: all checks are done by then,
 * and how the work is cut up is settled at each run, by the queue that runs it. */
#ifndef EK_CPU_RECORD_H
#define EK_CPU_RECORD_H

#include <stddef.h>

#include "program.h"

/* Does what a recorded call asks for. `kernels` lives as long as the process; `what` is the
 * program's own. */
typedef ek_status ek_cpu_run_fn(ek_queue *queue, const void *kernels, const void *what);

/* Adds a call to the program that the queue records, with a copy of the `bytes` bytes at `what`. */
ek_status ek_cpu_record(ek_queue *queue, ek_cpu_run_fn *run, const void *kernels, const void *what,
                        size_t bytes);

/* The parts of ek_cpu_backend; src/backend.h says what each does. */

ek_status ek_cpu_record_begin(ek_queue *queue, ek_program **program);
ek_status ek_cpu_record_end(ek_queue *queue, ek_program *program);
ek_status ek_cpu_program_take(ek_program *program, size_t bytes, ek_block **block);
ek_status ek_cpu_program_run(ek_queue *queue, const ek_program *program);
void ek_cpu_program_close(ek_program *program);

#endif
