/* Scalar parameters on their way to the kernels: by name, as an array call has them, as a loop
 * computes with them. Arrays of them have room for EK_MAX_PARAMS. */
#ifndef EK_PARAMS_H
#define EK_PARAMS_H

#include <math.h>
#include <stdbool.h>

#include "einkorn/table.h"
#include "scalar.h"

/* The parameter of that name, which the operation has. */
const ek_param_info *ek_param_of(const ek_op_info *op, const char *name);

/* Refuses a value that a parameter must not have, on behalf of a call. */
ek_status ek_check_value(const char *call, const ek_param_info *info, double value);

/* What an array call would be given for parameters that are named; defaults for the others. */
void ek_params_by_name(const ek_op_info *op, int32_t count, const ek_param *params,
                       ek_scalar *values);

/* Those of an array call as a loop computes with them; refuses what is not allowed, and numbers
 * that the loop's dtype does not have. */
ek_status ek_params_for_loop(const ek_op_info *op, const ek_loop *loop, const ek_scalar *given,
                             ek_scalar *values);

/* Refuses those of a typed call that are not allowed. */
ek_status ek_params_check_typed(const char *call, const ek_op_info *op, const ek_loop *loop,
                                const ek_scalar *values);

/* False for NaN. */
static inline bool ek_within(double value, double least, double most)
{
    return value >= least && value <= most;
}

#endif
