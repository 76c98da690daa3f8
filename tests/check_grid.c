/* Operations that depend on where an element is, on every place under test: arrays of any layout,
 * typed calls, calls in place and refusals. EK_TEST_DEVICE=cuda tests a GPU. */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "einkorn/ops/arange.h"
#include "einkorn/ops/linspace.h"
#include "einkorn/ops/position_encode.h"
#include "einkorn/ops/tril.h"
#include "einkorn/ops/triu.h"
#include "einkorn/view.h"
#include "format.h"
#include "place.h"
#include "values.h"
#include "view_model.h"

enum { BYTES = 1 << 20, HALF = BYTES / 2 };

static char before[BYTES], wanted[BYTES], after[BYTES];

/* Layouts of an array of four dimensions: in C order, across, backward, with gaps and off a
 * boundary, and the rows of a large one. */
enum { LAYOUTS = 5 };
static const int64_t shapes[][4] = {{1, 1, 1, 1}, {2, 3, 5, 7},    {1, 2, 33, 130},
                                    {3, 0, 2, 2}, {1, 1, 1, 5000}, {2, 1, 90, 4}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void lay_out(ek_dtype dtype, int which, const int64_t *shape, char *memory, ek_view *view)
{
    int64_t room[4];
    static const int32_t across[] = {0, 1, 3, 2};
    for (int d = 0; d < 4; d++)
        room[d] = shape[which == 1 ? across[d] : d] * (which == 3 && d == 3 ? 2 : 1);
    ek_array x = ek_array_view(memory, dtype, NULL, 4, room);
    x.device.type = EK_DEVICE_CPU;
    x.byte_offset = which == 3 || which == 4 ? ek_dtype_size(dtype) : 0;
    ck_assert_int_eq(ek_view_make(&x, view), EK_OK);
    if (which == 1)
        ck_assert_int_eq(ek_permute(&x, across, view), EK_OK);
    if (which == 2)
        ck_assert_int_eq(ek_flip(&x, 0, NULL, view), EK_OK);
    if (which == 3)
        ck_assert_int_eq(
            ek_slice(&x, 4, (ek_range[]){EK_WHOLE, EK_WHOLE, EK_WHOLE, {EK_NONE, EK_NONE, -2}},
                     view),
            EK_OK);
}

static ek_array at_place(const ek_view *view, const ek_place *place, char *memory)
{
    ek_array array = view->array;
    array.data = memory + ((char *)array.data - before);
    array.device = ek_array_view(NULL, EK_F32, ek_queue_device(place->queue), 0, NULL).device;
    return array;
}

static void begin(uint64_t seed)
{
    ek_random_values(EK_U8, seed, sizeof before, before);
    memcpy(wanted, before, sizeof before);
}

/* Every place's memory after a call must be the wanted bytes. */
static void compare(const char *name, const ek_op_info *op, const ek_view *x, const ek_view *out,
                    int32_t count, const ek_param *params)
{
    const ek_place *places;
    int tested = ek_tested_places(&places);
    for (int i = 0; i < tested; i++) {
        char *memory = ek_place_memory(&places[i], sizeof before);
        ek_upload(&places[i], memory, before, sizeof before);
        ek_array in = x ? at_place(x, &places[i], memory) : (ek_array){0};
        ek_array to = at_place(out, &places[i], memory);
        const ek_array *ins[] = {&in};
        ek_array *outs[] = {&to};
        ek_status status = ek_apply(places[i].queue, op, ins, count, params, outs);
        ck_assert_msg(status == EK_OK, "%s, %s: %s", name, places[i].name, ek_error_message());
        ek_download(&places[i], after, memory, sizeof after);
        ck_assert_msg(memcmp(after, wanted, sizeof after) == 0, "%s, %s: other bytes", name,
                      places[i].name);
    }
}

/* ---- arange */

typedef struct numbers {
    double start, step;
} numbers;

static void arange_element(ek_dtype dtype, numbers n, int64_t j, void *element)
{
    if (ek_is_float(dtype)) {
        double exact = fma((double)j, n.step, n.start);
        if (dtype != EK_F64)
            exact = (double)(float)exact;
        ek_element_round(dtype, exact, element);
        return;
    }
    unsigned __int128 value = (unsigned __int128)(__int128)n.start +
                              (unsigned __int128)j * (unsigned __int128)(__int128)n.step;
    memcpy(element, &value, ek_dtype_size(dtype));
}

START_TEST(aranges)
{
    static const numbers sets[] = {{0, 1}, {3, 5}, {-7, 2}, {100, -3}, {0.25, 0.125}};
    static model to;
    const ek_loop *loop = &ek_op_arange.info.loops[_i];
    ek_dtype dtype = (ek_dtype)loop->out[0];
    for (int s = 0; s < 5; s++) {
        bool is_unsigned = dtype >= EK_U8 && dtype <= EK_U64;
        if ((s == 4 && !ek_is_float(dtype)) || (is_unsigned && (s == 2 || s == 3)))
            continue;
        for (int shape = 0; shape < SHAPES; shape++)
            for (int layout = 0; layout < LAYOUTS; layout++) {
                ek_view out;
                begin((uint64_t)s);
                lay_out(dtype, layout, shapes[shape], before, &out);
                model_of(&out.array, &to);
                for (int64_t i = 0; i < to.size; i++)
                    arange_element(dtype, sets[s], i % to.shape[3], wanted + (to.at[i] - before));
                const ek_param params[] = {{.name = "start", .real = sets[s].start},
                                           {.name = "step", .real = sets[s].step}};
                compare("arange", &ek_op_arange.info, NULL, &out, 2, params);
            }
    }
}
END_TEST

/* Large numbers: 2^53 and more, where integers are exact and floats are rounded once. */
START_TEST(arange_far)
{
    const ek_place *places;
    int tested = ek_tested_places(&places);
    for (int i = 0; i < tested; i++) {
        int64_t integers[5];
        float floats[5];
        char *memory = ek_place_memory(&places[i], 256);
        ck_assert_int_eq(ek_arange_i64(places[i].queue, 1, 5, INT64_MAX - 1, 1, (void *)memory),
                         EK_OK);
        ek_download(&places[i], integers, memory, sizeof integers);
        ck_assert(integers[1] == INT64_MAX && integers[2] == INT64_MIN);
        ck_assert_int_eq(ek_arange_f32(places[i].queue, 1, 5, 16777216, 1, (void *)memory), EK_OK);
        ek_download(&places[i], floats, memory, sizeof floats);
        ck_assert(floats[1] == 16777216 && floats[3] == 16777220 && floats[4] == 16777220);
    }
}
END_TEST

/* ---- linspace: bits that NumPy 2 gives */

START_TEST(linspaces)
{
    static const struct {
        double start, stop;
        int64_t steps;
        double numbers[5];
    } known[] = {
        {0, 1, 3, {0, 0x1.5555555555555p-2, 0x1.5555555555555p-1, 1}},
        {-3, 5, 4, {-3, -1, 1, 3, 5}},
        {0.1, 0.7, 3, {0.1, 0x1.3333333333333p-2, 0.5, 0.7}},
        {0, 0x1p-1074, 2, {0, 0, 0x1p-1074}},
        {0, 0x1.8p-1073, 4, {0, 0x1p-1074, 0x1p-1073, 0x1.8p-1073, 0x1.8p-1073}},
        {1, 1, 2, {1, 1, 1}},
        {5, -5, 4, {5, 2.5, 0, -2.5, -5}},
    };
    const ek_place *places;
    int tested = ek_tested_places(&places);
    for (int i = 0; i < tested; i++) {
        char *memory = ek_place_memory(&places[i], 256);
        for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
            double got[5];
            float single[5];
            int64_t n = known[k].steps + 1;
            ck_assert_int_eq(ek_linspace_f64(places[i].queue, 1, n, known[k].start, known[k].stop,
                                             known[k].steps, (void *)memory),
                             EK_OK);
            ek_download(&places[i], got, memory, sizeof got);
            for (int64_t j = 0; j < n; j++)
                if (got[j] != known[k].numbers[j])
                    ck_abort_msg("%s: linspace %d has %a at %d: %a", places[i].name, (int)k, got[j],
                                 (int)j, known[k].numbers[j]);
            ck_assert_int_eq(
                ek_linspace_f32(places[i].queue, 1, n, 0.5f, 2.5f, known[k].steps, (void *)memory),
                EK_OK);
            ek_download(&places[i], single, memory, sizeof single);
            for (int64_t j = 0; j < n; j++)
                ck_assert(single[j] == (float)((double)j * (2.0 / (double)known[k].steps) + 0.5));
            ck_assert(single[n - 1] == 2.5f);
        }
    }
}
END_TEST

