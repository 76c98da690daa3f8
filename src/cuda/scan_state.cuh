/* How the blocks of a scan learn what the elements before theirs come to, in one pass (D. Merrill,
 * M. Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016). A block publishes
 * its own total at once. Blocks of columns look back to the nearest one whose prefix is known, and
 * chain the totals after it from left to right: whichever prefix they found, that is the same
 * chain, so the bits do not depend on it. Spans of rows are told by a block that chains them all.
 *
 * Blocks take their work by a counter, so those before a block's own are running already. What is
 * published lies in words that hold a part of a value and a tag, and that are read and written at
 * once: a word says itself whether it is there, and nothing need be ordered. */
#ifndef EK_CUDA_SCAN_STATE_CUH
#define EK_CUDA_SCAN_STATE_CUH

#include "cuda/rows.cuh"

#define EK_SCAN_NOTHING 0u
#define EK_SCAN_TOTAL 1u
#define EK_SCAN_PREFIX 2u

/* Which part of the work is the block's: the next one, if blocks wait for those before. */
EK_INLINE int64_t ek_scan_unit(void *state)
{
    __shared__ uint32_t next;
    if (!state)
        return blockIdx.x;
    if (threadIdx.x == 0)
        next = atomicAdd((uint32_t *)state, 1);
    __syncthreads();
    return next;
}

/* A published value of up to four bytes: in one 8-byte word with its tag. */
template <typename T, bool small = sizeof(T) <= 4> struct ek_scan_words {
    static constexpr int length = 1; /* in uint64_t */

    EK_INLINE void publish(uint64_t *at, const T &value, uint32_t tag)
    {
        uint32_t word = 0;
        memcpy(&word, &value, sizeof value);
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;"
                     :
                     : "l"(at), "l"((uint64_t)tag << 32 | word)
                     : "memory");
    }

    EK_INLINE uint32_t read(const uint64_t *at, T *value)
    {
        uint64_t both;
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(both) : "l"(at) : "memory");
        uint32_t word = (uint32_t)both;
        memcpy(value, &word, sizeof *value);
        return (uint32_t)(both >> 32);
    }
};

/* A larger one: in 16-byte words, eight bytes of it and the tag in each. */
template <typename T> struct ek_scan_words<T, false> {
    static constexpr int count = (sizeof(T) + 7) / 8;
    static constexpr int length = 2 * count;

    EK_INLINE void publish(uint64_t *at, const T &value, uint32_t tag)
    {
        uint64_t words[count] = {};
        memcpy(words, &value, sizeof value);
#pragma unroll
        for (int i = 0; i < count; i++)
            asm volatile("{ .reg .b128 word; mov.b128 word, {%1, %2};"
                         " st.relaxed.gpu.global.b128 [%0], word; }"
                         :
                         : "l"(at + 2 * i), "l"(words[i]), "l"((uint64_t)tag << 32 | tag)
                         : "memory");
    }

    /* The tag; EK_SCAN_NOTHING too while only some of the words have changed. */
    EK_INLINE uint32_t read(const uint64_t *at, T *value)
    {
        uint64_t words[count], tags[count];
#pragma unroll
        for (int i = 0; i < count; i++)
            asm volatile("{ .reg .b128 word; ld.relaxed.gpu.global.b128 word, [%2];"
                         " mov.b128 {%0, %1}, word; }"
                         : "=l"(words[i]), "=l"(tags[i])
                         : "l"(at + 2 * i)
                         : "memory");
        memcpy(value, words, sizeof *value);
        /* The tag fills eight bytes and all of them are looked at: ptxas reads in several pieces
         * a word of which some bytes are never used. */
        bool whole = tags[0] == (tags[0] >> 32 | tags[0] << 32);
#pragma unroll
        for (int i = 1; i < count; i++)
            whole &= tags[i] == tags[0];
        return whole ? (uint32_t)tags[0] : EK_SCAN_NOTHING;
    }
};

