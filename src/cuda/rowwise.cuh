/* Kernels of softmax and its like. Row has the types In (in memory) and Number (computed in), and
 * the functions load(x), store(number), term(x, top), rest(sum) and result(x, term, top, rest);
 * uses_term tells which of the first two result looks at. */
#ifndef EK_CUDA_ROWWISE_CUH
#define EK_CUDA_ROWWISE_CUH

#include "body/maximum.h"
#include "cuda/reduction.cuh"

/* The operation maximum, in one instruction where there is one. */
EK_INLINE float ek_larger(float a, float b)
{
#if __CUDA_ARCH__ >= 800
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(a) : "f"(a), "f"(b));
    return a;
#else
    return ek_body_maximum_f32(a, b);
#endif
}

EK_INLINE double ek_larger(double a, double b)
{
    return ek_body_maximum_f64(a, b);
}

/* The largest element of a row, as a reduction. */
template <typename Row> struct ek_row_top {
    using In = typename Row::In;
    using Acc = typename Row::Number;
    using Out = Acc;
    using Context = ek_no_context;

    EK_INLINE Acc identity()
    {
        return -INFINITY;
    }
    EK_INLINE Acc element(In x, int64_t, Context)
    {
        return Row::load(x);
    }
    EK_INLINE Acc combine(Acc a, Acc b)
    {
        return ek_larger(a, b);
    }
    EK_INLINE Out finish(Acc a, int64_t)
    {
        return a;
    }
};

/* The sum of a row's terms. */
template <typename Row> struct ek_row_sum {
    using In = typename Row::In;
    using Acc = typename Row::Number;
    using Out = Acc;

    struct Context {
        Acc top;

        EK_INLINE Context of(const void *tops, int64_t row)
        {
            Context context;
            context.top = ((const Acc *)tops)[row];
            return context;
        }
    };

    EK_INLINE Acc identity()
    {
        return (Acc)-0.0;
    }
    EK_INLINE Acc element(In x, int64_t, Context context)
    {
        return Row::term(Row::load(x), context.top);
    }
    EK_INLINE Acc combine(Acc a, Acc b)
    {
        return a + b;
    }
    EK_INLINE Out finish(Acc a, int64_t)
    {
        return a;
    }
};

