#include "gemm.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "call.h"
#include "layout.h"
#include "row.h"

static bool scalar_is_zero(ek_dtype dtype, const ek_gemm_scalar *x)
{
    switch (dtype) {
    case EK_I8:
    case EK_U8:
        return x->u8 == 0;
    case EK_I16:
    case EK_U16:
        return x->u16 == 0;
    case EK_I32:
    case EK_U32:
        return x->u32 == 0;
    case EK_I64:
    case EK_U64:
        return x->u64 == 0;
    case EK_F64:
        return x->f64 == 0;
    case EK_C64:
        return x->c64.re == 0 && x->c64.im == 0;
    case EK_C128:
        return x->c128.re == 0 && x->c128.im == 0;
    default:
        return x->f32 == 0;
    }
}

static void set_scalars(ek_gemm_problem *problem, ek_gemm_scalar alpha, ek_gemm_scalar beta)
{
    problem->alpha = alpha;
    problem->beta = beta;
    problem->reads_ab = problem->k > 0 && !scalar_is_zero(problem->dtype, &alpha);
    problem->reads_c = !scalar_is_zero(problem->dtype, &beta);
}

static ek_gemm_matrix matrix(const void *data, int64_t ld, int64_t batch, ek_transpose transpose)
{
    ek_gemm_matrix made = {
        .data = (void *)data,
        .row = transpose == EK_NO_TRANSPOSE ? ld : 1,
        .column = transpose == EK_NO_TRANSPOSE ? 1 : ld,
        .batch = batch,
        .conjugate = transpose == EK_CONJUGATE_TRANSPOSE,
    };
    return made;
}

/* ---- typed calls */

static ek_status check_lengths(const char *call, const ek_gemm_shape *s)
{
    const struct {
        const char *name;
        int64_t value, least;
    } fields[] = {
        {"m", s->m, 0},
        {"n", s->n, 0},
        {"k", s->k, 0},
        {"batch", s->batch, 0},
        {"stride_a", s->stride_a, 0},
        {"stride_b", s->stride_b, 0},
        {"stride_c", s->stride_c, 0},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].value < 0)
            return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is %" PRId64 ": must not be negative", call,
                           fields[i].name, fields[i].value);
    }
    return EK_OK;
}

static ek_status check_transpose(const char *call, const char *name, ek_transpose transpose)
{
    if ((unsigned)transpose > EK_CONJUGATE_TRANSPOSE)
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: %s is %d: must be EK_NO_TRANSPOSE, EK_TRANSPOSE or "
                       "EK_CONJUGATE_TRANSPOSE",
                       call, name, (int)transpose);
    return EK_OK;
}

/* A batch of stored matrices, as an operand of three dimensions. */
typedef struct stored {
    ek_operand operand;
    int64_t shape[3];
} stored;

static ek_status store(const char *call, const char *name, ek_dtype dtype, const void *data,
                       int64_t rows, int64_t columns, int64_t ld, int64_t batch, int64_t stride,
                       stored *made)
{
    char ld_name[] = {'l', 'd', name[0], '\0'};
    if (ld < 1 || ld < columns)
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: %s is %" PRId64 ": must be at least the %" PRId64
                       " elements of a stored row of %s, and 1",
                       call, ld_name, ld, columns, name);
    int64_t reach, skipped, elements, bytes;
    if (__builtin_mul_overflow(rows > 0 ? rows - 1 : 0, ld, &reach) ||
        __builtin_add_overflow(reach, columns, &reach) ||
        __builtin_mul_overflow(batch > 0 ? batch - 1 : 0, stride, &skipped) ||
        __builtin_add_overflow(reach, skipped, &elements) ||
        __builtin_mul_overflow(elements, (int64_t)ek_dtype_size(dtype), &bytes) ||
        bytes > EK_MAX_REACH)
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: %s has %" PRId64 " rows %" PRId64 " apart, batch is %" PRId64
                       ": reaches further than memory",
                       call, name, rows, ld, batch);
    made->shape[0] = batch;
    made->shape[1] = rows;
    made->shape[2] = columns;
    made->operand.name = name;
    made->operand.data = (void *)data;
    made->operand.dtype = dtype;
    made->operand.ndim = 3;
    made->operand.size = rows && columns && batch ? elements : 0;
    made->operand.shape = made->shape;
    made->operand.stride[0] = batch > 1 ? stride : 0;
    made->operand.stride[1] = rows > 1 ? ld : 0;
    made->operand.stride[2] = 1;
    return EK_OK;
}

