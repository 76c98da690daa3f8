/* Kernels of reductions. Op is what becomes of chunks: types Acc, of their results, and Out, and
 * functions identity(), combine(a, b) and finish(a, divisor). Lanes says what becomes of elements
 * (cuda/lanes.cuh); for ek_plain_lanes Op also has the types In and Context and
 * element(x, index, context). Context::of(memory, row) is what elements need of their row. Memory
 * says where elements are: in one array, or pairs of them in two (cuda/contraction.cuh). */
#ifndef EK_CUDA_REDUCTION_CUH
#define EK_CUDA_REDUCTION_CUH

#include "cuda/lanes.cuh"

/* Two blocks must fit a multiprocessor, or one waits for memory while none computes. */
#define EK_REDUCTION_KERNEL extern "C" __global__ void __launch_bounds__(EK_CUDA_ROWS_THREADS, 2)

/* What operations have that need nothing of a row but its elements. */
struct ek_no_context {
    EK_INLINE ek_no_context of(const void *, int64_t)
    {
        return ek_no_context();
    }
};

/* The elements of one array. */
template <typename In> struct ek_one_array {
    /* What may be copied to shared memory as it lies. */
    static constexpr bool staged = true;

    /* Elements one after the other. */
    template <int count> struct Elements {
        const In *x;

        __device__ __forceinline__ ek_row_pack<In, count> pack(int i) const
        {
            /* A complex element may be at half a pack's alignment. */
            if constexpr (count == 1)
                return {{x[i]}};
            else
                return *(const ek_row_pack<In, count> *)(x + i);
        }
        __device__ __forceinline__ ek_row_words<count> words(int i) const
        {
            return *(const ek_row_words<count> *)(x + i);
        }
        __device__ __forceinline__ In at(int i) const
        {
            return x[i];
        }
    };

    /* Those of a row from `first` on. */
    template <int count>
    EK_INLINE Elements<count> row(const ek_cuda_plane &plane, int64_t row, int64_t first)
    {
        int64_t outer = plane.outer == 1 ? 0 : row / plane.inner;
        return {(const In *)plane.x + outer * plane.outer_x +
                (row - outer * plane.inner) * plane.inner_x + first};
    }

    /* Elements anywhere. */
    struct Strided {
        const In *x;
        const ek_cuda_rows &rows;
        int64_t first;

        __device__ __forceinline__ Strided(const ek_cuda_rows &rows, const ek_chunk &at)
            : x((const In *)rows.x), rows(rows), first(at.first)
        {
            if (at.inside)
                x += ek_row_offset(at.row, rows.kept_ndim, rows.kept_shape, rows.kept_x);
        }
        __device__ __forceinline__ In at(int i) const
        {
            return x[ek_element_offset(rows, first + i)];
        }
        __device__ __forceinline__ ek_row_pack<In, 1> pack(int i) const
        {
            ek_row_pack<In, 1> pack = {{at(i)}};
            return pack;
        }
    };

    /* Neighbouring rows from `column` on, elements from `first` on. */
    struct Columns {
        const In *x;
        int64_t step;

        __device__ __forceinline__ Columns(const ek_cuda_plane &plane, int64_t outer,
                                           int64_t column, int64_t first)
            : x((const In *)plane.x + outer * plane.outer_x + first * plane.step + column),
              step(plane.step)
        {
        }
        /* Element i of the row `over` from the first. */
        __device__ __forceinline__ In at(int i, int64_t over) const
        {
            return x[i * step + over];
        }
        template <int count> __device__ __forceinline__ ek_row_pack<In, count> pack(int i) const
        {
            return *(const ek_row_pack<In, count> *)(x + i * step);
        }
    };
};

template <typename Op, typename Lanes = ek_plain_lanes<Op>,
          typename Memory = ek_one_array<typename Lanes::In>>
