#include "driver_table.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

enum { NONE, ANOTHER, OWN }; /* what is current */

enum { TEXT = 512, LINE = 1024, MOST_ROWS = 256, MOST_NAMES = 32, MOST_ENTRIES = 128 };

/* "cuCtxGetCurrent + 2 cuLaunchKernel" */
typedef struct asked {
    char text[TEXT];
} asked;

/* What some calls of a kind ask for. */
typedef struct row {
    const char *kind, *current;
    asked asked;
    int count;
    const char *names[MOST_NAMES];
} row;

struct ek_driver_table {
    int count;
    row rows[MOST_ROWS];
};

typedef struct snapshot {
    int calls[MOST_ENTRIES];
} snapshot;

ek_driver_table *ek_driver_table_open(void)
{
    ek_driver_table *table = calloc(1, sizeof *table);
    ck_assert_ptr_nonnull(table);
    return table;
}

void ek_driver_table_close(ek_driver_table *table)
{
    free(table);
}

/* ---- counting */

static snapshot take_snapshot(void)
{
    snapshot taken = {{0}};
    const char *name;
    for (int i = 0; (name = fake.entry(i)); i++) {
        ck_assert_int_lt(i, MOST_ENTRIES);
        taken.calls[i] = fake.calls(name);
    }
    return taken;
}

/* The calls of an entry since then. Launches in clusters are launches: not every build has them. */
static int calls_since(const snapshot *before, int i)
{
    int calls = fake.calls(fake.entry(i)) - before->calls[i];
    for (int k = 0; strcmp(fake.entry(i), "cuLaunchKernel") == 0 && fake.entry(k); k++) {
        if (strcmp(fake.entry(k), "cuLaunchKernelEx") == 0)
            calls += fake.calls(fake.entry(k)) - before->calls[k];
    }
    return strcmp(fake.entry(i), "cuLaunchKernelEx") == 0 ? 0 : calls;
}

/* The entry whose name is next in the alphabet; -1: none. The driver lists them as they are first
 * called, which is another order with every operation that is new. */
static int next_entry(const char *name)
{
    int next = -1;
    for (int i = 0; fake.entry(i); i++) {
        if (strcmp(fake.entry(i), name) > 0 &&
            (next < 0 || strcmp(fake.entry(i), fake.entry(next)) < 0))
            next = i;
    }
    return next;
}

static asked describe(const snapshot *before)
{
    asked asked = {"nothing"};
    char *text = asked.text;
    size_t used = 0;
    for (int i = next_entry(""); i >= 0; i = next_entry(fake.entry(i))) {
        int calls = calls_since(before, i);
        if (calls == 0)
            continue;
        used += (size_t)snprintf(text + used, TEXT - used, used ? " + " : "");
        if (calls > 1)
            used += (size_t)snprintf(text + used, TEXT - used, "%d ", calls);
        used += (size_t)snprintf(text + used, TEXT - used, "%s", fake.entry(i));
        ck_assert_uint_lt(used, TEXT);
    }
    return asked;
}

/* In the alphabet's order, once. */
static void add_name(row *row, const char *name)
{
    int at = 0;
    while (at < row->count && strcmp(row->names[at], name) < 0)
        at++;
    if (at < row->count && strcmp(row->names[at], name) == 0)
        return;
    ck_assert_int_lt(row->count, MOST_NAMES);
    memmove(&row->names[at + 1], &row->names[at], (size_t)(row->count - at) * sizeof *row->names);
    row->names[at] = name;
    row->count++;
}

static void note(ek_driver_table *table, const char *kind, const char *name, const char *current,
                 const asked *asked)
{
    int i = 0;
    row *rows = table->rows;
    while (i < table->count &&
           (strcmp(rows[i].kind, kind) || strcmp(rows[i].asked.text, asked->text) ||
            strcmp(rows[i].current, current)))
        i++;
    ck_assert_int_lt(i, MOST_ROWS);
    if (i == table->count) {
        rows[i] = (row){.kind = kind, .current = current, .asked = *asked};
        table->count++;
    }
    add_name(&rows[i], name);
}