static ek_status check_input(const char *call, const stored *c, const stored *in)
{
    if (in->operand.size == 0)
        return EK_OK;
    if (!in->operand.data)
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: %s is null with %" PRId64 " rows and %" PRId64 " columns", call,
                       in->operand.name, in->shape[1], in->shape[2]);
    size_t size = ek_dtype_size(c->operand.dtype);
    if (!ek_disjoint(c->operand.data, (uint64_t)c->operand.size * size, in->operand.data,
                     (uint64_t)in->operand.size * size) &&
        ek_overlaps(&c->operand, &in->operand))
        return ek_fail(EK_OVERLAP, "%s: c at %p overlaps %s at %p", call, c->operand.data,
                       in->operand.name, in->operand.data);
    return EK_OK;
}

static ek_status check_typed(const char *call, ek_dtype dtype, const ek_gemm_shape *s,
                             const void *a, const void *b, void *c)
{
    EK_TRY(check_lengths(call, s));
    EK_TRY(check_transpose(call, "trans_a", s->trans_a));
    EK_TRY(check_transpose(call, "trans_b", s->trans_b));
    bool turned_a = s->trans_a != EK_NO_TRANSPOSE, turned_b = s->trans_b != EK_NO_TRANSPOSE;
    stored stored_a, stored_b, stored_c;
    EK_TRY(store(call, "a", dtype, a, turned_a ? s->k : s->m, turned_a ? s->m : s->k, s->lda,
                 s->batch, s->stride_a, &stored_a));
    EK_TRY(store(call, "b", dtype, b, turned_b ? s->n : s->k, turned_b ? s->k : s->n, s->ldb,
                 s->batch, s->stride_b, &stored_b));
    EK_TRY(store(call, "c", dtype, c, s->m, s->n, s->ldc, s->batch, s->stride_c, &stored_c));
    if (s->m == 0 || s->n == 0 || s->batch == 0)
        return EK_OK;
    if (!c)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: c is null with m = %" PRId64 ", n = %" PRId64,
                       call, s->m, s->n);
    if (s->batch > 1 && ek_self_overlaps(&stored_c.operand))
        return ek_fail(EK_OVERLAP,
                       "%s: stride_c is %" PRId64 " with batch = %" PRId64
                       ": products would share elements of c",
                       call, s->stride_c, s->batch);
    EK_TRY(check_input(call, &stored_c, &stored_a));
    return check_input(call, &stored_c, &stored_b);
}

/* Bytes from a matrix's first element to its last. */
static uint64_t reach(int64_t rows, int64_t columns, int64_t ld, size_t size)
{
    return (uint64_t)((rows - 1) * ld + columns) * size;
}

/* True for one product of ordinary size whose matrices lie apart: what check_typed would find in
 * order, found in a few nanoseconds. False says nothing. */
static bool plainly_right(ek_dtype dtype, const ek_gemm_shape *s, const void *a, const void *b,
                          const void *c)
{
    enum { ORDINARY = 1 << 24 }; /* sums of products of two of these fit */
    const size_t size = ek_dtype_size(dtype);
    /* As unsigned numbers, so that what is negative (or zero, where one is taken away) is large. */
    uint64_t lengths = ((uint64_t)s->m - 1) | ((uint64_t)s->n - 1) | ((uint64_t)s->k - 1) |
                       (uint64_t)s->lda | (uint64_t)s->ldb | (uint64_t)s->ldc;
    if (lengths >= ORDINARY || s->batch != 1 || (s->stride_a | s->stride_b | s->stride_c) < 0 ||
        ((unsigned)s->trans_a | (unsigned)s->trans_b) > EK_CONJUGATE_TRANSPOSE)
        return false;
    bool turned_a = s->trans_a != EK_NO_TRANSPOSE, turned_b = s->trans_b != EK_NO_TRANSPOSE;
    int64_t rows_a = turned_a ? s->k : s->m, columns_a = turned_a ? s->m : s->k;
    int64_t rows_b = turned_b ? s->n : s->k, columns_b = turned_b ? s->k : s->n;
    uint64_t bytes = reach(s->m, s->n, s->ldc, size);
    return a && b && c && s->lda >= columns_a && s->ldb >= columns_b && s->ldc >= s->n &&
           ek_disjoint(c, bytes, a, reach(rows_a, columns_a, s->lda, size)) &&
           ek_disjoint(c, bytes, b, reach(rows_b, columns_b, s->ldb, size));
}

