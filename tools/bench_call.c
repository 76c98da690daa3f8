#include "bench_call.h"

#include <stdio.h>
#include <string.h>

#include "bench_typed.h"
#include "error.h"
#include "limits.h"
#include "rotation.h"

typedef struct calling {
    ek_queue *queue;
    const bench_case *what;
    const problem *p; /* the case's */
    ek_bench_typed_fn *typed;
    double params[EK_MAX_PARAMS]; /* of typed calls */
    int64_t size;
    rotation sets;
} calling;

static ek_status array_calls(void *context, int64_t calls)
{
    calling *c = context;
    const ek_op_info *op = c->p->op;
    for (int64_t i = 0; i < calls; i++) {
        operand_set *set = rotation_next(&c->sets);
        const ek_array *in[EK_MAX_INPUTS];
        ek_array *out[EK_MAX_OUTPUTS];
        for (int32_t k = 0; k < op->outputs; k++)
            out[k] = &set->array[k];
        for (int32_t k = 0; k < op->inputs; k++)
            in[k] = &set->array[op->outputs + k];
        EK_TRY(ek_apply(c->queue, op, in, c->p->param_count, c->p->params, out));
    }
    return EK_OK;
}

static ek_status roll_calls(void *context, int64_t calls)
{
    calling *c = context;
    const int32_t last = -1;
    for (int64_t i = 0; i < calls; i++) {
        operand_set *set = rotation_next(&c->sets);
        EK_TRY(ek_roll(c->queue, &set->array[1], 1, &c->what->roll, &last, &set->array[0]));
    }
    return EK_OK;
}

static ek_status typed_calls(void *context, int64_t calls)
{
    calling *c = context;
    if (c->sets.count == 1)
        return c->typed(c->queue, calls, c->size, rotation_next(&c->sets)->data, c->params);
    for (int64_t i = 0; i < calls; i++)
        EK_TRY(c->typed(c->queue, 1, c->size, rotation_next(&c->sets)->data, c->params));
    return EK_OK;
}

