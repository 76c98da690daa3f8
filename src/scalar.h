/* Scalar parameters of operations, as kernels are given them. */
#ifndef EK_SCALAR_H
#define EK_SCALAR_H

#include <stdint.h>

/* One parameter. A "real" one is of the type that the loop computes in: f32 for half types too, f64
 * for double precision; an i64 for integers, of which u64 keeps the bits. An "int" and a "bool" are
 * an i64 in every loop, a "double" an f64. Array calls hold a "real" one in f64 until the loop is
 * known. */
typedef union ek_scalar {
    double f64;
    float f32;
    int64_t i64;
} ek_scalar;

#endif
