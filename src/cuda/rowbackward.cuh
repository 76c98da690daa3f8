/* Backward operations of rows: a group of threads has a row, adds up its terms in the order of
 * lanes.h, and makes the results of the row and the sums.
 *
 * Op is a row as the operation sees it: load(i, in) gives the i-th elements of its inputs, from
 * which are first(in), terms(in, center, term) and result(in, center). */
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

/* `threads` threads with a row, 32 or a block's; each has 128 / threads lanes. With `kept`, a
 * thread has so many elements at most, and keeps them. */
template <class Op, int threads, int kept> struct ek_rowbackward {
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

    /* Elements from `first` to before `end` of the row that are the thread's, in order: what is
     * added to which of its lanes. */
    template <class Add>
    EK_INLINE void each_of(const Op &op, int lane, int64_t first, int64_t end, Add add)
    {
        int64_t i = first + lane;
#pragma unroll 2
        for (; i + (each - 1) * threads < end; i += EK_LANES) {
#pragma unroll
            for (int k = 0; k < each; k++) {
                C in[Op::inputs];
                op.load(i + k * threads, in);
                add(in, k);
            }
        }
#pragma unroll
        for (int k = 0; k < each; k++) {
            if (i + k * threads < end) {
                C in[Op::inputs];
                op.load(i + k * threads, in);
                add(in, k);
            }
        }
    }

    /* The same of elements that are kept. */
    template <class Add>
    EK_INLINE void each_kept(const C (*row)[Op::inputs], int lane, int64_t n, Add add)
    {
#pragma unroll
        for (int k = 0; k < kept; k++) {
            if (lane + k * threads < n)
                add(row[k], k % each);
        }
    }

    template <int count, class Terms>
    EK_INLINE void sums(const Op &op, const C (*row)[Op::inputs], int lane, int64_t n, Terms terms,
                        C *total)
    {
        Lanes<count> lanes;
        auto add_terms = [&](const C *in, int k) {
            C term[count];
            terms(in, term);
#pragma unroll
            for (int s = 0; s < count; s++)
                lanes.at[s][k] += term[s];
        };
        start(lanes);
        if constexpr (kept > 0) {
            each_kept(row, lane, n, add_terms);
            fold<count>(lane, lanes, total);
        } else if (n <= EK_CHUNK) {
            each_of(op, lane, 0, n, add_terms);
            fold<count>(lane, lanes, total);
        } else {
            Pile<count> pile;
            for (int level = 0; level < Pile<count>::levels; level++)
                pile.counts[level] = 0;
            for (int64_t k = 0; k < n; k += EK_CHUNK) {
                start(lanes);
                each_of(op, lane, k, k + EK_CHUNK < n ? k + EK_CHUNK : n, add_terms);
                fold<count>(lane, lanes, total);
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
        C center = 0, total[3] = {0, 0, 0}, in[kept > 0 ? kept : 1][Op::inputs];
        op.open(args, row);
#pragma unroll
        for (int k = 0; k < kept; k++) {
            if (lane + k * threads < args.n)
                op.load(lane + k * threads, in[k]);
        }
        if constexpr (Op::centered) {
            sums<1>(
                op, in, lane, args.n, [&](const C *in, C *term) { term[0] = op.first(in); }, total);
            center = op.center(total[0], args.n);
        }
        sums<Op::sums>(
            op, in, lane, args.n, [&](const C *in, C *term) { op.terms(in, center, term); }, total);
        op.settle(center, total, args.n);
        if constexpr (kept > 0) {
#pragma unroll
            for (int k = 0; k < kept; k++) {
                if (lane + k * threads < args.n)
                    op.store(lane + k * threads, in[k], center);
            }
        } else {
#pragma unroll 4
            for (int64_t i = lane; i < args.n; i += threads) {
                C now[Op::inputs];
                op.load(i, now);
                op.store(i, now, center);
            }
        }
    }
};

#endif
