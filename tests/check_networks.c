/* What docs/compositions.md makes of a few operations, forward and backward: an LSTM layer,
 * attention, similarity, maxout. Gradients against quotients of differences; sequences of length 0
 * and 1. EK_TEST_DEVICE=cuda tests a GPU; without one all is skipped. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "einkorn/array.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"
#include "einkorn/ops/add_scalar.h"
#include "einkorn/ops/argmax.h"
#include "einkorn/ops/copy.h"
#include "einkorn/ops/fill.h"
#include "einkorn/ops/gemm_exact.h"
#include "einkorn/ops/lstm_cell.h"
#include "einkorn/ops/lstm_gates.h"
#include "einkorn/ops/lstm_gates_bwd.h"
#include "einkorn/ops/lstm_output.h"
#include "einkorn/ops/lstm_output_bwd.h"
#include "einkorn/ops/max.h"
#include "einkorn/ops/maxout_bwd.h"
#include "einkorn/ops/mul.h"
#include "einkorn/ops/mul_scalar.h"
#include "einkorn/ops/neg.h"
#include "einkorn/ops/reciprocal.h"
#include "einkorn/ops/softmax.h"
#include "einkorn/ops/softmax_bwd.h"
#include "einkorn/ops/square.h"
#include "einkorn/ops/sub.h"
#include "einkorn/ops/sum.h"
#include "place.h"
#include "values.h"

#define MUST(call) ck_assert_msg((call) == EK_OK, "%s: %s", #call, ek_error_message())

enum { MOST_STEPS = 8, GATES = 4 };

/* A matrix of float64 on a place's device; steps are those of a view. */
typedef struct matrix {
    double *data;
    int64_t shape[2], stride[2];
} matrix;

static ek_array array(const ek_place *place, matrix *m)
{
    ek_array a = ek_array_view(m->data, EK_F64, ek_queue_device(place->queue), 2, m->shape);
    a.strides = m->stride;
    return a;
}

static matrix new_matrix(const ek_place *place, int64_t rows, int64_t columns)
{
    matrix m = {NULL, {rows, columns}, {columns, 1}};
    void *memory;
    MUST(ek_alloc(place->queue, (size_t)(rows * columns) * sizeof(double), &memory));
    m.data = memory;
    MUST(ek_fill_f64(place->queue, rows * columns, 0, m.data));
    return m;
}

static matrix rows_of(const matrix *m, int64_t first, int64_t count)
{
    matrix part = *m;
    part.data += first * m->stride[0];
    part.shape[0] = count;
    return part;
}

static matrix columns_of(const matrix *m, int64_t first, int64_t count)
{
    matrix part = *m;
    part.data += first * m->stride[1];
    part.shape[1] = count;
    return part;
}

/* alpha a b + beta c, in c, where a and b may be transposed. */
static void scaled_product(const ek_place *place, bool turn_a, bool turn_b, double alpha,
                           double beta, matrix a, matrix b, matrix c)
{
    ek_gemm_options options = EK_GEMM_DEFAULTS;
    options.alpha = alpha;
    options.trans_a = turn_a ? EK_TRANSPOSE : EK_NO_TRANSPOSE;
    options.trans_b = turn_b ? EK_TRANSPOSE : EK_NO_TRANSPOSE;
    options.beta = beta;
    ek_array x = array(place, &a), y = array(place, &b), z = array(place, &c);
    MUST(ek_gemm_exact(place->queue, &options, &x, &y, &z));
}

static void product(const ek_place *place, bool turn_a, bool turn_b, double beta, matrix a,
                    matrix b, matrix c)
{
    scaled_product(place, turn_a, turn_b, 1, beta, a, b, c);
}

static void move(const ek_place *place, matrix to, matrix from)
{
    ek_array x = array(place, &from), y = array(place, &to);
    MUST(ek_copy(place->queue, &y, &x));
}

static void add(const ek_place *place, matrix a, matrix b, matrix c)
{
    ek_array x = array(place, &a), y = array(place, &b), z = array(place, &c);
    MUST(ek_add(place->queue, &x, &y, &z));
}

/* A layer of one direction. Rows of packed arrays are ordered by step; at each step there is a row
 * for each sequence that is still going on, longest sequences first. */
