/* Which calls a loop is verified with: shapes, axes, transposes, values. */
#include "error.h"
#include "verify.h"

/* Odd lengths, so that every variant has a rest that fills no register; long enough for two threads
 * and for results that do not fit a cache. */
enum { ORDINARY = 100003, RANDOM = (1 << 18) + 3, ENUMERABLE_BITS = 16 };

static const sample_kind sampled[] = {SAMPLE_ORDINARY, SAMPLE_SPECIAL, SAMPLE_BITS};

enum { SAMPLED = sizeof sampled / sizeof sampled[0] };

/* All inputs broadcast to one shape, each in another order in memory. */
static ek_status verify_strided(verifier *v, const ek_op_info *op, const ek_loop *loop)
{
    static const int64_t shape[] = {37, 53};
    problem p;
    problem_init(&p, op, loop, 2, shape);
    if (op->inputs > 1) {
        p.ndim[1] = 1;
        p.shape[1][0] = shape[1];
    }
    if (op->inputs > 2)
        p.shape[2][1] = 1;
    return verify_call(v, &p, SAMPLE_ORDINARY, 0, true);
}

static ek_status verify_elementwise(verifier *v, const ek_op_info *op, const ek_loop *loop)
{
    problem p;
    int bits = 0;
    int64_t special = 1;
    for (int32_t i = 0; i < op->inputs; i++) {
        bits += 8 * (int)ek_dtype_size((ek_dtype)loop->in[i]);
        special *= sample_count(SAMPLE_SPECIAL, (ek_dtype)loop->in[i]);
        special = special > RANDOM ? RANDOM : special;
    }
    EK_TRY(verify_strided(v, op, loop));
    if (bits <= ENUMERABLE_BITS) {
        int64_t all = INT64_C(1) << bits;
        problem_init(&p, op, loop, 1, &all);
        EK_TRY(verify_call(v, &p, SAMPLE_ALL, 0, false));
    }
    const int64_t sizes[SAMPLED] = {ORDINARY, special, RANDOM};
    for (int k = 0; k < SAMPLED; k++) {
        problem_init(&p, op, loop, 1, &sizes[k]);
        EK_TRY(verify_call(v, &p, sampled[k], 0, false));
        if (op->param_count == 0)
            continue;
        problem_vary(&p);
        EK_TRY(verify_call(v, &p, sampled[k], 0, false));
    }
    return EK_OK;
}

/* Over every choice of axes that the operation has; a second input is as large as the first, and
 * broadcast to it. */
static ek_status verify_axes(verifier *v, const ek_op_info *op, const ek_loop *loop, int32_t ndim,
                             const int64_t *shape)
{
    for (unsigned axes = 1; axes < 1u << ndim; axes++) {
        for (int32_t input = 0; input < op->inputs; input++) {
            problem p;
            problem_init(&p, op, loop, ndim, shape);
            if (!problem_reduce(&p, axes, axes % 2))
                continue;
            if (input > 0) {
                p.ndim[input] = 1;
                p.shape[input][0] = shape[ndim - 1];
            }
            for (int k = 0; k < SAMPLED; k++)
                EK_TRY(verify_call(v, &p, sampled[k], 0, false));
        }
    }
    return EK_OK;
}