struct ek_reduction {
    using In = typename Lanes::In;
    using Acc = typename Op::Acc;
    using Out = typename Op::Out;
    using Context = typename Lanes::Context;
    using Lane = typename Lanes::Lane;
    using Columns = typename Memory::Columns;
    using Parts = ek_part_lanes<Op>;

    /* Elements of a 16-byte load, and the lanes of a thread that loads them: over whole chunks as
     * few as fill a warp, over short rows so many that folding them takes little. */
    static constexpr int wide = EK_CUDA_WIDE(sizeof(In));
    static constexpr int own = EK_CUDA_OWN(sizeof(In));
    static constexpr int own_short = EK_CUDA_OWN_SHORT(sizeof(In), Lanes::size);
    static constexpr int spread = EK_CUDA_PACK;

    static constexpr int packs_ahead = EK_CUDA_PACKS_AHEAD(sizeof(In));
    /* Bytes that are taken four at a time leave registers for more. */
    static constexpr int chunk_packs_ahead = Lanes::words ? 2 * packs_ahead : packs_ahead;
    static constexpr int scalars_ahead = EK_CUDA_SCALARS_AHEAD(sizeof(In));

    /* Results of chunks. */
    struct Results {
        const Acc *from;

        __device__ __forceinline__ Acc at(int i) const
        {
            return from[i];
        }
        __device__ __forceinline__ ek_row_pack<Acc, 1> pack(int i) const
        {
            ek_row_pack<Acc, 1> pack = {{at(i)}};
            return pack;
        }
    };

    EK_INLINE void store_in_plane(const ek_cuda_plane &plane, int64_t row, Acc result)
    {
        int64_t outer = plane.outer == 1 ? 0 : row / plane.inner;
        ((Out *)
             plane.out)[outer * plane.outer_out + (row - outer * plane.inner) * plane.inner_out] =
            Op::finish(result, plane.divisor);
    }

    /* Rows whose elements lie one after the other. */
    EK_INLINE void rows(const ek_cuda_plane &plane)
    {
        switch (plane.form) {
        case EK_CUDA_SHORT_PACKED:
            short_rows<own_short, wide, packs_ahead>(plane);
            break;
        case EK_CUDA_SHORT_SPREAD:
            short_rows<spread, 1, scalars_ahead>(plane);
            break;
        case EK_CUDA_SHORT_STAGED:
            if constexpr (Memory::staged)
                staged_rows(plane);
            break;
        case EK_CUDA_NARROW:
            chunks<own_short, wide, packs_ahead>(plane);
            break;
        case EK_CUDA_WHOLE:
            chunks<own, wide, chunk_packs_ahead>(plane);
            break;
        default:
            chunks<spread, 1, scalars_ahead>(plane);
        }
    }

    /* Rows of up to EK_LANES elements: a group has a few of them at once, whole. Packs are full if
     * there is any element in them. */
    template <int mine, int width, int loads> EK_INLINE void short_rows(const ek_cuda_plane &plane)
    {
        constexpr int packs = mine / width, ahead = EK_CUDA_SHORT_ROWS(loads, packs);
        int group = plane.group, shift = 31 - __clz(group);
        int thread = (int)threadIdx.x & (group - 1), n = (int)plane.n;
        int groups = EK_CUDA_ROWS_THREADS >> shift;
        int64_t first = (int64_t)blockIdx.x * groups * ahead + (threadIdx.x >> shift);
        int64_t count = plane.outer * plane.inner;
        ek_loaded<Lanes, width> loaded[ahead][packs];
        Context context[ahead];
#pragma unroll
        for (int r = 0; r < ahead; r++) {
            int64_t row = first + r * groups;
            if (row >= count)
                continue;
            auto x = Memory::template row<width>(plane, row, 0);
            context[r] = Context::of(plane.context, row);
            Lanes::look(context[r], n, [&](int i) { return x.at(i); });
#pragma unroll
            for (int p = 0; p < packs; p++) {
                int index = (p * group + thread) * width;
                if (index < n)
                    loaded[r][p] = ek_load_pack<Lanes, width>(x, index);
            }
        }
#pragma unroll
        for (int r = 0; r < ahead; r++) {
            int64_t row = first + r * groups;
            Lane lane[mine];
#pragma unroll
            for (int i = 0; i < mine; i++)
                lane[i] = Lanes::start((i / width * group + thread) * width + i % width);
#pragma unroll
            for (int p = 0; p < packs; p++) {
                int index = (p * group + thread) * width;
                if (index < n && row < count)
                    ek_take_pack<Lanes, width>(lane + p * width, loaded[r][p], index, 0,
                                               context[r]);
            }
            lane[0] = ek_fold_lanes<Lanes, mine, width>(lane, thread, group);
            if (thread == 0 && row < count)
                store_in_plane(plane, row, Lanes::result(lane[0], 0, n, context[r]));
        }
    }

