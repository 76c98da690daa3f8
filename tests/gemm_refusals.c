/* Every way to call a matrix product wrongly: the status, what the message names, and C as before.
 */
#include <stdlib.h>
#include <string.h>

#include "einkorn/ops/gemm.h"
#include "einkorn/ops/gemm_exact.h"
#include "gemm_case.h"

enum { M = 3, N = 4, K = 5, LINE = 256 };

/* ---- typed calls */

typedef struct typed_call {
    const ek_gemm_shape *shape;
    const float *a, *b;
    float *c;
} typed_call;

typedef struct typed_mistake {
    ek_status status;
    const char *words; /* in the message */
    void (*make)(ek_gemm_shape *shape, typed_call *call);
} typed_mistake;

#define MISTAKE(name, statement)                                                                   \
    static void name(ek_gemm_shape *shape, typed_call *call)                                       \
    {                                                                                              \
        (void)shape;                                                                               \
        (void)call;                                                                                \
        statement;                                                                                 \
    }

MISTAKE(null_shape, call->shape = NULL)
MISTAKE(negative_m, shape->m = -1)
MISTAKE(negative_n, shape->n = -2)
MISTAKE(negative_k, shape->k = -3)
MISTAKE(negative_batch, shape->batch = -4)
MISTAKE(negative_stride_a, shape->stride_a = -1)
MISTAKE(negative_stride_b, shape->stride_b = -1)
MISTAKE(negative_stride_c, shape->stride_c = -1)
MISTAKE(unknown_trans_a, shape->trans_a = (ek_transpose)7)
MISTAKE(unknown_trans_b, shape->trans_b = (ek_transpose)3)
MISTAKE(short_lda, shape->lda = K - 1)
MISTAKE(short_ldb, shape->ldb = N - 1)
MISTAKE(short_ldc, shape->ldc = N - 1)
MISTAKE(short_lda_turned, (shape->trans_a = EK_TRANSPOSE, shape->lda = M - 1))
MISTAKE(zero_lda, (shape->k = 0, shape->lda = 0))
MISTAKE(large_a, shape->lda = INT64_MAX / 4)
MISTAKE(large_batch, (shape->batch = INT64_MAX / 2, shape->stride_b = 3))
MISTAKE(large_c, (shape->ldc = INT64_MAX / 8 + 1))
MISTAKE(null_a, call->a = NULL)
MISTAKE(null_b, call->b = NULL)
MISTAKE(null_c, call->c = NULL)
MISTAKE(c_is_a, call->a = call->c)
MISTAKE(c_meets_b, call->b = call->c + M * N - 1)
MISTAKE(products_meet, (shape->batch = 2, shape->stride_c = N * M - 1))

static const typed_mistake typed_mistakes[] = {
    {EK_INVALID_ARGUMENT, "shape is null", null_shape},
    {EK_INVALID_ARGUMENT, "m is -1", negative_m},
    {EK_INVALID_ARGUMENT, "n is -2", negative_n},
    {EK_INVALID_ARGUMENT, "k is -3", negative_k},
    {EK_INVALID_ARGUMENT, "batch is -4", negative_batch},
    {EK_INVALID_ARGUMENT, "stride_a is -1", negative_stride_a},
    {EK_INVALID_ARGUMENT, "stride_b is -1", negative_stride_b},
    {EK_INVALID_ARGUMENT, "stride_c is -1", negative_stride_c},
    {EK_INVALID_ARGUMENT, "trans_a is 7", unknown_trans_a},
    {EK_INVALID_ARGUMENT, "trans_b is 3", unknown_trans_b},
    {EK_INVALID_ARGUMENT, "lda is 4", short_lda},
    {EK_INVALID_ARGUMENT, "ldb is 3", short_ldb},
    {EK_INVALID_ARGUMENT, "ldc is 3", short_ldc},
    {EK_INVALID_ARGUMENT, "lda is 2", short_lda_turned},
    {EK_INVALID_ARGUMENT, "lda is 0", zero_lda},
    {EK_INVALID_ARGUMENT, ": a has", large_a},
    {EK_INVALID_ARGUMENT, ": b has", large_batch},
    {EK_INVALID_ARGUMENT, ": c has", large_c},
    {EK_INVALID_ARGUMENT, "a is null", null_a},
    {EK_INVALID_ARGUMENT, "b is null", null_b},
    {EK_INVALID_ARGUMENT, "c is null", null_c},
    {EK_OVERLAP, "overlaps a", c_is_a},
    {EK_OVERLAP, "overlaps b", c_meets_b},
    {EK_OVERLAP, "stride_c is 11", products_meet},
};