ek_status ek_gemm_typed(const char *call, ek_dtype dtype, const ek_gemm_shape *shape,
                        ek_gemm_scalar alpha, const void *a, const void *b, ek_gemm_scalar beta,
                        void *c, ek_gemm_problem *problem)
{
    const ek_gemm_shape *s = shape;
    if (!s)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: shape is null", call);
    if (!plainly_right(dtype, s, a, b, c))
        EK_TRY(check_typed(call, dtype, s, a, b, c));
    problem->dtype = dtype;
    problem->m = s->m;
    problem->n = s->n;
    problem->k = s->k;
    problem->batch = s->batch;
    problem->a = matrix(a, s->lda, s->stride_a, s->trans_a);
    problem->b = matrix(b, s->ldb, s->stride_b, s->trans_b);
    problem->c = matrix(c, s->ldc, s->stride_c, EK_NO_TRANSPOSE);
    set_scalars(problem, alpha, beta);
    return EK_OK;
}

/* ---- array calls */

/* A number as the dtype holds it; false if an integer dtype does not hold it exactly. */
static bool to_scalar(ek_dtype dtype, double re, double im, ek_gemm_scalar *made)
{
    static const struct {
        double low, high; /* high is the first that is too large */
    } range[EK_DTYPES] = {
        [EK_I8] = {-0x1p7, 0x1p7},    [EK_I16] = {-0x1p15, 0x1p15}, [EK_I32] = {-0x1p31, 0x1p31},
        [EK_I64] = {-0x1p63, 0x1p63}, [EK_U8] = {0, 0x1p8},         [EK_U16] = {0, 0x1p16},
        [EK_U32] = {0, 0x1p32},       [EK_U64] = {0, 0x1p64},
    };
    bool complex = dtype == EK_C64 || dtype == EK_C128;
    bool integer = range[dtype].high > 0;
    if (im != 0 && !complex)
        return false;
    if (integer && !(re >= range[dtype].low && re < range[dtype].high && re == floor(re)))
        return false;
    int64_t whole = 0;
    if (integer)
        whole = dtype == EK_U64 && re >= 0x1p63 ? (int64_t)((uint64_t)re) : (int64_t)re;
    switch (dtype) {
    case EK_I8:
    case EK_U8:
        made->u8 = (uint8_t)whole;
        break;
    case EK_I16:
    case EK_U16:
        made->u16 = (uint16_t)whole;
        break;
    case EK_I32:
    case EK_U32:
        made->u32 = (uint32_t)whole;
        break;
    case EK_I64:
    case EK_U64:
        made->u64 = (uint64_t)whole;
        break;
    case EK_F64:
        made->f64 = re;
        break;
    case EK_C64:
        made->c64 = (ek_c64){(float)re, (float)im};
        break;
    case EK_C128:
        made->c128 = (ek_c128){re, im};
        break;
    default:
        made->f32 = (float)re;
        break;
    }
    return true;
}

static ek_status refuse_scalar(const char *call, const char *name, ek_dtype dtype, double re,
                               double im)
{
    return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is %g%+gi: %s cannot hold it", call, name, re, im,
                   ek_dtype_name(dtype));
}

/* The lengths of op(x), from its last two dimensions. */
static ek_status lengths(const char *call, const char *name, const ek_array *x, bool turned,
                         int64_t *rows, int64_t *columns)
{
    char text[128];
    if (x->ndim < 2)
        return ek_fail(EK_SHAPE_MISMATCH, "%s: %s has shape %s: must have 2 dimensions or more",
                       call, name, ek_shape_text(x->ndim, x->shape, text));
    *rows = x->shape[x->ndim - (turned ? 1 : 2)];
    *columns = x->shape[x->ndim - (turned ? 2 : 1)];
    return EK_OK;
}

/* The shape of the product: what the leading dimensions broadcast to, then m, n. */
static ek_status product_shape(const char *call, const ek_array *a, const ek_array *b,
                               const ek_gemm_options *options, int32_t *ndim, int64_t *shape)
{
    char text[128], other[128];
    int64_t m = 0, n = 0, k = 0, depth = 0;
    EK_TRY(check_transpose(call, "trans_a", options->trans_a));
    EK_TRY(check_transpose(call, "trans_b", options->trans_b));
    EK_TRY(lengths(call, "a", a, options->trans_a != EK_NO_TRANSPOSE, &m, &k));
    EK_TRY(lengths(call, "b", b, options->trans_b != EK_NO_TRANSPOSE, &depth, &n));
    if (k != depth)
        return ek_fail(EK_SHAPE_MISMATCH,
                       "%s: a has shape %s and b %s: op(a) has %" PRId64 " columns, op(b) %" PRId64
                       " rows",
                       call, ek_shape_text(a->ndim, a->shape, text),
                       ek_shape_text(b->ndim, b->shape, other), k, depth);
    ek_array leading_a = *a, leading_b = *b;
    leading_a.ndim -= 2;
    leading_b.ndim -= 2;
    const ek_array *const leading[] = {&leading_a, &leading_b};
    if (ek_broadcast(2, leading, ndim, shape) != EK_OK)
        return ek_fail(EK_SHAPE_MISMATCH,
                       "%s: a has shape %s and b %s: the dimensions before the last two do not "
                       "broadcast",
                       call, ek_shape_text(a->ndim, a->shape, text),
                       ek_shape_text(b->ndim, b->shape, other));
    shape[(*ndim)++] = m;
    shape[(*ndim)++] = n;
    return EK_OK;
}

