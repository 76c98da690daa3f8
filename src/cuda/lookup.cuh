/* Lookups on CUDA. To join values to their targets in order of their places, whatever the order in
 * which blocks run, values are sorted by target, and the chains of a target joined level by level.
 */
#ifndef EK_CUDA_LOOKUP_CUH
#define EK_CUDA_LOOKUP_CUH

#include <stdint.h>

#include "cuda/lookup_work.h"

#define EK_LOOKUP_THREADS 256
#define EK_LOOKUP_KERNEL extern "C" __global__ void __launch_bounds__(EK_LOOKUP_THREADS)
#define EK_INLINE static __device__ __forceinline__

struct alignas(16) ek_bytes16 {
    uint32_t word[4];
};

/* ---- indices */

EK_INLINE uint64_t ek_thread()
{
    return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

EK_INLINE uint64_t ek_threads()
{
    return (uint64_t)gridDim.x * blockDim.x;
}

/* Whether an index of the call was refused; if so the grid's first thread says so, where it is for
 * this kernel to say. */
template <typename Index>
EK_INLINE bool ek_refused(const ek_lookup &call, const ek_verdict &verdict, bool tell)
{
    if (verdict.number == 0)
        return false;
    uint64_t word = *verdict.word;
    if (word >> EK_VERDICT_PLACE_BITS != verdict.number)
        return false;
    if (tell && ek_thread() == 0 && *(volatile uint32_t *)&verdict.late->set == 0) {
        const uint64_t most = ((uint64_t)1 << EK_VERDICT_PLACE_BITS) - 1;
        int64_t place = (int64_t)(most - (word & most));
        verdict.late->call = verdict.call;
        verdict.late->place = place;
        verdict.late->index =
            (int64_t)((const Index *)call.data[EK_LOOKUP_INDICES])[ek_lookup_at(&call, place)];
        verdict.late->length = call.n;
        __threadfence_system();
        *(volatile uint32_t *)&verdict.late->set = 1;
    }
    return true;
}

template <typename Index>
EK_INLINE void ek_lookup_check(const ek_lookup &call, const ek_verdict &verdict)
{
    const uint64_t most = ((uint64_t)1 << EK_VERDICT_PLACE_BITS) - 1;
    const uint64_t count = (uint64_t)ek_lookup_count(&call);
    for (uint64_t place = ek_thread(); place < count; place += ek_threads()) {
        int64_t index =
            (int64_t)((const Index *)
                          call.data[EK_LOOKUP_INDICES])[ek_lookup_at(&call, (int64_t)place)];
        if (index < -call.n || index >= call.n)
            atomicMax(verdict.word, verdict.number << EK_VERDICT_PLACE_BITS |
                                        (most - (place < most ? place : most)));
    }
}

/* ---- moving */

/* Finds element i of the rows: operand `rows` and operand `table`. Count counts all of them. */
template <typename Index, typename Count>
EK_INLINE void ek_find_element(const ek_lookup &call, int rows, int table, Count i, int64_t *row,
                               int64_t *place)
{
    const Count inner = (Count)call.inner, m = (Count)call.m;
    Count line = inner == 1 ? i : i / inner, k = inner == 1 ? 0 : i - line * inner;
    Count outer = call.outer == 1 ? 0 : line / m, j = line - outer * m;
    int64_t at = (int64_t)outer * call.outer_step[EK_LOOKUP_INDICES] +
                 (int64_t)j * call.row_step[EK_LOOKUP_INDICES] +
                 (int64_t)k * call.inner_step[EK_LOOKUP_INDICES];
    int64_t index = (int64_t)((const Index *)call.data[EK_LOOKUP_INDICES])[at];
    *row = (int64_t)outer * call.outer_step[rows] + (int64_t)j * call.row_step[rows] +
           (int64_t)k * call.inner_step[rows];
    *place = (int64_t)outer * call.outer_step[table] +
             ek_lookup_place(index, call.n, call.mode) * call.row_step[table] +
             (int64_t)k * call.inner_step[table];
}

template <typename T, typename Index, typename Count>
EK_INLINE void ek_take_counted(const ek_lookup &call)
{
    enum { AT_ONCE = 4 };
    const Count count = (Count)(call.outer * call.m * call.inner);
    const Count all = (Count)gridDim.x * EK_LOOKUP_THREADS * AT_ONCE;
    const T *table = (const T *)call.data[EK_LOOKUP_X];
    T *rows = (T *)call.data[EK_LOOKUP_OUT];
    for (Count first = (Count)blockIdx.x * EK_LOOKUP_THREADS * AT_ONCE + threadIdx.x; first < count;
         first += all) {
        int64_t row[AT_ONCE], place[AT_ONCE];
        T value[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            Count i = first + k * EK_LOOKUP_THREADS;
            row[k] = -1;
            if (i < count)
                ek_find_element<Index, Count>(call, EK_LOOKUP_OUT, EK_LOOKUP_X, i, &row[k],
                                              &place[k]);
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            if (first + k * EK_LOOKUP_THREADS < count)
                value[k] = table[place[k]];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            if (first + k * EK_LOOKUP_THREADS < count)
                rows[row[k]] = value[k];
    }
}

template <typename T, typename Index>
EK_INLINE void ek_lookup_take(const ek_lookup &call, const ek_verdict &verdict)
{
    if (ek_refused<Index>(call, verdict, true))
        return;
    /* Half of what the type holds, so that a step beyond the last element does not wrap. */
    if (call.outer * call.m * call.inner <= INT32_MAX)
        ek_take_counted<T, Index, uint32_t>(call);
    else
        ek_take_counted<T, Index, uint64_t>(call);
}

/* The table as it is to the output. */
template <typename T>
EK_INLINE void ek_lookup_copy(const ek_lookup &call, const ek_verdict &verdict)
{
    const uint64_t count = (uint64_t)(call.outer * call.n * call.inner);
    if (ek_refused<int32_t>(call, verdict, false))
        return;
    for (uint64_t i = ek_thread(); i < count; i += ek_threads()) {
        int64_t line = (int64_t)(i / call.inner), k = (int64_t)(i % call.inner);
        int64_t outer = line / call.n, j = line % call.n;
        int64_t to = outer * call.outer_step[EK_LOOKUP_OUT] + j * call.row_step[EK_LOOKUP_OUT] +
                     k * call.inner_step[EK_LOOKUP_OUT];
        int64_t from = outer * call.outer_step[EK_LOOKUP_X] + j * call.row_step[EK_LOOKUP_X] +
                       k * call.inner_step[EK_LOOKUP_X];
        ((T *)call.data[EK_LOOKUP_OUT])[to] = ((const T *)call.data[EK_LOOKUP_X])[from];
    }
}

/* ---- sorting */

/* The target of each value: a row of the table, or `along` an element of it. */
template <typename Index, typename W>
EK_INLINE void ek_lookup_keys(const ek_lookup &call, const ek_verdict &verdict, W *key,
                              const ek_chains &chains)
{
    W *head = (W *)chains.head;
    for (uint64_t i = ek_thread(); i < (uint64_t)chains.slots; i += ek_threads())
        head[i] = 0;
    if (ek_refused<Index>(call, verdict, true))
        return;
    for (uint64_t i = ek_thread(); i < (uint64_t)chains.count; i += ek_threads()) {
        int64_t place = (int64_t)i;
        int64_t index =
            (int64_t)((const Index *)call.data[EK_LOOKUP_INDICES])[ek_lookup_at(&call, place)];
        int64_t target = ek_lookup_place(index, call.n, call.mode);
        if (call.along)
            target =
                (place / call.inner / call.m * call.n + target) * call.inner + place % call.inner;
        key[i] = (W)target;
    }
}

template <typename W> EK_INLINE uint32_t ek_digit(W key, int shift)
{
    return (uint32_t)(key >> shift) & (EK_SORT_DIGITS - 1);
}

template <typename W> EK_INLINE void ek_sort_count(const ek_sort &sort)
{
    __shared__ uint32_t counts[EK_SORT_DIGITS];
    counts[threadIdx.x] = 0;
    __syncthreads();
    const W *key = (const W *)sort.key;
    for (int k = 0; k < EK_SORT_ITEMS; k++) {
        int64_t i = (int64_t)blockIdx.x * EK_SORT_TILE + k * EK_SORT_THREADS + threadIdx.x;
        if (i < sort.count)
            atomicAdd(&counts[ek_digit(key[i], sort.shift)], 1);
    }
    __syncthreads();
    ((W *)sort.counts)[threadIdx.x * sort.tiles + blockIdx.x] = counts[threadIdx.x];
}

/* What all threads before this one have, and what all have. */
template <typename W> EK_INLINE W ek_before(W value, W *total)
{
    __shared__ W sums[EK_SORT_THREADS / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    W sum = value;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        W other = __shfl_up_sync(0xffffffff, sum, step);
        sum += lane >= step ? other : 0;
    }
    __syncthreads(); /* sums may still be read from a call before */
    if (lane == 31)
        sums[warp] = sum;
    __syncthreads();
    W before = 0, all = 0;
#pragma unroll
    for (int w = 0; w < EK_SORT_THREADS / 32; w++) {
        before += w < warp ? sums[w] : 0;
        all += sums[w];
    }
    *total = all;
    return before + sum - value;
}

/* A block for each digit: how many of it the tiles before each tile have. */
template <typename W> EK_INLINE void ek_sort_offsets(const ek_sort &sort)
{
    W *counts = (W *)sort.counts + (int64_t)blockIdx.x * sort.tiles;
    W sum = 0;
    for (int64_t first = 0; first < sort.tiles; first += EK_SORT_THREADS) {
        int64_t i = first + threadIdx.x;
        W total, count = i < sort.tiles ? counts[i] : 0;
        W before = ek_before<W>(count, &total);
        if (i < sort.tiles)
            counts[i] = sum + before;
        sum += total;
    }
    if (threadIdx.x == 0)
        ((W *)sort.totals)[blockIdx.x] = sum;
}

template <typename W> EK_INLINE void ek_sort_spread(const ek_sort &sort)
{
    enum { WARPS = EK_SORT_THREADS / 32 };
    __shared__ W items[EK_SORT_TILE];
    __shared__ uint32_t warps[WARPS][EK_SORT_DIGITS + 1]; /* the last for what is not there */
    __shared__ uint32_t begin[EK_SORT_DIGITS];
    __shared__ W base[EK_SORT_DIGITS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t tile = (int64_t)blockIdx.x * EK_SORT_TILE;
    const int64_t here = sort.count - tile < EK_SORT_TILE ? sort.count - tile : EK_SORT_TILE;
    for (int i = threadIdx.x; i < WARPS * (EK_SORT_DIGITS + 1); i += EK_SORT_THREADS)
        (&warps[0][0])[i] = 0;
    __syncthreads();
    W key[EK_SORT_ITEMS];
    uint32_t rank[EK_SORT_ITEMS];
    /* A warp's items are neighbours, so that equal digits keep their order. */
    const int mine = warp * (EK_SORT_TILE / WARPS) + lane;
#pragma unroll
    for (int k = 0; k < EK_SORT_ITEMS; k++) {
        bool there = mine + k * 32 < here;
        key[k] = there ? ((const W *)sort.key)[tile + mine + k * 32] : 0;
        uint32_t digit = there ? ek_digit(key[k], sort.shift) : EK_SORT_DIGITS;
        uint32_t same = __match_any_sync(0xffffffff, digit);
        uint32_t before = warps[warp][digit];
        __syncwarp();
        uint32_t below = __popc(same & ((1u << lane) - 1));
        if (below == 0)
            warps[warp][digit] = before + __popc(same);
        __syncwarp();
        rank[k] = before + below;
    }
    __syncthreads();
    uint32_t sum = 0, total;
    for (int w = 0; w < WARPS; w++) {
        uint32_t count = warps[w][threadIdx.x];
        warps[w][threadIdx.x] = sum;
        sum += count;
    }
    begin[threadIdx.x] = ek_before<uint32_t>(sum, &total);
    W all;
    W lower = ek_before<W>(((const W *)sort.totals)[threadIdx.x], &all);
    base[threadIdx.x] = lower + ((const W *)sort.counts)[threadIdx.x * sort.tiles + blockIdx.x];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EK_SORT_ITEMS; k++) {
        if (mine + k * 32 < here) {
            uint32_t digit = ek_digit(key[k], sort.shift);
            rank[k] += begin[digit] + warps[warp][digit];
            items[rank[k]] = key[k];
        }
    }
    __syncthreads();
    W to[EK_SORT_ITEMS];
#pragma unroll
    for (int k = 0; k < EK_SORT_ITEMS; k++) {
        int i = k * EK_SORT_THREADS + threadIdx.x;
        if (i < here) {
            uint32_t digit = ek_digit(items[i], sort.shift);
            to[k] = base[digit] + (W)(i - begin[digit]);
            ((W *)sort.key_out)[to[k]] = items[i];
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EK_SORT_ITEMS; k++) {
        int64_t i = tile + mine + k * 32;
        if (mine + k * 32 < here)
            items[rank[k]] = sort.first ? (W)i : ((const W *)sort.at)[i];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EK_SORT_ITEMS; k++) {
        int i = k * EK_SORT_THREADS + threadIdx.x;
        if (i < here)
            ((W *)sort.at_out)[to[k]] = items[i];
    }
}

/* ---- joining */

/* Where value `at` and its target begin, without the parts that a thread knows itself. */
EK_INLINE int64_t ek_value_at(const ek_lookup &call, int64_t at)
{
    if (!call.along)
        return at * call.row_step[EK_LOOKUP_VALUES];
    int64_t row = at / call.inner;
    return row / call.m * call.outer_step[EK_LOOKUP_VALUES] +
           row % call.m * call.row_step[EK_LOOKUP_VALUES] +
           at % call.inner * call.inner_step[EK_LOOKUP_VALUES];
}

EK_INLINE int64_t ek_target_at(const ek_lookup &call, int64_t key)
{
    if (!call.along)
        return key * call.row_step[EK_LOOKUP_OUT];
    int64_t row = key / call.inner;
    return row / call.n * call.outer_step[EK_LOOKUP_OUT] +
           row % call.n * call.row_step[EK_LOOKUP_OUT] +
           key % call.inner * call.inner_step[EK_LOOKUP_OUT];
}

/* A thread's part of a row: outer part and first element. `along`, rows are single elements. */
struct ek_part {
    int64_t item, outer, element, width; /* width: elements of all rows of an item */
};

EK_INLINE ek_part ek_part_of(const ek_lookup &call, uint64_t i, int32_t wide)
{
    if (call.along || (call.outer == 1 && call.inner == 1))
        return {(int64_t)i, 0, 0, 1};
    uint64_t columns = (uint64_t)call.inner / wide, line = i / columns;
    if (call.outer == 1)
        return {(int64_t)line, 0, (int64_t)(i - line * columns) * wide, call.inner};
    return {(int64_t)(line / call.outer), (int64_t)(line % call.outer),
            (int64_t)(i - line * columns) * wide, call.outer * call.inner};
}

EK_INLINE uint64_t ek_parts(const ek_lookup &call, int64_t items, int32_t wide)
{
    return call.along ? (uint64_t)items
                      : (uint64_t)items * call.outer * ((uint64_t)call.inner / wide);
}

/* The first value of the target that value p is of. */
template <typename W> EK_INLINE int64_t ek_head_of(const W *key, int64_t p)
{
    const W mine = key[p];
    int64_t equal = p, step = 1;
    while (step <= p && key[p - step] == mine) {
        equal = p - step;
        step *= 2;
    }
    int64_t other = step <= p ? p - step : -1;
    while (equal - other > 1) {
        int64_t middle = other + (equal - other) / 2;
        if (key[middle] == mine)
            equal = middle;
        else
            other = middle;
    }
    return equal;
}

EK_INLINE int64_t ek_slot(int64_t p, int64_t head)
{
    return p / EK_LOOKUP_CHAIN * 2 + (p == head);
}

/* The last value of each target. */
template <typename T, typename W>
EK_INLINE void ek_lookup_put(const ek_lookup &call, const ek_verdict &verdict,
                             const ek_chains &chains)
{
    const W *key = (const W *)chains.key, *at = (const W *)chains.at;
    if (ek_refused<int32_t>(call, verdict, false))
        return;
    const uint64_t parts = ek_parts(call, chains.count, 1);
    for (uint64_t i = ek_thread(); i < parts; i += ek_threads()) {
        ek_part part = ek_part_of(call, i, 1);
        int64_t p = part.item;
        if (p + 1 < chains.count && key[p + 1] == key[p])
            continue;
        int64_t to = ek_target_at(call, key[p]), from = ek_value_at(call, at[p]);
        to += part.outer * call.outer_step[EK_LOOKUP_OUT] +
              part.element * call.inner_step[EK_LOOKUP_OUT];
        from += part.outer * call.outer_step[EK_LOOKUP_VALUES] +
                part.element * call.inner_step[EK_LOOKUP_VALUES];
        ((T *)call.data[EK_LOOKUP_OUT])[to] = ((const T *)call.data[EK_LOOKUP_VALUES])[from];
    }
}

/* Neighbours in memory, loaded and stored at once. */
template <typename T, int N> struct alignas(sizeof(T) * N) ek_pack {
    T x[N];
};

/* Op has T, Acc, load, store and combine. N elements of a row. */
template <typename Op, int N>
EK_INLINE void ek_join_target(const ek_lookup &call, const ek_part &part, int64_t key,
                              const typename Op::Acc *sum)
{
    typedef ek_pack<typename Op::T, N> Pack;
    int64_t to = ek_target_at(call, key) + part.outer * call.outer_step[EK_LOOKUP_OUT] +
                 part.element * call.inner_step[EK_LOOKUP_OUT];
    Pack *target = (Pack *)((typename Op::T *)call.data[EK_LOOKUP_OUT] + to);
    Pack pack = *target;
#pragma unroll
    for (int k = 0; k < N; k++)
        pack.x[k] = Op::store(Op::combine(Op::load(pack.x[k]), sum[k]));
    *target = pack;
}

template <typename Op, typename W, int N>
EK_INLINE void ek_fold_part(const ek_lookup &call, const ek_chains &chains, const ek_part &part)
{
    typedef ek_pack<typename Op::T, N> Pack;
    const W *key = (const W *)chains.key, *at = (const W *)chains.at;
    const int64_t p = part.item;
    const W mine = key[p];
    int64_t head = p > 0 && key[p - 1] == mine ? ek_head_of<W>(key, p) : p;
    if ((p - head) % EK_LOOKUP_CHAIN != 0)
        return;
    const typename Op::T *values = (const typename Op::T *)call.data[EK_LOOKUP_VALUES] +
                                   part.outer * call.outer_step[EK_LOOKUP_VALUES] +
                                   part.element * call.inner_step[EK_LOOKUP_VALUES];
    typename Op::Acc sum[N];
    Pack pack = *(const Pack *)(values + ek_value_at(call, at[p]));
#pragma unroll
    for (int k = 0; k < N; k++)
        sum[k] = Op::load(pack.x[k]);
    int64_t q = p + 1;
    for (; q < chains.count && q < p + EK_LOOKUP_CHAIN && key[q] == mine; q++) {
        pack = *(const Pack *)(values + ek_value_at(call, at[q]));
#pragma unroll
        for (int k = 0; k < N; k++)
            sum[k] = Op::combine(sum[k], Op::load(pack.x[k]));
    }
    bool more = q == p + EK_LOOKUP_CHAIN && q < chains.count && key[q] == mine;
    if (p == head && !more) {
        ek_join_target<Op, N>(call, part, (int64_t)mine, sum);
        return;
    }
    int64_t slot = ek_slot(p, head);
    if (part.outer == 0 && part.element == 0)
        ((W *)chains.head)[slot] = (W)(head + 1);
    typename Op::Acc *kept = (typename Op::Acc *)chains.part + slot * part.width +
                             part.outer * call.inner + part.element;
#pragma unroll
    for (int k = 0; k < N; k++)
        kept[k] = sum[k];
}

template <typename Op, typename W>
EK_INLINE void ek_lookup_fold(const ek_lookup &call, const ek_verdict &verdict,
                              const ek_chains &chains)
{
    enum { WIDE = sizeof(typename Op::T) < 16 ? 16 / sizeof(typename Op::T) : 1 };
    if (ek_refused<int32_t>(call, verdict, false))
        return;
    const uint64_t parts = ek_parts(call, chains.count, chains.wide);
    for (uint64_t i = ek_thread(); i < parts; i += ek_threads()) {
        ek_part part = ek_part_of(call, i, chains.wide);
        if (chains.wide == 1)
            ek_fold_part<Op, W, 1>(call, chains, part);
        else
            ek_fold_part<Op, W, WIDE>(call, chains, part);
    }
}

/* The results of chains, which are chains again: those `distance` values apart. The first place of
 * a chain takes its result. */
template <typename Op, typename W>
EK_INLINE void ek_lookup_join(const ek_lookup &call, const ek_verdict &verdict,
                              const ek_chains &chains)
{
    const W *key = (const W *)chains.key;
    if (ek_refused<int32_t>(call, verdict, false))
        return;
    const uint64_t parts = ek_parts(call, chains.slots, 1);
    const int64_t reach = chains.distance * EK_LOOKUP_CHAIN;
    for (uint64_t i = ek_thread(); i < parts; i += ek_threads()) {
        ek_part part = ek_part_of(call, i, 1);
        int64_t head = (int64_t)((const W *)chains.head)[part.item] - 1;
        if (head < 0)
            continue;
        /* The chain's first value: the head, or the only one of these 32 at a multiple of 32. */
        int64_t p = head;
        if (part.item % 2 == 0) {
            int64_t first = part.item / 2 * EK_LOOKUP_CHAIN;
            p = first + (EK_LOOKUP_CHAIN - (first - head) % EK_LOOKUP_CHAIN) % EK_LOOKUP_CHAIN;
        }
        const W mine = key[head];
        int64_t next = p + chains.distance;
        bool followed = next < chains.count && key[next] == mine;
        if ((p - head) % reach != 0 || (p == head && !followed))
            continue;
        typename Op::Acc *kept =
            (typename Op::Acc *)chains.part + part.outer * call.inner + part.element;
        typename Op::Acc sum = kept[part.item * part.width];
        for (int r = 1; r < EK_LOOKUP_CHAIN && next < chains.count && key[next] == mine; r++) {
            sum = Op::combine(sum, kept[ek_slot(next, head) * part.width]);
            next += chains.distance;
        }
        bool more = next == p + reach && next < chains.count && key[next] == mine;
        if (p == head && !more)
            ek_join_target<Op, 1>(call, part, (int64_t)mine, &sum);
        else
            kept[part.item * part.width] = sum;
    }
}

#endif