static void check_message(ek_status status, ek_status wanted, const char *call, const char *words)
{
    const char *message = ek_error_message();
    ck_assert_msg(status == wanted, "%s: status is %s, must be %s (%s)", words,
                  ek_status_name(status), ek_status_name(wanted), message);
    ck_assert_msg(strstr(message, call) == message, "'%s' does not begin with %s", message, call);
    ck_assert_msg(strstr(message, words) != NULL, "'%s' lacks '%s'", message, words);
    ck_assert_ptr_null(strchr(message, '\n'));
}

START_TEST(typed_calls)
{
    const typed_mistake *mistake = &typed_mistakes[_i];
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int p = 0; p < count; p++) {
        for (int exact = 0; exact < 2; exact++) {
            float c[2 * LINE], after[2 * LINE];
            for (int i = 0; i < 2 * LINE; i++)
                c[i] = (float)i;
            char *memory = ek_place_memory(&places[p], 4 * LINE * sizeof(float));
            ek_upload(&places[p], memory, c, sizeof c);
            ek_gemm_shape shape = ek_gemm_plain_shape(M, N, K);
            float *first = (float *)memory;
            typed_call call = {&shape, first + 2 * LINE, first + 3 * LINE, first};
            mistake->make(&shape, &call);
            ek_queue *q = places[p].queue;
            ek_status status = exact
                                   ? ek_gemm_exact_f32(q, call.shape, 1, call.a, call.b, 0, call.c)
                                   : ek_gemm_f32(q, call.shape, 1, call.a, call.b, 0, call.c);
            check_message(status, mistake->status,
                          exact ? "ek_gemm_exact_f32: " : "ek_gemm_f32: ", mistake->words);
            ek_download(&places[p], after, memory, sizeof after);
            ck_assert(memcmp(c, after, sizeof c) == 0);
        }
    }
}
END_TEST

/* ---- array calls */

typedef struct array_call {
    ek_gemm_options options;
    int64_t shape_a[3], shape_b[3], shape_c[3], stride_c[3];
    ek_array a, b, c;
    ek_queue *queue;
    const ek_array *pointer_a;
    ek_array *pointer_c;
} array_call;

typedef struct array_mistake {
    ek_status status;
    const char *words;
    void (*make)(array_call *call);
} array_mistake;

static void set_dtype(const array_call *call, ek_array *array, ek_dtype dtype)
{
    array->type = ek_array_view(NULL, dtype, ek_queue_device(call->queue), 0, NULL).type;
}

#undef MISTAKE
#define MISTAKE(name, statement)                                                                   \
    static void name(array_call *call)                                                             \
    {                                                                                              \
        statement;                                                                                 \
    }

