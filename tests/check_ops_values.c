/* Values: every loop against its reference, and the same bits from every place. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_ops.h"
#include "compare.h"
#include "format.h"
#include "reference.h"
#include "scene.h"
#include "values.h"

enum {
    ORDINARY = 1000,
    RANDOM = 1500,
    /* Special values of one operand, so that all combinations stay a few thousand. */
    MOST_OF_ONE = 200,
    MOST_OF_TWO = 60,
    MOST_OF_THREE = 15,
    MOST_OF_MORE = 6,
};

/* Packed operands of a loop. */
typedef struct arguments {
    int64_t n;
    void *in[EK_MAX_INPUTS];
    void *out[EK_MAX_OUTPUTS];
    const double *params;
} arguments;

static void allocate(arguments *a, const ek_op_test *test, int loop, int64_t n)
{
    a->n = n;
    for (int k = 0; k < test->info->inputs; k++)
        a->in[k] = malloc((size_t)n * ek_dtype_size(ek_input_dtype(test, loop, k)));
    for (int k = 0; k < test->info->outputs; k++)
        a->out[k] = malloc((size_t)n * ek_dtype_size(ek_operand_dtype(test, loop, k)));
    a->params = test->sets;
}

static void release(arguments *a, const ek_op_test *test)
{
    for (int k = 0; k < test->info->inputs; k++)
        free(a->in[k]);
    for (int k = 0; k < test->info->outputs; k++)
        free(a->out[k]);
}

/* The special values of an operand: the template's edges, then those of the dtype. */
static int special_count(const ek_op_test *test, ek_dtype dtype)
{
    static const int limits[] = {0, MOST_OF_ONE, MOST_OF_TWO, MOST_OF_THREE};
    int inputs = test->info->inputs, most = inputs > 3 ? MOST_OF_MORE : limits[inputs];
    int count = ek_special_count(dtype) + (ek_is_float(dtype) ? test->edge_count : 0);
    return count < most ? count : most;
}

static void special(const ek_op_test *test, ek_dtype dtype, int index, void *element)
{
    int edges = ek_is_float(dtype) ? test->edge_count : 0;
    if (index < edges)
        ek_element_round(dtype, test->edges[index], element);
    else
        ek_special_value(dtype, index - edges, element);
}

/* All combinations of special values. */
static void make_special(arguments *a, const ek_op_test *test, int loop)
{
    int inputs = test->info->inputs;
    int64_t n = 1;
    for (int k = 0; k < inputs; k++)
        n *= special_count(test, ek_input_dtype(test, loop, k));
    allocate(a, test, loop, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i;
        for (int k = 0; k < inputs; k++) {
            ek_dtype dtype = ek_input_dtype(test, loop, k);
            int count = special_count(test, dtype);
            special(test, dtype, (int)(rest % count),
                    (char *)a->in[k] + (size_t)i * ek_dtype_size(dtype));
            rest /= count;
        }
    }
}

static void make_values(arguments *a, const ek_op_test *test, int loop, int64_t n,
                        void (*fill)(ek_dtype, uint64_t, int64_t, void *))
{
    allocate(a, test, loop, n);
    for (int k = 0; k < test->info->inputs; k++)
        fill(ek_input_dtype(test, loop, k), 31 * (uint64_t)loop + (uint64_t)k, n, a->in[k]);
}

/* All values of a half type, for an operation of one input. */
static bool make_all(arguments *a, const ek_op_test *test, int loop)
{
    ek_dtype dtype = ek_input_dtype(test, loop, 0);
    if (test->info->inputs != 1 || ek_dtype_size(dtype) != 2)
        return false;
    allocate(a, test, loop, 65536);
    for (int i = 0; i < 65536; i++)
        ((uint16_t *)a->in[0])[i] = (uint16_t)i;
    return true;
}

static void on_first_place(arguments *a, const ek_op_test *test, int loop)
{
    const ek_place *places;
    ek_places(&places);
    ek_status status =
        test->typed(places[0].queue, loop, a->n, (const void *const *)a->in, a->params, a->out);
    ck_assert_msg(status == EK_OK, "%s", ek_error_message());
}

static void check_reference(arguments *a, const ek_op_test *test, int loop)
{
    const ek_results results = {a->n, (const void *const *)a->in, a->params,
                                (const void *const *)a->out};
    on_first_place(a, test, loop);
    if (ek_check_exact(test, loop, &results) == 0 && ek_check_complex(test, loop, &results) == 0 &&
        ek_check_mpfr(test, loop, &results) == 0)
        ck_abort_msg("%s: loop %d has no reference", test->info->call, loop);
}

/* The half type of a loop; one without it has another dtype. */
static ek_dtype half_of(const ek_op_test *test, int loop)
{
    return (ek_dtype)test->info->loops[loop].dtype;
}

