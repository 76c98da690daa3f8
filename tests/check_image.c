/* Pools, scaled images and their gradients: the bits of a plain reference in every place, layout
 * and dtype; gradients against differences of the function; what is refused. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "einkorn/ops/avg_pool2d.h"
#include "einkorn/ops/avg_pool2d_bwd.h"
#include "einkorn/ops/max_pool2d.h"
#include "einkorn/ops/max_pool2d_bwd.h"
#include "einkorn/ops/min_pool2d.h"
#include "einkorn/ops/upscale2d_bilinear.h"
#include "einkorn/ops/upscale2d_bilinear_bwd.h"
#include "einkorn/ops/upscale2d_nearest.h"
#include "einkorn/ops/upscale2d_nearest_bwd.h"
#include "format.h"
#include "place.h"
#include "reference_image.h"
#include "values.h"

static const ek_op_info *const ops[] = {
    &ek_op_avg_pool2d.info,
    &ek_op_avg_pool2d_bwd.info,
    &ek_op_max_pool2d.info,
    &ek_op_max_pool2d_bwd.info,
    &ek_op_min_pool2d.info,
    &ek_op_upscale2d_bilinear.info,
    &ek_op_upscale2d_bilinear_bwd.info,
    &ek_op_upscale2d_nearest.info,
    &ek_op_upscale2d_nearest_bwd.info,
};

enum { OPS = sizeof ops / sizeof ops[0], OPERANDS = 4, PLANES = 6 };

/* A size of the image, and how windows lie over it or what size it is scaled to. */
static const struct {
    int64_t image[2], kernel[2], stride[2], padding[2], dilation, scaled[2];
} settings[] = {
    {{6, 7}, {2, 2}, {2, 2}, {0, 0}, 1, {12, 14}},   {{9, 8}, {3, 3}, {1, 1}, {1, 1}, 1, {27, 8}},
    {{1, 40}, {1, 5}, {1, 2}, {0, 2}, 1, {1, 93}},   {{13, 5}, {3, 2}, {4, 1}, {2, 1}, 2, {5, 9}},
    {{4, 4}, {4, 4}, {1, 1}, {0, 0}, 1, {1, 1}},     {{3, 2}, {1, 2}, {1, 5}, {3, 3}, 3, {40, 2}},
    {{2, 530}, {2, 3}, {1, 1}, {0, 1}, 1, {1, 541}}, {{5, 1}, {2, 1}, {3, 1}, {1, 0}, 1, {2, 6}},
};

enum { SETTINGS = sizeof settings / sizeof settings[0] };

static void must(ek_status status)
{
    ck_assert_msg(status == EK_OK, "%s", ek_error_message());
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes + 1);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

/* One call: its operands in host memory, the output first, all planes one after the other. */
typedef struct call {
    const ek_op_info *op;
    ek_dtype dtype;
    ek_reference_window window;
    ek_param params[EK_MAX_PARAMS];
    int64_t size[OPERANDS][2]; /* rows and columns */
    char *data[OPERANDS];
    char *wanted;
} call;

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_scaled(const ek_op_info *op)
{
    return starts(op->name, "upscale");
}

static const char *name_of(const ek_op_info *op, int32_t k)
{
    return k == 0 ? op->output_names[0] : op->input_names[k - 1];
}

static int64_t area(const call *c, int32_t k)
{
    return c->size[k][0] * c->size[k][1];
}

static void set_params(call *c)
{
    const ek_reference_window *w = &c->window;
    const int64_t pool[] = {w->kernel[0],  w->kernel[1],  w->stride[0], w->stride[1],
                            w->padding[0], w->padding[1], w->dilation,  w->every};
    const int64_t *scaled = strstr(c->op->name, "_bwd") ? w->image : w->result;
    for (int32_t i = 0; i < c->op->param_count; i++)
        c->params[i] = (ek_param){.name = c->op->params[i].name,
                                  .integer = is_scaled(c->op) ? scaled[i] : pool[i]};
}

