/* What convolutions must give, computed without the library in plain loops over the definition. */
#ifndef EK_TEST_REFERENCE_CONV_H
#define EK_TEST_REFERENCE_CONV_H

#include <stdbool.h>

#include "einkorn/conv.h"

/* Arrays in C order of numbers that the dtype holds; `single`: summed in single precision. */
void ek_reference_conv(const ek_conv_shape *shape, bool single, const double *x,
                       const double *filters, double *y);
void ek_reference_convtrans(const ek_conv_shape *shape, bool single, const double *y,
                            const double *filters, double *x);
void ek_reference_conv_filters(const ek_conv_shape *shape, bool single, const double *x,
                               const double *dy, double *filters);

/* Rows and columns of the result. */
int64_t ek_reference_rows(const ek_conv_shape *shape);
int64_t ek_reference_columns(const ek_conv_shape *shape);

#endif