MISTAKE(array_null_queue, call->queue = NULL)
MISTAKE(array_null_a, call->pointer_a = NULL)
MISTAKE(array_null_c, call->pointer_c = NULL)
MISTAKE(array_no_data, call->b.data = NULL)
MISTAKE(array_vector, (call->a.ndim = 1, call->a.shape = &call->shape_a[2]))
MISTAKE(array_dtypes, set_dtype(call, &call->b, EK_I32))
MISTAKE(array_dtype_c, set_dtype(call, &call->c, EK_I32))
MISTAKE(array_b8, (set_dtype(call, &call->a, EK_B8), set_dtype(call, &call->b, EK_B8)))
MISTAKE(array_k, call->shape_b[1] = K + 1)
MISTAKE(array_turned_k, call->options.trans_b = EK_TRANSPOSE)
MISTAKE(array_batch, (call->shape_a[0] = 2, call->shape_b[0] = 3))
MISTAKE(array_shape_c, call->shape_c[2] = N + 1)
MISTAKE(array_ndim_c, (call->c.ndim = 2, call->c.shape = &call->shape_c[1]))
MISTAKE(array_c_meets_itself, (call->c.strides = call->stride_c, call->stride_c[1] = 2))
MISTAKE(array_c_is_a, call->c.data = call->a.data)
MISTAKE(array_c_is_b, call->c.data = call->b.data)
MISTAKE(array_device, call->a.device.index += 5; call->a.device.type = EK_DEVICE_CUDA)
MISTAKE(array_trans, call->options.trans_a = (ek_transpose)9)
MISTAKE(array_imaginary, call->options.alpha_im = 1)
MISTAKE(array_imaginary_beta, call->options.beta_im = 1)
MISTAKE(array_negative, call->shape_a[1] = -3)

static const array_mistake array_mistakes[] = {
    {EK_INVALID_ARGUMENT, "queue is null", array_null_queue},
    {EK_INVALID_ARGUMENT, "a is null", array_null_a},
    {EK_INVALID_ARGUMENT, "c is null", array_null_c},
    {EK_INVALID_ARGUMENT, "b has no data", array_no_data},
    {EK_SHAPE_MISMATCH, "a has shape (5,)", array_vector},
    {EK_DTYPE_MISMATCH, "b is i32", array_dtypes},
    {EK_DTYPE_MISMATCH, "c is i32", array_dtype_c},
    {EK_DTYPE_MISMATCH, "a is b8", array_b8},
    {EK_SHAPE_MISMATCH, "b (1, 6, 4)", array_k},
    {EK_SHAPE_MISMATCH, "op(b) 4 rows", array_turned_k},
    {EK_SHAPE_MISMATCH, "do not broadcast", array_batch},
    {EK_SHAPE_MISMATCH, "c has shape (1, 3, 5)", array_shape_c},
    {EK_SHAPE_MISMATCH, "c has shape (3, 4)", array_ndim_c},
    {EK_OVERLAP, "overlaps itself", array_c_meets_itself},
    {EK_OVERLAP, "overlaps a", array_c_is_a},
    {EK_OVERLAP, "overlaps", array_c_is_b},
    {EK_DEVICE_MISMATCH, "a is on cuda:", array_device},
    {EK_INVALID_ARGUMENT, "trans_a is 9", array_trans},
    {EK_INVALID_ARGUMENT, "alpha is 1+1i", array_imaginary},
    {EK_INVALID_ARGUMENT, "beta is 0+1i", array_imaginary_beta},
    {EK_INVALID_ARGUMENT, "a has shape (1, -3, 5)", array_negative},
};

static void prepare(array_call *call, const ek_place *place, float *memory, ek_dtype dtype)
{
    const ek_device *device = ek_queue_device(place->queue);
    *call = (array_call){
        .options = EK_GEMM_DEFAULTS,
        .shape_a = {1, M, K},
        .shape_b = {1, K, N},
        .shape_c = {1, M, N},
        .stride_c = {M * N, N, 1},
        .queue = place->queue,
    };
    call->c = ek_array_view(memory, dtype, device, 3, call->shape_c);
    call->a = ek_array_view(memory + 2 * LINE, dtype, device, 3, call->shape_a);
    call->b = ek_array_view(memory + 3 * LINE, dtype, device, 3, call->shape_b);
    call->pointer_a = &call->a;
    call->pointer_c = &call->c;
}