static void set_window(call *c, int setting, bool every)
{
    ek_reference_window *w = &c->window;
    memset(w, 0, sizeof *w);
    for (int a = 0; a < 2; a++) {
        w->image[a] = settings[setting].image[a];
        w->kernel[a] = settings[setting].kernel[a];
        w->stride[a] = settings[setting].stride[a];
        w->padding[a] = settings[setting].padding[a];
        w->dilation = settings[setting].dilation;
        int64_t reach = (w->kernel[a] - 1) * w->dilation + 1;
        w->result[a] = is_scaled(c->op)
                           ? settings[setting].scaled[a]
                           : (w->image[a] + 2 * w->padding[a] - reach) / w->stride[a] + 1;
    }
    w->every = every;
    for (int32_t k = 0; k <= c->op->inputs; k++) {
        bool image = strcmp(name_of(c->op, k), "x") == 0 || strcmp(name_of(c->op, k), "dx") == 0;
        memcpy(c->size[k], image ? w->image : w->result, sizeof w->image);
    }
    set_params(c);
}

/* Few different values, so that some are equal; or any bits. */
static void fill(const call *c, int32_t k, uint64_t seed, bool any)
{
    int64_t n = PLANES * area(c, k);
    size_t size = ek_dtype_size(c->dtype);
    if (any)
        ek_random_values(c->dtype, seed, n, c->data[k]);
    for (int64_t i = 0; i < n && !any; i++)
        ek_element_round(c->dtype, (double)(ek_random(seed, (uint64_t)i) % 9) * 0.375 - 1.5,
                         c->data[k] + (size_t)i * size);
}

static double *numbers(const call *c, int32_t k, int64_t plane)
{
    size_t size = ek_dtype_size(c->dtype);
    double *made = allocate((size_t)area(c, k) * sizeof *made);
    for (int64_t i = 0; i < area(c, k); i++)
        made[i] = ek_element_value(c->dtype, c->data[k] + (size_t)(plane * area(c, k) + i) * size);
    return made;
}

/* The output that the reference wants for the inputs, by an operation of that name. */
static void compute_wanted(const call *c, const char *name, const int32_t *inputs, int32_t to,
                           char *wanted)
{
    size_t size = ek_dtype_size(c->dtype);
    double *out = allocate((size_t)area(c, to) * sizeof *out);
    for (int64_t plane = 0; plane < PLANES; plane++) {
        double *in[OPERANDS];
        for (int32_t i = 0; i < 3; i++)
            in[i] = inputs[i] > 0 ? numbers(c, inputs[i], plane) : NULL;
        ck_assert(ek_reference_image(name, &c->window, c->dtype != EK_F64,
                                     (const double *const *)in, out));
        for (int64_t i = 0; i < area(c, to); i++)
            ek_element_round(c->dtype, out[i], wanted + (size_t)(plane * area(c, to) + i) * size);
        for (int32_t i = 0; i < 3; i++)
            free(in[i]);
    }
    free(out);
}

static void open_call(call *c, const ek_op_info *op, ek_dtype dtype, int setting, int round)
{
    c->op = op;
    c->dtype = dtype;
    set_window(c, setting, round % 2);
    for (int32_t k = 0; k <= op->inputs; k++)
        c->data[k] = allocate((size_t)(PLANES * area(c, k)) * ek_dtype_size(dtype));
    for (int32_t k = 1; k <= op->inputs; k++)
        fill(c, k, (uint64_t)(10 * setting + k), round == 2);
    if (op == &ek_op_max_pool2d_bwd.info) /* whose y is that of the function */
        compute_wanted(c, setting % 2 ? "min_pool2d" : "max_pool2d", (int32_t[]){1, 0, 0}, 2,
                       c->data[2]);
    c->wanted = allocate((size_t)(PLANES * area(c, 0)) * ek_dtype_size(dtype));
    int32_t inputs[3] = {1, 2, 3};
    for (int32_t i = op->inputs; i < 3; i++)
        inputs[i] = 0;
    compute_wanted(c, op->name, inputs, 0, c->wanted);
}

static void close_call(call *c)
{
    for (int32_t k = 0; k <= c->op->inputs; k++)
        free(c->data[k]);
    free(c->wanted);
}

/* ---- layouts */

enum { IN_ORDER, TURNED, GAPS, BACKWARDS, LAYOUTS };

