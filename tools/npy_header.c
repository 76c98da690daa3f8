#include "npy_header.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "error.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static const char native = '<', foreign = '>';
#else
static const char native = '>', foreign = '<';
#endif

/* "V2" is what NumPy writes for bfloat16, which it does not know. */
static const char *const codes[EK_DTYPES] = {
    [EK_B8] = "b1",   [EK_I8] = "i1",  [EK_I16] = "i2", [EK_I32] = "i4", [EK_I64] = "i8",
    [EK_U8] = "u1",   [EK_U16] = "u2", [EK_U32] = "u4", [EK_U64] = "u8", [EK_F16] = "f2",
    [EK_BF16] = "V2", [EK_F32] = "f4", [EK_F64] = "f8", [EK_C64] = "c8", [EK_C128] = "c16",
};

/* Where in the text reading is. */
typedef struct reader {
    const char *name;
    const char *at, *end;
} reader;

enum { QUOTED = 24 }; /* characters of the file that a message shows */

/* What comes next, fit for a message: at most QUOTED characters, all printable. */
static const char *next_text(const reader *in, char *text)
{
    size_t length = 0;
    while (length < QUOTED && in->at + length < in->end) {
        unsigned char c = (unsigned char)in->at[length];
        text[length++] = isprint(c) ? (char)c : '?';
    }
    text[length] = '\0';
    return length ? text : "the end";
}

static ek_status expected(const reader *in, const char *what)
{
    char text[QUOTED + 1];
    return ek_fail(EK_INVALID_ARGUMENT, "%s: header: %s expected before '%s'", in->name, what,
                   next_text(in, text));
}

static void skip_space(reader *in)
{
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\t' || *in->at == '\n'))
        in->at++;
}

static bool take(reader *in, char c)
{
    skip_space(in);
    if (in->at == in->end || *in->at != c)
        return false;
    in->at++;
    return true;
}

static bool take_word(reader *in, const char *word)
{
    size_t length = strlen(word);
    skip_space(in);
    if ((size_t)(in->end - in->at) < length || memcmp(in->at, word, length) != 0)
        return false;
    in->at += length;
    return true;
}

/* A Python string without escapes. */
static ek_status read_string(reader *in, const char *what, char *text, size_t size)
{
    skip_space(in);
    if (in->at == in->end || (*in->at != '\'' && *in->at != '"'))
        return expected(in, what);
    char quote = *in->at++;
    const char *close = memchr(in->at, quote, (size_t)(in->end - in->at));
    if (!close)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: header: a string has no end", in->name);
    size_t length = (size_t)(close - in->at);
    if (length >= size) {
        char shown[QUOTED + 1];
        return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is '%s...': too long", in->name, what,
                       next_text(in, shown));
    }
    for (size_t i = 0; i < length; i++)
        text[i] = isprint((unsigned char)in->at[i]) ? in->at[i] : '?';
    text[length] = '\0';
    in->at = close + 1;
    return EK_OK;
}

static ek_status read_descr(reader *in, npy_header *header)
{
    char descr[QUOTED + 1];
    skip_space(in);
    if (in->at < in->end && *in->at == '[')
        return ek_fail(EK_DTYPE_MISMATCH, "%s: descr is a list: a structured type is no dtype here",
                       in->name);
    EK_TRY(read_string(in, "descr", descr, sizeof descr));
    if (strcmp(descr, "bfloat16") == 0) {
        header->dtype = EK_BF16;
        header->swapped = false;
        return EK_OK;
    }
    const char *code = descr + (*descr != '\0' && strchr("<>=|", *descr) != NULL);
    for (int i = 0; i < EK_DTYPES; i++) {
        if (strcmp(code, codes[i]) == 0) {
            header->dtype = (ek_dtype)i;
            header->swapped = *descr == foreign && npy_number_size(header->dtype) > 1;
            return EK_OK;
        }
    }
    return ek_fail(EK_DTYPE_MISMATCH,
                   "%s: descr is '%s': must be one of b1 i1 i2 i4 i8 u1 u2 u4 u8 "
                   "f2 f4 f8 c8 c16 V2 (bfloat16), with or without a byte order",
                   in->name, descr);
}

static ek_status read_order(reader *in, npy_header *header)
{
    header->fortran = take_word(in, "True");
    if (!header->fortran && !take_word(in, "False"))
        return expected(in, "True or False for fortran_order");
    return EK_OK;
}

