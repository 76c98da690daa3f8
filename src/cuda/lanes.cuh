/* What threads keep of a chunk, and how it becomes the chunk's result.
 *
 * Lanes are kept by one of the structures below, whose functions are
 *
 *     Lane start(number)            a lane before its first element
 *     take(lane, x, index, first, context)
 *                                   element x, number `index` of the chunk that begins with
 *                                   element `first` of the row
 *     Lane join(a, b)               lane a takes in lane b, whose number is higher
 *     Acc result(lane, first, n, context)
 *                                   the chunk's, from its last lane and its n elements
 *     size                          bytes of a lane's numbers, if it has several; else 4
 *     any_order                     whether lanes may be joined in any order
 *     words                         whether take4(lane, word) takes four bytes at once
 *     look(context, n, at)          what must be known of a chunk before it is reduced, from its
 *                                   elements at(0), at(1), ...
 *
 * Lanes lie with threads in one way: thread t of a group of w has `own` lanes as own / wide packs
 * of `wide` neighbours; number c of pack p is lane p * wide * w + t * wide + c. So a group loads
 * w * wide neighbouring elements at once, and packs of one element suit rows that begin anywhere.
 */
#ifndef EK_CUDA_LANES_CUH
#define EK_CUDA_LANES_CUH

#include <type_traits>

#include "cuda/rows.cuh"

/* What most lanes have in common. Where neighbours are loaded at once, join(a, b) must give the
 * same bits as join(b, a). */
template <bool order> struct ek_usual_lanes {
    static constexpr bool any_order = order, words = false;
    static constexpr int size = 4;

    template <typename Context, typename At> EK_INLINE void look(Context &, int, const At &)
    {
    }
};

/* Lanes that are accumulators. */
template <typename Op, bool order = false> struct ek_plain_lanes : ek_usual_lanes<order> {
    using In = typename Op::In;
    using Acc = typename Op::Acc;
    using Context = typename Op::Context;
    using Lane = Acc;

    EK_INLINE Lane start(int)
    {
        return Op::identity();
    }
    EK_INLINE void take(Lane &lane, In x, int index, int64_t first, const Context &context)
    {
        lane = Op::combine(lane, Op::element(x, first + index, context));
    }
    EK_INLINE Lane join(Lane a, Lane b)
    {
        return Op::combine(a, b);
    }
    EK_INLINE Acc result(Lane lane, int64_t, int, const Context &)
    {
        return lane;
    }
};

/* Lanes narrower than accumulators, but wide enough for a chunk: Op has Lane and take(lane, x). */
template <typename Op> struct ek_narrow_lanes : ek_usual_lanes<true> {
    using In = typename Op::In;
    using Acc = typename Op::Acc;
    using Context = typename Op::Context;
    using Lane = typename Op::Lane;

    EK_INLINE Lane start(int)
    {
        return (Lane)Op::identity();
    }
    EK_INLINE void take(Lane &lane, In x, int, int64_t, const Context &)
    {
        lane = Op::take(lane, x);
    }
    EK_INLINE Lane join(Lane a, Lane b)
    {
        return (Lane)Op::combine((Acc)a, (Acc)b);
    }
    EK_INLINE Acc result(Lane lane, int64_t, int, const Context &)
    {
        return (Acc)lane;
    }
};

/* Lanes of bytes that are taken in four at a time: Op has take4(lane, word). */
template <typename Op> struct ek_word_lanes : ek_narrow_lanes<Op> {
    static constexpr bool words = true;

    EK_INLINE void take4(typename Op::Lane &lane, uint32_t word)
    {
        lane = Op::take4(lane, word);
    }
};

/* Lanes that know where their value was. Places are those in the chunk, so they fit 32 bits. A lane
 * starts at its own first element without looking at it: whatever is there, it either equals the
 * identity or comes before it; and a lane without elements has a place past all others. */