static ek_status check_dtypes(const char *call, const ek_op_info *op, ek_dtype a, ek_dtype b)
{
    if (a != b)
        return ek_fail(EK_DTYPE_MISMATCH,
                       "%s: a is %s and b is %s: must be the same; ek_cast "
                       "converts",
                       call, ek_dtype_name(a), ek_dtype_name(b));
    for (int32_t i = 0; i < op->loop_count; i++) {
        if (op->loops[i].out[0] == a)
            return EK_OK;
    }
    return ek_fail(EK_DTYPE_MISMATCH, "%s: a is %s: no kernel takes it", call, ek_dtype_name(a));
}

static ek_status check_c(const char *call, const ek_operand *c, const ek_operand *a,
                         const ek_operand *b, int32_t ndim, const int64_t *shape)
{
    char text[128], wanted[128];
    if (c->dtype != a->dtype)
        return ek_fail(EK_DTYPE_MISMATCH, "%s: c is %s: must be %s like a and b", call,
                       ek_dtype_name(c->dtype), ek_dtype_name(a->dtype));
    if (c->ndim != ndim || memcmp(c->shape, shape, (size_t)ndim * sizeof *shape) != 0)
        return ek_fail(EK_SHAPE_MISMATCH, "%s: c has shape %s: the product has %s", call,
                       ek_shape_text(c->ndim, c->shape, text), ek_shape_text(ndim, shape, wanted));
    if (ek_self_overlaps(c))
        return ek_fail(EK_OVERLAP, "%s: c with shape %s overlaps itself", call,
                       ek_shape_text(c->ndim, c->shape, text));
    if (ek_overlaps(c, a) || ek_overlaps(c, b))
        return ek_fail(EK_OVERLAP, "%s: c at %p overlaps a at %p or b at %p", call, c->data,
                       a->data, b->data);
    return EK_OK;
}

static ek_gemm_matrix matrix_of(const ek_operand *x, ek_transpose transpose)
{
    bool turned = transpose != EK_NO_TRANSPOSE;
    int64_t row = x->stride[x->ndim - 2], column = x->stride[x->ndim - 1];
    ek_gemm_matrix made = {
        .data = x->data,
        .row = turned ? column : row,
        .column = turned ? row : column,
        .conjugate = transpose == EK_CONJUGATE_TRANSPOSE,
    };
    return made;
}

/* Runs every product of the batch dimensions: the innermost as a strided batch, the others one by
 * one. batch->data is c, a, b. */
static ek_status run_batches(ek_queue *queue, ek_gemm_fn *run, const ek_layout *batch,
                             ek_gemm_problem *problem)
{
    int32_t inner = batch->ndim - 1;
    ek_gemm_matrix *const matrices[] = {&problem->c, &problem->a, &problem->b};
    int64_t size = (int64_t)ek_dtype_size(problem->dtype), count = 1;
    problem->batch = 1;
    if (inner >= 0) {
        problem->batch = batch->shape[inner];
        for (int i = 0; i < 3; i++)
            matrices[i]->batch = batch->stride[inner][i];
    }
    for (int32_t d = 0; d < inner; d++)
        count *= batch->shape[d];
    for (int64_t index = 0; index < count; index++) {
        int64_t rest = index;
        for (int i = 0; i < 3; i++)
            matrices[i]->data = batch->data[i];
        for (int32_t d = inner - 1; d >= 0; d--) {
            int64_t at = rest % batch->shape[d];
            rest /= batch->shape[d];
            for (int i = 0; i < 3; i++) {
                if (matrices[i]->data)
                    matrices[i]->data = (char *)matrices[i]->data + at * batch->stride[d][i] * size;
            }
        }
        EK_TRY(run(queue, problem));
    }
    return EK_OK;
}

