/* Kernels of grids. Op::at gives an element of its last two indices, and of an input's if there is
 * one. The walk's operands are the output, the input and the indices (src/grid.h). */
#ifndef EK_CUDA_GRID_CUH
#define EK_CUDA_GRID_CUH

#include "cuda/elementwise.cuh"
#include "cuda/grid_args.h"

template <typename Op, typename T, bool reads> struct ek_grid_kernel {
    static constexpr int width = EK_CUDA_WIDTH(sizeof(T)), packs = EK_CUDA_GRID_PACKS;
    static constexpr int row = 1 + reads, column = row + 1;
    using pack = ek_pack<T, width>;

    /* Where a thread is. */
    T *out;
    const T *x;
    int64_t step, x_step, i, j, i_step, j_step;

    EK_MEMBER T element(const Op &op, int64_t e, T of) const
    {
        if constexpr (reads)
            return op.at(i + e * i_step, j + e * j_step, of);
        else
            return op.at(i + e * i_step, j + e * j_step);
    }

    EK_MEMBER pack load(int64_t first, int64_t n) const
    {
        pack in = {};
        if (x_step == 1 && first >= 0 && first + width <= n &&
            (uintptr_t)(x + first) % sizeof(pack) == 0)
            return *(const pack *)(x + first);
#pragma unroll
        for (int e = 0; e < width; e++)
            if ((uint64_t)(first + e) < (uint64_t)n)
                in.at[e] = x[(first + e) * x_step];
        return in;
    }

    EK_MEMBER void store(int64_t first, int64_t n, const pack &result) const
    {
        if (step == 1 && first >= 0 && first + width <= n &&
            (uintptr_t)(out + first) % sizeof(pack) == 0) {
            ek_store(out + first, result);
            return;
        }
#pragma unroll
        for (int e = 0; e < width; e++)
            if ((uint64_t)(first + e) < (uint64_t)n)
                out[(first + e) * step] = result.at[e];
    }

    EK_INLINE void run(const Op &op, const ek_cuda_walk &walk)
    {
        ek_place<column + 1, width, packs> place(walk, sizeof(T));
        const int64_t apart = (int64_t)width << walk.across;
        ek_grid_kernel at;
        at.out = (T *)walk.data[0] + place.offset[0];
        at.x = (const T *)walk.data[1] + (reads ? place.offset[1] : 0);
        at.step = walk.step[0];
        at.x_step = walk.step[1];
        at.i = (int64_t)walk.data[row] + place.offset[row];
        at.j = (int64_t)walk.data[column] + place.offset[column];
        at.i_step = walk.step[row];
        at.j_step = walk.step[column];
        pack in[packs] = {};
        if constexpr (reads) {
#pragma unroll
            for (int p = 0; p < packs; p++)
                in[p] = at.load(place.i + p * apart, place.n);
        }
#pragma unroll
        for (int p = 0; p < packs; p++) {
            int64_t first = place.i + p * apart;
            pack result;
            if (first + width <= 0 || first >= place.n)
                continue;
#pragma unroll
            for (int e = 0; e < width; e++)
                result.at[e] = at.element(op, first + e, in[p].at[e]);
            at.store(first, place.n, result);
        }
    }
};

#endif
