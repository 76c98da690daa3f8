#include "einkorn/table.h"

#include "error.h"
#include "kind.h"
#include "row.h"

ek_status ek_refuse_variant(const char *call, const ek_queue *queue)
{
    return ek_fail(
        EK_UNSUPPORTED, "%s: the queue's variant is %s: this build has no kernel for it%s", call,
        ek_variant_name((ek_variant)queue->variant),
        queue->variant == EK_CUDA ? "; with EK_FALLBACK an array call runs it on the CPU" : "");
}

int ek_op_has_variant(const ek_op_info *op, ek_variant variant)
{
    return (unsigned)variant < EK_VARIANTS && op->kernels[variant] != NULL;
}

/* What both calls need before a kind may look at anything. `in` may be null only without inputs. */
static ek_status check_call(const char *call, const ek_op_info *op, const ek_array *const *in,
                            int32_t param_count, const ek_param *params)
{
    if (!op)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: op is null", call);
    if (!in && op->inputs > 0)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: %s: in is null", call, op->call);
    if (param_count < 0 || (param_count > 0 && !params))
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: %s: param_count is %d with%s params: must be their number", call,
                       op->call, (int)param_count, params ? "" : "out");
    return ek_check_params(op, param_count, params);
}

ek_status ek_infer(const ek_op_info *op, const ek_array *const *in, int32_t param_count,
                   const ek_param *params, ek_output *out)
{
    EK_TRY(check_call("ek_infer", op, in, param_count, params));
    if (!out)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_infer: %s: out is null", op->call);
    return op->run->infer(op, in, param_count, params, out);
}

ek_status ek_apply(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                   int32_t param_count, const ek_param *params, ek_array *const *out)
{
    EK_TRY(check_call("ek_apply", op, in, param_count, params));
    if (!out)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_apply: %s: out is null", op->call);
    return op->run->apply(queue, op, in, param_count, params, out);
}
