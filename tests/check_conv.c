/* Convolutions, transposed ones and the gradients: the bits of a plain reference in every place,
 * layout and dtype, exact sums where a library computes, differences of the function, refusals. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "einkorn/ops/conv2d.h"
#include "einkorn/ops/conv2d_bwd_filters.h"
#include "einkorn/ops/conv2d_bwd_filters_exact.h"
#include "einkorn/ops/conv2d_exact.h"
#include "einkorn/ops/convtrans2d.h"
#include "einkorn/ops/convtrans2d_exact.h"
#include "format.h"
#include "place.h"
#include "reference_conv.h"
#include "values.h"

static const ek_op_info *const ops[] = {
    &ek_op_conv2d_exact.info, &ek_op_convtrans2d_exact.info, &ek_op_conv2d_bwd_filters_exact.info,
    &ek_op_conv2d.info,       &ek_op_convtrans2d.info,       &ek_op_conv2d_bwd_filters.info,
};

enum { OPS = sizeof ops / sizeof ops[0], EXACT = 3 };

/* batch, channels, height, width, filters, kernel, stride, padding, dilation, groups */
static const ek_conv_shape shapes[] = {
    {2, 3, 6, 7, 4, 3, 3, 1, 1, 1, 1, 1, 1},   {3, 4, 9, 8, 6, 2, 3, 2, 1, 0, 2, 1, 2},
    {1, 1, 1, 40, 2, 1, 5, 1, 3, 0, 1, 2, 1},  {2, 5, 7, 5, 5, 3, 1, 3, 2, 2, 0, 1, 5},
    {1, 2, 80, 70, 3, 1, 2, 1, 1, 0, 0, 1, 1}, {2, 17, 4, 4, 33, 4, 4, 1, 1, 0, 0, 1, 1},
    {1, 3, 5, 1, 2, 2, 1, 3, 1, 1, 0, 1, 1},   {0, 2, 4, 4, 3, 3, 3, 1, 1, 1, 1, 1, 1},
};

enum { SHAPES = sizeof shapes / sizeof shapes[0] };

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

enum { X, FILTERS, Y, ARRAYS };

/* Which of the arrays an operation takes and gives: the output first. */
static const int *arrays_of(int op)
{
    static const int of[][3] = {{Y, X, FILTERS}, {X, Y, FILTERS}, {FILTERS, X, Y}};
    return of[op % EXACT];
}

static void lengths_of(const ek_conv_shape *s, int array, int64_t *lengths)
{
    const int64_t of[ARRAYS][4] = {
        {s->batch, s->channels, s->height, s->width},
        {s->filters, s->channels / s->groups, s->kernel_y, s->kernel_x},
        {s->batch, s->filters, ek_reference_rows(s), ek_reference_columns(s)},
    };
    memcpy(lengths, of[array], sizeof of[array]);
}

static int64_t size_of(const ek_conv_shape *s, int array)
{
    int64_t n[4];
    lengths_of(s, array, n);
    return n[0] * n[1] * n[2] * n[3];
}

/* One call: its three arrays as numbers that the dtype holds, the output as it should be. */
typedef struct call {
    int op;
    ek_dtype dtype;
    const ek_conv_shape *shape;
    double *numbers[ARRAYS];
} call;

static void open_call(call *c, int op, ek_dtype dtype, const ek_conv_shape *shape, bool whole)
{
    *c = (call){op, dtype, shape, {NULL}};
    for (int a = 0; a < ARRAYS; a++) {
        int64_t n = size_of(shape, a);
        c->numbers[a] = allocate((size_t)n * sizeof(double));
        for (int64_t i = 0; i < n; i++) {
            uint64_t bits = ek_random((uint64_t)a, (uint64_t)i);
            uint64_t element = 0;
            double value = (double)(int64_t)(bits % 5) - 2;
            if (!whole)
                value = ldexp((double)(int64_t)(bits >> 40) - 0x1p23, -22);
            ek_element_round(dtype, value, &element);
            c->numbers[a][i] = ek_element_value(dtype, &element);
        }
    }
    bool single = dtype != EK_F64;
    double **n = c->numbers;
    if (op % EXACT == 0)
        ek_reference_conv(shape, single, n[X], n[FILTERS], n[Y]);
    else if (op % EXACT == 1)
        ek_reference_convtrans(shape, single, n[Y], n[FILTERS], n[X]);
    else
        ek_reference_conv_filters(shape, single, n[X], n[Y], n[FILTERS]);
}

