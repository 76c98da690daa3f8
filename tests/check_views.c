/* Views against a model that knows no strides: chains of random views, with arguments that may be
 * wrong, and what is refused. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "einkorn/view.h"
#include "values.h"
#include "view_model.h"

enum { CHAINS = 6000, LINKS = 8 };

static char memory[1 << 16];
static uint64_t seed, drawn;

/* A number from low to high. */
static int64_t draw(int64_t low, int64_t high)
{
    return low + (int64_t)(ek_random(seed, drawn++) % (uint64_t)(high - low + 1));
}

/* Everything one of the calls may be given. */
typedef struct trial {
    ek_view view; /* of which the next one is made, in place */
    model model;
    model wanted;
    ek_status status; /* the one wanted */
    /* Arguments, as the call takes them and as the model does. */
    int32_t count, axes[MODEL_NDIM], to[MODEL_NDIM], order[MODEL_NDIM];
    int64_t lengths[MODEL_NDIM], shape[MODEL_NDIM];
    ek_range ranges[MODEL_NDIM];
    int64_t start[MODEL_NDIM], step[MODEL_NDIM], offset;
} trial;

/* An axis, mostly right, from the front or from the back; *found is it from the front, or -1. */
static int32_t some_axis(int32_t ndim, int32_t *found)
{
    bool wrong = ndim == 0 || draw(0, 9) == 0;
    int32_t axis = (int32_t)draw(-ndim - wrong, ndim - !wrong);
    *found = axis < -ndim || axis >= ndim ? -1 : (axis + ndim) % ndim;
    return axis;
}

/* `count` axes of ndim ones, by Fisher and Yates, sometimes with a mistake. */
static bool some_axes(int32_t ndim, int32_t count, int32_t *axes, int32_t *order)
{
    int32_t all[2 * MODEL_NDIM];
    for (int32_t i = 0; i < ndim; i++)
        all[i] = i;
    for (int32_t i = 0; i < count; i++) {
        int32_t j = (int32_t)draw(i, ndim - 1), taken = all[j];
        all[j] = all[i];
        all[i] = order[i] = taken;
        axes[i] = draw(0, 1) ? taken : taken - ndim;
    }
    if (count == 0 || draw(0, 9) > 0)
        return true;
    int32_t wrong = (int32_t)draw(0, count - 1), twice = (int32_t)draw(0, count - 1);
    axes[wrong] = wrong == twice ? (draw(0, 1) ? ndim : -ndim - 1) : axes[twice];
    return false;
}

/* ---- which index of x an index of a view stands for */

static void by_order(const void *args, const int64_t *index, int64_t *from)
{
    const trial *t = args;
    for (int32_t i = 0; i < t->model.ndim; i++)
        from[t->order[i]] = index[i];
}

static void by_steps(const void *args, const int64_t *index, int64_t *from)
{
    const trial *t = args;
    for (int32_t d = 0; d < t->model.ndim; d++)
        from[d] = t->start[d] + index[d] * t->step[d];
}

/* order[i] is the axis of x that axis i of the view is, -1 if it is none. */
static void by_axes(const void *args, const int64_t *index, int64_t *from)
{
    const trial *t = args;
    for (int32_t d = 0; d < t->model.ndim; d++)
        from[d] = 0;
    for (int32_t i = 0; i < t->wanted.ndim; i++) {
        if (t->order[i] >= 0 && t->model.shape[t->order[i]] != 1)
            from[t->order[i]] = index[i];
    }
}

/* ---- the calls */

static ek_status try_permute(trial *t)
{
    int64_t shape[MODEL_NDIM];
    bool right = some_axes(t->model.ndim, t->model.ndim, t->axes, t->order);
    bool turned = draw(0, 4) == 0;
    for (int32_t i = 0; i < t->model.ndim; i++) {
        if (turned)
            t->order[i] = t->model.ndim - 1 - i;
        shape[i] = t->model.shape[t->order[i]];
    }
    t->status = right || turned ? EK_OK : EK_INVALID_ARGUMENT;
    model_shape(&t->wanted, t->model.ndim, shape);
    model_take(&t->wanted, &t->model, by_order, t);
    return ek_permute(&t->view.array, turned ? NULL : t->axes, &t->view);
}

static ek_status try_swapaxes(trial *t)
{
    int64_t shape[MODEL_NDIM];
    int32_t first, second, axis1 = some_axis(t->model.ndim, &first);
    int32_t axis2 = some_axis(t->model.ndim, &second);
    t->status = first < 0 || second < 0 ? EK_INVALID_ARGUMENT : EK_OK;
    for (int32_t i = 0; i < t->model.ndim; i++) {
        t->order[i] = i == first ? second : (i == second ? first : i);
        shape[i] = t->model.shape[t->status == EK_OK ? t->order[i] : i];
    }
    model_shape(&t->wanted, t->model.ndim, shape);
    if (t->status == EK_OK)
        model_take(&t->wanted, &t->model, by_order, t);
    return ek_swapaxes(&t->view.array, axis1, axis2, &t->view);
}

