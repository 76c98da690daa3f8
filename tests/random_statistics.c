/* How random numbers are distributed. Seeds are fixed, so a test that holds once always holds;
 * limits are those of a chance of about one in a million. */
#include <math.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

#include "body/normal.h"
#include "check_random.h"
#include "einkorn/ops/bernoulli.h"
#include "einkorn/ops/normal.h"
#include "einkorn/ops/randint.h"
#include "einkorn/ops/random_bits.h"
#include "einkorn/ops/uniform.h"
#include "place.h"

#define MUST(call) ck_assert_msg((call) == EK_OK, "%s: %s", #call, ek_error_message())

enum { N = 1 << 18, CELLS = 1000 };

static const ek_place *place(void)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    return &places[count - 1];
}

/* N numbers of the place's. */
static double *uniform(int64_t seed)
{
    static double x[N];
    const ek_place *at = place();
    double *memory = ek_place_memory(at, sizeof x);
    MUST(ek_uniform_f64(at->queue, N, 0, 1, seed, 0, memory));
    ek_download(at, x, memory, sizeof x);
    return x;
}

static float *uniform_f32(int64_t seed)
{
    static float x[N];
    const ek_place *at = place();
    float *memory = ek_place_memory(at, sizeof x);
    MUST(ek_uniform_f32(at->queue, N, 0, 1, seed, 0, memory));
    ek_download(at, x, memory, sizeof x);
    return x;
}

