/* Kernels of scans, in the order of src/prefixes.h. Op has the types In, Acc and Out and the
 * functions load(x), combine(a, b) and store(a). */
#ifndef EK_CUDA_SCAN_CUH
#define EK_CUDA_SCAN_CUH

#include "cuda/rows.cuh"
#include "cuda/scan_args.h"
#include "cuda/scan_state.cuh"
#include "prefixes.h"

#define EK_SCAN_ROWS_KERNEL(name, accumulator)                                                     \
    extern "C" __global__ void __launch_bounds__(32 * EK_SCAN_WARPS,                               \
                                                 EK_SCAN_BLOCKS(sizeof(accumulator))) name
#define EK_SCAN_COLUMNS_KERNEL(name, accumulator)                                                  \
    extern "C" __global__ void __launch_bounds__(EK_SCAN_COLUMN_THREADS(sizeof(accumulator))) name

/* The last place of the half before, for a place whose number has the bit `half`. */
EK_INLINE constexpr int ek_before(int place, int half)
{
    return (place & -2 * half) | (half - 1);
}

/* A row whose elements are a constant step apart. */
template <typename Op> struct ek_scan_steps {
    const typename Op::In *x;
    typename Op::Out *out;
    int64_t step, out_step;

    __device__ __forceinline__ typename Op::In load(int64_t i) const
    {
        return x[i * step];
    }
    __device__ __forceinline__ void store(int64_t i, typename Op::Out result) const
    {
        out[i * out_step] = result;
    }
};

