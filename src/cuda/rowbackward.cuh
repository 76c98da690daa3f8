/* Backward operations of rows: a group of threads has a row, adds up its terms in the order of
 * lanes.h, and looks at the row once more for the results. What it reads again is in a cache,
 * unless rows are very long.
 *
 * Op is a row as the operation sees it: first(i), term<k>(i, center), ..., store(i, ...). */
#ifndef EK_CUDA_ROWBACKWARD_CUH
#define EK_CUDA_ROWBACKWARD_CUH

#include "cuda/elementwise.cuh"
#include "cuda/rowbackward_args.h"

#define EK_ROWBACKWARD_KERNEL                                                                      \
    extern "C" __global__ void __launch_bounds__(EK_CUDA_ROWBACKWARD_THREADS)

/* A row's operands: the first elements. */
EK_INLINE void ek_row_data(const ek_cuda_rowbackward_args &args, int operands, int size,
                           int64_t row, char **data)
{
    for (int i = 0; i < operands; i++)
        data[i] = (char *)args.data[i];
#pragma unroll 1
    for (int d = args.ndim - 1; d >= 0; d--) {
        int64_t above = d > 0 ? row / args.shape[d] : 0, at = row - above * args.shape[d];
        for (int i = 0; i < operands; i++)
            data[i] += at * args.stride[d][i] * size;
        row = above;
    }
}

/* `threads` threads with a row, 32 or a block's; each has 128 / threads lanes. */
template <class Op, int threads> struct ek_rowbackward {
    using C = typename Op::C;
    static constexpr int each = EK_LANES / threads;

    template <int count> struct Lanes {
        C at[count][each];
    };

    template <int count> EK_INLINE void start(Lanes<count> &lanes)
    {
#pragma unroll
        for (int s = 0; s < count; s++) {
#pragma unroll
            for (int k = 0; k < each; k++)
                lanes.at[s][k] = (C)-0.0;
        }
    }

    /* Lane j takes in lane j + 64, then j + 32, and so on; all threads get what lane 0 has then. */
    template <int count> EK_INLINE void fold(int lane, const Lanes<count> &lanes, C *total)
    {
        int t = lane % 32;
        C x[count];
        if constexpr (threads > 32) {
            __shared__ C shared[count][EK_LANES];
            __syncthreads();
#pragma unroll
            for (int s = 0; s < count; s++)
                shared[s][lane] = lanes.at[s][0];
            __syncthreads();
#pragma unroll
            for (int s = 0; s < count; s++)
                x[s] = (shared[s][t] + shared[s][t + 64]) + (shared[s][t + 32] + shared[s][t + 96]);
        } else {
#pragma unroll
            for (int s = 0; s < count; s++)
                x[s] = (lanes.at[s][0] + lanes.at[s][2]) + (lanes.at[s][1] + lanes.at[s][3]);
        }
#pragma unroll
        for (int s = 0; s < count; s++) {
#pragma unroll
            for (int half = 16; half > 0; half /= 2)
                x[s] += __shfl_down_sync(0xffffffffu, x[s], half);
            total[s] = __shfl_sync(0xffffffffu, x[s], 0);
        }
    }

    /* What chunks come to, level over level. Lane 0 to 127 of a level are its threads'. */
    template <int count> struct Pile {
        static constexpr int levels = 4;
        int64_t counts[levels];
        Lanes<count> lanes[levels];
    };

    template <int count> EK_SHARED void add(int lane, Pile<count> &pile, const C *chunk)
    {
        C total[count];
        for (int s = 0; s < count; s++)
            total[s] = chunk[s];
        for (int level = 0; level < Pile<count>::levels; level++) {
            if (pile.counts[level] == 0)
                start(pile.lanes[level]);
            int at = (int)(pile.counts[level] % EK_LANES);
            for (int k = 0; k < each; k++) {
                for (int s = 0; s < count; s++) {
                    if (at == lane + k * threads)
                        pile.lanes[level].at[s][k] += total[s];
                }
            }
            if (++pile.counts[level] < EK_CHUNK)
                return;
            fold<count>(lane, pile.lanes[level], total);
            pile.counts[level] = 0;
        }
    }

    template <int count> EK_SHARED void finish(int lane, Pile<count> &pile, C *total)
    {
        bool have = false; /* what the levels below come to */
        for (int level = 0; level < Pile<count>::levels; level++) {
            if (have) {
                if (pile.counts[level] == 0)
                    start(pile.lanes[level]);
                int at = (int)(pile.counts[level]++ % EK_LANES);
                for (int k = 0; k < each; k++) {
                    for (int s = 0; s < count; s++) {
                        if (at == lane + k * threads)
                            pile.lanes[level].at[s][k] += total[s];
                    }
                }
            }
            bool above = false;
            for (int l = level + 1; l < Pile<count>::levels; l++)
                above |= pile.counts[l] > 0;
            if (pile.counts[level] == 0)
                continue;
            fold<count>(lane, pile.lanes[level], total);
            if (!above)
                return;
            have = true;
        }
    }

    /* The sums of a chunk. Terms is called for each of its elements that is the thread's. */
    template <int count, class Terms>
    EK_INLINE void chunk(int lane, int64_t first, int64_t end, Terms terms, C *total)
    {
        Lanes<count> lanes;
        start(lanes);
        int64_t i = first + lane;
#pragma unroll 2
        for (; i + (each - 1) * threads < end; i += EK_LANES) {
#pragma unroll
            for (int k = 0; k < each; k++)
                terms(i + k * threads, lanes, k);
        }
#pragma unroll
        for (int k = 0; k < each; k++) {
            if (i + k * threads < end)
                terms(i + k * threads, lanes, k);
        }
        fold<count>(lane, lanes, total);
    }

    template <int count, class Terms>
    EK_INLINE void sums(int lane, int64_t n, Terms terms, C *total)
    {
        if constexpr (threads == 32) {
            chunk<count>(lane, 0, n, terms, total);
        } else if (n <= EK_CHUNK) {
            chunk<count>(lane, 0, n, terms, total);
        } else {
            Pile<count> pile;
            for (int level = 0; level < Pile<count>::levels; level++)
                pile.counts[level] = 0;
            for (int64_t k = 0; k < n; k += EK_CHUNK) {
                chunk<count>(lane, k, k + EK_CHUNK < n ? k + EK_CHUNK : n, terms, total);
                add<count>(lane, pile, total);
            }
            finish<count>(lane, pile, total);
        }
    }

    EK_INLINE void run(const ek_cuda_rowbackward_args &args, Op op)
    {
        int64_t row = blockIdx.x;
        int lane = threadIdx.x;
        if (threads == 32) {
            row = row * EK_CUDA_ROWBACKWARD_WARPS + threadIdx.x / 32;
            lane = threadIdx.x % 32;
        }
        if (row >= args.rows)
            return;
        C center = 0, total[3] = {0, 0, 0};
        op.open(args, row);
        if constexpr (Op::centered) {
            sums<1>(
                lane, args.n,
                [&](int64_t i, Lanes<1> &lanes, int k) { lanes.at[0][k] += op.first(i); }, total);
            center = op.center(total[0], args.n);
        }
        sums<Op::sums>(
            lane, args.n,
            [&](int64_t i, Lanes<Op::sums> &lanes, int k) {
                C term[Op::sums];
                op.terms(i, center, term);
#pragma unroll
                for (int s = 0; s < Op::sums; s++)
                    lanes.at[s][k] += term[s];
            },
            total);
        op.settle(center, total, args.n);
#pragma unroll 4
        for (int64_t i = lane; i < args.n; i += threads)
            op.store(i, center);
    }
};

#endif
