#include "network.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { LAYERS = 3, BATCH_MOST = 64 };

static const int width[LAYERS + 1] = {PIXELS, 128, 64, CLASSES};

/* Numbers that live on the device so that they can be operands: 0-dimensional arrays broadcast. */
enum scalar {
    ONE,
    HALF,
    MINUS_HALF,
    SQRT_HALF,
    INV_SQRT_2PI,
    BETA1,
    BETA2,
    ONE_LESS_BETA1,
    ONE_LESS_BETA2,
    INV_ROWS,
    EPSILON,
    MINUS_RATE,
    SCALARS
};

/* An array with its shape: never copied, since the array points into it. */
typedef struct tensor {
    ek_array array;
    int64_t shape[2];
} tensor;

struct network {
    ek_queue *queue;
    int most;
    double beta1_power, beta2_power; /* beta^step, by repeated multiplication */
    ek_array scalars[SCALARS];
    /* All weights and biases one after the other, so that Adam is one pass over them. */
    ek_array weights, gradient, mean, square, scratch;
    int64_t weight_at[LAYERS], bias_at[LAYERS], weight_count;
    ek_array images, wanted;                /* the loaded set: pixels, and 1 at the label */
    ek_array before[LAYERS], after[LAYERS]; /* of a batch: a layer's sums, and what gelu makes */
    ek_array slope[LAYERS], help[LAYERS];   /* gradients, and room to compute gelu's */
};

void check(ek_status status)
{
    if (status != EK_OK) {
        fprintf(stderr, "digits: %s: %s\n", ek_status_name(status), ek_error_message());
        exit(1);
    }
}

/* rows x columns elements of `whole`, `offset` elements from its start. */
static ek_array *view(tensor *t, const ek_array *whole, int64_t offset, int64_t rows,
                      int64_t columns)
{
    t->array = *whole;
    t->array.byte_offset += (uint64_t)offset * (whole->type.bits / 8);
    t->array.ndim = columns ? 2 : 1;
    t->shape[0] = rows;
    t->shape[1] = columns;
    t->array.shape = t->shape;
    return &t->array;
}

static ek_array new_array(ek_queue *queue, ek_dtype dtype, int64_t rows, int64_t columns)
{
    ek_array array;
    check(ek_array_alloc(queue, dtype, columns ? 2 : 1, (int64_t[]){rows, columns}, &array));
    return array;
}

static void set_scalar(network *net, enum scalar which, float value)
{
    check(ek_fill(net->queue, &value, &net->scalars[which]));
}

/* Copies between a host block in C order and an array of the device. */
static void copy_in(network *net, ek_array *dst, ek_dtype dtype, void *host)
{
    ek_device *cpu;
    check(ek_device_open("cpu", &cpu));
    ek_array src = ek_array_view(host, dtype, cpu, dst->ndim, dst->shape);
    check(ek_copy(net->queue, dst, &src));
    ek_device_close(cpu);
}

static void copy_out(network *net, void *host, ek_dtype dtype, const ek_array *src)
{
    ek_device *cpu;
    check(ek_device_open("cpu", &cpu));
    ek_array dst = ek_array_view(host, dtype, cpu, src->ndim, src->shape);
    check(ek_copy(net->queue, &dst, src));
    check(ek_queue_sync(net->queue));
    ek_device_close(cpu);
}

/* Nearly normal with mean 0 and variance 1: twelve uniform numbers summed. */
static float normal(unsigned seed, unsigned index)
{
    float sum = -6;
    for (unsigned i = 0; i < 12; i++)
        sum += digits_uniform(seed, 12 * index + i);
    return sum;
}

static void init_weights(network *net)
{
    const unsigned seed = 1;
    float *host = calloc((size_t)net->weight_count, sizeof *host);
    for (int l = 0; l < LAYERS && host; l++) {
        float deviation = sqrtf(2.0f / (float)width[l]);
        for (int64_t i = net->weight_at[l]; i < net->bias_at[l]; i++)
            host[i] = deviation * normal(seed, (unsigned)i);
    }
    if (!host)
        abort();
    copy_in(net, &net->weights, EK_F32, host);
    free(host);
}

