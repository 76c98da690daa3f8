/* Operations that give gradients, in float64, against differences of the operations whose
 * derivatives they are: of these themselves, and where their templates have an MPFR reference, of
 * that in many more digits than a double has. Along each input by itself, and along all of them at
 * once. What is no derivative (kinks, jumps, values that are none) shows in differences to either
 * side that differ, and does not count. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "op_test.h"
#include "place.h"
#include "scene.h"
#include "values.h"

enum {
    SAMPLES = 2000,
    /* Of a reference, whose step is 2^-FINE: the difference of two values loses as many bits, and
     * the curvature adds as many zeros to the error. */
    FINE = 120,
    PRECISION = 4 * FINE,
};

static const double step = 0x1p-18;

/* An operation, the one it is the derivative of, and what both compute on. */
typedef struct subject {
    const ek_op_test *test, *forward;
    const ek_derivative *how;
    int loop, forward_loop;
    const double *params;
    double forward_params[EK_MAX_PARAMS];
    void *in[EK_MAX_INPUTS]; /* of the forward operation */
    double *gradient, *result, *out[EK_MAX_OUTPUTS];
    double *way[EK_MAX_INPUTS]; /* the direction in which an input goes */
    int64_t compared;
} subject;

static const ek_op_test *find(const char *name)
{
    for (int i = 0; i < ek_op_test_count; i++) {
        if (strcmp(ek_op_tests[i]->info->name, name) == 0)
            return ek_op_tests[i];
    }
    ck_abort_msg("no operation is called %s", name);
    return NULL;
}

static int double_loop(const ek_op_test *test)
{
    for (int i = 0; i < test->info->loop_count; i++) {
        if (test->info->loops[i].dtype == (int)EK_F64)
            return i;
    }
    ck_abort_msg("%s has no loop of f64", test->info->name);
    return 0;
}

static double *doubles(void)
{
    double *values = malloc(SAMPLES * sizeof *values);
    ck_assert_ptr_nonnull(values);
    return values;
}

/* From -1 to 1. */
static double uniform(uint64_t seed, int64_t i)
{
    return (double)(ek_random(seed, (uint64_t)i) >> 11) * 0x1p-52 - 1;
}

/* Half of the numbers between -4 and 4, the others of any size from 2^-8 to 2^8. */
static double sample(uint64_t seed, int64_t i)
{
    double u = uniform(seed, i);
    return i % 2 ? 4 * u : ldexp(u < 0 ? -1 - u / -2 : 1 + u / 2, (int)(8 * uniform(seed + 1, i)));
}

static void fill(subject *s)
{
    int loop = s->forward_loop;
    for (int k = 0; k < s->forward->info->inputs; k++) {
        ek_dtype dtype = ek_input_dtype(s->forward, loop, k);
        for (int64_t i = 0; i < SAMPLES; i++) {
            if (dtype == EK_F64)
                ((double *)s->in[k])[i] = s->how->fixed[k] >= 0 ? s->params[s->how->fixed[k]]
                                                                : sample(2 * (uint64_t)k, i);
            else
                ((uint8_t *)s->in[k])[i] = uniform(7, i) > 0;
        }
    }
    for (int64_t i = 0; i < SAMPLES; i++)
        s->gradient[i] = uniform(8, i) < 0 ? uniform(9, i) - 1.5 : uniform(9, i) + 1.5;
}

static void call(const ek_op_test *test, int loop, const void *const *in, const double *params,
                 void *const *out)
{
    const ek_place *places;
    ek_places(&places);
    ek_status status = test->typed(places[0].queue, loop, SAMPLES, in, params, out);
    ck_assert_msg(status == EK_OK, "%s", ek_error_message());
}

/* The forward operation's result where every input has gone `steps` steps in its direction; `at` is
 * where the inputs then are. */
static void go(const subject *s, double steps, double *const *at, double *result)
{
    const void *in[EK_MAX_INPUTS];
    for (int k = 0; k < s->forward->info->inputs; k++) {
        in[k] = s->way[k] ? at[k] : s->in[k];
        for (int64_t i = 0; i < SAMPLES && s->way[k]; i++)
            at[k][i] = ((double *)s->in[k])[i] + steps * step * s->way[k][i];
    }
    call(s->forward, s->forward_loop, in, s->forward_params, (void *[]){result});
}

