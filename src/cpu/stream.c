#include "cpu/stream.h"

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>

void ek_stream(void *dst, const void *src, size_t bytes)
{
    enum { LINE = 64, WIDTH = 16 };
    char *to = dst;
    const char *from = src;
    size_t head = (size_t)(-(uintptr_t)to % LINE);
    if (head > bytes)
        head = bytes;
    memcpy(to, from, head);
    size_t lines = (bytes - head) / LINE;
    for (size_t i = 0; i < lines; i++) {
        const char *line = from + head + i * LINE;
        __m128i a = _mm_loadu_si128((const __m128i *)line);
        __m128i b = _mm_loadu_si128((const __m128i *)(line + WIDTH));
        __m128i c = _mm_loadu_si128((const __m128i *)(line + 2 * WIDTH));
        __m128i d = _mm_loadu_si128((const __m128i *)(line + 3 * WIDTH));
        __m128i *target = (__m128i *)(to + head + i * LINE);
        _mm_stream_si128(target, a);
        _mm_stream_si128(target + 1, b);
        _mm_stream_si128(target + 2, c);
        _mm_stream_si128(target + 3, d);
    }
    size_t done = head + lines * LINE;
    memcpy(to + done, from + done, bytes - done);
}

void ek_stream_end(void)
{
    _mm_sfence();
}

#else

void ek_stream(void *dst, const void *src, size_t bytes)
{
    memcpy(dst, src, bytes);
}

void ek_stream_end(void)
{
}

#endif