/* NumPy's definition: the axes that stay, then those that move put in by rising places. */
static ek_status try_moveaxis(trial *t)
{
    int32_t from[MODEL_NDIM], to[MODEL_NDIM], n = 0, ndim = t->model.ndim;
    int64_t shape[MODEL_NDIM];
    t->count = (int32_t)draw(0, ndim);
    bool right = some_axes(ndim, t->count, t->axes, from);
    right = some_axes(ndim, t->count, t->to, to) && right;
    for (int32_t d = 0; d < ndim; d++) {
        bool moves = false;
        for (int32_t i = 0; i < t->count; i++)
            moves |= from[i] == d;
        if (!moves)
            t->order[n++] = d;
    }
    for (int32_t place = 0; place < ndim; place++) {
        for (int32_t i = 0; i < t->count; i++) {
            if (to[i] != place)
                continue;
            memmove(t->order + place + 1, t->order + place, (size_t)(n++ - place) * sizeof *to);
            t->order[place] = from[i];
        }
    }
    t->status = right ? EK_OK : EK_INVALID_ARGUMENT;
    for (int32_t i = 0; i < ndim; i++)
        shape[i] = t->model.shape[t->order[i]];
    model_shape(&t->wanted, ndim, shape);
    model_take(&t->wanted, &t->model, by_order, t);
    return ek_moveaxis(&t->view.array, t->count, t->axes, t->to, &t->view);
}

static ek_status try_reshape(trial *t)
{
    int64_t left = t->model.size, whole[MODEL_NDIM];
    int32_t ndim = 0, open = -1;
    while (ndim < 5 && draw(0, 5) > 0) {
        int64_t length = draw(1, 6);
        if (left % length == 0)
            t->shape[ndim++] = length;
        if (left % length == 0 && left > 0)
            left /= length;
    }
    if (left != 1 || draw(0, 1))
        t->shape[ndim++] = left;
    memcpy(whole, t->shape, sizeof whole);
    if (ndim > 0 && draw(0, 3) == 0)
        open = (int32_t)draw(0, ndim - 1);
    /* An open length beside a 0 could be any. */
    int64_t others = 1;
    for (int32_t d = 0; d < ndim && open >= 0; d++)
        others *= d == open ? 1 : t->shape[d];
    if (open >= 0)
        t->shape[open] = -1;
    model_shape(&t->wanted, ndim, whole);
    memcpy(t->wanted.at, t->model.at, sizeof t->wanted.at);
    t->status = model_is_strided(&t->wanted) ? EK_OK : EK_UNSUPPORTED;
    if (open >= 0 && others == 0)
        t->status = EK_SHAPE_MISMATCH;
    if (ndim > 0 && open < 0 && draw(0, 19) == 0) {
        t->shape[draw(0, ndim - 1)] += 1;
        t->status = EK_SHAPE_MISMATCH;
        if (t->wanted.size == 0) {
            int64_t size = 1;
            for (int32_t d = 0; d < ndim; d++)
                size *= t->shape[d];
            t->status = size == 0 ? EK_OK : EK_SHAPE_MISMATCH;
            model_shape(&t->wanted, ndim, t->shape);
        }
    }
    return ek_reshape(&t->view.array, ndim, t->shape, &t->view);
}

static ek_status try_ravel(trial *t)
{
    model_shape(&t->wanted, 1, &t->model.size);
    memcpy(t->wanted.at, t->model.at, sizeof t->wanted.at);
    t->status = model_is_strided(&t->wanted) ? EK_OK : EK_UNSUPPORTED;
    return ek_ravel(&t->view.array, &t->view);
}

static ek_status try_broadcast(trial *t)
{
    int32_t added = (int32_t)draw(0, 2), ndim = t->model.ndim + added;
    t->status = EK_OK;
    for (int32_t i = 0; i < ndim; i++) {
        int32_t d = i - added;
        t->order[i] = d < 0 ? -1 : d;
        t->shape[i] = d >= 0 && t->model.shape[d] != 1 ? t->model.shape[d] : draw(0, 3);
    }
    if (ndim > 0 && draw(0, 9) == 0) {
        int32_t d = (int32_t)draw(0, ndim - 1);
        t->shape[d] += 1;
        if (d >= added && t->model.shape[d - added] != 1)
            t->status = EK_SHAPE_MISMATCH;
    }
    if (!model_shape(&t->wanted, ndim, t->shape))
        return t->status = EK_STATUS_COUNT;
    if (t->status == EK_OK)
        model_take(&t->wanted, &t->model, by_axes, t);
    return ek_broadcast_to(&t->view.array, ndim, t->shape, &t->view);
}