    /* The same for rows that lie one after the other but fit no packs: a block copies plane.tile of
     * them to shared memory as they lie, and has them from there. */
    EK_INLINE void staged_rows(const ek_cuda_plane &plane)
    {
        constexpr int size = sizeof(In), loads = EK_CUDA_STAGE_BYTES / 16 / EK_CUDA_ROWS_THREADS;
        __shared__ ek_row_pack<In, wide> stage[EK_CUDA_STAGE_BYTES / 16 + 1];
        int64_t first = (int64_t)blockIdx.x * plane.tile, all = plane.outer * plane.inner;
        int n = (int)plane.n, rows = (int)ek_smaller(all - first, plane.tile), count = rows * n;
        const In *from = (const In *)plane.x + first * n;
        In *to = (In *)stage;
        /* Elements before the first 16-byte boundary, whole packs, and the rest. */
        int shift = (int)((uintptr_t)from % 16) / size;
        int before = min(shift ? wide - shift : 0, count), packs = (count - before) / wide;
        const ek_row_pack<In, wide> *pack = (const ek_row_pack<In, wide> *)(from + before);
        ek_row_pack<In, wide> *staged = stage + (shift ? 1 : 0);
        ek_row_pack<In, wide> loaded[loads];
        In edge[2];
        int own_edge = (int)threadIdx.x, after = before + packs * wide + own_edge;
#pragma unroll
        for (int i = 0; i < loads; i++) {
            int at = i * EK_CUDA_ROWS_THREADS + (int)threadIdx.x;
            if (at < packs)
                loaded[i] = pack[at];
        }
        if (own_edge < before)
            edge[0] = from[own_edge];
        if (after < count)
            edge[1] = from[after];
#pragma unroll
        for (int i = 0; i < loads; i++) {
            int at = i * EK_CUDA_ROWS_THREADS + (int)threadIdx.x;
            if (at < packs)
                staged[at] = loaded[i];
        }
        if (own_edge < before)
            to[shift + own_edge] = edge[0];
        if (after < count)
            to[shift + after] = edge[1];
        __syncthreads();
        int group = plane.group, groups = EK_CUDA_ROWS_THREADS / group;
        int thread = (int)threadIdx.x % group;
        for (int r = 0; r < rows; r += groups) {
            int row = r + (int)threadIdx.x / group;
            bool busy = row < rows;
            typename Memory::template Elements<1> x = {to + shift + (busy ? row * n : 0)};
            Context context = busy ? Context::of(plane.context, first + row) : Context();
            Acc result =
                ek_reduce_chunk<Lanes, spread, 1, 1>(busy ? n : 0, thread, group, 0, context, x);
            if (busy && thread == 0)
                store_in_plane(plane, first + row, result);
        }
    }

