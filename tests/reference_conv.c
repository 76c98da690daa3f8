#include "reference_conv.h"

#include <math.h>

static double fused(bool single, double a, double b, double c)
{
    return single ? (double)fmaf((float)a, (float)b, (float)c) : fma(a, b, c);
}

int64_t ek_reference_rows(const ek_conv_shape *s)
{
    return (s->height + 2 * s->padding_y - s->dilation * (s->kernel_y - 1) - 1) / s->stride_y + 1;
}

int64_t ek_reference_columns(const ek_conv_shape *s)
{
    return (s->width + 2 * s->padding_x - s->dilation * (s->kernel_x - 1) - 1) / s->stride_x + 1;
}

/* An element of an array with these last three lengths. */
static double at(const double *a, int64_t l1, int64_t l2, int64_t l3, int64_t i0, int64_t i1,
                 int64_t i2, int64_t i3)
{
    return a[((i0 * l1 + i1) * l2 + i2) * l3 + i3];
}

/* What element (k, l) of a filter meets of channel c at a place; 0 in the padding. */
static double met(const ek_conv_shape *s, const double *x, int64_t b, int64_t c, int64_t i,
                  int64_t j, int64_t k, int64_t l)
{
    int64_t row = i * s->stride_y - s->padding_y + k * s->dilation;
    int64_t column = j * s->stride_x - s->padding_x + l * s->dilation;
    if (row < 0 || column < 0 || row >= s->height || column >= s->width)
        return 0;
    return at(x, s->channels, s->height, s->width, b, c, row, column);
}

void ek_reference_conv(const ek_conv_shape *s, bool single, const double *x, const double *filters,
                       double *y)
{
    int64_t own = s->channels / s->groups, each = s->filters / s->groups;
    for (int64_t b = 0; b < s->batch; b++)
        for (int64_t f = 0; f < s->filters; f++)
            for (int64_t i = 0; i < ek_reference_rows(s); i++)
                for (int64_t j = 0; j < ek_reference_columns(s); j++) {
                    double sum = 0;
                    for (int64_t c = 0; c < own; c++)
                        for (int64_t k = 0; k < s->kernel_y; k++)
                            for (int64_t l = 0; l < s->kernel_x; l++)
                                sum = fused(single,
                                            at(filters, own, s->kernel_y, s->kernel_x, f, c, k, l),
                                            met(s, x, b, f / each * own + c, i, j, k, l), sum);
                    *y++ = sum;
                }
}

/* The element of y that element (k, l) of filter f meets for a place of the image; 0 if none. */
static double back(const ek_conv_shape *s, const double *y, int64_t b, int64_t f, int64_t i,
                   int64_t j, int64_t k, int64_t l)
{
    int64_t rows = ek_reference_rows(s), columns = ek_reference_columns(s);
    for (int64_t m = 0; m < rows; m++)
        for (int64_t n = 0; n < columns; n++)
            if (m * s->stride_y - s->padding_y + k * s->dilation == i &&
                n * s->stride_x - s->padding_x + l * s->dilation == j)
                return at(y, s->filters, rows, columns, b, f, m, n);
    return 0;
}

void ek_reference_convtrans(const ek_conv_shape *s, bool single, const double *y,
                            const double *filters, double *x)
{
    int64_t own = s->channels / s->groups, each = s->filters / s->groups;
    for (int64_t b = 0; b < s->batch; b++)
        for (int64_t c = 0; c < s->channels; c++)
            for (int64_t i = 0; i < s->height; i++)
                for (int64_t j = 0; j < s->width; j++) {
                    double sum = 0;
                    for (int64_t f = c / own * each; f < (c / own + 1) * each; f++)
                        for (int64_t k = 0; k < s->kernel_y; k++)
                            for (int64_t l = 0; l < s->kernel_x; l++)
                                sum = fused(
                                    single,
                                    at(filters, own, s->kernel_y, s->kernel_x, f, c % own, k, l),
                                    back(s, y, b, f, i, j, k, l), sum);
                    *x++ = sum;
                }
}

void ek_reference_conv_filters(const ek_conv_shape *s, bool single, const double *x,
                               const double *dy, double *filters)
{
    int64_t own = s->channels / s->groups, each = s->filters / s->groups;
    int64_t rows = ek_reference_rows(s), columns = ek_reference_columns(s), places = rows * columns;
    for (int64_t f = 0; f < s->filters; f++)
        for (int64_t c = 0; c < own; c++)
            for (int64_t k = 0; k < s->kernel_y; k++)
                for (int64_t l = 0; l < s->kernel_x; l++) {
                    double total = 0;
                    for (int64_t b = 0; b < s->batch; b++) {
                        double sum = 0;
                        for (int64_t place = 0; place < places; place++) {
                            sum = fused(single, dy[(b * s->filters + f) * places + place],
                                        met(s, x, b, f / each * own + c, place / columns,
                                            place % columns, k, l),
                                        sum);
                            if (place % 4096 == 4095 || place == places - 1) {
                                total = single ? (double)((float)total + (float)sum) : total + sum;
                                sum = 0;
                            }
                        }
                    }
                    *filters++ = total;
                }
}