static float *normal(int64_t seed)
{
    static float x[N];
    const ek_place *at = place();
    float *memory = ek_place_memory(at, sizeof x);
    MUST(ek_normal_f32(at->queue, N, 0, 1, seed, 0, memory));
    ek_download(at, x, memory, sizeof x);
    return x;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov: sqrt(n) times the largest distance of the distribution functions exceeds
 * 2.7 once in a million. Sorts its numbers, which are to be uniform. */
static void check_distances(double *u)
{
    double most = 0;
    qsort(u, N, sizeof *u, by_size);
    for (int i = 0; i < N; i++) {
        most = fmax(most, u[i] - (double)i / N);
        most = fmax(most, (double)(i + 1) / N - u[i]);
    }
    ck_assert_msg(sqrt(N) * most < 2.7, "%g", sqrt(N) * most);
}

/* Pearson's sum for equally likely cells, about normal with mean `cells` and variance 2 cells. */
static void check_cells(const int64_t *count, int cells)
{
    double sum = 0, expected = (double)N / cells;
    for (int i = 0; i < cells; i++)
        sum += ((double)count[i] - expected) * ((double)count[i] - expected) / expected;
    ck_assert_msg(fabs(sum - cells) < 5 * sqrt(2.0 * cells), "%g of %d cells", sum, cells);
}

/* The mean of n numbers of a variance, and that variance, where the fourth moment is `fourth` times
 * its square. */
static void check_moments(const double *x, double mean, double variance, double fourth)
{
    double sum = 0, squares = 0, neighbours = 0;
    for (int i = 0; i < N; i++) {
        double d = x[i] - mean;
        sum += d;
        squares += d * d;
        neighbours += i > 0 ? d * (x[i - 1] - mean) : 0;
    }
    ck_assert_msg(fabs(sum) < 5 * sqrt(N * variance), "mean %g", mean + sum / N);
    ck_assert_msg(fabs(squares / N - variance) < 5 * variance * sqrt((fourth - 1) / N),
                  "variance %g", squares / N);
    ck_assert_msg(fabs(neighbours) < 5 * variance * sqrt(N), "correlation %g", neighbours / N);
}

START_TEST(uniform_is_uniform)
{
    static int64_t count[CELLS], pairs[32 * 32];
    static double wide[N];
    memset(count, 0, sizeof count);
    memset(pairs, 0, sizeof pairs);
    double *x = uniform(_i);
    float *y = uniform_f32(_i);
    for (int i = 0; i < N; i++) {
        count[(int)(x[i] * CELLS)]++;
        pairs[(int)(y[i] * 32) * 32 + (int)(y[(i + 1) % N] * 32)]++;
        wide[i] = (double)y[i];
    }
    check_cells(count, CELLS);
    check_cells(pairs, 32 * 32);
    check_moments(x, 0.5, 1 / 12.0, 1.8);
    check_moments(wide, 0.5, 1 / 12.0, 1.8);
    check_distances(x);
    check_distances(wide);
}
END_TEST

START_TEST(normal_is_normal)
{
    static double x[N];
    static int64_t count[CELLS];
    float *z = normal(_i);
    memset(count, 0, sizeof count);
    for (int i = 0; i < N; i++)
        x[i] = (double)z[i];
    check_moments(x, 0, 1, 3);
    for (int i = 0; i < N; i++) {
        x[i] = 0.5 * erfc(-x[i] * 0.70710678118654752);
        count[(int)(x[i] * CELLS)]++;
    }
    check_cells(count, CELLS);
    check_distances(x);
}
END_TEST

START_TEST(integers_are_equally_likely)
{
    enum { CHOICES = 739 };
    static int64_t count[CHOICES], x[N];
    static int32_t y[N];
    const ek_place *at = place();
    void *memory = ek_place_memory(at, sizeof x);
    MUST(ek_randint_i64(at->queue, N, -100, CHOICES - 101, 1, 0, memory));
    ek_download(at, x, memory, sizeof x);
    for (int i = 0; i < N; i++)
        count[x[i] + 100]++;
    check_cells(count, CHOICES);
    /* A range for which words are taken again in one of four cases: all thirds are as likely. */
    int64_t thirds[3] = {0};
    MUST(ek_randint_i32(at->queue, N, 0, 3 * (INT64_C(1) << 29) - 1, 1, 0, memory));
    ek_download(at, y, memory, sizeof y);
    for (int i = 0; i < N; i++)
        thirds[y[i] >> 29]++;
    check_cells(thirds, 3);
    /* All integers. */
    int64_t halves[2] = {0};
    MUST(ek_randint_i64(at->queue, N, INT64_MIN, INT64_MAX, 1, 0, memory));
    ek_download(at, x, memory, sizeof x);
    for (int i = 0; i < N; i++)
        halves[x[i] < 0]++;
    check_cells(halves, 2);
}
END_TEST

START_TEST(truth_has_its_probability)
{
    static const double chances[] = {1e-3, 0.1, 0.5, 0.9};
    static ek_b8 x[N];
    const ek_place *at = place();
    ek_b8 *memory = ek_place_memory(at, sizeof x);
    for (int k = 0; k < 4; k++) {
        double p = chances[k], sum = 0;
        MUST(ek_bernoulli_b8(at->queue, N, p, 3, 0, memory));
        ek_download(at, x, memory, sizeof x);
        for (int i = 0; i < N; i++)
            sum += x[i];
        ck_assert_msg(fabs(sum - N * p) < 5 * sqrt(N * p * (1 - p)), "%g of %g", sum / N, p);
    }
}
END_TEST

static int by_window(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    for (int i = 0; i < 4; i++) {
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    }
    return 0;
}

/* O102: sequences of neighbouring seeds are not the same sequence, shifted or not. */
START_TEST(no_window_twice)
{
    enum { SEEDS = 4, LENGTH = 2000, WINDOWS = SEEDS * (LENGTH - 3) };
    static uint32_t x[SEEDS][LENGTH], window[WINDOWS][4];
    const ek_place *at = place();
    uint32_t *memory = ek_place_memory(at, sizeof x);
    int count = 0;
    for (int s = 0; s < SEEDS; s++)
        MUST(ek_random_bits_u32(at->queue, LENGTH, s, 0, memory + s * LENGTH));
    ek_download(at, x, memory, sizeof x);
    for (int s = 0; s < SEEDS; s++) {
        for (int i = 0; i + 3 < LENGTH; i++, count++) {
            for (int k = 0; k < 4; k++)
                window[count][k] = x[s][i + k];
        }
    }
    qsort(window, WINDOWS, sizeof window[0], by_window);
    for (int i = 1; i < WINDOWS; i++)
        ck_assert(by_window(window[i - 1], window[i]) != 0);
}
END_TEST

/* How far z is from the quantile of (k + 1/2) / 2^bits, as a part of it: the distance in
 * probability over the density. */
static double quantile_error(double z, double k, int bits)
{
    mpfr_t p, f, t;
    mpfr_inits2(200, p, f, t, (mpfr_ptr)NULL);
    mpfr_set_d(p, k, MPFR_RNDN);
    mpfr_add_d(p, p, 0.5, MPFR_RNDN);
    mpfr_div_2si(p, p, bits, MPFR_RNDN);
    mpfr_sqrt_ui(t, 2, MPFR_RNDN);
    mpfr_d_div(t, -z, t, MPFR_RNDN);
    mpfr_erfc(f, t, MPFR_RNDN);
    mpfr_div_ui(f, f, 2, MPFR_RNDN);
    mpfr_sub(f, f, p, MPFR_RNDN);
    mpfr_sqr(t, t, MPFR_RNDN);
    mpfr_exp(t, t, MPFR_RNDN);
    mpfr_mul(f, f, t, MPFR_RNDN); /* over exp(-z^2/2) */
    double error = mpfr_get_d(f, MPFR_RNDN) * 2.5066282746310002 / z;
    mpfr_clears(p, f, t, (mpfr_ptr)NULL);
    return fabs(error);
}

/* The bounds on the page of normal. */
START_TEST(quantiles)
{
    double most = 0, most_double = 0, before = -INFINITY;
    for (uint32_t i = 0; i < 20000; i++) {
        ek_philox_words x = ek_philox_draw(5, i, 0);
        int shift = (int)(i % 32); /* half of them near the ends and the middle */
        uint32_t k = i % 2 ? x.at[0] : x.at[0] >> shift;
        k = i % 8 == 0 ? k ^ 0x80000000u : k;
        uint64_t wide = (uint64_t)x.at[1] << 32 | x.at[2];
        wide = i % 2 ? wide : wide >> (i % 50);
        wide = i % 8 == 0 ? wide ^ 0x8000000000000000u : wide;
        most = fmax(most, quantile_error((double)ek_body_normal_f32(k, 0, 1), k, 32));
        most_double = fmax(
            most_double, quantile_error(ek_body_normal_f64(wide, 0, 1), (double)(wide >> 11), 53));
    }
    ck_assert_msg(most < 3e-7, "float32: %g", most);
    ck_assert_msg(most_double < 1e-15, "float64: %g", most_double);
    for (uint64_t k = 0; k <= UINT32_MAX; k += 104729) { /* never falls by more than the error */
        double z = (double)ek_body_normal_f32((uint32_t)k, 0, 1);
        ck_assert(z >= before - 3e-7 * fabs(z));
        ck_assert(z == -(double)ek_body_normal_f32(~(uint32_t)k, 0, 1));
        before = z;
    }
}
END_TEST

TCase *random_statistics(void)
{
    TCase *statistics = tcase_create("statistics");
    tcase_set_timeout(statistics, 120);
    tcase_add_loop_test(statistics, uniform_is_uniform, 0, 2);
    tcase_add_loop_test(statistics, normal_is_normal, 0, 2);
    tcase_add_test(statistics, integers_are_equally_likely);
    tcase_add_test(statistics, truth_has_its_probability);
    tcase_add_test(statistics, no_window_twice);
    tcase_add_test(statistics, quantiles);
    return statistics;
}