/* Steps of an operand of shape (2, 3, rows, columns), elements of memory and where the first is. */
static int64_t lay_out(const int64_t *size, int layout, int64_t *shape, int64_t *stride,
                       int64_t *first)
{
    const int64_t lengths[] = {2, PLANES / 2, size[0], size[1]};
    int64_t step = layout == GAPS ? 2 : 1, reach = 0;
    for (int i = 0; i < 4; i++) {
        int d = layout == TURNED ? i : 3 - i;
        shape[d] = lengths[d];
        stride[d] = step;
        step *= lengths[d] + (layout == GAPS);
        reach += (lengths[d] - 1) * stride[d];
    }
    *first = layout == BACKWARDS ? reach : 0;
    for (int d = 0; d < 4 && layout == BACKWARDS; d++)
        stride[d] = -stride[d];
    return reach + 1;
}

/* Moves elements between C order and a layout. */
static void move(const int64_t *shape, const int64_t *stride, size_t size, char *packed,
                 char *first, bool pack)
{
    int64_t at = 0;
    for (int64_t a = 0; a < shape[0]; a++)
        for (int64_t b = 0; b < shape[1]; b++)
            for (int64_t c = 0; c < shape[2]; c++)
                for (int64_t d = 0; d < shape[3]; d++, at++) {
                    int64_t to = a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3];
                    char *there = first + to * (int64_t)size, *here = packed + at * (int64_t)size;
                    memcpy(pack ? here : there, pack ? there : here, size);
                }
}

/* Makes the call in a layout; the output is compared, and what lies between its elements. */
static void check_layout(const call *c, const ek_place *place, int layout)
{
    size_t size = ek_dtype_size(c->dtype), at[OPERANDS], bytes = 0;
    int64_t shape[OPERANDS][4], stride[OPERANDS][4], first[OPERANDS], count[OPERANDS];
    ek_array arrays[OPERANDS];
    const ek_array *in[OPERANDS];
    for (int32_t k = 0; k <= c->op->inputs; k++) {
        count[k] = lay_out(c->size[k], layout ? (layout + k - 1) % (LAYOUTS - 1) + 1 : 0, shape[k],
                           stride[k], &first[k]);
        at[k] = bytes;
        bytes += ((size_t)count[k] * size + 63) / 64 * 64;
    }
    char *host = allocate(bytes), *memory = ek_place_memory(place, bytes);
    memset(host, 0x5a, bytes);
    for (int32_t k = 0; k <= c->op->inputs; k++) {
        char *begin = host + at[k] + (size_t)first[k] * size;
        if (k > 0)
            move(shape[k], stride[k], size, c->data[k], begin, false);
        arrays[k] = ek_array_view(memory + at[k] + (size_t)first[k] * size, c->dtype,
                                  ek_queue_device(place->queue), 4, shape[k]);
        arrays[k].strides = stride[k];
        in[k] = &arrays[k];
    }
    ek_upload(place, memory, host, bytes);
    must(ek_apply(place->queue, c->op, in + 1, c->op->param_count, c->params,
                  (ek_array *[]){&arrays[0]}));
    ek_download(place, host, memory, bytes);
    char *got = allocate((size_t)(PLANES * area(c, 0)) * size);
    move(shape[0], stride[0], size, got, host + (size_t)first[0] * size, true);
    int64_t wrong = ek_first_difference(c->dtype, PLANES * area(c, 0), got, c->wanted);
    char text[96], other[96];
    if (wrong >= 0)
        ck_abort_msg("%s %s, image %d x %d, kernel %d x %d, %s, layout %d: element %d is %s: "
                     "should be %s",
                     c->op->name, ek_dtype_name(c->dtype), (int)c->window.image[0],
                     (int)c->window.image[1], (int)c->window.kernel[0], (int)c->window.kernel[1],
                     place->name, layout, (int)wrong,
                     ek_element_text(c->dtype, got + (size_t)wrong * size, text),
                     ek_element_text(c->dtype, c->wanted + (size_t)wrong * size, other));
    int64_t poisoned = 0;
    for (size_t i = 0; i < (size_t)count[0] * size; i++)
        poisoned += host[i] == 0x5a;
    if (poisoned < (count[0] - PLANES * area(c, 0)) * (int64_t)size)
        ck_abort_msg("%s: writes between the elements of its output", c->op->name);
    free(got);
    free(host);
}

