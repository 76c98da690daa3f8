#include "cpu/stream.h"

#include <stdint.h>
#include <string.h>

#if EK_HAVE_X86
#    include <immintrin.h>

static void lines_base(char *dst, const char *src, size_t lines)
{
    enum { WIDTH = 16 };
    for (size_t i = 0; i < lines * (EK_LINE / WIDTH); i++)
        _mm_stream_si128((__m128i *)dst + i, _mm_loadu_si128((const __m128i *)src + i));
}

__attribute__((target("avx2"))) static void lines_avx2(char *dst, const char *src, size_t lines)
{
    enum { WIDTH = 32 };
    for (size_t i = 0; i < lines * (EK_LINE / WIDTH); i++)
        _mm256_stream_si256((__m256i *)dst + i, _mm256_loadu_si256((const __m256i *)src + i));
}

__attribute__((target("avx512f"))) static void lines_avx512(char *dst, const char *src,
                                                            size_t lines)
{
    for (size_t i = 0; i < lines; i++)
        _mm512_stream_si512((void *)(dst + i * EK_LINE), _mm512_loadu_si512(src + i * EK_LINE));
}

void ek_stream(ek_variant variant, void *dst, const void *src, size_t bytes)
{
    static void (*const lines_of[EK_CUDA])(char *, const char *, size_t) = {
        [EK_CPU_BASE] = lines_base, [EK_CPU_AVX2] = lines_avx2, [EK_CPU_AVX512] = lines_avx512};
    size_t head = (size_t)(-(uintptr_t)dst % EK_LINE);
    if (head > bytes)
        head = bytes;
    size_t lines = (bytes - head) / EK_LINE, done = head + lines * EK_LINE;
    if (head)
        memcpy(dst, src, head);
    lines_of[variant]((char *)dst + head, (const char *)src + head, lines);
    if (done < bytes)
        memcpy((char *)dst + done, (const char *)src + done, bytes - done);
}

void ek_stream_end(void)
{
    _mm_sfence();
}

#else

void ek_stream(ek_variant variant, void *dst, const void *src, size_t bytes)
{
    (void)variant;
    memcpy(dst, src, bytes);
}

void ek_stream_end(void)
{
}

#endif
