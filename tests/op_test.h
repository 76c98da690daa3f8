/* What generated test files say of operations. */
#ifndef EK_OP_TEST_H
#define EK_OP_TEST_H

#include <math.h>
#include <mpfr.h>
#include <stdint.h>

#include "einkorn/table.h"

/* An integer as references see it, sign-extended; it wraps, and its low bits are those of every
 * narrower dtype. What depends on the sign converts to the other one. */
typedef unsigned __int128 ek_wide;
typedef __int128 ek_signed_wide;

/* What a loop of dtype t makes of a number when it rounds it, and of a * b + c rounded once: half
 * types compute in single precision. */
static inline double ek_rounded(ek_dtype t, double value)
{
    return t == EK_F64 ? value : (double)(float)value;
}

static inline double ek_fused(ek_dtype t, double a, double b, double c)
{
    return t == EK_F64 ? fma(a, b, c) : (double)fmaf((float)a, (float)b, (float)c);
}

/* A complex number. */
typedef struct ek_number {
    double re, im;
} ek_number;

/* How an operation that gives gradients belongs to the one it is the derivative of. Places count
 * from 0; -1 is none. */
enum { EK_GRADIENT = -1, EK_RESULT = -2 };

typedef struct ek_derivative {
    const char *of;
    int8_t inputs[EK_MAX_INPUTS];   /* which input of the other's, its gradient or its result */
    int8_t outputs[EK_MAX_OUTPUTS]; /* which input of the other's it is the gradient for */
    int8_t fixed[EK_MAX_INPUTS];    /* of the other's inputs: the parameter that stands for it */
    int8_t params[EK_MAX_PARAMS];   /* of the other's parameters: where the operation has it */
} ek_derivative;

typedef struct ek_op_test {
    const ek_op_info *info;

    /* The typed call of info->loops[loop]; parameters are numbers that every loop has. */
    ek_status (*typed)(ek_queue *queue, int loop, int64_t n, const void *const *in,
                       const double *params, void *const *out);
    ek_status (*array)(ek_queue *queue, const ek_array *const *in, const double *params,
                       ek_array *const *out);

    /* Each sets r to the value of an output for the inputs, to its own precision or better than the
     * loop's by far; t and u are room for it. (null: no such function) */
    void (*references[EK_MAX_OUTPUTS])(mpfr_ptr r, const mpfr_srcptr *in, const double *params,
                                       mpfr_ptr t, mpfr_ptr u);

    /* The value of an output for integers or booleans, and for numbers whose result is exact in
     * double precision or rounded once from it; t is the loop's dtype. (null: no such loops) */
    ek_wide (*reference_int[EK_MAX_OUTPUTS])(const ek_wide *in, const double *params, ek_dtype t);
    double (*reference_real[EK_MAX_OUTPUTS])(const double *in, const double *params, ek_dtype t);

    /* The same for complex numbers, part by part; a real result is reference_re's. */
    double (*reference_re[EK_MAX_OUTPUTS])(const ek_number *in, const double *params, ek_dtype t);
    double (*reference_im[EK_MAX_OUTPUTS])(const ek_number *in, const double *params, ek_dtype t);

    /* Arguments that are hard or special for this operation. */
    int edge_count;
    const double *edges;

    /* What parameters are tested with: sets of info->param_count numbers. */
    int set_count;
    const double *sets;

    const ek_derivative *derivative; /* null: its results are no gradients */
} ek_op_test;

/* The elementwise operations. */
extern const ek_op_test *const ek_op_tests[];
extern const int ek_op_test_count;

/* The typed calls of an operation of any kind. */
typedef struct ek_typed_test {
    const ek_op_info *info;

    /* That of info->loops[loop], given three lengths: of x[outer][n][inner] where the kind works
     * along an axis; planes, height and width of images; one with as many elements where it is
     * elementwise; `outer` products C[n][n] = A[n][inner] B[inner][n]. */
    ek_status (*call)(ek_queue *queue, int loop, const int64_t *lengths, const void *const *in,
                      void *const *out);
} ek_typed_test;

/* All operations, in the order of ek_ops. */
extern const ek_typed_test *const ek_typed_tests[];
extern const int ek_typed_test_count;

#endif
