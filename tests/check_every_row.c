/* Every row of the ops table on the fake driver (O004): its typed and array calls, in every dtype,
 * with data on device 1 and no context, that of device 0 or that of device 1 current. Work reaches
 * device 1 alone, the caller's context stays, nothing that needs a context is called without, and
 * what a warm call asks of the driver is what tests/driver_calls.txt says. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
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

/* ---- what a call asks of the driver */

enum { TEXT = 128, LINE = 256, MAX_ASKED = 128, MAX_ENTRIES = 64 };

/* What some calls of a kind ask for. */
typedef struct asked {
    const char *kind, *current;
    char calls[TEXT];
    unsigned varieties; /* a bit for each */
} asked;

typedef struct table {
    int count;
    asked row[MAX_ASKED];
} table;

static void note(table *t, const char *kind, int variety, const char *current, const char *calls)
{
    int i = 0;
    while (i < t->count && (strcmp(t->row[i].kind, kind) || strcmp(t->row[i].calls, calls) ||
                            strcmp(t->row[i].current, current)))
        i++;
    ck_assert_int_lt(i, MAX_ASKED);
    if (i == t->count) {
        t->row[i] = (asked){.kind = kind, .current = current};
        snprintf(t->row[i].calls, TEXT, "%s", calls);
        t->count++;
    }
    t->row[i].varieties |= 1u << variety;
}

/* The calls since `before`, "cuCtxGetCurrent + 2 cuLaunchKernel". Launches in clusters are
 * launches: not every build has them. */
static void describe_calls(const int *before, char *text, size_t size)
{
    size_t used = 0;
    const char *name;
    *text = '\0';
    for (int i = 0; (name = fake.entry(i)); i++) {
        int calls = fake.calls(name) - (i < MAX_ENTRIES ? before[i] : 0);
        if (strcmp(name, "cuLaunchKernelEx") == 0)
            continue;
        if (strcmp(name, "cuLaunchKernel") == 0)
            calls += fake.calls("cuLaunchKernelEx") - before[MAX_ENTRIES];
        if (calls == 0)
            continue;
        used += (size_t)snprintf(text + used, size - used, used ? " + " : "");
        if (calls > 1)
            used += (size_t)snprintf(text + used, size - used, "%d ", calls);
        used += (size_t)snprintf(text + used, size - used, "%s", name);
    }
}

/* What a second call asks for, with each of the contexts current. */
static void count_calls(table *t, ek_subject *s, int variety)
{
    static const char *const names[CONTEXTS] = {"none", "another", "its own"};
    char calls[CONTEXTS][TEXT];
    CUcontext popped;
    for (int context = 0; context < CONTEXTS; context++) {
        int before[MAX_ENTRIES + 1] = {0};
        const char *name;
        fake_set_current(context - 1);
        call(s, varieties[variety].name);
        for (int i = 0; (name = fake.entry(i)) && i < MAX_ENTRIES; i++)
            before[i] = fake.calls(name);
        before[MAX_ENTRIES] = fake.calls("cuLaunchKernelEx");
        call(s, varieties[variety].name);
        describe_calls(before, calls[context], sizeof calls[context]);
        if (context > 0)
            fake.pop(&popped);
    }
    const char *kind = s->problem.op->kind;
    if (strcmp(calls[0], calls[1]) == 0 && strcmp(calls[0], calls[2]) == 0) {
        note(t, kind, variety, "any", calls[0]);
        return;
    }
    for (int context = 0; context < CONTEXTS; context++)
        note(t, kind, variety, names[context], calls[context]);
}

static int compare_rows(const void *left, const void *right)
{
    const asked *a = left, *b = right;
    int order = strcmp(a->kind, b->kind);
    order = order ? order : strcmp(a->current, b->current);
    return order ? order : strcmp(a->calls, b->calls);
}

static const char *line_of(const asked *a, char *line)
{
    int used = snprintf(line, LINE, "%s; %s; ", a->kind, a->current);
    const char *gap = "";
    for (int v = 0; v < VARIETIES && a->varieties != (1u << VARIETIES) - 1; v++) {
        if (!(a->varieties >> v & 1))
            continue;
        used += snprintf(line + used, (size_t)(LINE - used), "%s%s", gap, varieties[v].name);
        gap = ", ";
    }
    snprintf(line + used, (size_t)(LINE - used), "%s; %s\n", *gap ? "" : "all", a->calls);
    return line;
}

static const char heading[] = "# What a second call of an operation asks of the driver and of "
                              "cuBLAS, whatever its dtype: kind;\n"
                              "# current context; calls (tests/check_every_row.c); entries. It "
                              "compares, and with EK_UPDATE=1\n"
                              "# writes this file anew.\n";

static const char path[] = EK_SRCDIR "/tests/driver_calls.txt";

static void write_table(const table *t)
{
    char line[LINE];
    FILE *file = fopen(path, "w");
    ck_assert_msg(file != NULL, "%s cannot be written", path);
    fputs(heading, file);
    for (int i = 0; i < t->count; i++)
        fputs(line_of(&t->row[i], line), file);
    fclose(file);
}

static void compare_table(const table *t)
{
    char line[LINE], wanted[LINE];
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s is missing", path);
    do {
        ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    } while (*line == '#');
    for (int i = 0; i < t->count; i++) {
        ck_assert_msg(strcmp(line, line_of(&t->row[i], wanted)) == 0,
                      "%s should have: %sinstead of: %s", path, wanted, line);
        *line = '\0';
        fgets(line, sizeof line, file);
    }
    ck_assert_msg(*line == '\0', "%s has a line too many: %s", path, line);
    fclose(file);
}

START_TEST(calls_of_the_driver)
{
    static table t;
    const char *update = getenv("EK_UPDATE");
    fake_set_current(-1);
    ek_place place = open_place();
    for (int i = 0; i < ek_typed_test_count; i++) {
        const ek_typed_test *test = ek_typed_tests[i];
        for (int k = 0; k < VARIETIES * test->info->loop_count; k++) {
            ek_subject s;
            open_subject(&s, &place, test, k / VARIETIES, &varieties[k % VARIETIES]);
            count_calls(&t, &s, k % VARIETIES);
            ek_subject_close(&s);
        }
    }
    qsort(t.row, (size_t)t.count, sizeof t.row[0], compare_rows);
    if (update && strcmp(update, "1") == 0)
        write_table(&t);
    compare_table(&t);
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
