/* What the host and the kernels that only move elements agree on; read by C and by CUDA C. */
#ifndef EK_CUDA_MOVE_ARGS_H
#define EK_CUDA_MOVE_ARGS_H

#include "cuda/elementwise_args.h"

/* Packs of 16 bytes a thread slides. */
#define EK_CUDA_SLIDE_PACKS 2

/* A thread turns 64 bytes, in packs of so many elements that as many of them are a square. */
#define EK_CUDA_TURN_BYTES(size) ((size) <= 2 ? 8 : 16)
#define EK_CUDA_TURN_PACKS(size) (64 / EK_CUDA_TURN_BYTES(size))

/* Blocks that must fit a multiprocessor, to bound the registers. */
#define EK_CUDA_SLIDE_BLOCKS(size) ((size) <= 2 ? 6 : 8)
#define EK_CUDA_TURN_BLOCKS 6

#endif