START_TEST(linspaces_everywhere)
{
    static model to;
    const ek_loop *loop = &ek_op_linspace.info.loops[_i];
    ek_dtype dtype = (ek_dtype)loop->out[0];
    for (int shape = 0; shape < SHAPES; shape++)
        for (int layout = 0; layout < LAYOUTS; layout++) {
            ek_view out;
            begin(3);
            lay_out(dtype, layout, shapes[shape], before, &out);
            model_of(&out.array, &to);
            for (int64_t i = 0; i < to.size; i++) {
                double step = -4.5 / 130, number = (double)(i % to.shape[3]) * step + 1.25;
                if (i % to.shape[3] == 130)
                    number = -3.25;
                if (dtype != EK_F64)
                    number = (double)(float)number;
                ek_element_round(dtype, number, wanted + (to.at[i] - before));
            }
            const ek_param params[] = {{.name = "start", .real = 1.25},
                                       {.name = "stop", .real = -3.25},
                                       {.name = "steps", .integer = 130}};
            compare("linspace", &ek_op_linspace.info, NULL, &out, 3, params);
        }
}
END_TEST

/* ---- triangles */

START_TEST(triangles)
{
    static const int64_t diagonals[] = {0, 1, -2, 1000, -1000, INT64_MAX, INT64_MIN};
    static model from, to;
    ek_dtype dtype = (ek_dtype)_i;
    for (int d = 0; d < 7; d++)
        for (int shape = 0; shape < SHAPES; shape++)
            for (int layout = 0; layout < 2 * LAYOUTS; layout++) {
                int64_t k = diagonals[d], size = (int64_t)ek_dtype_size(dtype);
                bool upper = (d + shape + layout) & 1, in_place = layout >= LAYOUTS;
                ek_view x, out;
                begin((uint64_t)d);
                lay_out(dtype, layout % LAYOUTS, shapes[shape], before, &out);
                lay_out(dtype, in_place ? layout - LAYOUTS : (layout + d) % LAYOUTS, shapes[shape],
                        in_place ? before : before + HALF, &x);
                model_of(&out.array, &to);
                model_of(&x.array, &from);
                for (int64_t i = 0; i < to.size; i++) {
                    int64_t column = i % to.shape[3], row = i / to.shape[3] % to.shape[2];
                    bool kept = upper ? column - row >= k : column - row <= k;
                    char *at = wanted + (to.at[i] - before);
                    memset(at, 0, (size_t)size);
                    if (kept)
                        memcpy(at, from.at[i], (size_t)size);
                }
                const ek_param param = {.name = "k", .integer = k};
                compare(upper ? "triu" : "tril", upper ? &ek_op_triu.info : &ek_op_tril.info, &x,
                        &out, 1, &param);
            }
}
END_TEST

