/* How an image operation is launched: one kernel, of which a thread has some elements of the
 * output. */
#include <inttypes.h>

#include "cuda/launch.h"
#include "image.h"
#include "integer.h"

enum { THREADS = 256, ELEMENTS = 4 }; /* threads of a block; elements of a thread of a large call */

/* A GPU ends its context over an address that is not a multiple of its element. */
static ek_status check_addresses(const ek_op_info *op, int32_t loop, const ek_image_call *call)
{
    char name[EK_TYPED_CALL_TEXT];
    for (int32_t k = 0; k < call->operands; k++) {
        int dtype = k == 0 ? op->loops[loop].out[0] : op->loops[loop].in[k - 1];
        size_t size = ek_dtype_size((ek_dtype)dtype);
        if ((uintptr_t)call->data[k] % size != 0)
            return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is at %p: must be a multiple of %d",
                           ek_typed_call(op, loop, name), ek_operand_name(op, k), call->data[k],
                           (int)size);
    }
    return EK_OK;
}

ek_status ek_cuda_image(ek_queue *queue, const ek_cuda_kernels *kernels, const ek_op_info *op,
                        int32_t loop, const ek_image_call *call)
{
    int64_t count = call->planes * call->height * call->width;
    if (count == 0)
        return EK_OK;
    EK_TRY(check_addresses(op, loop, call));
    /* Enough for every multiprocessor to be full; each thread goes on from there. */
    int64_t full = 8 * (int64_t)ek_cuda_multiprocessors(queue);
    int64_t blocks = ek_divide_up(count, THREADS);
    if (blocks > full)
        blocks = ek_smaller(INT32_MAX, full + (blocks - full) / ELEMENTS);
    ek_grid grid = {{(uint32_t)blocks, 1, 1}, {THREADS, 1, 1}, 0};
    void *params[] = {(void *)call};
    return ek_cuda_launch(queue, kernels, loop, &grid, params);
}