START_TEST(test_reference)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    const ek_op_info *op = ops[_i % OPS];
    for (int i = 0; i < 3 * SETTINGS * op->loop_count; i++) {
        call c;
        open_call(&c, op, (ek_dtype)op->loops[i / SETTINGS / 3].dtype, i % SETTINGS,
                  i / SETTINGS % 3);
        for (int place = 0; place < count; place++)
            for (int layout = 0; layout < LAYOUTS; layout++)
                check_layout(&c, &places[place], layout);
        close_call(&c);
    }
}
END_TEST

/* ---- gradients */

/* What the function gives for x, in float64 on the CPU. */
static void forward(const call *c, const ek_op_info *op, const double *x, double *y)
{
    const ek_place *places;
    ek_places(&places);
    int64_t shape[2][3] = {{PLANES, c->window.image[0], c->window.image[1]},
                           {PLANES, c->window.result[0], c->window.result[1]}};
    const ek_device *device = ek_queue_device(places[0].queue);
    ek_array in = ek_array_view((void *)x, EK_F64, device, 3, shape[0]);
    ek_array out = ek_array_view(y, EK_F64, device, 3, shape[1]);
    ek_param params[EK_MAX_PARAMS];
    for (int32_t i = 0; i < op->param_count; i++) {
        params[i] = c->params[i];
        params[i].name = op->params[i].name;
        if (is_scaled(op))
            params[i].integer = c->window.result[i];
    }
    must(ek_apply(places[0].queue, op, (const ek_array *[]){&in}, op->param_count, params,
                  (ek_array *[]){&out}));
}

/* Against central differences of sum(dy * y), which for these functions are exact but for rounding
 * where no two elements of a window are near each other. */
static void check_gradient(const ek_op_info *backward, const ek_op_info *op, int setting)
{
    const ek_place *places;
    ek_places(&places);
    call c = {.op = backward, .dtype = EK_F64};
    const double step = 0x1p-12;
    set_window(&c, setting, false);
    int64_t n = PLANES * c.window.image[0] * c.window.image[1];
    int64_t windows = PLANES * c.window.result[0] * c.window.result[1];
    double *x = allocate((size_t)n * sizeof *x), *dx = allocate((size_t)n * sizeof *dx);
    double *y = allocate((size_t)windows * sizeof *y), *dy = allocate((size_t)windows * sizeof *y);
    double *up = allocate((size_t)windows * sizeof *y),
           *down = allocate((size_t)windows * sizeof *y);
    for (int64_t i = 0; i < n; i++) /* no two equal */
        x[i] = (double)((i * 7919 + 13) % n) * 0x1p-6;
    ek_ordinary_values(EK_F64, 5, windows, dy);
    forward(&c, op, x, y);
    int64_t shape[2][3] = {{PLANES, c.window.image[0], c.window.image[1]},
                           {PLANES, c.window.result[0], c.window.result[1]}};
    const ek_device *device = ek_queue_device(places[0].queue);
    ek_array array_x = ek_array_view(x, EK_F64, device, 3, shape[0]);
    ek_array array_y = ek_array_view(y, EK_F64, device, 3, shape[1]);
    ek_array array_dy = ek_array_view(dy, EK_F64, device, 3, shape[1]);
    ek_array out = ek_array_view(dx, EK_F64, device, 3, shape[0]);
    const ek_array *all[] = {&array_x, &array_y, &array_dy}, *one[] = {&array_dy};
    must(ek_apply(places[0].queue, backward, backward->inputs == 3 ? all : one,
                  backward->param_count, c.params, (ek_array *[]){&out}));
    for (int64_t i = 0; i < n; i += n / 40 + 1) {
        double was = x[i], wanted = 0, size = 1;
        x[i] = was + step;
        forward(&c, op, x, up);
        x[i] = was - step;
        forward(&c, op, x, down);
        x[i] = was;
        for (int64_t k = 0; k < windows; k++) {
            if (up[k] == down[k])
                continue;
            wanted += dy[k] * (up[k] - down[k]) / (2 * step);
            size += fabs(dy[k]);
        }
        if (!(fabs(wanted - dx[i]) <= 1e-7 * size))
            ck_abort_msg("%s, setting %d: element %d is %.17g: differences give %.17g",
                         backward->name, setting, (int)i, dx[i], wanted);
    }
    free(x), free(dx), free(y), free(dy), free(up), free(down);
}