typedef struct lstm {
    const ek_place *place;
    int64_t steps, batch, inputs, units, rows;
    int64_t size_at[MOST_STEPS];
    /* Parameters, as Thinc packs them: of the gates i, f, o, c one after the other. */
    matrix wx, wh, bias;              /* (4 units, inputs), (4 units, units), (1, 4 units) */
    matrix x, h0, c0;                 /* (rows, inputs), (batch, units) twice */
    matrix gates, before_y, before_c; /* (rows, 4 units), (rows, units) twice: before each row */
    matrix c, squashed, y;            /* (rows, units) */
    matrix dy, dx, dwx, dwh, dbias, dh, dc; /* dh and dc begin as the last states' gradients */
} lstm;

static void forward(lstm *l)
{
    const ek_place *p = l->place;
    product(p, false, true, 0, l->x, l->wx, l->gates);
    add(p, l->gates, l->bias, l->gates);
    for (int64_t t = 0, row = 0; t < l->steps; row += l->size_at[t++]) {
        int64_t n = l->size_at[t], u = l->units, last = t ? l->size_at[t - 1] : 0;
        matrix y = rows_of(&l->before_y, row, n), c = rows_of(&l->before_c, row, n);
        move(p, y, t ? rows_of(&l->y, row - last, n) : rows_of(&l->h0, 0, n));
        move(p, c, t ? rows_of(&l->c, row - last, n) : rows_of(&l->c0, 0, n));
        matrix gates = rows_of(&l->gates, row, n);
        product(p, false, true, 1, y, l->wh, gates);
        ek_array gate[GATES];
        matrix columns[GATES];
        for (int k = 0; k < GATES; k++) {
            columns[k] = columns_of(&gates, k * u, u);
            gate[k] = array(p, &columns[k]);
        }
        matrix next = rows_of(&l->c, row, n), out = rows_of(&l->y, row, n);
        matrix squashed = rows_of(&l->squashed, row, n);
        ek_array before = array(p, &c), state = array(p, &next), result = array(p, &out);
        ek_array tanh = array(p, &squashed);
        MUST(ek_lstm_gates(p->queue, &gate[0], &gate[1], &gate[2], &gate[3], &gate[0], &gate[1],
                           &gate[2], &gate[3]));
        MUST(ek_lstm_cell(p->queue, &gate[0], &gate[1], &gate[3], &before, &state));
        MUST(ek_lstm_output(p->queue, &gate[2], &state, &result, &tanh));
    }
}

static void backward(lstm *l)
{
    const ek_place *p = l->place;
    matrix dgates = new_matrix(p, l->rows, GATES * l->units);
    matrix total = new_matrix(p, l->batch, l->units), dstate = new_matrix(p, l->batch, l->units);
    int64_t row = l->rows, u = l->units;
    for (int64_t t = l->steps - 1; t >= 0; t--) {
        int64_t n = l->size_at[t];
        row -= n;
        matrix dy = rows_of(&total, 0, n), dh = rows_of(&l->dh, 0, n), dc = rows_of(&l->dc, 0, n);
        add(p, rows_of(&l->dy, row, n), dh, dy);
        matrix gates = rows_of(&l->gates, row, n), dg = rows_of(&dgates, row, n);
        ek_array gate[GATES], dgate[GATES];
        matrix columns[GATES], dcolumns[GATES];
        for (int k = 0; k < GATES; k++) {
            columns[k] = columns_of(&gates, k * u, u);
            dcolumns[k] = columns_of(&dg, k * u, u);
            gate[k] = array(p, &columns[k]);
            dgate[k] = array(p, &dcolumns[k]);
        }
        matrix squashed = rows_of(&l->squashed, row, n), c = rows_of(&l->before_c, row, n);
        matrix sum = rows_of(&dstate, 0, n);
        ek_array tanh = array(p, &squashed), before = array(p, &c), d = array(p, &dy);
        ek_array dnext = array(p, &dc), dtotal = array(p, &sum);
        MUST(ek_lstm_output_bwd(p->queue, &d, &gate[2], &tanh, &dnext, &dgate[2], &dtotal));
        MUST(ek_lstm_gates_bwd(p->queue, &dtotal, &gate[0], &gate[1], &gate[3], &before, &dgate[0],
                               &dgate[1], &dgate[3], &dnext));
        product(p, false, false, 0, dg, l->wh, dh);
    }
    product(p, false, false, 0, dgates, l->wx, l->dx);
    product(p, true, false, 0, dgates, l->x, l->dwx);
    product(p, true, false, 0, dgates, l->before_y, l->dwh);
    ek_array dg = array(p, &dgates), db = array(p, &l->dbias);
    const int32_t axis = 0;
    MUST(ek_sum(p->queue, &dg, 1, &axis, true, &db));
    MUST(ek_free(p->queue, dgates.data));
    MUST(ek_free(p->queue, total.data));
    MUST(ek_free(p->queue, dstate.data));
}