static void close_call(call *c)
{
    for (int a = 0; a < ARRAYS; a++)
        free(c->numbers[a]);
}

/* ---- layouts */

enum { IN_ORDER, CHANNELS_LAST, GAPS, BACKWARDS, LAYOUTS };

static int64_t lay_out(const int64_t *shape, int layout, int64_t *stride, int64_t *first)
{
    static const int last[] = {1, 3, 2, 0};
    int64_t step = layout == GAPS ? 2 : 1, reach = 0;
    for (int i = 0; i < 4; i++) {
        int d = layout == CHANNELS_LAST ? last[i] : 3 - i;
        stride[d] = step;
        step *= shape[d] + (layout == GAPS);
        reach += (shape[d] - 1) * stride[d];
    }
    *first = layout == BACKWARDS && reach > 0 ? reach : 0;
    for (int d = 0; d < 4 && layout == BACKWARDS; d++)
        stride[d] = -stride[d];
    return reach < 0 ? 0 : reach + 1;
}

static int64_t place_of(const int64_t *shape, const int64_t *stride, int64_t i)
{
    int64_t at = 0;
    for (int d = 3; d >= 0; d--) {
        at += i % shape[d] * stride[d];
        i /= shape[d];
    }
    return at;
}

static void set_params(const ek_op_info *op, const ek_conv_shape *s, ek_param *params)
{
    const int64_t values[] = {s->stride_y,  s->stride_x, s->padding_y,
                              s->padding_x, s->dilation, s->groups};
    for (int32_t i = 0; i < op->param_count; i++)
        params[i] = (ek_param){.name = op->params[i].name, .integer = values[i]};
}

static void check_call(const call *c, const ek_place *place, int layout)
{
    const int *arrays = arrays_of(c->op);
    const ek_op_info *op = ops[c->op];
    size_t size = ek_dtype_size(c->dtype), at[3], bytes = 0;
    int64_t shape[3][4], stride[3][4], first[3], count[3];
    ek_array operands[3];
    ek_param params[EK_MAX_PARAMS];
    for (int k = 0; k < 3; k++) {
        lengths_of(c->shape, arrays[k], shape[k]);
        count[k] = lay_out(shape[k], layout ? (layout + k - 1) % (LAYOUTS - 1) + 1 : 0, stride[k],
                           &first[k]);
        at[k] = bytes;
        bytes += ((size_t)count[k] * size + 63) / 64 * 64;
    }
    char *host = allocate(bytes), *memory = ek_place_memory(place, bytes + 64);
    memset(host, 0x5a, bytes);
    for (int k = 0; k < 3; k++) {
        for (int64_t i = 0; k > 0 && i < size_of(c->shape, arrays[k]); i++)
            ek_element_round(c->dtype, c->numbers[arrays[k]][i],
                             host + at[k] +
                                 (size_t)(first[k] + place_of(shape[k], stride[k], i)) * size);
        operands[k] = ek_array_view(memory + at[k] + (size_t)first[k] * size, c->dtype,
                                    ek_queue_device(place->queue), 4, shape[k]);
        operands[k].strides = stride[k];
    }
    ek_upload(place, memory, host, bytes);
    set_params(op, c->shape, params);
    must(ek_apply(place->queue, op, (const ek_array *[]){&operands[1], &operands[2]},
                  op->param_count, params, (ek_array *[]){&operands[0]}));
    ek_download(place, host, memory, bytes);
    int64_t poisoned = 0, n = size_of(c->shape, arrays[0]);
    for (int64_t i = 0; i < n; i++) {
        char *got = host + at[0] + (size_t)(first[0] + place_of(shape[0], stride[0], i)) * size;
        uint64_t wanted = 0;
        char text[96], other[96];
        ek_element_round(c->dtype, c->numbers[arrays[0]][i], &wanted);
        if (c->op < EXACT ? !ek_same_element(c->dtype, got, &wanted)
                          : ek_element_value(c->dtype, got) != ek_element_value(c->dtype, &wanted))
            ck_abort_msg("%s %s, shape %d, %s, layout %d: element %d is %s: should be %s", op->name,
                         ek_dtype_name(c->dtype), (int)(c->shape - shapes), place->name, layout,
                         (int)i, ek_element_text(c->dtype, got, text),
                         ek_element_text(c->dtype, &wanted, other));
    }
    for (size_t i = 0; i < (size_t)count[0] * size; i++)
        poisoned += host[at[0] + i] == 0x5a;
    if (poisoned < (count[0] - n) * (int64_t)size)
        ck_abort_msg("%s: writes between the elements of its output", op->name);
    free(host);
}

