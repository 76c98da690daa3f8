#include "typed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "elementwise.h"

/* With a loop for each dtype of its indices. */
static bool is_lookup(const ek_op_info *op)
{
    return strcmp(op->kind, "take") == 0 || strcmp(op->kind, "put") == 0 ||
           strcmp(op->kind, "scatter") == 0;
}

const char *ek_typed_call(const ek_op_info *op, int32_t index, char *text)
{
    const ek_loop *loop = &op->loops[index];
    const char *dtype = ek_dtype_name((ek_dtype)loop->dtype);
    if (strcmp(op->kind, "cast") == 0)
        snprintf(text, EK_TYPED_CALL_TEXT, "ek_%s_%s_%s", op->name, dtype,
                 ek_dtype_name((ek_dtype)loop->out[0]));
    else if (is_lookup(op))
        snprintf(text, EK_TYPED_CALL_TEXT, "ek_%s_%s_%s", op->name, dtype,
                 ek_dtype_name((ek_dtype)loop->in[1]));
    else
        snprintf(text, EK_TYPED_CALL_TEXT, "ek_%s_%s", op->name, dtype);
    return text;
}

const char *ek_operand_name(const ek_op_info *op, int32_t i)
{
    return i < op->outputs ? op->output_names[i] : op->input_names[i - op->outputs];
}

static ek_status refuse_overlap(const char *call, const ek_op_info *op, int loop, int64_t n,
                                void *const *data)
{
    uint8_t size[EK_MAX_OPERANDS];
    int32_t operands = op->outputs + op->inputs, k = 0, i = 1;
    ek_loop_sizes(op, loop, size);
    while (ek_typed_apart(op->outputs, k, i, n, data, size)) {
        if (++i == operands)
            i = ++k + 1;
    }
    return ek_fail(EK_OVERLAP, "%s: %s at %p overlaps %s at %p%s, with n = %" PRId64, call,
                   ek_operand_name(op, k), data[k], ek_operand_name(op, i), data[i],
                   i < op->outputs ? "" : " without being it", n);
}

ek_status ek_typed_refuse(const ek_op_info *op, int loop, int64_t n, void *const *data,
                          const ek_scalar *params)
{
    char call[EK_TYPED_CALL_TEXT];
    ek_typed_call(op, loop, call);
    if (params)
        EK_TRY(ek_params_check_typed(call, op, &op->loops[loop], params));
    if (n < 0 || n > EK_MAX_COUNT)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: n is %" PRId64 ": must be 0 to %" PRId64, call, n,
                       EK_MAX_COUNT);
    for (int i = 0; i < op->outputs + op->inputs; i++) {
        if (!data[i])
            return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is null with n = %" PRId64, call,
                           ek_operand_name(op, i), n);
    }
    return refuse_overlap(call, op, loop, n, data);
}