static ek_status try_expand(trial *t)
{
    int32_t count = (int32_t)draw(0, 2), ndim = t->model.ndim + count, next = 0;
    int32_t new_axes[MODEL_NDIM];
    int64_t shape[MODEL_NDIM];
    if (ndim > MODEL_NDIM)
        return t->status = EK_STATUS_COUNT;
    t->status = some_axes(ndim, count, t->axes, new_axes) ? EK_OK : EK_INVALID_ARGUMENT;
    for (int32_t i = 0; i < ndim; i++) {
        bool fresh = false;
        for (int32_t k = 0; k < count; k++)
            fresh |= new_axes[k] == i;
        t->order[i] = fresh ? -1 : next++;
        shape[i] = fresh ? 1 : t->model.shape[t->order[i]];
    }
    model_shape(&t->wanted, ndim, shape);
    model_take(&t->wanted, &t->model, by_axes, t);
    return ek_expand_dims(&t->view.array, count, t->axes, &t->view);
}

static ek_status try_squeeze(trial *t)
{
    int64_t shape[MODEL_NDIM];
    int32_t found[MODEL_NDIM], n = 0;
    bool all = draw(0, 1), right;
    t->count = all ? 0 : (int32_t)draw(0, t->model.ndim);
    right = some_axes(t->model.ndim, t->count, t->axes, found);
    t->status = right ? EK_OK : EK_INVALID_ARGUMENT;
    for (int32_t d = 0; d < t->model.ndim; d++) {
        bool gone = all && t->model.shape[d] == 1;
        for (int32_t k = 0; k < t->count; k++) {
            gone |= found[k] == d;
            if (found[k] == d && right && t->model.shape[d] != 1)
                t->status = EK_SHAPE_MISMATCH;
        }
        if (gone)
            continue;
        t->order[n] = d;
        shape[n++] = t->model.shape[d];
    }
    model_shape(&t->wanted, n, shape);
    if (t->status == EK_OK)
        model_take(&t->wanted, &t->model, by_axes, t);
    return ek_squeeze(&t->view.array, t->count, all ? NULL : t->axes, &t->view);
}

static ek_status try_atleast(trial *t)
{
    static const int32_t order[4][3][3] = {
        [1] = {{-1}}, [2] = {{-1, -1}, {-1, 0}}, [3] = {{-1, -1, -1}, {-1, 0, -1}, {0, 1, -1}}};
    int32_t ndim = (int32_t)draw(0, 4), had = t->model.ndim;
    int64_t shape[MODEL_NDIM];
    t->status = ndim < 1 || ndim > 3 ? EK_INVALID_ARGUMENT : EK_OK;
    t->wanted = t->model;
    if (t->status == EK_OK && had < ndim) {
        for (int32_t i = 0; i < ndim; i++) {
            t->order[i] = order[ndim][had][i];
            shape[i] = t->order[i] < 0 ? 1 : t->model.shape[t->order[i]];
        }
        model_shape(&t->wanted, ndim, shape);
        model_take(&t->wanted, &t->model, by_axes, t);
    }
    return ek_atleast(&t->view.array, ndim, &t->view);
}

/* Python's slice of 0 to n - 1, walked as a program would: the first place, the step, the count. */
static int64_t walk(const ek_range *range, int64_t n, int64_t *first, int64_t *step)
{
    int64_t count = 0, i = range->start, stop = range->stop;
    *step = range->step == EK_NONE ? 1 : range->step;
    bool back = *step < 0;
    if (i == EK_NONE)
        i = back ? n - 1 : 0;
    else if (i < 0)
        i = i + n < 0 ? (back ? -1 : 0) : i + n;
    else if (i >= n)
        i = back ? n - 1 : n;
    if (stop == EK_NONE)
        stop = back ? -1 : n;
    else if (stop < 0)
        stop = stop + n < 0 ? (back ? -1 : 0) : stop + n;
    *first = i;
    while ((back ? i > stop : i < stop) && i >= 0 && i < n) {
        count++;
        if (*step > n || *step < -n)
            break;
        i += *step;
    }
    return count;
}

static int64_t some_place(int64_t n)
{
    static const int64_t far[] = {EK_NONE, INT64_MAX, INT64_MIN + 1};
    return draw(0, 3) == 0 ? far[draw(0, 2)] : draw(-n - 2, n + 2);
}

static ek_status try_slice(trial *t)
{
    int64_t shape[MODEL_NDIM];
    t->count = (int32_t)draw(0, t->model.ndim);
    t->status = EK_OK;
    for (int32_t d = 0; d < t->model.ndim; d++) {
        int64_t n = t->model.shape[d];
        ek_range *range = &t->ranges[d];
        *range = EK_WHOLE;
        if (d < t->count)
            *range = (ek_range){some_place(n), some_place(n), some_place(3)};
        if (range->step == 0)
            t->status = EK_INVALID_ARGUMENT;
        else
            shape[d] = walk(range, n, &t->start[d], &t->step[d]);
    }
    if (t->status == EK_OK) {
        model_shape(&t->wanted, t->model.ndim, shape);
        model_take(&t->wanted, &t->model, by_steps, t);
    }
    return ek_slice(&t->view.array, t->count, t->ranges, &t->view);
}

