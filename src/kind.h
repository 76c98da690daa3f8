/* What the runtime must know of a kind of operation: shapes and the array call, by the row alone.
 */
#ifndef EK_KIND_H
#define EK_KIND_H

#include "einkorn/table.h"
#include "row.h"
#include "rows.h"

struct ek_kind {
    ek_status (*infer)(const ek_op_info *op, const ek_array *const *in, int32_t param_count,
                       const ek_param *params, ek_output *out);
    ek_status (*apply)(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                       int32_t param_count, const ek_param *params, ek_array *const *out);
    /* Kinds that are called as reductions are (src/reduction.h): what is done with the rows. */
    ek_status (*run)(ek_queue *queue, const ek_op_info *op, int32_t loop, const ek_rows *rows);
    bool reads_out; /* what the outputs hold before may count */
};

/* The operation's kernels for the queue's variant; refuses if it has none. */
static inline ek_status ek_find_kernels(const ek_op_info *op, const ek_queue *queue,
                                        const void **kernels)
{
    *kernels = op->kernels[queue->variant];
    return *kernels ? EK_OK : ek_refuse_variant(op->call, queue);
}

/* Refuses a parameter the operation does not have, or one given twice. */
ek_status ek_check_params(const ek_op_info *op, int32_t count, const ek_param *params);

/* The parameter of that name, or null. */
const ek_param *ek_find_param(int32_t count, const ek_param *params, const char *name);

#endif
