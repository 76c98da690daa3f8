/* Vectors of numbers as wide as the variant's registers: a few names for kernels that must keep
 * their results in registers, which compilers do not manage for plain loops. Private to the CPU.
 *
 * ek_vec_T is a vector of EK_VEC_BYTES / sizeof(T) numbers; + - * work on it part by part. */
#ifndef EK_CPU_VECTOR_H
#define EK_CPU_VECTOR_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "cpu/variant.h"

#if defined(__AVX512F__)
#    include <immintrin.h>
#    define EK_VEC_BYTES 64
#elif defined(__AVX2__) && defined(__FMA__)
#    include <immintrin.h>
#    define EK_VEC_BYTES 32
#else
#    define EK_VEC_BYTES 16
#endif

/* Before a loop over registers: unrolled as a whole, or the registers would be an array in memory.
 */
#if defined(__clang__)
#    define EK_UNROLL _Pragma("clang loop unroll(full)")
#else
#    define EK_UNROLL _Pragma("GCC unroll 16")
#endif

/* EK_FIRST(j, n, most): a loop over the first n <= most of a constant number of places, in vectors;
 * EK_AT(j < n, a, b) in it is a, or b past them. With masks all places take part, so that what is
 * computed need not leave the registers; without, the loop ends at n. */
#if EK_VEC_BYTES == 64
#    define EK_FIRST_END(n, most) (most)
#    define EK_AT(inside, a, b) ((inside) ? (a) : (b))
#else
#    define EK_FIRST_END(n, most) (n)
#    define EK_AT(inside, a, b) (a)
#endif
#define EK_FIRST(j, n, most) EK_SIMD for (int j = 0; j < EK_FIRST_END(n, most); j++)
#define EK_FIRST_MIN(name, j, n, most)                                                             \
    EK_SIMD_MIN(name) for (int j = 0; j < EK_FIRST_END(n, most); j++)

/* A loop that is vectorized as one, never unrolled into scalars first. */
#if defined(__clang__)
#    define EK_SIMD_WHOLE _Pragma("clang loop unroll(disable) vectorize(assume_safety)")
#else
#    define EK_SIMD_WHOLE EK_SIMD
#endif

#define EK_VEC_INLINE static inline __attribute__((always_inline, unused))

/* Asks for the cache lines of `bytes` bytes, which may lie outside any array. */
EK_VEC_INLINE void ek_fetch(uintptr_t address, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 64)
        __builtin_prefetch((const void *)(address + i));
}