void ek_driver_count(ek_driver_table *table, const char *kind, const char *name,
                     void (*before)(void *scene), void (*call)(void *scene),
                     void (*after)(void *scene), void *scene)
{
    asked asked[OWN + 1];
    for (int context = NONE; context <= OWN; context++) {
        CUcontext popped;
        fake_set_current(context - 1);
        for (int time = 0; time < 2; time++) {
            if (before)
                before(scene);
            snapshot taken = take_snapshot();
            call(scene);
            asked[context] = describe(&taken);
            if (after)
                after(scene);
        }
        if (context != NONE)
            fake.pop(&popped);
    }
    bool guarded = strcmp(asked[NONE].text, asked[OWN].text) != 0 ||
                   strcmp(asked[ANOTHER].text, asked[OWN].text) != 0;
    bool alike = strcmp(asked[NONE].text, asked[ANOTHER].text) == 0;
    note(table, kind, name, guarded ? "its own" : "any", &asked[OWN]);
    if (guarded)
        note(table, kind, name, alike ? "none or another" : "none", &asked[NONE]);
    if (guarded && !alike)
        note(table, kind, name, "another", &asked[ANOTHER]);
}

/* ---- the file */

static int compare_rows(const void *left, const void *right)
{
    const row *a = left, *b = right;
    int order = strcmp(a->kind, b->kind);
    order = order ? order : strcmp(a->current, b->current);
    return order ? order : strcmp(a->asked.text, b->asked.text);
}

static bool alone(const ek_driver_table *table, const row *one)
{
    for (int i = 0; i < table->count; i++) {
        if (&table->rows[i] != one && strcmp(table->rows[i].kind, one->kind) == 0)
            return false;
    }
    return one->count > 1;
}

static const char *line_of(const ek_driver_table *table, const row *one, char *line)
{
    size_t used = (size_t)snprintf(line, LINE, "%s; %s; ", one->kind, one->current);
    if (alone(table, one))
        used += (size_t)snprintf(line + used, LINE - used, "all");
    for (int i = 0; i < one->count && !alone(table, one); i++)
        used += (size_t)snprintf(line + used, LINE - used, "%s%s", i ? ", " : "", one->names[i]);
    used += (size_t)snprintf(line + used, LINE - used, "; %s\n", one->asked.text);
    ck_assert_uint_lt(used, LINE);
    return line;
}

static const char heading[] =
    "# What a second call asks of the driver and of cuBLAS, of operations whatever their dtype:\n"
    "# kind; current context; calls (tests/check_every_row.c, tests/runtime_calls.c); entries.\n"
    "# tests/check_every_row compares, and with EK_UPDATE=1 writes this file anew.\n";

static void write_table(const ek_driver_table *table, const char *path)
{
    char line[LINE];
    FILE *file = fopen(path, "w");
    ck_assert_msg(file != NULL, "%s cannot be written", path);
    fputs(heading, file);
    for (int i = 0; i < table->count; i++)
        fputs(line_of(table, &table->rows[i], line), file);
    fclose(file);
}

void ek_driver_table_compare(ek_driver_table *table, const char *path)
{
    char line[LINE], wanted[LINE];
    const char *update = getenv("EK_UPDATE");
    qsort(table->rows, (size_t)table->count, sizeof table->rows[0], compare_rows);
    if (update && strcmp(update, "1") == 0)
        write_table(table, path);
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s is missing", path);
    do {
        ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    } while (*line == '#');
    for (int i = 0; i < table->count; i++) {
        ck_assert_msg(strcmp(line, line_of(table, &table->rows[i], wanted)) == 0,
                      "%s should have: %sinstead of: %s", path, wanted, line);
        *line = '\0';
        fgets(line, sizeof line, file);
    }
    ck_assert_msg(*line == '\0', "%s has a line too many: %s", path, line);
    fclose(file);
}
