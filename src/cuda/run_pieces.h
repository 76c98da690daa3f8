/* Copying many pieces by one launch. */
#ifndef EK_CUDA_RUN_PIECES_H
#define EK_CUDA_RUN_PIECES_H

#include "cuda/launch.h"
#include "cuda/pieces_args.h"
#include "pieces.h"

/* Pieces on their way into a launch. */
struct ek_cuda_batch {
    ek_queue *queue;
    const ek_cuda_kernels *kernels; /* of copy */
    int64_t unit;                   /* bytes */
    uint32_t blocks;
    ek_cuda_pieces args;
};

/* Adds rows; launches what there is when it is full. */
ek_status ek_cuda_batch_add(ek_cuda_batch *batch, const ek_piece *piece);

/* Launches what is left. */
ek_status ek_cuda_batch_end(ek_cuda_batch *batch);

#endif