/* NumPy's tril of a vector: every row is it. */
START_TEST(triangle_of_a_vector)
{
    const ek_place *places;
    int tested = ek_tested_places(&places);
    for (int i = 0; i < tested; i++) {
        int32_t got[9];
        int64_t three[] = {3}, square[] = {3, 3};
        const ek_device *device = ek_queue_device(places[i].queue);
        char *memory = ek_place_memory(&places[i], 256);
        ek_upload(&places[i], memory, (const int32_t[]){1, 2, 3}, 12);
        ek_array x = ek_array_view(memory, EK_I32, device, 1, three);
        ek_array out = ek_array_view(memory + 64, EK_I32, device, 2, square);
        ck_assert_int_eq(ek_tril(places[i].queue, &x, 0, &out), EK_OK);
        ek_download(&places[i], got, memory + 64, sizeof got);
        ck_assert(memcmp(got, (const int32_t[]){1, 0, 0, 1, 2, 0, 1, 2, 3}, sizeof got) == 0);
        ck_assert_int_eq(
            ek_triu_i32(places[i].queue, 3, 3, (void *)(memory + 64), 1, (void *)(memory + 64)),
            EK_OK);
        ek_download(&places[i], got, memory + 64, sizeof got);
        ck_assert(memcmp(got, (const int32_t[9]){0}, sizeof got) == 0);
    }
}
END_TEST