    /* Longer rows: a group has a chunk. Groups of a block, or blocks, share the chunks of a row:
     * plane.slots are as many groups as a row has, some of them idle. */
    template <int mine, int width, int loads> EK_INLINE void chunks(const ek_cuda_plane &plane)
    {
        constexpr int group = EK_LANES / mine, groups = EK_CUDA_ROWS_THREADS / group;
        constexpr int ahead = loads > mine / width ? loads / (mine / width) : 1;
        __shared__ Acc shared[EK_LANES];
        int thread = (int)threadIdx.x % group, slot = (int)threadIdx.x / group;
        int64_t unit = (int64_t)blockIdx.x * groups + slot;
        int64_t row = plane.slots == 1 ? unit : unit / plane.slots;
        int64_t chunk = unit - row * plane.slots, first = chunk * EK_CHUNK;
        bool busy = row < plane.outer * plane.inner && chunk < plane.chunks;
        int n = busy ? (int)ek_smaller(plane.n - first, EK_CHUNK) : 0;
        auto x = Memory::template row<width>(plane, busy ? row : 0, busy ? first : 0);
        Context context = busy ? Context::of(plane.context, row) : Context();
        Acc result =
            ek_reduce_chunk<Lanes, mine, width, ahead>(n, thread, group, first, context, x);
        bool mine_to_tell = busy && thread == 0;
        if (plane.slots == 1) {
            if (mine_to_tell)
                store_in_plane(plane, row, result);
        } else if (plane.slots <= groups) {
            if (mine_to_tell)
                shared[slot] = result;
            __syncthreads();
            if (mine_to_tell && chunk == 0)
                store_in_plane(plane, row, join_slots(shared + slot, plane.chunks, plane.slots));
        } else {
            if (mine_to_tell)
                ((Acc *)plane.parts)[row * plane.chunks + chunk] = result;
            if (plane.tickets)
                join_if_last(plane, row, chunk / groups, groups, shared);
        }
    }

    /* The results of the chunks of a row that one block has. */
    EK_INLINE Acc join_slots(Acc *part, int64_t count, int64_t slots)
    {
#pragma unroll 1
        for (int half = (int)slots / 2; half > 0; half /= 2) {
            for (int i = 0; i < half && i + half < count; i++)
                part[i] = Op::combine(part[i], part[i + half]);
            count = half;
        }
        return part[0];
    }

    /* A block has the results of some chunks of a row in plane.parts. Who is last to do so of those
     * whose results belong together joins them, and does the same on the next level of the tree.
     * Who is last depends on chance, what comes out does not. */
    EK_INLINE void join_if_last(const ek_cuda_plane &plane, int64_t row, int64_t block, int groups,
                                Acc *shared)
    {
        uint32_t *tickets = plane.tickets;
        Acc *parts = (Acc *)plane.parts;
        int64_t rows = plane.outer * plane.inner, count = plane.chunks;
        /* Arrivals that complete EK_CHUNK results. */
        int64_t arrivals = EK_CHUNK / groups;
        int64_t all = (count - 1) / groups + 1;
        for (;;) {
            int64_t sets = (count - 1) / EK_CHUNK + 1, set = block / arrivals;
            int64_t expected = ek_smaller(all - set * arrivals, arrivals);
            if (!is_last(&tickets[row * sets + set], (uint32_t)expected))
                return;
            int n = (int)ek_smaller(count - set * EK_CHUNK, EK_CHUNK);
            Acc result = join_parts(parts + row * count + set * EK_CHUNK, n, shared);
            if (sets == 1) {
                if (threadIdx.x == 0)
                    store_in_plane(plane, row, result);
                return;
            }
            tickets += rows * sets;
            parts += rows * count;
            if (threadIdx.x == 0)
                parts[row * sets + set] = result;
            count = all = sets;
            block = set;
            arrivals = EK_CHUNK;
        }
    }

    /* True in the last of `expected` blocks to come here, which then sees what all of them wrote.
     * The ticket is 0 again after it. */
    EK_INLINE bool is_last(uint32_t *ticket, uint32_t expected)
    {
        __syncthreads();
        bool last = false;
        if (threadIdx.x == 0) {
            __threadfence();
            last = atomicInc(ticket, expected - 1) == expected - 1;
            __threadfence();
        }
        return __syncthreads_or(last);
    }

