/* What kind `moments` adds up of the elements of a chunk, and how the results of chunks are joined.
 * Read by C and by CUDA C: the bits follow from here. All sums are in float64, along the tree of
 * src/lanes.h.
 *
 * Note: sums about a center. A chunk adds d = x - c and d * d for a center c. Of all elements'
 * squared distances from their mean m, the sum of d * d is larger by k (c - m)^2 for k elements, so
 * a center far from the mean costs digits. c is a mean of the chunk's own first j elements, whose
 * part in the wanted sum is j (c - m)^2 at least (Cauchy-Schwarz); so what cancels is at most k / j
 * times as large as what is left, whatever the data: 31 for j = 1 in short chunks, 256 for j = 16
 * in long ones. The mean is kept as the center and a small distance from it, never added up: a
 * difference of centers is exact where elements are close to each other and far from zero, and the
 * variance of such elements is as good as any.
 *
 * Note: the scale of squares. A float64's square may overflow or lose bits to underflow. J. L.
 * Blue ("A portable Fortran program to find the Euclidean norm of a vector", 1978) and E. Anderson
 * ("Algorithm 978: safe scaling in the level 1 BLAS", 2017) keep separate sums of large, small and
 * other elements. Here a chunk's plain sum of squares decides alone: if it lies in the middle of
 * the range, no square that counts can have been lost, else the chunk's elements are scaled up or
 * down by a power of two. No element is asked about its size. */
#ifndef EK_MOMENTS_H
#define EK_MOMENTS_H

#include "einkorn/body.h"

/* Chunks of this many elements have the mean of their first EK_CENTER_MEAN as the center, shorter
 * ones their first element. */
#define EK_CENTER_CHUNK 32
#define EK_CENTER_MEAN 16

EK_BODY int ek_center_count(int64_t n)
{
    return n >= EK_CENTER_CHUNK ? EK_CENTER_MEAN : n > 0 ? 1 : 0;
}

/* The center for the first ek_center_count(n) elements. They are scaled before they are added, for
 * their sum may overflow. */
EK_BODY double ek_center_f64(int64_t n, const double *x)
{
    const double s = 1.0 / EK_CENTER_MEAN;
    if (n < EK_CENTER_CHUNK)
        return n > 0 ? x[0] : 0;
    double a = (x[0] * s + x[8] * s) + (x[4] * s + x[12] * s);
    double b = (x[2] * s + x[10] * s) + (x[6] * s + x[14] * s);
    double c = (x[1] * s + x[9] * s) + (x[5] * s + x[13] * s);
    double d = (x[3] * s + x[11] * s) + (x[7] * s + x[15] * s);
    return (a + b) + (c + d);
}

/* ---- deviations from the mean */

/* Of `count` elements: their mean is center + offset, m2 the sum of their squared distances from
 * it. */
typedef struct ek_spread_f64 {
    double count, center, offset, m2;
} ek_spread_f64;

typedef struct ek_spread_c128 {
    double count;
    ek_c128 center, offset;
    double m2;
} ek_spread_c128;

/* What an element adds to each sum: its distance from the center, or that of either part, and the
 * square of it. */
EK_BODY double ek_spread_f64_term0(double x, double center)
{
    return x - center;
}

EK_BODY double ek_spread_f64_term1(double x, double center)
{
    return (x - center) * (x - center);
}

EK_BODY double ek_spread_c128_term0(ek_c128 x, ek_c128 center)
{
    return x.re - center.re;
}

EK_BODY double ek_spread_c128_term1(ek_c128 x, ek_c128 center)
{
    return x.im - center.im;
}

EK_BODY double ek_spread_c128_term2(ek_c128 x, ek_c128 center)
{
    double re = x.re - center.re, im = x.im - center.im;
    return re * re + im * im;
}

/* From the sum of squares about a center to the one about the mean, `part` less. Infinite sums of
 * finite elements stay infinite. */
EK_BODY double ek_spread_m2(double squares, double part)
{
    double m2 = squares - part;
    m2 = m2 < 0 ? 0 : m2;
    return squares == INFINITY ? squares : m2;
}

EK_BODY ek_spread_f64 ek_spread_f64_close(int64_t n, double center, const double *sum)
{
    double count = (double)n, offset = n > 0 ? sum[0] / count : 0;
    ek_spread_f64 s = {count, center, offset, ek_spread_m2(sum[1], sum[0] * offset)};
    return s;
}

