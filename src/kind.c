#include "kind.h"

#include <string.h>

#include "error.h"

const ek_param *ek_find_param(int32_t count, const ek_param *params, const char *name)
{
    for (int32_t i = 0; i < count; i++) {
        if (strcmp(params[i].name, name) == 0)
            return &params[i];
    }
    return NULL;
}

ek_status ek_check_params(const ek_op_info *op, int32_t count, const ek_param *params)
{
    for (int32_t i = 0; i < count; i++) {
        int known = 0;
        if (!params[i].name)
            return ek_fail(EK_INVALID_ARGUMENT, "ek_%s: parameter %d has no name", op->name,
                           (int)i);
        for (int32_t k = 0; k < op->param_count; k++)
            known |= strcmp(op->params[k].name, params[i].name) == 0;
        if (!known)
            return ek_fail(EK_INVALID_ARGUMENT, "ek_%s: unknown parameter '%s'", op->name,
                           params[i].name);
        if (ek_find_param(i, params, params[i].name))
            return ek_fail(EK_INVALID_ARGUMENT, "ek_%s: parameter '%s' is given twice", op->name,
                           params[i].name);
    }
    return EK_OK;
}
