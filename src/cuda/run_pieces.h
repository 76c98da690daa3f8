/* Copying many pieces by one launch. */
#ifndef EK_CUDA_RUN_PIECES_H
#define EK_CUDA_RUN_PIECES_H

#include "cuda/launch.h"
#include "cuda/pieces_args.h"
#include "pieces.h"

/* Copies pieces in units of that many bytes, by kernels of copy: one launch for EK_CUDA_PIECES,
 * unless they are very long. */
ek_status ek_cuda_copy_pieces(ek_queue *queue, const ek_cuda_kernels *kernels, int64_t unit,
                              int32_t count, const ek_piece *pieces);

#endif
