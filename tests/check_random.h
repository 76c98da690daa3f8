/* Parts of check_random. */
#ifndef EK_CHECK_RANDOM_H
#define EK_CHECK_RANDOM_H

#include <check.h>

/* How numbers are distributed, and how near the quantiles of normal ones are to the exact ones. */
TCase *random_statistics(void);

enum { RANDOM_BITS_TESTS = 6, RANDOM_STATISTICS_TESTS = 8 };

#endif
