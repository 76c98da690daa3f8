/* Kernels of softmax and its like. Row has the types In (in memory) and Number (computed in), and
 * the functions load(x), store(number), term(x, top), rest(sum) and result(x, term, top, rest);
 * uses_term tells which of the first two result looks at. */
#ifndef EK_CUDA_ROWWISE_CUH
#define EK_CUDA_ROWWISE_CUH

#include "cuda/reduction.cuh"

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
        return Row::larger(a, b);
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
    using Pack = ek_row_pack<In, EK_CUDA_PACK>;

    static constexpr int warp_steps = EK_CUDA_WARP_ROW / EK_LANES;

    /* What is kept of an element for its result. */
    EK_INLINE Number kept(Number x, Number term)
    {
        return Row::uses_term ? term : x;
    }

    EK_INLINE In result(Number kept, Number top, Number rest)
    {
        return Row::store(Row::result(kept, kept, top, rest));
    }

    /* Rows of up to EK_CUDA_WARP_ROW elements, which a group of threads keeps in registers. */
    EK_INLINE void warps(const ek_cuda_plane &plane)
    {
        ek_chunk at(plane.outer * plane.inner, 1, plane.n, plane.group);
        const In *x = (const In *)plane.x;
        In *out = (In *)plane.out;
        if (at.inside) {
            int64_t outer = plane.outer == 1 ? 0 : at.row / plane.inner;
            int64_t inner = at.row - outer * plane.inner;
            x += outer * plane.outer_x + inner * plane.inner_x;
            out += outer * plane.outer_out + inner * plane.inner_out;
        }
        if (plane.group == 32 && Pack::fits(x) && Pack::fits(out))
            warp_row<true>(at.n, at.thread, 32, x, out);
        else
            warp_row<false>(at.n, at.thread, plane.group, x, out);
    }

    /* Packed or spread lanes, as in cuda/rows.cuh. */
    template <bool packed>
    EK_INLINE void warp_row(int n, int thread, int group, const In *x, In *out)
    {
        Number value[warp_steps][EK_CUDA_PACK], lane[EK_CUDA_PACK], top = Top::identity();
        int own = packed ? EK_CUDA_PACK * thread : thread, apart = packed ? 1 : group;
#pragma unroll
        for (int k = 0; k < warp_steps; k++) {
            int i = k * EK_CUDA_PACK * group + own;
            Pack loaded;
            if (packed && i + EK_CUDA_PACK <= n) {
                loaded = *(const Pack *)(x + i);
            } else {
#pragma unroll
                for (int c = 0; c < EK_CUDA_PACK; c++)
                    if (i + c * apart < n)
                        loaded.at[c] = x[i + c * apart];
            }
#pragma unroll
            for (int c = 0; c < EK_CUDA_PACK; c++) {
                value[k][c] = i + c * apart < n ? Row::load(loaded.at[c]) : Top::identity();
                top = Row::larger(top, value[k][c]);
            }
        }
        top = ek_shuffle_first(ek_fold_group<Top>(top, group), group);
#pragma unroll
        for (int c = 0; c < EK_CUDA_PACK; c++)
            lane[c] = Sum::identity();
#pragma unroll
        for (int k = 0; k < warp_steps; k++) {
            if (k * EK_CUDA_PACK * group >= n)
                continue;
#pragma unroll
            for (int c = 0; c < EK_CUDA_PACK; c++) {
                bool inside = k * EK_CUDA_PACK * group + own + c * apart < n;
                Number term = Row::term(value[k][c], top);
                lane[c] += inside ? term : Sum::identity();
                value[k][c] = kept(value[k][c], term);
            }
        }
        Number sum = packed ? ek_fold_packed<Sum>(lane) : ek_fold_spread<Sum>(lane, group);
        Number rest = Row::rest(ek_shuffle_first(sum, group));
#pragma unroll
        for (int k = 0; k < warp_steps; k++) {
            int i = k * EK_CUDA_PACK * group + own;
            Pack results;
#pragma unroll
            for (int c = 0; c < EK_CUDA_PACK; c++)
                results.at[c] = result(value[k][c], top, rest);
            if (packed && i + EK_CUDA_PACK <= n) {
                *(Pack *)(out + i) = results;
            } else {
#pragma unroll
                for (int c = 0; c < EK_CUDA_PACK; c++)
                    if (i + c * apart < n)
                        out[i + c * apart] = results.at[c];
            }
        }
    }

    /* Rows of up to EK_CUDA_BLOCK_ROW elements: a block a row, a thread a lane of a chunk. */
    EK_INLINE void blocks(const ek_cuda_plane &plane)
    {
        int64_t outer = plane.outer == 1 ? 0 : (int64_t)blockIdx.x / plane.inner;
        int64_t inner = (int64_t)blockIdx.x - outer * plane.inner;
        const In *x = (const In *)plane.x + outer * plane.outer_x + inner * plane.inner_x;
        In *out = (In *)plane.out + outer * plane.outer_out + inner * plane.inner_out;
        int first = (int)threadIdx.x / EK_LANES * EK_CHUNK + (int)threadIdx.x % EK_LANES;
        int n = (int)plane.n;
        Number value[EK_CUDA_LANE_ELEMENTS], lane = Sum::identity(), top = Top::identity();
#pragma unroll
        for (int k = 0; k < EK_CUDA_LANE_ELEMENTS; k++) {
            int i = first + k * EK_LANES;
            value[k] = i < n ? Row::load(x[i]) : Top::identity();
        }
#pragma unroll
        for (int k = 0; k < EK_CUDA_LANE_ELEMENTS; k++)
            top = Row::larger(top, value[k]);
        top = block_top(top);
#pragma unroll
        for (int k = 0; k < EK_CUDA_LANE_ELEMENTS; k++) {
            Number term = Row::term(value[k], top);
            lane += first + k * EK_LANES < n ? term : Sum::identity();
            value[k] = kept(value[k], term);
        }
        Number rest = Row::rest(block_sum(lane, (int)plane.chunks));
#pragma unroll
        for (int k = 0; k < EK_CUDA_LANE_ELEMENTS; k++) {
            int i = first + k * EK_LANES;
            if (i < n)
                out[i] = result(value[k], top, rest);
        }
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
            top = Row::larger(top, of_warp[warp]);
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
