/* Copying many pieces at once: so many small arrays that a launch for each would cost more than
 * they do. */
#ifndef EK_CUDA_PIECES_CUH
#define EK_CUDA_PIECES_CUH

#include "cuda/elementwise.cuh"
#include "cuda/pieces_args.h"

/* The piece that a block works on: the last one that begins no later. */
EK_INLINE uint32_t ek_find_piece(const ek_cuda_pieces &pieces)
{
    uint32_t low = 0, high = pieces.count - 1;
    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        if (pieces.first[middle] <= blockIdx.x)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

template <int bytes> EK_INLINE void ek_copy_pieces(const ek_cuda_pieces &pieces)
{
    using unit = ek_raw<bytes>;
    constexpr int packs = EK_CUDA_PIECE_PACKS(bytes);
    uint32_t which = ek_find_piece(pieces);
    const ek_cuda_piece &piece = pieces.piece[which];
    uint32_t i = (blockIdx.x - pieces.first[which]) * EK_CUDA_PIECE_TILE(bytes) + threadIdx.x;
    uint32_t units = piece.units, length = piece.length.length;
    const unit *from = (const unit *)piece.from;
    unit *to = (unit *)piece.to;
    unit at[packs];
#pragma unroll
    for (int p = 0; p < packs; p++) {
        uint32_t e = i + p * EK_CUDA_THREADS, row = ek_divide(e, piece.length);
        if (e < units)
            at[p] = from[row * piece.from_row + (e - row * length)];
    }
#pragma unroll
    for (int p = 0; p < packs; p++) {
        uint32_t e = i + p * EK_CUDA_THREADS, row = ek_divide(e, piece.length);
        if (e < units)
            to[row * piece.to_row + (e - row * length)] = at[p];
    }
}

#endif