    /* n results of chunks, by the whole block; its first thread has the result. */
    EK_INLINE Acc join_parts(const Acc *from, int n, Acc *shared)
    {
        constexpr int ahead = sizeof(Acc) > 8 ? 4 : 8;
        Acc lane = Op::identity();
        if (threadIdx.x < EK_LANES) {
#pragma unroll 1
            for (int k = (int)threadIdx.x; k < n; k += ahead * EK_LANES) {
                Acc loaded[ahead];
#pragma unroll
                for (int s = 0; s < ahead; s++)
                    loaded[s] = k + s * EK_LANES < n ? from[k + s * EK_LANES] : Op::identity();
#pragma unroll
                for (int s = 0; s < ahead; s++)
                    lane = Op::combine(lane, loaded[s]);
            }
            shared[threadIdx.x] = lane;
        }
        __syncthreads();
        if (threadIdx.x >= 32)
            return lane;
        /* Lanes t, t + 32, t + 64 and t + 96 of thread t. */
        Acc four[EK_CUDA_PACK];
#pragma unroll
        for (int i = 0; i < EK_CUDA_PACK; i++)
            four[i] = shared[threadIdx.x + 32 * i];
        return ek_fold_lanes<Parts, EK_CUDA_PACK, 1>(four, (int)threadIdx.x, 32);
    }

    /* Rows of any layout. */
    EK_INLINE void strided(const ek_cuda_rows &rows)
    {
        ek_chunk at(rows.count, rows.chunks, rows.n, rows.group);
        typename Memory::Strided x(rows, at);
        Context context = at.inside ? Context::of(rows.context, at.row) : Context();
        store(rows, at,
              ek_reduce_chunk<Lanes, spread, 1, 4>(at.n, at.thread, rows.group, at.first, context,
                                                   x));
    }

    /* Results of chunks, which are the elements of the next level. */
    EK_INLINE void join(const ek_cuda_rows &rows)
    {
        ek_chunk at(rows.count, rows.chunks, rows.n, rows.group);
        Results from = {(const Acc *)rows.from + (at.inside ? at.row * rows.n + at.first : 0)};
        store(rows, at,
              ek_reduce_chunk<Parts, spread, 1, 4>(at.n, at.thread, rows.group, at.first,
                                                   typename Parts::Context(), from));
    }

    EK_INLINE void store(const ek_cuda_rows &rows, const ek_chunk &at, Acc result)
    {
        if (!at.inside || at.thread != 0)
            return;
        if (rows.parts)
            ((Acc *)rows.parts)[at.row * rows.chunks + at.chunk] = result;
        else
            ((Out *)
                 rows.out)[ek_row_offset(at.row, rows.kept_ndim, rows.kept_shape, rows.kept_out)] =
                Op::finish(result, rows.divisor);
    }

    /* Neighbouring rows whose first elements lie one after the other. A thread reduces some lanes
     * of some columns; the lanes of a column that lie with other threads are folded in shared
     * memory. */
    static constexpr int columns_of_thread = EK_CUDA_COLUMNS(sizeof(In), Lanes::size);

    /* Where lanes leave room for few threads, each has its next loads under way while it computes;
     * elements must be small, or there are no registers for that. */
    static constexpr bool load_early = sizeof(Lane) > 8 && sizeof(In) <= 4;

