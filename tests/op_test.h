/* What generated test files say of operations. */
#ifndef EK_OP_TEST_H
#define EK_OP_TEST_H

#include <math.h>
#include <mpfr.h>
#include <stdint.h>

#include "einkorn/table.h"

typedef struct ek_op_test {
    const ek_op_info *info;

    /* The typed call of info->loops[loop]. */
    ek_status (*typed)(ek_queue *queue, int loop, int64_t n, const void *const *in, void *out);
    ek_status (*array)(ek_queue *queue, const ek_array *const *in, ek_array *out);

    /* Sets r to the value for x (, y, z), to its own precision or better than the loop's by far;
     * t and u are room for it. (null: no such function) */
    void (*reference)(mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y, mpfr_srcptr z, mpfr_ptr t,
                      mpfr_ptr u);

    /* Arguments that are hard or special for this operation. */
    int edge_count;
    const double *edges;
} ek_op_test;

/* The elementwise operations. */
extern const ek_op_test *const ek_op_tests[];
extern const int ek_op_test_count;

/* The typed calls of an operation of any kind. */
typedef struct ek_typed_test {
    const ek_op_info *info;

    /* That of info->loops[loop], given three lengths: of x[outer][n][inner] where the kind works
     * along an axis; one with as many elements where it is elementwise; `outer` products
     * C[n][n] = A[n][inner] B[inner][n]. */
    ek_status (*call)(ek_queue *queue, int loop, const int64_t *lengths, const void *const *in,
                      void *out);
} ek_typed_test;

/* All operations, in the order of ek_ops. */
extern const ek_typed_test *const ek_typed_tests[];
extern const int ek_typed_test_count;

#endif
