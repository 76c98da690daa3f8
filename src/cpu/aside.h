/* What a kernel does on the side while it computes: it fetches what is read next, and sends results
 * of before around the cache. Memory takes such stores at its own pace. In a burst the processor
 * waits for it; a few at a time, among computations, cost next to nothing. */
#ifndef EK_CPU_ASIDE_H
#define EK_CPU_ASIDE_H

#include "cpu/vector.h"
#if defined(__SSE2__)
#    include <emmintrin.h>
#endif

typedef struct ek_aside {
    uintptr_t next;   /* fetched from here; need not be there */
    const char *from; /* `left` bytes are sent from here to there, whole lines of both */
    char *to;
    int64_t left;
} ek_aside;

/* The store of a vector around the cache, where there is one. `to` is aligned. */
EK_VEC_INLINE void ek_vec_stream(char *to, const char *from)
{
    const void *x = from;
    void *y = to;
#if EK_VEC_BYTES == 64
    _mm512_stream_si512(y, _mm512_loadu_si512(x));
#elif EK_VEC_BYTES == 32
    _mm256_stream_si256(y, _mm256_loadu_si256(x));
#elif defined(__SSE2__)
    _mm_stream_si128(y, _mm_loadu_si128(x));
#else
    memcpy(y, x, EK_VEC_BYTES);
#endif
}

/* Fetches the next bytes and sends as many if they are left: a constant number of whole lines. */
EK_VEC_INLINE void ek_aside_step(ek_aside *aside, const int64_t bytes)
{
    ek_fetch(aside->next, (size_t)bytes);
    aside->next += (uintptr_t)bytes;
    if (aside->left < bytes)
        return;
    EK_UNROLL
    for (int64_t i = 0; i < bytes; i += EK_VEC_BYTES)
        ek_vec_stream(aside->to + i, aside->from + i);
    aside->from += bytes;
    aside->to += bytes;
    aside->left -= bytes;
}

#endif
