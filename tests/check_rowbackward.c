/* Backward operations of rows: the bits of a plain reference for every layout, variant and number
 * of threads, and gradients against quotients of differences of the operations themselves.
 * EK_TEST_DEVICE=cuda tests a GPU; without one all is skipped. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "body/exp.h"
#include "einkorn/array.h"
#include "einkorn/ops/layer_norm.h"
#include "einkorn/ops/layer_norm_bwd.h"
#include "einkorn/ops/log_softmax.h"
#include "einkorn/ops/log_softmax_bwd.h"
#include "einkorn/ops/rms_norm.h"
#include "einkorn/ops/rms_norm_bwd.h"
#include "einkorn/ops/softmax.h"
#include "einkorn/ops/softmax_bwd.h"
#include "format.h"
#include "place.h"
#include "values.h"

#define MUST(call) ck_assert_msg((call) == EK_OK, "%s: %s", #call, ek_error_message())

enum { LANES = 128, CHUNK = 4096, MOST_ROW = 40000 };

static const ek_op_info *const operations[] = {
    &ek_op_softmax_bwd.info,
    &ek_op_log_softmax_bwd.info,
    &ek_op_layer_norm_bwd.info,
    &ek_op_rms_norm_bwd.info,
};

enum { OPERATIONS = sizeof operations / sizeof operations[0], INPUTS = 3 };

/* A row as the pages of the operations describe it, in `type`. */
#define REFERENCE(t, type, root)                                                                   \
    /* The order of docs/arithmetic.md; x is used up. */                                           \
    static type tree_##t(int64_t n, type *x)                                                       \
    {                                                                                              \
        type lanes[LANES];                                                                         \
        if (n > CHUNK) {                                                                           \
            int64_t chunks = 0;                                                                    \
            for (int64_t k = 0; k < n; k += CHUNK)                                                 \
                x[chunks++] = tree_##t(n - k < CHUNK ? n - k : CHUNK, x + k);                      \
            return tree_##t(chunks, x);                                                            \
        }                                                                                          \
        for (int j = 0; j < LANES; j++)                                                            \
            lanes[j] = (type)-0.0;                                                                 \
        for (int64_t i = 0; i < n; i++)                                                            \
            lanes[i % LANES] += x[i];                                                              \
        for (int half = LANES / 2; half > 0; half /= 2) {                                          \
            for (int j = 0; j < half; j++)                                                         \
                lanes[j] += lanes[j + half];                                                       \
        }                                                                                          \
        return lanes[0];                                                                           \
    }                                                                                              \
                                                                                                   \
    static void row_##t(const ek_op_info *op, int64_t n, const type *x, const type *dy,            \
                        const type *gain, type param, type *out)                                   \
    {                                                                                              \
        static type a[MOST_ROW], b[MOST_ROW], c[MOST_ROW];                                         \
        type count = (type)n, mean = 0;                                                            \
        if (op == operations[2]) {                                                                 \
            memcpy(a, x, (size_t)n * sizeof *x);                                                   \
            mean = tree_##t(n, a) / count;                                                         \
        }                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                          \
            type d = x[i] - mean;                                                                  \
            a[i] = op == operations[0] ? x[i] * dy[i] : (op == operations[1] ? dy[i] : d * d);     \
            if (gain) {                                                                            \
                b[i] = dy[i] * gain[i];                                                            \
                c[i] = dy[i] * gain[i] * d;                                                        \
            }                                                                                      \
        }                                                                                          \
        type s = tree_##t(n, a), sum = 0, moment = 0;                                              \
        if (gain) {                                                                                \
            sum = tree_##t(n, b);                                                                  \
            moment = tree_##t(n, c);                                                               \
        }                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                          \
            if (op == operations[0])                                                               \
                out[i] = x[i] * (dy[i] - s) / param;                                               \
            else if (op == operations[1])                                                          \
                out[i] = dy[i] - ek_body_exp_##t(x[i]) * s;                                        \
            else if (op == operations[2])                                                          \
                out[i] = (dy[i] * gain[i] - sum / count -                                          \
                          (x[i] - mean) * (moment / count / (s / count + param))) *                \
                         (1 / root(s / count + param));                                            \
            else                                                                                   \
                out[i] = (dy[i] * gain[i] - x[i] * (moment / count / (s / count + param))) *       \
                         (1 / root(s / count + param));                                            \
        }                                                                                          \
    }

