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
};

/* Packed operands of a loop. */
typedef struct arguments {
    int64_t n;
    void *in[EK_MAX_INPUTS];
    void *out;
} arguments;

static void allocate(arguments *a, const ek_op_test *test, int loop, int64_t n)
{
    a->n = n;
    for (int k = 0; k < test->info->inputs; k++)
        a->in[k] = malloc((size_t)n * ek_dtype_size(ek_operand_dtype(test, loop, k + 1)));
    a->out = malloc((size_t)n * ek_dtype_size(ek_operand_dtype(test, loop, 0)));
}

static void release(arguments *a, const ek_op_test *test)
{
    for (int k = 0; k < test->info->inputs; k++)
        free(a->in[k]);
    free(a->out);
}

/* The special values of an operand: the template's edges, then those of the dtype. */
static int special_count(const ek_op_test *test, ek_dtype dtype)
{
    static const int most[] = {0, MOST_OF_ONE, MOST_OF_TWO, MOST_OF_THREE};
    int count = ek_special_count(dtype) + (ek_is_float(dtype) ? test->edge_count : 0);
    return count < most[test->info->inputs] ? count : most[test->info->inputs];
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
    for (int k = 1; k <= inputs; k++)
        n *= special_count(test, ek_operand_dtype(test, loop, k));
    allocate(a, test, loop, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i;
        for (int k = 0; k < inputs; k++) {
            ek_dtype dtype = ek_operand_dtype(test, loop, k + 1);
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
        fill(ek_operand_dtype(test, loop, k + 1), 31 * (uint64_t)loop + (uint64_t)k, n, a->in[k]);
}

/* All values of a half type, for an operation of one input. */
static bool make_all(arguments *a, const ek_op_test *test, int loop)
{
    ek_dtype dtype = ek_operand_dtype(test, loop, 1);
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
    ek_status status = test->typed(places[0].queue, loop, a->n, (const void *const *)a->in, a->out);
    ck_assert_msg(status == EK_OK, "%s", ek_error_message());
}

static void check_reference(arguments *a, const ek_op_test *test, int loop)
{
    const void *const *in = (const void *const *)a->in;
    on_first_place(a, test, loop);
    if (ek_check_exact(test, loop, a->n, in, a->out) == 0 &&
        ek_check_complex(test, loop, a->n, in, a->out) == 0 &&
        ek_check_mpfr(test, loop, a->n, in, a->out) == 0)
        ck_abort_msg("%s: loop %d has no reference", test->info->call, loop);
}

/* The loop that computes in float what this loop computes in a half type. */
static int single_loop(const ek_op_test *test, int loop)
{
    ek_dtype half = ek_operand_dtype(test, loop, 0);
    for (int i = 0; i < test->info->loop_count; i++) {
        bool fits = true;
        for (int k = 0; k <= test->info->inputs; k++) {
            ek_dtype mine = ek_operand_dtype(test, loop, k);
            fits &= ek_operand_dtype(test, i, k) == (mine == half ? EK_F32 : mine);
        }
        if (fits)
            return i;
    }
    return -1;
}

/* Half types: the float result, rounded once. */
static void check_half(const arguments *a, const ek_op_test *test, int loop)
{
    ek_dtype half = ek_operand_dtype(test, loop, 0);
    int single = single_loop(test, loop);
    if ((half != EK_F16 && half != EK_BF16) || single < 0)
        return;
    arguments wide;
    allocate(&wide, test, single, a->n);
    for (int k = 0; k < test->info->inputs; k++) {
        ek_dtype dtype = ek_operand_dtype(test, loop, k + 1);
        size_t size = ek_dtype_size(dtype);
        if (dtype != half)
            memcpy(wide.in[k], a->in[k], (size_t)a->n * size);
        for (int64_t i = 0; i < a->n && dtype == half; i++)
            ((float *)wide.in[k])[i] =
                (float)ek_element_value(half, (const char *)a->in[k] + (size_t)i * size);
    }
    on_first_place(&wide, test, single);
    for (int64_t i = 0; i < a->n; i++) {
        uint16_t rounded;
        char text[96];
        ek_element_round(half, ((const float *)wide.out)[i], &rounded);
        if (!ek_same_element(half, &rounded, (const uint16_t *)a->out + i))
            ek_wrong_element(test, loop, i, (const void *const *)a->in, a->out,
                             ek_element_text(half, &rounded, text));
    }
    release(&wide, test);
}

void ek_test_reference(const ek_op_test *test, int loop)
{
    arguments a;
    make_special(&a, test, loop);
    check_reference(&a, test, loop);
    check_half(&a, test, loop);
    release(&a, test);
    make_values(&a, test, loop, ORDINARY, ek_ordinary_values);
    check_reference(&a, test, loop);
    check_half(&a, test, loop);
    release(&a, test);
    make_values(&a, test, loop, RANDOM, ek_random_values);
    check_reference(&a, test, loop);
    check_half(&a, test, loop);
    release(&a, test);
    if (make_all(&a, test, loop)) {
        on_first_place(&a, test, loop);
        check_half(&a, test, loop);
        release(&a, test);
    }
}

/* Packed operands as a scene, so that every place computes them. */
static void same_bits(const arguments *a, const ek_op_test *test, int loop, const char *text)
{
    ek_scene scene;
    ek_scene_open(&scene, test, loop);
    for (int k = 0; k < scene.operands; k++) {
        ek_view view = ek_view_of(ek_operand_dtype(test, loop, k), 1, &a->n);
        ek_scene_place(&scene, k, &view, 0);
    }
    ek_scene_fill(&scene, 0);
    for (int k = 1; k < scene.operands; k++)
        memcpy(scene.memory + scene.view[k].offset, a->in[k - 1],
               (size_t)a->n * ek_dtype_size(scene.view[k].dtype));
    ek_scene_check(&scene, EK_TYPED_CALL, text);
    ek_scene_close(&scene);
}

void ek_test_bits(const ek_op_test *test, int loop)
{
    arguments a;
    make_special(&a, test, loop);
    same_bits(&a, test, loop, "special values");
    release(&a, test);
    make_values(&a, test, loop, 10 * ORDINARY, ek_ordinary_values);
    same_bits(&a, test, loop, "ordinary values");
    release(&a, test);
    make_values(&a, test, loop, 30 * RANDOM, ek_random_values);
    same_bits(&a, test, loop, "random bits");
    release(&a, test);
    if (make_all(&a, test, loop)) {
        same_bits(&a, test, loop, "all values");
        release(&a, test);
    }
}
