/* Philox4x32-10 (J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2,
 * 3", 2011): four random words from a counter of four words and a key of two, with no state, so
 * that any element of a sequence is computed by itself. C and CUDA C.
 *
 * The word numbered i of a seed's sequence is word i % 4 of the counter i / 4. Of the counter's
 * four words the first two are that number, the third is 0 or, where an element is drawn again,
 * says how often; the last is 0. The key is the seed. */
#ifndef EK_PHILOX_H
#define EK_PHILOX_H

#include <stdint.h>

#include "einkorn/body.h"

typedef struct ek_philox_words {
    uint32_t at[4];
} ek_philox_words;

EK_BODY ek_philox_words ek_philox_round(ek_philox_words x, uint32_t key0, uint32_t key1)
{
    uint64_t a = (uint64_t)0xD2511F53u * x.at[0], b = (uint64_t)0xCD9E8D57u * x.at[2];
    ek_philox_words next = {{(uint32_t)(b >> 32) ^ x.at[1] ^ key0, (uint32_t)b,
                             (uint32_t)(a >> 32) ^ x.at[3] ^ key1, (uint32_t)a}};
    return next;
}

/* Ten rounds, the n-th with n times a constant added to the key. Written one by one, since
 * compilers vectorize a loop around them, and not one around another loop. */
EK_BODY ek_philox_words ek_philox(ek_philox_words x, uint32_t key0, uint32_t key1)
{
#define EK_PHILOX_ROUND(n) x = ek_philox_round(x, key0 + n * 0x9E3779B9u, key1 + n * 0xBB67AE85u)
    EK_PHILOX_ROUND(0u);
    EK_PHILOX_ROUND(1u);
    EK_PHILOX_ROUND(2u);
    EK_PHILOX_ROUND(3u);
    EK_PHILOX_ROUND(4u);
    EK_PHILOX_ROUND(5u);
    EK_PHILOX_ROUND(6u);
    EK_PHILOX_ROUND(7u);
    EK_PHILOX_ROUND(8u);
    EK_PHILOX_ROUND(9u);
#undef EK_PHILOX_ROUND
    return x;
}

/* The words of counter `number` for the n-th time. */
EK_BODY ek_philox_words ek_philox_draw(int64_t seed, uint64_t number, uint32_t n)
{
    ek_philox_words x = {{(uint32_t)number, (uint32_t)(number >> 32), n, 0}};
    return ek_philox(x, (uint32_t)(uint64_t)seed, (uint32_t)((uint64_t)seed >> 32));
}

/* True for the words below p times 2^32: of p = 1 all, of p = 0 none. */
EK_BODY bool ek_philox_hits(uint32_t word, double p)
{
    double exact = p * 0x1p+32;
    uint64_t whole = (uint64_t)exact;
    whole += (double)whole < exact;
    return (whole != 0) & (word <= (uint32_t)(whole - 1));
}

/* 32 or 64 bits for the element at `place` of a sequence, drawn for the n-th time: bits that no
 * other element has. */
EK_BODY uint32_t ek_philox_again_32(int64_t seed, uint64_t place, uint32_t n)
{
    ek_philox_words x = ek_philox_draw(seed, place / 4, n);
    int i = (int)(place % 4);
    return i < 2 ? (i == 0 ? x.at[0] : x.at[1]) : (i == 2 ? x.at[2] : x.at[3]);
}

EK_BODY uint64_t ek_philox_again_64(int64_t seed, uint64_t place, uint32_t n)
{
    ek_philox_words x = ek_philox_draw(seed, place / 2, n);
    return place % 2 ? (uint64_t)x.at[3] << 32 | x.at[2] : (uint64_t)x.at[1] << 32 | x.at[0];
}

#endif
