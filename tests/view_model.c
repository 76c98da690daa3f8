#include "view_model.h"

#include <string.h>

/* The next index in C order; false behind the last one. */
static bool next(const model *m, int64_t *index)
{
    for (int32_t d = m->ndim - 1; d >= 0; d--) {
        if (++index[d] < m->shape[d])
            return true;
        index[d] = 0;
    }
    return false;
}

static int64_t place(const model *m, const int64_t *index)
{
    int64_t at = 0;
    for (int32_t d = 0; d < m->ndim; d++)
        at = at * m->shape[d] + index[d];
    return at;
}

bool model_shape(model *m, int32_t ndim, const int64_t *shape)
{
    if (ndim > MODEL_NDIM)
        return false;
    m->ndim = ndim;
    m->size = 1;
    for (int32_t d = 0; d < ndim; d++) {
        m->shape[d] = shape[d];
        m->size *= shape[d];
        if (m->size > MODEL_MOST)
            return false;
    }
    return true;
}

void model_of(const ek_array *x, model *m)
{
    int64_t index[MODEL_NDIM] = {0}, bytes = x->type.bits / 8, count = 0;
    if (!model_shape(m, x->ndim, x->shape) || m->size == 0)
        return;
    do {
        const char *at = (const char *)x->data + x->byte_offset;
        for (int32_t d = 0; d < x->ndim; d++)
            at += index[d] * x->strides[d] * bytes;
        m->at[count++] = at;
    } while (next(m, index));
}

void model_take(model *m, const model *x, model_from *from, const void *args)
{
    int64_t index[MODEL_NDIM] = {0}, other[MODEL_NDIM] = {0}, count = 0;
    if (m->size == 0)
        return;
    do {
        from(args, index, other);
        m->at[count++] = x->at[place(x, other)];
    } while (next(m, index));
}

bool model_is(const model *m, const ek_array *x)
{
    static model other;
    if (x->ndim != m->ndim ||
        (m->ndim > 0 && memcmp(x->shape, m->shape, (size_t)m->ndim * sizeof *m->shape) != 0))
        return false;
    model_of(x, &other);
    return memcmp(other.at, m->at, (size_t)m->size * sizeof *m->at) == 0;
}

bool model_is_strided(const model *m)
{
    int64_t index[MODEL_NDIM] = {0}, step[MODEL_NDIM] = {0}, count = 0;
    if (m->size == 0)
        return true;
    for (int32_t d = 0; d < m->ndim; d++) {
        int64_t unit[MODEL_NDIM] = {0};
        unit[d] = 1;
        if (m->shape[d] > 1)
            step[d] = m->at[place(m, unit)] - m->at[0];
    }
    do {
        const char *at = m->at[0];
        for (int32_t d = 0; d < m->ndim; d++)
            at += index[d] * step[d];
        if (at != m->at[count++])
            return false;
    } while (next(m, index));
    return true;
}