#define EK_VEC_TYPE(name, type)                                                                    \
    typedef type ek_vec_##name __attribute__((vector_size(EK_VEC_BYTES)));                         \
    EK_VEC_INLINE ek_vec_##name ek_vec_load_##name(const type *from)                               \
    {                                                                                              \
        ek_vec_##name x;                                                                           \
        memcpy(&x, from, sizeof x);                                                                \
        return x;                                                                                  \
    }                                                                                              \
    EK_VEC_INLINE void ek_vec_store_##name(type *to, ek_vec_##name x)                              \
    {                                                                                              \
        memcpy(to, &x, sizeof x);                                                                  \
    }                                                                                              \
    EK_VEC_INLINE ek_vec_##name ek_vec_all_##name(type x)                                          \
    {                                                                                              \
        return x - (ek_vec_##name){0};                                                             \
    }

EK_VEC_TYPE(u16, uint16_t)
EK_VEC_TYPE(u32, uint32_t)
EK_VEC_TYPE(u64, uint64_t)
EK_VEC_TYPE(f32, float)
EK_VEC_TYPE(f64, double)

#undef EK_VEC_TYPE

/* ek_vec_load_part: the first `count` numbers, zeros behind them; ek_vec_store_part: writes only
 * those. Nothing beyond them is touched. */

#if EK_VEC_BYTES == 64
#    define EK_VEC_PART(name, type, vector, suffix, mask)                                          \
        EK_VEC_INLINE ek_vec_##name ek_vec_load_part_##name(const type *from, int64_t count)       \
        {                                                                                          \
            return (ek_vec_##name)_mm512_maskz_loadu_##suffix((mask)((UINT64_C(1) << count) - 1),  \
                                                              from);                               \
        }                                                                                          \
        EK_VEC_INLINE void ek_vec_store_part_##name(type *to, ek_vec_##name x, int64_t count)      \
        {                                                                                          \
            _mm512_mask_storeu_##suffix(to, (mask)((UINT64_C(1) << count) - 1), (vector)x);        \
        }
EK_VEC_PART(u16, uint16_t, __m512i, epi16, __mmask32)
EK_VEC_PART(u32, uint32_t, __m512i, epi32, __mmask16)
EK_VEC_PART(u64, uint64_t, __m512i, epi64, __mmask8)
EK_VEC_PART(f32, float, __m512, ps, __mmask16)
EK_VEC_PART(f64, double, __m512d, pd, __mmask8)
#else
#    define EK_VEC_PART(name, type)                                                                \
        EK_VEC_INLINE ek_vec_##name ek_vec_load_part_##name(const type *from, int64_t count)       \
        {                                                                                          \
            ek_vec_##name x = {0};                                                                 \
            if (count == (int64_t)(sizeof x / sizeof(type)))                                       \
                return ek_vec_load_##name(from);                                                   \
            memcpy(&x, from, (size_t)count * sizeof(type));                                        \
            return x;                                                                              \
        }                                                                                          \
        EK_VEC_INLINE void ek_vec_store_part_##name(type *to, ek_vec_##name x, int64_t count)      \
        {                                                                                          \
            if (count == (int64_t)(sizeof x / sizeof(type)))                                       \
                ek_vec_store_##name(to, x);                                                        \
            else                                                                                   \
                memcpy(to, &x, (size_t)count * sizeof(type));                                      \
        }
EK_VEC_PART(u16, uint16_t)
#    if EK_VEC_BYTES == 32
#        undef EK_VEC_PART
#        define EK_VEC_PART(name, type, vector, pointer, suffix, mask)                             \
            EK_VEC_INLINE ek_vec_##name ek_vec_load_part_##name(const type *from, int64_t count)   \
            {                                                                                      \
                return (ek_vec_##name)_mm256_maskload_##suffix((const pointer *)from,              \
                                                               ek_vec_first_##mask(count));        \
            }                                                                                      \
            EK_VEC_INLINE void ek_vec_store_part_##name(type *to, ek_vec_##name x, int64_t count)  \
            {                                                                                      \
                if (count == (int64_t)(sizeof x / sizeof(type)))                                   \
                    ek_vec_store_##name(to, x);                                                    \
                else                                                                               \
                    _mm256_maskstore_##suffix((pointer *)to, ek_vec_first_##mask(count),           \
                                              (vector)x);                                          \
            }
EK_VEC_INLINE __m256i ek_vec_first_32(int64_t count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
EK_VEC_INLINE __m256i ek_vec_first_64(int64_t count)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}
EK_VEC_PART(u32, uint32_t, __m256i, int, epi32, 32)
EK_VEC_PART(u64, uint64_t, __m256i, long long, epi64, 64)
EK_VEC_PART(f32, float, __m256, float, ps, 32)
EK_VEC_PART(f64, double, __m256d, double, pd, 64)
#    else
EK_VEC_PART(u32, uint32_t)
EK_VEC_PART(u64, uint64_t)
EK_VEC_PART(f32, float)
EK_VEC_PART(f64, double)
#    endif
#endif

#undef EK_VEC_PART

/* ek_vec_fma: x * y + z, for floats rounded once; ek_vec_fnma: -x * y + z. */

#define EK_VEC_WRAPPING(name)                                                                      \
    EK_VEC_INLINE ek_vec_##name ek_vec_fma_##name(ek_vec_##name x, ek_vec_##name y,                \
                                                  ek_vec_##name z)                                 \
    {                                                                                              \
        return x * y + z;                                                                          \
    }

EK_VEC_WRAPPING(u16)
EK_VEC_WRAPPING(u32)
EK_VEC_WRAPPING(u64)

#undef EK_VEC_WRAPPING

#if EK_VEC_BYTES > 16
#    define EK_VEC_FMA(name, type, prefix, suffix)                                                 \
        EK_VEC_INLINE ek_vec_##name ek_vec_fma_##name(ek_vec_##name x, ek_vec_##name y,            \
                                                      ek_vec_##name z)                             \
        {                                                                                          \
            return (ek_vec_##name)prefix##_fmadd_##suffix((type)x, (type)y, (type)z);              \
        }                                                                                          \
        EK_VEC_INLINE ek_vec_##name ek_vec_fnma_##name(ek_vec_##name x, ek_vec_##name y,           \
                                                       ek_vec_##name z)                            \
        {                                                                                          \
            return (ek_vec_##name)prefix##_fnmadd_##suffix((type)x, (type)y, (type)z);             \
        }
#    if EK_VEC_BYTES == 64
EK_VEC_FMA(f32, __m512, _mm512, ps)
EK_VEC_FMA(f64, __m512d, _mm512, pd)
#    else
EK_VEC_FMA(f32, __m256, _mm256, ps)
EK_VEC_FMA(f64, __m256d, _mm256, pd)
#    endif
#else
/* Without a vector instruction for it. On x86-64's baseline, which has none at all, each of these
 * calls the C library. */
#    define EK_VEC_FMA(name, fma)                                                                  \
        EK_VEC_INLINE ek_vec_##name ek_vec_fma_##name(ek_vec_##name x, ek_vec_##name y,            \
                                                      ek_vec_##name z)                             \
        {                                                                                          \
            for (unsigned i = 0; i < sizeof x / sizeof x[0]; i++)                                  \
                z[i] = fma(x[i], y[i], z[i]);                                                      \
            return z;                                                                              \
        }                                                                                          \
        EK_VEC_INLINE ek_vec_##name ek_vec_fnma_##name(ek_vec_##name x, ek_vec_##name y,           \
                                                       ek_vec_##name z)                            \
        {                                                                                          \
            for (unsigned i = 0; i < sizeof x / sizeof x[0]; i++)                                  \
                z[i] = fma(-x[i], y[i], z[i]);                                                     \
            return z;                                                                              \
        }
EK_VEC_FMA(f32, fmaf)
EK_VEC_FMA(f64, fma)
#endif

#undef EK_VEC_FMA

#endif
