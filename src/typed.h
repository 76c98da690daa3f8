/* Checks of typed elementwise calls. data[] are the outputs, then the inputs; size[] holds the
 * bytes of their elements. */
#ifndef EK_TYPED_H
#define EK_TYPED_H

#include <stdbool.h>
#include <stdint.h>

#include "einkorn/table.h"
#include "entry.h"
#include "params.h"

/* The most elements a typed call takes: their bytes fit 63 bits for every dtype. */
#define EK_MAX_COUNT (INT64_MAX / 16)

/* The name of a loop's typed call: ek_add_f32, or ek_cast_f32_f16. `text` has EK_TYPED_CALL_TEXT;
 * returned. */
enum { EK_TYPED_CALL_TEXT = 64 };

const char *ek_typed_call(const ek_op_info *op, int32_t loop, char *text);

/* The name of an operand: of an output, or of an input. */
const char *ek_operand_name(const ek_op_info *op, int32_t i);

static inline bool ek_disjoint(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x + a_bytes <= y || y + b_bytes <= x;
}

/* True if output k may be written while operand i, another output or an input, is used: it is an
 * input, element for element, or shares nothing with it. */
static inline bool ek_typed_apart(int outputs, int k, int i, int64_t n, void *const *data,
                                  const uint8_t *size)
{
    return (i >= outputs && data[i] == data[k] && size[i] == size[k]) ||
           ek_disjoint(data[k], (uint64_t)n * size[k], data[i], (uint64_t)n * size[i]);
}

/* True if n elements may be computed: a count in range, no null array, and outputs that are apart
 * from each other and from inputs that they are not. */
static inline bool ek_typed_ok(int outputs, int operands, int64_t n, void *const *data,
                               const uint8_t *size)
{
    bool ok = (uint64_t)n <= EK_MAX_COUNT;
    for (int i = 0; i < operands; i++)
        ok &= data[i] != 0;
    for (int k = 0; k < outputs; k++) {
        for (int i = k + 1; i < operands; i++)
            ok &= ek_typed_apart(outputs, k, i, n, data, size);
    }
    return ok | (n == 0);
}

/* The status and message for a call that ek_typed_ok refused, or one with parameters (else null)
 * that are not allowed. `loop` is the index of its dtypes. */
ek_status ek_typed_refuse(const ek_op_info *op, int loop, int64_t n, void *const *data,
                          const ek_scalar *params) __attribute__((cold));

#endif
