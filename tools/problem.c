#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "error.h"

problem_form problem_form_of(const ek_op_info *op)
{
    static const struct {
        const char *kind;
        problem_form form;
    } forms[] = {
        {"reduction", FORM_REDUCTION},
        {"moments", FORM_REDUCTION},
        {"contraction", FORM_REDUCTION},
        {"argreduction", FORM_REDUCTION},
        {"rowreduction", FORM_REDUCTION},
        {"row", FORM_ROW},
        {"norm", FORM_ROW},
        {"rowbackward", FORM_ROW},
        {"scan", FORM_SCAN},
        {"pool", FORM_IMAGE},
        {"pool_bwd", FORM_IMAGE},
        {"scale", FORM_IMAGE},
        {"scale_bwd", FORM_IMAGE},
        {"conv", FORM_CONV},
        {"convtrans", FORM_CONV},
        {"conv_filters", FORM_CONV},
        {"gemm", FORM_GEMM},
        {"fill", FORM_FILL},
        {"grid", FORM_FILL},
        {"random", FORM_RANDOM},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (strcmp(op->kind, forms[i].kind) == 0)
            return forms[i].form;
    }
    return FORM_ELEMENTWISE;
}

bool problem_is_along_row(const ek_op_info *op, int32_t input)
{
    if (problem_form_of(op) != FORM_ROW)
        return false;
    const char *name = op->input_names[input];
    return strcmp(name, "gain") == 0 || strcmp(name, "bias") == 0;
}

