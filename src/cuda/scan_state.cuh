/* How the blocks of a scan learn what the elements before theirs come to, in one pass (D. Merrill,
 * M. Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016). A block publishes
 * its own total at once, looks back to the nearest block whose prefix is known, and chains the
 * totals after it from left to right: whichever prefix it found, that is the same chain, so the
 * bits do not depend on it.
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

/* The spans of rows. `state` has words for each span, then for each stretch. */
template <typename Op> struct ek_scan_state {
    using Acc = typename Op::Acc;
    using Words = ek_scan_words<Acc>;

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

    uint64_t *span, *stretch; /* of this one */
    int place;                /* of the span in its stretch */
    int64_t number;           /* of the stretch */

    /* Nanoseconds between two looks at what is not there yet: all blocks look at the same few
     * lines, and would keep each other from writing them. */
    static constexpr uint32_t wait = 100;

    EK_INLINE ek_scan_state of(void *state, int64_t row, int64_t spans, int64_t rows,
                               int64_t number)
    {
        ek_scan_state at;
        int64_t stretches = (spans - 1) / EK_STRETCH_SPANS + 1;
        at.place = (int)(number % EK_STRETCH_SPANS);
        at.number = number / EK_STRETCH_SPANS;
        at.span = (uint64_t *)state + 2 + (row * spans + number) * Words::length;
        at.stretch =
            (uint64_t *)state + 2 + (rows * spans + row * stretches + at.number) * Words::length;
        return at;
    }

    /* Publishes a span's total; finds what is before it. A warp's work. */
    __device__ __forceinline__ Before exchange(Acc total, int lane) const
    {
        Before before = {};
        if (lane == 0)
            Words::publish(span, total, EK_SCAN_TOTAL);
        if (place > 0) {
            Acc value = Acc();
            while (lane < place &&
                   Words::read(span - (place - lane) * Words::length, &value) == EK_SCAN_NOTHING)
                __nanosleep(wait);
            __syncwarp();
            before.spans = ek_shuffle_from(ek_scan_chain<Op>(value, lane, place), place - 1);
            total = Op::combine(before.spans, total);
        }
        bool last = place == EK_STRETCH_SPANS - 1 && lane == 0;
        if (number == 0) {
            if (last)
                Words::publish(stretch, total, EK_SCAN_PREFIX);
            return before;
        }
        if (last)
            Words::publish(stretch, total, EK_SCAN_TOTAL);
        before.stretches = look_back(lane);
        if (last)
            Words::publish(stretch, Op::combine(before.stretches, total), EK_SCAN_PREFIX);
        return before;
    }

    __device__ __forceinline__ Acc look_back(int lane) const
    {
        Acc value = Acc();
        int distance;
        do {
            uint32_t tag = EK_SCAN_NOTHING;
            if (lane < number)
                tag = Words::read(stretch - (lane + 1) * Words::length, &value);
            uint32_t known = __ballot_sync(0xffffffffu, tag == EK_SCAN_PREFIX);
            uint32_t nothing = __ballot_sync(0xffffffffu, tag == EK_SCAN_NOTHING);
            uint32_t nearer = (known & -known) - 1;
            distance = known && !(nothing & nearer) ? __ffs(known) - 1 : -1;
            if (distance < 0)
                __nanosleep(wait);
        } while (distance < 0);
        /* The chain goes from the farthest to the nearest. */
        value = ek_shuffle_from(value, distance - lane & 31);
        return ek_shuffle_from(ek_scan_chain<Op>(value, lane, distance + 1), distance);
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