network *network_new(ek_queue *queue, int most)
{
    network *net = calloc(1, sizeof *net);
    if (!net)
        abort();
    net->queue = queue;
    net->most = most;
    net->beta1_power = net->beta2_power = 1;
    for (int i = 0; i < SCALARS; i++)
        check(ek_array_alloc(queue, EK_F32, 0, NULL, &net->scalars[i]));
    set_scalar(net, ONE, 1);
    set_scalar(net, HALF, 0.5f);
    set_scalar(net, MINUS_HALF, -0.5f);
    set_scalar(net, SQRT_HALF, 0.70710678f);
    set_scalar(net, INV_SQRT_2PI, 0.39894228f);
    set_scalar(net, BETA1, 0.9f);
    set_scalar(net, BETA2, 0.999f);
    set_scalar(net, ONE_LESS_BETA1, 0.1f);
    set_scalar(net, ONE_LESS_BETA2, 0.001f);
    for (int l = 0; l < LAYERS; l++) {
        net->weight_at[l] = net->weight_count;
        net->bias_at[l] = net->weight_at[l] + (int64_t)width[l] * width[l + 1];
        net->weight_count = net->bias_at[l] + width[l + 1];
        net->before[l] = new_array(queue, EK_F32, most, width[l + 1]);
        net->after[l] = new_array(queue, EK_F32, most, width[l + 1]);
        net->slope[l] = new_array(queue, EK_F32, BATCH_MOST, width[l + 1]);
        net->help[l] = new_array(queue, EK_F32, BATCH_MOST, width[l + 1]);
    }
    ek_array *flat[] = {&net->weights, &net->gradient, &net->mean, &net->square, &net->scratch};
    const float zero = 0;
    for (int i = 0; i < 5; i++) {
        *flat[i] = new_array(queue, EK_F32, net->weight_count, 0);
        check(ek_fill(queue, &zero, flat[i]));
    }
    net->images = new_array(queue, EK_F32, most, PIXELS);
    net->wanted = new_array(queue, EK_F32, most, CLASSES);
    init_weights(net);
    return net;
}

void network_free(network *net)
{
    ek_queue *q = net->queue;
    for (int i = 0; i < SCALARS; i++)
        check(ek_array_free(q, &net->scalars[i]));
    for (int l = 0; l < LAYERS; l++) {
        ek_array *layer[] = {&net->before[l], &net->after[l], &net->slope[l], &net->help[l]};
        for (int i = 0; i < 4; i++)
            check(ek_array_free(q, layer[i]));
    }
    ek_array *rest[] = {&net->weights, &net->gradient, &net->mean,  &net->square,
                        &net->scratch, &net->images,   &net->wanted};
    for (int i = 0; i < 7; i++)
        check(ek_array_free(q, rest[i]));
    free(net);
}

/* Puts images (and, if asked, what the network should answer) on the device. */
static void load(network *net, const digits_set *set, const int *order, float noise, unsigned seed)
{
    float(*pixels)[PIXELS] = malloc((size_t)set->count * sizeof *pixels);
    float(*wanted)[CLASSES] = calloc((size_t)set->count, sizeof *wanted);
    if (!pixels || !wanted)
        abort();
    digits_fill(set, order, noise, seed, pixels);
    for (int i = 0; i < set->count; i++)
        wanted[i][set->labels[order[i]]] = 1;
    tensor t;
    copy_in(net, view(&t, &net->images, 0, set->count, PIXELS), EK_F32, pixels);
    copy_in(net, view(&t, &net->wanted, 0, set->count, CLASSES), EK_F32, wanted);
    check(ek_queue_sync(net->queue));
    free(pixels);
    free(wanted);
}