static void differentiate(subject *s)
{
    const void *in[EK_MAX_INPUTS];
    for (int k = 0; k < s->test->info->inputs; k++)
        in[k] = s->how->inputs[k] == EK_GRADIENT ? s->gradient
                : s->how->inputs[k] == EK_RESULT ? s->result
                                                 : s->in[s->how->inputs[k]];
    call(s->test, s->loop, in, s->params, (void *const *)s->out);
}

/* What the operation gives for a sample in the direction: of each input its gradient times how far
 * it goes. */
static double gradient_along(const subject *s, int64_t i)
{
    double sum = 0;
    for (int k = 0; k < s->test->info->outputs; k++) {
        const double *way = s->way[s->how->outputs[k]];
        sum += way && way[i] != 0 ? s->out[k][i] * way[i] : 0;
    }
    return sum;
}

/* Compares a sample with the differences to the left and to the right, which may be off by `error`
 * and differ by `bend` where there is a derivative. */
static bool agrees(const subject *s, int64_t i, double left, double right, double error,
                   double bend)
{
    double size = 1 + fabs(left) + fabs(right);
    if (!(fabs(right - left) <= bend * size))
        return true;
    double wanted = (left + right) / 2 * s->gradient[i];
    return fabs(gradient_along(s, i) - wanted) <= error * size * fabs(s->gradient[i]);
}

static void wrong(const subject *s, int64_t i, double left, double right, const char *what)
{
    ck_abort_msg("%s: sample %d of %s, %.17g: the gradient is %.17g, %s gives %.17g",
                 s->test->info->name, (int)i, s->forward->info->name,
                 s->way[0] ? ((double *)s->in[0])[i] : ((double *)s->in[1])[i],
                 gradient_along(s, i), what, (left + right) / 2 * s->gradient[i]);
}

static bool counts(double left, double right, double bend)
{
    return fabs(right - left) <= bend * (1 + fabs(left) + fabs(right));
}

/* Against differences of the operation's own results. A step of 2^-18 leaves errors of about 2^-36
 * of curvature and of rounding, more where values are large. */
static void compare_results(subject *s)
{
    double *at[EK_MAX_INPUTS], *low = doubles(), *high = doubles();
    for (int k = 0; k < s->forward->info->inputs; k++)
        at[k] = doubles();
    go(s, 1, at, high);
    go(s, -1, at, low);
    for (int64_t i = 0; i < SAMPLES; i++) {
        const double bend = 0x1p-10;
        double left = (s->result[i] - low[i]) / step, right = (high[i] - s->result[i]) / step;
        double error = 0x1p-22 * (1 + fabs(s->result[i]));
        if (!agrees(s, i, left, right, error, bend))
            wrong(s, i, left, right, "the difference of its results");
        s->compared += counts(left, right, bend);
    }
    for (int k = 0; k < s->forward->info->inputs; k++)
        free(at[k]);
    free(low);
    free(high);
}

typedef struct numbers {
    mpfr_t in[EK_MAX_INPUTS], result[3], t, u;
} numbers;

static void reference_at(const subject *s, numbers *n, int64_t i, int steps)
{
    mpfr_srcptr in[EK_MAX_INPUTS];
    for (int k = 0; k < s->forward->info->inputs; k++) {
        mpfr_set_d(n->in[k], s->way[k] ? s->way[k][i] * steps : 0, MPFR_RNDN);
        mpfr_div_2ui(n->in[k], n->in[k], FINE, MPFR_RNDN);
        mpfr_add_d(n->in[k], n->in[k], ((double *)s->in[k])[i], MPFR_RNDN);
        in[k] = n->in[k];
    }
    s->forward->references[0](n->result[steps + 1], in, s->forward_params, n->t, n->u);
}

/* What lies between two results, in steps. */
static double slope(numbers *n, int from)
{
    mpfr_sub(n->t, n->result[from + 1], n->result[from], MPFR_RNDN);
    mpfr_mul_2ui(n->t, n->t, FINE, MPFR_RNDN);
    return mpfr_get_d(n->t, MPFR_RNDN);
}