START_TEST(test_gradients)
{
    for (int k = 0; k < SETTINGS; k++) {
        check_gradient(&ek_op_avg_pool2d_bwd.info, &ek_op_avg_pool2d.info, k);
        check_gradient(&ek_op_max_pool2d_bwd.info, &ek_op_max_pool2d.info, k);
        check_gradient(&ek_op_max_pool2d_bwd.info, &ek_op_min_pool2d.info, k);
        check_gradient(&ek_op_upscale2d_nearest_bwd.info, &ek_op_upscale2d_nearest.info, k);
        check_gradient(&ek_op_upscale2d_bilinear_bwd.info, &ek_op_upscale2d_bilinear.info, k);
    }
}
END_TEST

/* ---- by hand */

/* A typed call of max_pool2d and its gradient for one row, with windows of two. */
static void pool_pair(const ek_place *place, float a, float b, float *y, float *dx)
{
    float host[6] = {a, b, 0, 5, -1, -1};
    float *m = ek_place_memory(place, sizeof host);
    ek_upload(place, m, host, sizeof host);
    must(ek_max_pool2d_f32(place->queue, 1, 1, 2, m, 1, 2, 1, 2, 0, 0, 1, m + 2));
    must(ek_max_pool2d_bwd_f32(place->queue, 1, 1, 2, m, m + 2, m + 3, 1, 2, 1, 2, 0, 0, 1, false,
                               m + 4));
    ek_download(place, host, m, sizeof host);
    *y = host[2];
    dx[0] = host[4];
    dx[1] = host[5];
}

/* O092: padding is not 0. O097: windows of NaN and -infinity give their gradient to an element. */
START_TEST(test_special)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int i = 0; i < count; i++) {
        const ek_place *place = &places[i];
        float y, dx[2], host[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
        float *m = ek_place_memory(place, sizeof host);
        ek_upload(place, m, host, sizeof host);
        must(ek_max_pool2d_f32(place->queue, 1, 2, 2, m, 2, 2, 2, 2, 1, 1, 1, m + 4));
        ek_download(place, host, m, sizeof host);
        for (int k = 4; k < 8; k++)
            ck_assert(host[k] == -1);
        pool_pair(place, -INFINITY, -INFINITY, &y, dx);
        ck_assert(y == -INFINITY && dx[0] == 5 && dx[1] == 0);
        pool_pair(place, NAN, 1, &y, dx);
        ck_assert(isnan(y) && dx[0] == 5 && dx[1] == 0);
        pool_pair(place, 1, NAN, &y, dx);
        ck_assert(isnan(y) && dx[0] == 0 && dx[1] == 5);
        pool_pair(place, 2, 2, &y, dx);
        ck_assert(y == 2 && dx[0] == 5 && dx[1] == 0);
    }
}
END_TEST

