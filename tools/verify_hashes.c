#include "verify_hashes.h"

#include <inttypes.h>
#include <stdio.h>

#include "error.h"
#include "progress.h"
#include "verify.h"

static ek_status write_hash(verifier *v, const ek_op_info *op, const ek_loop *loop)
{
    char dtype[PROBLEM_DTYPE_TEXT];
    problem_dtype_text(op, loop, dtype);
    verifier_clear(v);
    EK_TRY(verify_loop(v, op, loop));
    printf("%s\t%s\t%016" PRIx64 "\n", op->name, dtype, v->hash);
    return EK_OK;
}

ek_status verify_hashes(int32_t count, const ek_op_info *const *ops, ek_dtype only)
{
    verifier v;
    EK_TRY(verifier_open_one(&v));
    ek_status status = EK_OK;
    progress_begin(count);
    for (int32_t i = 0; i < count && status == EK_OK; i++) {
        const ek_op_info *op = ops[i];
        progress_show(i, op->name);
        for (int32_t k = 0; k < op->loop_count && status == EK_OK; k++) {
            const ek_loop *loop = &op->loops[k];
            if (verify_same_bits(op) && (only == EK_DTYPES || loop->dtype == only))
                status = write_hash(&v, op, loop);
        }
    }
    progress_end();
    verifier_close(&v);
    return status;
}