REFERENCE(f32, float, sqrtf)
REFERENCE(f64, double, sqrt)

/* A row of any dtype: the result, rounded to it, in out. */
static void reference(const ek_op_info *op, ek_dtype dtype, int64_t n, const double *const *in,
                      double param, void *out)
{
    static float narrow[INPUTS + 1][MOST_ROW];
    static double wide[MOST_ROW];
    if (dtype == EK_F64) {
        row_f64(op, n, in[0], in[1], op->inputs > 2 ? in[2] : NULL, param, wide);
    } else {
        for (int k = 0; k < op->inputs; k++) {
            for (int64_t i = 0; i < n; i++)
                narrow[k][i] = (float)in[k][i];
        }
        row_f32(op, n, narrow[0], narrow[1], op->inputs > 2 ? narrow[2] : NULL, (float)param,
                narrow[INPUTS]);
        for (int64_t i = 0; i < n; i++)
            wide[i] = (double)narrow[INPUTS][i];
    }
    for (int64_t i = 0; i < n; i++)
        ek_element_round(dtype, wide[i], (char *)out + (size_t)i * ek_dtype_size(dtype));
}

/* Operands of rows * n elements, the gain of n, as numbers that the dtype holds. */
typedef struct operands {
    ek_dtype dtype;
    int64_t rows, n;
    double *in[INPUTS];
    char *stored[INPUTS], *wanted;
    size_t bytes;
} operands;

static void open_operands(operands *o, const ek_op_info *op, ek_dtype dtype, int64_t rows,
                          int64_t n)
{
    *o = (operands){.dtype = dtype, .rows = rows, .n = n};
    size_t size = ek_dtype_size(dtype);
    o->bytes = (size_t)(rows * n) * size;
    for (int k = 0; k < op->inputs; k++) {
        o->in[k] = malloc((size_t)(rows * n) * sizeof(double));
        o->stored[k] = malloc(o->bytes);
        for (int64_t i = 0; i < rows * n; i++) {
            double x = (double)(ek_random((uint64_t)k, (uint64_t)i) >> 11) * 0x1p-52 - 1;
            x = op == operations[0] && k == 0 ? fabs(x) : x;
            ek_element_round(dtype, x, o->stored[k] + (size_t)i * size);
            o->in[k][i] = ek_element_value(dtype, o->stored[k] + (size_t)i * size);
        }
    }
    o->wanted = malloc(o->bytes);
    for (int64_t r = 0; r < rows; r++) {
        const double *row[INPUTS] = {o->in[0] + r * n, o->in[1] + r * n, o->in[2]};
        reference(op, dtype, n, row, 0.75, o->wanted + (size_t)(r * n) * size);
    }
}

static void close_operands(operands *o)
{
    for (int k = 0; k < INPUTS; k++) {
        free(o->in[k]);
        free(o->stored[k]);
    }
    free(o->wanted);
}

/* Rows along the last axis, or along the first one of a transposed view. */
static void check_call(const operands *o, const ek_op_info *op, const ek_place *place,
                       bool transposed, bool in_place)
{
    const ek_device *device = ek_queue_device(place->queue);
    int64_t shape[] = {o->rows, o->n}, strides[] = {o->n, 1};
    int64_t turned[] = {o->n, o->rows}, across[] = {1, o->n}, along[] = {o->n, 1}, ones[] = {1, 1};
    size_t room = (o->bytes + 255) / 256 * 256;
    char *memory = ek_place_memory(place, (INPUTS + 1) * room);
    ek_array in[INPUTS];
    const ek_array *inputs[INPUTS] = {&in[0], &in[1], &in[2]};
    for (int k = 0; k < op->inputs; k++) {
        ek_upload(place, memory + (size_t)k * room, o->stored[k], o->bytes);
        in[k] = ek_array_view(memory + (size_t)k * room, o->dtype, device, 2,
                              transposed ? turned : shape);
        in[k].strides = transposed ? across : strides;
    }
    if (op->inputs > 2) {
        in[2].ndim = transposed ? 2 : 1;
        in[2].shape = transposed ? along : along;
        in[2].strides = ones;
    }
    ek_array out = in[1];
    if (!in_place)
        out.data = memory + INPUTS * room;
    ek_param params[] = {{"axis", .integer = transposed ? -2 : 1},
                         {op == operations[0] ? "temperature" : "eps", .real = 0.75}};
    ek_array *outs[] = {&out};
    ek_status status =
        ek_apply(place->queue, op, inputs, op == operations[1] ? 1 : 2, params, outs);
    ck_assert_msg(status == EK_OK, "%s", ek_error_message());
    char *got = malloc(o->bytes);
    ek_download(place, got, out.data, o->bytes);
    size_t size = ek_dtype_size(o->dtype);
    for (int64_t i = 0; i < o->rows * o->n; i++) {
        if (memcmp(got + (size_t)i * size, o->wanted + (size_t)i * size, size) != 0)
            ck_abort_msg("%s %s on %s, %d rows of %d%s%s: element %d is %.9g, not %.9g", op->name,
                         ek_dtype_name(o->dtype), place->name, (int)o->rows, (int)o->n,
                         transposed ? ", transposed" : "", in_place ? ", in place" : "", (int)i,
                         ek_element_value(o->dtype, got + (size_t)i * size),
                         ek_element_value(o->dtype, o->wanted + (size_t)i * size));
    }
    free(got);
}