static void check_array(const array_mistake *mistake, ek_dtype dtype, const ek_place *place)
{
    for (int exact = 0; exact < 2; exact++) {
        float c[2 * LINE], after[2 * LINE];
        for (int i = 0; i < 2 * LINE; i++)
            c[i] = (float)i;
        char *memory = ek_place_memory(place, 4 * LINE * sizeof(float));
        ek_upload(place, memory, c, sizeof c);
        array_call call;
        prepare(&call, place, (float *)memory, dtype);
        mistake->make(&call);
        ek_status status =
            exact
                ? ek_gemm_exact(call.queue, &call.options, call.pointer_a, &call.b, call.pointer_c)
                : ek_gemm(call.queue, &call.options, call.pointer_a, &call.b, call.pointer_c);
        check_message(status, mistake->status,
                      exact ? "ek_gemm_exact: " : "ek_gemm: ", mistake->words);
        ek_download(place, after, memory, sizeof after);
        ck_assert(memcmp(c, after, sizeof c) == 0);
    }
}

START_TEST(array_calls)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    for (int p = 0; p < count; p++)
        check_array(&array_mistakes[_i], EK_F32, &places[p]);
}
END_TEST

/* Numbers that an integer dtype does not hold. */
START_TEST(integer_scalars)
{
    static const struct {
        ek_dtype dtype;
        double alpha;
        ek_status status;
    } scalars[] = {
        {EK_I32, 0.5, EK_INVALID_ARGUMENT},
        {EK_I8, 128, EK_INVALID_ARGUMENT},
        {EK_I8, -128, EK_OK},
        {EK_U8, -1, EK_INVALID_ARGUMENT},
        {EK_U8, 255, EK_OK},
        {EK_I64, 0x1p63, EK_INVALID_ARGUMENT},
        {EK_I64, -0x1p63, EK_OK},
        {EK_U64, 0x1p63, EK_OK},
        {EK_U64, 0x1p64, EK_INVALID_ARGUMENT},
    };
    const ek_place *places;
    ek_tested_places(&places);
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++) {
        float *memory = ek_place_memory(&places[0], 4 * LINE * sizeof(float));
        array_call call;
        prepare(&call, &places[0], memory, scalars[i].dtype);
        call.options.alpha = scalars[i].alpha;
        ek_status status = ek_gemm_exact(call.queue, &call.options, &call.a, &call.b, &call.c);
        ck_assert_int_eq(status, scalars[i].status);
        if (status != EK_OK)
            check_message(status, scalars[i].status, "ek_gemm_exact: ", "alpha is ");
    }
}
END_TEST

START_TEST(parameters)
{
    const ek_place *places;
    ek_tested_places(&places);
    float *memory = ek_place_memory(&places[0], 4 * LINE * sizeof(float));
    array_call call;
    prepare(&call, &places[0], memory, EK_F32);
    const ek_array *const in[] = {&call.a, &call.b};
    ek_param param = {.name = "transa", .integer = 2};
    ek_status status =
        ek_apply(call.queue, &ek_op_gemm.info, in, 1, &param, (ek_array *[]){&call.c});
    check_message(status, EK_INVALID_ARGUMENT, "ek_gemm: ", "transa is 2");
    param.name = "gamma";
    status = ek_apply(call.queue, &ek_op_gemm.info, in, 1, &param, (ek_array *[]){&call.c});
    check_message(status, EK_INVALID_ARGUMENT, "ek_gemm: ", "'gamma'");
    ek_output product;
    call.shape_b[1] = 6;
    status = ek_infer(&ek_op_gemm.info, in, 0, NULL, &product);
    check_message(status, EK_SHAPE_MISMATCH, "ek_gemm: ", "op(b) 6 rows");
}
END_TEST

TCase *gemm_refusal_tests(void)
{
    TCase *tests = tcase_create("refusals");
    tcase_add_loop_test(tests, typed_calls, 0, sizeof typed_mistakes / sizeof typed_mistakes[0]);
    tcase_add_loop_test(tests, array_calls, 0, sizeof array_mistakes / sizeof array_mistakes[0]);
    tcase_add_test(tests, integer_scalars);
    tcase_add_test(tests, parameters);
    return tests;
}
