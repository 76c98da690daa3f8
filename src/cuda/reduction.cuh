/* Kernels of reductions. Op has the types In, Acc, Out and Context and the functions
 * context(memory, row), identity(), element(x, index, context), combine(a, b) and finish(a, n). */
#ifndef EK_CUDA_REDUCTION_CUH
#define EK_CUDA_REDUCTION_CUH

#include "cuda/rows.cuh"

/* What operations have that need nothing of a row but its elements. */
struct ek_no_context {
    EK_INLINE ek_no_context of(const void *, int64_t)
    {
        return ek_no_context();
    }
};

/* What a chunk is reduced to and how that goes on: to an accumulator, which is an element of the
 * next level, unless Op says otherwise. Then it has a type Join, an Op of its own for the results
 * of chunks, the functions about(context, n, load), which may look at the chunk's elements first,
 * and close(a, context, n), and lane_size. */
template <typename...> using ek_void = void;

template <typename Op, typename = void> struct ek_chunk_end {
    using Join = Op;

    static constexpr int lane_size = sizeof(typename Op::Acc); /* a number of a lane */

    template <typename Load> EK_INLINE void about(typename Op::Context &, int, const Load &)
    {
    }
    EK_INLINE typename Op::Acc close(typename Op::Acc a, const typename Op::Context &, int)
    {
        return a;
    }
};

template <typename Op> struct ek_chunk_end<Op, ek_void<typename Op::Join>> : Op {
};

