/* What the host and the kernels of grids agree on; read by C and by CUDA C. */
#ifndef EK_CUDA_GRID_ARGS_H
#define EK_CUDA_GRID_ARGS_H

#include "cuda/elementwise_args.h"

/* Packs of neighbouring elements a thread computes. */
#define EK_CUDA_GRID_PACKS 2

#endif
