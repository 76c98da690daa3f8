#include "sample.h"

#include <string.h>

#include "einkorn/body.h"

enum { SPECIALS = 64 };

/* 64 well-mixed bits of a counter (the finalizer of SplitMix64, Steele, Lea and Flood 2014). */
static uint64_t mix(uint64_t counter)
{
    uint64_t z = counter * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t random_bits(const sample *s, int64_t number)
{
    return mix((uint64_t)number + mix((uint64_t)s->input + 1));
}

/* The dtype of a number: a complex element has two. */
static ek_dtype part_dtype(ek_dtype dtype)
{
    return dtype == EK_C64 ? EK_F32 : (dtype == EK_C128 ? EK_F64 : dtype);
}

static uint64_t encode(ek_dtype dtype, double value)
{
    switch (dtype) {
    case EK_F16:
        return ek_store_f16((float)value).bits;
    case EK_BF16:
        return ek_store_bf16((float)value).bits;
    case EK_F32:
        return ek_body_bits_f32((float)value);
    default:
        return ek_body_bits_f64(value);
    }
}

static int is_float(ek_dtype dtype)
{
    return dtype >= EK_F16 && dtype <= EK_F64;
}

/* Edges of a floating-point format: ends of its ranges, then numbers near which functions change
 * their ways: around 1, where exp and its kin overflow and underflow, and where integers end. */
static uint64_t special_float(ek_dtype dtype, int64_t index)
{
    static const double values[] = {
        0x1p-30,   0x1p-12,
        0.1,       0.25,
        0.5,       1.0,
        1.5,       2.0,
        2.5,       2.718281828459045,
        3.0,       3.141592653589793,
        10.0,      17.0,
        88.72284,  103.9721,
        709.783,   745.1333,
        8388609.5, 0x1p+31,
        0x1p+63,   1e30,
    };
    enum { VALUES = sizeof values / sizeof values[0] };
    static const int mantissa_bits[EK_DTYPES] = {
        [EK_F16] = 10, [EK_BF16] = 7, [EK_F32] = 23, [EK_F64] = 52};
    int mantissa = mantissa_bits[dtype], bits = 8 * (int)ek_dtype_size(dtype);
    uint64_t least_normal = UINT64_C(1) << mantissa;
    uint64_t infinity = (UINT64_C(1) << (bits - 1)) - least_normal;
    uint64_t one = encode(dtype, 1.0);
    const uint64_t patterns[] = {
        0,
        1,
        least_normal - 1,
        least_normal,
        infinity - 1,
        infinity,
        infinity + least_normal / 2,
        one - 1,
        one + 1,
        least_normal / 2,
    };
    enum { PATTERNS = sizeof patterns / sizeof patterns[0] };
    _Static_assert(2 * (VALUES + PATTERNS) == SPECIALS, "one list of specials for all dtypes");
    int64_t positive = index / 2;
    uint64_t sign = (uint64_t)(index % 2) << (bits - 1);
    uint64_t pattern =
        positive < PATTERNS ? patterns[positive] : encode(dtype, values[positive - PATTERNS]);
    return pattern | sign;
}

/* Small numbers, powers of two and their neighbours, the ends of the range, and the complement of
 * each, which is the negative number before. */
static uint64_t special_int(ek_dtype dtype, int64_t index)
{
    static const uint64_t values[SPECIALS / 2 - 1] = {
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        10,
        12,
        15,
        16,
        17,
        31,
        32,
        33,
        63,
        64,
        65,
        100,
        126,
        128,
        255,
        1000,
        0x8000,
        0x10000,
        0x7fffffff,
        0x100000000,
        0x20000000000001,
    };
    uint64_t top = UINT64_C(1) << (8 * ek_dtype_size(dtype) - 1);
    uint64_t value = index / 2 < SPECIALS / 2 - 1 ? values[index / 2] : top;
    return index % 2 ? ~value : value;
}

static uint64_t ordinary(ek_dtype dtype, uint64_t random)
{
    if (is_float(dtype))
        return encode(dtype, (double)(random >> 11) * 0x1p-50 - 4.0);
    if (dtype == EK_B8)
        return random & 1;
    return dtype <= EK_I64 ? random % 201 - 100 : random % 101;
}

/* The pattern of one number. `part` is its place in a complex element, 0 or 1. */
static uint64_t pattern_of(const sample *s, ek_dtype dtype, int64_t element, int parts, int part)
{
    int64_t combination = s->period ? element / s->period : (int64_t)(random_bits(s, element) >> 1);
    switch (s->kind) {
    case SAMPLE_ORDINARY:
        return ordinary(dtype, random_bits(s, parts * element + part));
    case SAMPLE_SPECIAL:
        combination = (part ? combination / SPECIALS : combination) % SPECIALS;
        return is_float(dtype) ? special_float(dtype, combination)
                               : special_int(dtype, combination);
    case SAMPLE_BITS:
        return random_bits(s, parts * element + part);
    default:
        return (uint64_t)combination;
    }
}

int64_t sample_count(sample_kind kind, ek_dtype dtype)
{
    if (kind == SAMPLE_ALL)
        return INT64_C(1) << (8 * ek_dtype_size(dtype));
    return part_dtype(dtype) == dtype ? SPECIALS : SPECIALS * SPECIALS;
}

void sample_fill(const sample *s, int64_t first, int64_t count, void *data)
{
    if (s->kind == SAMPLE_ALL && s->dtype == EK_F32 && s->period == 1) {
        uint32_t *patterns = data; /* all 2^32 of them: time matters */
        for (int64_t i = 0; i < count; i++)
            patterns[i] = (uint32_t)(first + i);
        return;
    }
    ek_dtype dtype = part_dtype(s->dtype);
    int parts = dtype == s->dtype ? 1 : 2;
    size_t size = ek_dtype_size(dtype);
    unsigned char *to = data;
    for (int64_t i = 0; i < count; i++) {
        for (int part = 0; part < parts; part++, to += size) {
            uint64_t pattern = pattern_of(s, dtype, first + i, parts, part);
            uint8_t u8 = (uint8_t)pattern;
            uint16_t u16 = (uint16_t)pattern;
            uint32_t u32 = (uint32_t)pattern;
            switch (size) {
            case 1:
                memcpy(to, &u8, size);
                break;
            case 2:
                memcpy(to, &u16, size);
                break;
            case 4:
                memcpy(to, &u32, size);
                break;
            default:
                memcpy(to, &pattern, size);
                break;
            }
        }
    }
}