/* Every matrix of a layer. */
enum { MATRICES = 19 };

static matrix *nth(lstm *l, int k)
{
    matrix *all[MATRICES] = {&l->wx,  &l->wh,       &l->bias,     &l->x,        &l->h0,
                             &l->c0,  &l->gates,    &l->before_y, &l->before_c, &l->c,
                             &l->y,   &l->squashed, &l->dy,       &l->dx,       &l->dwx,
                             &l->dwh, &l->dbias,    &l->dh,       &l->dc};
    return all[k];
}

static void open_layer(lstm *l, const ek_place *place, int64_t batch, const int64_t *lengths,
                       int64_t inputs, int64_t units)
{
    *l = (lstm){.place = place, .batch = batch, .inputs = inputs, .units = units};
    for (int64_t b = 0; b < batch; b++) {
        for (int64_t t = 0; t < lengths[b]; t++)
            l->size_at[t]++;
        l->steps = lengths[b] > l->steps ? lengths[b] : l->steps;
        l->rows += lengths[b];
    }
    int64_t shapes[MATRICES][2] = {{GATES * units, inputs},
                                   {GATES * units, units},
                                   {1, GATES * units},
                                   {l->rows, inputs},
                                   {batch, units},
                                   {batch, units},
                                   {l->rows, GATES * units},
                                   {l->rows, units},
                                   {l->rows, units},
                                   {l->rows, units},
                                   {l->rows, units},
                                   {l->rows, units},
                                   {l->rows, units},
                                   {l->rows, inputs},
                                   {GATES * units, inputs},
                                   {GATES * units, units},
                                   {1, GATES * units},
                                   {batch, units},
                                   {batch, units}};
    for (int k = 0; k < MATRICES; k++)
        *nth(l, k) = new_matrix(place, shapes[k][0], shapes[k][1]);
}

static void close_layer(lstm *l)
{
    for (int k = 0; k < MATRICES; k++)
        MUST(ek_free(l->place->queue, nth(l, k)->data));
}

static size_t bytes_of(const matrix *m)
{
    return (size_t)(m->shape[0] * m->shape[1]) * sizeof(double);
}

static double *values_of(const ek_place *place, const matrix *m)
{
    double *values = malloc(bytes_of(m) + 1);
    ek_download(place, values, m->data, bytes_of(m));
    return values;
}

/* Numbers in [-1, 1). */
static void randomize(const ek_place *place, matrix *m, uint64_t seed)
{
    double *values = malloc(bytes_of(m) + 1);
    for (int64_t i = 0; i < m->shape[0] * m->shape[1]; i++)
        values[i] = (double)(ek_random(seed, (uint64_t)i) >> 11) * 0x1p-52 - 1;
    ek_upload(place, m->data, values, bytes_of(m));
    free(values);
}

/* What is computed of some matrices: y, and the gradient dy that it is given. */
typedef struct model {
    const ek_place *place;
    void (*forward)(void *layer);
    void *layer;
    const matrix *y, *dy;
} model;

static double loss_of(const model *model)
{
    double sum = 0;
    model->forward(model->layer);
    double *y = values_of(model->place, model->y), *dy = values_of(model->place, model->dy);
    for (int64_t i = 0; i < model->y->shape[0] * model->y->shape[1]; i++)
        sum += y[i] * dy[i];
    free(y);
    free(dy);
    return sum;
}

