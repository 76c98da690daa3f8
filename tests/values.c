#include "values.h"

#include <math.h>
#include <string.h>

#include "format.h"

enum { PER_PART = 14 }; /* special values that a part of a complex number goes through */

uint64_t ek_random(uint64_t seed, uint64_t counter)
{
    /* Two rounds of multiply and fold over an odd step: enough to look random in every bit. */
    uint64_t z = (counter + 1) * UINT64_C(0x9e3779b97f4a7c15) + seed * UINT64_C(0xd1342543de82ef95);
    for (int round = 0; round < 3; round++) {
        z ^= z >> 32;
        z *= UINT64_C(0xd6e8feb86659fd93);
    }
    return z ^ z >> 32;
}

static void store_integer(ek_dtype dtype, int64_t value, void *element)
{
    memcpy(element, &value, ek_dtype_size(dtype)); /* the low bytes come first */
}

static double ordinary(uint64_t bits)
{
    double mantissa = 1 + (double)(bits >> 12) * 0x1p-52;
    double magnitude = ldexp(mantissa, (int)(bits >> 1 & 0x7f) % 17 - 12);
    return bits & 1 ? -magnitude : magnitude;
}

void ek_ordinary_values(ek_dtype dtype, uint64_t seed, int64_t n, void *values)
{
    ek_dtype part = ek_real_dtype(dtype);
    size_t size = ek_dtype_size(part);
    int64_t parts = ek_is_complex(dtype) ? 2 * n : n;
    for (int64_t i = 0; i < parts; i++) {
        char *element = (char *)values + (size_t)i * size;
        uint64_t bits = ek_random(seed, (uint64_t)i);
        if (ek_is_float(part))
            ek_element_round(part, ordinary(bits), element);
        else if (dtype == EK_B8)
            store_integer(dtype, (int64_t)(bits & 1), element);
        else
            store_integer(dtype, (int64_t)(bits % 201) - 100, element);
    }
}

void ek_random_values(ek_dtype dtype, uint64_t seed, int64_t n, void *values)
{
    size_t bytes = (size_t)n * ek_dtype_size(dtype);
    for (size_t done = 0; done < bytes; done += 8) {
        uint64_t bits = ek_random(seed, done / 8);
        memcpy((char *)values + done, &bits, bytes - done < 8 ? bytes - done : 8);
    }
}

enum { FLOATS = 24, INTEGERS = 20, BOOLEANS = 5 };

/* Numbers that every floating format has its own of; with both signs. */
static double special_float(ek_format format, int index)
{
    double smallest = ldexp(1, format.min - format.precision + 1);
    double largest = ldexp(2 - ldexp(1, 1 - format.precision), format.max);
    double step = ldexp(1, 1 - format.precision);
    const double values[FLOATS] = {
        0,
        NAN,
        INFINITY,
        1,
        largest,
        smallest,
        2,
        0.5,
        ldexp(1, format.min),
        ldexp(1, format.min) - smallest,
        1 + step,
        1 - step / 2,
        3,
        1.5,
        10,
        100,
        M_PI,
        1 / M_PI,
        ldexp(1, format.precision),
        ldexp(1, format.precision - 1) + 1,
        ldexp(1, format.max),
        ldexp(3, format.min / 2),
        ldexp(3, format.max / 2),
        smallest * 3,
    };
    return index % 2 ? -values[index / 2] : values[index / 2];
}

static int64_t special_integer(int bits, int index)
{
    int64_t top = (int64_t)(UINT64_C(1) << (bits - 1));
    const int64_t values[INTEGERS] = {0,  1,   -1,  2,   -2,  top, top - 1, top + 1, top / 2, 3,
                                      -7, 100, 127, 128, 255, 7,   46,      top / 3, top - 2, 10};
    return values[index];
}

int ek_special_count(ek_dtype dtype)
{
    if (ek_is_float(dtype))
        return 2 * FLOATS;
    if (ek_is_complex(dtype))
        return PER_PART * PER_PART;
    return dtype == EK_B8 ? BOOLEANS : INTEGERS;
}

void ek_special_value(ek_dtype dtype, int index, void *value)
{
    static const uint8_t booleans[BOOLEANS] = {0, 1, 2, 0x80, 0xff};
    if (ek_is_float(dtype)) {
        ek_element_round(dtype, special_float(ek_format_of(dtype), index), value);
    } else if (ek_is_complex(dtype)) {
        ek_dtype part = ek_real_dtype(dtype);
        ek_special_value(part, index % PER_PART, value);
        ek_special_value(part, index / PER_PART, (char *)value + ek_dtype_size(part));
    } else if (dtype == EK_B8) {
        memcpy(value, &booleans[index], 1);
    } else {
        store_integer(dtype, special_integer(8 * (int)ek_dtype_size(dtype), index), value);
    }
}
