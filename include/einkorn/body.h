/* The vocabulary of operation bodies, the same for C and CUDA C. Bodies are written in templates as
 * ek_NAME(...); the generator gives each call its dtype. See docs/writing-a-template.md. */
#ifndef EINKORN_BODY_H
#define EINKORN_BODY_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "einkorn/dtype.h"

#if defined(__CUDACC__)
#    include <cuda_bf16.h>
#    include <cuda_fp16.h>
#    define EK_BODY static __device__ __forceinline__
#else
#    include <string.h>
#    define EK_BODY static inline __attribute__((always_inline, unused))
#endif

/* Numbers of a few elements each, which a reduction keeps many of: as narrow as will do in vectors,
 * as wide as a register in a GPU's. */
#if defined(__CUDACC__)
typedef uint32_t ek_lane_u8, ek_lane_u16, ek_lane_u32;
typedef int32_t ek_lane_i8, ek_lane_i16, ek_lane_i32;
#else
typedef uint8_t ek_lane_u8;
typedef uint16_t ek_lane_u16;
typedef uint32_t ek_lane_u32;
typedef int8_t ek_lane_i8;
typedef int16_t ek_lane_i16;
typedef int32_t ek_lane_i32;
#endif

/* The upper half of a product of 64-bit integers. */
EK_BODY uint64_t ek_body_mulhi_f64(uint64_t a, uint64_t b)
{
#if defined(__CUDACC__)
    return __umul64hi(a, b);
#else
    uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
    uint64_t other = a_low * b_high + (uint32_t)middle;
    return a_high * b_high + (middle >> 32) + (other >> 32);
#endif
}

/* Bit patterns. */

EK_BODY uint32_t ek_body_bits_f32(float x)
{
#if defined(__CUDACC__)
    return __float_as_uint(x);
#else
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
#endif
}

EK_BODY float ek_body_from_bits_f32(uint32_t u)
{
#if defined(__CUDACC__)
    return __uint_as_float(u);
#else
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
#endif
}

EK_BODY uint64_t ek_body_bits_f64(double x)
{
#if defined(__CUDACC__)
    return (uint64_t)__double_as_longlong(x);
#else
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
#endif
}

EK_BODY double ek_body_from_bits_f64(uint64_t u)
{
#if defined(__CUDACC__)
    return __longlong_as_double((long long)u);
#else
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
#endif
}

/* Nearest integer, ties to even, for |x| below 2^22 (f32) or 2^51 (f64): adding 1.5 times the power
 * where the unit in the last place is 1 rounds in hardware, without a rounding instruction. */

EK_BODY float ek_body_nearest_f32(float x)
{
    return (x + 0x1.8p+23f) - 0x1.8p+23f;
}

EK_BODY double ek_body_nearest_f64(double x)
{
    return (x + 0x1.8p+52) - 0x1.8p+52;
}

