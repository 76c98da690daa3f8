#include "view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "error.h"

static const int64_t most_elements = INT64_C(1) << 40;

static void set_text(view *v)
{
    size_t length = 0;
    v->text[0] = '\0';
    for (int32_t d = 0; d < v->ndim; d++)
        length += (size_t)snprintf(v->text + length, sizeof v->text - length, "%s%" PRId64,
                                   d ? "x" : "", v->shape[d]);
}

view view_of_shape(int32_t ndim, const int64_t *shape)
{
    view v = {.plain = true, .ndim = ndim, .elements = 1};
    for (int32_t d = ndim - 1; d >= 0; d--) {
        v.shape[d] = shape[d];
        v.stride[d] = v.elements;
        v.elements *= shape[d];
    }
    set_text(&v);
    return v;
}

int64_t view_size(const view *v)
{
    int64_t size = 1;
    for (int32_t d = 0; d < v->ndim; d++)
        size *= v->shape[d];
    return size;
}

static ek_status refuse(const char *text, const char *allowed)
{
    return ek_fail(EK_INVALID_ARGUMENT, "operand is '%s': %s", text, allowed);
}

/* Lengths with x between, up to the first colon. */
static ek_status parse_shape(const char *text, view *v)
{
    int64_t shape[VIEW_NDIM], elements = 1;
    int32_t ndim = 0;
    for (const char *at = text;; at++) {
        char word[24];
        size_t length = strcspn(at, "x:");
        if (ndim == VIEW_NDIM || length == 0 || length >= sizeof word)
            return refuse(text, "must begin with 1 to 4 lengths, such as 1000x100");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        EK_TRY(command_parse_count("length", word, 1, &shape[ndim]));
        if (__builtin_mul_overflow(elements, shape[ndim++], &elements) || elements > most_elements)
            return refuse(text, "must have at most 2^40 elements");
        at += length;
        if (*at != 'x')
            break;
    }
    *v = view_of_shape(ndim, shape);
    return EK_OK;
}

static ek_status permute(view *v, const char *order)
{
    view old = *v;
    unsigned seen = 0;
    for (int32_t d = 0; d < v->ndim; d++) {
        int from = order[2 * d] - '0';
        char after = d + 1 < v->ndim ? ',' : '\0';
        if (from < 0 || from >= v->ndim || order[2 * d + 1] != after || seen >> from & 1)
            return refuse(order, "must name each axis once, such as 2,0,1");
        seen |= 1u << from;
        v->shape[d] = old.shape[from];
        v->stride[d] = old.stride[from];
    }
    return EK_OK;
}

static ek_status transpose(view *v)
{
    static const char *const orders[] = {"", "", "1,0", "0,2,1", "0,1,3,2"};
    if (v->ndim < 2)
        return refuse(v->text, "must have two dimensions to be transposed");
    return permute(v, orders[v->ndim]);
}

/* A modifier that has a number. */
static ek_status change(view *v, const char *name, int64_t value)
{
    int32_t last = v->ndim - 1;
    if (strcmp(name, "flipped") == 0 && value <= last) {
        v->first += (v->shape[value] - 1) * v->stride[value];
        v->stride[value] = -v->stride[value];
        return EK_OK;
    }
    if (strcmp(name, "every") == 0 && value > 0) {
        v->shape[last] = (v->shape[last] + value - 1) / value;
        v->stride[last] *= value;
        return EK_OK;
    }
    if (strcmp(name, "first") == 0 && value <= v->shape[last]) {
        v->shape[last] = value;
        return EK_OK;
    }
    if (strcmp(name, "offset") == 0) {
        v->first += value;
        v->elements += value;
        return EK_OK;
    }
    return refuse(v->text, "the modifiers are transposed, permuted=2,0,1, flipped=AXIS, every=N, "
                           "first=N, offset=N");
}

static ek_status modify(view *v, const char *word)
{
    char name[16];
    size_t length = strcspn(word, "=");
    int64_t value;
    if (strcmp(word, "transposed") == 0)
        return transpose(v);
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    if (strcmp(name, "permuted") == 0 && word[length])
        return permute(v, word + length + 1);
    EK_TRY(command_parse_count("modifier", word[length] ? word + length + 1 : "", 0, &value));
    return change(v, name, value);
}

ek_status view_parse(const char *text, view *v)
{
    if (strlen(text) >= VIEW_TEXT)
        return refuse(text, "too long");
    EK_TRY(parse_shape(text, v));
    snprintf(v->text, sizeof v->text, "%s", text);
    for (const char *at = strchr(text, ':'); at; at = strchr(at, ':')) {
        char word[VIEW_TEXT];
        at++;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ":"), at);
        EK_TRY(modify(v, word));
        v->plain = false;
    }
    return EK_OK;
}