/* ---- position_encode */

/* The exact number, far enough. */
static double position(int64_t i, int64_t j, int64_t width, double period, double power,
                       bool single)
{
    mpfr_t angle, exponent;
    mpfr_inits2(300, angle, exponent, (mpfr_ptr)NULL);
    mpfr_set_d(exponent, power * (double)(j - j % 2), MPFR_RNDN);
    mpfr_div_si(exponent, exponent, (long)width, MPFR_RNDN);
    mpfr_set_d(angle, single ? (double)(float)period : period, MPFR_RNDN);
    mpfr_pow(angle, angle, exponent, MPFR_RNDN);
    mpfr_si_div(angle, (long)i, angle, MPFR_RNDN);
    (j % 2 ? mpfr_cos : mpfr_sin)(angle, angle, MPFR_RNDN);
    double result = mpfr_get_d(angle, MPFR_RNDN);
    mpfr_clears(angle, exponent, (mpfr_ptr)NULL);
    return result;
}

START_TEST(positions)
{
    static const struct {
        int64_t width;
        double period, power;
    } sets[] = {{16, 10000, 1}, {7, 100, 2}, {65, 3, 0.5}};
    const ek_loop *loop = &ek_op_position_encode.info.loops[_i];
    ek_dtype dtype = (ek_dtype)loop->out[0];
    ek_format format = ek_format_of(dtype);
    double rounding = ldexp(1, -format.precision), worst = 0;
    for (int s = 0; s < 3; s++) {
        const ek_place *places;
        int tested = ek_tested_places(&places);
        for (int p = 0; p < tested; p++) {
            int64_t shape[] = {400, sets[s].width}, n = shape[0] * shape[1];
            char *memory = ek_place_memory(&places[p], BYTES);
            ek_array out = ek_array_view(memory, dtype, ek_queue_device(places[p].queue), 2, shape);
            ck_assert_int_eq(ek_position_encode(places[p].queue, sets[s].width, sets[s].period,
                                                sets[s].power, &out),
                             EK_OK);
            ek_download(&places[p], p ? after : wanted, memory, (size_t)n * ek_dtype_size(dtype));
            if (p > 0)
                ck_assert_msg(memcmp(after, wanted, (size_t)n * ek_dtype_size(dtype)) == 0,
                              "%s: other bits", places[p].name);
        }
        for (int64_t i = 0; i < 400; i++)
            for (int64_t j = 0; j < sets[s].width; j++) {
                double exact =
                    position(i, j, sets[s].width, sets[s].period, sets[s].power, dtype != EK_F64);
                double got = ek_element_value(dtype, wanted + (i * sets[s].width + j) *
                                                                  (int64_t)ek_dtype_size(dtype));
                double allowed = 1.01 * rounding + (double)i * 0x1p-51, error = fabs(got - exact);
                worst = error > worst ? error : worst;
                if (error > allowed)
                    ck_abort_msg("set %d, (%d, %d): %a, should be %a", s, (int)i, (int)j, got,
                                 exact);
            }
    }
    ck_assert(worst > 0);
}
END_TEST