/* The gradient of sum(dy y) for a matrix at each of its elements. */
static void check_gradient(const model *model, matrix *m, const matrix *gradient, const char *name)
{
    const double step = 1e-5;
    double *x = values_of(model->place, m), *got = values_of(model->place, gradient);
    for (int64_t i = 0; i < m->shape[0] * m->shape[1]; i++) {
        double at = x[i], loss[2];
        for (int k = 0; k < 2; k++) {
            x[i] = at + (k ? step : -step);
            ek_upload(model->place, m->data, x, bytes_of(m));
            loss[k] = loss_of(model);
        }
        x[i] = at;
        ek_upload(model->place, m->data, x, bytes_of(m));
        double wanted = (loss[1] - loss[0]) / (2 * step);
        ck_assert_msg(fabs(got[i] - wanted) < 1e-8, "%s, element %d: %g, not %g", name, (int)i,
                      got[i], wanted);
    }
    free(x);
    free(got);
}

static void forward_layer(void *layer)
{
    forward(layer);
}

START_TEST(gradients_of_a_layer)
{
    static const int64_t lengths[] = {4, 3, 1, 0};
    const ek_place *places;
    int count = ek_tested_places(&places);
    lstm l;
    open_layer(&l, &places[count - 1], 4, lengths, 3, 2);
    matrix *random[] = {&l.wx, &l.wh, &l.bias, &l.x, &l.h0, &l.c0, &l.dy};
    for (int k = 0; k < 7; k++)
        randomize(l.place, random[k], (uint64_t)k);
    forward(&l);
    backward(&l);
    const model model = {l.place, forward_layer, &l, &l.y, &l.dy};
    check_gradient(&model, &l.wx, &l.dwx, "wx");
    check_gradient(&model, &l.wh, &l.dwh, "wh");
    check_gradient(&model, &l.bias, &l.dbias, "bias");
    check_gradient(&model, &l.x, &l.dx, "x");
    check_gradient(&model, &l.h0, &l.dh, "h0");
    check_gradient(&model, &l.c0, &l.dc, "c0");
    close_layer(&l);
}
END_TEST

/* O087: one sequence of one step, weights 0, state 1. O090: sequences without steps keep their
 * states, and pass gradients on. */
START_TEST(short_sequences)
{
    static const int64_t lengths[][2] = {{1, 0}, {2, 0}, {0, 0}};
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int i = 0; i < 3 * count; i++) {
        lstm l;
        open_layer(&l, &places[i / 3], 2, lengths[i % 3], 1, 1);
        const double h0[] = {0, 0.25}, ones[] = {1, 1}, seeds[] = {3, 5};
        ek_upload(l.place, l.h0.data, h0, sizeof h0);
        ek_upload(l.place, l.c0.data, ones, sizeof ones);
        ek_upload(l.place, l.dh.data, seeds, sizeof seeds);
        ek_upload(l.place, l.dc.data, seeds, sizeof seeds);
        forward(&l);
        backward(&l);
        double *c = values_of(l.place, &l.c), *y = values_of(l.place, &l.y),
               *dh = values_of(l.place, &l.dh);
        double *dc = values_of(l.place, &l.dc);
        if (l.rows > 0) {
            ck_assert(c[0] == 0.5);
            ck_assert(fabs(y[0] - 0.5 * tanh(0.5)) < 1e-15);
        } else {
            ck_assert(dh[0] == 3 && dc[0] == 3);
        }
        ck_assert(dh[1] == 5 && dc[1] == 5);
        free(c);
        free(y);
        free(dh);
        free(dc);
        close_layer(&l);
    }
}
END_TEST

/* Scaled dot products: queries, keys and values. */
typedef struct attention {
    const ek_place *place;
    matrix q, k, v, scores, weights, y, dy;
    double alpha;
} attention;

static void attend(void *layer)
{
    attention *a = layer;
    scaled_product(a->place, false, true, a->alpha, 0, a->q, a->k, a->scores);
    ek_array scores = array(a->place, &a->scores), weights = array(a->place, &a->weights);
    MUST(ek_softmax(a->place->queue, &scores, -1, &weights));
    product(a->place, false, false, 0, a->weights, a->v, a->y);
}