/* args: the options. */
static ek_status compute(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         const void *args, ek_array *const *out)
{
    const ek_gemm_options *o = args;
    const ek_array *a = in[0], *b = in[1];
    const char *call = op->call;
    ek_operand operands[3]; /* c, a, b */
    EK_TRY(ek_operand_init(call, "a", queue, a, &operands[1]));
    EK_TRY(ek_operand_init(call, "b", queue, b, &operands[2]));
    EK_TRY(ek_operand_init_out(call, "c", queue, *out, &operands[0]));
    EK_TRY(check_dtypes(call, op, operands[1].dtype, operands[2].dtype));
    int32_t ndim = 0;
    int64_t shape[EK_MAX_NDIM];
    EK_TRY(product_shape(call, a, b, o, &ndim, shape));
    EK_TRY(check_c(call, &operands[0], &operands[1], &operands[2], ndim, shape));

    ek_gemm_problem problem = {.dtype = operands[0].dtype, .m = shape[ndim - 2]};
    ek_gemm_scalar alpha, beta;
    problem.n = shape[ndim - 1];
    problem.k = a->shape[a->ndim - (o->trans_a == EK_NO_TRANSPOSE ? 1 : 2)];
    if (!to_scalar(problem.dtype, o->alpha, o->alpha_im, &alpha))
        return refuse_scalar(call, "alpha", problem.dtype, o->alpha, o->alpha_im);
    if (!to_scalar(problem.dtype, o->beta, o->beta_im, &beta))
        return refuse_scalar(call, "beta", problem.dtype, o->beta, o->beta_im);
    set_scalars(&problem, alpha, beta);
    problem.a = matrix_of(&operands[1], o->trans_a);
    problem.b = matrix_of(&operands[2], o->trans_b);
    problem.c = matrix_of(&operands[0], EK_NO_TRANSPOSE);
    if (op->kernels[queue->variant] == NULL)
        return ek_refuse_variant(call, queue);
    if (operands[0].size == 0)
        return EK_OK;

    ek_layout batch;
    for (int i = 0; i < 3; i++)
        operands[i].ndim -= 2;
    EK_TRY(ek_layout_init(call, 1, 3, operands, &batch));
    ek_gemm_fn *const *table = op->kernels[queue->variant];
    return run_batches(queue, table[problem.dtype], &batch, &problem);
}

ek_status ek_gemm_arrays(ek_queue *queue, const ek_op_info *op, const ek_gemm_options *options,
                         const ek_array *a, const ek_array *b, ek_array *c)
{
    static const ek_gemm_options defaults = EK_GEMM_DEFAULTS;
    const ek_array *const in[] = {a, b};
    return ek_call(compute, queue, op, in, options ? options : &defaults, &c);
}

/* ---- by the row */

static ek_status read_params(const ek_op_info *op, int32_t count, const ek_param *params,
                             ek_gemm_options *options)
{
    const struct {
        const char *name;
        ek_transpose *transpose;
    } flags[] = {{"transa", &options->trans_a}, {"transb", &options->trans_b}};
    for (int i = 0; i < 2; i++) {
        const ek_param *param = ek_find_param(count, params, flags[i].name);
        if (param && param->integer != 0 && param->integer != 1)
            return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is %" PRId64 ": must be 0 or 1", op->call,
                           param->name, param->integer);
        if (param && param->integer)
            *flags[i].transpose = EK_TRANSPOSE;
    }
    const ek_param *alpha = ek_find_param(count, params, "alpha");
    const ek_param *beta = ek_find_param(count, params, "beta");
    if (alpha)
        options->alpha = alpha->real;
    if (beta)
        options->beta = beta->real;
    return EK_OK;
}

static ek_status infer(const ek_op_info *op, const ek_array *const *in, int32_t param_count,
                       const ek_param *params, ek_output *out)
{
    ek_gemm_options options = EK_GEMM_DEFAULTS;
    ek_dtype dtypes[2];
    const char *call = op->call;
    for (int i = 0; i < 2; i++) {
        ek_operand operand;
        EK_TRY(ek_operand_describe(call, op->input_names[i], in[i], &operand));
        dtypes[i] = operand.dtype;
    }
    EK_TRY(check_dtypes(call, op, dtypes[0], dtypes[1]));
    EK_TRY(read_params(op, param_count, params, &options));
    out->dtype = dtypes[0];
    return product_shape(call, in[0], in[1], &options, &out->ndim, out->shape);
}

static ek_status apply(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                       int32_t param_count, const ek_param *params, ek_array *const *out)
{
    ek_gemm_options options = EK_GEMM_DEFAULTS;
    EK_TRY(read_params(op, param_count, params, &options));
    return ek_gemm_arrays(queue, op, &options, in[0], in[1], *out);
}

const ek_kind ek_kind_gemm = {.infer = infer, .apply = apply, .reads_out = true};