/* ---- refusals */

static void refused(ek_status status, ek_status wanted_status, const char *words)
{
    ck_assert_int_eq(status, wanted_status);
    ck_assert_msg(strstr(ek_error_message(), words), "%s", ek_error_message());
}

START_TEST(refusals)
{
    const ek_place *places;
    ek_tested_places(&places);
    ek_queue *q = places->queue;
    const ek_device *device = ek_queue_device(q);
    char *memory = ek_place_memory(places, BYTES);
    int64_t shape[] = {2, 3}, other[] = {3, 3}, zeros[] = {0, 1};
    ek_array x = ek_array_view(memory, EK_F32, device, 2, shape);
    ek_array out = ek_array_view(memory + 512, EK_F32, device, 2, shape), near = x;
    float *floats = (float *)memory;
    near.byte_offset = 4;
    refused(ek_arange(NULL, 0, 1, &out), EK_INVALID_ARGUMENT, "ek_arange: queue is null");
    refused(ek_arange(q, 0, 1, NULL), EK_INVALID_ARGUMENT, "ek_arange: out is null");
    refused(ek_arange_f32(q, -1, 1, 0, 1, floats), EK_INVALID_ARGUMENT, "ek_arange_f32: -1 rows");
    refused(ek_arange_f32(q, INT64_MAX, 3, 0, 1, floats), EK_INVALID_ARGUMENT, "at most");
    refused(ek_arange_f32(q, 1, 3, 0, 1, NULL), EK_INVALID_ARGUMENT, "out is null");
    refused(ek_tril_f32(q, 2, 3, floats, 0, floats + 1), EK_OVERLAP, "ek_tril_f32: out at");
    refused(ek_linspace(q, 0, 1, 0, &out), EK_INVALID_ARGUMENT, "steps is 0: must be 1 or larger");
    refused(ek_linspace_f32(q, 1, 3, 0, 1, -1, floats), EK_INVALID_ARGUMENT, "steps is -1");
    refused(ek_position_encode(q, 8, 0, 1, &out), EK_INVALID_ARGUMENT, "period is 0");
    refused(ek_tril(q, &x, 0, &near), EK_OVERLAP, "ek_tril: out at");
    ck_assert_int_eq(ek_arange_f32(q, 0, 3, 0, 1, NULL), EK_OK);
    out.strides = zeros;
    refused(ek_arange(q, 0, 1, &out), EK_OVERLAP, "overlaps itself");
    out.strides = NULL;
    out.shape = other;
    refused(ek_tril(q, &x, 0, &out), EK_SHAPE_MISMATCH, "does not broadcast to out's (3, 3)");
    out = ek_array_view(memory + 512, EK_I16, device, 2, shape);
    refused(ek_tril(q, &x, 0, &out), EK_DTYPE_MISMATCH, "x is f32: out is i16");
    refused(ek_arange(q, 0.5, 1, &out), EK_INVALID_ARGUMENT, "start is 0.5");
    refused(ek_linspace(q, 0, 1, 2, &out), EK_DTYPE_MISMATCH, "out is i16: no kernel");
}
END_TEST

static Suite *grid_suite(void)
{
    Suite *suite = suite_create("grid");
    TCase *all = tcase_create("grid");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, aranges, 0, ek_op_arange.info.loop_count);
    tcase_add_test(all, arange_far);
    tcase_add_test(all, linspaces);
    tcase_add_loop_test(all, linspaces_everywhere, 0, ek_op_linspace.info.loop_count);
    tcase_add_loop_test(all, triangles, 0, EK_DTYPES);
    tcase_add_test(all, triangle_of_a_vector);
    tcase_add_loop_test(all, positions, 0, ek_op_position_encode.info.loop_count);
    tcase_add_test(all, refusals);
    suite_add_tcase(suite, all);
    return suite;
}

int main(void)
{
    return ek_run_at_places(grid_suite, 12 + 4 + EK_DTYPES + 4 + 4);
}