/* The larger and the smaller number: NaN if one is NaN, +0 above -0, so that the order of arguments
 * and of several calls makes no difference to the bits. `z` is y where the numbers are equal, which
 * then differ in bits only as zeros do, and where one is NaN. What follows is bits and not choices,
 * since gcc makes several masks of choices that depend on each other. GPUs have one instruction for
 * all of it. */

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#    define EK_BODY_EXTREME(name, instruction, compare, join, rest)                                \
        EK_BODY float ek_body_##name##_f32(float x, float y)                                       \
        {                                                                                          \
            float z;                                                                               \
            asm(instruction ".NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));                    \
            return z;                                                                              \
        }                                                                                          \
        EK_BODY_EXTREME_OF(name, double, uint64_t, f64, compare, join, rest)
#else
#    define EK_BODY_EXTREME(name, instruction, compare, join, rest)                                \
        EK_BODY_EXTREME_OF(name, float, uint32_t, f32, compare, join, rest)                        \
        EK_BODY_EXTREME_OF(name, double, uint64_t, f64, compare, join, rest)
#endif

#define EK_BODY_EXTREME_OF(name, type, bits, t, compare, join, rest)                               \
    EK_BODY type ek_body_##name##_##t(type x, type y)                                              \
    {                                                                                              \
        type z = x compare y ? x : y;                                                              \
        bits apart = (bits)(x == y) - 1;                                                           \
        z = ek_body_from_bits_##t(ek_body_bits_##t(z) join(ek_body_bits_##t(x) rest));             \
        return x == x ? z : x;                                                                     \
    }

EK_BODY_EXTREME(larger, "max", >, &, | apart)
EK_BODY_EXTREME(smaller, "min", <, |, &~apart)

#undef EK_BODY_EXTREME
#undef EK_BODY_EXTREME_OF

EK_BODY ek_c64 ek_body_complex_c64(float re, float im)
{
    ek_c64 z = {re, im};
    return z;
}

EK_BODY ek_c128 ek_body_complex_c128(double re, double im)
{
    ek_c128 z = {re, im};
    return z;
}

/* How many of four bytes are not zero: a carry out of the low seven bits, or the eighth. */
EK_BODY uint32_t ek_body_nonzero_bytes(uint32_t word)
{
    uint32_t high = (((word & 0x7f7f7f7fu) + 0x7f7f7f7fu) | word) & 0x80808080u;
#if defined(__CUDACC__)
    return (uint32_t)__popc(high);
#else
    return (high >> 7) * 0x01010101u >> 24;
#endif
}

/* From memory to the type a body computes in, and back. Half types compute in float and round once,
 * to nearest even; everything else computes as it is stored. */

EK_BODY float ek_load_f16(ek_f16 x)
{
#if defined(__CUDACC__)
    return __half2float(__ushort_as_half(x.bits));
#else
    /* As a binary32 with the exponent bias of binary16, scaled back by 2^(127-15); the product is
     * exact for subnormal numbers too. Infinity and NaN keep the largest exponent. */
    uint32_t magnitude = x.bits & 0x7fffu;
    uint32_t sign = (uint32_t)(x.bits & 0x8000u) << 16;
    uint32_t u = ek_body_bits_f32(ek_body_from_bits_f32(magnitude << 13) * 0x1p+112f);
    u |= magnitude >= 0x7c00u ? 0x7f800000u : 0u;
    return ek_body_from_bits_f32(u | sign);
#endif
}

EK_BODY ek_f16 ek_store_f16(float x)
{
    ek_f16 half;
#if defined(__CUDACC__)
    half.bits = __half_as_ushort(__float2half_rn(x));
#else
    uint32_t u = ek_body_bits_f32(x);
    uint32_t sign = (u >> 16) & 0x8000u;
    u &= 0x7fffffffu;
    /* Normal results: rebias the exponent, round the 13 lost bits to nearest even. */
    uint32_t normal = (u + 0xc8000fffu + ((u >> 13) & 1u)) >> 13;
    /* Subnormal results: adding 1/2, whose unit in the last place is binary16's smallest number,
     * makes the addition round. */
    uint32_t tiny = ek_body_bits_f32(ek_body_from_bits_f32(u) + 0.5f) - 0x3f000000u;
    uint32_t bits = u < 0x38800000u ? tiny : normal;
    bits = u >= 0x477ff000u ? 0x7c00u : bits;
    bits = u > 0x7f800000u ? 0x7e00u : bits;
    half.bits = (uint16_t)(bits | sign);
#endif
    return half;
}

EK_BODY float ek_load_bf16(ek_bf16 x)
{
    return ek_body_from_bits_f32((uint32_t)x.bits << 16);
}

EK_BODY ek_bf16 ek_store_bf16(float x)
{
    ek_bf16 half;
#if defined(__CUDACC__)
    half.bits = __bfloat16_as_ushort(__float2bfloat16_rn(x));
#else
    uint32_t u = ek_body_bits_f32(x);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    half.bits = (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
#endif
    return half;
}

/* x rounded to odd: toward zero, and the last bit set if anything was cut off. Rounding the result
 * once more, to fewer than 23 bits, gives what rounding x itself would (S. Boldo, G. Melquiond,
 * "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
 */
EK_BODY float ek_body_odd_f32(double x)
{
    float nearest = (float)x;
    double back = nearest;
    uint32_t u = ek_body_bits_f32(nearest);
    u -= fabs(back) > fabs(x) ? 1u : 0u;
    u |= back != x ? 1u : 0u;
    return ek_body_from_bits_f32(u);
}

EK_BODY ek_b8 ek_load_b8(ek_b8 x)
{
    return x != 0;
}

#define EK_BODY_AS_STORED(name, type)                                                              \
    EK_BODY type ek_load_##name(type x)                                                            \
    {                                                                                              \
        return x;                                                                                  \
    }                                                                                              \
    EK_BODY type ek_store_##name(type x)                                                           \
    {                                                                                              \
        return x;                                                                                  \
    }

EK_BODY ek_b8 ek_store_b8(ek_b8 x)
{
    return x;
}

EK_BODY_AS_STORED(i8, int8_t)
EK_BODY_AS_STORED(i16, int16_t)
EK_BODY_AS_STORED(i32, int32_t)
EK_BODY_AS_STORED(i64, int64_t)
EK_BODY_AS_STORED(u8, uint8_t)
EK_BODY_AS_STORED(u16, uint16_t)
EK_BODY_AS_STORED(u32, uint32_t)
EK_BODY_AS_STORED(u64, uint64_t)
EK_BODY_AS_STORED(f32, float)
EK_BODY_AS_STORED(f64, double)
EK_BODY_AS_STORED(c64, ek_c64)
EK_BODY_AS_STORED(c128, ek_c128)

#undef EK_BODY_AS_STORED

#endif