START_TEST(bits_of_the_reference)
{
    static const int64_t shapes[][2] = {{1, 1},    {3, 5},    {7, 127},  {9, 128},   {5, 1000},
                                        {3, 1025}, {2, 4096}, {3, 4097}, {70, 1024}, {1, 40000}};
    const ek_op_info *op = operations[_i];
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        for (int32_t loop = 0; loop < op->loop_count; loop++) {
            operands o;
            open_operands(&o, op, (ek_dtype)op->loops[loop].dtype, shapes[k][0], shapes[k][1]);
            for (int i = 0; i < count; i++) {
                check_call(&o, op, &places[i], false, false);
                check_call(&o, op, &places[i], true, false);
                check_call(&o, op, &places[i], false, true);
            }
            close_operands(&o);
        }
    }
}
END_TEST

/* The function that an operation is the gradient of, on the CPU's first place. */
static void forward(const ek_op_info *op, int64_t n, const double *x, const double *gain, double *y)
{
    const ek_place *places;
    ek_places(&places);
    ek_queue *q = places->queue;
    static double zero[MOST_ROW], scaled[MOST_ROW];
    for (int64_t i = 0; i < n; i++)
        scaled[i] = x[i] / 0.75;
    if (op == operations[0])
        MUST(ek_softmax_f64(q, 1, n, 1, scaled, y));
    else if (op == operations[1])
        MUST(ek_log_softmax_f64(q, 1, n, 1, x, y));
    else if (op == operations[2])
        MUST(ek_layer_norm_f64(q, 1, n, 1, x, gain, zero, 0.75, y));
    else
        MUST(ek_rms_norm_f64(q, 1, n, 1, x, gain, 0.75, y));
}

static double loss(const ek_op_info *op, int64_t n, const double *x, const double *gain,
                   const double *dy)
{
    double y[64], sum = 0;
    forward(op, n, x, gain, y);
    for (int64_t i = 0; i < n; i++)
        sum += y[i] * dy[i];
    return sum;
}

START_TEST(gradients)
{
    enum { COUNT = 23 };
    const double step = 1e-5;
    const ek_op_info *op = operations[_i];
    const ek_place *places;
    ek_places(&places);
    operands o;
    double y[COUNT], got[COUNT], most = 0, largest = 0;
    open_operands(&o, operations[2], EK_F64, 1, COUNT);
    double *x = o.in[0], *dy = o.in[1], *gain = o.in[2];
    ek_queue *q = places->queue;
    forward(op, COUNT, x, gain, y);
    if (_i == 0)
        MUST(ek_softmax_bwd_f64(q, 1, COUNT, y, dy, 0.75, got));
    else if (_i == 1)
        MUST(ek_log_softmax_bwd_f64(q, 1, COUNT, y, dy, got));
    else if (_i == 2)
        MUST(ek_layer_norm_bwd_f64(q, 1, COUNT, x, dy, gain, 0.75, got));
    else
        MUST(ek_rms_norm_bwd_f64(q, 1, COUNT, x, dy, gain, 0.75, got));
    for (int i = 0; i < COUNT; i++) {
        double at = x[i];
        x[i] = at + step;
        double above = loss(op, COUNT, x, gain, dy);
        x[i] = at - step;
        double below = loss(op, COUNT, x, gain, dy);
        x[i] = at;
        most = fmax(most, fabs((above - below) / (2 * step) - got[i]));
        largest = fmax(largest, fabs(got[i]));
    }
    ck_assert_msg(most < 1e-8 * largest, "%s: %g of %g", op->name, most, largest);
    close_operands(&o);
}
END_TEST