/* The chain of `count` values, one in each lane; a lane gets what those up to its own come to. */
template <typename Op>
EK_INLINE typename Op::Acc ek_scan_chain(typename Op::Acc value, int lane, int count)
{
    typename Op::Acc run = ek_shuffle_from(value, 0), mine = value;
#pragma unroll
    for (int i = 1; i < 32; i++) {
        if (i % 8 == 0 && i >= count)
            break;
        run = Op::combine(run, ek_shuffle_from(value, i));
        if (lane == i)
            mine = run;
    }
    return mine;
}

/* The spans of rows. A block publishes the total of its span and waits for what is before it. The
 * block that comes first has no span: its warps chain the totals of all, stretch by stretch, and
 * answer. So a block looks at one word of its own, not at those of up to 31 others, which it would
 * read again and again while they are written.
 *
 * `state` has the words of all answers, then those of all totals. */
template <typename Op> struct ek_scan_spans {
    using Acc = typename Op::Acc;

    /* What is before a span: in its stretch, and before that. */
    struct Before {
        Acc spans, stretches;

        /* The same for the next span. */
        __device__ __forceinline__ void advance(int64_t number, Acc total)
        {
            int place = (int)(number % EK_STRETCH_SPANS);
            spans = place > 0 ? Op::combine(spans, total) : total;
            if (place == EK_STRETCH_SPANS - 1)
                stretches = number >= EK_STRETCH_SPANS ? Op::combine(stretches, spans) : spans;
        }
    };

    using Totals = ek_scan_words<Acc>;
    using Answers = ek_scan_words<Before>;

    /* Nanoseconds between two looks at an answer that is not there yet. */
    static constexpr uint32_t wait = 40;
    /* Stretches of which a warp has asked for the totals. */
    static constexpr int ahead = 4;

    EK_INLINE uint64_t *answer_at(void *state, int64_t unit)
    {
        return (uint64_t *)state + 2 + unit * Answers::length;
    }
    EK_INLINE uint64_t *total_at(void *state, int64_t units, int64_t unit)
    {
        return answer_at(state, units) + unit * Totals::length;
    }

    /* Publishes the total of span `number` of its row, unit `unit` of all; finds what is before it.
     * A thread's work. */
    EK_INLINE Before exchange(void *state, int64_t units, int64_t unit, int64_t number, Acc total)
    {
        Before before = {};
        Totals::publish(total_at(state, units, unit), total, EK_SCAN_TOTAL);
        if (number == 0)
            return before;
        const uint64_t *answer = answer_at(state, unit);
        while (Answers::read(answer, &before) == EK_SCAN_NOTHING)
            __nanosleep(wait);
        return before;
    }

    /* Totals of a stretch, one in each lane. */
    struct Asked {
        Acc value;
        uint32_t tag;
    };

    /* Where a warp's stretch is. */
    struct Stretch {
        int64_t row, place;
    };

    EK_INLINE Asked ask(void *state, int64_t rows, int64_t spans, const Stretch &stretch, int lane)
    {
        Asked one = {Acc(), EK_SCAN_TOTAL};
        int64_t span = stretch.place * EK_STRETCH_SPANS + lane;
        if (stretch.row < rows && span < spans)
            one.tag =
                Totals::read(total_at(state, rows * spans, stretch.row * spans + span), &one.value);
        return one;
    }

    /* Chains all totals of `rows` rows of `spans` spans, a stretch a warp at a time. The work of a
     * block. */
    EK_INLINE void chain(void *state, int64_t rows, int64_t spans)
    {
        __shared__ Acc totals[2][32];
        int warps = (int)blockDim.x / 32, warp = (int)threadIdx.x / 32,
            lane = (int)threadIdx.x % 32;
        int64_t stretches = (spans - 1) / EK_STRETCH_SPANS + 1, all = rows * stretches;
        Asked asked[ahead];
        Stretch stretch[ahead];
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            int64_t number = warp + i * warps;
            stretch[i].row = number / stretches;
            stretch[i].place = number - stretch[i].row * stretches;
            asked[i] = ask(state, rows, spans, stretch[i], lane);
        }
        Acc prefix = Acc();
        int64_t first = 0; /* place of the first warp's stretch */
        for (int64_t round = 0; round * warps < all; round++) {
            /* Later ones are asked for again, too, so that a round does not take as long as an
             * answer. */
            while (!__all_sync(0xffffffffu, asked[0].tag != EK_SCAN_NOTHING)) {
#pragma unroll
                for (int i = 0; i < ahead; i++)
                    if (asked[i].tag == EK_SCAN_NOTHING)
                        asked[i] = ask(state, rows, spans, stretch[i], lane);
            }
            bool inside = stretch[0].row < rows;
            int64_t span = stretch[0].place * EK_STRETCH_SPANS + lane;
            int count = inside ? (int)ek_smaller(spans - (span - lane), EK_STRETCH_SPANS) : 1;
            Acc mine = ek_scan_chain<Op>(asked[0].value, lane, count);
            Before before = {ek_shuffle_from(mine, lane - 1 & 31), Acc()};
            if (lane == count - 1)
                totals[round & 1][warp] = mine;
            __syncthreads();
            for (int i = 0; i < warps; i++) {
                if (i == warp)
                    before.stretches = prefix;
                Acc total = totals[round & 1][i];
                prefix = first > 0 ? Op::combine(prefix, total) : total;
                first = first + 1 < stretches ? first + 1 : 0;
            }
            if (lane < count && inside && span > 0)
                Answers::publish(answer_at(state, stretch[0].row * spans + span), before,
                                 EK_SCAN_PREFIX);
            Stretch next = stretch[ahead - 1];
            for (next.place += warps; next.place >= stretches; next.row++)
                next.place -= stretches;
#pragma unroll
            for (int i = 1; i < ahead; i++) {
                asked[i - 1] = asked[i];
                stretch[i - 1] = stretch[i];
            }
            stretch[ahead - 1] = next;
            asked[ahead - 1] = ask(state, rows, spans, next, lane);
        }
    }
};