/* Lengths around a lane (128) and a chunk (4,096) of the reduction's tree. */
static ek_status verify_reduction(verifier *v, const ek_op_info *op, const ek_loop *loop)
{
    static const struct {
        int32_t ndim;
        int64_t shape[3];
    } shapes[] = {
        {1, {1}},        {1, {127}},      {1, {129}},      {1, {4095}},       {1, {4097}},
        {1, {ORDINARY}}, {2, {67, 4099}}, {2, {4099, 67}}, {3, {5, 130, 33}},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        EK_TRY(verify_axes(v, op, loop, shapes[i].ndim, shapes[i].shape));
    return EK_OK;
}

/* Lengths around a group (16), a chunk (256), a span (4,096) and a stretch (131,072) of a scan. */
static ek_status verify_scan(verifier *v, const ek_op_info *op, const ek_loop *loop)
{
    static const struct {
        int32_t ndim;
        int64_t shape[3];
    } shapes[] = {
        {1, {1}},        {1, {17}},       {1, {255}},       {1, {1000}},       {1, {4097}},
        {1, {ORDINARY}}, {2, {67, 4099}}, {2, {16500, 35}}, {3, {5, 130, 33}}, {1, {600007}},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        EK_TRY(verify_axes(v, op, loop, shapes[i].ndim, shapes[i].shape));
    return EK_OK;
}

static ek_status verify_row_kind(verifier *v, const ek_op_info *op, const ek_loop *loop)
{
    static const int64_t shapes[][2] = {{1, 1}, {7, 127}, {64, 1000}, {3, 4097}, {2, ORDINARY}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        problem p;
        problem_init(&p, op, loop, 2, shapes[i]);
        for (int k = 0; k < SAMPLED; k++)
            EK_TRY(verify_call(v, &p, sampled[k], 0, false));
    }
    return EK_OK;
}

static ek_status verify_gemm(verifier *v, const ek_op_info *op, const ek_loop *loop)
{
    static const gemm_size sizes[] = {
        {.m = 1, .n = 1, .k = 1, .alpha = 1},
        {.m = 17, .n = 33, .k = 65, .alpha = 1},
        {.m = 64, .n = 48, .k = 100, .alpha = 1.25, .beta = 0.5},
        {.m = 129, .n = 127, .k = 300, .alpha = 1, .beta = 1},
        {.batch = 3, .m = 31, .n = 40, .k = 29, .alpha = -1, .beta = 0},
        {.m = 5, .n = 7, .k = 0, .alpha = 1, .beta = 2},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int transposes = 0; transposes < 4; transposes++) {
            static const int64_t none;
            problem p;
            gemm_size size = sizes[i];
            size.transa = transposes & 1;
            size.transb = transposes >> 1;
            if (loop->out[0] <= EK_U64) { /* integers hold no fractions, some no sign */
                size.alpha = size.alpha == 1 ? 1 : 3;
                size.beta = size.beta == 0 ? 0 : 2;
            }
            problem_init(&p, op, loop, 0, &none);
            problem_gemm(&p, &size);
            EK_TRY(verify_call(v, &p, SAMPLE_ORDINARY, 0, false));
            EK_TRY(verify_call(v, &p, SAMPLE_BITS, 0, false));
        }
    }
    return EK_OK;
}

/* Windows of several sizes and places, in images with edges on all sides; parameters by turns. */
static ek_status verify_image(verifier *v, const ek_op_info *op, const ek_loop *loop)
{
    static const int64_t sizes[][3] = {{3, 4, 5}, {2, 37, 53}, {5, 64, 130}, {1, 130, 611}};
    static const int64_t windows[][EK_MAX_PARAMS] = {
        {2, 2, 2, 2, 0, 0, 1, 0},
        {3, 3, 1, 1, 1, 1, 1, 1},
        {1, 3, 2, 3, 0, 2, 2, 0},
        {4, 2, 1, 2, 3, 1, 1, 0},
    };
    static const int64_t scaled[][EK_MAX_PARAMS] = {{0, 0}, {9, 20}, {3, 1}, {1, 71}};
    static const int64_t none;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t k = 0; k < sizeof windows / sizeof windows[0]; k++) {
            problem p;
            const int64_t *settings = op->param_count > 2 ? windows[k] : scaled[k];
            const int64_t *size = sizes[i];
            problem_init(&p, op, loop, 0, &none);
            for (int32_t m = 0; m < op->param_count; m++)
                p.params[p.param_count++] =
                    (ek_param){.name = op->params[m].name, .integer = settings[m]};
            problem_image(&p, size[0], size[1], size[2]);
            for (int s = 0; s < SAMPLED; s++)
                EK_TRY(verify_call(v, &p, sampled[s], 0, s == 0 && k % 2));
        }
    }
    return EK_OK;
}

/* Filters of several sizes and places; many images and few, groups, more places than a piece of a
 * filters' gradient has. */
static ek_status verify_conv(verifier *v, const ek_op_info *op, const ek_loop *loop)
{
    static const conv_size sizes[] = {
        {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1},     {3, 5, 9, 11, 7, 3, 3, 1, 1, 1, 1, 1, 1},
        {2, 8, 17, 13, 12, 3, 2, 2, 3, 1, 0, 2, 4},  {9, 3, 1, 37, 4, 1, 5, 1, 2, 0, 2, 1, 1},
        {1, 2, 70, 67, 3, 1, 1, 1, 1, 0, 0, 1, 1},   {2, 6, 12, 12, 6, 3, 3, 1, 1, 2, 2, 2, 6},
        {1, 40, 33, 31, 50, 3, 3, 1, 1, 1, 1, 1, 1},
    };
    static const int64_t none;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        problem p;
        problem_init(&p, op, loop, 0, &none);
        problem_conv(&p, &sizes[i]);
        EK_TRY(verify_call(v, &p, SAMPLE_ORDINARY, 0, i % 2));
        EK_TRY(verify_call(v, &p, SAMPLE_SPECIAL, 0, false));
    }
    return EK_OK;
}

static ek_status verify_fill(verifier *v, const ek_op_info *op, const ek_loop *loop)
{
    static const int64_t size = RANDOM;
    problem p;
    problem_init(&p, op, loop, 1, &size);
    return verify_call(v, &p, SAMPLE_ORDINARY, 0, false);
}

/* Lengths around a counter's words and a piece of the CPU's, places in the middle of a counter,
 * other parameters; and where there is an input, one that is not in order. */
static ek_status verify_random(verifier *v, const ek_op_info *op, const ek_loop *loop)
{
    static const int64_t sizes[] = {1, 3, 4, 511, 1027, ORDINARY};
    problem p;
    if (op->inputs)
        EK_TRY(verify_strided(v, op, loop));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        problem_init(&p, op, loop, 1, &sizes[i]);
        EK_TRY(verify_call(v, &p, SAMPLE_ORDINARY, 0, false));
        problem_vary(&p);
        EK_TRY(verify_call(v, &p, SAMPLE_BITS, 0, false));
    }
    return EK_OK;
}

ek_status verify_loop(verifier *v, const ek_op_info *op, const ek_loop *loop)
{
    switch (problem_form_of(op)) {
    case FORM_REDUCTION:
        return verify_reduction(v, op, loop);
    case FORM_SCAN:
        return verify_scan(v, op, loop);
    case FORM_ROW:
        return verify_row_kind(v, op, loop);
    case FORM_IMAGE:
        return verify_image(v, op, loop);
    case FORM_CONV:
        return verify_conv(v, op, loop);
    case FORM_GEMM:
        return verify_gemm(v, op, loop);
    case FORM_FILL:
        return verify_fill(v, op, loop);
    case FORM_RANDOM:
        return verify_random(v, op, loop);
    default:
        return verify_elementwise(v, op, loop);
    }
}
