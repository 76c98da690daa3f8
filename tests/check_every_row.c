/* Every row of the ops table on the fake driver (O004): its typed and array calls, in every dtype,
 * with data on device 1 and no context, that of device 0 or that of device 1 current. Work reaches
 * device 1 alone, the caller's context stays, nothing that needs a context is called without, and
 * what a warm call asks of the driver is what tests/driver_calls.txt says. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "driver_table.h"
#include "fake.h"
#include "subject.h"

enum { HOME = 1, CONTEXTS = FAKE_DEVICES + 1 };

/* The calls that are made of each operation. */
typedef struct variety {
    const char *name;
    bool typed;
    int64_t lengths[3]; /* typed calls */
    int64_t product[3]; /* the same for products, which grow in two dimensions */
    int64_t shape[2];   /* array calls */
    bool strided;
} variety;

static const variety varieties[] = {
    {"typed", true, {3, 37, 1}, {3, 37, 1}, {0}, false},
    {"typed columns", true, {2, 37, 5}, {2, 37, 5}, {0}, false},
    {"typed long", true, {1, 40000, 1}, {2, 150, 70}, {0}, false},
    {"typed long columns", true, {1, 5000, 2}, {1, 70, 150}, {0}, false},
    {"array", false, {0}, {0}, {3, 5}, false},
    {"array turned", false, {0}, {0}, {3, 5}, true},
    {"array long", false, {0}, {0}, {3, 20000}, false},
};

enum { VARIETIES = sizeof varieties / sizeof varieties[0] };

static void open_subject(ek_subject *s, const ek_place *place, const ek_typed_test *test, int loop,
                         const variety *v)
{
    const ek_op_info *op = test->info;
    bool product = problem_form_of(op) == FORM_GEMM;
    if (v->typed) {
        ek_subject_open_typed(s, place, test, loop, product ? v->product : v->lengths);
        return;
    }
    int64_t shape[] = {v->shape[0], product ? v->shape[0] : v->shape[1]};
    ek_subject_layout layout = {2, shape, 2, v->strided};
    ck_assert(ek_subject_open(s, place, op, &op->loops[loop], &layout));
}

static void call(ek_subject *s, const char *variety)
{
    char text[160];
    if (ek_subject_call(s, s->place->queue, 0) == EK_OK)
        return;
    ek_subject_describe(s, text, sizeof text);
    ck_abort_msg("%s (%s): %s", text, variety, ek_error_message());
}

static ek_place open_place(void)
{
    const ek_place *places;
    ek_place place = {"cuda:1", fake_queue(fake_device_names[HOME])};
    ek_places(&places); /* opens the CPU, from which operands are copied */
    return place;
}

/* ---- where work goes */

START_TEST(rows_reach_their_device)
{
    const ek_typed_test *test = ek_typed_tests[_i / CONTEXTS];
    CUcontext mine = fake_set_current(_i % CONTEXTS - 1);
    ek_place place = open_place();
    for (int i = 0; i < VARIETIES * test->info->loop_count; i++) {
        ek_subject s;
        open_subject(&s, &place, test, i / VARIETIES, &varieties[i % VARIETIES]);
        int kernels = fake.kernels_of(HOME);
        call(&s, varieties[i % VARIETIES].name);
        if (fake.kernels_of(HOME) == kernels || fake.kernels() != fake.kernels_of(HOME) ||
            fake.last_launch().stream != ek_queue_stream(place.queue) || fake_current() != mine)
            ck_abort_msg("%s, %s: kernels on device 1: %d, elsewhere: %d; current context: %s",
                         test->info->name, varieties[i % VARIETIES].name,
                         fake.kernels_of(HOME) - kernels, fake.kernels() - fake.kernels_of(HOME),
                         fake_current() == mine ? "as before" : "another");
        ek_subject_close(&s);
    }
    ek_queue_close(place.queue);
    ck_assert_ptr_eq(fake_current(), mine);
    ck_assert_int_eq(fake.context_failures(), 0);
}
END_TEST

/* ---- calls that have nothing to do */

