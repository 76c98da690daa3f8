#include "params.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

static const ek_param_info *find_info(const ek_op_info *op, const char *name)
{
    for (int32_t i = 0; i < op->param_count; i++) {
        if (strcmp(op->params[i].name, name) == 0)
            return &op->params[i];
    }
    return NULL;
}

static ek_status unknown(const ek_op_info *op, const char *name)
{
    char known[256] = "it has none";
    size_t length = 0;
    for (int32_t i = 0; i < op->param_count && length < sizeof known; i++)
        length += (size_t)snprintf(known + length, sizeof known - length, "%s%s",
                                   i ? ", " : "it has ", op->params[i].name);
    return ek_fail(EK_INVALID_ARGUMENT, "ek_%s: unknown parameter '%s': %s", op->name, name, known);
}

static ek_status bad_value(const ek_op_info *op, const ek_param_info *info, const char *text,
                           const char *allowed)
{
    return ek_fail(EK_INVALID_ARGUMENT, "ek_%s: %s is '%s': must be %s", op->name, info->name, text,
                   allowed);
}

/* A whole number up to `end`, which tells where it stopped. */
static bool read_int(const char *text, char **end, int64_t *value)
{
    errno = 0;
    *value = strtoll(text, end, 10);
    return *end != text && errno == 0;
}

static ek_status read_list(const ek_op_info *op, const ek_param_info *info, const char *text,
                           int64_t *list, int32_t *count)
{
    char *end = (char *)text;
    for (*count = 0; *end;) {
        if (*count == EK_MAX_NDIM)
            return bad_value(op, info, text, "at most 32 whole numbers");
        if (!read_int(end, &end, &list[*count]) || (*end && *end != ',') ||
            (*end == ',' && !end[1]))
            return bad_value(op, info, text, "whole numbers with commas between");
        ++*count;
        end += *end == ',';
    }
    return EK_OK;
}

static ek_status read_value(const ek_op_info *op, const ek_param_info *info, const char *text,
                            ek_param *param, int64_t *list)
{
    char *end;
    ek_dtype dtype;
    if (strcmp(info->type, "ints") == 0) {
        param->list = list;
        return read_list(op, info, text, list, &param->count);
    }
    if (strcmp(info->type, "real") == 0 || strcmp(info->type, "double") == 0) {
        param->real = strtod(text, &end);
        return *text && !*end ? EK_OK : bad_value(op, info, text, "a number");
    }
    if (strcmp(info->type, "bool") == 0) {
        bool yes = strcmp(text, "1") == 0 || strcmp(text, "true") == 0;
        param->integer = yes;
        if (yes || strcmp(text, "0") == 0 || strcmp(text, "false") == 0)
            return EK_OK;
        return bad_value(op, info, text, "0, 1, true or false");
    }
    if (strcmp(info->name, "dtype") == 0 && ek_dtype_parse(text, &dtype) == EK_OK) {
        param->integer = dtype;
        return EK_OK;
    }
    if (!read_int(text, &end, &param->integer) || *end)
        return bad_value(op, info, text, "a whole number");
    return EK_OK;
}

ek_status params_add(params *p, const ek_op_info *op, const char *text)
{
    char *name = p->name[p->count];
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return ek_fail(EK_INVALID_ARGUMENT, "parameter '%s' is not NAME=VALUE", text);
    if (p->count == PARAMS_MOST)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_%s: more than %d parameters", op->name,
                       PARAMS_MOST);
    size_t length = (size_t)(equals - text);
    snprintf(name, sizeof p->name[0], "%.*s", (int)length, text);
    const ek_param_info *info = find_info(op, name);
    if (!info || strlen(info->name) != length)
        return unknown(op, name);
    ek_param *param = &p->value[p->count];
    *param = (ek_param){.name = name};
    EK_TRY(read_value(op, info, equals + 1, param, p->list[p->count]));
    p->count++;
    return EK_OK;
}
