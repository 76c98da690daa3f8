/* Half types on the CPU: they compute in float32, so their loops are float32's loops between
 * conversions. */
#ifndef EK_CPU_HALF_H
#define EK_CPU_HALF_H

#include "einkorn/dtype.h"
#include "elementwise.h"

/* A loop with operands of half types. */
typedef struct ek_half_loop {
    ek_elementwise_fn *kernel; /* of the same loop with f32 in their place */
    uint8_t outputs, operands;
    uint8_t dtype[EK_MAX_OPERANDS]; /* an ek_dtype each, outputs first */
} ek_half_loop;

typedef void ek_half_fn(const ek_half_loop *loop, int64_t rows, int64_t n, void *const *data,
                        const int64_t *step, const ek_scalar *params);

/* Computes rows as an ek_elementwise_fn does. One a CPU variant. */
ek_half_fn ek_half_run__base;
#if EK_HAVE_X86
ek_half_fn ek_half_run__avx2, ek_half_run__avx512;
#endif

#endif
