#include "bench_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "error.h"

void bench_case_settle(bench_case *c)
{
    for (int32_t i = 0; i < c->p.op->inputs; i++)
        c->input[i] = view_of_shape(c->p.ndim[i], c->p.shape[i]);
}

void bench_case_init(bench_case *c, const ek_op_info *op, const ek_loop *loop, int32_t ndim,
                     const int64_t *shape)
{
    memset(c, 0, sizeof *c);
    problem_init(&c->p, op, loop, ndim, shape);
    if (op->inputs == 0)
        c->input[0] = view_of_shape(ndim, shape);
    bench_case_settle(c);
}

/* A line in words. */
enum { MOST_WORDS = 16, MOST_LINE = 256 };

typedef struct words {
    char line[MOST_LINE];
    int count;
    char *word[MOST_WORDS];
} words;

static ek_status split(const char *line, words *w)
{
    w->count = 0;
    if (strlen(line) >= MOST_LINE)
        return ek_fail(EK_INVALID_ARGUMENT, "case is '%.40s...': too long", line);
    snprintf(w->line, sizeof w->line, "%s", line);
    for (char *at = w->line; *(at += strspn(at, " \t\n"));) {
        if (w->count == MOST_WORDS)
            return ek_fail(EK_INVALID_ARGUMENT, "case is '%.40s...': too many words", line);
        w->word[w->count++] = at;
        at += strcspn(at, " \t\n");
        if (*at)
            *at++ = '\0';
    }
    if (w->count < 3)
        return ek_fail(EK_INVALID_ARGUMENT,
                       "case is '%s': must be an operation, a dtype and operands", line);
    return EK_OK;
}

static ek_status find_loop(const ek_op_info *op, const char *dtype, const ek_loop **loop)
{
    for (int32_t i = 0; i < op->loop_count; i++) {
        char text[PROBLEM_DTYPE_TEXT];
        problem_dtype_text(op, &op->loops[i], text);
        *loop = &op->loops[i];
        if (strcmp(text, dtype) == 0)
            return EK_OK;
    }
    return ek_fail(EK_UNSUPPORTED, "ek_%s: dtype is '%s': there is no such kernel", op->name,
                   dtype);
}

static ek_status set_operands(bench_case *c, int count, char *const *word)
{
    int32_t inputs = c->p.op->inputs ? c->p.op->inputs : 1;
    if (count != 1 && count != inputs)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_%s: %d operands: must be 1 or %d", c->p.op->name,
                       count, (int)inputs);
    for (int32_t i = 0; i < inputs; i++) {
        view *v = &c->input[i];
        if (count == 1 && problem_is_along_row(c->p.op, i))
            break; /* it and what follows have the length of the rows */
        EK_TRY(view_parse(word[count == 1 ? 0 : i], v));
        c->p.ndim[i] = v->ndim;
        memcpy(c->p.shape[i], v->shape, sizeof v->shape);
        c->named |= count > 1 || !v->plain;
    }
    return EK_OK;
}

static ek_status set_square(bench_case *c, int count, const char *word)
{
    gemm_size square = {.alpha = 1};
    if (count != 1)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_%s: %d operands: must be the side of a square",
                       c->p.op->name, count);
    EK_TRY(command_parse_count("side", word, 1, &square.m));
    square.n = square.k = square.m;
    problem_gemm(&c->p, &square);
    bench_case_settle(c);
    return EK_OK;
}

/* One operand is the image; what follows from it depends on the parameters. */
static ek_status set_image(bench_case *c)
{
    int32_t ndim = c->p.ndim[0];
    int64_t planes = 1, size[2];
    if (ndim < 2)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_%s: an image has 2 dimensions or more",
                       c->p.op->name);
    for (int32_t d = 0; d < ndim - 2; d++)
        planes *= c->p.shape[0][d];
    memcpy(size, &c->p.shape[0][ndim - 2], sizeof size);
    problem_image(&c->p, planes, size[0], size[1]);
    bench_case_settle(c);
    return EK_OK;
}

static bool is_setting(const char *word, const char *name, const char **value)
{
    size_t length = strlen(name);
    *value = word + length + 1;
    return strncmp(word, name, length) == 0 && word[length] == '=';
}

static ek_status set_option(bench_case *c, const char *word)
{
    const char *value;
    int64_t threads;
    if (is_setting(word, "goal", &value)) {
        char *end;
        c->goal = strtod(value, &end);
        return c->goal > 0 && !*end
                   ? EK_OK
                   : ek_fail(EK_INVALID_ARGUMENT, "goal is '%s': must be a positive number", value);
    }
    if (is_setting(word, "cache", &value)) {
        c->cache = strcmp(value, "hot") == 0 ? CACHE_HOT : CACHE_COLD;
        return c->cache == CACHE_HOT || strcmp(value, "cold") == 0
                   ? EK_OK
                   : ek_fail(EK_INVALID_ARGUMENT, "cache is '%s': must be hot or cold", value);
    }
    if (is_setting(word, "threads", &value)) {
        if (strcmp(value, "all") == 0) {
            c->threads = -1;
            return EK_OK;
        }
        EK_TRY(command_parse_count("threads", value, 1, &threads));
        c->threads = (int32_t)threads;
        return EK_OK;
    }
    if (c->roll && is_setting(word, "shift", &value))
        return command_parse_count("shift", value, 1, &c->roll);
    EK_TRY(params_add(&c->params, c->p.op, word));
    if (c->p.param_count == PROBLEM_PARAMS)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_%s: more than %d parameters", c->p.op->name,
                       PROBLEM_PARAMS);
    c->p.params[c->p.param_count++] = c->params.value[c->params.count - 1];
    return EK_OK;
}

ek_status bench_case_parse(bench_case *c, const char *line)
{
    words w;
    const ek_op_info *op;
    const ek_loop *loop = NULL;
    view first;
    EK_TRY(split(line, &w));
    bool rolls = strcmp(w.word[0], "roll") == 0;
    EK_TRY(command_find_op(rolls ? "copy" : w.word[0], &op));
    EK_TRY(find_loop(op, w.word[1], &loop));
    int end = 2;
    while (end < w.count && w.word[end][0] >= '0' && w.word[end][0] <= '9')
        end++;
    EK_TRY(view_parse(w.word[2], &first));
    bench_case_init(c, op, loop, first.ndim, first.shape);
    c->roll = rolls;
    if (problem_form_of(op) == FORM_GEMM)
        EK_TRY(set_square(c, end - 2, w.word[2]));
    else
        EK_TRY(set_operands(c, end - 2, &w.word[2]));
    for (int i = end; i < w.count; i++)
        EK_TRY(set_option(c, w.word[i]));
    if (problem_form_of(op) == FORM_IMAGE && end == 3)
        return set_image(c);
    return EK_OK;
}