START_TEST(gradients_of_attention)
{
    enum { QUERIES = 3, KEYS = 5, WIDTH = 4, VALUES = 2 };
    const ek_place *places;
    int count = ek_tested_places(&places);
    const ek_place *p = &places[count - 1];
    attention a = {p,
                   new_matrix(p, QUERIES, WIDTH),
                   new_matrix(p, KEYS, WIDTH),
                   new_matrix(p, KEYS, VALUES),
                   new_matrix(p, QUERIES, KEYS),
                   new_matrix(p, QUERIES, KEYS),
                   new_matrix(p, QUERIES, VALUES),
                   new_matrix(p, QUERIES, VALUES),
                   0.5};
    matrix dq = new_matrix(p, QUERIES, WIDTH), dk = new_matrix(p, KEYS, WIDTH);
    matrix dv = new_matrix(p, KEYS, VALUES), dweights = new_matrix(p, QUERIES, KEYS);
    matrix *random[] = {&a.q, &a.k, &a.v, &a.dy};
    for (int k = 0; k < 4; k++)
        randomize(p, random[k], 10 + (uint64_t)k);
    attend(&a);
    product(p, true, false, 0, a.weights, a.dy, dv);
    product(p, false, true, 0, a.dy, a.v, dweights);
    ek_array weights = array(p, &a.weights), gradient = array(p, &dweights);
    MUST(ek_softmax_bwd(p->queue, &weights, &gradient, 1, -1, &gradient));
    scaled_product(p, false, false, a.alpha, 0, dweights, a.k, dq);
    scaled_product(p, true, false, a.alpha, 0, dweights, a.q, dk);
    const model model = {p, attend, &a, &a.y, &a.dy};
    check_gradient(&model, &a.q, &dq, "q");
    check_gradient(&model, &a.k, &dk, "k");
    check_gradient(&model, &a.v, &dv, "v");
    matrix *all[] = {&a.q,  &a.k, &a.v, &a.scores, &a.weights, &a.y,
                     &a.dy, &dq,  &dk,  &dv,       &dweights};
    for (int k = 0; k < 11; k++)
        MUST(ek_free(p->queue, all[k]->data));
}
END_TEST

/* 1 / (1 + sum of w (x1 - x2)^2). */
typedef struct similarity {
    const ek_place *place;
    matrix x1, x2, w, difference, squares, y, dy;
} similarity;

static void compare(void *layer)
{
    similarity *s = layer;
    ek_queue *q = s->place->queue;
    const int32_t last = 1;
    ek_array x1 = array(s->place, &s->x1), x2 = array(s->place, &s->x2), w = array(s->place, &s->w);
    ek_array d = array(s->place, &s->difference), squares = array(s->place, &s->squares);
    ek_array y = array(s->place, &s->y);
    MUST(ek_sub(q, &x1, &x2, &d));
    MUST(ek_square(q, &d, &squares));
    MUST(ek_mul(q, &squares, &w, &squares));
    MUST(ek_sum(q, &squares, 1, &last, true, &y));
    MUST(ek_add_scalar(q, &y, 1, &y));
    MUST(ek_reciprocal(q, &y, &y));
}

START_TEST(gradients_of_similarity)
{
    enum { ROWS = 4, WIDTH = 3 };
    const ek_place *places;
    int count = ek_tested_places(&places);
    const ek_place *p = &places[count - 1];
    similarity s = {p,
                    new_matrix(p, ROWS, WIDTH),
                    new_matrix(p, ROWS, WIDTH),
                    new_matrix(p, 1, WIDTH),
                    new_matrix(p, ROWS, WIDTH),
                    new_matrix(p, ROWS, WIDTH),
                    new_matrix(p, ROWS, 1),
                    new_matrix(p, ROWS, 1)};
    matrix dx1 = new_matrix(p, ROWS, WIDTH), dx2 = new_matrix(p, ROWS, WIDTH);
    matrix dw = new_matrix(p, 1, WIDTH), g = new_matrix(p, ROWS, 1);
    matrix *random[] = {&s.x1, &s.x2, &s.w, &s.dy};
    for (int k = 0; k < 4; k++)
        randomize(p, random[k], 20 + (uint64_t)k);
    compare(&s);
    const int32_t rows = 0;
    ek_queue *q = p->queue;
    ek_array y = array(p, &s.y), dy = array(p, &s.dy), factor = array(p, &g);
    ek_array d = array(p, &s.difference), w = array(p, &s.w), squares = array(p, &s.squares);
    ek_array gradient1 = array(p, &dx1), gradient2 = array(p, &dx2), gradient_w = array(p, &dw);
    MUST(ek_square(q, &y, &factor));
    MUST(ek_mul(q, &factor, &dy, &factor));
    MUST(ek_mul(q, &d, &w, &gradient2));
    MUST(ek_mul(q, &gradient2, &factor, &gradient2));
    MUST(ek_mul_scalar(q, &gradient2, 2, &gradient2));
    MUST(ek_neg(q, &gradient2, &gradient1));
    MUST(ek_square(q, &d, &squares));
    MUST(ek_mul(q, &squares, &factor, &squares));
    MUST(ek_sum(q, &squares, 1, &rows, true, &gradient_w));
    MUST(ek_neg(q, &gradient_w, &gradient_w));
    const model model = {p, compare, &s, &s.y, &s.dy};
    check_gradient(&model, &s.x1, &dx1, "x1");
    check_gradient(&model, &s.x2, &dx2, "x2");
    check_gradient(&model, &s.w, &dw, "w");
    matrix *all[] = {&s.x1, &s.x2, &s.w, &s.difference, &s.squares, &s.y,
                     &s.dy, &dx1,  &dx2, &dw,           &g};
    for (int k = 0; k < 11; k++)
        MUST(ek_free(p->queue, all[k]->data));
}
END_TEST