template <typename Row> struct ek_rowwise {
    using In = typename Row::In;
    using Number = typename Row::Number;
    using Top = ek_row_top<Row>;
    using Sum = ek_row_sum<Row>;

    /* What is kept of an element for its result. */
    EK_INLINE Number kept(Number x, Number term)
    {
        return Row::uses_term ? term : x;
    }

    EK_INLINE In result(Number kept, Number top, Number rest)
    {
        return Row::store(Row::result(kept, kept, top, rest));
    }

    /* What a thread keeps of n elements of a row: EK_CUDA_PACK a step, from `own` on, as loads of
     * `width` neighbours `apart` from each other. They are of one lane, or of as many as a step
     * has. Elements past the end repeat the last ones, so that all loads are under way together;
     * they change no top and are in no sum. `full`: there are none. */
    template <int steps, int lanes, int width, bool full> struct Held {
        using Load = ek_row_pack<In, width>;

        static constexpr int loads = EK_CUDA_PACK / width;

        Number value[steps][EK_CUDA_PACK];
        int n, own, apart;

        /* x: the first of the thread's elements. */
        __device__ __forceinline__ Held(const In *x, int n, int own, int apart)
            : n(n), own(own), apart(apart)
        {
#pragma unroll
            for (int k = 0; k < steps; k++) {
                if (past(k))
                    continue;
#pragma unroll
                for (int c = 0; c < loads; c++) {
                    int i = (k * loads + c) * apart;
                    Load loaded = *(const Load *)(x + (full ? i : min(i, n - own - width)));
#pragma unroll
                    for (int e = 0; e < width; e++)
                        value[k][c * width + e] = Row::load(loaded.at[e]);
                }
            }
        }

        /* A step without an element in any thread of the warp. */
        __device__ __forceinline__ bool past(int step) const
        {
            return !full && step * loads * apart >= n;
        }

        /* Whether the elements of a load are before the end: all of them are, or none. */
        __device__ __forceinline__ bool inside(int step, int load) const
        {
            return full || (step * loads + load) * apart < n - own;
        }

        __device__ __forceinline__ Number top() const
        {
            Number top = Top::identity();
#pragma unroll
            for (int k = 0; k < steps; k++) {
                if (past(k))
                    continue;
#pragma unroll
                for (int c = 0; c < EK_CUDA_PACK; c++)
                    top = ek_larger(top, value[k][c]);
            }
            return top;
        }

        /* Sums the terms of each lane. */
        __device__ __forceinline__ void sum(Number top, Number *lane)
        {
#pragma unroll
            for (int i = 0; i < lanes; i++)
                lane[i] = Sum::identity();
#pragma unroll
            for (int k = 0; k < steps; k++) {
                if (past(k))
                    continue;
#pragma unroll
                for (int c = 0; c < EK_CUDA_PACK; c++) {
                    Number term = Row::term(value[k][c], top);
                    if (inside(k, c / width))
                        lane[c % lanes] += term;
                    value[k][c] = kept(value[k][c], term);
                }
            }
        }

        __device__ __forceinline__ void store(Number top, Number rest, In *out) const
        {
#pragma unroll
            for (int k = 0; k < steps; k++) {
#pragma unroll
                for (int c = 0; c < loads; c++) {
                    Load results;
#pragma unroll
                    for (int e = 0; e < width; e++)
                        results.at[e] = result(value[k][c * width + e], top, rest);
                    if (inside(k, c))
                        *(Load *)(out + (k * loads + c) * apart) = results;
                }
            }
        }
    };

    /* Rows of up to EK_CUDA_GROUP_ROW elements, for a group of threads each. Few registers let a
     * multiprocessor have many rows under way. */
    EK_INLINE void groups(const ek_cuda_plane &plane)
    {
        constexpr int steps = EK_CUDA_GROUP_ROW / EK_LANES;
        if (!plane.packed)
            group_row<steps, 1>(plane, plane.group);
        else if (plane.group < 32)
            group_row<1, EK_CUDA_PACK>(plane, plane.group);
        else
            group_row<steps, EK_CUDA_PACK>(plane, 32);
    }

    /* Rows of up to EK_CUDA_WARP_ROW elements, for a warp each. */
    EK_INLINE void warps(const ek_cuda_plane &plane)
    {
        constexpr int steps = EK_CUDA_WARP_ROW / EK_LANES;
        if (plane.packed)
            group_row<steps, EK_CUDA_PACK>(plane, 32);
        else
            group_row<steps, 1>(plane, 32);
    }

    /* Spread lanes (width 1) or packed ones, as in cuda/rows.cuh. */
    template <int steps, int width> EK_INLINE void group_row(const ek_cuda_plane &plane, int group)
    {
        ek_chunk at(plane.outer * plane.inner, 1, plane.n, group);
        int own = width * at.thread;
        const In *x = (const In *)plane.x + own;
        In *out = (In *)plane.out + own;
        if (at.inside) {
            int64_t inner = at.row;
            if (plane.outer > 1) {
                int64_t outer = inner / plane.inner;
                inner -= outer * plane.inner;
                x += outer * plane.outer_x;
                out += outer * plane.outer_out;
            }
            x += inner * plane.inner_x;
            out += inner * plane.inner_out;
        }
        Number lane[EK_CUDA_PACK];
        Held<steps, EK_CUDA_PACK, width, false> held(x, at.n, own, width * group);
        Number top = ek_fold_group<Top>(held.top(), group);
        held.sum(top, lane);
        Number sum =
            width > 1 ? ek_fold_packed<Sum>(lane, group) : ek_fold_spread<Sum>(lane, group);
        held.store(top, Row::rest(sum), out);
    }

    /* Rows of up to EK_CUDA_BLOCK_ROW elements: a block a row, a thread a lane of a chunk. */
    EK_INLINE void blocks(const ek_cuda_plane &plane)
    {
        if (plane.n % EK_CHUNK == 0)
            block_row<true>(plane);
        else
            block_row<false>(plane);
    }

    template <bool full> EK_INLINE void block_row(const ek_cuda_plane &plane)
    {
        int64_t outer = plane.outer == 1 ? 0 : (int64_t)blockIdx.x / plane.inner;
        int64_t inner = (int64_t)blockIdx.x - outer * plane.inner;
        int chunk = (int)threadIdx.x / EK_LANES * EK_CHUNK, own = (int)threadIdx.x % EK_LANES;
        int first = chunk + own;
        const In *x = (const In *)plane.x + outer * plane.outer_x + inner * plane.inner_x + first;
        In *out = (In *)plane.out + outer * plane.outer_out + inner * plane.inner_out + first;
        Number lane;
        Held<EK_CUDA_LANE_ELEMENTS / EK_CUDA_PACK, 1, 1, full> held(
            x, min((int)plane.n - chunk, EK_CHUNK), own, EK_LANES);
        Number top = block_top(held.top());
        held.sum(top, &lane);
        held.store(top, Row::rest(block_sum(lane, (int)plane.chunks)), out);
    }

    /* The largest of the block's numbers, for every thread. */
    EK_INLINE Number block_top(Number top)
    {
        __shared__ Number of_warp[EK_CUDA_BLOCK_THREADS(sizeof(Number)) / 32];
        top = ek_fold_group<Top>(top, 32);
        if (threadIdx.x % 32 == 0)
            of_warp[threadIdx.x / 32] = top;
        __syncthreads();
        top = of_warp[0];
        for (int warp = 1; warp < (int)blockDim.x / 32; warp++)
            top = ek_larger(top, of_warp[warp]);
        return top;
    }

    /* The lanes of each chunk folded, then the results of the chunks, for every thread. */
    EK_INLINE Number block_sum(Number lane, int chunks)
    {
        constexpr int most = EK_CUDA_BLOCK_THREADS(sizeof(Number)) / EK_LANES;
        __shared__ Number lanes[most * EK_LANES];
        __shared__ Number of_chunk[most];
        int number = (int)threadIdx.x % EK_LANES;
        lanes[threadIdx.x] = lane;
        __syncthreads();
        if (number < 64) {
            lane += lanes[threadIdx.x + 64];
            lanes[threadIdx.x] = lane;
        }
        __syncthreads();
        if (number < 32) {
            lane = ek_fold_group<Sum>(lane + lanes[threadIdx.x + 32], 32);
            if (number == 0)
                of_chunk[threadIdx.x / EK_LANES] = lane;
        }
        __syncthreads();
        Number part[most];
#pragma unroll
        for (int i = 0; i < most; i++)
            part[i] = i < chunks ? of_chunk[i] : Sum::identity();
#pragma unroll
        for (int half = most / 2; half > 0; half /= 2) {
#pragma unroll
            for (int i = 0; i < half; i++)
                part[i] += part[i + half];
        }
        return part[0];
    }

    /* Results of rows of any length and layout, whose tops and sums are known: rows.context holds
     * the tops, rows.from the sums. */
    EK_INLINE void results(const ek_cuda_rows &rows)
    {
        ek_chunk at(rows.count, rows.chunks, rows.n, rows.group);
        if (!at.inside)
            return;
        const In *x = (const In *)rows.x +
                      ek_row_offset(at.row, rows.kept_ndim, rows.kept_shape, rows.kept_x);
        In *out =
            (In *)rows.out + ek_row_offset(at.row, rows.kept_ndim, rows.kept_shape, rows.kept_out);
        Number top = ((const Number *)rows.context)[at.row];
        Number rest = Row::rest(((const Number *)rows.from)[at.row]);
#pragma unroll 8
        for (int i = at.thread; i < at.n; i += rows.group) {
            Number value = Row::load(x[ek_element_offset(rows, at.first + i)]);
            out[(at.first + i) * rows.out_step] =
                result(kept(value, Row::term(value, top)), top, rest);
        }
    }

    /* The same for neighbouring rows that begin one after the other, and their results too. */
    EK_INLINE void column_results(const ek_cuda_plane &plane)
    {
        int across = plane.across, lanes = EK_CUDA_ROWS_THREADS / across;
        int64_t tiles = (plane.inner - 1) / across + 1;
        int64_t chunk = (int64_t)blockIdx.x / tiles, tile = (int64_t)blockIdx.x - chunk * tiles;
        int64_t outer = chunk / plane.chunks;
        int64_t first = (chunk - outer * plane.chunks) * EK_CHUNK;
        int64_t column = tile * across + (int)threadIdx.x % across;
        if (column >= plane.inner)
            return;
        int n = (int)ek_smaller(plane.n - first, EK_CHUNK);
        int64_t row = outer * plane.inner + column;
        const In *x = (const In *)plane.x + outer * plane.outer_x + first * plane.step + column;
        In *out = (In *)plane.out + outer * plane.outer_out + first * plane.out_step + column;
        Number top = ((const Number *)plane.context)[row];
        Number rest = Row::rest(((const Number *)plane.parts)[row]);
#pragma unroll 8
        for (int i = (int)threadIdx.x / across; i < n; i += lanes) {
            Number value = Row::load(x[i * plane.step]);
            out[i * plane.out_step] = result(kept(value, Row::term(value, top)), top, rest);
        }
    }
};

#endif
