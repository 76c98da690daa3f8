#include "counts.h"

#include <stdio.h>
#include <stdlib.h>

void ek_run_suite(Suite *suite, ek_counts *counts)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    counts->failed += failed;
    counts->passed += srunner_ntests_run(runner) - failed;
    srunner_free(runner);
    fflush(stdout);
}

int ek_end(const ek_counts *counts)
{
    printf("ek-counts: %d %d %d\n", counts->passed, counts->failed, counts->skipped);
    return counts->failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