void network_load(network *net, const digits_set *set, int epoch)
{
    const float noise = 0.7f;
    int *order = malloc((size_t)set->count * sizeof *order);
    if (!order)
        abort();
    digits_order(set->count, 1000u + (unsigned)epoch, order);
    load(net, set, order, noise, 2000u + (unsigned)epoch);
    free(order);
}

/* The layers' outputs for images at..at+rows; the last one's are probabilities. */
static void forward(network *net, int at, int rows)
{
    const ek_gemm_options plain = EK_GEMM_DEFAULTS;
    ek_queue *q = net->queue;
    tensor in, w, b, before, after;
    view(&in, &net->images, (int64_t)at * PIXELS, rows, PIXELS);
    for (int l = 0; l < LAYERS; l++) {
        view(&w, &net->weights, net->weight_at[l], width[l], width[l + 1]);
        view(&b, &net->weights, net->bias_at[l], width[l + 1], 0);
        view(&before, &net->before[l], 0, rows, width[l + 1]);
        view(&after, &net->after[l], 0, rows, width[l + 1]);
        check(ek_gemm_exact(q, &plain, &in.array, &w.array, &before.array));
        check(ek_add(q, &before.array, &b.array, &before.array));
        if (l < LAYERS - 1)
            check(ek_gelu(q, &before.array, &after.array));
        else
            check(ek_softmax(q, &before.array, 1, &after.array));
        view(&in, &net->after[l], 0, rows, width[l + 1]);
    }
}

/* slope *= gelu'(x), where gelu'(x) = (1 + erf(x / sqrt 2)) / 2 + x exp(-x^2 / 2) / sqrt(2 pi). */
static void through_gelu(network *net, const ek_array *x, ek_array *help, ek_array *slope)
{
    ek_queue *q = net->queue;
    const ek_array *s = net->scalars;
    tensor room;
    ek_array *density = view(&room, &net->scratch, 0, x->shape[0], x->shape[1]);
    check(ek_mul(q, x, x, density));
    check(ek_mul(q, density, &s[MINUS_HALF], density));
    check(ek_exp(q, density, density));
    check(ek_mul(q, density, &s[INV_SQRT_2PI], density));
    check(ek_mul(q, x, &s[SQRT_HALF], help));
    check(ek_erf(q, help, help));
    check(ek_add(q, help, &s[ONE], help));
    check(ek_mul(q, help, &s[HALF], help));
    check(ek_fma(q, density, x, help, help));
    check(ek_mul(q, slope, help, slope));
}

static void backward(network *net, int at, int rows)
{
    ek_gemm_options transpose_a = EK_GEMM_DEFAULTS, transpose_b = EK_GEMM_DEFAULTS;
    transpose_a.trans_a = EK_TRANSPOSE;
    transpose_b.trans_b = EK_TRANSPOSE;
    const int32_t over_rows = 0;
    ek_queue *q = net->queue;
    tensor in, w, gw, gb, slope, below, before, help, wanted, answer;
    int last = LAYERS - 1;
    view(&wanted, &net->wanted, (int64_t)at * CLASSES, rows, CLASSES);
    view(&answer, &net->after[last], 0, rows, CLASSES);
    view(&slope, &net->slope[last], 0, rows, CLASSES);
    set_scalar(net, INV_ROWS, 1 / (float)rows);
    check(ek_sub(q, &answer.array, &wanted.array, &slope.array));
    check(ek_mul(q, &slope.array, &net->scalars[INV_ROWS], &slope.array));
    for (int l = last; l >= 0; l--) {
        if (l > 0)
            view(&in, &net->after[l - 1], 0, rows, width[l]);
        else
            view(&in, &net->images, (int64_t)at * PIXELS, rows, PIXELS);
        view(&slope, &net->slope[l], 0, rows, width[l + 1]);
        view(&gw, &net->gradient, net->weight_at[l], width[l], width[l + 1]);
        view(&gb, &net->gradient, net->bias_at[l], width[l + 1], 0);
        check(ek_gemm_exact(q, &transpose_a, &in.array, &slope.array, &gw.array));
        check(ek_sum(q, &slope.array, 1, &over_rows, false, &gb.array));
        if (l == 0)
            break;
        view(&w, &net->weights, net->weight_at[l], width[l], width[l + 1]);
        view(&below, &net->slope[l - 1], 0, rows, width[l]);
        view(&before, &net->before[l - 1], 0, rows, width[l]);
        view(&help, &net->help[l - 1], 0, rows, width[l]);
        check(ek_gemm_exact(q, &transpose_b, &slope.array, &w.array, &below.array));
        through_gelu(net, &before.array, &help.array, &below.array);
    }
}

