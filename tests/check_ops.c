/* The elementwise operations: every test of check_ops.h for every loop of every operation, or of
 * those named on the command line, or with "2/8" for the second of eight parts of them all.
 * EK_TEST_DEVICE=cuda tests a GPU; without one all is skipped. */
#include "check_ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "place.h"

/* Check hands a test nothing but a number: operation and loop in one. */
enum { LOOPS = 1024, TIMEOUT_SECONDS = 300 };

#define EK_LOOP_TEST(test)                                                                         \
    START_TEST(test##_case)                                                                        \
    {                                                                                              \
        ek_test_##test(ek_op_tests[_i / LOOPS], _i % LOOPS);                                       \
    }                                                                                              \
    END_TEST

EK_LOOP_TEST(reference)
EK_LOOP_TEST(bits)
EK_LOOP_TEST(lengths)
EK_LOOP_TEST(strides)
EK_LOOP_TEST(tiles)
EK_LOOP_TEST(broadcast)
EK_LOOP_TEST(overlap)
EK_LOOP_TEST(table)
EK_LOOP_TEST(typed_refusals)
EK_LOOP_TEST(array_refusals)

static const TTest *const *const cases[] = {
    &reference_case, &bits_case,    &lengths_case, &strides_case,        &tiles_case,
    &broadcast_case, &overlap_case, &table_case,   &typed_refusals_case, &array_refusals_case,
};

enum { CASES = sizeof cases / sizeof cases[0] };

static void run(int op, int first, int end, ek_counts *counts)
{
    const ek_op_info *info = ek_op_tests[op]->info;
    Suite *suite = suite_create(info->name);
    TCase *all = tcase_create(info->name);
    tcase_set_timeout(all, TIMEOUT_SECONDS);
    for (int i = 0; i < CASES; i++)
        tcase_add_loop_test(all, *cases[i], op * LOOPS + first, op * LOOPS + end);
    suite_add_tcase(suite, all);
    ek_run_suite(suite, counts);
}

static bool named(const char *name, int argc, char **argv)
{
    bool found = argc < 2;
    for (int i = 1; i < argc; i++)
        found |= strcmp(argv[i], name) == 0;
    return found;
}

static int within(int i, int count)
{
    return i < 0 ? 0 : (i < count ? i : count);
}

/* One process for all tests: a GPU cannot be used on both sides of a fork, and a sanitizer makes
 * forking cost more than testing. */
static bool in_one_process(void)
{
#if defined(__SANITIZE_ADDRESS__)
    return true;
#else
    return ek_testing_gpu();
#endif
}

int main(int argc, char **argv)
{
    ek_counts counts = {0, 0, 0};
    bool no_gpu = ek_testing_gpu() && ek_device_count(EK_DEVICE_CUDA) == 0;
    int part = 1, parts = 1, total = 0, begin = 0;
    bool by_part = argc == 2 && sscanf(argv[1], "%d/%d", &part, &parts) == 2;
    if (in_one_process())
        setenv("CK_FORK", "no", 1);
    for (int op = 0; op < ek_op_test_count; op++)
        total += ek_op_tests[op]->info->loop_count;
    for (int op = 0; op < ek_op_test_count; op++) {
        const ek_op_info *info = ek_op_tests[op]->info;
        int first = within(total * (part - 1) / parts - begin, info->loop_count);
        int end = within(total * part / parts - begin, info->loop_count);
        begin += info->loop_count;
        if (first == end || !(by_part || named(info->name, argc, argv)))
            continue;
        if (no_gpu)
            counts.skipped += CASES * (end - first);
        else
            run(op, first, end, &counts);
    }
    return ek_end(&counts);
}
