/* Checks of typed elementwise calls. data[0] is the output, data[1..] the inputs; size[] holds the
 * bytes of their elements. */
#ifndef EK_TYPED_H
#define EK_TYPED_H

#include <stdbool.h>
#include <stdint.h>

#include "einkorn/table.h"
#include "entry.h"

/* The most operands of an elementwise operation: inputs and one output. */
#define EK_MAX_OPERANDS (EK_MAX_INPUTS + 1)

/* The most elements a typed call takes: their bytes fit 63 bits for every dtype. */
#define EK_MAX_COUNT (INT64_MAX / 16)

/* The name of a loop's typed call: ek_add_f32, or ek_cast_f32_f16. `text` has EK_TYPED_CALL_TEXT;
 * returned. */
enum { EK_TYPED_CALL_TEXT = 64 };

const char *ek_typed_call(const ek_op_info *op, int32_t loop, char *text);

static inline bool ek_disjoint(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x + a_bytes <= y || y + b_bytes <= x;
}

/* True if n elements may be computed: a count in range, no null array, and an output that is an
 * input or shares nothing with it. */
static inline bool ek_typed_ok(int operands, int64_t n, void *const *data, const uint8_t *size)
{
    bool ok = (uint64_t)n <= EK_MAX_COUNT;
    for (int i = 0; i < operands; i++)
        ok &= data[i] != 0;
    for (int i = 1; i < operands; i++)
        ok &= (data[i] == data[0] && size[i] == size[0]) ||
              ek_disjoint(data[0], (uint64_t)n * size[0], data[i], (uint64_t)n * size[i]);
    return ok | (n == 0);
}

/* The status and message for a call that ek_typed_ok refused. `loop` is the index of its dtypes. */
ek_status ek_typed_refuse(const ek_op_info *op, int loop, int64_t n, void *const *data)
    __attribute__((cold));

#endif
