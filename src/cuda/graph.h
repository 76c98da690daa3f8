/* Recording on CUDA: the queue's stream is captured into a graph. */
#ifndef EK_CUDA_GRAPH_H
#define EK_CUDA_GRAPH_H

#include "cuda/device.h"
#include "program.h"

/* The parts of ek_cuda_backend; src/backend.h says what each does. */

ek_status ek_cuda_record_begin(ek_queue *queue, ek_program **program);
ek_status ek_cuda_record_end(ek_queue *queue, ek_program *program);
ek_status ek_cuda_program_take(ek_program *program, size_t bytes, ek_block **block);
ek_status ek_cuda_program_run(ek_queue *queue, const ek_program *program);
void ek_cuda_program_close(ek_program *program);

#endif
