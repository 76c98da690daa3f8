/* One call by every target, and what comes of comparing the results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "error.h"
#include "verify.h"

/* An input: elements in memory, and the array that walks over them. */
typedef struct input {
    ek_array memory; /* one dimension, in C order */
    ek_array view;
    int64_t strides[PROBLEM_NDIM];
} input;

typedef struct call {
    const problem *p;
    sample_kind kind;
    input in[EK_MAX_INPUTS];
    int32_t ndim;
    int64_t shape[EK_MAX_NDIM];
    int64_t size; /* elements of the output */
    size_t bytes;
    ek_array initial;  /* what outputs hold before the call */
    ek_array expected; /* by the reference */
    ek_array got;
} call;

/* Other orders than C: Fortran's, backwards, and every second element. Returns the elements of
 * memory it needs. */
static int64_t lay_out(int32_t number, input *in, int32_t ndim, const int64_t *shape, int64_t size)
{
    enum { FORTRAN, BACKWARDS };
    int64_t step = number == BACKWARDS ? -1 : (number == FORTRAN ? 1 : 2);
    for (int32_t i = 0; i < ndim; i++) {
        int32_t d = number == FORTRAN ? i : ndim - 1 - i;
        in->strides[d] = step;
        step *= shape[d];
    }
    in->view.strides = in->strides;
    if (number == BACKWARDS)
        in->view.byte_offset = (uint64_t)(size - 1) * (in->view.type.bits / 8);
    return number <= BACKWARDS ? size : 2 * size;
}

static ek_status make_input(call *c, ek_queue *queue, int32_t i, int64_t first, int64_t period,
                            bool strided)
{
    const problem *p = c->p;
    input *in = &c->in[i];
    sample s = {c->kind, (ek_dtype)p->loop->in[i], i, period};
    int64_t elements = problem_size(p, i);
    in->view =
        ek_array_view(NULL, s.dtype, ek_queue_device(queue), p->ndim[i], (int64_t *)p->shape[i]);
    if (strided)
        elements = lay_out(i, in, p->ndim[i], p->shape[i], elements);
    EK_TRY(ek_array_alloc(queue, s.dtype, 1, &elements, &in->memory));
    in->view.data = in->memory.data;
    sample_fill(&s, first, elements, in->memory.data);
    return EK_OK;
}

/* How many elements keep a value of each input, so that all combinations come. */
static void find_periods(const problem *p, sample_kind kind, int64_t *period)
{
    enum { MOST = 1 << 18 };
    int64_t combinations = 1;
    for (int32_t i = 0; i < p->op->inputs; i++) {
        period[i] = combinations;
        if (kind == SAMPLE_SPECIAL)
            combinations *= sample_count(kind, (ek_dtype)p->loop->in[i]);
        else if (kind == SAMPLE_ALL)
            combinations *= p->op->inputs > 1 ? sample_count(kind, (ek_dtype)p->loop->in[i]) : 1;
        if (kind == SAMPLE_SPECIAL && combinations > MOST)
            combinations = 0;
    }
    if (combinations == 0)
        memset(period, 0, (size_t)p->op->inputs * sizeof *period);
}

static ek_status make_call(call *c, ek_queue *queue, int64_t first, bool strided)
{
    const problem *p = c->p;
    ek_dtype out = (ek_dtype)p->loop->out;
    int64_t period[EK_MAX_INPUTS];
    find_periods(p, c->kind, period);
    for (int32_t i = 0; i < p->op->inputs; i++)
        EK_TRY(make_input(c, queue, i, first, period[i], strided));
    EK_TRY(problem_infer(p, &c->ndim, c->shape));
    EK_TRY(ek_array_alloc(queue, out, c->ndim, c->shape, &c->initial));
    EK_TRY(ek_array_alloc(queue, out, c->ndim, c->shape, &c->expected));
    EK_TRY(ek_array_alloc(queue, out, c->ndim, c->shape, &c->got));
    EK_TRY(ek_array_size(&c->initial, &c->size));
    c->bytes = (size_t)c->size * ek_dtype_size(out);
    if (c->bytes == 0)
        return EK_OK;
    if (problem_form_of(p->op) == FORM_GEMM) {
        sample s = {SAMPLE_ORDINARY, out, p->op->inputs, 1};
        sample_fill(&s, 0, c->size, c->initial.data);
    } else {
        memset(c->initial.data, 0x5a, c->bytes);
    }
    memcpy(c->expected.data, c->initial.data, c->bytes);
    return EK_OK;
}

