/* Integers of 64 bits: what C has no operator for. */
#ifndef EK_INTEGER_H
#define EK_INTEGER_H

#include <stdint.h>

/* a / b, rounded up; a is not negative. */
static inline int64_t ek_divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static inline int64_t ek_smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t ek_magnitude(int64_t a)
{
    return a < 0 ? -a : a;
}

#endif
