/* What the host and the kernels that copy many pieces agree on; read by C and by CUDA C. */
#ifndef EK_CUDA_PIECES_ARGS_H
#define EK_CUDA_PIECES_ARGS_H

#include "cuda/elementwise_args.h"

/* Pieces of a launch: kernels take them by value, and 4 kB is what every driver allows. */
#define EK_CUDA_PIECES 80

/* Kernels move units of 1, 2, 4, 8 or 16 bytes; a thread so many. */
#define EK_CUDA_PIECE_KERNELS 5
#define EK_CUDA_PIECE_PACKS(unit) ((unit) < 16 ? 8 : 4)
#define EK_CUDA_PIECE_TILE(unit) (EK_CUDA_THREADS * EK_CUDA_PIECE_PACKS(unit))

/* Rows of units, counted through from the first to the last. */
typedef struct ek_cuda_piece {
    const void *from;
    void *to;
    int64_t from_row, to_row; /* from row to row, in units */
    ek_cuda_length length;    /* of a row */
    uint32_t units;           /* of all rows, below 2^31 by more than a tile */
} ek_cuda_piece;

typedef struct ek_cuda_pieces {
    uint32_t count;
    uint32_t first[EK_CUDA_PIECES]; /* the block that begins a piece */
    ek_cuda_piece piece[EK_CUDA_PIECES];
} ek_cuda_pieces;

#endif