START_TEST(test_reference)
{
    const ek_place *places;
    int count = ek_tested_places(&places), op = _i;
    for (int i = 0; i < SHAPES * ops[op]->loop_count; i++) {
        call c;
        open_call(&c, op, (ek_dtype)ops[op]->loops[i / SHAPES].dtype, &shapes[i % SHAPES],
                  op >= EXACT);
        for (int place = 0; place < count; place++)
            for (int layout = 0; layout < LAYOUTS; layout++)
                check_call(&c, &places[place], layout);
        close_call(&c);
    }
}
END_TEST

/* ---- gradients */

/* The sum of dy * conv(x, filters), in float64 by the typed call. */
static double loss(ek_queue *q, const ek_conv_shape *s, double *const *n, const double *dy)
{
    int64_t count = size_of(s, Y);
    double *y = allocate((size_t)count * sizeof *y), sum = 0;
    must(ek_conv2d_exact_f64(q, s, n[X], n[FILTERS], y));
    for (int64_t i = 0; i < count; i++)
        sum += dy[i] * y[i];
    free(y);
    return sum;
}

/* Whole numbers and quarters: all sums are exact, and so are the differences of what is linear. */
START_TEST(test_gradients)
{
    const ek_place *places;
    ek_places(&places);
    ek_queue *q = places[0].queue;
    for (int i = 0; i < SHAPES; i++) {
        const ek_conv_shape *s = &shapes[i];
        call c;
        open_call(&c, 0, EK_F64, s, true);
        double *dy = allocate((size_t)size_of(s, Y) * sizeof *dy), *grad[2];
        for (int64_t k = 0; k < size_of(s, Y); k++)
            dy[k] = (double)(k * 5 % 7) - 3;
        for (int a = 0; a < 2; a++)
            grad[a] = allocate((size_t)size_of(s, a) * sizeof **grad);
        must(ek_convtrans2d_exact_f64(q, s, dy, c.numbers[FILTERS], grad[X]));
        must(ek_conv2d_bwd_filters_exact_f64(q, s, c.numbers[X], dy, grad[FILTERS]));
        for (int a = 0; a < 2; a++) {
            int64_t n = size_of(s, a);
            for (int64_t k = 0; k < n; k += n / 25 + 1) {
                double *x = &c.numbers[a][k], was = *x;
                *x = was + 0.25;
                double up = loss(q, s, c.numbers, dy);
                *x = was - 0.25;
                double down = loss(q, s, c.numbers, dy);
                *x = was;
                if (grad[a][k] != 2 * (up - down))
                    ck_abort_msg("shape %d, gradient %d: element %d is %g: differences give %g", i,
                                 a, (int)k, grad[a][k], 2 * (up - down));
            }
            free(grad[a]);
        }
        free(dy);
        close_call(&c);
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

static ek_status typed(ek_queue *q, float *m, ek_conv_shape shape, float *out)
{
    return ek_conv2d_exact_f32(q, &shape, m, m + 200, out);
}

START_TEST(test_refusals)
{
    const ek_place *places;
    ek_tested_places(&places);
    ek_queue *q = places[0].queue;
    float *m = ek_place_memory(&places[0], 4096), host[1024], after[1024];
    for (int i = 0; i < 1024; i++)
        host[i] = (float)i;
    ek_upload(&places[0], m, host, sizeof host);
    const ek_conv_shape good = {1, 2, 4, 5, 3, 3, 3, 1, 1, 0, 0, 1, 1};
    ek_conv_shape s = good;
    REFUSED(ek_conv2d_exact_f32(q, NULL, m, m, m), EK_INVALID_ARGUMENT, "shape is null");
    s.kernel_y = 5;
    REFUSED(typed(q, m, s, m + 400), EK_SHAPE_MISMATCH, "reaches over 5 rows");
    s = good, s.dilation = 3;
    REFUSED(typed(q, m, s, m + 400), EK_SHAPE_MISMATCH, "reaches over 7 rows");
    s = good, s.stride_x = 0;
    REFUSED(typed(q, m, s, m + 400), EK_INVALID_ARGUMENT, "stride_x is 0");
    s = good, s.batch = -1;
    REFUSED(typed(q, m, s, m + 400), EK_INVALID_ARGUMENT, "batch is -1");
    s = good, s.groups = 2;
    REFUSED(typed(q, m, s, m + 400), EK_SHAPE_MISMATCH, "groups is 2");
    s = good, s.batch = INT64_MAX / 8;
    REFUSED(typed(q, m, s, m + 400), EK_INVALID_ARGUMENT, "too large");
    s = good, s.dilation = INT64_MAX;
    REFUSED(typed(q, m, s, m + 400), EK_INVALID_ARGUMENT, "further than memory");
    REFUSED(typed(q, m, good, m + 39), EK_OVERLAP, "overlaps x");
    REFUSED(typed(q, m, good, NULL), EK_INVALID_ARGUMENT, "out is null");
    const ek_device *device = ek_queue_device(q);
    int64_t image[] = {1, 2, 4, 5}, filters[] = {3, 2, 3, 3}, other[] = {3, 3, 3, 3};
    int64_t result[] = {1, 3, 2, 3}, wrong[] = {1, 3, 3, 3};
    ek_array x = ek_array_view(m, EK_F32, device, 4, image);
    ek_array f = ek_array_view(m + 200, EK_F32, device, 4, other);
    ek_array y = ek_array_view(m + 400, EK_F32, device, 4, result);
    REFUSED(ek_conv2d_exact(q, &x, &f, 1, 1, 0, 0, 1, 1, &y), EK_SHAPE_MISMATCH,
            "filters has shape (3, 3, 3, 3): must be (3, 2, 3, 3)");
    f.shape = filters;
    y.shape = wrong;
    REFUSED(ek_conv2d_exact(q, &x, &f, 1, 1, 0, 0, 1, 1, &y), EK_SHAPE_MISMATCH,
            "out has shape (1, 3, 3, 3): must be (1, 3, 2, 3)");
    REFUSED(ek_conv2d_exact(q, &x, &f, 1, 1, -1, 0, 1, 1, &y), EK_INVALID_ARGUMENT,
            "padding_y is -1");
    y.shape = result;
    y.ndim = 3;
    REFUSED(ek_conv2d_exact(q, &x, &f, 1, 1, 0, 0, 1, 1, &y), EK_SHAPE_MISMATCH, "4 dimensions");
    ek_array half = ek_array_view(m + 400, EK_F16, device, 4, result);
    REFUSED(ek_conv2d_exact(q, &x, &f, 1, 1, 0, 0, 1, 1, &half), EK_DTYPE_MISMATCH, "f16");
    ek_download(&places[0], after, m, sizeof host);
    ck_assert_mem_eq(host, after, sizeof host);
}
END_TEST

static Suite *conv_suite(void)
{
    Suite *suite = suite_create("conv");
    TCase *tests = tcase_create("conv");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, test_reference, 0, OPS);
    tcase_add_test(tests, test_gradients);
    tcase_add_test(tests, test_refusals);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return ek_run_at_places(conv_suite, OPS + 2);
}