static const ek_bench_op *find_bench_op(const ek_op_info *op)
{
    int low = 0, high = ek_bench_op_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        int order = strcmp(op->name, ek_bench_ops[middle]->name);
        if (order == 0)
            return ek_bench_ops[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* Typed calls take arrays of one size in C order. */
static bool is_flat(const bench_case *what, int64_t out_size)
{
    bool flat = true;
    for (int32_t i = 0; i < what->p.op->inputs; i++)
        flat &= what->input[i].plain && view_size(&what->input[i]) == out_size;
    return flat;
}

static ek_status open_sets(calling *c, bool cold, const ek_output *out)
{
    const problem *p = c->p;
    int32_t outputs = p->op->outputs;
    ek_dtype dtypes[ROTATION_OPERANDS];
    view views[ROTATION_OPERANDS];
    for (int32_t i = 0; i < outputs; i++) {
        dtypes[i] = out[i].dtype;
        views[i] = view_of_shape(out[i].ndim, out[i].shape);
    }
    for (int32_t i = 0; i < p->op->inputs; i++) {
        dtypes[outputs + i] = (ek_dtype)p->loop->in[i];
        views[outputs + i] = c->what->input[i];
    }
    return rotation_open(&c->sets, c->queue, cold, outputs + p->op->inputs, dtypes, views);
}

static void describe_params(bench_row *row, const problem *p)
{
    size_t length = 0;
    for (int32_t i = 0; i < p->param_count; i++) {
        const ek_param *param = &p->params[i];
        if (problem_form_of(p->op) == FORM_ELEMENTWISE && length < sizeof row->params)
            length +=
                (size_t)snprintf(row->params + length, sizeof row->params - length, "%s%s=%g",
                                 length ? " " : "", param->name, problem_number_of(p->op, param));
        if (strncmp(param->name, "ax", 2) != 0)
            continue;
        int64_t value = param->list ? param->list[0] : param->integer;
        if ((!param->list || param->count == 1) && length < sizeof row->params)
            length +=
                (size_t)snprintf(row->params + length, sizeof row->params - length, "%s%s=%lld",
                                 length ? " " : "", param->name, (long long)value);
    }
}

static void describe(bench_row *row, ek_queue *queue, const bench_case *what)
{
    const problem *p = &what->p;
    const view *first = &what->input[0];
    ek_device *device = ek_queue_device(queue);
    memset(row, 0, sizeof *row);
    row->name = what->roll ? "roll" : p->op->name;
    row->op = p->op;
    row->loop = p->loop;
    snprintf(row->device, sizeof row->device, "%s", ek_device_name(device));
    row->variant = ek_variant_name((ek_variant)queue->variant);
    row->threads = ek_device_get_type(device) == EK_DEVICE_CPU ? ek_queue_threads(queue) : 0;
    row->cold = what->cache == CACHE_DEFAULT ? row->threads == 0 : what->cache == CACHE_COLD;
    row->goal = what->goal;
    row->ndim = first->ndim;
    memcpy(row->shape, first->shape, (size_t)first->ndim * sizeof first->shape[0]);
    for (int32_t i = 0; i < p->op->inputs && what->named; i++)
        memcpy(row->input[i], what->input[i].text, VIEW_TEXT);
    row->gemm = problem_form_of(p->op) == FORM_GEMM;
    describe_params(row, p);
}

/* The least bytes that have to move. */
static traffic traffic_of(const problem *p, const ek_output *out)
{
    int64_t out_bytes = 0;
    for (int32_t i = 0; i < p->op->outputs; i++)
        out_bytes += problem_output_size(&out[i]) * (int64_t)ek_dtype_size(out[i].dtype);
    traffic t = {.bytes = out_bytes};
    int64_t in_bytes = 0, bytes[EK_MAX_INPUTS];
    for (int32_t i = 0; i < p->op->inputs; i++) {
        bytes[i] = problem_size(p, i) * (int64_t)ek_dtype_size((ek_dtype)p->loop->in[i]);
        in_bytes += bytes[i];
    }
    for (int32_t i = 0; i < p->op->inputs; i++)
        t.reads += 16 * bytes[i] > in_bytes; /* the weights of a norm are nothing either */
    t.bytes += in_bytes;
    t.writes = 16 * out_bytes > in_bytes; /* a reduction's few results are nothing to speak of */
    return t;
}

static ek_status rate(ek_queue *queue, const problem *p, const ek_output *out, double least_ns,
                      bench_row *row)
{
    if (row->gemm) {
        ek_dtype dtype = out[0].dtype;
        row->rate = limits_gemm_flops(dtype, p->shape[0][0]) / row->time.ns;
        return limits_gemm(queue, dtype, p->shape[0][0], least_ns, &row->limit);
    }
    traffic t = traffic_of(p, out);
    t.cold = row->cold;
    row->rate = (double)t.bytes / row->time.ns;
    return limits_memory(queue, &t, least_ns, &row->limit);
}

static ek_status time_calls(calling *c, double least_ns, bench_row *rows, int *count)
{
    const problem *p = c->p;
    bench_row *row = &rows[0];
    row->call = "array";
    timing_fn *calls = c->what->roll ? roll_calls : array_calls;
    EK_TRY(timing_measure(c->queue, calls, c, least_ns, &row->time));
    *count = 1;
    if (c->what->roll)
        return EK_OK;
    const ek_bench_op *op = find_bench_op(p->op);
    if (!op)
        return EK_OK;
    row->arithmetic = op->arithmetic[p->loop - p->op->loops];
    c->typed = op->loops[p->loop - p->op->loops];
    if (!is_flat(c->what, c->size))
        return EK_OK;
    rows[1] = rows[0];
    rows[1].call = "typed";
    EK_TRY(timing_measure(c->queue, typed_calls, c, least_ns, &rows[1].time));
    *count = 2;
    return EK_OK;
}

ek_status bench_call(ek_queue *queue, const bench_case *what, double least_ns, bench_row *rows,
                     int *count)
{
    const problem *p = &what->p;
    calling c = {.queue = queue, .what = what, .p = p};
    ek_output out[EK_MAX_OUTPUTS];
    *count = 0;
    EK_TRY(problem_infer(p, out));
    c.size = problem_output_size(&out[0]);
    for (int32_t k = 0; k < p->op->param_count && k < EK_MAX_PARAMS; k++)
        c.params[k] = problem_number(p, k);
    describe(&rows[0], queue, what);
    ek_status status = open_sets(&c, rows[0].cold, out);
    if (status == EK_OK)
        status = time_calls(&c, least_ns, rows, count);
    rotation_close(&c.sets, queue);
    EK_TRY(status);
    /* The operands are gone by now: a limit needs memory of its own. */
    for (int i = 0; i < *count; i++)
        EK_TRY(rate(queue, p, out, least_ns, &rows[i]));
    return EK_OK;
}