/* The chunks of columns: `state` holds words for each column of each chunk; those of one chunk lie
 * side by side. A carry's `chunks` is a total first. */
template <typename Carry, typename Op> struct ek_scan_columns {
    using Words = ek_scan_words<Carry>;
    using Acc = typename Op::Acc;

    static constexpr int reach = 4;

    EK_INLINE uint64_t *at(void *state, int64_t place)
    {
        return (uint64_t *)state + 2 + place * Words::length;
    }

    /* Publishes a chunk's total and the carry after it. Returns the one before it, if there is any.
     */
    EK_INLINE Carry exchange(uint64_t *state, int64_t columns, int64_t number, Acc total,
                             bool inside)
    {
        Carry carry = Carry();
        if (!inside)
            return carry;
        if (number > 0) {
            Carry own = Carry();
            own.chunks = total;
            Words::publish(state, own, EK_SCAN_TOTAL);
            carry = look_back(state, columns * Words::length, number);
        }
        Carry after = carry;
        after.advance(number, total);
        Words::publish(state, after, EK_SCAN_PREFIX);
        return carry;
    }

    EK_INLINE Carry look_back(const uint64_t *state, int64_t pitch, int64_t number)
    {
        Carry value[reach];
        for (;;) {
            uint32_t tag[reach];
            int found = -1;
            bool missing = false;
#pragma unroll
            for (int r = 0; r < reach; r++)
                tag[r] =
                    r < number ? Words::read(state - (r + 1) * pitch, &value[r]) : EK_SCAN_NOTHING;
#pragma unroll
            for (int r = 0; r < reach; r++) {
                if (found < 0 && !missing && tag[r] == EK_SCAN_PREFIX)
                    found = r;
                missing |= tag[r] == EK_SCAN_NOTHING;
            }
            if (found < 0)
                continue;
            Carry carry = value[0];
#pragma unroll
            for (int r = reach - 1; r >= 0; r--) {
                if (r == found)
                    carry = value[r];
                if (r < found)
                    carry.advance(number - 1 - r, value[r].chunks);
            }
            return carry;
        }
    }
};

#endif