/* O093, in order and with gaps; the first of equals and the first NaN win. */
START_TEST(maxout)
{
    static const float x[] = {1, 5, 7, 7, NAN, 2}, best[] = {5, 7, NAN};
    static const float wanted[] = {0, 10, 20, 0, 30, 0};
    static const int64_t winner[] = {1, 0, 0}, pieces[] = {0, 1};
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int i = 0; i < 2 * count; i++) {
        const ek_place *place = &places[i / 2];
        const ek_device *device = ek_queue_device(place->queue);
        int64_t gap = i % 2 ? 2 : 1, shape[] = {1, 3, 2}, rows[] = {1, 3}, one[] = {1, 3, 1};
        int64_t two[] = {2}, step[] = {3 * gap, gap, 1};
        const float dy[2][6] = {{10, 20, 30}, {10, -1, 20, -1, 30, -1}};
        char *memory = ek_place_memory(place, 2048);
        ek_upload(place, memory, x, sizeof x);
        ek_upload(place, memory + 256, dy[gap - 1], sizeof dy[0]);
        ek_upload(place, memory + 512, pieces, sizeof pieces);
        ek_array in = ek_array_view(memory, EK_F32, device, 3, shape);
        ek_array out = ek_array_view(memory + 768, EK_F32, device, 2, rows);
        ek_array which = ek_array_view(memory + 1024, EK_I64, device, 2, rows);
        const int32_t axis = 2;
        MUST(ek_max(place->queue, &in, 1, &axis, false, &out));
        MUST(ek_argmax(place->queue, &in, 2, false, &which));
        float got[6];
        int64_t places_of[3];
        ek_download(place, got, out.data, sizeof best);
        ek_download(place, places_of, which.data, sizeof places_of);
        ck_assert(got[0] == best[0] && got[1] == best[1] && got[2] != got[2]);
        ck_assert_mem_eq(places_of, winner, sizeof winner);
        ek_array gradient = ek_array_view(memory + 256, EK_F32, device, 3, one);
        gradient.strides = step;
        which.ndim = 3;
        which.shape = one;
        ek_array piece = ek_array_view(memory + 512, EK_I64, device, 1, two);
        ek_array result = ek_array_view(memory + 1280, EK_F32, device, 3, shape);
        MUST(ek_maxout_bwd(place->queue, &gradient, &which, &piece, &result));
        ek_download(place, got, result.data, sizeof got);
        ck_assert_mem_eq(got, wanted, sizeof wanted);
    }
}
END_TEST

static Suite *networks_suite(void)
{
    Suite *suite = suite_create("networks");
    TCase *all = tcase_create("networks");
    tcase_set_timeout(all, 120);
    tcase_add_test(all, gradients_of_a_layer);
    tcase_add_test(all, short_sequences);
    tcase_add_test(all, gradients_of_attention);
    tcase_add_test(all, gradients_of_similarity);
    tcase_add_test(all, maxout);
    suite_add_tcase(suite, all);
    return suite;
}

int main(void)
{
    return ek_run_at_places(networks_suite, 5);
}
