/* Outputs that no input gives a shape: parameters do. */
#ifndef EK_FRESH_H
#define EK_FRESH_H

#include "einkorn/table.h"

/* The output as the parameters "dtype" and "shape" say; `standard` and a single element where they
 * are not named. */
ek_status ek_infer_fresh(const ek_op_info *op, int32_t param_count, const ek_param *params,
                         ek_dtype standard, ek_output *out);

#endif