static ek_status try_index(trial *t)
{
    int64_t shape[MODEL_NDIM], at = 0;
    int32_t found, axis = some_axis(t->model.ndim, &found), n = 0;
    t->status = found < 0 ? EK_INVALID_ARGUMENT : EK_OK;
    if (found >= 0) {
        int64_t length = t->model.shape[found];
        bool wrong = length == 0 || draw(0, 9) == 0;
        at = draw(-length - wrong, length - !wrong);
        t->status = at < -length || at >= length ? EK_INVALID_ARGUMENT : EK_OK;
    }
    if (t->status == EK_OK) {
        /* A slice of one, without its axis. */
        static model one;
        int64_t length = t->model.shape[found];
        for (int32_t d = 0; d < t->model.ndim; d++) {
            t->start[d] = d == found ? (at + length) % length : 0;
            t->step[d] = 1;
            shape[d] = d == found ? 1 : t->model.shape[d];
        }
        model_shape(&one, t->model.ndim, shape);
        model_take(&one, &t->model, by_steps, t);
        for (int32_t d = 0; d < t->model.ndim; d++)
            if (d != found)
                shape[n++] = t->model.shape[d];
        model_shape(&t->wanted, n, shape);
        memcpy(t->wanted.at, one.at, sizeof one.at);
    }
    return ek_index(&t->view.array, axis, at, &t->view);
}

static ek_status try_flip(trial *t)
{
    int32_t found[MODEL_NDIM];
    bool all = draw(0, 3) == 0;
    t->count = all ? 0 : (int32_t)draw(0, t->model.ndim);
    t->status = some_axes(t->model.ndim, t->count, t->axes, found) ? EK_OK : EK_INVALID_ARGUMENT;
    for (int32_t d = 0; d < t->model.ndim; d++) {
        bool back = all;
        for (int32_t k = 0; k < t->count; k++)
            back |= found[k] == d;
        t->start[d] = back ? t->model.shape[d] - 1 : 0;
        t->step[d] = back ? -1 : 1;
    }
    model_shape(&t->wanted, t->model.ndim, t->model.shape);
    model_take(&t->wanted, &t->model, by_steps, t);
    return ek_flip(&t->view.array, t->count, all ? NULL : t->axes, &t->view);
}

/* One turn: element (i, j) of the view is (j, n - 1 - i), with n the length of the second axis. */
static void quarter(const void *args, const int64_t *index, int64_t *from)
{
    const trial *t = args;
    for (int32_t d = 0; d < t->model.ndim; d++)
        from[d] = index[d];
    from[t->order[0]] = index[t->order[1]];
    from[t->order[1]] = t->offset - 1 - index[t->order[0]];
}

static ek_status try_rot90(trial *t)
{
    static model turned;
    int32_t axis1 = some_axis(t->model.ndim, &t->order[0]);
    int32_t axis2 = some_axis(t->model.ndim, &t->order[1]), times = (int32_t)draw(-5, 5);
    bool right = t->order[0] >= 0 && t->order[1] >= 0 && t->order[0] != t->order[1];
    t->status = right ? EK_OK : EK_INVALID_ARGUMENT;
    t->wanted = t->model;
    for (int32_t k = 0; right && k < (times + 8) % 4; k++) {
        int64_t shape[MODEL_NDIM];
        turned = t->wanted;
        memcpy(shape, turned.shape, sizeof shape);
        t->offset = turned.shape[t->order[1]];
        shape[t->order[0]] = turned.shape[t->order[1]];
        shape[t->order[1]] = turned.shape[t->order[0]];
        model_shape(&t->wanted, turned.ndim, shape);
        model_take(&t->wanted, &turned, quarter, t);
    }
    return ek_rot90(&t->view.array, times, axis1, axis2, &t->view);
}

static void along_diagonal(const void *args, const int64_t *index, int64_t *from)
{
    const trial *t = args;
    int32_t n = 0;
    for (int32_t d = 0; d < t->model.ndim; d++)
        if (d != t->order[0] && d != t->order[1])
            from[d] = index[n++];
    from[t->order[0]] = index[n] + (t->offset < 0 ? -t->offset : 0);
    from[t->order[1]] = index[n] + (t->offset > 0 ? t->offset : 0);
}

static ek_status try_diagonal(trial *t)
{
    int64_t shape[MODEL_NDIM];
    int32_t axis1 = some_axis(t->model.ndim, &t->order[0]), n = 0;
    int32_t axis2 = some_axis(t->model.ndim, &t->order[1]);
    bool right = t->order[0] >= 0 && t->order[1] >= 0 && t->order[0] != t->order[1];
    t->offset = draw(0, 9) == 0 ? some_place(4) : draw(-6, 6);
    t->status = right ? EK_OK : EK_INVALID_ARGUMENT;
    if (right) {
        for (int32_t d = 0; d < t->model.ndim; d++)
            if (d != t->order[0] && d != t->order[1])
                shape[n++] = t->model.shape[d];
        shape[n] = 0;
        for (int64_t i = 0; i < t->model.shape[t->order[0]]; i++)
            for (int64_t j = 0; j < t->model.shape[t->order[1]]; j++)
                shape[n] += j - i == t->offset;
        model_shape(&t->wanted, n + 1, shape);
        model_take(&t->wanted, &t->model, along_diagonal, t);
    }
    return ek_diagonal(&t->view.array, t->offset, axis1, axis2, &t->view);
}

