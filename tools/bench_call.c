#include "bench_call.h"

#include <stdio.h>
#include <string.h>

#include "bench_typed.h"
#include "error.h"
#include "limits.h"
#include "rotation.h"

typedef struct calling {
    ek_queue *queue;
    const problem *p;
    ek_bench_typed_fn *typed;
    int64_t size;
    rotation sets;
} calling;

static ek_status array_calls(void *context, int64_t calls)
{
    calling *c = context;
    const ek_op_info *op = c->p->op;
    for (int64_t i = 0; i < calls; i++) {
        operand_set *set = rotation_next(&c->sets);
        const ek_array *in[EK_MAX_INPUTS] = {&set->array[1], &set->array[2], &set->array[3]};
        EK_TRY(ek_apply(c->queue, op, in, c->p->param_count, c->p->params, &set->array[0]));
    }
    return EK_OK;
}

static ek_status typed_calls(void *context, int64_t calls)
{
    calling *c = context;
    if (c->sets.count == 1)
        return c->typed(c->queue, calls, c->size, c->sets.set[0].data);
    for (int64_t i = 0; i < calls; i++)
        EK_TRY(c->typed(c->queue, 1, c->size, rotation_next(&c->sets)->data));
    return EK_OK;
}

static ek_bench_typed_fn *find_typed(const problem *p)
{
    int low = 0, high = ek_bench_op_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        int order = strcmp(p->op->name, ek_bench_ops[middle]->name);
        if (order == 0)
            return ek_bench_ops[middle]->loops[p->loop - p->op->loops];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static ek_status open_sets(calling *c, int32_t out_ndim, const int64_t *out_shape)
{
    const problem *p = c->p;
    ek_dtype dtypes[ROTATION_OPERANDS] = {(ek_dtype)p->loop->out};
    int32_t ndims[ROTATION_OPERANDS] = {out_ndim};
    const int64_t *shapes[ROTATION_OPERANDS] = {out_shape};
    for (int32_t i = 0; i < p->op->inputs; i++) {
        dtypes[i + 1] = (ek_dtype)p->loop->in[i];
        ndims[i + 1] = p->ndim[i];
        shapes[i + 1] = p->shape[i];
    }
    return rotation_open(&c->sets, c->queue, p->op->inputs + 1, dtypes, ndims, shapes);
}

static void describe(bench_row *row, ek_queue *queue, const problem *p, int32_t ndim,
                     const int64_t *shape)
{
    memset(row, 0, sizeof *row);
    ek_device *device = ek_queue_device(queue);
    row->op = p->op;
    row->loop = p->loop;
    snprintf(row->device, sizeof row->device, "%s", ek_device_name(device));
    row->variant = ek_variant_name((ek_variant)queue->variant);
    row->threads = ek_device_get_type(device) == EK_DEVICE_CPU ? ek_queue_threads(queue) : 0;
    row->ndim = ndim;
    memcpy(row->shape, shape, (size_t)ndim * sizeof *shape);
    row->gemm = problem_form_of(p->op) == FORM_GEMM;
    for (int32_t i = 0; i < p->param_count && problem_form_of(p->op) == FORM_REDUCTION; i++) {
        const ek_param *param = &p->params[i];
        size_t length = strlen(row->params);
        int64_t value = param->list ? param->list[0] : param->integer;
        if (!param->list || param->count == 1)
            snprintf(row->params + length, sizeof row->params - length, "%s%s=%lld",
                     length ? " " : "", param->name, (long long)value);
    }
}

/* The least bytes that have to move. */
static traffic traffic_of(const problem *p, int64_t out_size)
{
    int64_t out_bytes = out_size * (int64_t)ek_dtype_size((ek_dtype)p->loop->out);
    traffic t = {.reads = p->op->inputs, .bytes = out_bytes};
    int64_t in_bytes = 0;
    for (int32_t i = 0; i < p->op->inputs; i++)
        in_bytes += problem_size(p, i) * (int64_t)ek_dtype_size((ek_dtype)p->loop->in[i]);
    t.bytes += in_bytes;
    t.writes = 16 * out_bytes > in_bytes; /* a reduction's few results are nothing to speak of */
    return t;
}

static ek_status rate(ek_queue *queue, const problem *p, int64_t out_size, double least_ns,
                      bench_row *row)
{
    if (row->gemm) {
        ek_dtype dtype = (ek_dtype)p->loop->out;
        row->rate = limits_gemm_flops(dtype, p->shape[0][0]) / row->time.ns;
        return limits_gemm(queue, dtype, p->shape[0][0], least_ns, &row->limit);
    }
    traffic t = traffic_of(p, out_size);
    row->rate = (double)t.bytes / row->time.ns;
    return limits_memory(queue, &t, least_ns, &row->limit);
}

static ek_status time_calls(calling *c, double least_ns, bench_row *rows, int *count)
{
    const problem *p = c->p;
    bench_row *row = &rows[0];
    row->call = "array";
    EK_TRY(timing_measure(c->queue, array_calls, c, least_ns, &row->time));
    *count = 1;
    c->typed = find_typed(p);
    if (!c->typed)
        return EK_OK;
    rows[1] = rows[0];
    rows[1].call = "typed";
    EK_TRY(timing_measure(c->queue, typed_calls, c, least_ns, &rows[1].time));
    *count = 2;
    return EK_OK;
}

ek_status bench_call(ek_queue *queue, const problem *p, double least_ns, bench_row *rows,
                     int *count)
{
    calling c = {.queue = queue, .p = p};
    int32_t ndim;
    int64_t shape[EK_MAX_NDIM], out_size = 1;
    *count = 0;
    EK_TRY(problem_infer(p, &ndim, shape));
    for (int32_t d = 0; d < ndim; d++)
        out_size *= shape[d];
    c.size = out_size;
    if (p->op->inputs)
        describe(&rows[0], queue, p, p->ndim[0], p->shape[0]);
    else
        describe(&rows[0], queue, p, ndim, shape);
    ek_status status = open_sets(&c, ndim, shape);
    if (status == EK_OK)
        status = time_calls(&c, least_ns, rows, count);
    rotation_close(&c.sets, queue);
    EK_TRY(status);
    /* The operands are gone by now: a limit needs memory of its own. */
    for (int i = 0; i < *count; i++)
        EK_TRY(rate(queue, p, out_size, least_ns, &rows[i]));
    return EK_OK;
}