static ek_status read_length(reader *in, int64_t *length)
{
    skip_space(in);
    if (in->at == in->end || !isdigit((unsigned char)*in->at))
        return expected(in, "a length of shape, a whole number from 0 on,");
    reader start = *in;
    char text[QUOTED + 1];
    *length = 0;
    while (in->at < in->end && isdigit((unsigned char)*in->at)) {
        int digit = *in->at++ - '0';
        if (*length > (INT64_MAX - digit) / 10)
            return ek_fail(EK_INVALID_ARGUMENT,
                           "%s: shape has a length of %s...: must be below 2^63", in->name,
                           next_text(&start, text));
        *length = *length * 10 + digit;
    }
    if (in->at < in->end && *in->at == 'L') /* Python 2 wrote long numbers so */
        in->at++;
    return EK_OK;
}

static ek_status read_shape(reader *in, npy_header *header)
{
    if (!take(in, '('))
        return expected(in, "'(' of shape");
    bool comma = false;
    header->ndim = 0;
    while (!take(in, ')')) {
        if (header->ndim > 0 && !comma)
            return expected(in, "',' or ')' of shape");
        if (header->ndim == EK_MAX_NDIM)
            return ek_fail(EK_INVALID_ARGUMENT, "%s: shape has more than %d dimensions", in->name,
                           EK_MAX_NDIM);
        EK_TRY(read_length(in, &header->shape[header->ndim]));
        header->ndim++;
        comma = take(in, ',');
    }
    if (header->ndim == 1 && !comma)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: shape is (%lld), a number: must be a tuple",
                       in->name, (long long)header->shape[0]);
    return EK_OK;
}

ek_status npy_header_parse(const char *name, const char *text, size_t length, npy_header *header)
{
    static const struct {
        const char *name;
        ek_status (*read)(reader *in, npy_header *header);
    } keys[] = {{"descr", read_descr}, {"fortran_order", read_order}, {"shape", read_shape}};
    enum { KEYS = sizeof keys / sizeof keys[0] };
    reader in = {name, text, text + length};
    bool found[KEYS] = {false};
    if (!take(&in, '{'))
        return expected(&in, "'{'");
    bool comma = true;
    while (!take(&in, '}')) {
        char key[QUOTED + 1];
        if (!comma)
            return expected(&in, "',' or '}'");
        EK_TRY(read_string(&in, "a key", key, sizeof key));
        if (!take(&in, ':'))
            return expected(&in, "':'");
        int i = 0;
        while (i < KEYS && strcmp(key, keys[i].name) != 0)
            i++;
        if (i == KEYS)
            return ek_fail(EK_INVALID_ARGUMENT,
                           "%s: header: unknown key '%s': must be descr, "
                           "fortran_order or shape",
                           name, key);
        if (found[i])
            return ek_fail(EK_INVALID_ARGUMENT, "%s: header: key '%s' is there twice", name, key);
        found[i] = true;
        EK_TRY(keys[i].read(&in, header));
        comma = take(&in, ',');
    }
    for (int i = 0; i < KEYS; i++) {
        if (!found[i])
            return ek_fail(EK_INVALID_ARGUMENT, "%s: header: key '%s' is missing", name,
                           keys[i].name);
    }
    skip_space(&in);
    return in.at == in.end ? EK_OK : expected(&in, "nothing more");
}

size_t npy_header_format(ek_dtype dtype, int32_t ndim, const int64_t *shape, char *text)
{
    enum { PREFIX = 10, ALIGNMENT = 64 };
    size_t length = PREFIX;
    char order = npy_number_size(dtype) == 1 ? '|' : native;
    length += (size_t)sprintf(text + length, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                              order, codes[dtype]);
    for (int32_t d = 0; d < ndim; d++)
        length += (size_t)sprintf(text + length, d + 1 < ndim || ndim == 1 ? "%lld, " : "%lld",
                                  (long long)shape[d]);
    if (ndim == 1)
        length--; /* "(3,)", as NumPy writes it */
    length += (size_t)sprintf(text + length, "), }");
    while (length % ALIGNMENT != ALIGNMENT - 1)
        text[length++] = ' ';
    text[length++] = '\n';
    size_t header = length - PREFIX;
    memcpy(text, "\x93NUMPY\x01\x00", 8);
    text[8] = (char)(header & 0xff);
    text[9] = (char)(header >> 8);
    return length;
}

size_t npy_number_size(ek_dtype dtype)
{
    size_t size = ek_dtype_size(dtype);
    return dtype == EK_C64 || dtype == EK_C128 ? size / 2 : size;
}