static void in_window(const void *args, const int64_t *index, int64_t *from)
{
    const trial *t = args;
    for (int32_t d = 0; d < t->model.ndim; d++)
        from[d] = index[d];
    for (int32_t k = 0; k < t->count; k++)
        from[t->order[k]] += index[t->model.ndim + k];
}

static ek_status try_window(trial *t)
{
    int64_t shape[MODEL_NDIM];
    int32_t ndim = t->model.ndim;
    memcpy(shape, t->model.shape, sizeof shape);
    t->count = (int32_t)draw(0, 2);
    t->status = EK_OK;
    if (ndim + t->count > MODEL_NDIM)
        return t->status = EK_STATUS_COUNT;
    for (int32_t k = 0; k < t->count; k++) {
        t->axes[k] = some_axis(ndim, &t->order[k]);
        t->lengths[k] = draw(-(draw(0, 9) == 0), 4);
        if (t->status != EK_OK)
            continue;
        if (t->order[k] < 0 || t->lengths[k] < 0)
            t->status = EK_INVALID_ARGUMENT;
        else if (t->lengths[k] > shape[t->order[k]])
            t->status = EK_SHAPE_MISMATCH;
        else
            shape[t->order[k]] += 1 - t->lengths[k];
        shape[ndim + k] = t->lengths[k];
    }
    if (t->status == EK_OK && !model_shape(&t->wanted, ndim + t->count, shape))
        return t->status = EK_STATUS_COUNT;
    if (t->status == EK_OK)
        model_take(&t->wanted, &t->model, in_window, t);
    return ek_sliding_window(&t->view.array, t->count, t->axes, t->lengths, &t->view);
}

/* The model is of the part that is kept; all parts are compared. */
static ek_status try_split(trial *t)
{
    static ek_view views[5];
    int64_t cuts[4];
    int32_t along, axis = some_axis(t->model.ndim, &along), count = (int32_t)draw(0, 5);
    bool even = draw(0, 1);
    t->status = along < 0 || count < 1 ? EK_INVALID_ARGUMENT : EK_OK;
    for (int32_t i = 0; i + 1 < count; i++)
        cuts[i] = draw(-4, 6);
    ek_status status = ek_split(&t->view.array, axis, count, even ? NULL : cuts, views);
    if (t->status != EK_OK || status != EK_OK)
        return status;
    int64_t n = t->model.shape[along], begins = 0;
    for (int32_t i = 0; i < count; i++) {
        int64_t shape[MODEL_NDIM];
        ek_range range = {i > 0 ? cuts[i - 1] : EK_NONE, i + 1 < count ? cuts[i] : EK_NONE, 1};
        int64_t length = (n + count - 1 - i) / count;
        if (even)
            range = (ek_range){begins, begins + length, 1};
        begins += length;
        for (int32_t d = 0; d < t->model.ndim; d++) {
            t->start[d] = 0;
            t->step[d] = 1;
            shape[d] = t->model.shape[d];
        }
        shape[along] = walk(&range, n, &t->start[along], &t->step[along]);
        model_shape(&t->wanted, t->model.ndim, shape);
        model_take(&t->wanted, &t->model, by_steps, t);
        if (!model_is(&t->wanted, &views[i].array))
            return EK_STATUS_COUNT;
    }
    return ek_view_make(&views[count - 1].array, &t->view);
}

static ek_status try_part(trial *t)
{
    bool complex = t->view.array.type.code == 5, imaginary = draw(0, 1);
    int64_t half = t->view.array.type.bits / 16;
    t->status = complex ? EK_OK : EK_DTYPE_MISMATCH;
    t->wanted = t->model;
    for (int64_t i = 0; i < t->wanted.size && imaginary; i++)
        t->wanted.at[i] += half;
    return imaginary ? ek_imag_part(&t->view.array, &t->view)
                     : ek_real_part(&t->view.array, &t->view);
}

