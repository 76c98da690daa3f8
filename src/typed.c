#include "typed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *ek_typed_call(const ek_op_info *op, int32_t index, char *text)
{
    const ek_loop *loop = &op->loops[index];
    const char *in = ek_dtype_name((ek_dtype)loop->in[op->inputs ? op->inputs - 1 : 0]);
    const char *out = ek_dtype_name((ek_dtype)loop->out);
    if (op->inputs == 0)
        snprintf(text, EK_TYPED_CALL_TEXT, "ek_%s_%s", op->name, out);
    else if (strcmp(op->kind, "cast") == 0)
        snprintf(text, EK_TYPED_CALL_TEXT, "ek_%s_%s_%s", op->name, in, out);
    else
        snprintf(text, EK_TYPED_CALL_TEXT, "ek_%s_%s", op->name, in);
    return text;
}

ek_status ek_typed_refuse(const ek_op_info *op, int loop, int64_t n, void *const *data)
{
    char call[EK_TYPED_CALL_TEXT];
    ek_typed_call(op, loop, call);
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
