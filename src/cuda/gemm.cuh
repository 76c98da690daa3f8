/* Exact matrix products on CUDA.
 *
 * A block computes a tile of C, (16 * rows) by (16 * columns) elements, from slices of A and B in
 * shared memory, `depth` numbers of k at a time; while it works on one slice the next is on its way
 * through registers. Each thread keeps its sums in registers for all of k and adds to each in the
 * order of k: see docs/arithmetic.md.
 *
 * Type says what an element is in memory and as a number in sums:
 *     Stored, Sum, Result                       types
 *     Sum load(Stored x, bool conjugate)
 *     Sum step(Sum a, Sum b, Sum sum)           the chain's fma
 *     Stored finish(Sum, Result alpha, Result beta, const Stored *c)   c is null if not to be read
 */
#ifndef EK_CUDA_GEMM_CUH
#define EK_CUDA_GEMM_CUH

#include <stdint.h>
#include <string.h>

#include "cuda/gemm_args.h"

#define EK_GEMM_KERNEL extern "C" __global__ void __launch_bounds__(EK_CUDA_GEMM_THREADS)
#define EK_INLINE static __device__ __forceinline__

template <typename Type, int rows, int columns> struct ek_gemm {
    using Stored = typename Type::Stored;
    using Sum = typename Type::Sum;
    using Result = typename Type::Result;

    static constexpr int side = EK_CUDA_GEMM_SIDE;
    static constexpr int depth = 8;
    /* Numbers a thread reads from shared memory at once, and rows or columns of it that lie
     * together. The padding keeps these 16 bytes aligned and spreads a column over the banks. */
    static constexpr int width = 16 / sizeof(Sum);
    static constexpr int tile_m = side * rows, tile_n = side * columns;

    template <int length> struct Slice {
        static constexpr int pitch = length + width;
        alignas(16) Sum at[depth * pitch];
    };

    struct Shared {
        Slice<tile_m> a[2];
        Slice<tile_n> b[2];
    };

    /* How a thread takes its part of an operand's slices: elements `step` apart in memory, along k
     * or across it, whichever neighbouring threads find together. */
    template <int length> struct Loader {
        static constexpr int count = depth * length / EK_CUDA_GEMM_THREADS;

        const Stored *from;
        int64_t step, advance; /* to the thread's next element; to the next slice */
        int64_t left;          /* rows (or columns) of the matrix from the thread's first on */
        int at, at_step, k, k_step;
        bool conjugate;

        __device__ __forceinline__ Loader(const ek_cuda_gemm_matrix &x, int64_t index,
                                          int64_t first, int64_t total, int64_t across,
                                          int64_t along)
        {
            bool along_k = along == 1 || across != 1;
            at = along_k ? threadIdx.x / depth : threadIdx.x % length;
            k = along_k ? threadIdx.x % depth : threadIdx.x / length;
            at_step = along_k ? EK_CUDA_GEMM_THREADS / depth : 0;
            k_step = along_k ? 0 : EK_CUDA_GEMM_THREADS / length;
            from = (const Stored *)x.data + index * x.batch + (first + at) * across + k * along;
            step = at_step * across + k_step * along;
            advance = depth * along;
            left = total - first - at;
            conjugate = x.conjugate != 0;
        }

        /* `k_left`: numbers of k from the slice's first on. */
        __device__ __forceinline__ void load(int64_t k_left, Sum (&part)[count])
        {
#pragma unroll
            for (int l = 0; l < count; l++) {
                part[l] = Sum{};
                if (l * at_step < left && k + l * k_step < k_left)
                    part[l] = Type::load(from[l * step], conjugate);
            }
            from += advance;
        }

        __device__ __forceinline__ void store(const Sum (&part)[count], Slice<length> &slice) const
        {
#pragma unroll
            for (int l = 0; l < count; l++)
                slice.at[(k + l * k_step) * Slice<length>::pitch + at + l * at_step] = part[l];
        }
    };

    /* A thread's rows (or columns): `width` together, then a step over those of its neighbours. */
    template <int count, int length>
    EK_INLINE void take(const Slice<length> &slice, int k, int thread, Sum (&part)[count])
    {
#pragma unroll
        for (int g = 0; g < count; g += width)
            memcpy(&part[g],
                   __builtin_assume_aligned(
                       &slice.at[k * Slice<length>::pitch + g * side + thread * width], 16),
                   16);
    }

    EK_INLINE int position(int i, int thread)
    {
        return i / width * width * side + thread * width + i % width;
    }

    EK_INLINE void multiply(const Slice<tile_m> &a, const Slice<tile_n> &b, int k, int y, int x,
                            Sum (&sum)[rows][columns])
    {
        Sum left[rows], right[columns];
        take(a, k, y, left);
        take(b, k, x, right);
#pragma unroll
        for (int i = 0; i < rows; i++) {
#pragma unroll
            for (int j = 0; j < columns; j++)
                sum[i][j] = Type::step(left[i], right[j], sum[i][j]);
        }
    }

    EK_INLINE void finish(const ek_cuda_gemm_args &args, int64_t index, int64_t row, int64_t column,
                          int y, int x, const Sum (&sum)[rows][columns])
    {
        Stored *c = (Stored *)args.c.data + index * args.c.batch;
        Result alpha, beta;
        memcpy(&alpha, args.alpha, sizeof alpha);
        memcpy(&beta, args.beta, sizeof beta);
#pragma unroll
        for (int i = 0; i < rows; i++) {
            int64_t at_row = row + position(i, y);
#pragma unroll
            for (int j = 0; j < columns; j++) {
                int64_t at_column = column + position(j, x);
                if (at_row >= args.m || at_column >= args.n)
                    continue;
                Stored *to = c + at_row * args.c.row + at_column * args.c.column;
                *to = Type::finish(sum[i][j], alpha, beta, args.reads_c ? to : nullptr);
            }
        }
    }

    EK_INLINE void tile(const ek_cuda_gemm_args &args, int64_t index, int64_t row, int64_t column,
                        Shared &shared)
    {
        Loader<tile_m> a(args.a, index, row, args.m, args.a.row, args.a.column);
        Loader<tile_n> b(args.b, index, column, args.n, args.b.column, args.b.row);
        Sum part_a[Loader<tile_m>::count], part_b[Loader<tile_n>::count];
        Sum sum[rows][columns] = {};
        int y = threadIdx.x / side, x = threadIdx.x % side;
        int now = 0;
        a.load(args.k, part_a);
        b.load(args.k, part_b);
        for (int64_t left = args.k; left > 0; left -= depth, now ^= 1) {
            a.store(part_a, shared.a[now]);
            b.store(part_b, shared.b[now]);
            __syncthreads();
            a.load(left - depth, part_a);
            b.load(left - depth, part_b);
            /* No step for the k that are not there: adding their zeros would change -0. */
            if (left >= depth) {
#pragma unroll
                for (int k = 0; k < depth; k++)
                    multiply(shared.a[now], shared.b[now], k, y, x, sum);
            } else {
                for (int k = 0; k < left; k++)
                    multiply(shared.a[now], shared.b[now], k, y, x, sum);
            }
        }
        finish(args, index, row, column, y, x, sum);
        __syncthreads();
    }

    EK_INLINE void run(const ek_cuda_gemm_args &args)
    {
        __shared__ Shared shared;
        int64_t tiles = args.tiles_m * args.tiles_n;
        for (int64_t index = blockIdx.y; index < args.batch; index += gridDim.y) {
            for (int64_t at = blockIdx.x; at < tiles; at += gridDim.x)
                tile(args, index, at / args.tiles_n * tile_m, at % args.tiles_n * tile_n, shared);
        }
    }
};

#endif