/* To a dtype of as many bytes or half or twice as many. */
static ek_status try_bit_cast(trial *t)
{
    static const ek_dtype dtypes[] = {EK_U8, EK_I16, EK_F32, EK_U64, EK_C128};
    ek_dtype dtype = dtypes[draw(0, 4)];
    int64_t from = t->view.array.type.bits / 8, to = (int64_t)ek_dtype_size(dtype);
    int32_t last = t->model.ndim - 1;
    int64_t shape[MODEL_NDIM], parts = from > to ? from / to : 1, whole = to > from ? to / from : 1;
    memcpy(shape, t->model.shape, sizeof shape);
    t->wanted = t->model;
    t->status = EK_OK;
    if (from == to)
        return ek_bit_cast(&t->view.array, dtype, &t->view);
    if (last < 0 || t->model.size == 0) /* whether empty ones fit is a matter of lengths alone */
        return t->status = EK_STATUS_COUNT;
    int64_t n = shape[last];
    shape[last] = n * from / to;
    t->status = n % whole ? EK_SHAPE_MISMATCH : EK_OK;
    for (int64_t i = 0; i < t->model.size; i++) /* neighbours */
        if (i % n > 0 && t->model.at[i] != t->model.at[i - 1] + from)
            t->status = EK_SHAPE_MISMATCH;
    for (int64_t i = 0; i < t->model.size; i += n) /* rows a number of new elements apart */
        if ((t->model.at[i] - t->model.at[0]) % to)
            t->status = EK_SHAPE_MISMATCH;
    if (t->status == EK_OK) {
        if (!model_shape(&t->wanted, last + 1, shape))
            return t->status = EK_STATUS_COUNT;
        for (int64_t i = 0; i < t->wanted.size; i++)
            t->wanted.at[i] = t->model.at[i / parts * whole] + i % parts * to;
    }
    return ek_bit_cast(&t->view.array, dtype, &t->view);
}

static const struct {
    const char *name;
    ek_status (*call)(trial *t);
} calls[] = {
    {"permute", try_permute}, {"swapaxes", try_swapaxes}, {"moveaxis", try_moveaxis},
    {"reshape", try_reshape}, {"ravel", try_ravel},       {"broadcast_to", try_broadcast},
    {"expand", try_expand},   {"squeeze", try_squeeze},   {"atleast", try_atleast},
    {"slice", try_slice},     {"index", try_index},       {"flip", try_flip},
    {"rot90", try_rot90},     {"diagonal", try_diagonal}, {"sliding_window", try_window},
    {"split", try_split},     {"real or imag", try_part}, {"bit_cast", try_bit_cast},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

/* An array of up to four dimensions in C order. */
static void begin(trial *t)
{
    static const ek_dtype dtypes[] = {EK_I8, EK_F32, EK_C64, EK_C128};
    int64_t shape[4];
    int32_t ndim = (int32_t)draw(0, 4);
    for (int32_t d = 0; d < ndim; d++)
        shape[d] = draw(0, 9) ? draw(1, 5) : 0;
    ek_array x = ek_array_view(memory, dtypes[draw(0, 3)], NULL, ndim, shape);
    x.device.type = EK_DEVICE_CPU;
    x.byte_offset = (uint64_t)draw(0, 2) * 16;
    ck_assert_int_eq(ek_view_make(&x, &t->view), EK_OK);
    model_of(&t->view.array, &t->model);
}

/* Bounds and sharing, from the list of addresses. */
static void check_memory(const trial *t, const model *x, const ek_view *other)
{
    static char used[2][sizeof memory];
    const void *low, *high;
    bool common = false, shares, may;
    int64_t first[2] = {sizeof memory, sizeof memory}, end[2] = {0, 0};
    const model *both[] = {&t->model, x};
    const ek_view *views[] = {&t->view, other};
    memset(used, 0, sizeof used);
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; i < both[k]->size; i++) {
            int64_t at = both[k]->at[i] - memory, bytes = views[k]->array.type.bits / 8;
            memset(used[k] + at, 1, (size_t)bytes);
            first[k] = at < first[k] ? at : first[k];
            end[k] = at + bytes > end[k] ? at + bytes : end[k];
        }
    }
    for (size_t i = 0; i < sizeof memory; i++)
        common |= used[0][i] && used[1][i];
    ck_assert_int_eq(ek_byte_bounds(&t->view.array, &low, &high), EK_OK);
    if (t->model.size > 0)
        ck_assert(low == memory + first[0] && high == memory + end[0]);
    else
        ck_assert(low == high);
    ck_assert_int_eq(ek_shares_memory(&t->view.array, &other->array, &shares), EK_OK);
    ck_assert_int_eq(ek_may_share_memory(&t->view.array, &other->array, &may), EK_OK);
    ck_assert_msg(shares == common, "shares: %d, should be %d", shares, common);
    ck_assert_int_eq(may, first[0] < end[1] && first[1] < end[0]);
}

START_TEST(chains)
{
    static trial t;
    static model begun;
    static ek_view first;
    static int counts[CALLS][2];
    for (int chain = 0; chain < CHAINS; chain++) {
        seed = (uint64_t)_i * CHAINS + (uint64_t)chain;
        drawn = 0;
        begin(&t);
        begun = t.model;
        ck_assert_int_eq(ek_view_make(&t.view.array, &first), EK_OK);
        for (int link = 0; link < LINKS; link++) {
            int which = (int)draw(0, CALLS - 1);
            static ek_view had;
            had = t.view;
            ek_status status = calls[which].call(&t);
            if (t.status == EK_STATUS_COUNT) /* too much for the model: not called */
                continue;
            if (status != t.status)
                ck_abort_msg("seed %d, link %d: %s is %s, should be %s: %s", (int)seed, link,
                             calls[which].name, ek_status_name(status), ek_status_name(t.status),
                             ek_error_message());
            counts[which][status == EK_OK]++;
            if (status != EK_OK) {
                if (memcmp(&had, &t.view, sizeof had) != 0)
                    ck_abort_msg("seed %d, link %d: %s changed the view although refused",
                                 (int)seed, link, calls[which].name);
                continue;
            }
            if (!model_is(&t.wanted, &t.view.array))
                ck_abort_msg("seed %d, link %d: %s is another view", (int)seed, link,
                             calls[which].name);
            t.model = t.wanted;
        }
        if (chain % 16 == 0)
            check_memory(&t, &begun, &first);
    }
    for (int i = 0; i < CALLS; i++)
        ck_assert_msg(counts[i][0] > 20 && counts[i][1] > 100, "%s: %d refused, %d not",
                      calls[i].name, counts[i][0], counts[i][1]);
}
END_TEST

