/* Element types and their C representation. */
#ifndef EINKORN_DTYPE_H
#define EINKORN_DTYPE_H

#include <stddef.h>
#include <stdint.h>

#include "einkorn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The fifteen dtypes, in the order of every table that is indexed by dtype. */
typedef enum ek_dtype {
    EK_B8, /* boolean in a byte: 0 is false; kernels write 1 for true and read any other byte so */
    EK_I8, /* signed integers, two's complement */
    EK_I16,
    EK_I32,
    EK_I64,
    EK_U8, /* unsigned integers */
    EK_U16,
    EK_U32,
    EK_U64,
    EK_F16,  /* IEEE 754 binary16 */
    EK_BF16, /* bfloat16: the upper half of a binary32 */
    EK_F32,  /* IEEE 754 binary32 */
    EK_F64,  /* IEEE 754 binary64 */
    EK_C64,  /* two binary32: real part, imaginary part */
    EK_C128, /* two binary64 */
    EK_DTYPES
} ek_dtype;

typedef uint8_t ek_b8;

typedef struct ek_f16 {
    uint16_t bits;
} ek_f16;

typedef struct ek_bf16 {
    uint16_t bits;
} ek_bf16;

typedef struct ek_c64 {
    float re, im;
} ek_c64;

typedef struct ek_c128 {
    double re, im;
} ek_c128;

/* Bytes of one element; 0 for a value that is no dtype. */
size_t ek_dtype_size(ek_dtype dtype);

/* "f32" and so on; "?" for a value that is no dtype. */
const char *ek_dtype_name(ek_dtype dtype);

/* The dtype of that name. EK_INVALID_ARGUMENT for any other text. */
ek_status ek_dtype_parse(const char *name, ek_dtype *dtype);

#ifdef __cplusplus
}
#endif
#endif