/* Adam (Kingma and Ba, 2015), with the bias corrections folded into rate and epsilon. */
static void update(network *net, float rate)
{
    ek_queue *q = net->queue;
    const ek_array *s = net->scalars, *g = &net->gradient;
    ek_array *t = &net->scratch;
    net->beta1_power *= 0.9;
    net->beta2_power *= 0.999;
    double root = sqrt(1 - net->beta2_power);
    set_scalar(net, MINUS_RATE, (float)(-rate * root / (1 - net->beta1_power)));
    set_scalar(net, EPSILON, (float)(1e-8 * root));
    check(ek_mul(q, g, &s[ONE_LESS_BETA1], t));
    check(ek_fma(q, &net->mean, &s[BETA1], t, &net->mean));
    check(ek_mul(q, g, g, t));
    check(ek_mul(q, t, &s[ONE_LESS_BETA2], t));
    check(ek_fma(q, &net->square, &s[BETA2], t, &net->square));
    check(ek_sqrt(q, &net->square, t));
    check(ek_add(q, t, &s[EPSILON], t));
    check(ek_div(q, &net->mean, t, t));
    check(ek_fma(q, t, &s[MINUS_RATE], &net->weights, &net->weights));
}

void network_step(network *net, int at, int rows, float rate)
{
    forward(net, at, rows);
    backward(net, at, rows);
    update(net, rate);
}

double network_accuracy(network *net, const digits_set *set)
{
    ek_queue *q = net->queue;
    int *order = malloc((size_t)set->count * sizeof *order);
    if (!order)
        abort();
    for (int i = 0; i < set->count; i++)
        order[i] = i;
    load(net, set, order, 0, 0);
    free(order);
    forward(net, 0, set->count);
    ek_array answer = new_array(q, EK_I64, set->count, 0);
    ek_array label = new_array(q, EK_I64, set->count, 0);
    ek_array right = new_array(q, EK_B8, set->count, 0);
    ek_array total;
    check(ek_array_alloc(q, EK_I64, 0, NULL, &total));
    tensor probabilities, wanted;
    view(&probabilities, &net->after[LAYERS - 1], 0, set->count, CLASSES);
    view(&wanted, &net->wanted, 0, set->count, CLASSES);
    check(ek_argmax(q, &probabilities.array, 1, false, &answer));
    check(ek_argmax(q, &wanted.array, 1, false, &label));
    check(ek_eq(q, &answer, &label, &right));
    check(ek_sum(q, &right, 0, NULL, false, &total));
    int64_t count = 0;
    copy_out(net, &count, EK_I64, &total);
    ek_array *used[] = {&answer, &label, &right, &total};
    for (int i = 0; i < 4; i++)
        check(ek_array_free(q, used[i]));
    return (double)count / set->count;
}

uint64_t network_hash(network *net)
{
    size_t bytes = (size_t)net->weight_count * sizeof(float);
    unsigned char *host = malloc(bytes);
    if (!host)
        abort();
    copy_out(net, host, EK_F32, &net->weights);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ host[i]) * UINT64_C(0x100000001b3);
    free(host);
    return hash;
}