/* An array of 20 numbers as 4 rows of 5. */
static ek_array matrix(void)
{
    static int64_t shape[] = {4, 5};
    static double numbers[20];
    ek_array x = ek_array_view(numbers, EK_F64, NULL, 2, shape);
    for (int i = 0; i < 20; i++)
        numbers[i] = i;
    x.device.type = EK_DEVICE_CPU;
    return x;
}

static double number(const ek_view *view, int64_t i, int64_t j)
{
    const double *first = ek_array_data(&view->array);
    return first[i * view->strides[0] + j * view->strides[1]];
}

/* O034: rows reversed, then elements through that view. */
START_TEST(reversed_rows_o034)
{
    ek_array x = matrix();
    ek_view rows;
    ck_assert_int_eq(ek_slice(&x, 1, &(ek_range){EK_NONE, EK_NONE, -1}, &rows), EK_OK);
    ck_assert(number(&rows, 1, 0) == 10 && number(&rows, 2, 1) == 6);
}
END_TEST

/* O031: a view of one element, turned around, is still in order whatever its stride. */
START_TEST(one_reversed_o031)
{
    ek_array x = matrix();
    ek_view one;
    int64_t shape[] = {5, 1};
    ck_assert_int_eq(ek_slice(&x, 1, &(ek_range){3, 2, -1}, &one), EK_OK);
    ck_assert_int_eq(one.shape[0], 1);
    ck_assert_int_eq(ek_flip(&one.array, 1, &(int32_t){0}, &one), EK_OK);
    ck_assert_int_eq(ek_ravel(&one.array, &one), EK_OK);
    ck_assert_int_eq(ek_reshape(&one.array, 2, shape, &one), EK_OK);
    ck_assert(number(&one, 4, 0) == 19);
}
END_TEST

/* O039: lengths of 1 and 0 broadcast to 0. O045: an axis of what has none. */
START_TEST(lengths_of_none_o039_o045)
{
    int64_t one[] = {1}, none[] = {0}, row[] = {1, 5}, empty[] = {0, 5}, three[] = {3};
    ek_array x = matrix(), y = x;
    ek_view view, both[2];
    const ek_array *arrays[] = {&x, &y};
    x.ndim = y.ndim = 1;
    x.shape = one;
    y.shape = none;
    ck_assert_int_eq(ek_broadcast_arrays(2, arrays, both), EK_OK);
    ck_assert(both[0].array.ndim == 1 && both[0].shape[0] == 0 && both[1].shape[0] == 0);
    y.shape = three;
    x.shape = none;
    ck_assert_int_eq(ek_broadcast_arrays(2, arrays, both), EK_SHAPE_MISMATCH);
    ck_assert_int_eq(ek_broadcast_to(&x, 1, three, &view), EK_SHAPE_MISMATCH);
    x.ndim = 2;
    x.shape = row;
    ck_assert_int_eq(ek_broadcast_to(&x, 2, empty, &view), EK_OK);
    x.ndim = 0;
    ck_assert_int_eq(ek_index(&x, -1, 0, &view), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_flip(&x, 0, NULL, &view), EK_OK);
    ck_assert_int_eq(view.array.ndim, 0);
}
END_TEST

/* O039 again: views of one shape, each with strides of its own. */
START_TEST(several_broadcast)
{
    int64_t column[] = {4, 1};
    ek_array x = matrix(), y = matrix();
    ek_view views[2];
    const ek_array *arrays[] = {&x, &y};
    y.shape = column;
    ck_assert_int_eq(ek_broadcast_arrays(2, arrays, views), EK_OK);
    for (int64_t i = 0; i < 4; i++)
        for (int64_t j = 0; j < 5; j++)
            ck_assert(number(&views[0], i, j) == 5 * i + j && number(&views[1], i, j) == i);
}
END_TEST

static void refused(ek_status status, ek_status wanted, const char *words)
{
    ck_assert_int_eq(status, wanted);
    ck_assert_msg(strstr(ek_error_message(), words), "%s", ek_error_message());
}