    EK_INLINE void columns(const ek_cuda_plane &plane)
    {
        constexpr int width = columns_of_thread;
        __shared__ Lane shared[EK_CUDA_ROWS_THREADS * width];
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
        Columns x(plane, outer, column, first);
        Context context[width];
        Lane lane[EK_CUDA_THREAD_LANES][width];
#pragma unroll
        for (int v = 0; v < width; v++) {
            bool inside = n > 0 && column + v * apart < plane.inner;
            context[v] = inside ? Context::of(plane.context, row + v * apart) : Context();
            Lanes::look(context[v], inside ? n : 0, [&](int i) { return x.at(i, v * apart); });
#pragma unroll
            for (int i = 0; i < EK_CUDA_THREAD_LANES; i++)
                lane[i][v] = Lanes::start(i * lanes + lane_thread);
        }
        int64_t count = plane.inner - column;
        if (plane.packed && count > 0)
            walk<true>(n, lanes, lane_thread, apart, count, x, first, context, lane);
        else if (count > 0)
            walk<false>(n, lanes, lane_thread, apart, count, x, first, context, lane);
        fold_columns(lane, lanes, lane_thread, across, shared);
        if (lane_thread != 0 || n == 0)
            return;
#pragma unroll
        for (int v = 0; v < width; v++) {
            if (v * apart >= count)
                continue;
            Acc result = Lanes::result(lane[0][v], first, n, context[v]);
            if (plane.parts)
                ((Acc *)plane.parts)[(row + v * apart) * plane.chunks + chunk] = result;
            else
                ((Out *)
                     plane.out)[outer * plane.outer_out + (column + v * apart) * plane.inner_out] =
                    Op::finish(result, plane.divisor);
        }
    }

    /* The rows of a thread's lanes: lane i is number i * lanes + lane_thread. */
    template <bool pack>
    EK_INLINE void walk(int n, int lanes, int lane_thread, int apart, int64_t count,
                        const Columns &x, int64_t first, const Context *context,
                        Lane (&lane)[EK_CUDA_THREAD_LANES][columns_of_thread])
    {
        constexpr int width = columns_of_thread;
        int rows = EK_CUDA_THREAD_LANES * lanes;
        Rows<pack> loaded, next;
        if (load_early)
            next.load(x, lane_thread, lanes, n, apart, count);
        for (int k = lane_thread; k < n; k += rows) {
            if (load_early) {
                loaded = next;
                next.load(x, k + rows, lanes, n, apart, count);
            } else {
                loaded.load(x, k, lanes, n, apart, count);
            }
#pragma unroll
            for (int i = 0; i < EK_CUDA_THREAD_LANES; i++) {
                if (k + i * lanes >= n)
                    continue;
#pragma unroll
                for (int v = 0; v < width; v++)
                    Lanes::take(lane[i][v], loaded.at[i].at[v], k + i * lanes, first, context[v]);
            }
        }
    }

    /* An element of each of a thread's lanes and columns, from row k on. Rows past the end repeat
     * the last one and are not taken, so that all loads are unconditional and under way together.
     */
    template <bool pack> struct Rows {
        ek_row_pack<In, columns_of_thread> at[EK_CUDA_THREAD_LANES];

        __device__ __forceinline__ void load(const Columns &x, int k, int lanes, int n, int apart,
                                             int64_t count)
        {
#pragma unroll
            for (int i = 0; i < EK_CUDA_THREAD_LANES; i++) {
                int from = min(k + i * lanes, n - 1);
                if (pack) {
                    at[i] = x.template pack<columns_of_thread>(from);
                } else {
#pragma unroll
                    for (int v = 0; v < columns_of_thread; v++)
                        at[i].at[v] = x.at(from, v * apart < count ? v * apart : 0);
                }
            }
        }
    };

    EK_INLINE void fold_columns(Lane (&lane)[EK_CUDA_THREAD_LANES][columns_of_thread], int lanes,
                                int lane_thread, int across, Lane *shared)
    {
        constexpr int width = columns_of_thread;
        ek_fold_halves<Lanes, EK_CUDA_THREAD_LANES / 2 * width, width>(lane[0]);
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
                lane[0][v] = Lanes::join(
                    lane[0][v], shared[v * EK_CUDA_ROWS_THREADS + threadIdx.x + half * across]);
        }
    }
};

#endif
