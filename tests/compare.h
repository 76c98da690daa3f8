/* Comparing results. */
#ifndef EK_TEST_COMPARE_H
#define EK_TEST_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "einkorn/dtype.h"

/* True if two elements are the same bits, any NaN counting as any other. */
bool ek_same_element(ek_dtype dtype, const void *a, const void *b);

/* The index of the first element that differs; -1 if all are the same. */
int64_t ek_first_difference(ek_dtype dtype, int64_t n, const void *a, const void *b);

/* The element's value and bits, for messages; `text` holds at least 96 characters. */
const char *ek_element_text(ek_dtype dtype, const void *element, char *text);

#endif