START_TEST(messages)
{
    ek_array x = matrix();
    ek_view v;
    int64_t shape[] = {20}, wrong[] = {3, 7}, open[] = {-1, -1}, low[] = {-2, 5};
    int64_t huge[] = {INT64_MAX, 4, 5}, deep[EK_MAX_NDIM + 1] = {0}, length[] = {6};
    int32_t axes[] = {1, 1}, axis[] = {0};
    bool shares;
    const void *bound;
    refused(ek_permute(&x, NULL, NULL), EK_INVALID_ARGUMENT, "ek_permute: view is null");
    refused(ek_permute(NULL, NULL, &v), EK_INVALID_ARGUMENT, "ek_permute: x is null");
    refused(ek_permute(&x, axes, &v), EK_INVALID_ARGUMENT, "axes names axis 1 twice");
    refused(ek_swapaxes(&x, 0, 2, &v), EK_INVALID_ARGUMENT, "axis is 2: there are 2 dimensions");
    refused(ek_moveaxis(&x, 1, axis, NULL, &v), EK_INVALID_ARGUMENT, "to is null");
    refused(ek_reshape(&x, 2, wrong, &v), EK_SHAPE_MISMATCH, "(3, 7): x has 20 elements");
    refused(ek_reshape(&x, 2, open, &v), EK_INVALID_ARGUMENT, "only one length may be -1");
    refused(ek_reshape(&x, 2, low, &v), EK_INVALID_ARGUMENT, "(-2, 5): must not be negative");
    refused(ek_reshape(&x, EK_MAX_NDIM + 1, deep, &v), EK_INVALID_ARGUMENT, "33 dimensions");
    refused(ek_reshape(&x, 1, NULL, &v), EK_INVALID_ARGUMENT, "shape is null");
    refused(ek_broadcast_to(&x, 3, huge, &v), EK_INVALID_ARGUMENT, "negative or too large");
    refused(ek_broadcast_to(&x, 1, shape, &v), EK_SHAPE_MISMATCH, "does not broadcast to (20,)");
    refused(ek_broadcast_arrays(-1, NULL, &v), EK_INVALID_ARGUMENT, "count is -1");
    refused(ek_expand_dims(&x, -1, axis, &v), EK_INVALID_ARGUMENT, "count is -1");
    refused(ek_expand_dims(&x, 31, axis, &v), EK_INVALID_ARGUMENT, "33 dimensions");
    refused(ek_squeeze(&x, 1, axis, &v), EK_SHAPE_MISMATCH, "axis 0 of shape (4, 5)");
    refused(ek_atleast(&x, 4, &v), EK_INVALID_ARGUMENT, "ndim is 4: must be 1 to 3");
    refused(ek_slice(&x, 3, NULL, &v), EK_INVALID_ARGUMENT, "count is 3: x has 2 dimensions");
    refused(ek_slice(&x, 1, NULL, &v), EK_INVALID_ARGUMENT, "ranges is null");
    refused(ek_slice(&x, 1, &(ek_range){0, 1, 0}, &v), EK_INVALID_ARGUMENT, "step of axis 0 is 0");
    refused(ek_index(&x, 1, 5, &v), EK_INVALID_ARGUMENT, "index is 5: axis 1 has a length of 5");
    refused(ek_rot90(&x, 1, 0, 0, &v), EK_INVALID_ARGUMENT, "both axis 0");
    refused(ek_diagonal(&x, 0, 1, -1, &v), EK_INVALID_ARGUMENT, "both axis 1");
    refused(ek_sliding_window(&x, 1, axis, length, &v), EK_SHAPE_MISMATCH, "a length of 6: axis 0");
    refused(ek_sliding_window(&x, 1, axis, NULL, &v), EK_INVALID_ARGUMENT, "lengths null");
    refused(ek_split(&x, 0, 0, NULL, &v), EK_INVALID_ARGUMENT, "count is 0");
    refused(ek_real_part(&x, &v), EK_DTYPE_MISMATCH, "x is f64: must be c64 or c128");
    refused(ek_byte_bounds(&x, NULL, &bound), EK_INVALID_ARGUMENT, "low is null");
    refused(ek_shares_memory(&x, NULL, &shares), EK_INVALID_ARGUMENT, "y is null");
    refused(ek_may_share_memory(&x, &x, NULL), EK_INVALID_ARGUMENT, "shares is null");
    ck_assert_int_eq(ek_permute(&x, NULL, &v), EK_OK);
    refused(ek_ravel(&v.array, &v), EK_UNSUPPORTED,
            "ek_ravel: x with shape (5, 4) and strides (1, 5) is no view of shape (20,)");
}
END_TEST

static Suite *views_suite(void)
{
    Suite *suite = suite_create("views");
    TCase *all = tcase_create("views");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, chains, 0, 4);
    tcase_add_test(all, reversed_rows_o034);
    tcase_add_test(all, one_reversed_o031);
    tcase_add_test(all, lengths_of_none_o039_o045);
    tcase_add_test(all, several_broadcast);
    tcase_add_test(all, messages);
    suite_add_tcase(suite, all);
    return suite;
}

int main(void)
{
    ek_counts counts = {0, 0, 0};
    ek_run_suite(views_suite(), &counts);
    return ek_end(&counts);
}
