#include "typed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The typed call's name: ek_add_f32, or ek_cast_f32_f16. */
static void call_name(const ek_op_info *op, const ek_loop *loop, char *text, size_t size)
{
    const char *in = ek_dtype_name((ek_dtype)loop->in[op->inputs ? op->inputs - 1 : 0]);
    const char *out = ek_dtype_name((ek_dtype)loop->out);
    if (op->inputs == 0)
        snprintf(text, size, "ek_%s_%s", op->name, out);
    else if (strcmp(op->kind, "cast") == 0)
        snprintf(text, size, "ek_%s_%s_%s", op->name, in, out);
    else
        snprintf(text, size, "ek_%s_%s", op->name, in);
}

ek_status ek_typed_refuse(const ek_op_info *op, int loop, int64_t n, void *const *data)
{
    char call[64];
    call_name(op, &op->loops[loop], call, sizeof call);
    if (n < 0 || n > EK_MAX_COUNT)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: n is %" PRId64 ": must be 0 to %" PRId64, call, n,
                       EK_MAX_COUNT);
    for (int i = 0; i <= op->inputs; i++) {
        if (!data[i])
            return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is null with n = %" PRId64, call,
                           i ? op->input_names[i - 1] : "out", n);
    }
    return ek_fail(EK_OVERLAP,
                   "%s: out at %p overlaps an input without being it, with n = %" PRId64, call,
                   data[0], n);
}
