/* How a test program ends: a line that tests/summary adds up. */
#ifndef EK_TEST_COUNTS_H
#define EK_TEST_COUNTS_H

#include <check.h>

typedef struct ek_counts {
    int passed, failed, skipped;
} ek_counts;

/* Runs a suite, prints what failed, adds to the counts and frees the runner. CK_FORK=no runs all in
 * one process, as sanitizers and GPUs like it. */
void ek_run_suite(Suite *suite, ek_counts *counts);

/* Prints "ek-counts: PASSED FAILED SKIPPED"; the program's exit status. */
int ek_end(const ek_counts *counts);

#endif