/* Makes the call if its output has no element: it must succeed and ask the driver for nothing.
 * Arrays without elements are null pointers. Returns whether it was made. */
static bool call_for_nothing(ek_subject *s, const char *name)
{
    bool empty = s->bytes == 0;
    int calls = fake.calls(NULL);
    if (empty)
        call(s, name);
    if (fake.calls(NULL) != calls)
        ck_abort_msg("%s, %s: %d calls of the driver", s->problem.op->name, name,
                     fake.calls(NULL) - calls);
    ek_subject_close(s);
    return empty;
}

static int make_empty_calls(const ek_place *place, const ek_typed_test *test, int loop)
{
    static const int64_t lengths[][3] = {{0, 37, 1}, {0, 0, 0}, {3, 0, 2}};
    static const struct {
        int32_t ndim;
        int64_t shape[4];
        unsigned axes;
    } arrays[] = {{1, {0}, 1}, {2, {0, 2}, 2}, {2, {2, 0}, 1}, {4, {0, 0, 2, 0}, 4}};
    int made = 0;
    ek_subject s;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        ek_subject_open_typed(&s, place, test, loop, lengths[i]);
        made += call_for_nothing(&s, "typed");
    }
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        ek_subject_layout layout = {arrays[i].ndim, arrays[i].shape, arrays[i].axes, false};
        if (ek_subject_open(&s, place, test->info, &test->info->loops[loop], &layout))
            made += call_for_nothing(&s, "array");
    }
    return made;
}

/* O042 */
START_TEST(empty_arrays_do_nothing)
{
    const ek_typed_test *test = ek_typed_tests[_i];
    const ek_place *places;
    fake_set_current(-1);
    ek_place place = open_place();
    ek_places(&places);
    for (int loop = 0; loop < test->info->loop_count; loop++) {
        ck_assert_int_ge(make_empty_calls(&place, test, loop), 4);
        ck_assert_int_ge(make_empty_calls(&places[0], test, loop), 4);
    }
    ek_queue_close(place.queue);
}
END_TEST

/* ---- what a call asks of the driver */

/* One of an operation's calls. */
typedef struct scene {
    ek_subject subject;
    const char *name;
} scene;

static void call_scene(void *of)
{
    scene *s = of;
    call(&s->subject, s->name);
}

static void count_row(ek_driver_table *table, const ek_place *place, const ek_typed_test *test)
{
    for (int i = 0; i < VARIETIES * test->info->loop_count; i++) {
        const variety *v = &varieties[i % VARIETIES];
        scene s = {.name = v->name};
        open_subject(&s.subject, place, test, i / VARIETIES, v);
        ek_driver_count(table, test->info->kind, v->name, NULL, call_scene, NULL, &s);
        ek_subject_close(&s.subject);
    }
}

START_TEST(calls_of_the_driver)
{
    ek_driver_table *table = ek_driver_table_open();
    fake_set_current(-1);
    ek_place place = open_place();
    for (int i = 0; i < ek_typed_test_count; i++)
        count_row(table, &place, ek_typed_tests[i]);
    ek_count_runtime(table);
    ek_driver_table_compare(table, EK_SRCDIR "/tests/driver_calls.txt");
    ek_driver_table_close(table);
    ek_queue_close(place.queue);
    ck_assert_int_eq(fake.context_failures(), 0);
}
END_TEST

static Suite *rows_suite(void)
{
    Suite *suite = suite_create("every row");
    TCase *rows = tcase_create("rows");
    tcase_set_timeout(rows, 60);
    tcase_add_loop_test(rows, rows_reach_their_device, 0, ek_typed_test_count * CONTEXTS);
    tcase_add_loop_test(rows, empty_arrays_do_nothing, 0, ek_typed_test_count);
    tcase_add_test(rows, calls_of_the_driver);
    suite_add_tcase(suite, rows);
    return suite;
}

int main(void)
{
    ek_counts counts = {0, 0, 0};
    if (!fake_open())
        return EXIT_FAILURE;
    ek_run_suite(rows_suite(), &counts);
    return ek_end(&counts);
}
