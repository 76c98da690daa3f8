/* Random kernels on the CPU: where their words come from. */
#ifndef EK_CPU_RUN_RANDOM_H
#define EK_CPU_RUN_RANDOM_H

#include "cpu/half.h"
#include "cpu/variant.h"
#include "philox.h"
#include "random.h"
#include "typed.h"

/* Words that a kernel makes at a time: they stay in the first-level cache. */
enum { EK_RANDOM_BLOCK = 1024 };

/* Room for them. The first counter may begin before the words that are wanted, and the last one end
 * behind them. */
typedef union ek_random_room {
    uint32_t word[EK_RANDOM_BLOCK + 8];
    uint64_t pair[(EK_RANDOM_BLOCK + 8) / 2]; /* little-endian: the first word is the lower half */
} ek_random_room;

/* The words of `count` counters of a seed from `first` on. */
EK_NOINLINE void ek_random_draw(int64_t seed, uint64_t first, int count, uint32_t *words)
{
    EK_SIMD
    for (int i = 0; i < count; i++) {
        ek_philox_words x = ek_philox_draw(seed, first + (uint64_t)i, 0);
        words[4 * i] = x.at[0];
        words[4 * i + 1] = x.at[1];
        words[4 * i + 2] = x.at[2];
        words[4 * i + 3] = x.at[3];
    }
}

#endif