static void free_call(call *c, ek_queue *queue)
{
    for (int32_t i = 0; i < c->p->op->inputs; i++)
        ek_array_free(queue, &c->in[i].memory);
    ek_array_free(queue, &c->initial);
    ek_array_free(queue, &c->expected);
    ek_array_free(queue, &c->got);
}

static ek_status apply_on_host(const call *c, ek_queue *queue, ek_array *out)
{
    const ek_array *in[EK_MAX_INPUTS];
    for (int32_t i = 0; i < c->p->op->inputs; i++)
        in[i] = &c->in[i].view;
    return ek_apply(queue, c->p->op, in, c->p->param_count, c->p->params, out);
}

/* Arrays on another device; freed in one place. */
typedef struct remote {
    ek_array memory[EK_MAX_INPUTS], view[EK_MAX_INPUTS], out;
} remote;

static ek_status apply_there(call *c, ek_queue *queue, remote *there)
{
    const problem *p = c->p;
    const ek_array *in[EK_MAX_INPUTS];
    for (int32_t i = 0; i < p->op->inputs; i++) {
        ek_array *memory = &there->memory[i];
        EK_TRY(ek_array_alloc(queue, (ek_dtype)p->loop->in[i], 1, c->in[i].memory.shape, memory));
        EK_TRY(ek_copy(queue, memory, &c->in[i].memory));
        there->view[i] = c->in[i].view;
        there->view[i].data = memory->data;
        there->view[i].device = memory->device;
        in[i] = &there->view[i];
    }
    EK_TRY(ek_array_alloc(queue, (ek_dtype)p->loop->out, c->ndim, c->shape, &there->out));
    EK_TRY(ek_copy(queue, &there->out, &c->initial));
    EK_TRY(ek_apply(queue, p->op, in, p->param_count, p->params, &there->out));
    EK_TRY(ek_copy(queue, &c->got, &there->out));
    return ek_queue_sync(queue);
}

static ek_status apply_on_device(call *c, ek_queue *queue)
{
    remote there;
    memset(&there, 0, sizeof there);
    ek_status status = apply_there(c, queue, &there);
    for (int32_t i = 0; i < c->p->op->inputs; i++)
        ek_array_free(queue, &there.memory[i]);
    ek_array_free(queue, &there.out);
    return status;
}

/* A call's parameters, shape and position, for whoever has to look for the reason. */
static void describe(const call *c, int64_t index, result *r)
{
    size_t size = ek_dtype_size((ek_dtype)c->p->loop->out), length = 0;
    char hex[2][40];
    const ek_array *arrays[] = {&c->expected, &c->got};
    for (int k = 0; k < 2; k++) {
        const unsigned char *bytes = (const unsigned char *)arrays[k]->data + (size_t)index * size;
        for (size_t i = 0; i < size; i++)
            sprintf(hex[k] + 2 * i, "%02x", bytes[size - 1 - i]);
    }
    length = (size_t)snprintf(r->difference, sizeof r->difference, "out (");
    for (int32_t d = 0; d < c->ndim && length < sizeof r->difference; d++)
        length += (size_t)snprintf(r->difference + length, sizeof r->difference - length, "%s%lld",
                                   d ? ", " : "", (long long)c->shape[d]);
    if (length < sizeof r->difference)
        snprintf(r->difference + length, sizeof r->difference - length,
                 ") element %lld: expected 0x%s, got 0x%s", (long long)index, hex[0], hex[1]);
    r->described = true;
}