/* The loop that computes in float what this loop computes in a half type. */
static int single_loop(const ek_op_test *test, int loop)
{
    ek_dtype half = half_of(test, loop);
    for (int i = 0; i < test->info->loop_count; i++) {
        bool fits = true;
        for (int k = 0; k < test->info->outputs + test->info->inputs; k++) {
            ek_dtype mine = ek_operand_dtype(test, loop, k);
            fits &= ek_operand_dtype(test, i, k) == (mine == half ? EK_F32 : mine);
        }
        if (fits)
            return i;
    }
    return -1;
}

/* Output k: what the float loop gives, rounded once. */
static void compare_half(const arguments *a, const arguments *wide, const ek_op_test *test,
                         int loop, int k)
{
    ek_dtype half = half_of(test, loop), dtype = ek_operand_dtype(test, loop, k);
    size_t size = ek_dtype_size(dtype);
    const ek_results results = {a->n, (const void *const *)a->in, a->params,
                                (const void *const *)a->out};
    for (int64_t i = 0; i < a->n; i++) {
        char wanted[16], text[96];
        if (dtype == half)
            ek_element_round(half, ((const float *)wide->out[k])[i], wanted);
        else
            memcpy(wanted, (const char *)wide->out[k] + (size_t)i * size, size);
        if (!ek_same_element(dtype, wanted, (const char *)a->out[k] + (size_t)i * size))
            ek_wrong_element(test, loop, &results, k, i, ek_element_text(dtype, wanted, text));
    }
}

/* Half types: the float results, rounded once. */
static void check_half(const arguments *a, const ek_op_test *test, int loop)
{
    ek_dtype half = half_of(test, loop);
    int single = single_loop(test, loop);
    if ((half != EK_F16 && half != EK_BF16) || single < 0)
        return;
    arguments wide;
    allocate(&wide, test, single, a->n);
    wide.params = a->params;
    for (int k = 0; k < test->info->inputs; k++) {
        ek_dtype dtype = ek_input_dtype(test, loop, k);
        size_t size = ek_dtype_size(dtype);
        if (dtype != half)
            memcpy(wide.in[k], a->in[k], (size_t)a->n * size);
        for (int64_t i = 0; i < a->n && dtype == half; i++)
            ((float *)wide.in[k])[i] =
                (float)ek_element_value(half, (const char *)a->in[k] + (size_t)i * size);
    }
    on_first_place(&wide, test, single);
    for (int k = 0; k < test->info->outputs; k++)
        compare_half(a, &wide, test, loop, k);
    release(&wide, test);
}

/* With every set of parameters. */
static void check_values(arguments *a, const ek_op_test *test, int loop)
{
    for (int set = 0; set < (test->set_count ? test->set_count : 1); set++) {
        a->params = test->sets ? test->sets + set * test->info->param_count : NULL;
        check_reference(a, test, loop);
        check_half(a, test, loop);
    }
    release(a, test);
}

void ek_test_reference(const ek_op_test *test, int loop)
{
    arguments a;
    make_special(&a, test, loop);
    check_values(&a, test, loop);
    make_values(&a, test, loop, ORDINARY, ek_ordinary_values);
    check_values(&a, test, loop);
    make_values(&a, test, loop, RANDOM, ek_random_values);
    check_values(&a, test, loop);
    if (make_all(&a, test, loop))
        check_values(&a, test, loop);
}

/* Packed operands as a scene, so that every place computes them with every set of parameters. */
static void same_bits(arguments *a, const ek_op_test *test, int loop, const char *text)
{
    ek_scene scene;
    ek_scene_open(&scene, test, loop);
    for (int k = 0; k < scene.operands; k++) {
        ek_view view = ek_view_of(ek_operand_dtype(test, loop, k), 1, &a->n);
        ek_scene_place(&scene, k, &view, 0);
    }
    ek_scene_fill(&scene, 0);
    for (int k = 0; k < test->info->inputs; k++) {
        const ek_view *view = &scene.view[scene.outputs + k];
        memcpy(scene.memory + view->offset, a->in[k], (size_t)a->n * ek_dtype_size(view->dtype));
    }
    for (int set = 0; set < (test->set_count ? test->set_count : 1); set++) {
        scene.params = test->sets ? test->sets + set * test->info->param_count : NULL;
        ek_scene_check(&scene, EK_TYPED_CALL, text);
    }
    ek_scene_close(&scene);
    release(a, test);
}

void ek_test_bits(const ek_op_test *test, int loop)
{
    arguments a;
    make_special(&a, test, loop);
    same_bits(&a, test, loop, "special values");
    make_values(&a, test, loop, 10 * ORDINARY, ek_ordinary_values);
    same_bits(&a, test, loop, "ordinary values");
    make_values(&a, test, loop, 30 * RANDOM, ek_random_values);
    same_bits(&a, test, loop, "random bits");
    if (make_all(&a, test, loop))
        same_bits(&a, test, loop, "all values");
}
