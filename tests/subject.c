#include "subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "einkorn/memory.h"
#include "values.h"

#define MUST(call) ck_assert_msg((call) == EK_OK, "%s: %s", #call, ek_error_message())

static void *allocate(const ek_subject *s, size_t bytes)
{
    void *memory = NULL;
    MUST(ek_alloc(s->place->queue, bytes, &memory));
    return memory;
}

/* Everything that follows from the problem. */
static void open_arrays(ek_subject *s)
{
    const problem *p = &s->problem;
    const ek_device *device = ek_queue_device(s->place->queue);
    for (int32_t i = 0; i < p->op->inputs; i++) {
        ek_dtype dtype = (ek_dtype)p->loop->in[i];
        s->in_bytes[i] = (size_t)problem_size(p, i) * ek_dtype_size(dtype);
        s->in[i] = ek_array_view(allocate(s, s->in_bytes[i]), dtype, device, p->ndim[i],
                                 (int64_t *)p->shape[i]);
        s->inputs[i] = &s->in[i];
    }
    MUST(problem_infer(p, s->output));
    s->bytes = 0;
    for (int32_t i = 0; i < p->op->outputs; i++) {
        ek_output *output = &s->output[i];
        size_t size = ek_dtype_size(output->dtype), used = (s->bytes + size - 1) / size * size;
        s->out_at[i] = used;
        s->bytes = used + (size_t)problem_output_size(output) * size;
        s->out[i] = ek_array_view(NULL, output->dtype, device, output->ndim, output->shape);
    }
    for (int i = 0; i < EK_SUBJECT_RESULTS; i++)
        s->result[i] = allocate(s, s->bytes);
}

static void make_strided(ek_subject *s)
{
    for (int32_t d = 0; d < s->problem.ndim[0]; d++)
        s->strides[d] = d ? s->strides[d - 1] * s->problem.shape[0][d - 1] : 1;
    s->in[0].strides = s->strides;
}

bool ek_subject_open(ek_subject *s, const ek_place *place, const ek_op_info *op,
                     const ek_loop *loop, const ek_subject_layout *layout)
{
    *s = (ek_subject){.place = place};
    problem_init(&s->problem, op, loop, layout->ndim, layout->shape);
    if (problem_form_of(op) == FORM_GEMM)
        problem_gemm(&s->problem,
                     &(gemm_size){2, layout->shape[0], layout->shape[1], 33, true, false, 2, 3});
    if (problem_form_of(op) == FORM_REDUCTION && !problem_reduce(&s->problem, layout->axes, false))
        return false;
    open_arrays(s);
    if (layout->strided && op->inputs > 0)
        make_strided(s);
    return true;
}

void ek_subject_open_typed(ek_subject *s, const ek_place *place, const ek_typed_test *test,
                           int loop, const int64_t *lengths)
{
    const ek_op_info *op = test->info;
    problem_form form = problem_form_of(op);
    int64_t n = lengths[0] * lengths[1] * lengths[2];
    bool along_axis = form == FORM_REDUCTION || form == FORM_SCAN || form == FORM_ROW;
    *s = (ek_subject){.place = place, .typed = test};
    memcpy(s->lengths, lengths, sizeof s->lengths);
    if (form == FORM_IMAGE || form == FORM_CONV) {
        problem_init(&s->problem, op, &op->loops[loop], 1, &n);
        s->lengths[0] = form == FORM_CONV && n > PROBLEM_MOST_CONV ? PROBLEM_MOST_CONV : n;
        s->lengths[1] = PROBLEM_HEIGHT;
        s->lengths[2] = PROBLEM_WIDTH;
    } else if (form == FORM_ROW) { /* whose array calls take the last axis */
        s->lengths[0] = lengths[0] * lengths[2];
        s->lengths[2] = 1;
        problem_init(&s->problem, op, &op->loops[loop], 2, s->lengths);
    } else {
        problem_init(&s->problem, op, &op->loops[loop], along_axis ? 3 : 1,
                     along_axis ? lengths : &n);
    }
    if (form == FORM_REDUCTION || form == FORM_SCAN)
        problem_reduce(&s->problem, 1u << 1, false);
    if (form == FORM_GEMM)
        problem_gemm(&s->problem, &(gemm_size){lengths[0], lengths[1], lengths[1], lengths[2],
                                               false, false, 1, 0});
    open_arrays(s);
}

void ek_subject_close(ek_subject *s)
{
    for (int32_t i = 0; i < s->problem.op->inputs; i++)
        MUST(ek_free(s->place->queue, s->in[i].data));
    for (int i = 0; i < EK_SUBJECT_RESULTS; i++)
        MUST(ek_free(s->place->queue, s->result[i]));
}

void ek_subject_fill(ek_subject *s, uint64_t seed)
{
    for (int32_t i = 0; i < s->problem.op->inputs; i++) {
        void *host = malloc(s->in_bytes[i] + 1);
        ek_ordinary_values((ek_dtype)s->problem.loop->in[i], seed + (uint64_t)i,
                           problem_size(&s->problem, i), host);
        ek_upload(s->place, s->in[i].data, host, s->in_bytes[i]);
        free(host);
    }
}

void ek_subject_poison(const ek_subject *s, int result)
{
    void *host = malloc(s->bytes + 1);
    memset(host, EK_SUBJECT_POISON, s->bytes);
    ek_upload(s->place, s->result[result], host, s->bytes);
    free(host);
}

void *ek_subject_download(const ek_subject *s, int result)
{
    void *host = malloc(s->bytes + 1);
    ek_download(s->place, host, s->result[result], s->bytes);
    return host;
}

bool ek_subject_is_poisoned(const ek_subject *s, int result)
{
    unsigned char *host = ek_subject_download(s, result);
    bool poisoned = true;
    for (size_t i = 0; i < s->bytes && poisoned; i++)
        poisoned = host[i] == EK_SUBJECT_POISON;
    free(host);
    return poisoned;
}

ek_status ek_subject_call(ek_subject *s, ek_queue *queue, int result)
{
    const void *data[EK_MAX_INPUTS];
    void *results[EK_MAX_OUTPUTS];
    ek_array *out[EK_MAX_OUTPUTS];
    for (int32_t i = 0; i < s->problem.op->inputs; i++)
        data[i] = s->in[i].data;
    for (int32_t i = 0; i < s->problem.op->outputs; i++) {
        results[i] = s->bytes ? (char *)s->result[result] + s->out_at[i] : s->result[result];
        s->out[i].data = results[i];
        out[i] = &s->out[i];
    }
    if (s->typed)
        return s->typed->call(queue, (int)(s->problem.loop - s->problem.op->loops), s->lengths,
                              data, results);
    return ek_apply(queue, s->problem.op, s->inputs, s->problem.param_count, s->problem.params,
                    out);
}

void ek_subject_describe(const ek_subject *s, char *text, size_t size)
{
    snprintf(text, size, "%s %s -> %s, %d dimensions, %s%s", s->problem.op->name,
             ek_dtype_name((ek_dtype)s->problem.loop->dtype),
             ek_dtype_name((ek_dtype)s->problem.loop->out[0]), (int)s->problem.ndim[0],
             s->place->name, s->typed ? ", typed call" : "");
}
