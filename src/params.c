#include "params.h"

#include <string.h>

#include "error.h"
#include "kind.h"

static bool is_real(const ek_param_info *info)
{
    return info->type[0] == 'r';
}

/* A "double" is one in every loop. */
static bool is_number(const ek_param_info *info)
{
    return is_real(info) || info->type[0] == 'd';
}

const ek_param_info *ek_param_of(const ek_op_info *op, const char *name)
{
    const ek_param_info *info = op->params;
    while (strcmp(info->name, name) != 0)
        info++;
    return info;
}

ek_status ek_check_value(const char *call, const ek_param_info *info, double value)
{
    if (EK_UNLIKELY(info->allowed && !ek_within(value, info->least, info->most)))
        return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is %g: must be %s", call, info->name, value,
                       info->allowed);
    return EK_OK;
}

void ek_params_by_name(const ek_op_info *op, int32_t count, const ek_param *params,
                       ek_scalar *values)
{
    for (int32_t k = 0; k < op->param_count; k++) {
        const ek_param_info *info = &op->params[k];
        const ek_param *param = ek_find_param(count, params, info->name);
        if (is_number(info))
            values[k].f64 = param ? param->real : info->standard;
        else
            values[k].i64 = param ? param->integer : (int64_t)info->standard;
        if (info->type[0] == 'b')
            values[k].i64 = values[k].i64 != 0;
    }
}

/* The numbers of an integer dtype: from `low` to below `end`, which are powers of two or zero. */
static void range_of(ek_dtype dtype, double *low, double *end)
{
    int bits = dtype == EK_B8 ? 1 : 8 * (int)ek_dtype_size(dtype);
    bool is_signed = dtype >= EK_I8 && dtype <= EK_I64;
    *end = 1;
    for (int i = is_signed ? 1 : 0; i < bits; i++)
        *end *= 2;
    *low = is_signed ? -*end : 0;
}

static ek_status to_integer(const char *call, const ek_param_info *info, ek_dtype dtype,
                            double value, int64_t *integer)
{
    double low, end;
    range_of(dtype, &low, &end);
    bool fits = value >= low && value < end;
    bool above = fits && value >= 0x1p+63; /* of u64 alone */
    *integer = above ? (int64_t)(value - 0x1p+63) ^ INT64_MIN : (fits ? (int64_t)value : 0);
    if (fits && (above || (double)*integer == value))
        return EK_OK;
    return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is %g: must be a number that %s holds", call,
                   info->name, value, ek_dtype_name(dtype));
}

static bool is_integer(ek_dtype dtype)
{
    return dtype <= EK_U64;
}

static bool is_double(ek_dtype dtype)
{
    return dtype == EK_F64 || dtype == EK_C128;
}

ek_status ek_params_for_loop(const ek_op_info *op, const ek_loop *loop, const ek_scalar *given,
                             ek_scalar *values)
{
    ek_dtype dtype = (ek_dtype)loop->dtype;
    for (int32_t k = 0; k < op->param_count; k++) {
        const ek_param_info *info = &op->params[k];
        values[k] = given[k];
        EK_TRY(
            ek_check_value(op->call, info, is_number(info) ? given[k].f64 : (double)given[k].i64));
        if (!is_real(info) || is_double(dtype))
            continue;
        if (is_integer(dtype))
            EK_TRY(to_integer(op->call, info, dtype, given[k].f64, &values[k].i64));
        else
            values[k].f32 = (float)given[k].f64;
    }
    return EK_OK;
}

ek_status ek_params_check_typed(const char *call, const ek_op_info *op, const ek_loop *loop,
                                const ek_scalar *values)
{
    ek_dtype dtype = (ek_dtype)loop->dtype;
    for (int32_t k = 0; k < op->param_count; k++) {
        const ek_param_info *info = &op->params[k];
        double value = values[k].f64;
        if (is_real(info) && dtype == EK_U64)
            value = (double)(uint64_t)values[k].i64;
        else if (!is_number(info) || (is_real(info) && is_integer(dtype)))
            value = (double)values[k].i64;
        else if (is_real(info) && !is_double(dtype))
            value = (double)values[k].f32;
        EK_TRY(ek_check_value(call, info, value));
    }
    return EK_OK;
}
