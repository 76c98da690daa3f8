/* Operations on images, planes of rows and columns: windows that lie over them, and other sizes. */
#ifndef EK_IMAGE_H
#define EK_IMAGE_H

#include "image_args.h"
#include "kind.h"
#include "params.h"

extern const ek_kind ek_kind_pool;      /* a result for each window */
extern const ek_kind ek_kind_pool_bwd;  /* one for each element of the image */
extern const ek_kind ek_kind_scale;     /* an image of another size */
extern const ek_kind ek_kind_scale_bwd; /* one of the size before */

/* The array call: the last two dimensions of the operands are rows and columns, the others lead to
 * a plane and must be the same. `params` are those of an array call. */
ek_status ek_image(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                   const ek_scalar *params, ek_array *out);

/* Checks the typed call of that name and describes it: data[] are the output and the inputs, in C
 * order; height and width are those of the image that windows lie over, or of the one that is
 * scaled. */
ek_status ek_image_typed(const char *name, const ek_op_info *op, int32_t loop, int64_t planes,
                         int64_t height, int64_t width, const ek_scalar *params, void *const *data,
                         ek_image_call *call);

/* Operand k's plane of that number begins behind its data by offset[k] elements. */
static inline void ek_image_plane(const ek_image_call *call, int64_t plane, int64_t *offset)
{
    for (int32_t k = 0; k < call->operands; k++)
        offset[k] = 0;
    for (int32_t d = call->ndim - 1; d >= 0; d--) {
        int64_t at = plane % call->shape[d];
        plane /= call->shape[d];
        for (int32_t k = 0; k < call->operands; k++)
            offset[k] += at * call->step[d][k];
    }
}

/* The backends' parts of it. */
struct ek_image_kernel;
ek_status ek_cpu_image(ek_queue *queue, const struct ek_image_kernel *kernel,
                       const ek_image_call *call);
#if EK_HAVE_CUDA
struct ek_cuda_kernels;
ek_status ek_cuda_image(ek_queue *queue, const struct ek_cuda_kernels *kernels,
                        const ek_op_info *op, int32_t loop, const ek_image_call *call);
#endif

#endif