template <typename Op> struct ek_place_lanes : ek_usual_lanes<true> {
    using In = typename Op::In;
    using Acc = typename Op::Acc;
    using Context = typename Op::Context;

    struct Lane {
        typename Op::Value value;
        int32_t place;
    };

    EK_INLINE Lane start(int number)
    {
        Lane lane = {Op::nothing(), number};
        return lane;
    }
    EK_INLINE void take(Lane &lane, In x, int index, int64_t, const Context &)
    {
        typename Op::Value value = Op::load(x);
        bool wins = Op::before(value, lane.value);
        lane.value = wins ? value : lane.value;
        lane.place = wins ? index : lane.place;
    }
    EK_INLINE Lane join(Lane a, Lane b)
    {
        bool wins = Op::before(b.value, a.value);
        bool ties = !wins && !Op::before(a.value, b.value);
        return wins || (ties && b.place < a.place) ? b : a;
    }
    EK_INLINE Acc result(Lane lane, int64_t first, int, const Context &)
    {
        Acc winner = {lane.value, first + lane.place};
        return winner;
    }
};

/* Results of chunks as the elements of the next level. */
template <typename Op> struct ek_part_lanes : ek_usual_lanes<false> {
    using In = typename Op::Acc;
    using Acc = typename Op::Acc;
    using Lane = Acc;

    struct Context {
    };

    EK_INLINE Lane start(int)
    {
        return Op::identity();
    }
    EK_INLINE void take(Lane &lane, In part, int, int64_t, const Context &)
    {
        lane = Op::combine(lane, part);
    }
    EK_INLINE Lane join(Lane a, Lane b)
    {
        return Op::combine(a, b);
    }
    EK_INLINE Acc result(Lane lane, int64_t, int, const Context &)
    {
        return lane;
    }
};

/* Lane i takes in lane i + half, then i + half / 2, and so on down to `last`. */
template <typename Lanes, int half, int last>
EK_INLINE void ek_fold_halves(typename Lanes::Lane *lane)
{
    if constexpr (half >= last) {
#pragma unroll
        for (int i = 0; i < half; i++)
            lane[i] = Lanes::join(lane[i], lane[i + half]);
        ek_fold_halves<Lanes, half / 2, last>(lane);
    }
}

/* Halves of a thread's lanes change hands with a thread of the other half of the group, until each
 * has one lane or all threads are through: half the work a step, where folding as it stands would
 * have each thread do all of it. Then lanes that lie with other threads are as far apart as
 * neighbours in a pack, so these threads come last. */
template <typename Lanes, int count>
EK_INLINE void ek_fold_exchanging(typename Lanes::Lane *lane, int thread, int half, int group)
{
    if constexpr (count > 1) {
        if (half > 0) {
            bool upper = thread & half;
#pragma unroll
            for (int i = 0; i < count / 2; i++) {
                typename Lanes::Lane low = lane[i], high = lane[i + count / 2];
                lane[i] = Lanes::join(upper ? high : low, ek_shuffle_xor(upper ? low : high, half));
            }
            ek_fold_exchanging<Lanes, count / 2>(lane, thread, half / 2, group);
            return;
        }
    }
    int last = half;
    for (; half > 0; half /= 2)
        lane[0] = Lanes::join(lane[0], ek_shuffle_xor(lane[0], half));
    for (half = group / 2; half > last; half /= 2) {
#pragma unroll
        for (int i = 0; i < count; i++)
            lane[i] = Lanes::join(lane[i], ek_shuffle_xor(lane[i], half));
    }
    ek_fold_halves<Lanes, count / 2, 1>(lane);
}

/* Folds the lanes of a group of `group` threads, a power of two. The first thread has the result.
 */
template <typename Lanes, int own, int wide>
EK_INLINE typename Lanes::Lane ek_fold_lanes(typename Lanes::Lane (&lane)[own], int thread,
                                             int group)
{
    constexpr int left = Lanes::any_order ? 1 : wide;
    ek_fold_halves<Lanes, own / 2, left>(lane);
    ek_fold_exchanging<Lanes, left>(lane, thread, group / 2, group);
    return lane[0];
}

/* Four bytes at a time. */
template <int bytes> struct alignas(bytes) ek_row_words {
    uint32_t word[bytes / 4];
};