template <typename Op> struct ek_reduction {
    using In = typename Op::In;
    using Acc = typename Op::Acc;
    using Out = typename Op::Out;
    using Context = typename Op::Context;
    using End = ek_chunk_end<Op>;
    using Join = typename End::Join;
    using Part = typename Join::Acc;
    using Pack = ek_row_pack<In, EK_CUDA_PACK>;

    static constexpr int columns_of_thread = EK_CUDA_COLUMNS(sizeof(In), End::lane_size);
    /* Steps whose loads are under way together: some 128 bytes a thread. */
    static constexpr int ahead = sizeof(In) >= 16 ? 2 : sizeof(In) >= 4 ? 32 / (int)sizeof(In) : 16;

    EK_INLINE void clear(Acc *lane)
    {
#pragma unroll
        for (int c = 0; c < EK_CUDA_PACK; c++)
            lane[c] = Op::identity();
    }

    /* n elements, whose accumulators load(i) gives, by spread lanes. */
    template <typename Load> EK_INLINE Acc spread(int n, int thread, int group, const Load &load)
    {
        constexpr int steps = 4;
        Acc lane[EK_CUDA_PACK];
        clear(lane);
        int k = thread, step = EK_CUDA_PACK * group;
#pragma unroll 1
        for (; k - thread + steps * step <= n; k += steps * step) {
            Acc loaded[steps][EK_CUDA_PACK];
#pragma unroll
            for (int s = 0; s < steps; s++) {
#pragma unroll
                for (int c = 0; c < EK_CUDA_PACK; c++)
                    loaded[s][c] = load(k + s * step + c * group);
            }
#pragma unroll
            for (int s = 0; s < steps; s++) {
#pragma unroll
                for (int c = 0; c < EK_CUDA_PACK; c++)
                    lane[c] = Op::combine(lane[c], loaded[s][c]);
            }
        }
#pragma unroll 2
        for (; k < n; k += step) {
#pragma unroll
            for (int c = 0; c < EK_CUDA_PACK; c++)
                if (k + c * group < n)
                    lane[c] = Op::combine(lane[c], load(k + c * group));
        }
        return ek_fold_spread<Op>(lane, group);
    }

    EK_INLINE void add_pack(Acc *lane, const Pack &loaded, int64_t index, const Context &context)
    {
#pragma unroll
        for (int c = 0; c < EK_CUDA_PACK; c++)
            lane[c] = Op::combine(lane[c], Op::element(loaded.at[c], index + c, context));
    }

    /* n elements at x, aligned for packs, by packed lanes. */
    EK_INLINE Acc packed(int n, int thread, const In *x, int64_t first, const Context &context)
    {
        Acc lane[EK_CUDA_PACK];
        clear(lane);
        const Pack *pack = (const Pack *)x + thread;
        int steps = n / EK_LANES, index = EK_CUDA_PACK * thread, k = 0;
#pragma unroll 1
        for (; k + ahead <= steps; k += ahead) {
            Pack loaded[ahead];
#pragma unroll
            for (int s = 0; s < ahead; s++)
                loaded[s] = pack[32 * (k + s)];
#pragma unroll
            for (int s = 0; s < ahead; s++)
                add_pack(lane, loaded[s], first + (k + s) * EK_LANES + index, context);
        }
#pragma unroll 2
        for (; k < steps; k++)
            add_pack(lane, pack[32 * k], first + k * EK_LANES + index, context);
        index += steps * EK_LANES;
#pragma unroll
        for (int c = 0; c < EK_CUDA_PACK; c++)
            if (index + c < n)
                lane[c] =
                    Op::combine(lane[c], Op::element(x[index + c], first + index + c, context));
        return ek_fold_packed<Op>(lane, 32);
    }

    /* Rows whose elements lie one after the other. */
    EK_INLINE void rows(const ek_cuda_plane &plane)
    {
        ek_chunk at(plane.outer * plane.inner, plane.chunks, plane.n, plane.group);
        int64_t outer = plane.outer == 1 ? 0 : at.row / plane.inner;
        int64_t inner = at.row - outer * plane.inner;
        const In *x = (const In *)plane.x + at.first;
        Context context = Context();
        if (at.inside) {
            x += outer * plane.outer_x + inner * plane.inner_x;
            context = Context::of(plane.context, at.row);
        }
        End::about(context, at.n, [&](int i) { return x[i]; });
        Acc result;
        if (plane.group == 32 && Pack::fits(x)) /* the same for all threads of a warp */
            result = packed(at.n, at.thread, x, at.first, context);
        else
            result = spread(at.n, at.thread, plane.group,
                            [&](int i) { return Op::element(x[i], at.first + i, context); });
        if (!at.inside || at.thread != 0)
            return;
        Part part = End::close(result, context, at.n);
        if (plane.parts)
            ((Part *)plane.parts)[at.row * plane.chunks + at.chunk] = part;
        else
            ((Out *)plane.out)[outer * plane.outer_out + inner * plane.inner_out] =
                Op::finish(part, plane.divisor);
    }

    /* Rows of any layout. */
    EK_INLINE void strided(const ek_cuda_rows &rows)
    {
        ek_chunk at(rows.count, rows.chunks, rows.n, rows.group);
        const In *x = (const In *)rows.x;
        Context context = Context();
        if (at.inside) {
            x += ek_row_offset(at.row, rows.kept_ndim, rows.kept_shape, rows.kept_x);
            context = Context::of(rows.context, at.row);
        }
        auto load = [&](int i) { return x[ek_element_offset(rows, at.first + i)]; };
        End::about(context, at.n, load);
        Acc result = spread(at.n, at.thread, rows.group,
                            [&](int i) { return Op::element(load(i), at.first + i, context); });
        store(rows, at, End::close(result, context, at.n));
    }

    /* Results of chunks, which are the elements of the next level. */
    EK_INLINE void join(const ek_cuda_rows &rows)
    {
        ek_chunk at(rows.count, rows.chunks, rows.n, rows.group);
        const Part *from = (const Part *)rows.from + (at.inside ? at.row * rows.n + at.first : 0);
        store(rows, at, ek_reduction<Join>::spread(at.n, at.thread, rows.group, [&](int i) {
                  return from[i];
              }));
    }

    EK_INLINE void store(const ek_cuda_rows &rows, const ek_chunk &at, Part result)
    {
        if (!at.inside || at.thread != 0)
            return;
        if (rows.parts)
            ((Part *)rows.parts)[at.row * rows.chunks + at.chunk] = result;
        else
            ((Out *)
                 rows.out)[ek_row_offset(at.row, rows.kept_ndim, rows.kept_shape, rows.kept_out)] =
                Op::finish(result, rows.divisor);
    }

    /* Neighbouring rows whose first elements lie one after the other. A thread reduces some lanes
     * of some columns; the lanes of a column that lie with other threads are folded in shared
     * memory. */
    EK_INLINE void columns(const ek_cuda_plane &plane)
    {
        constexpr int width = columns_of_thread;
        __shared__ Acc shared[EK_CUDA_ROWS_THREADS * width];
        int across = plane.across, lanes = plane.lanes;
        int x_thread = (int)threadIdx.x % across, lane_thread = (int)threadIdx.x / across % lanes;
        int64_t unit = (int64_t)blockIdx.x * (EK_CUDA_ROWS_THREADS / (across * lanes)) +
                       (int)threadIdx.x / (across * lanes);
        int64_t tiles = (plane.inner - 1) / (across * width) + 1;
        int64_t chunk = unit / tiles, tile = unit - chunk * tiles;
        int64_t outer = chunk / plane.chunks;
        chunk -= outer * plane.chunks;
        int64_t first = chunk * EK_CHUNK;
        int n = outer < plane.outer ? (int)ek_smaller(plane.n - first, EK_CHUNK) : 0;
        /* Packed columns lie side by side, others a block's width apart. */
        int64_t column = tile * (across * width) + x_thread * (plane.packed ? width : 1);
        int apart = plane.packed ? 1 : across;
        int64_t row = outer * plane.inner + column;
        const In *x = (const In *)plane.x + outer * plane.outer_x + first * plane.step + column;
        Context context[width];
        Acc lane[EK_CUDA_THREAD_LANES][width];
#pragma unroll
        for (int v = 0; v < width; v++) {
            bool inside = n > 0 && column + v * apart < plane.inner;
            context[v] = inside ? Context::of(plane.context, row + v * apart) : Context();
            End::about(context[v], inside ? n : 0,
                       [&](int i) { return x[i * plane.step + v * apart]; });
#pragma unroll
            for (int i = 0; i < EK_CUDA_THREAD_LANES; i++)
                lane[i][v] = Op::identity();
        }
        int64_t count = plane.inner - column;
        if (plane.packed && count > 0)
            walk<true>(n, lanes, lane_thread, plane.step, apart, count, x, first, context, lane);
        else if (count > 0)
            walk<false>(n, lanes, lane_thread, plane.step, apart, count, x, first, context, lane);
        fold_columns(lane, lanes, lane_thread, across, shared);
        if (lane_thread != 0 || n == 0)
            return;
#pragma unroll
        for (int v = 0; v < width; v++) {
            if (v * apart >= count)
                continue;
            Part part = End::close(lane[0][v], context[v], n);
            if (plane.parts)
                ((Part *)plane.parts)[(row + v * apart) * plane.chunks + chunk] = part;
            else
                ((Out *)
                     plane.out)[outer * plane.outer_out + (column + v * apart) * plane.inner_out] =
                    Op::finish(part, plane.divisor);
        }
    }

    /* The rows of a thread's lanes: lane i is number i * lanes + lane_thread. */
    template <bool pack>
    EK_INLINE void walk(int n, int lanes, int lane_thread, int64_t step, int apart, int64_t count,
                        const In *x, int64_t first, const Context *context,
                        Acc (&lane)[EK_CUDA_THREAD_LANES][columns_of_thread])
    {
        constexpr int width = columns_of_thread;
        for (int k = lane_thread; k < n; k += EK_CUDA_THREAD_LANES * lanes) {
            /* Rows past the end repeat the last one and count as identities, so that all
             * loads are unconditional and under way together. */
            ek_row_pack<In, width> loaded[EK_CUDA_THREAD_LANES];
#pragma unroll
            for (int i = 0; i < EK_CUDA_THREAD_LANES; i++) {
                const In *from = x + (int64_t)min(k + i * lanes, n - 1) * step;
                if (pack) {
                    loaded[i] = *(const ek_row_pack<In, width> *)from;
                } else {
#pragma unroll
                    for (int v = 0; v < width; v++)
                        loaded[i].at[v] = from[v * apart < count ? v * apart : 0];
                }
            }
#pragma unroll
            for (int i = 0; i < EK_CUDA_THREAD_LANES; i++) {
#pragma unroll
                for (int v = 0; v < width; v++) {
                    Acc element = Op::element(loaded[i].at[v], first + k + i * lanes, context[v]);
                    if (k + i * lanes >= n)
                        element = Op::identity();
                    lane[i][v] = Op::combine(lane[i][v], element);
                }
            }
        }
    }

    EK_INLINE void fold_columns(Acc (&lane)[EK_CUDA_THREAD_LANES][columns_of_thread], int lanes,
                                int lane_thread, int across, Acc *shared)
    {
        constexpr int width = columns_of_thread;
#pragma unroll
        for (int half = EK_CUDA_THREAD_LANES / 2; half > 0; half /= 2) {
#pragma unroll
            for (int i = 0; i < half; i++) {
#pragma unroll
                for (int v = 0; v < width; v++)
                    lane[i][v] = Op::combine(lane[i][v], lane[i + half][v]);
            }
        }
        for (int half = lanes / 2; half > 0; half /= 2) {
            __syncthreads();
#pragma unroll
            for (int v = 0; v < width; v++)
                shared[v * EK_CUDA_ROWS_THREADS + threadIdx.x] = lane[0][v];
            __syncthreads();
            if (lane_thread >= half)
                continue;
#pragma unroll
            for (int v = 0; v < width; v++)
                lane[0][v] = Op::combine(
                    lane[0][v], shared[v * EK_CUDA_ROWS_THREADS + threadIdx.x + half * across]);
        }
    }
};

#endif
