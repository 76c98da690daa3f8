/* Kernels of softmax and its like, of norms, and of reductions that look at a row twice. Row has
 * the types In, Out (in memory) and Number (computed in), the constants first (what the elements of
 * a chunk are first reduced to), uses_term, per_row (one result a row), has_near and norm (gain
 * and bias), and the functions lowest(), load(x), store(number), center(a, n), term(x, center),
 * near(x, center) if there is one, moved(sum, from, to, n), rest(sum, n, eps) and
 * result(x, term, center, rest, gain, bias). */
#ifndef EK_CUDA_ROWWISE_CUH
#define EK_CUDA_ROWWISE_CUH

#include "cuda/cluster.cuh"
#include "cuda/rowwise_args.h"

enum ek_row_first { EK_FIRST_NOTHING, EK_FIRST_MAX, EK_FIRST_SUM };

EK_INLINE float ek_row_larger(float a, float b)
{
    return fmaxf(a, b);
}

EK_INLINE double ek_row_larger(double a, double b)
{
    return fmax(a, b);
}

template <typename Row> struct ek_rowwise {
    using In = typename Row::In;
    using Out = typename Row::Out;
    using Number = typename Row::Number;

    static constexpr int block_chunks = EK_CUDA_BLOCK_CHUNKS(sizeof(Number));
    static constexpr int block_threads = EK_CUDA_BLOCK_THREADS(sizeof(Number));

    struct Sum {
        using Acc = Number;

        EK_INLINE Number identity()
        {
            return (Number)-0.0;
        }
        EK_INLINE Number combine(Number a, Number b)
        {
            return a + b;
        }
    };

    /* A maximum loses NaN, which the sum keeps; which of two zeros counts changes no result. */
    struct First {
        using Acc = Number;

        EK_INLINE Number identity()
        {
            return Row::first == EK_FIRST_MAX ? Row::lowest() : (Number)-0.0;
        }
        EK_INLINE Number combine(Number a, Number b)
        {
            return Row::first == EK_FIRST_MAX ? ek_row_larger(a, b) : a + b;
        }
    };

    /* Of a chunk or a row. */
    struct Numbers {
        Number center, sum;
    };

    /* Lanes folded by halves. */
    template <typename Op, int lanes> EK_INLINE Number fold_slots(Number (&lane)[lanes])
    {
#pragma unroll
        for (int half = lanes / 2; half > 0; half /= 2) {
#pragma unroll
            for (int i = 0; i < half; i++)
                lane[i] = Op::combine(lane[i], lane[i + half]);
        }
        return lane[0];
    }

    /* What a thread keeps of a chunk: slot s holds what load(s) gives, an element of lane
     * s % lanes. The thread has an element for its first `mine` slots, some thread for the first
     * `most`. `full`: for all. */
    template <int slots, int lanes, bool full> struct Held {
        /* Slots that are worked on together, so that their latencies overlap. */
        static constexpr int together = 4;
        static constexpr int own_lanes = lanes < slots ? lanes : slots;

        Number value[slots];
        int mine, most;

        template <typename Load>
        __device__ __forceinline__ Held(int mine, int most, const Load &load)
            : mine(mine), most(most)
        {
#pragma unroll
            for (int s = 0; s < slots; s++)
                value[s] = inside(s) ? load(s) : First::identity();
        }

        __device__ __forceinline__ bool inside(int slot) const
        {
            return full || slot < mine;
        }

        __device__ __forceinline__ bool past(int slot) const
        {
            return !full && slot >= most;
        }

        __device__ __forceinline__ Number first() const
        {
            Number lane[own_lanes];
#pragma unroll
            for (int i = 0; i < own_lanes; i++)
                lane[i] = First::identity();
#pragma unroll
            for (int g = 0; g < slots; g += together) {
                if (past(g))
                    continue;
#pragma unroll
                for (int s = g; s < g + together; s++)
                    lane[s % own_lanes] = First::combine(lane[s % own_lanes], value[s]);
            }
            return fold_slots<First>(lane);
        }

        /* The center from which near() takes the terms. Distances from an infinite one take the
         * places of the elements, so that no test of each element is needed. */
        __device__ __forceinline__ Number finite(Number center)
        {
            if (center - center == 0)
                return center;
#pragma unroll
            for (int s = 0; s < slots; s++)
                value[s] = value[s] == center ? 0 : value[s] - center;
            return 0;
        }

        __device__ __forceinline__ Number term(int slot, Number center) const
        {
            if constexpr (Row::has_near)
                return Row::near(value[slot], center);
            else
                return Row::term(value[slot], center);
        }

        /* Terms take the places of the elements if that is what results look at. */
        __device__ __forceinline__ Number sum(Number center)
        {
            if (Row::has_near)
                center = finite(center);
            Number lane[own_lanes];
#pragma unroll
            for (int i = 0; i < own_lanes; i++)
                lane[i] = Sum::identity();
#pragma unroll
            for (int g = 0; g < slots; g += together) {
                if (past(g))
                    continue;
                Number term[together];
#pragma unroll
                for (int c = 0; c < together; c++) {
                    term[c] = this->term(g + c, center);
                    if (Row::uses_term)
                        value[g + c] = term[c];
                }
#pragma unroll
                for (int c = 0; c < together; c++)
                    lane[(g + c) % own_lanes] = Sum::combine(
                        lane[(g + c) % own_lanes], inside(g + c) ? term[c] : Sum::identity());
            }
            return fold_slots<Sum>(lane);
        }

        /* put(s, make(s, what slot s holds)) for each element. Some of make() come before any of
         * their put(), so that what they read is under way together: the compiler cannot know that
         * nothing is put there. Where slots may lie beyond the row that costs more than it gains.
         */
        template <typename Make, typename Put>
        __device__ __forceinline__ void each(const Make &make, const Put &put) const
        {
            constexpr int side = full ? 2 * together : together;
#pragma unroll
            for (int g = 0; g < slots; g += side) {
                if (past(g))
                    continue;
                Number made[side];
#pragma unroll
                for (int i = 0; i < side; i++) {
                    if (full)
                        made[i] = make(g + i, value[g + i]);
                    else if (inside(g + i))
                        put(g + i, make(g + i, value[g + i]));
                }
#pragma unroll
                for (int i = 0; i < side && full; i++)
                    put(g + i, made[i]);
            }
        }
    };

    /* In 32 bits, a tenth of the work, where they are enough. */
    EK_INLINE int64_t divide(int64_t a, int64_t b)
    {
        return ((a | b) >> 32) == 0 ? (int64_t)((uint32_t)a / (uint32_t)b) : a / b;
    }

    EK_INLINE int log2_of(int power)
    {
        return 31 - __clz(power);
    }

    /* Slots of elements own, own + apart, ... below n; apart is a power of two. */
    EK_INLINE int slots_of(int n, int own, int apart)
    {
        return n > own ? ((n - own - 1) >> log2_of(apart)) + 1 : 0;
    }

    EK_INLINE Number weight(const In *weights, int64_t i, Number without)
    {
        return weights ? Row::load(weights[i]) : without;
    }

    /* put(s, result) for the element in each slot s, which is number own + s * apart of the row. */
    template <typename Held, typename Put>
    EK_INLINE void results(const Held &held, const ek_cuda_affine &affine, int64_t own, int apart,
                           Number center, Number rest, const Put &put)
    {
        const In *gain = (const In *)affine.gain, *bias = (const In *)affine.bias;
        if (!Row::norm) {
            held.each(
                [&](int, Number kept) {
                    return Row::result(kept, kept, center, rest, 1, (Number)-0.0);
                },
                put);
        } else if (affine.gain_step == 1 && affine.bias_step == 1) {
            gain = gain ? gain + own : gain;
            bias = bias ? bias + own : bias;
            held.each(
                [&](int s, Number kept) {
                    return Row::result(kept, kept, center, rest, weight(gain, s * apart, 1),
                                       weight(bias, s * apart, (Number)-0.0));
                },
                put);
        } else {
            held.each(
                [&](int s, Number kept) {
                    return result(affine, own + s * apart, kept, center, rest);
                },
                put);
        }
    }

    /* The result of element i, of which `kept` is the element or its term. */
    EK_INLINE Number result(const ek_cuda_affine &affine, int64_t i, Number kept, Number center,
                            Number rest)
    {
        Number gain = 1, bias = (Number)-0.0;
        if (Row::norm) {
            gain = weight((const In *)affine.gain, i * affine.gain_step, 1);
            bias = weight((const In *)affine.bias, i * affine.bias_step, (Number)-0.0);
        }
        return Row::result(kept, kept, center, rest, gain, bias);
    }

    EK_INLINE Number rest_of(const ek_cuda_affine &affine, Number sum, int64_t n)
    {
        return Row::rest(sum, n, (Number)affine.eps);
    }

    /* The elements of a chunk: how many, and the rest as its results need it. */
    EK_INLINE int chunk_length(int64_t n, int64_t chunk)
    {
        int64_t left = n - chunk * EK_CHUNK;
        return left < 0 ? 0 : (int)ek_smaller(left, EK_CHUNK);
    }

    EK_INLINE Number moved_rest(Number rest, Number from, Number to, int n)
    {
        return Row::uses_term ? Row::moved(rest, from, to, n) : rest;
    }

    EK_INLINE Number result_center(Number chunk, Number row)
    {
        return Row::uses_term ? chunk : row;
    }

    /* Center and sum of what a group of `group` threads of a warp holds. */
    template <typename Held> EK_INLINE Numbers group_numbers(Held &held, int group, int n)
    {
        Numbers numbers = {0, 0};
        if (Row::first != EK_FIRST_NOTHING)
            numbers.center = Row::center(ek_fold_group<First>(held.first(), group), n);
        numbers.sum = ek_fold_group<Sum>(held.sum(numbers.center), group);
        return numbers;
    }

    /* By value: the address of a register that is picked would put it into memory. */
    EK_INLINE Number pick(bool first, Number a, Number b)
    {
        return first ? a : b;
    }

    /* The lanes 4 t to 4 t + 3 of each of `group` threads t, folded for all of them. Lanes far
     * apart come first; threads share out the lanes of a pack, so that each exchanges as few as it
     * can. */
    template <typename Op> EK_INLINE Number fold_packs(Number (&lane)[EK_CUDA_PACK], int group)
    {
        int half = group / 2, quarter = group / 4;
        if (quarter == 0) {
#pragma unroll
            for (int c = 0; c < EK_CUDA_PACK && half > 0; c++)
                lane[c] = Op::combine(lane[c], ek_shuffle_xor(lane[c], half));
            return fold_slots<Op>(lane);
        }
        bool upper = threadIdx.x & half, odd = threadIdx.x & quarter;
        Number kept[2];
#pragma unroll
        for (int c = 0; c < 2; c++) {
            Number sent = pick(upper, lane[c], lane[c + 2]);
            kept[c] = Op::combine(pick(upper, lane[c + 2], lane[c]), ek_shuffle_xor(sent, half));
        }
        Number one = Op::combine(pick(odd, kept[1], kept[0]),
                                 ek_shuffle_xor(pick(odd, kept[0], kept[1]), quarter));
        one = ek_fold_group<Op>(one, quarter);
        one = Op::combine(one, ek_shuffle_xor(one, half));
        return Op::combine(one, ek_shuffle_xor(one, quarter));
    }

    /* The same for the packs of each thread, the lanes of which follow those of all threads. */
    template <typename Op, int packs>
    EK_INLINE Number fold_far_packs(Number (&lane)[packs][EK_CUDA_PACK], int group)
    {
#pragma unroll
        for (int half = packs / 2; half > 0; half /= 2) {
#pragma unroll
            for (int k = 0; k < half; k++) {
#pragma unroll
                for (int c = 0; c < EK_CUDA_PACK; c++)
                    lane[k][c] = Op::combine(lane[k][c], lane[k + half][c]);
            }
        }
        return fold_packs<Op>(lane[0], group);
    }

    /* Short rows of whole packs: some packs for each of a group's threads, of some rows at once.
     * Groups are known to the compiler, which unrolls what they exchange. */
    EK_INLINE void packed(const ek_cuda_plane_rows &args)
    {
        switch (args.room) {
        case 4:
            packed_rows<4>(args);
            break;
        case 8:
            packed_rows<8>(args);
            break;
        case 16:
            packed_rows<16>(args);
            break;
        case 32:
            packed_rows<32>(args);
            break;
        case 64:
            packed_rows<64>(args);
            break;
        case 128:
            packed_rows<128>(args);
            break;
        default:
            if constexpr (Row::per_row)
                packed_rows<EK_CUDA_PACKED_ROW(true)>(args);
        }
    }

    template <int room> EK_INLINE void packed_rows(const ek_cuda_plane_rows &args)
    {
        constexpr int packs = EK_CUDA_PACKS(room, Row::per_row), apart = room / packs;
        constexpr int group = apart / EK_CUDA_PACK, rows = EK_CUDA_PACKED_ROWS(room);
        using Pack = ek_row_pack<In, EK_CUDA_PACK>;
        const ek_cuda_plane &plane = args.plane;
        int64_t first = ((int64_t)blockIdx.x * EK_CUDA_ROWS_THREADS + threadIdx.x) / group;
        int64_t count = plane.outer * plane.inner, step = (count + rows - 1) / rows;
        int own = EK_CUDA_PACK * ((int)threadIdx.x % group);
        Number value[rows][packs][EK_CUDA_PACK];
        int left[rows];
#pragma unroll
        for (int r = 0; r < rows; r++) {
            int64_t row = first + r * step;
            bool inside = first < step && row < count;
            left[r] = inside ? (int)plane.n - own : 0;
            const In *x = row_in(plane, inside ? row : 0) + own;
#pragma unroll
            for (int k = 0; k < packs; k++) {
                Pack pack;
                if (k * apart < left[r])
                    pack = *(const Pack *)(x + k * apart);
#pragma unroll
                for (int c = 0; c < EK_CUDA_PACK; c++)
                    value[r][k][c] =
                        k * apart < left[r] ? Row::load(pack.at[c]) : First::identity();
            }
        }
#pragma unroll
        for (int r = 0; r < rows; r++)
            packed_row<group>(args, first + r * step, own, left[r], value[r]);
    }

    /* Elements from `own` on of a row that are apart by what the group has; `left` is how many
     * there are, and 0 or less if there are none. */
    template <int group, int packs>
    EK_INLINE void packed_row(const ek_cuda_plane_rows &args, int64_t row, int own, int left,
                              Number (&value)[packs][EK_CUDA_PACK])
    {
        constexpr int apart = group * EK_CUDA_PACK;
        const ek_cuda_plane &plane = args.plane;
        Number lane[packs][EK_CUDA_PACK], center = 0;
        if (Row::first == EK_FIRST_MAX) {
            center = First::identity();
#pragma unroll
            for (int k = 0; k < packs; k++) {
#pragma unroll
                for (int c = 0; c < EK_CUDA_PACK; c++)
                    center = First::combine(center, value[k][c]);
            }
            center = Row::center(ek_fold_group<First>(center, group), plane.n);
        } else if (Row::first == EK_FIRST_SUM) {
#pragma unroll
            for (int k = 0; k < packs; k++) {
#pragma unroll
                for (int c = 0; c < EK_CUDA_PACK; c++)
                    lane[k][c] = value[k][c];
            }
            center = Row::center(fold_far_packs<First>(lane, group), plane.n);
        }
#pragma unroll
        for (int k = 0; k < packs; k++) {
#pragma unroll
            for (int c = 0; c < EK_CUDA_PACK; c++) {
                Number term = Row::term(value[k][c], center);
                lane[k][c] = k * apart < left ? term : Sum::identity();
                value[k][c] = Row::uses_term ? term : value[k][c];
            }
        }
        Number rest = rest_of(args.affine, fold_far_packs<Sum>(lane, group), plane.n);
        if (left <= 0)
            return;
        Out *out = row_out(plane, row);
        if constexpr (Row::per_row) {
            if (own == 0)
                *out = row_result(args.affine, center, rest);
        } else {
#pragma unroll
            for (int k = 0; k < packs; k++) {
                if (k * apart >= left)
                    continue;
                ek_row_pack<Out, EK_CUDA_PACK> pack;
                int at = own + k * apart;
#pragma unroll
                for (int c = 0; c < EK_CUDA_PACK; c++)
                    pack.at[c] = Row::store(result(args.affine, at + c, value[k][c], center, rest));
                *(ek_row_pack<Out, EK_CUDA_PACK> *)(out + at) = pack;
            }
        }
    }

    /* Short rows of any length and alignment: neighbouring threads have neighbouring elements. */
    EK_INLINE void spread(const ek_cuda_plane_rows &args)
    {
        switch (args.room) {
        case 4:
            spread_row<4>(args);
            break;
        case 8:
            spread_row<8>(args);
            break;
        case 16:
            spread_row<16>(args);
            break;
        case 32:
            spread_row<32>(args);
            break;
        case 64:
            spread_row<64>(args);
            break;
        default:
            spread_row<EK_CUDA_SPREAD_ROW>(args);
        }
    }

    template <int room> EK_INLINE void spread_row(const ek_cuda_plane_rows &args)
    {
        constexpr int slots = EK_CUDA_SPREAD_SLOTS(room), group = room / slots;
        const ek_cuda_plane &plane = args.plane;
        int64_t row = ((int64_t)blockIdx.x * EK_CUDA_ROWS_THREADS + threadIdx.x) / group;
        int thread = (int)threadIdx.x % group, n = (int)plane.n;
        bool there = row < plane.outer * plane.inner;
        /* All threads of a warp take part; rows past the end are none. */
        row = there ? row : 0;
        const In *x = row_in(plane, row) + thread;
        Held<slots, slots, false> held(there ? slots_of(n, thread, group) : 0, slots,
                                       [&](int s) { return Row::load(x[s * group]); });
        Numbers numbers = group_numbers(held, group, n);
        Number rest = rest_of(args.affine, numbers.sum, n);
        Out *out = row_out(plane, row);
        if (Row::per_row) {
            if (there && thread == 0)
                *out = row_result(args.affine, numbers.center, rest);
            return;
        }
        out += thread;
        results(held, args.affine, thread, group, numbers.center, rest,
                [&](int s, Number result) { out[s * group] = Row::store(result); });
    }

    /* The one result of a row. */
    EK_INLINE Out row_result(const ek_cuda_affine &affine, Number center, Number rest)
    {
        return Row::store(result(affine, 0, 0, center, rest));
    }

    EK_INLINE const In *row_in(const ek_cuda_plane &plane, int64_t row)
    {
        int64_t outer = plane.outer == 1 ? 0 : divide(row, plane.inner);
        return (const In *)plane.x + outer * plane.outer_x +
               (row - outer * plane.inner) * plane.inner_x;
    }

    EK_INLINE Out *row_out(const ek_cuda_plane &plane, int64_t row)
    {
        int64_t outer = plane.outer == 1 ? 0 : divide(row, plane.inner);
        return (Out *)plane.out + outer * plane.outer_out +
               (row - outer * plane.inner) * plane.inner_out;
    }

    /* A row for each warp, whose threads hold every 32nd element. */
    template <int slots> EK_INLINE void warps(const ek_cuda_plane_rows &args)
    {
        const ek_cuda_plane &plane = args.plane;
        int64_t row = ((int64_t)blockIdx.x * EK_CUDA_ROWS_THREADS + threadIdx.x) / 32;
        int thread = (int)threadIdx.x % 32, n = (int)plane.n;
        if (row >= plane.outer * plane.inner)
            return;
        const In *x = row_in(plane, row) + thread;
        Out *out = row_out(plane, row) + (Row::per_row ? 0 : thread);
        Held<slots, EK_LANES / 32, false> held(slots_of(n, thread, 32), slots_of(n, 0, 32),
                                               [&](int s) { return Row::load(x[s * 32]); });
        Numbers numbers = group_numbers(held, 32, n);
        Number rest = rest_of(args.affine, numbers.sum, n);
        if (Row::per_row) {
            if (thread == 0)
                *out = row_result(args.affine, numbers.center, rest);
            return;
        }
        results(held, args.affine, thread, 32, numbers.center, rest,
                [&](int s, Number result) { out[s * 32] = Row::store(result); });
    }

    /* Waits for the 128 threads of a chunk. */
    EK_INLINE void chunk_barrier()
    {
        asm volatile("bar.sync %0, 128;" ::"r"((int)threadIdx.x / EK_LANES + 1) : "memory");
    }

    /* The lanes of a chunk, one in each of 128 threads, folded for all of them. */
    template <typename Op> EK_INLINE Number fold_chunk(Number lane, Number *room)
    {
        const Number *mine = room + (int)threadIdx.x / EK_LANES * EK_LANES + (int)threadIdx.x % 32;
        room[threadIdx.x] = lane;
        chunk_barrier();
        lane = Op::combine(Op::combine(mine[0], mine[64]), Op::combine(mine[32], mine[96]));
        return ek_fold_group<Op>(lane, 32);
    }

    /* Of what 128 threads hold: what the elements are first reduced to, its center, and the sum. */
    template <typename Held> EK_INLINE Number chunk_numbers(Held &held, int n, Numbers *numbers)
    {
        __shared__ Number first_room[block_threads], sum_room[block_threads];
        Number first = 0;
        numbers->center = 0;
        if (Row::first != EK_FIRST_NOTHING) {
            first = fold_chunk<First>(held.first(), first_room);
            numbers->center = Row::center(first, n);
        }
        numbers->sum = fold_chunk<Sum>(held.sum(numbers->center), sum_room);
        return first;
    }

    /* The numbers of a row from those of its chunks, up to 32, for every thread of a warp. */
    EK_INLINE Numbers join_few(int64_t n, int chunks, const Number *firsts, const Number *sums)
    {
        int chunk = (int)threadIdx.x % 32;
        bool there = chunk < chunks;
        int length = there ? chunk_length(n, chunk) : 1;
        Number first = there ? firsts[chunk] : First::identity();
        Number sum = there ? sums[chunk] : Sum::identity();
        Numbers row = {0, 0};
        if (Row::first != EK_FIRST_NOTHING) {
            Number center = Row::center(first, length);
            row.center = Row::center(ek_fold_group<First>(first, 32), n);
            sum = there ? Row::moved(sum, center, row.center, length) : sum;
        }
        row.sum = ek_fold_group<Sum>(sum, 32);
        return row;
    }

    /* Long rows: a chunk for 128 threads, a thread a lane, and a row for a cluster of blocks; or
     * only the numbers of the chunks. */
    EK_INLINE void blocks(const ek_cuda_plane_rows &args)
    {
        if (args.full)
            block_row<true>(args);
        else
            block_row<false>(args);
    }

    template <bool full> EK_INLINE void block_row(const ek_cuda_plane_rows &args)
    {
        const ek_cuda_plane &plane = args.plane;
        int per_block = (int)blockDim.x / EK_LANES, blocks = args.cluster;
        int64_t chunk = (int64_t)blockIdx.x * per_block + (int)threadIdx.x / EK_LANES, row;
        if (args.numbers.firsts) {
            row = chunk / plane.chunks;
            chunk -= row * plane.chunks;
        } else {
            ek_cluster_arrive(blocks);
            row = blockIdx.x >> log2_of(blocks);
            chunk -= row * blocks * per_block;
        }
        bool there = row < plane.outer * plane.inner;
        int n = there ? chunk_length(plane.n, chunk) : 0;
        int thread = (int)threadIdx.x % EK_LANES;
        int64_t own = chunk * EK_CHUNK + thread;
        const In *x = row_in(plane, there ? row : 0) + own;
        Held<EK_CUDA_SLOTS, 1, full> held(slots_of(n, thread, EK_LANES), slots_of(n, 0, EK_LANES),
                                          [&](int s) { return Row::load(x[s * EK_LANES]); });
        Numbers numbers;
        Number first = chunk_numbers(held, n, &numbers);
        if (args.numbers.firsts) {
            if (there)
                put_numbers(args.numbers, row * plane.chunks + chunk, first, numbers.sum);
            return;
        }
        Numbers whole = numbers;
        if (plane.chunks > 1)
            whole = exchange(plane, blocks, (int)chunk, first, numbers.sum);
        Number rest = rest_of(args.affine, whole.sum, plane.n);
        if (Row::per_row) {
            if (chunk == 0 && threadIdx.x == 0)
                *row_out(plane, row) = row_result(args.affine, whole.center, rest);
            return;
        }
        Out *out = row_out(plane, row) + own;
        if (plane.chunks > 1)
            rest = moved_rest(rest, numbers.center, whole.center, n);
        Number center = result_center(numbers.center, whole.center);
        results(held, args.affine, own, EK_LANES, center, rest,
                [&](int s, Number result) { out[s * EK_LANES] = Row::store(result); });
    }

    EK_INLINE void put_numbers(const ek_cuda_row_numbers &numbers, int64_t at, Number first,
                               Number sum)
    {
        if (threadIdx.x % EK_LANES != 0)
            return;
        ((Number *)numbers.firsts)[at] = first;
        ((Number *)numbers.sums)[at] = sum;
    }

    /* The numbers of a row whose chunks the cluster holds; for one result, in one warp. */
    EK_INLINE Numbers exchange(const ek_cuda_plane &plane, int blocks, int chunk, Number first,
                               Number sum)
    {
        __shared__ Number firsts[32], sums[32];
        ek_cluster_wait(blocks);
        if (threadIdx.x % EK_LANES == 0) {
            ek_cluster_write(&firsts[chunk], first, blocks);
            ek_cluster_write(&sums[chunk], sum, blocks);
        }
        ek_cluster_sync(blocks);
        if (Row::per_row && threadIdx.x >= 32)
            return Numbers{0, 0};
        return join_few(plane.n, (int)plane.chunks, firsts, sums);
    }

    /* Chunks of rows of any layout; whole rows if they have one chunk. */
    EK_INLINE void strided(const ek_cuda_any_rows &args)
    {
        const ek_cuda_rows &rows = args.rows;
        int64_t unit = (int64_t)blockIdx.x * block_chunks + (int)threadIdx.x / EK_LANES;
        int64_t row = rows.chunks == 1 ? unit : unit / rows.chunks;
        int64_t chunk = unit - row * rows.chunks, at = chunk * EK_CHUNK;
        if (row >= rows.count)
            return;
        int n = chunk_length(rows.n, chunk);
        const In *x =
            (const In *)rows.x + ek_row_offset(row, rows.kept_ndim, rows.kept_shape, rows.kept_x);
        int own = (int)threadIdx.x % EK_LANES;
        Held<EK_CUDA_SLOTS, 1, false> held(
            slots_of(n, own, EK_LANES), slots_of(n, 0, EK_LANES),
            [&](int s) { return Row::load(x[ek_element_offset(rows, at + own + s * EK_LANES)]); });
        Numbers numbers;
        Number first = chunk_numbers(held, n, &numbers);
        if (args.numbers.firsts) {
            put_numbers(args.numbers, unit, first, numbers.sum);
            return;
        }
        Out *out =
            (Out *)rows.out + ek_row_offset(row, rows.kept_ndim, rows.kept_shape, rows.kept_out);
        Number rest = rest_of(args.affine, numbers.sum, rows.n);
        if (Row::per_row) {
            if (own == 0)
                *out = row_result(args.affine, numbers.center, rest);
            return;
        }
        results(held, args.affine, own, EK_LANES, numbers.center, rest, [&](int s, Number result) {
            out[(own + s * EK_LANES) * rows.out_step] = Row::store(result);
        });
    }

    /* Neighbouring rows that begin one after the other. A block has tiles of `across` columns; the
     * elements of a column are spread over `lanes` threads and over the blocks of a cluster, so
     * that all of them together have a lane each, or some lanes. */
    EK_INLINE void columns(const ek_cuda_plane_rows &args)
    {
        switch (args.plane.lanes * args.cluster) {
        case EK_LANES:
            column_tile<EK_CUDA_SLOTS, 1>(args);
            break;
        case EK_LANES / 4:
            column_tile<EK_CUDA_SLOTS, 4>(args);
            break;
        case EK_LANES / 8:
            column_tile<EK_CUDA_SLOTS, 8>(args);
            break;
        default: /* fewer elements than lanes */
            column_tile<EK_CUDA_SHORT_SLOTS, EK_CUDA_SHORT_SLOTS>(args);
        }
    }

    template <int slots, int lanes> EK_INLINE void column_tile(const ek_cuda_plane_rows &args)
    {
        const ek_cuda_plane &plane = args.plane;
        int blocks = args.cluster, threads = plane.lanes, apart = threads * blocks;
        ek_cluster_arrive(blocks);
        int64_t block = blockIdx.x >> log2_of(blocks);
        int rank = (int)blockIdx.x & (blocks - 1);
        int across = (int)threadIdx.x & (plane.across - 1);
        int y = (int)threadIdx.x >> log2_of(plane.across);
        int64_t unit = block * (EK_CUDA_COLUMN_THREADS >> log2_of(plane.across * threads)) +
                       (y >> log2_of(threads));
        y &= threads - 1;
        int64_t tiles = (plane.inner - 1) / plane.across + 1;
        int64_t part = divide(unit, tiles), column = (unit - part * tiles) * plane.across + across;
        int64_t outer = plane.chunks == 1 ? part : divide(part, plane.chunks);
        int64_t chunk = part - outer * plane.chunks, at = chunk * EK_CHUNK;
        bool there = outer < plane.outer && column < plane.inner;
        int n = there ? chunk_length(plane.n, chunk) : 0;
        const In *x = (const In *)plane.x + outer * plane.outer_x + at * plane.step + column;
        int own = rank * threads + y;
        int64_t step = apart * plane.step, out_step = apart * plane.out_step;
        x += own * plane.step;
        /* Slots are loaded in order. */
        Held<slots, lanes, false> held(slots_of(n, own, apart), slots_of(n, 0, apart), [&](int) {
            Number loaded = Row::load(*x);
            x += step;
            return loaded;
        });
        ek_cluster_wait(blocks);
        Number first = 0;
        Numbers numbers = {0, 0};
        if (Row::first != EK_FIRST_NOTHING) {
            first = fold_columns<First>(held.first(), plane, blocks, rank);
            numbers.center = Row::center(first, n);
        }
        numbers.sum = fold_columns<Sum>(held.sum(numbers.center), plane, blocks, rank);
        if (!there)
            return;
        int64_t row = outer * plane.inner + column;
        Out *out = (Out *)plane.out + outer * plane.outer_out + column * plane.inner_out;
        if (args.numbers.firsts) {
            if (y == 0 && rank == 0) {
                ((Number *)args.numbers.firsts)[row * plane.chunks + chunk] = first;
                ((Number *)args.numbers.sums)[row * plane.chunks + chunk] = numbers.sum;
            }
            return;
        }
        Number rest = rest_of(args.affine, numbers.sum, plane.n);
        if (Row::per_row) {
            if (y == 0 && rank == 0)
                *out = row_result(args.affine, numbers.center, rest);
            return;
        }
        out += own * plane.out_step;
        results(held, args.affine, own, apart, numbers.center, rest, [&](int, Number result) {
            *out = Row::store(result);
            out += out_step;
        });
    }

    /* The lanes of a column, of all blocks, folded for each of its threads: first those that are a
     * multiple of EK_CUDA_COLUMN_FOLD apart. Each Op has room
     * of its own, so that none is written to while it is still read. */
    template <typename Op>
    EK_INLINE Number fold_columns(Number lane, const ek_cuda_plane &plane, int blocks, int rank)
    {
        constexpr int most = EK_LANES / EK_CUDA_COLUMN_FOLD;
        __shared__ Number lanes[EK_CUDA_CLUSTER][EK_CUDA_COLUMN_THREADS],
            few[EK_CUDA_COLUMN_THREADS];
        int across = plane.across, threads = plane.lanes, all = threads * blocks;
        if (all == 1)
            return lane;
        int y = (int)threadIdx.x >> log2_of(across), first = y & -threads;
        ek_cluster_write(&lanes[rank][threadIdx.x], lane, blocks);
        ek_cluster_sync(blocks);
        int x = (int)threadIdx.x & (across - 1), low = min(all, EK_CUDA_COLUMN_FOLD);
        y &= low - 1;
        Number part[most];
#pragma unroll
        for (int i = 0; i < most; i++) {
            int number = y + i * low, block = number >> log2_of(threads);
            part[i] = number < all ? lanes[block][(first + number - block * threads) * across + x]
                                   : Op::identity();
        }
        lane = fold_slots<Op>(part);
        few[threadIdx.x] = lane;
        __syncthreads();
        Number last[EK_CUDA_COLUMN_FOLD];
#pragma unroll
        for (int i = 0; i < EK_CUDA_COLUMN_FOLD; i++)
            last[i] = i < low ? few[(first + i) * across + x] : Op::identity();
        return fold_slots<Op>(last);
    }

    /* The numbers of a row from those of its chunks, by a warp. */
    EK_INLINE void join(const ek_cuda_any_rows &args)
    {
        const ek_cuda_rows &rows = args.rows;
        int64_t row = ((int64_t)blockIdx.x * EK_CUDA_ROWS_THREADS + threadIdx.x) / 32;
        if (row >= rows.count)
            return;
        const Number *firsts = (const Number *)args.numbers.firsts + row * rows.chunks;
        const Number *sums = (const Number *)args.numbers.sums + row * rows.chunks;
        Number *levels = (Number *)args.numbers.levels + row * ((rows.chunks - 1) / EK_CHUNK + 1);
        Numbers numbers = {0, 0};
        if (Row::first != EK_FIRST_NOTHING)
            numbers.center = Row::center(
                join_levels<First>(rows.chunks, levels, [&](int64_t i) { return firsts[i]; }),
                rows.n);
        numbers.sum = join_levels<Sum>(rows.chunks, levels, [&](int64_t i) {
            int length = chunk_length(rows.n, i);
            Number from = Row::first == EK_FIRST_NOTHING ? 0 : Row::center(firsts[i], length);
            return Row::moved(sums[i], from, numbers.center, length);
        });
        Number rest = rest_of(args.affine, numbers.sum, rows.n);
        if (threadIdx.x % 32 != 0)
            return;
        if (Row::per_row) {
            Out *out = (Out *)rows.out +
                       ek_row_offset(row, rows.kept_ndim, rows.kept_shape, rows.kept_out);
            *out = row_result(args.affine, numbers.center, rest);
            return;
        }
        ((Number *)args.numbers.centers)[row] = numbers.center;
        ((Number *)args.numbers.rests)[row] = rest;
    }

    /* One level of the tree after the other, until one number is left. */
    template <typename Op, typename Load>
    EK_INLINE Number join_levels(int64_t n, Number *levels, const Load &load)
    {
        Number result = join_level<Op>(n, levels, load);
        while (n > EK_CHUNK) {
            n = (n - 1) / EK_CHUNK + 1;
            result = join_level<Op>(n, levels, [&](int64_t i) { return levels[i]; });
        }
        return result;
    }

    /* The results of its chunks, and the last of them. They may lie where the level does: none lies
     * behind what it is made of. */
    template <typename Op, typename Load>
    EK_INLINE Number join_level(int64_t n, Number *levels, const Load &load)
    {
        Number result = Op::identity();
        for (int64_t at = 0, chunk = 0; at < n; at += EK_CHUNK, chunk++) {
            result = join_chunk<Op>((int)ek_smaller(n - at, EK_CHUNK),
                                    [&](int i) { return load(at + i); });
            __syncwarp();
            if (threadIdx.x % 32 == 0)
                levels[chunk] = result;
        }
        __syncwarp();
        return result;
    }

    template <typename Op, typename Load> EK_INLINE Number join_chunk(int n, const Load &load)
    {
        constexpr int own = EK_LANES / 32;
        Number lane[own];
        int thread = (int)threadIdx.x % 32;
#pragma unroll
        for (int c = 0; c < own; c++)
            lane[c] = Op::identity();
#pragma unroll 1
        for (int k = thread; k < n; k += EK_LANES) {
#pragma unroll
            for (int c = 0; c < own; c++)
                if (k + c * 32 < n)
                    lane[c] = Op::combine(lane[c], load(k + c * 32));
        }
        return ek_fold_group<Op>(fold_slots<Op>(lane), 32);
    }

    /* Center and rest for the results of a chunk of a row whose numbers are known. */
    EK_INLINE void chunk_results(const ek_cuda_row_numbers &numbers, int64_t row, int64_t chunks,
                                 int64_t chunk, int n, Number *center, Number *rest)
    {
        Number whole = ((const Number *)numbers.centers)[row], own = 0;
        *rest = ((const Number *)numbers.rests)[row];
        if (Row::uses_term && Row::first != EK_FIRST_NOTHING)
            own = Row::center(((const Number *)numbers.firsts)[row * chunks + chunk], n);
        *rest = moved_rest(*rest, own, whole, n);
        *center = result_center(own, whole);
    }

    EK_INLINE Out again(const ek_cuda_affine &affine, int64_t i, In loaded, Number center,
                        Number rest)
    {
        Number x = Row::load(loaded);
        return Row::store(
            result(affine, i, Row::uses_term ? Row::term(x, center) : x, center, rest));
    }

    /* Results of long rows of any layout. */
    EK_INLINE void long_results(const ek_cuda_any_rows &args)
    {
        const ek_cuda_rows &rows = args.rows;
        int64_t row = (int64_t)blockIdx.x / rows.chunks;
        int64_t chunk = (int64_t)blockIdx.x - row * rows.chunks, at = chunk * EK_CHUNK;
        int n = chunk_length(rows.n, chunk);
        const In *x =
            (const In *)rows.x + ek_row_offset(row, rows.kept_ndim, rows.kept_shape, rows.kept_x);
        Out *out =
            (Out *)rows.out + ek_row_offset(row, rows.kept_ndim, rows.kept_shape, rows.kept_out);
        Number center, rest;
        chunk_results(args.numbers, row, rows.chunks, chunk, n, &center, &rest);
#pragma unroll 8
        for (int i = (int)threadIdx.x; i < n; i += EK_CUDA_ROWS_THREADS)
            out[(at + i) * rows.out_step] =
                again(args.affine, at + i, x[ek_element_offset(rows, at + i)], center, rest);
    }

    /* The same for neighbouring rows that begin one after the other, and their results too. */
    EK_INLINE void column_results(const ek_cuda_plane_rows &args)
    {
        const ek_cuda_plane &plane = args.plane;
        int across = plane.across, threads = EK_CUDA_ROWS_THREADS / across;
        int64_t tiles = (plane.inner - 1) / across + 1;
        int64_t part = (int64_t)blockIdx.x / tiles, tile = (int64_t)blockIdx.x - part * tiles;
        int64_t outer = part / plane.chunks, chunk = part - outer * plane.chunks;
        int64_t at = chunk * EK_CHUNK, column = tile * across + (int)threadIdx.x % across;
        if (column >= plane.inner)
            return;
        int n = chunk_length(plane.n, chunk);
        const In *x = (const In *)plane.x + outer * plane.outer_x + at * plane.step + column;
        Out *out = (Out *)plane.out + outer * plane.outer_out + at * plane.out_step + column;
        Number center, rest;
        chunk_results(args.numbers, outer * plane.inner + column, plane.chunks, chunk, n, &center,
                      &rest);
#pragma unroll 8
        for (int i = (int)threadIdx.x / across; i < n; i += threads)
            out[i * plane.out_step] = again(args.affine, at + i, x[i * plane.step], center, rest);
    }
};

#endif