static void refused(ek_status status, ek_status wanted, const char *words)
{
    ck_assert_msg(status == wanted && strstr(ek_error_message(), words), "%s", ek_error_message());
}

START_TEST(refusals)
{
    const ek_place *places;
    ek_tested_places(&places);
    ek_queue *q = places->queue;
    const ek_device *device = ek_queue_device(q);
    int64_t shape[] = {2, 3}, other[] = {3, 2}, none[] = {4, 0};
    float *memory = ek_place_memory(places, 4096);
    ek_array y = ek_array_view(memory, EK_F32, device, 2, shape);
    ek_array dy = ek_array_view(memory + 64, EK_F32, device, 2, shape);
    ek_array out = ek_array_view(memory + 128, EK_F32, device, 2, shape);
    ek_array wrong = ek_array_view(memory + 64, EK_F32, device, 2, other);
    ek_array half = ek_array_view(memory + 64, EK_F16, device, 2, shape);
    ek_array empty = ek_array_view(NULL, EK_F32, device, 2, none);
    MUST(ek_softmax_bwd(q, &y, &dy, 1, -1, &out));
    MUST(ek_softmax_bwd(q, &empty, &empty, 1, 0, &empty));
    refused(ek_softmax_bwd(q, &y, &dy, 0, -1, &out), EK_INVALID_ARGUMENT,
            "ek_softmax_bwd: temperature is 0");
    refused(ek_softmax_bwd(q, &y, &dy, NAN, -1, &out), EK_INVALID_ARGUMENT, "temperature is nan");
    refused(ek_softmax_bwd(q, &y, &dy, 1, 2, &out), EK_INVALID_ARGUMENT, "axis is 2");
    refused(ek_softmax_bwd(q, &y, &wrong, 1, -1, &out), EK_SHAPE_MISMATCH, "(3, 2)");
    refused(ek_softmax_bwd(q, &y, &half, 1, -1, &out), EK_DTYPE_MISMATCH, "f16");
    refused(ek_softmax_bwd(q, &y, NULL, 1, -1, &out), EK_INVALID_ARGUMENT, "dy is null");
    refused(ek_softmax_bwd_f32(q, 2, 3, memory, memory + 64, -1, memory + 128), EK_INVALID_ARGUMENT,
            "ek_softmax_bwd_f32: temperature is -1");
    refused(ek_softmax_bwd_f32(q, -1, 3, memory, memory, 1, memory), EK_INVALID_ARGUMENT,
            "rows is -1");
    refused(ek_softmax_bwd_f32(q, 2, 3, memory, NULL, 1, memory), EK_INVALID_ARGUMENT,
            "dy is null");
    refused(ek_softmax_bwd_f32(q, 2, 3, memory, memory + 64, 1, memory + 1), EK_OVERLAP,
            "overlaps y");
    refused(ek_layer_norm_bwd_f32(q, 2, 3, memory, memory + 64, memory + 128, -1, memory),
            EK_INVALID_ARGUMENT, "eps is -1");
    refused(ek_layer_norm_bwd_f32(q, 2, 3, memory, memory + 64, memory, 1, memory), EK_OVERLAP,
            "overlaps gain");
    MUST(ek_softmax_bwd_f32(q, 0, 3, NULL, NULL, 1, NULL));
    MUST(ek_softmax_bwd_f32(q, 3, 0, NULL, NULL, 1, NULL));
}
END_TEST

static Suite *rowbackward_suite(void)
{
    Suite *suite = suite_create("rowbackward");
    TCase *all = tcase_create("rowbackward");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, bits_of_the_reference, 0, OPERATIONS);
    tcase_add_loop_test(all, gradients, 0, OPERATIONS);
    tcase_add_test(all, refusals);
    suite_add_tcase(suite, all);
    return suite;
}

int main(void)
{
    return ek_run_at_places(rowbackward_suite, 2 * OPERATIONS + 1);
}