template <typename Op> struct ek_scan {
    using In = typename Op::In;
    using Acc = typename Op::Acc;
    using Out = typename Op::Out;
    using Pack = ek_row_pack<In, EK_CUDA_PACK>;
    using OutPack = ek_row_pack<Out, EK_CUDA_PACK>;
    using Steps = ek_scan_steps<Op>;
    using Spans = ek_scan_spans<Op>;

    static constexpr int packs = EK_SCAN_PACKS;
    static constexpr int pack_row = EK_SCAN_PACK_ROW;
    static constexpr int group_lanes = EK_GROUP / EK_CUDA_PACK;

    /* `count` places of one thread. */
    template <int count> EK_INLINE void by_halves(Acc *v)
    {
#pragma unroll
        for (int half = 1; half < count; half *= 2) {
#pragma unroll
            for (int i = 0; i < count; i++)
                if (i & half)
                    v[i] = Op::combine(v[ek_before(i, half)], v[i]);
        }
    }

    EK_INLINE void take_in(Acc before, Acc *v)
    {
#pragma unroll
        for (int c = 0; c < EK_CUDA_PACK; c++)
            v[c] = Op::combine(before, v[c]);
    }

    /* ---- rows in packs: those of the lanes of a warp lie side by side */

    /* The groups of four lanes; of fewer if a row has no more. */
    EK_INLINE void scan_groups(Acc *v, int lane, int lanes)
    {
        by_halves<EK_CUDA_PACK>(v);
#pragma unroll
        for (int half = 1; half < group_lanes; half *= 2) {
            if (half >= lanes)
                break;
            Acc before = ek_shuffle_from(v[EK_CUDA_PACK - 1], ek_before(lane, half));
            if (lane & half)
                take_in(before, v);
        }
    }

    /* The totals of groups, which lie in the last lane of each. */
    EK_INLINE Acc scan_totals(Acc last, int lane, int lanes)
    {
#pragma unroll
        for (int half = group_lanes; half < 32; half *= 2) {
            if (half >= lanes)
                break;
            Acc before = ek_shuffle_from(last, ek_before(lane, half));
            if (lane & half)
                last = Op::combine(before, last);
        }
        return last;
    }

    /* A chunk, or what of it fits one pack of each of `lanes` lanes. */
    template <int count> EK_INLINE void scan_chunk(Acc (*v)[EK_CUDA_PACK], int lane, int lanes)
    {
        int before = (lane & -group_lanes) - 1;
        Acc total = Acc();
#pragma unroll
        for (int k = 0; k < count; k++)
            scan_groups(v[k], lane, lanes);
        if (lanes <= group_lanes)
            return;
#pragma unroll
        for (int k = 0; k < count; k++) {
            Acc half = total;
            total = scan_totals(v[k][EK_CUDA_PACK - 1], lane, lanes);
            if (k > 0) {
                half = ek_shuffle_from(half, 31);
                total = Op::combine(half, total);
            }
            Acc groups = ek_shuffle_from(total, before & 31);
            if ((before & (lanes - 1)) != lanes - 1)
                take_in(groups, v[k]);
            else if (k > 0)
                take_in(half, v[k]);
        }
    }

    /* Room for an element or a result. */
    union Exchange {
        In element;
        Out result;
    };

    /* What the lanes of a row have of it: a part of their warp's, which begins where it does for
     * every type, since no other warp waits. */
    template <typename T> EK_INLINE T *room_of(Exchange *exchange, int lanes)
    {
        int warp = (int)threadIdx.x & ~31, first = (int)threadIdx.x & 31 & ~(lanes - 1);
        return (T *)(exchange + warp * EK_CUDA_PACK) + first * EK_CUDA_PACK;
    }

    /* Element i of neighbouring threads' packs comes from a neighbour of element i of this one's;
     * so packs that cannot be loaded at once are loaded element by element, in lines all the same,
     * and change hands in shared memory. */
    template <typename T> EK_INLINE void to_packs(Exchange *exchange, T *v, int lane, int lanes)
    {
        T *row = room_of<T>(exchange, lanes);
        __syncwarp();
#pragma unroll
        for (int c = 0; c < EK_CUDA_PACK; c++)
            row[c * lanes + lane] = v[c];
        __syncwarp();
#pragma unroll
        for (int c = 0; c < EK_CUDA_PACK; c++)
            v[c] = row[lane * EK_CUDA_PACK + c];
    }

    template <typename T> EK_INLINE void from_packs(Exchange *exchange, T *v, int lane, int lanes)
    {
        T *row = room_of<T>(exchange, lanes);
        __syncwarp();
#pragma unroll
        for (int c = 0; c < EK_CUDA_PACK; c++)
            row[lane * EK_CUDA_PACK + c] = v[c];
        __syncwarp();
#pragma unroll
        for (int c = 0; c < EK_CUDA_PACK; c++)
            v[c] = row[c * lanes + lane];
    }

    /* `passing`: of long rows, which fill the caches. */
    template <bool passing> EK_INLINE void load_pack(const In *x, int i, int n, Pack *pack)
    {
        if (i + EK_CUDA_PACK <= n) {
            *pack = passing ? ek_load_passing<Pack>(x + i) : *(const Pack *)(x + i);
        } else {
#pragma unroll
            for (int c = 0; c < EK_CUDA_PACK; c++)
                if (i + c < n)
                    pack->at[c] = x[i + c];
        }
    }

    template <bool passing> EK_INLINE void store_pack(Out *out, int i, int n, const Acc *v)
    {
        OutPack pack;
#pragma unroll
        for (int c = 0; c < EK_CUDA_PACK; c++)
            pack.at[c] = Op::store(v[c]);
        if (i + EK_CUDA_PACK <= n && passing) {
            ek_store_passing(out + i, pack);
        } else if (i + EK_CUDA_PACK <= n) {
            *(OutPack *)(out + i) = pack;
        } else {
#pragma unroll
            for (int c = 0; c < EK_CUDA_PACK; c++)
                if (i + c < n)
                    out[i + c] = pack.at[c];
        }
    }

    EK_INLINE void open_pack(const Pack &pack, Acc *v)
    {
#pragma unroll
        for (int c = 0; c < EK_CUDA_PACK; c++)
            v[c] = Op::load(pack.at[c]);
    }

    EK_INLINE Steps steps_of(const ek_cuda_plane &plane, int64_t row)
    {
        int64_t outer = plane.outer == 1 ? 0 : row / plane.inner;
        int64_t inner = row - outer * plane.inner;
        Steps at = {(const In *)plane.x + outer * plane.outer_x + inner * plane.inner_x,
                    (Out *)plane.out + outer * plane.outer_out + inner * plane.inner_out,
                    plane.step, plane.out_step};
        return at;
    }

    /* Rows of at most EK_SCAN_SHORT_ROW elements: some lanes each, with `count` packs of a row.
     * More than one must be packed. */
    template <int count> EK_INLINE void short_rows(const ek_cuda_plane &plane, Exchange *exchange)
    {
        constexpr int rows = EK_SCAN_SHORT_PACKS / count;
        bool packed = count > 1 || plane.packed;
        int lanes = plane.group, lane = (int)threadIdx.x & (lanes - 1), n = (int)plane.n;
        int64_t per_pass = EK_CUDA_ROWS_THREADS >> (31 - __clz(lanes));
        int64_t first =
            (int64_t)blockIdx.x * per_pass * rows + ((int)threadIdx.x >> (31 - __clz(lanes)));
        int64_t all = plane.outer * plane.inner;
        Pack loaded[rows][count];
#pragma unroll
        for (int r = 0; r < rows; r++) {
            int64_t row = first + r * per_pass;
            Steps at = steps_of(plane, row);
            int inside = row < all ? n : 0;
#pragma unroll
            for (int k = 0; k < count; k++) {
                loaded[r][k] = Pack();
                if (packed) {
                    load_pack<false>(at.x, k * pack_row + EK_CUDA_PACK * lane, inside,
                                     &loaded[r][k]);
                    continue;
                }
#pragma unroll
                for (int c = 0; c < EK_CUDA_PACK; c++) {
                    int i = k * pack_row + c * lanes + lane;
                    if (i < inside)
                        loaded[r][k].at[c] = at.load(i);
                }
            }
        }
#pragma unroll
        for (int r = 0; r < rows; r++) {
            int64_t row = first + r * per_pass;
            Steps at = steps_of(plane, row);
            int inside = row < all ? n : 0;
            Acc v[count][EK_CUDA_PACK];
#pragma unroll
            for (int k = 0; k < count; k++) {
                if (!packed)
                    to_packs(exchange, loaded[r][k].at, lane, lanes);
                open_pack(loaded[r][k], v[k]);
            }
            constexpr int chunk = count < 2 ? count : 2;
#pragma unroll
            for (int k = 0; k < count; k += chunk)
                scan_chunk<chunk>(v + k, (int)threadIdx.x & 31, lanes);
            if (count > chunk) {
                Acc before = ek_shuffle_from(v[chunk - 1][EK_CUDA_PACK - 1], 31);
#pragma unroll
                for (int k = chunk; k < count; k++)
                    take_in(before, v[k]);
            }
#pragma unroll
            for (int k = 0; k < count; k++) {
                if (packed) {
                    store_pack<false>(at.out, k * pack_row + EK_CUDA_PACK * lane, inside, v[k]);
                    continue;
                }
                Out result[EK_CUDA_PACK];
#pragma unroll
                for (int c = 0; c < EK_CUDA_PACK; c++)
                    result[c] = Op::store(v[k][c]);
                from_packs(exchange, result, lane, lanes);
#pragma unroll
                for (int c = 0; c < EK_CUDA_PACK; c++) {
                    int i = k * pack_row + c * lanes + lane;
                    if (i < inside)
                        at.store(i, result[c]);
                }
            }
        }
    }

    EK_INLINE void groups(const ek_cuda_plane &plane)
    {
        __shared__ Exchange shared[EK_CUDA_ROWS_THREADS * EK_CUDA_PACK];
        if (plane.n <= pack_row)
            short_rows<1>(plane, shared);
        else if (plane.n <= 2 * pack_row)
            short_rows<2>(plane, shared);
        else
            short_rows<4>(plane, shared);
    }

    /* The span `number` of a row, or a shorter row, from what a block holds of it alone to its
     * place in the row; exchange(total) gives what is before it. */
    template <typename Exchange>
    EK_INLINE void span(Acc (*v)[EK_CUDA_PACK], int64_t number, const Exchange &exchange)
    {
        constexpr int own = packs / 2; /* chunks of a warp */
        __shared__ Acc totals[EK_SPAN_CHUNKS], after[EK_SPAN_CHUNKS];
        __shared__ typename Spans::Before shared;
        int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
#pragma unroll
        for (int k = 0; k < own; k++) {
            scan_chunk<2>(v + 2 * k, lane, 32);
            if (lane == 31)
                totals[own * warp + k] = v[2 * k + 1][EK_CUDA_PACK - 1];
        }
        __syncthreads();
        if (warp == 0) {
            int chunks = own * (int)blockDim.x / 32;
            Acc total = ek_scan_chain<Op>(totals[lane & (chunks - 1)], lane, chunks);
            if (lane < chunks)
                after[lane] = total;
            if (lane == chunks - 1)
                shared = exchange(total);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < own; k++) {
            if (own * warp + k > 0) {
                Acc before = after[own * warp + k - 1];
                take_in(before, v[2 * k]);
                take_in(before, v[2 * k + 1]);
            }
        }
        if (number % EK_STRETCH_SPANS > 0) {
            Acc before = shared.spans;
#pragma unroll
            for (int k = 0; k < packs; k++)
                take_in(before, v[k]);
        }
        if (number >= EK_STRETCH_SPANS) {
            Acc before = shared.stretches;
#pragma unroll
            for (int k = 0; k < packs; k++)
                take_in(before, v[k]);
        }
    }

    /* The span `number` of a row of packs. */
    template <typename Exchange>
    EK_INLINE void span_of(const Steps &steps, int64_t n, int64_t number, const Exchange &exchange)
    {
        int at = (int)threadIdx.x / 32 * (packs * pack_row) + (int)threadIdx.x % 32 * EK_CUDA_PACK;
        int inside = (int)ek_smaller(n - number * EK_SPAN, EK_SPAN);
        Pack loaded[packs] = {};
        Acc v[packs][EK_CUDA_PACK];
#pragma unroll
        for (int k = 0; k < packs; k++)
            load_pack<true>(steps.x + number * EK_SPAN, at + k * pack_row, inside, &loaded[k]);
#pragma unroll
        for (int k = 0; k < packs; k++)
            open_pack(loaded[k], v[k]);
        span(v, number, exchange);
#pragma unroll
        for (int k = 0; k < packs; k++)
            store_pack<true>(steps.out + number * EK_SPAN, at + k * pack_row, inside, v[k]);
    }

    /* Rows of packs: a block has one. */
    EK_INLINE void rows(const ek_cuda_plane &plane)
    {
        Steps steps = steps_of(plane, blockIdx.x);
        typename Spans::Before carry = {};
        for (int64_t number = 0; number < plane.chunks; number++)
            span_of(steps, plane.n, number, [&](Acc total) {
                typename Spans::Before before = carry;
                carry.advance(number, total);
                return before;
            });
    }

    /* The same where rows are few: a block has a span of one. */
    EK_INLINE void spans(const ek_cuda_plane &plane)
    {
        int64_t rows = plane.outer * plane.inner, unit = ek_scan_unit(plane.parts) - 1;
        if (unit < 0) {
            Spans::chain(plane.parts, rows, plane.chunks);
            return;
        }
        int64_t row = unit / plane.chunks, number = unit - row * plane.chunks;
        span_of(steps_of(plane, row), plane.n, number, [&](Acc total) {
            return Spans::exchange(plane.parts, rows * plane.chunks, unit, number, total);
        });
    }

    /* A function of its own, or the compiler would write it out for each element of a thread. */
    static __device__ __noinline__ int64_t offset_of(const ek_cuda_rows &rows, int64_t i)
    {
        return ek_row_offset(i, rows.row_ndim, rows.row_shape, rows.row_x);
    }

    /* Rows of any layout. */
    EK_INLINE void strided(const ek_cuda_rows &rows)
    {
        __shared__ Exchange exchange[32 * EK_SCAN_WARPS * EK_CUDA_PACK];
        int64_t unit = ek_scan_unit(rows.parts) - (rows.parts != nullptr);
        if (unit < 0) {
            Spans::chain(rows.parts, rows.count, rows.chunks);
            return;
        }
        int64_t row = rows.chunks == 1 ? unit : unit / rows.chunks;
        int64_t number = unit - row * rows.chunks, first = number * EK_SPAN;
        int64_t step = rows.row_ndim > 0 ? rows.row_x[0] : 0;
        int n = (int)ek_smaller(rows.n - first, EK_SPAN), lane = (int)threadIdx.x % 32;
        int at = (int)threadIdx.x / 32 * (packs * pack_row) + lane;
        const In *x =
            (const In *)rows.x + ek_row_offset(row, rows.kept_ndim, rows.kept_shape, rows.kept_x);
        Out *out =
            (Out *)rows.out + ek_row_offset(row, rows.kept_ndim, rows.kept_shape, rows.kept_out);
        Pack loaded[packs];
        Acc v[packs][EK_CUDA_PACK];
#pragma unroll
        for (int k = 0; k < packs; k++) {
#pragma unroll
            for (int c = 0; c < EK_CUDA_PACK; c++) {
                int i = at + k * pack_row + c * 32;
                if (i < n && rows.row_ndim > 1)
                    loaded[k].at[c] = x[offset_of(rows, first + i)];
                else
                    loaded[k].at[c] = i < n ? x[(first + i) * step] : In();
            }
        }
#pragma unroll
        for (int k = 0; k < packs; k++) {
            to_packs(exchange, loaded[k].at, lane, 32);
            open_pack(loaded[k], v[k]);
        }
        span(v, number, [&](Acc total) {
            typename Spans::Before none = {};
            if (!rows.parts)
                return none;
            return Spans::exchange(rows.parts, rows.count * rows.chunks, unit, number, total);
        });
#pragma unroll
        for (int k = 0; k < packs; k++) {
            Out result[EK_CUDA_PACK];
#pragma unroll
            for (int c = 0; c < EK_CUDA_PACK; c++)
                result[c] = Op::store(v[k][c]);
            from_packs(exchange, result, lane, 32);
#pragma unroll
            for (int c = 0; c < EK_CUDA_PACK; c++) {
                int i = at + k * pack_row + c * 32;
                if (i < n)
                    out[(first + i) * rows.out_step] = result[c];
            }
        }
    }

    /* ---- columns: a thread has a group of some columns */

    static constexpr int width = EK_SCAN_COLUMNS(sizeof(Acc));
    static constexpr int threads = EK_SCAN_COLUMN_THREADS(sizeof(Acc));
    using Side = ek_row_pack<In, width>;
    using OutSide = ek_row_pack<Out, width>;

    /* What the chunks before one come to: those of its span, the spans of its stretch before that,
     * the stretches before that. */
    struct Carry {
        Acc chunks, spans, stretches;

        __device__ __forceinline__ void advance(int64_t chunk, Acc total)
        {
            chunk++;
            chunks = chunk % EK_SPAN_CHUNKS == 1 ? total : Op::combine(chunks, total);
            if (chunk % EK_SPAN_CHUNKS)
                return;
            chunk /= EK_SPAN_CHUNKS;
            spans = chunk % EK_STRETCH_SPANS == 1 ? chunks : Op::combine(spans, chunks);
            if (chunk % EK_STRETCH_SPANS)
                return;
            stretches = chunk == EK_STRETCH_SPANS ? spans : Op::combine(stretches, spans);
        }

        __device__ __forceinline__ Acc apply(int64_t chunk, Acc v) const
        {
            if (chunk % EK_SPAN_CHUNKS)
                v = Op::combine(chunks, v);
            if (chunk / EK_SPAN_CHUNKS % EK_STRETCH_SPANS)
                v = Op::combine(spans, v);
            if (chunk >= EK_SPAN_CHUNKS * EK_STRETCH_SPANS)
                v = Op::combine(stretches, v);
            return v;
        }
    };

    /* Columns side by side that some threads have: `across` in a row, `lanes` for a chunk. */
    struct Strip {
        const In *x;
        Out *out;
        int64_t step, out_step;
        int across, lanes, thread, x_thread, lane_thread;
        int apart, count; /* columns of a thread: how far apart, and how far there are any */
        bool packed;
        int64_t place; /* of its first column among all */
    };

    EK_INLINE Strip strip_of(const ek_cuda_plane &plane, int64_t number, int64_t outer)
    {
        Strip strip;
        strip.across = plane.across;
        strip.lanes = plane.lanes;
        strip.thread = (int)threadIdx.x & (plane.across * plane.lanes - 1);
        strip.x_thread = strip.thread & (plane.across - 1);
        strip.lane_thread = strip.thread / plane.across;
        strip.packed = plane.packed != 0;
        strip.apart = plane.packed ? 1 : plane.across;
        int64_t column =
            number * (plane.across * width) + strip.x_thread * (plane.packed ? width : 1);
        int64_t count = outer < plane.outer ? plane.inner - column : 0;
        strip.count = (int)ek_smaller(count, plane.across * width);
        strip.x = (const In *)plane.x + outer * plane.outer_x + column;
        strip.out = (Out *)plane.out + outer * plane.outer_out + column;
        strip.step = plane.step;
        strip.out_step = plane.out_step;
        return strip;
    }

    EK_INLINE void load_group(const Strip &strip, int64_t chunk, int64_t n, Side *loaded)
    {
        int64_t first = chunk * EK_SCAN_CHUNK + strip.lane_thread * EK_GROUP;
        int rows = strip.count > 0 ? (int)ek_smaller(n - first, EK_GROUP) : 0;
        const In *x = strip.x + first * strip.step;
#pragma unroll
        for (int i = 0; i < EK_GROUP; i++, x += strip.step) {
            loaded[i] = Side();
            if (i >= rows)
                continue;
            if (strip.packed) {
                loaded[i] = *(const Side *)x;
            } else {
#pragma unroll
                for (int w = 0; w < width; w++)
                    if (w * strip.apart < strip.count)
                        loaded[i].at[w] = x[w * strip.apart];
            }
        }
    }

    EK_INLINE void store_group(const Strip &strip, int64_t chunk, int64_t n, Acc (*v)[EK_GROUP])
    {
        int64_t first = chunk * EK_SCAN_CHUNK + strip.lane_thread * EK_GROUP;
        int rows = strip.count > 0 ? (int)ek_smaller(n - first, EK_GROUP) : 0;
        Out *out = strip.out + first * strip.out_step;
#pragma unroll
        for (int i = 0; i < EK_GROUP; i++, out += strip.out_step) {
            OutSide result;
#pragma unroll
            for (int w = 0; w < width; w++)
                result.at[w] = Op::store(v[w][i]);
            if (i >= rows)
                continue;
            if (strip.packed) {
                *(OutSide *)out = result;
            } else {
#pragma unroll
                for (int w = 0; w < width; w++)
                    if (w * strip.apart < strip.count)
                        out[w * strip.apart] = result.at[w];
            }
        }
    }

    /* Groups of a chunk in shared memory, so padded that a warp may walk along either side. */
    static constexpr int padding = sizeof(Acc) > 4 ? 1 : 2;
    static constexpr int slots = threads * (width + padding);

    /* Scans the groups of a chunk of a strip. `totals` is the strip's part of the shared memory;
     * all threads of the block take part. */
    EK_INLINE void scan_strip(const Strip &strip, const Side *loaded, Acc *totals,
                              Acc (*v)[EK_GROUP])
    {
        int row = strip.across * width + padding;
#pragma unroll
        for (int w = 0; w < width; w++) {
#pragma unroll
            for (int i = 0; i < EK_GROUP; i++)
                v[w][i] = Op::load(loaded[i].at[w]);
            by_halves<EK_GROUP>(v[w]);
            totals[strip.lane_thread * row + strip.x_thread + w * strip.across] =
                v[w][EK_GROUP - 1];
        }
        if (strip.lanes == 1)
            return;
        __syncthreads();
        /* For a moment neighbouring threads have neighbouring groups. */
        int lane = strip.thread & (strip.lanes - 1), column = strip.thread / strip.lanes;
#pragma unroll
        for (int w = 0; w < width; w++) {
            Acc *at = totals + lane * row + column + w * strip.across;
            Acc total = *at;
#pragma unroll
            for (int half = 1; half < EK_SCAN_GROUPS; half *= 2) {
                if (half >= strip.lanes)
                    break;
                Acc before = ek_shuffle_from(total, ek_before((int)threadIdx.x & 31, half));
                if (lane & half)
                    total = Op::combine(before, total);
            }
            *at = total;
        }
        __syncthreads();
        if (strip.lane_thread == 0)
            return;
#pragma unroll
        for (int w = 0; w < width; w++) {
            Acc before = totals[(strip.lane_thread - 1) * row + strip.x_thread + w * strip.across];
#pragma unroll
            for (int i = 0; i < EK_GROUP; i++)
                v[w][i] = Op::combine(before, v[w][i]);
        }
    }

    EK_INLINE void apply(const Carry *carry, int64_t chunk, Acc (*v)[EK_GROUP])
    {
#pragma unroll
        for (int w = 0; w < width; w++) {
#pragma unroll
            for (int i = 0; i < EK_GROUP; i++)
                v[w][i] = carry[w].apply(chunk, v[w][i]);
        }
    }

    /* A block goes down strips of columns, and loads a chunk while it scans the one before. */
    EK_INLINE void strips(const ek_cuda_plane &plane)
    {
        __shared__ Acc totals[2][slots];
        __shared__ Carry carries[2][threads * width];
        int unit_threads = plane.across * plane.lanes, own = (int)threadIdx.x / unit_threads;
        int64_t unit = (int64_t)blockIdx.x * (threads / unit_threads) + own;
        int64_t across = (plane.inner - 1) / (plane.across * width) + 1, outer = unit / across;
        Strip strip = strip_of(plane, unit - outer * across, outer);
        int slot = own * strip.lanes * (strip.across * width + padding);
        int place = own * (strip.across * width) + strip.x_thread;
        Side loaded[EK_GROUP];
        load_group(strip, 0, plane.n, loaded);
        for (int64_t chunk = 0; chunk < plane.chunks; chunk++) {
            Acc v[width][EK_GROUP];
            Carry carry[width];
            scan_strip(strip, loaded, totals[chunk & 1] + slot, v);
            if (chunk + 1 < plane.chunks)
                load_group(strip, chunk + 1, plane.n, loaded);
            if (plane.chunks > 1) {
#pragma unroll
                for (int w = 0; w < width; w++) {
                    carry[w] = Carry();
                    if (chunk > 0)
                        carry[w] = carries[chunk & 1][place + w * strip.across];
                    Carry after = carry[w];
                    after.advance(chunk, v[w][EK_GROUP - 1]);
                    if (strip.lane_thread == EK_SCAN_GROUPS - 1)
                        carries[chunk + 1 & 1][place + w * strip.across] = after;
                }
                apply(carry, chunk, v);
            }
            store_group(strip, chunk, plane.n, v);
        }
    }

    /* The same where strips are few: a block has a chunk of one. */
    EK_INLINE void columns(const ek_cuda_plane &plane)
    {
        __shared__ Acc totals[slots];
        __shared__ Carry carries[threads * width];
        int unit_threads = plane.across * plane.lanes, own = (int)threadIdx.x / unit_threads;
        int64_t unit = ek_scan_unit(plane.parts) * (threads / unit_threads) + own;
        int64_t across = (plane.inner - 1) / (plane.across * width) + 1;
        int64_t chunk = unit / across, number = unit - chunk * across, outer = chunk / plane.chunks;
        chunk -= outer * plane.chunks;
        Strip strip = strip_of(plane, number, outer);
        int slot = own * strip.lanes * (strip.across * width + padding);
        int place = own * (strip.across * width) + strip.x_thread;
        Side loaded[EK_GROUP];
        Acc v[width][EK_GROUP];
        Carry carry[width];
        load_group(strip, chunk, plane.n, loaded);
        scan_strip(strip, loaded, totals + slot, v);
        if (strip.lane_thread == EK_SCAN_GROUPS - 1) {
#pragma unroll
            for (int w = 0; w < width; w++) {
                using Words = ek_scan_columns<Carry, Op>;
                int64_t column = unit * (strip.across * width) + strip.x_thread + w * strip.across;
                carries[place + w * strip.across] =
                    Words::exchange(Words::at(plane.parts, column), across * (strip.across * width),
                                    chunk, v[w][EK_GROUP - 1], strip.count > 0);
            }
        }
        __syncthreads();
#pragma unroll
        for (int w = 0; w < width; w++)
            carry[w] = carries[place + w * strip.across];
        apply(carry, chunk, v);
        store_group(strip, chunk, plane.n, v);
    }
};

#endif
