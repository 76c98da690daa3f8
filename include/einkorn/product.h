/* Products of arrays of any number of dimensions, planned as calls of operations: NumPy's matmul,
 * tensordot and einsum.
 *
 * `gemm` says who computes matrix products: &ek_op_gemm_exact.info (the same bits on every device)
 * or &ek_op_gemm.info (the machine's library). What needs none, a sum of products with nothing left
 * on one side, is ek_dot's, products without a sum are ek_mul's, and sums of one operand ek_sum's;
 * so with ek_op_gemm_exact all bits are the same everywhere.
 *
 * Operands have one dtype, which the operation that is taken must know: gemm's takes all numbers,
 * ek_dot's no integers but i32 and i64, and ek_sum's must give the dtype that it takes. Any
 * strides. All are on the queue's device; out overlaps no operand. Where dimensions that belong
 * together do not lie so, an operand, or the result, is copied through memory of the queue, by
 * ek_alloc: such calls may be recorded. A call that is refused leaves out untouched. */
#ifndef EINKORN_PRODUCT_H
#define EINKORN_PRODUCT_H

#include "einkorn/array.h"
#include "einkorn/queue.h"
#include "einkorn/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most operands of ek_einsum. */
#define EK_EINSUM_OPERANDS 16

/* numpy.matmul: matrices in the last two dimensions, the others broadcast. An operand of one
 * dimension is a row on the left and a column on the right, and its dimension is not in the result.
 * No dimension is EK_SHAPE_MISMATCH. */
ek_status ek_matmul(ek_queue *queue, const ek_op_info *gemm, const ek_array *a, const ek_array *b,
                    ek_array *out);

/* numpy.tensordot: axis axes_a[i] of a is contracted with axis axes_b[i] of b, of the same length;
 * negative axes count from the end, none is named twice. out has the other axes of a, then those of
 * b. With count = 0 it is the outer product. */
ek_status ek_tensordot(ek_queue *queue, const ek_op_info *gemm, const ek_array *a,
                       const ek_array *b, int32_t count, const int32_t *axes_a,
                       const int32_t *axes_b, ek_array *out);

/* numpy.einsum. `subscripts` has a letter for each axis of each operand, operands parted by commas,
 * and behind "->" those of the result, "ij,jk->ik"; without "->" they are the letters that occur
 * once, in the order of the alphabet. A letter twice in one operand takes the diagonal. "..."
 * stands for all other axes of an operand, which broadcast. Blanks count for nothing. A letter's
 * lengths must be equal, or 1, which stretches.
 *
 * Operands are contracted from left to right, two at a time: each product sums at once over the
 * letters that nothing behind it needs. The order is written down by who calls, never searched for.
 *
 * Text that is none of this is EK_INVALID_ARGUMENT, a shape that does not fit EK_SHAPE_MISMATCH. */
ek_status ek_einsum(ek_queue *queue, const ek_op_info *gemm, const char *subscripts, int32_t count,
                    const ek_array *const *operands, ek_array *out);

#ifdef __cplusplus
}
#endif
#endif
