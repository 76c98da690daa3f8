/* Recorded programs: a list of calls made ready once and run again and again, for less than the
 * calls cost one by one. On CUDA a program is a graph of the calls' kernels, on the CPU a list of
 * calls whose checks are done and whose kernels are chosen.
 *
 *     EK_TRY(ek_record_begin(queue));
 *     EK_TRY(ek_exp_f32(queue, n, x, t));
 *     EK_TRY(ek_add_f32(queue, n, t, y, out));
 *     EK_TRY(ek_record_end(queue, &program));
 *     for (...)
 *         EK_TRY(ek_program_run(queue, program));
 *     ek_program_close(program);
 *
 * Between begin and end the calls on the queue are checked as ever and recorded instead of
 * executed. A refused call returns its status at once and leaves the recording as it was. A call
 * that fails for another reason (no memory, a failing driver) may have been recorded in part, so
 * ek_record_end then fails with its status.
 *
 * A program holds addresses: every run reads and writes what is there when it runs. It holds the
 * values of what was passed by value (the value of a fill, alpha and beta of a product). The arrays
 * that it uses must be there for as long as it is run.
 *
 * While a queue records:
 *
 * - All operations are recorded, matrix products included.
 *
 * - ek_copy is recorded, also between pinned host memory and a GPU. One that involves pageable host
 *   memory and a GPU, or two GPUs, or that the host would rearrange for a GPU, is EK_UNSUPPORTED.
 *
 * - ek_alloc and ek_array_alloc give memory that belongs to the program: it is at the same place in
 *   every run, holds nothing in particular when one starts, and goes when the program is closed, so
 *   it is not to be freed after ek_record_end.
 *   ek_free and ek_array_free let later calls of the recording reuse such memory; of other memory
 *   they are EK_UNSUPPORTED.
 *
 * - ek_queue_sync, ek_event_record, ek_event_wait and ek_program_run are EK_UNSUPPORTED: they
 * belong around a run. ek_queue_close drops the recording.
 *
 * A program is used by one thread at a time, as a queue is, and may be handed from thread to thread
 * and outlive the queue that recorded it. */
#ifndef EINKORN_PROGRAM_H
#define EINKORN_PROGRAM_H

#include "einkorn/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ek_program ek_program;

/* Starts to record the queue's calls. EK_INVALID_ARGUMENT if it is recording already, which then
 * goes on; EK_UNSUPPORTED if its stream is one that the application captures itself. */
ek_status ek_record_begin(ek_queue *queue);

/* Stops recording and stores the program, which may be empty, in *program. After a failure the
 * queue does not record any more and there is no program; only null arguments leave the recording
 * as it is. EK_INVALID_ARGUMENT if the queue was not recording. */
ek_status ek_record_end(ek_queue *queue, ek_program **program);

/* Runs the program's calls in the queue's order. The queue may be any of the device on which the
 * program was recorded, else EK_DEVICE_MISMATCH. A program has room for one run at a time: on CUDA
 * one on another queue starts after the one before is done. On the CPU the queue's number of
 * threads counts. A run that fails may have done part of its work. */
ek_status ek_program_run(ek_queue *queue, const ek_program *program);

/* Closes the program; on CUDA its memory is given back when its runs are done, without waiting for
 * them here. A null pointer is allowed. */
void ek_program_close(ek_program *program);

#ifdef __cplusplus
}
#endif
#endif