#define REFUSED(call, wanted, word)                                                                \
    do {                                                                                           \
        ek_status refused = (call);                                                                \
        ck_assert_msg(refused == (wanted), "%s gives %s", #call, ek_status_name(refused));         \
        ck_assert_msg(strstr(ek_error_message(), word) != NULL, "%s: no '%s' in: %s", #call, word, \
                      ek_error_message());                                                         \
    } while (0)

START_TEST(test_refusals)
{
    const ek_place *places;
    ek_tested_places(&places);
    ek_queue *q = places[0].queue;
    const ek_device *device = ek_queue_device(q);
    float *m = ek_place_memory(&places[0], 4096);
    float host[1024], after[1024];
    for (int i = 0; i < 1024; i++)
        host[i] = (float)i;
    ek_upload(&places[0], m, host, sizeof host);
    REFUSED(ek_max_pool2d_f32(q, 1, 2, 9, m, 3, 3, 1, 1, 0, 0, 1, m + 99), EK_SHAPE_MISMATCH,
            "reaches over 3 rows");
    REFUSED(ek_max_pool2d_f32(q, 1, 9, 4, m, 3, 3, 1, 1, 0, 0, 2, m + 99), EK_SHAPE_MISMATCH,
            "reaches over 5 columns");
    REFUSED(ek_max_pool2d_f32(q, 1, 9, 9, m, 0, 3, 1, 1, 0, 0, 1, m + 99), EK_INVALID_ARGUMENT,
            "kernel_y is 0");
    REFUSED(ek_max_pool2d_f32(q, 1, 9, 9, m, 3, 3, 1, 0, 0, 0, 1, m + 99), EK_INVALID_ARGUMENT,
            "stride_x is 0");
    REFUSED(ek_max_pool2d_f32(q, 1, 9, 9, m, 3, 3, 1, 1, -1, 0, 1, m + 99), EK_INVALID_ARGUMENT,
            "padding_y is -1");
    REFUSED(ek_max_pool2d_f32(q, 1, 9, 9, m, 3, 3, 1, 1, 0, 0, INT64_MAX, m + 99),
            EK_INVALID_ARGUMENT, "further than memory");
    REFUSED(ek_max_pool2d_f32(q, -1, 9, 9, m, 3, 3, 1, 1, 0, 0, 1, m + 99), EK_INVALID_ARGUMENT,
            "planes is -1");
    REFUSED(ek_max_pool2d_f32(q, INT64_MAX / 64, 9, 9, m, 3, 3, 1, 1, 0, 0, 1, m + 99),
            EK_INVALID_ARGUMENT, "too large");
    REFUSED(ek_max_pool2d_f32(q, 1, 9, 9, m, 3, 3, 1, 1, 0, 0, 1, m + 80), EK_OVERLAP,
            "overlaps x");
    REFUSED(ek_max_pool2d_f32(q, 1, 9, 9, NULL, 3, 3, 1, 1, 0, 0, 1, m), EK_INVALID_ARGUMENT,
            "x is null");
    REFUSED(ek_upscale2d_nearest_f32(q, 1, 0, 4, m, 2, 8, m + 99), EK_SHAPE_MISMATCH, "empty");
    int64_t shape[] = {2, 8, 8}, small[] = {2, 4, 4}, other[] = {2, 4, 5}, flat[] = {64};
    ek_array x = ek_array_view(m, EK_F32, device, 3, shape);
    ek_array out = ek_array_view(m + 200, EK_F32, device, 3, other);
    REFUSED(ek_max_pool2d(q, &x, 2, 2, 2, 2, 0, 0, 1, &out), EK_SHAPE_MISMATCH,
            "out has shape (2, 4, 5): must be (2, 4, 4)");
    out.shape = small;
    ek_array line = ek_array_view(m, EK_F32, device, 1, flat);
    REFUSED(ek_max_pool2d(q, &line, 2, 2, 2, 2, 0, 0, 1, &out), EK_SHAPE_MISMATCH,
            "2 dimensions or more");
    REFUSED(ek_upscale2d_nearest(q, &out, 8, 9, &x), EK_SHAPE_MISMATCH, "to_width is 9");
    out.data = m + 127;
    REFUSED(ek_max_pool2d(q, &x, 2, 2, 2, 2, 0, 0, 1, &out), EK_OVERLAP, "overlaps x");
    ek_array half = ek_array_view(m + 200, EK_F16, device, 3, small);
    REFUSED(ek_max_pool2d(q, &x, 2, 2, 2, 2, 0, 0, 1, &half), EK_DTYPE_MISMATCH, "out is f16");
    ek_download(&places[0], after, m, sizeof host);
    ck_assert_mem_eq(host, after, sizeof host);
    must(ek_max_pool2d_f32(q, 0, 9, 9, NULL, 3, 3, 1, 1, 0, 0, 1, NULL));
}
END_TEST

static Suite *image_suite(void)
{
    Suite *suite = suite_create("image");
    TCase *tests = tcase_create("image");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, test_reference, 0, OPS);
    tcase_add_test(tests, test_gradients);
    tcase_add_test(tests, test_special);
    tcase_add_test(tests, test_refusals);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return ek_run_at_places(image_suite, OPS + 3);
}
