#include "json.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { SPREAD = 2 }; /* levels whose members have a line each */

static void write_text(json *out, const char *text)
{
    putc('"', out->file);
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(out->file, "\\%c", *c);
        else if ((unsigned char)*c < 0x20)
            fprintf(out->file, "\\u%04x", (unsigned)*c);
        else
            putc(*c, out->file);
    }
    putc('"', out->file);
}

static void new_line(json *out)
{
    fprintf(out->file, "\n%*s", 2 * out->depth, "");
}

static void write_key(json *out, const char *key)
{
    if (out->depth > 0) {
        bool *filled = &out->level[out->depth - 1].filled;
        if (*filled)
            putc(',', out->file);
        if (out->depth <= SPREAD)
            new_line(out);
        else if (*filled)
            putc(' ', out->file);
        *filled = true;
    }
    if (key) {
        write_text(out, key);
        fputs(": ", out->file);
    }
}

static void open_level(json *out, const char *key, char begin, char end)
{
    assert(out->depth < JSON_DEPTH);
    write_key(out, key);
    putc(begin, out->file);
    out->level[out->depth].end = end;
    out->level[out->depth].filled = false;
    out->depth++;
}

json json_begin(FILE *file)
{
    json out = {.file = file};
    json_object(&out, NULL);
    return out;
}

void json_finish(json *out)
{
    json_end(out);
    putc('\n', out->file);
}

void json_object(json *out, const char *key)
{
    open_level(out, key, '{', '}');
}

void json_array(json *out, const char *key)
{
    open_level(out, key, '[', ']');
}

void json_end(json *out)
{
    bool spread = out->depth <= SPREAD && out->level[out->depth - 1].filled;
    out->depth--;
    if (spread)
        new_line(out);
    putc(out->level[out->depth].end, out->file);
}

void json_string(json *out, const char *key, const char *value)
{
    write_key(out, key);
    write_text(out, value);
}

void json_int(json *out, const char *key, int64_t value)
{
    write_key(out, key);
    fprintf(out->file, "%lld", (long long)value);
}

void json_bool(json *out, const char *key, bool value)
{
    write_key(out, key);
    fputs(value ? "true" : "false", out->file);
}

void json_null(json *out, const char *key)
{
    write_key(out, key);
    fputs("null", out->file);
}

void json_number(json *out, const char *key, double value)
{
    if (!isfinite(value)) {
        json_null(out, key);
        return;
    }
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    write_key(out, key);
    fputs(text, out->file);
}