static bool has_param(const ek_op_info *op, const char *name)
{
    for (int32_t i = 0; i < op->param_count; i++) {
        if (strcmp(op->params[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Adds a parameter if the operation has it. */
static ek_param *add_param(problem *p, const char *name)
{
    static ek_param nowhere;
    if (!has_param(p->op, name))
        return &nowhere;
    ek_param *param = &p->params[p->param_count++];
    *param = (ek_param){.name = name};
    return param;
}

void problem_init(problem *p, const ek_op_info *op, const ek_loop *loop, int32_t ndim,
                  const int64_t *shape)
{
    memset(p, 0, sizeof *p);
    p->op = op;
    p->loop = loop;
    for (int32_t i = 0; i < op->inputs; i++) {
        p->ndim[i] = ndim;
        memcpy(p->shape[i], shape, (size_t)ndim * sizeof *shape);
    }
    for (int32_t i = 1; i < op->inputs && ndim > 0; i++) {
        if (!problem_is_along_row(op, i))
            continue;
        p->ndim[i] = 1;
        p->shape[i][0] = shape[ndim - 1];
    }
    int64_t planes = 1;
    for (int32_t d = 0; d < ndim; d++)
        planes *= shape[d];
    if (problem_form_of(op) == FORM_IMAGE)
        problem_image(p, planes, PROBLEM_HEIGHT, PROBLEM_WIDTH);
    if (problem_form_of(op) == FORM_CONV) {
        planes = planes < PROBLEM_MOST_CONV ? planes : PROBLEM_MOST_CONV;
        conv_size size = {planes, 2, PROBLEM_HEIGHT, PROBLEM_WIDTH, 3, 2, 3, 1, 1, 0, 0, 1, 1};
        if (strcmp(op->kind, "conv_filters") == 0) {
            size.filters = planes;
            size.batch = 2;
        }
        problem_conv(p, &size);
    }
    if (op->inputs == 0) {
        memcpy(p->list, shape, (size_t)ndim * sizeof *shape);
        add_param(p, "dtype")->integer = loop->out[0];
        ek_param *lengths = add_param(p, "shape");
        lengths->list = p->list;
        lengths->count = ndim;
        add_param(p, "value")->real = 1.5;
    }
}

/* A parameter by its name, 1 if the operation has none of it. */
static int64_t count_param(const problem *p, const char *name)
{
    for (int32_t i = 0; i < p->op->param_count; i++) {
        if (strcmp(p->op->params[i].name, name) == 0)
            return (int64_t)problem_number(p, i);
    }
    return 1;
}

/* How many windows there are along an axis, "y" or "x". */
static int64_t windows(const problem *p, const char *axis, int64_t length)
{
    char kernel[16], stride[16], padding[16];
    snprintf(kernel, sizeof kernel, "kernel_%s", axis);
    snprintf(stride, sizeof stride, "stride_%s", axis);
    snprintf(padding, sizeof padding, "padding_%s", axis);
    int64_t reach = (count_param(p, kernel) - 1) * count_param(p, "dilation") + 1;
    return (length + 2 * count_param(p, padding) - reach) / count_param(p, stride) + 1;
}

void problem_image(problem *p, int64_t planes, int64_t height, int64_t width)
{
    bool pooled = has_param(p->op, "kernel_y");
    for (int32_t i = 0; i < p->op->inputs; i++) {
        bool whole = !pooled || strcmp(p->op->input_names[i], "x") == 0;
        p->ndim[i] = 3;
        p->shape[i][0] = planes;
        p->shape[i][1] = whole ? height : windows(p, "y", height);
        p->shape[i][2] = whole ? width : windows(p, "x", width);
    }
}

void problem_conv(problem *p, const conv_size *s)
{
    int64_t reach_y = (s->kernel_y - 1) * s->dilation + 1;
    int64_t reach_x = (s->kernel_x - 1) * s->dilation + 1;
    const int64_t image[] = {s->batch, s->channels, s->height, s->width};
    const int64_t filters[] = {s->filters, s->channels / s->groups, s->kernel_y, s->kernel_x};
    const int64_t result[] = {s->batch, s->filters,
                              (s->height + 2 * s->padding_y - reach_y) / s->stride_y + 1,
                              (s->width + 2 * s->padding_x - reach_x) / s->stride_x + 1};
    bool transposed = strcmp(p->op->kind, "convtrans") == 0;
    bool backward = strcmp(p->op->kind, "conv_filters") == 0;
    p->ndim[0] = p->ndim[1] = 4;
    memcpy(p->shape[0], transposed ? result : image, sizeof image);
    memcpy(p->shape[1], backward ? result : filters, sizeof filters);
    const int64_t values[] = {s->stride_y,  s->stride_x, s->padding_y,
                              s->padding_x, s->dilation, s->groups};
    for (int32_t i = 0; i < p->op->param_count; i++) {
        if ((double)values[i] != p->op->params[i].standard)
            add_param(p, p->op->params[i].name)->integer = values[i];
    }
}

bool problem_reduce(problem *p, unsigned axes, bool keepdims)
{
    unsigned all = (1u << p->ndim[0]) - 1;
    if (keepdims)
        add_param(p, "keepdims")->integer = 1;
    if (has_param(p->op, "axes")) {
        ek_param *param = add_param(p, "axes");
        param->list = p->list;
        for (int32_t d = 0; d < p->ndim[0]; d++) {
            if (axes >> d & 1)
                p->list[param->count++] = d;
        }
        return true;
    }
    if (axes != all || p->ndim[0] == 1)
        add_param(p, "axis")->integer = __builtin_ctz(axes);
    return axes == all || (axes & (axes - 1)) == 0;
}

static void set_matrix(problem *p, int32_t input, int64_t batch, int64_t rows, int64_t columns)
{
    int64_t *shape = p->shape[input];
    p->ndim[input] = batch ? 3 : 2;
    if (batch)
        *shape++ = batch;
    shape[0] = rows;
    shape[1] = columns;
}

void problem_gemm(problem *p, const gemm_size *size)
{
    set_matrix(p, 0, size->batch, size->transa ? size->k : size->m,
               size->transa ? size->m : size->k);
    set_matrix(p, 1, size->batch, size->transb ? size->n : size->k,
               size->transb ? size->k : size->n);
    add_param(p, "transa")->integer = size->transa;
    add_param(p, "transb")->integer = size->transb;
    add_param(p, "alpha")->real = size->alpha;
    add_param(p, "beta")->real = size->beta;
}

void problem_vary(problem *p)
{
    static const double numbers[EK_MAX_PARAMS] = {2, 3, 5, 7, 11, 13, 17, 19};
    for (int32_t i = 0; i < p->op->param_count; i++) {
        const ek_param_info *info = &p->op->params[i];
        bool says_output = strcmp(info->name, "dtype") == 0 || strcmp(info->name, "shape") == 0;
        if (p->op->inputs == 0 && says_output)
            continue;
        double number = strcmp(info->type, "bool") == 0 ? 1 : numbers[i];
        if (info->allowed && !(number >= info->least && number <= info->most))
            number = info->least > -INFINITY && info->most < INFINITY
                         ? (info->least + info->most) / 2
                         : (info->least > -INFINITY ? info->least : info->most);
        ek_param *param = add_param(p, info->name);
        param->real = number;
        param->integer = (int64_t)number;
    }
}

double problem_number_of(const ek_op_info *op, const ek_param *param)
{
    int32_t k = 0;
    while (strcmp(op->params[k].name, param->name) != 0)
        k++;
    bool real = op->params[k].type[0] == 'r' || op->params[k].type[0] == 'd';
    return real ? param->real : (double)param->integer;
}

double problem_number(const problem *p, int32_t param)
{
    const ek_param_info *info = &p->op->params[param];
    for (int32_t i = 0; i < p->param_count; i++) {
        if (strcmp(p->params[i].name, info->name) == 0)
            return problem_number_of(p->op, &p->params[i]);
    }
    return info->standard;
}

int64_t problem_output_size(const ek_output *output)
{
    int64_t size = 1;
    for (int32_t d = 0; d < output->ndim; d++)
        size *= output->shape[d];
    return size;
}

ek_status problem_infer(const problem *p, ek_output *outputs)
{
    ek_device *cpu;
    EK_TRY(ek_device_open("cpu", &cpu));
    static uint64_t nothing; /* shapes alone count, but an array has data */
    ek_array arrays[EK_MAX_INPUTS];
    const ek_array *in[EK_MAX_INPUTS];
    for (int32_t i = 0; i < p->op->inputs; i++) {
        arrays[i] = ek_array_view(&nothing, (ek_dtype)p->loop->in[i], cpu, p->ndim[i],
                                  (int64_t *)p->shape[i]);
        in[i] = &arrays[i];
    }
    ek_device_close(cpu);
    EK_TRY(ek_infer(p->op, in, p->param_count, p->params, outputs));
    for (int32_t i = 0; i < p->op->outputs; i++) /* a cast can make any */
        outputs[i].dtype = (ek_dtype)p->loop->out[i];
    return EK_OK;
}

int64_t problem_size(const problem *p, int32_t input)
{
    int64_t size = 1;
    for (int32_t d = 0; d < p->ndim[input]; d++)
        size *= p->shape[input][d];
    return size;
}

void problem_dtype_text(const ek_op_info *op, const ek_loop *loop, char *text)
{
    const char *from = ek_dtype_name((ek_dtype)loop->dtype);
    int same = 0;
    for (int32_t i = 0; i < op->loop_count; i++)
        same += op->loops[i].dtype == loop->dtype;
    if (same == 1)
        snprintf(text, PROBLEM_DTYPE_TEXT, "%s", from);
    else
        snprintf(text, PROBLEM_DTYPE_TEXT, "%s_%s", from, ek_dtype_name((ek_dtype)loop->out[0]));
}
