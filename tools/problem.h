/* One call of an operation, made up from its row: which dtypes, shapes and parameters. How the
 * shapes of the operands belong together is a matter of the kind; everything else is generic. */
#ifndef PROBLEM_H
#define PROBLEM_H

#include <stdbool.h>

#include "einkorn/table.h"

/* Kinds by what their shapes look like. */
typedef enum problem_form {
    FORM_ELEMENTWISE, /* any one shape for all operands */
    FORM_REDUCTION,   /* one array, or two that broadcast, over some of the axes */
    FORM_ROW,         /* an array, along its last axis, and others as long as that */
    FORM_SCAN,        /* one array, along one of its axes or all of it */
    FORM_IMAGE,       /* planes of rows and columns, all of one size or of one that follows */
    FORM_CONV,        /* images and filters, or what has the size of a result */
    FORM_GEMM,        /* two matrices, or stacks of them */
    FORM_FILL,        /* no input */
    FORM_RANDOM       /* one input, or none */
} problem_form;

enum { PROBLEM_NDIM = 4, PROBLEM_PARAMS = EK_MAX_PARAMS };

/* Images of problems that were asked for as many planes as a shape has elements. */
enum { PROBLEM_HEIGHT = 4, PROBLEM_WIDTH = 6 };

/* The most of them that a convolution is asked for so, each being much work. */
enum { PROBLEM_MOST_CONV = 50 };

/* Parameters point into the struct, so it is not to be copied. */
typedef struct problem {
    const ek_op_info *op;
    const ek_loop *loop;
    int32_t ndim[EK_MAX_INPUTS];
    int64_t shape[EK_MAX_INPUTS][PROBLEM_NDIM];
    int32_t param_count;
    ek_param params[PROBLEM_PARAMS];
    int64_t list[PROBLEM_NDIM]; /* the value of a parameter that is a list */
} problem;

typedef struct gemm_size {
    int64_t batch; /* 0: plain matrices */
    int64_t m, n, k;
    bool transa, transb;
    double alpha, beta;
} gemm_size;

problem_form problem_form_of(const ek_op_info *op);

/* FORM_ROW: true for an input that has one row for all, as a norm's gain. */
bool problem_is_along_row(const ek_op_info *op, int32_t input);

/* A call with every input of this shape; without inputs, an output of it. */
void problem_init(problem *p, const ek_op_info *op, const ek_loop *loop, int32_t ndim,
                  const int64_t *shape);

/* FORM_IMAGE: the call for `planes` planes whose larger, or only, image has this size. The present
 * parameters count. problem_init makes small images of as many planes as the shape has elements. */
void problem_image(problem *p, int64_t planes, int64_t height, int64_t width);

/* FORM_CONV: sets the shapes of both inputs, and the parameters that differ from their defaults.
 * problem_init makes as many small images, or filters where those are the output, as the shape has
 * elements. */
typedef struct conv_size {
    int64_t batch, channels, height, width, filters, kernel_y, kernel_x;
    int64_t stride_y, stride_x, padding_y, padding_x, dilation, groups;
} conv_size;

void problem_conv(problem *p, const conv_size *size);

/* FORM_REDUCTION, FORM_SCAN: takes the axes whose bits are set. False if the operation cannot: one
 * that takes a single axis can do one or all. */
bool problem_reduce(problem *p, unsigned axes, bool keepdims);

/* FORM_GEMM: sets the shapes of both inputs. */
void problem_gemm(problem *p, const gemm_size *size);

/* What the outputs are: p->op->outputs of them. */
ek_status problem_infer(const problem *p, ek_output *outputs);

/* Elements of an output. */
int64_t problem_output_size(const ek_output *output);

/* Gives an elementwise operation's parameters values that differ from each other and from usual
 * defaults. */
void problem_vary(problem *p);

/* A parameter that is a number. */
double problem_number_of(const ek_op_info *op, const ek_param *param);

/* The number that a parameter of the operation has in the problem: its own, or the default. */
double problem_number(const problem *p, int32_t param);

/* Elements of an input. */
int64_t problem_size(const problem *p, int32_t input);

/* The dtype in names: the input's and the output's for a cast ("f32_f16"), else the one the loop is
 * for ("f32"). `text` has PROBLEM_DTYPE_TEXT. */
enum { PROBLEM_DTYPE_TEXT = 16 };

void problem_dtype_text(const ek_op_info *op, const ek_loop *loop, char *text);

#endif
