#include "reference_image.h"

#include <math.h>
#include <string.h>

typedef struct job {
    const ek_reference_window *w;
    bool single;
    const double *const *in;
    double *out;
} job;

static double rounded(const job *job, double x)
{
    return job->single ? (double)(float)x : x;
}

/* a * b + c, rounded once. */
static double fused(const job *job, double a, double b, double c)
{
    return job->single ? (double)fmaf((float)a, (float)b, (float)c) : fma(a, b, c);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* NaN beyond all; +0 above -0. */
static double larger(double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    if (a == b)
        return signbit(a) ? b : a;
    return a > b ? a : b;
}

/* Element (k, l) of window (i, j), null in the padding. */
static const double *element(const ek_reference_window *w, const double *x, int64_t i, int64_t j,
                             int64_t k, int64_t l)
{
    int64_t y = i * w->stride[0] - w->padding[0] + k * w->dilation;
    int64_t z = j * w->stride[1] - w->padding[1] + l * w->dilation;
    bool inside = y >= 0 && z >= 0 && y < w->image[0] && z < w->image[1];
    return inside ? &x[y * w->image[1] + z] : NULL;
}

static double extreme(const job *job, int64_t i, int64_t j, double sign)
{
    double best = -INFINITY;
    for (int64_t k = 0; k < job->w->kernel[0]; k++) {
        for (int64_t l = 0; l < job->w->kernel[1]; l++) {
            const double *x = element(job->w, job->in[0], i, j, k, l);
            best = x ? larger(best, sign * *x) : best;
        }
    }
    return sign * best;
}

static double average(const job *job, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t k = 0; k < job->w->kernel[0]; k++) {
        for (int64_t l = 0; l < job->w->kernel[1]; l++) {
            const double *x = element(job->w, job->in[0], i, j, k, l);
            sum = rounded(job, sum + (x ? *x : 0));
        }
    }
    return rounded(job, sum / (double)(job->w->kernel[0] * job->w->kernel[1]));
}

/* Windows in order give to their elements. */
static void pool_backward(const job *job, bool average)
{
    const ek_reference_window *w = job->w;
    int64_t count = w->image[0] * w->image[1];
    for (int64_t i = 0; i < count; i++)
        job->out[i] = 0;
    for (int64_t at = 0; at < w->result[0] * w->result[1]; at++) {
        int64_t i = at / w->result[1], j = at % w->result[1];
        bool given = false;
        for (int64_t m = 0; m < w->kernel[0] * w->kernel[1]; m++) {
            const double *x = element(w, job->in[0], i, j, m / w->kernel[1], m % w->kernel[1]);
            if (!x)
                continue;
            bool takes = average || (same(*x, job->in[1][at]) && (w->every || !given));
            given |= takes;
            double *to = &job->out[x - job->in[0]];
            *to = takes ? rounded(job, *to + job->in[average ? 1 : 2][at]) : *to;
        }
    }
    for (int64_t i = 0; i < count && average; i++)
        job->out[i] = rounded(job, job->out[i] / (double)(w->kernel[0] * w->kernel[1]));
}

/* What element `at` of the scaled image takes from element `place`, without a rounding of its own
 * but that of the quotient. */
static double weight(const job *job, int axis, int64_t at, int64_t place)
{
    int64_t steps = job->w->result[axis] - 1, far = at * (job->w->image[axis] - 1);
    if (steps == 0)
        return place == 0;
    int64_t apart = far - place * steps;
    apart = apart < 0 ? -apart : apart;
    if (apart >= steps)
        return 0;
    return rounded(job, rounded(job, (double)(steps - apart)) / rounded(job, (double)steps));
}

static bool nearest(const job *job, int axis, int64_t at, int64_t place)
{
    return at * job->w->image[axis] / job->w->result[axis] == place;
}

static double bilinear(const job *job, int64_t i, int64_t j)
{
    const ek_reference_window *w = job->w;
    double rows[2] = {0, 0}, parts[2] = {0, 0};
    int found = 0;
    for (int64_t y = 0; y < w->image[0]; y++) {
        double down = weight(job, 0, i, y), row = 0;
        bool first = true;
        for (int64_t x = 0; x < w->image[1] && down > 0; x++) {
            double along = weight(job, 1, j, x), value = job->in[0][y * w->image[1] + x];
            if (along == 0)
                continue;
            row = first ? rounded(job, along * value) : fused(job, along, value, row);
            first = false;
        }
        if (down == 0)
            continue;
        rows[found] = row;
        parts[found++] = down;
    }
    double near = rounded(job, parts[0] * rows[0]);
    return found == 1 ? near : fused(job, parts[1], rows[1], near);
}

static double scale_backward(const job *job, bool is_nearest, int64_t y, int64_t x)
{
    const ek_reference_window *w = job->w;
    double sum = 0;
    for (int64_t i = 0; i < w->result[0]; i++) {
        double line = is_nearest ? sum : 0, down = is_nearest ? 0 : weight(job, 0, i, y);
        if (is_nearest ? !nearest(job, 0, i, y) : down == 0)
            continue;
        for (int64_t j = 0; j < w->result[1]; j++) {
            double dy = job->in[0][i * w->result[1] + j];
            double along = is_nearest ? 0 : weight(job, 1, j, x);
            if (is_nearest && nearest(job, 1, j, x))
                line = rounded(job, line + dy);
            if (!is_nearest && along > 0)
                line = fused(job, along, dy, line);
        }
        sum = is_nearest ? line : fused(job, down, line, sum);
    }
    return sum;
}

static double result_at(const char *op, const job *job, int64_t i, int64_t j)
{
    if (strcmp(op, "max_pool2d") == 0)
        return extreme(job, i, j, 1);
    if (strcmp(op, "min_pool2d") == 0)
        return extreme(job, i, j, -1);
    if (strcmp(op, "avg_pool2d") == 0)
        return average(job, i, j);
    if (strcmp(op, "upscale2d_bilinear") == 0)
        return bilinear(job, i, j);
    if (strcmp(op, "upscale2d_nearest") == 0)
        return job->in[0][i * job->w->image[0] / job->w->result[0] * job->w->image[1] +
                          j * job->w->image[1] / job->w->result[1]];
    return scale_backward(job, strcmp(op, "upscale2d_nearest_bwd") == 0, i, j);
}

bool ek_reference_image(const char *op, const ek_reference_window *window, bool single,
                        const double *const *in, double *out)
{
    static const char *const names[] = {
        "max_pool2d",
        "min_pool2d",
        "avg_pool2d",
        "upscale2d_nearest",
        "upscale2d_bilinear",
        "upscale2d_nearest_bwd",
        "upscale2d_bilinear_bwd",
    };
    job job = {window, single, in, out};
    bool average = strcmp(op, "avg_pool2d_bwd") == 0;
    if (average) {
        /* Only the places of x's elements count. */
        const double *both[] = {out, in[0]};
        job.in = both;
        pool_backward(&job, true);
        return true;
    }
    if (strcmp(op, "max_pool2d_bwd") == 0) {
        pool_backward(&job, false);
        return true;
    }
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        if (strcmp(op, names[k]) != 0)
            continue;
        const int64_t *size = strstr(op, "_bwd") ? window->image : window->result;
        for (int64_t i = 0; i < size[0] * size[1]; i++)
            out[i] = result_at(op, &job, i / size[1], i % size[1]);
        return true;
    }
    return false;
}