/* What neighbours are loaded as: those that are taken word by word as words, or the compiler takes
 * them apart into bytes that it then puts together again. */
template <typename Lanes, int wide>
using ek_loaded = std::conditional_t<Lanes::words && wide % 4 == 0, ek_row_words<wide>,
                                     ek_row_pack<typename Lanes::In, wide>>;

template <typename Lanes, int wide, typename Source>
EK_INLINE ek_loaded<Lanes, wide> ek_load_pack(const Source &source, int index)
{
    if constexpr (Lanes::words && wide % 4 == 0)
        return source.words(index);
    else
        return source.pack(index);
}

/* Neighbours, each into the lane at its place. */
template <typename Lanes, int wide>
EK_INLINE void ek_take_pack(typename Lanes::Lane *lane,
                            const ek_loaded<Lanes, wide> &pack, int index, int64_t first,
                            const typename Lanes::Context &context)
{
    if constexpr (Lanes::words && wide % 4 == 0) {
#pragma unroll
        for (int c = 0; c < wide / 4; c++)
            Lanes::take4(lane[c], pack.word[c]);
    } else {
#pragma unroll
        for (int c = 0; c < wide; c++)
            Lanes::take(lane[c], pack.at[c], index + c, first, context);
    }
}

/* Rows of lanes from k on, `ahead` of them, or, unless `all`, the packs that are before n: all
 * loads are under way before the first element is taken. */
template <typename Lanes, int own, int wide, int ahead, bool all, typename Source>
EK_INLINE void ek_take_rows(typename Lanes::Lane (&lane)[own], int k, int n, int thread, int group,
                            int64_t first, const typename Lanes::Context &context,
                            const Source &source)
{
    constexpr int packs = own / wide;
    ek_loaded<Lanes, wide> loaded[ahead][packs];
#pragma unroll
    for (int s = 0; s < ahead; s++) {
#pragma unroll
        for (int p = 0; p < packs; p++) {
            int index = k + (s * own + p * wide) * group + thread * wide;
            if (all || index + wide <= n)
                loaded[s][p] = ek_load_pack<Lanes, wide>(source, index);
        }
    }
#pragma unroll
    for (int s = 0; s < ahead; s++) {
#pragma unroll
        for (int p = 0; p < packs; p++) {
            int index = k + (s * own + p * wide) * group + thread * wide;
            if (!all && index + wide > n)
                continue;
            ek_take_pack<Lanes, wide>(lane + p * wide, loaded[s][p], index, first, context);
        }
    }
}

/* The result of a chunk's n elements, known to the first thread of the group. Source has at(i),
 * element i of the chunk, and pack(i), `wide` from there. */
template <typename Lanes, int own, int wide, int ahead, typename Source>
EK_INLINE typename Lanes::Acc ek_reduce_chunk(int n, int thread, int group, int64_t first,
                                              typename Lanes::Context context, const Source &source)
{
    int rows = own * group, k = 0;
    typename Lanes::Lane lane[own];
    Lanes::look(context, n, [&](int i) { return source.at(i); });
#pragma unroll
    for (int i = 0; i < own; i++)
        lane[i] = Lanes::start((i / wide * group + thread) * wide + i % wide);
#pragma unroll 1
    for (; k + ahead * rows <= n; k += ahead * rows)
        ek_take_rows<Lanes, own, wide, ahead, true>(lane, k, n, thread, group, first, context,
                                                    source);
    if (k < n)
        ek_take_rows<Lanes, own, wide, ahead, false>(lane, k, n, thread, group, first, context,
                                                     source);
    int whole = n - n % wide;
    if (whole < n) {
#pragma unroll
        for (int i = 0; i < own; i++) {
            int index = n / rows * rows + (i / wide * group + thread) * wide + i % wide;
            if (index >= whole && index < n)
                Lanes::take(lane[i], source.at(index), index, first, context);
        }
    }
    return Lanes::result(ek_fold_lanes<Lanes, own, wide>(lane, thread, group), first, n, context);
}

#endif
