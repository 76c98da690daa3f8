/* One call by every target, and what comes of comparing the results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "error.h"
#include "hash.h"
#include "verify.h"

/* An input: elements in memory, and the array that walks over them. */
typedef struct input {
    ek_array memory; /* one dimension, in C order */
    ek_array view;
    int64_t strides[PROBLEM_NDIM];
} input;

typedef struct output {
    ek_output of;
    int64_t size; /* elements */
    size_t bytes;
    ek_array initial;  /* what it holds before the call */
    ek_array expected; /* by the reference */
    ek_array got;
} output;

typedef struct call {
    const problem *p;
    sample_kind kind;
    input in[EK_MAX_INPUTS];
    output out[EK_MAX_OUTPUTS];
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

static ek_status make_output(const problem *p, ek_queue *queue, output *out)
{
    ek_array *arrays[] = {&out->initial, &out->expected, &out->got};
    ek_dtype dtype = out->of.dtype;
    for (int k = 0; k < 3; k++)
        EK_TRY(ek_array_alloc(queue, dtype, out->of.ndim, out->of.shape, arrays[k]));
    out->size = problem_output_size(&out->of);
    out->bytes = (size_t)out->size * ek_dtype_size(dtype);
    if (out->bytes == 0)
        return EK_OK;
    if (problem_form_of(p->op) == FORM_GEMM) {
        sample s = {SAMPLE_ORDINARY, dtype, p->op->inputs, 1};
        sample_fill(&s, 0, out->size, out->initial.data);
    } else {
        memset(out->initial.data, 0x5a, out->bytes);
    }
    memcpy(out->expected.data, out->initial.data, out->bytes);
    return EK_OK;
}

static ek_status make_call(call *c, ek_queue *queue, int64_t first, bool strided)
{
    const problem *p = c->p;
    int64_t period[EK_MAX_INPUTS];
    ek_output outputs[EK_MAX_OUTPUTS];
    find_periods(p, c->kind, period);
    for (int32_t i = 0; i < p->op->inputs; i++)
        EK_TRY(make_input(c, queue, i, first, period[i], strided));
    EK_TRY(problem_infer(p, outputs));
    for (int32_t i = 0; i < p->op->outputs; i++) {
        c->out[i].of = outputs[i];
        EK_TRY(make_output(p, queue, &c->out[i]));
    }
    return EK_OK;
}

static void free_call(call *c, ek_queue *queue)
{
    for (int32_t i = 0; i < c->p->op->inputs; i++)
        ek_array_free(queue, &c->in[i].memory);
    for (int32_t i = 0; i < c->p->op->outputs; i++) {
        ek_array_free(queue, &c->out[i].initial);
        ek_array_free(queue, &c->out[i].expected);
        ek_array_free(queue, &c->out[i].got);
    }
}

static ek_status apply_on_host(const call *c, ek_queue *queue, ek_array *const *out)
{
    const ek_array *in[EK_MAX_INPUTS];
    for (int32_t i = 0; i < c->p->op->inputs; i++)
        in[i] = &c->in[i].view;
    return ek_apply(queue, c->p->op, in, c->p->param_count, c->p->params, out);
}

/* Arrays on another device; freed in one place. */
typedef struct remote {
    ek_array memory[EK_MAX_INPUTS], view[EK_MAX_INPUTS], out[EK_MAX_OUTPUTS];
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
    ek_array *out[EK_MAX_OUTPUTS];
    for (int32_t i = 0; i < p->op->outputs; i++) {
        const ek_output *of = &c->out[i].of;
        out[i] = &there->out[i];
        EK_TRY(ek_array_alloc(queue, of->dtype, of->ndim, of->shape, out[i]));
        EK_TRY(ek_copy(queue, out[i], &c->out[i].initial));
    }
    EK_TRY(ek_apply(queue, p->op, in, p->param_count, p->params, out));
    for (int32_t i = 0; i < p->op->outputs; i++)
        EK_TRY(ek_copy(queue, &c->out[i].got, out[i]));
    return ek_queue_sync(queue);
}

static ek_status apply_on_device(call *c, ek_queue *queue)
{
    remote there;
    memset(&there, 0, sizeof there);
    ek_status status = apply_there(c, queue, &there);
    for (int32_t i = 0; i < c->p->op->inputs; i++)
        ek_array_free(queue, &there.memory[i]);
    for (int32_t i = 0; i < c->p->op->outputs; i++)
        ek_array_free(queue, &there.out[i]);
    return status;
}

/* An output's shape and the position, for whoever has to look for the reason. */
static void describe(const call *c, int32_t number, int64_t index, result *r)
{
    const output *out = &c->out[number];
    size_t size = ek_dtype_size(out->of.dtype), length = 0;
    char hex[2][40];
    const ek_array *arrays[] = {&out->expected, &out->got};
    for (int k = 0; k < 2; k++) {
        const unsigned char *bytes = (const unsigned char *)arrays[k]->data + (size_t)index * size;
        for (size_t i = 0; i < size; i++)
            sprintf(hex[k] + 2 * i, "%02x", bytes[size - 1 - i]);
    }
    length = (size_t)snprintf(r->difference, sizeof r->difference, "%s (",
                              c->p->op->output_names[number]);
    for (int32_t d = 0; d < out->of.ndim && length < sizeof r->difference; d++)
        length += (size_t)snprintf(r->difference + length, sizeof r->difference - length, "%s%lld",
                                   d ? ", " : "", (long long)out->of.shape[d]);
    if (length < sizeof r->difference)
        snprintf(r->difference + length, sizeof r->difference - length,
                 ") element %lld: expected 0x%s, got 0x%s", (long long)index, hex[0], hex[1]);
    r->described = true;
}

static void compare_output(const call *c, int32_t number, result *r)
{
    const output *out = &c->out[number];
    int64_t first = 0;
    int64_t differing =
        compare_bits(out->of.dtype, out->size, out->expected.data, out->got.data, &first);
    if (differing && !r->described)
        describe(c, number, first, r);
    r->compared += out->size;
    r->differing += differing;
}

static ek_status compare_target(verifier *v, call *c, const target *t)
{
    ek_array *got[EK_MAX_OUTPUTS];
    bool host = ek_device_get_type(ek_queue_device(t->queue)) == EK_DEVICE_CPU;
    if (!ek_op_has_variant(c->p->op, (ek_variant)t->queue->variant))
        return EK_OK;
    for (int32_t i = 0; i < c->p->op->outputs; i++) {
        output *out = &c->out[i];
        got[i] = &out->got;
        if (out->bytes && host)
            memcpy(out->got.data, out->initial.data, out->bytes);
        else if (out->bytes)
            memset(out->got.data, 0xa5, out->bytes);
    }
    EK_TRY(host ? apply_on_host(c, t->queue, got) : apply_on_device(c, t->queue));
    for (int32_t i = 0; i < c->p->op->outputs; i++)
        compare_output(c, i, &v->results[t->column]);
    return EK_OK;
}

/* The loop that computes the same in double precision: half and single precision become f64. */
static const ek_loop *precise_loop(const ek_op_info *op, const ek_loop *loop)
{
    for (int32_t i = 0; i < op->loop_count; i++) {
        const ek_loop *other = &op->loops[i];
        bool fits = other->dtype == EK_F64 && other->out[0] == EK_F64;
        for (int32_t k = 0; k < op->inputs && fits; k++)
            fits = other->in[k] == (compare_measures((ek_dtype)loop->in[k]) ? EK_F64 : loop->in[k]);
        if (fits)
            return other;
    }
    return NULL;
}

/* The inputs and outputs of a call in double precision. */
typedef struct precise {
    ek_array in[EK_MAX_INPUTS], out[EK_MAX_OUTPUTS];
} precise;

static void note_error(verifier *v, const call *c, const output *out, const ek_array *exact)
{
    const problem *p = c->p;
    int64_t worst = 0;
    double ulp = compare_error(out->of.dtype, out->size, out->expected.data, exact->data, &worst);
    if (ulp <= v->error.ulp)
        return;
    v->error.ulp = ulp;
    for (int32_t i = 0; i < p->op->inputs; i++) {
        const char *at = (const char *)c->in[i].view.data +
                         (size_t)worst * ek_dtype_size((ek_dtype)p->loop->in[i]);
        compare_to_double((ek_dtype)p->loop->in[i], 1, at, &v->error.input[i]);
    }
}

/* The parameters as the loop has them: half and single precision round them. */
static int32_t rounded_params(const problem *p, ek_param *params)
{
    for (int32_t i = 0; i < p->op->param_count; i++) {
        double number = problem_number(p, i);
        params[i] = (ek_param){.name = p->op->params[i].name,
                               .real = (double)(float)number,
                               .integer = (int64_t)number};
    }
    return p->op->param_count;
}

static ek_status apply_precisely(verifier *v, const call *c, const ek_loop *loop, precise *wide)
{
    const problem *p = c->p;
    const ek_array *in[EK_MAX_INPUTS];
    ek_array *out[EK_MAX_OUTPUTS];
    ek_param params[EK_MAX_PARAMS];
    for (int32_t i = 0; i < p->op->inputs; i++) {
        in[i] = &c->in[i].view;
        if (loop->in[i] == p->loop->in[i])
            continue;
        EK_TRY(ek_array_alloc(v->precise, EK_F64, p->ndim[i], p->shape[i], &wide->in[i]));
        compare_to_double((ek_dtype)p->loop->in[i], problem_size(p, i), c->in[i].view.data,
                          wide->in[i].data);
        in[i] = &wide->in[i];
    }
    for (int32_t i = 0; i < p->op->outputs; i++) {
        const ek_output *of = &c->out[i].of;
        out[i] = &wide->out[i];
        EK_TRY(ek_array_alloc(v->precise, (ek_dtype)loop->out[i], of->ndim, of->shape, out[i]));
    }
    EK_TRY(ek_apply(v->precise, p->op, in, rounded_params(p, params), params, out));
    for (int32_t i = 0; i < p->op->outputs; i++) {
        if (compare_measures(c->out[i].of.dtype) && loop->out[i] == EK_F64)
            note_error(v, c, &c->out[i], out[i]);
    }
    return EK_OK;
}

/* The error of the reference's results. The operation's own float64 kernel, whose error is about
 * 2^-29 of a float32's ulp, stands for the exact value; tests measure float64 itself with MPFR. */
static ek_status measure_error(verifier *v, const call *c)
{
    const ek_loop *loop = precise_loop(c->p->op, c->p->loop);
    if (problem_form_of(c->p->op) != FORM_ELEMENTWISE || !loop ||
        !compare_measures(c->out[0].of.dtype))
        return EK_OK;
    precise wide;
    memset(&wide, 0, sizeof wide);
    ek_status status = apply_precisely(v, c, loop, &wide);
    for (int32_t i = 0; i < c->p->op->inputs; i++)
        ek_array_free(v->precise, &wide.in[i]);
    for (int32_t i = 0; i < c->p->op->outputs; i++)
        ek_array_free(v->precise, &wide.out[i]);
    return status;
}

static ek_status run_call(verifier *v, call *c, int64_t first, bool strided)
{
    ek_array *expected[EK_MAX_OUTPUTS];
    EK_TRY(make_call(c, v->targets[0].queue, first, strided));
    for (int32_t i = 0; i < c->p->op->outputs; i++)
        expected[i] = &c->out[i].expected;
    EK_TRY(apply_on_host(c, v->targets[0].queue, expected));
    for (int32_t i = 0; i < c->p->op->outputs; i++)
        v->hash = hash_elements(v->hash, c->out[i].of.dtype, c->out[i].size, expected[i]->data);
    for (int32_t i = 1; i < v->target_count; i++)
        EK_TRY(compare_target(v, c, &v->targets[i]));
    return strided || !v->precise ? EK_OK : measure_error(v, c);
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