/* Against differences of the reference: what is left of an error is the gradient's. */
static void compare_reference(subject *s)
{
    numbers n;
    for (int k = 0; k < EK_MAX_INPUTS; k++)
        mpfr_init2(n.in[k], PRECISION);
    for (int k = 0; k < 3; k++)
        mpfr_init2(n.result[k], PRECISION);
    mpfr_inits2(PRECISION, n.t, n.u, (mpfr_ptr)0);
    for (int64_t i = 0; i < SAMPLES; i += 4) {
        for (int steps = -1; steps <= 1; steps++)
            reference_at(s, &n, i, steps);
        double left = slope(&n, 0), right = slope(&n, 1);
        if (!agrees(s, i, left, right, 0x1p-44, 0x1p-60))
            wrong(s, i, left, right, "the difference of its references");
    }
    for (int k = 0; k < EK_MAX_INPUTS; k++)
        mpfr_clear(n.in[k]);
    for (int k = 0; k < 3; k++)
        mpfr_clear(n.result[k]);
    mpfr_clears(n.t, n.u, (mpfr_ptr)0);
}

static bool has_reference(const subject *s)
{
    bool fits = s->forward->references[0] != NULL;
    for (int k = 0; k < s->forward->info->inputs; k++)
        fits &= ek_input_dtype(s->forward, s->forward_loop, k) == EK_F64;
    return fits;
}

static void compare(subject *s)
{
    compare_results(s);
    if (has_reference(s))
        compare_reference(s);
}

/* One input at a time, then all at once. */
static void check_directions(subject *s)
{
    double *one = doubles();
    for (int64_t i = 0; i < SAMPLES; i++)
        one[i] = 1;
    for (int k = 0; k < s->test->info->outputs; k++) {
        memset(s->way, 0, sizeof s->way);
        s->way[s->how->outputs[k]] = one;
        compare(s);
    }
    memset(s->way, 0, sizeof s->way);
    for (int k = 0; k < s->test->info->outputs; k++) {
        double *way = s->way[s->how->outputs[k]] = doubles();
        for (int64_t i = 0; i < SAMPLES; i++)
            way[i] = uniform(20 + (uint64_t)k, i);
    }
    compare(s);
    for (int k = 0; k < EK_MAX_INPUTS; k++)
        free(s->way[k]);
    memset(s->way, 0, sizeof s->way);
    free(one);
}

static void choose_params(subject *s, int set)
{
    const ek_op_info *mine = s->test->info, *other = s->forward->info;
    s->params = s->test->sets ? s->test->sets + set * mine->param_count : NULL;
    for (int k = 0; k < other->param_count; k++)
        s->forward_params[k] =
            s->how->params[k] >= 0 ? s->params[s->how->params[k]] : s->forward->sets[k];
}

static void check_derivative(const ek_op_test *test)
{
    subject s = {.test = test, .forward = find(test->derivative->of), .how = test->derivative};
    s.loop = double_loop(test);
    s.forward_loop = double_loop(s.forward);
    for (int k = 0; k < s.forward->info->inputs; k++)
        s.in[k] = doubles();
    for (int k = 0; k < test->info->outputs; k++)
        s.out[k] = doubles();
    s.gradient = doubles();
    s.result = doubles();
    int sets = test->set_count ? test->set_count : 1, directions = test->info->outputs + 1;
    for (int set = 0; set < sets; set++) {
        choose_params(&s, set);
        fill(&s);
        call(s.forward, s.forward_loop, (const void *const *)s.in, s.forward_params,
             (void *[]){s.result});
        differentiate(&s);
        check_directions(&s);
    }
    /* Some functions are defined for half of the numbers, and have kinks or bend much there. */
    ck_assert_msg(s.compared * 4 > (int64_t)SAMPLES * sets * directions,
                  "%s: only %d samples have a derivative", test->info->name, (int)s.compared);
    for (int k = 0; k < s.forward->info->inputs; k++)
        free(s.in[k]);
    for (int k = 0; k < test->info->outputs; k++)
        free(s.out[k]);
    free(s.gradient);
    free(s.result);
}

START_TEST(derivative)
{
    if (ek_op_tests[_i]->derivative)
        check_derivative(ek_op_tests[_i]);
}
END_TEST

static Suite *backward_suite(void)
{
    Suite *suite = suite_create("backward");
    TCase *all = tcase_create("backward");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, derivative, 0, ek_op_test_count);
    suite_add_tcase(suite, all);
    return suite;
}

int main(void)
{
    ek_counts counts = {0, 0, 0};
    ek_run_suite(backward_suite(), &counts);
    return ek_end(&counts);
}
