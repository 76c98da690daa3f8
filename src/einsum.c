/* ek_einsum: reads the subscripts, and takes two operands after the other. */
#include <ctype.h>
#include <string.h>

#include "call.h"
#include "labels.h"
#include "layout.h"

static const char call[] = "ek_einsum";

enum { LETTERS = 52, WORDS = EK_EINSUM_OPERANDS + 1 };

/* The letters of an operand or of the result; `dots` letters are before the "...", or -1. */
typedef struct word {
    uint8_t label[EK_MAX_NDIM];
    int32_t count, dots;
} word;

typedef struct sentence {
    word words[WORDS]; /* the operands, and the result */
    int32_t operands;
    bool arrow;
} sentence;

/* A to Z come before a to z, as characters do. */
static uint8_t label_of(char letter)
{
    return (uint8_t)(letter <= 'Z' ? letter - 'A' : letter - 'a' + LETTERS / 2);
}

static char letter_of(uint8_t label)
{
    return (char)(label < LETTERS / 2 ? 'A' + label : 'a' + label - LETTERS / 2);
}

static ek_status refuse_text(const char *subscripts, const char *why)
{
    return ek_fail(EK_INVALID_ARGUMENT, "%s: subscripts '%.60s': %s", call, subscripts, why);
}

static ek_status read_letter(const char *subscripts, const char **at, word *word)
{
    if (strncmp(*at, "...", 3) == 0) {
        if (word->dots >= 0)
            return refuse_text(subscripts, "'...' is there twice in one operand");
        word->dots = word->count;
        *at += 2;
        return EK_OK;
    }
    if (!((**at >= 'a' && **at <= 'z') || (**at >= 'A' && **at <= 'Z')))
        return refuse_text(subscripts, "only letters, ',', '...' and '->' are allowed");
    if (word->count == EK_MAX_NDIM)
        return refuse_text(subscripts, "more letters than an array has dimensions");
    word->label[word->count++] = label_of(**at);
    return EK_OK;
}

static ek_status read(const char *subscripts, sentence *s)
{
    int32_t at_word = 0;
    s->arrow = false;
    s->words[0] = (word){.dots = -1};
    for (const char *at = subscripts; *at; at++) {
        bool arrow = at[0] == '-' && at[1] == '>';
        if (*at == ' ')
            continue;
        if (*at != ',' && !arrow) {
            EK_TRY(read_letter(subscripts, &at, &s->words[at_word]));
            continue;
        }
        if (s->arrow)
            return refuse_text(subscripts, "the result is one word, and the last");
        if (++at_word == WORDS)
            return refuse_text(subscripts, "too many operands");
        s->words[at_word] = (word){.dots = -1};
        s->arrow = arrow;
        at += arrow;
    }
    s->operands = at_word + !s->arrow;
    return s->operands < WORDS ? EK_OK : refuse_text(subscripts, "too many operands");
}

/* Adds the labels of "...", of which the last stands for the last of its dimensions. */
static ek_status spell_out(const char *subscripts, word *word, int32_t dimensions)
{
    if (word->dots < 0)
        return EK_OK;
    if (word->count + dimensions > EK_MAX_NDIM)
        return refuse_text(subscripts, "more letters than an array has dimensions");
    uint8_t *at = word->label + word->dots;
    memmove(at + dimensions, at, (size_t)(word->count - word->dots));
    for (int32_t i = 0; i < dimensions; i++)
        at[i] = (uint8_t)(LETTERS + dimensions - 1 - i);
    word->count += dimensions;
    return EK_OK;
}

static ek_status set_length(ek_labels *labels, uint8_t label, int64_t length)
{
    int64_t *known = &labels->length[label];
    if (*known >= 0 && *known != 1 && length != 1 && *known != length) {
        char letter[] = {label < LETTERS ? letter_of(label) : '.', '\0'};
        return ek_fail(EK_SHAPE_MISMATCH, "%s: '%s' has the lengths %lld and %lld", call, letter,
                       (long long)*known, (long long)length);
    }
    if (*known < 0 || *known == 1)
        *known = length;
    return EK_OK;
}

/* An operand with each letter once: of a letter that is there more often, the diagonal. */
static ek_status take(ek_labels *labels, const char *subscripts, int32_t number, word *word,
                      const ek_array *x, ek_labelled *made)
{
    char text[128];
    int32_t dots = x->ndim - word->count;
    if (dots < 0 || (dots > 0 && word->dots < 0))
        return ek_fail(EK_SHAPE_MISMATCH,
                       "%s: operand %d has shape %s, subscripts '%.60s' name %d "
                       "axes of it",
                       call, (int)number, ek_shape_text(x->ndim, x->shape, text), subscripts,
                       (int)word->count);
    EK_TRY(spell_out(subscripts, word, dots));
    made->owns = false;
    EK_TRY(ek_view_make(x, &made->view));
    int32_t count = 0;
    for (int32_t d = 0; d < x->ndim; d++) {
        int64_t length = made->view.shape[d], step = made->view.strides[d];
        made->view.array.ndim = count;
        int32_t same = ek_labels_find(made, word->label[d]);
        EK_TRY(set_length(labels, word->label[d], length));
        if (same < 0) {
            made->label[count] = word->label[d];
            made->view.shape[count] = length;
            made->view.strides[count++] = step;
        } else if (made->view.shape[same] != length) {
            return ek_fail(EK_SHAPE_MISMATCH, "%s: operand %d has shape %s: '%c' has two lengths",
                           call, (int)number, ek_shape_text(x->ndim, x->shape, text),
                           letter_of(word->label[d]));
        } else {
            made->view.strides[same] += step;
        }
    }
    made->view.array.ndim = count;
    return EK_OK;
}