static ek_status compare_target(verifier *v, call *c, const target *t)
{
    result *r = &v->results[t->column];
    if (!ek_op_has_variant(c->p->op, (ek_variant)t->queue->variant))
        return EK_OK;
    if (c->bytes)
        memset(c->got.data, 0xa5, c->bytes);
    if (ek_device_get_type(ek_queue_device(t->queue)) == EK_DEVICE_CPU) {
        if (c->bytes)
            memcpy(c->got.data, c->initial.data, c->bytes);
        EK_TRY(apply_on_host(c, t->queue, &c->got));
    } else {
        EK_TRY(apply_on_device(c, t->queue));
    }
    int64_t first = 0;
    int64_t differing =
        compare_bits((ek_dtype)c->p->loop->out, c->size, c->expected.data, c->got.data, &first);
    if (differing && !r->described)
        describe(c, first, r);
    r->compared += c->size;
    r->differing += differing;
    return EK_OK;
}

/* The loop that computes the same in double precision: half and single precision become f64. */
static const ek_loop *precise_loop(const ek_op_info *op, const ek_loop *loop)
{
    for (int32_t i = 0; i < op->loop_count; i++) {
        const ek_loop *other = &op->loops[i];
        bool fits = other->out == EK_F64;
        for (int32_t k = 0; k < op->inputs && fits; k++)
            fits = other->in[k] == (compare_measures((ek_dtype)loop->in[k]) ? EK_F64 : loop->in[k]);
        if (fits)
            return other;
    }
    return NULL;
}

static ek_status apply_precisely(verifier *v, const call *c, const ek_loop *loop, ek_array *wide,
                                 ek_array *out)
{
    const problem *p = c->p;
    const ek_array *in[EK_MAX_INPUTS];
    for (int32_t i = 0; i < p->op->inputs; i++) {
        in[i] = &c->in[i].view;
        if (loop->in[i] == p->loop->in[i])
            continue;
        EK_TRY(ek_array_alloc(v->precise, EK_F64, p->ndim[i], p->shape[i], &wide[i]));
        compare_to_double((ek_dtype)p->loop->in[i], problem_size(p, i), c->in[i].view.data,
                          wide[i].data);
        in[i] = &wide[i];
    }
    EK_TRY(ek_array_alloc(v->precise, EK_F64, c->ndim, c->shape, out));
    EK_TRY(ek_apply(v->precise, p->op, in, p->param_count, p->params, out));
    int64_t worst = 0;
    double ulp =
        compare_error((ek_dtype)p->loop->out, c->size, c->expected.data, out->data, &worst);
    if (ulp > v->error.ulp) {
        v->error.ulp = ulp;
        for (int32_t i = 0; i < p->op->inputs; i++) {
            const char *at = (const char *)c->in[i].view.data +
                             (size_t)worst * ek_dtype_size((ek_dtype)p->loop->in[i]);
            compare_to_double((ek_dtype)p->loop->in[i], 1, at, &v->error.input[i]);
        }
    }
    return EK_OK;
}

/* The error of the reference's results. The operation's own float64 kernel, whose error is about
 * 2^-29 of a float32's ulp, stands for the exact value; tests measure float64 itself with MPFR. */
static ek_status measure_error(verifier *v, const call *c)
{
    const ek_loop *loop = precise_loop(c->p->op, c->p->loop);
    if (problem_form_of(c->p->op) != FORM_ELEMENTWISE || !loop ||
        !compare_measures((ek_dtype)c->p->loop->out))
        return EK_OK;
    ek_array wide[EK_MAX_INPUTS], out;
    memset(wide, 0, sizeof wide);
    memset(&out, 0, sizeof out);
    ek_status status = apply_precisely(v, c, loop, wide, &out);
    for (int32_t i = 0; i < c->p->op->inputs; i++)
        ek_array_free(v->precise, &wide[i]);
    ek_array_free(v->precise, &out);
    return status;
}

static ek_status run_call(verifier *v, call *c, int64_t first, bool strided)
{
    EK_TRY(make_call(c, v->targets[0].queue, first, strided));
    EK_TRY(apply_on_host(c, v->targets[0].queue, &c->expected));
    for (int32_t i = 1; i < v->target_count; i++)
        EK_TRY(compare_target(v, c, &v->targets[i]));
    return strided ? EK_OK : measure_error(v, c);
}

ek_status verify_call(verifier *v, const problem *p, sample_kind kind, int64_t first, bool strided)
{
    call c;
    memset(&c, 0, sizeof c);
    c.p = p;
    c.kind = kind;
    ek_status status = run_call(v, &c, first, strided);
    free_call(&c, v->targets[0].queue);
    return status;
}