EK_BODY ek_spread_c128 ek_spread_c128_close(int64_t n, ek_c128 center, const double *sum)
{
    double count = (double)n;
    ek_c128 offset = {n > 0 ? sum[0] / count : 0, n > 0 ? sum[1] / count : 0};
    ek_spread_c128 s = {count, center, offset,
                        ek_spread_m2(sum[2], sum[0] * offset.re + sum[1] * offset.im)};
    return s;
}

EK_BODY ek_spread_f64 ek_spread_f64_none(void)
{
    ek_spread_f64 s = {0, 0, 0, 0};
    return s;
}

EK_BODY ek_spread_c128 ek_spread_c128_none(void)
{
    ek_spread_c128 s = {0, {0, 0}, {0, 0}, 0};
    return s;
}

/* The formula of T. F. Chan, G. H. Golub, R. J. LeVeque ("Updating formulae and a pairwise
 * algorithm for computing sample variances", 1979). */
EK_BODY ek_spread_f64 ek_spread_f64_join(ek_spread_f64 a, ek_spread_f64 b)
{
    double count = a.count + b.count, share = b.count / count;
    double apart = (b.center - a.center) + (b.offset - a.offset);
    ek_spread_f64 s = {count, a.center, a.offset + apart * share,
                       (a.m2 + b.m2) + apart * apart * (a.count * share)};
    return a.count == 0 ? b : b.count == 0 ? a : s;
}

EK_BODY ek_spread_c128 ek_spread_c128_join(ek_spread_c128 a, ek_spread_c128 b)
{
    double count = a.count + b.count, share = b.count / count;
    double re = (b.center.re - a.center.re) + (b.offset.re - a.offset.re);
    double im = (b.center.im - a.center.im) + (b.offset.im - a.offset.im);
    ek_spread_c128 s = {count,
                        a.center,
                        {a.offset.re + re * share, a.offset.im + im * share},
                        (a.m2 + b.m2) + (re * re + im * im) * (a.count * share)};
    return a.count == 0 ? b : b.count == 0 ? a : s;
}

/* m2 / divisor. An infinite or NaN mean has no distance from anything. */
EK_BODY double ek_spread_f64_result(ek_spread_f64 s, int64_t divisor)
{
    bool fine = divisor > 0 && s.center - s.center == 0 && s.offset - s.offset == 0;
    return fine ? s.m2 / (double)divisor : NAN;
}

EK_BODY double ek_spread_c128_result(ek_spread_c128 s, int64_t divisor)
{
    ek_spread_f64 re = {s.count, s.center.re, s.offset.re, s.m2};
    ek_spread_f64 im = {s.count, s.center.im, s.offset.im, s.m2};
    double result = ek_spread_f64_result(re, divisor);
    return result != result ? result : ek_spread_f64_result(im, divisor);
}

/* ---- squares */

/* The sum of the squares of elements times `scale`. */
typedef struct ek_squares {
    double sum, scale;
} ek_squares;

#define EK_SCALE_UP 0x1p+600
#define EK_SCALE_DOWN 0x1p-600

EK_BODY double ek_squares_f64_term0(double x, double scale)
{
    return (x * scale) * (x * scale);
}

EK_BODY double ek_squares_c128_term0(ek_c128 x, double scale)
{
    double re = x.re * scale, im = x.im * scale;
    return re * re + im * im;
}

/* The scale for elements whose plain squares have this sum. In the middle up to 2^62 chunks join
 * without overflow; a square there that counts is 2^-52 / 4096 of the sum at least, so it is a
 * normal number. */
EK_BODY double ek_squares_scale(double sum)
{
    return sum < 0x1p-900 ? EK_SCALE_UP : (sum <= 0x1p+960 ? 1 : EK_SCALE_DOWN);
}

EK_BODY ek_squares ek_squares_close(double sum, double scale)
{
    ek_squares s = {sum, scale};
    return s;
}

EK_BODY ek_squares ek_squares_none(void)
{
    ek_squares s = {0, EK_SCALE_UP};
    return s;
}

/* Sums of different scales, which are rare: the smaller elements are scaled as the larger ones are.
 */
EK_BODY ek_squares ek_squares_join(ek_squares a, ek_squares b)
{
    if (a.scale == b.scale)
        return ek_squares_close(a.sum + b.sum, a.scale);
    double scale = a.scale < b.scale ? a.scale : b.scale;
    double to_a = scale / a.scale, to_b = scale / b.scale;
    return ek_squares_close(a.sum * to_a * to_a + b.sum * to_b * to_b, scale);
}

/* Their root. It needs no divisor. */
EK_BODY double ek_squares_result(ek_squares s, int64_t divisor)
{
    (void)divisor;
    return sqrt(s.sum) / s.scale;
}

#endif