/* What the result has where nothing says so: all of "...", and the letters that occur once. */
static ek_status imply_result(const sentence *s, word *result)
{
    int32_t times[LETTERS] = {0};
    *result = (word){.dots = 0};
    for (int32_t i = 0; i < s->operands; i++) {
        for (int32_t k = 0; k < s->words[i].count; k++) {
            if (s->words[i].label[k] < LETTERS)
                times[s->words[i].label[k]]++;
        }
    }
    for (int32_t label = 0; label < LETTERS; label++) {
        if (times[label] != 1)
            continue;
        if (result->count == EK_MAX_NDIM)
            return ek_fail(EK_INVALID_ARGUMENT, "%s: the result has more than %d dimensions", call,
                           EK_MAX_NDIM);
        result->label[result->count++] = (uint8_t)label;
    }
    return EK_OK;
}

static ek_status check_result(const ek_labels *labels, const char *subscripts, const word *result)
{
    bool seen[EK_LABELS] = {false};
    for (int32_t i = 0; i < result->count; i++) {
        if (labels->length[result->label[i]] < 0)
            return refuse_text(subscripts, "the result has a letter that no operand has");
        if (seen[result->label[i]])
            return refuse_text(subscripts, "the result has a letter twice");
        seen[result->label[i]] = true;
    }
    return EK_OK;
}

/* Everything is checked: from left to right, two at a time. */
static ek_status contract(const ek_labels *labels, int32_t count, ek_labelled *x, ek_labelled *out)
{
    if (count == 1)
        return ek_labels_sum(labels, &x[0], out);
    ek_labelled so_far = x[0];
    ek_status status = EK_OK;
    for (int32_t i = 1; i < count && status == EK_OK; i++) {
        bool needed[EK_LABELS] = {false};
        uint8_t label[2 * EK_MAX_NDIM];
        int32_t kept = 0;
        ek_labelled next = *out;
        for (int32_t d = 0; d < out->view.array.ndim; d++)
            needed[out->label[d]] = true;
        for (int32_t k = i + 1; k < count; k++) {
            for (int32_t d = 0; d < x[k].view.array.ndim; d++)
                needed[x[k].label[d]] = true;
        }
        for (int k = 0; k < 2; k++) {
            const ek_labelled *from = k == 0 ? &so_far : &x[i];
            for (int32_t d = 0; d < from->view.array.ndim; d++) {
                if (needed[from->label[d]])
                    label[kept++] = from->label[d];
                needed[from->label[d]] = false;
            }
        }
        if (i < count - 1) {
            status = kept <= EK_MAX_NDIM
                         ? ek_labels_alloc(labels, kept, label, &next)
                         : ek_fail(EK_INVALID_ARGUMENT, "%s: a product has more than %d dimensions",
                                   call, EK_MAX_NDIM);
        }
        if (status == EK_OK)
            status = ek_labels_product(labels, &so_far, &x[i], &next);
        ek_labels_free(labels, &so_far);
        so_far = next;
        so_far.view.array.shape = so_far.view.shape;
        so_far.view.array.strides = so_far.view.strides;
    }
    ek_labels_free(labels, &so_far);
    return status;
}

ek_status ek_einsum(ek_queue *queue, const ek_op_info *gemm, const char *subscripts, int32_t count,
                    const ek_array *const *operands, ek_array *out)
{
    EK_ENTRY(queue, call);
    ek_labels labels = {.call = call, .queue = queue, .gemm = gemm};
    ek_labelled x[EK_EINSUM_OPERANDS], result;
    sentence s;
    if (count < 1 || count > EK_EINSUM_OPERANDS || !operands || !subscripts)
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: count is %d: must be 1 to %d, with operands and "
                       "subscripts",
                       call, (int)count, EK_EINSUM_OPERANDS);
    EK_TRY(read(subscripts, &s));
    if (s.operands != count)
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: subscripts '%.60s' are of %d operands, count is %d", call, subscripts,
                       (int)s.operands, (int)count);
    EK_TRY(ek_labels_check(&labels, count, operands, out));
    for (int32_t i = 0; i < EK_LABELS; i++)
        labels.length[i] = -1;
    int32_t most_dots = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t dots = operands[i]->ndim - s.words[i].count;
        if (s.words[i].dots >= 0 && dots > most_dots)
            most_dots = dots;
        EK_TRY(take(&labels, subscripts, i, &s.words[i], operands[i], &x[i]));
    }
    word *of_result = &s.words[count];
    if (!s.arrow)
        EK_TRY(imply_result(&s, of_result));
    EK_TRY(spell_out(subscripts, of_result, most_dots));
    EK_TRY(check_result(&labels, subscripts, of_result));
    EK_TRY(ek_labels_check_out(&labels, of_result->count, of_result->label, out, &result));
    return contract(&labels, count, x, &result);
}
