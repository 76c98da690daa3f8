#include "cpu/run_rowwise.h"

#include "backend.h"
#include "cpu/gather.h"
#include "cpu/record.h"
#include "cpu/units.h"

enum {
    LARGEST_SIZE = 8, /* bytes of an element or a number */
    /* Bytes of terms that are kept for the results, instead of being computed again. */
    TERMS_BYTES = EK_CHUNK * LARGEST_SIZE,
    /* Elements of the rows of a unit. */
    UNIT_ELEMENTS = 4096,
    /* Fewer columns than this are gathered row by row, or not split further. */
    LEAST_COLUMNS = 16,
    /* An exponential costs as much as reading this many times its element. */
    COST = 8,
};

typedef struct job {
    const ek_rowwise_kernels *kernels;
    const ek_rows *rows;
    ek_units units;
    bool contiguous; /* a row, and its results */
    int threads;     /* over the chunks of a row */
} job;

/* One row, or columns side by side, with what is known of them so far. */
typedef struct source {
    const job *job;
    const char *x;
    char *out;
    int64_t width;
    bool terms_in_out; /* results are first used as room for the terms */
    _Alignas(64) char top[EK_TREE_WIDTH_BYTES];
    _Alignas(64) char sum[EK_TREE_WIDTH_BYTES];
} source;

/* Elements first to first + n of the row: where they are, or brought together in the buffer. */
static const void *elements(const source *source, int64_t first, int64_t n, char *buffer)
{
    const job *job = source->job;
    int64_t size = job->kernels->in_size;
    if (job->contiguous)
        return source->x + first * size;
    ek_gather_row(job->rows, size, source->x, first, n, buffer);
    return buffer;
}

static void *terms_of(const source *source, int64_t first)
{
    return source->terms_in_out ? source->out + first * source->job->kernels->size : NULL;
}

static void top_of_chunk(const void *data, int64_t first, int64_t n, void *result)
{
    const source *source = data;
    _Alignas(64) char buffer[EK_CHUNK * LARGEST_SIZE];
    source->job->kernels->top(n, elements(source, first, n, buffer), result);
}

static void sum_of_chunk(const void *data, int64_t first, int64_t n, void *result)
{
    const source *source = data;
    _Alignas(64) char buffer[EK_CHUNK * LARGEST_SIZE];
    source->job->kernels->sum(n, elements(source, first, n, buffer), source->top,
                              terms_of(source, first), result);
}

static void write_results(const source *source, int64_t first, int64_t n, const void *x,
                          const void *terms)
{
    const job *job = source->job;
    const ek_rowwise_kernels *kernels = job->kernels;
    _Alignas(64) char buffer[EK_CHUNK * LARGEST_SIZE];
    char *out = source->out + first * job->rows->out_step * kernels->in_size;
    kernels->results(n, x, terms, source->top, source->sum, job->contiguous ? out : buffer);
    if (!job->contiguous)
        ek_copy_steps(n, kernels->in_size, buffer, 1, out, job->rows->out_step);
}

static void results_of_chunk(const source *source, int64_t first, int64_t n)
{
    _Alignas(64) char buffer[EK_CHUNK * LARGEST_SIZE];
    write_results(source, first, n, elements(source, first, n, buffer), terms_of(source, first));
}

/* A row of one chunk is gathered once at most, and its terms are kept. */
static void run_short_row(source *source)
{
    const ek_rowwise_kernels *kernels = source->job->kernels;
    _Alignas(64) char buffer[EK_CHUNK * LARGEST_SIZE];
    _Alignas(64) char memory[TERMS_BYTES];
    void *terms = kernels->uses_terms ? memory : NULL;
    int64_t n = source->job->rows->n;
    const void *x = elements(source, 0, n, buffer);
    kernels->top(n, x, source->top);
    kernels->sum(n, x, source->top, terms, source->sum);
    write_results(source, 0, n, x, terms);
}

static void run_long_row(source *source)
{
    const job *job = source->job;
    const ek_rowwise_kernels *kernels = job->kernels;
    int64_t n = job->rows->n, chunks = (n - 1) / EK_CHUNK + 1;
    source->terms_in_out =
        kernels->uses_terms && job->contiguous && kernels->in_size == kernels->size;
    ek_tree tree = {&kernels->max, 1, top_of_chunk, source};
    ek_tree_reduce(&tree, n, job->threads, source->top);
    tree = (ek_tree){&kernels->add, 1, sum_of_chunk, source};
    ek_tree_reduce(&tree, n, job->threads, source->sum);
    if (job->threads == 1) {
        for (int64_t i = 0; i < chunks; i++)
            results_of_chunk(source, i * EK_CHUNK, i < chunks - 1 ? EK_CHUNK : n - i * EK_CHUNK);
        return;
    }
#pragma omp parallel for num_threads(job->threads) schedule(static)
    for (int64_t i = 0; i < chunks; i++)
        results_of_chunk(source, i * EK_CHUNK, i < chunks - 1 ? EK_CHUNK : n - i * EK_CHUNK);
}

/* Columns side by side, for rows whose elements are a constant step apart. */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void sum_of_columns(const source *source, int64_t first, int64_t n, int64_t terms_stride,
                           void *terms, void *result)
{
    const ek_rowwise_kernels *kernels = source->job->kernels;
    _Alignas(64) char lanes[EK_TREE_LANES_BYTES];
    int64_t used = ek_tree_lanes(n), step = source->job->rows->row_x[0];
    kernels->add.start(used * source->width, lanes);
    kernels->sum_columns(n, source->width, step, source->x + first * step * kernels->in_size,
                         source->top, terms_stride, terms, lanes);
    kernels->add.fold(used, source->width, lanes, result);
}

static void sum_of_column_chunk(const void *data, int64_t first, int64_t n, void *result)
{
    const source *source = data;
    int64_t stride = source->job->rows->out_step;
    sum_of_columns(source, first, n, stride, terms_of(source, first * stride), result);
}

static void columns_top_and_sum(source *source, void *terms)
{
    const job *job = source->job;
    const ek_rowwise_kernels *kernels = job->kernels;
    int64_t n = job->rows->n, step = job->rows->row_x[0];
    kernels->max.start(source->width, source->top);
    for (int64_t at = 0; at < n; at += EK_CHUNK)
        kernels->top_columns(smaller(n - at, EK_CHUNK), source->width, step,
                             source->x + at * step * kernels->in_size, source->top);
    if (terms) {
        sum_of_columns(source, 0, n, source->width, terms, source->sum);
        return;
    }
    ek_tree tree = {&kernels->add, source->width, sum_of_column_chunk, source};
    ek_tree_reduce(&tree, n, 1, source->sum);
}

static void run_columns(source *source)
{
    const job *job = source->job;
    const ek_rowwise_kernels *kernels = job->kernels;
    int64_t n = job->rows->n, step = job->rows->row_x[0], out_step = job->rows->out_step;
    _Alignas(64) char memory[TERMS_BYTES];
    source->terms_in_out = kernels->uses_terms && kernels->in_size == kernels->size;
    bool kept = kernels->uses_terms && !source->terms_in_out && n <= EK_CHUNK &&
                n * source->width * kernels->size <= TERMS_BYTES;
    columns_top_and_sum(source, kept ? memory : NULL);
    for (int64_t at = 0; at < n; at += EK_CHUNK)
        kernels->result_columns(
            smaller(n - at, EK_CHUNK), source->width, step,
            source->x + at * step * kernels->in_size, kept ? source->width : out_step,
            kept ? memory : terms_of(source, at * out_step), source->top, source->sum, out_step,
            source->out + at * out_step * kernels->in_size);
}

static void run_unit(const job *job, int64_t index)
{
    const ek_rows *rows = job->rows;
    int64_t size = job->kernels->in_size;
    ek_unit unit = ek_units_at(&job->units, index);
    source source = {.job = job, .width = 1};
    source.x = (const char *)rows->x + unit.x * size;
    source.out = (char *)rows->out + unit.out * size;
    if (job->units.pattern == EK_COLUMNS) {
        source.width = unit.width;
        run_columns(&source);
        return;
    }
    if (job->contiguous && rows->n <= EK_LANES) {
        job->kernels->short_rows(unit.width, rows->n, ek_units_x_step(&job->units), source.x,
                                 ek_units_out_step(&job->units), source.out);
        return;
    }
    for (int64_t i = 0; i < unit.width; i++) {
        if (rows->n <= EK_CHUNK)
            run_short_row(&source);
        else
            run_long_row(&source);
        source.x += ek_units_x_step(&job->units) * size;
        source.out += ek_units_out_step(&job->units) * size;
    }
}

/* Columns only if their results lie side by side too, and are some; and the most rows of a unit. */
static ek_pattern choose(const ek_rowwise_kernels *kernels, const ek_rows *rows, int64_t *most)
{
    ek_pattern pattern = ek_rows_pattern(rows);
    int32_t last = rows->kept_ndim - 1;
    *most = UNIT_ELEMENTS / rows->n + 1;
    if (pattern != EK_COLUMNS)
        return pattern;
    if (rows->kept_out[last] != 1 || rows->kept_shape[last] < LEAST_COLUMNS)
        return EK_GATHER;
    int64_t widest = EK_TREE_WIDTH_BYTES / kernels->size;
    int64_t kept = TERMS_BYTES / kernels->size / rows->n;
    bool in_out = !kernels->uses_terms || kernels->in_size == kernels->size;
    *most = in_out || kept < LEAST_COLUMNS ? widest : smaller(kept, widest);
    return pattern;
}

static ek_status run_recorded(ek_queue *queue, const void *kernels, const void *rows)
{
    return ek_cpu_rowwise(queue, kernels, rows);
}

ek_status ek_cpu_rowwise(ek_queue *queue, const ek_rowwise_kernels *kernels, const ek_rows *rows)
{
    if (rows->count == 0 || rows->n == 0)
        return EK_OK;
    if (EK_UNLIKELY(ek_recording(queue)))
        return ek_cpu_record(queue, run_recorded, kernels, rows, sizeof *rows);
    int64_t most = 0, bytes = ek_rows_bytes(rows, kernels->in_size);
    int threads = ek_tree_threads(ek_queue_base_of(queue)->threads,
                                  bytes > INT64_MAX / COST ? bytes : bytes * COST);
    ek_pattern pattern = choose(kernels, rows, &most);
    bool contiguous = pattern == EK_ROWS && (rows->out_step == 1 || rows->n == 1);
    job job = {kernels, rows, ek_units_cut(rows, pattern, most, threads), contiguous, 1};
    if (threads == 1 || job.units.count < threads) {
        job.threads = threads;
        for (int64_t i = 0; i < job.units.count; i++)
            run_unit(&job, i);
        return EK_OK;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < job.units.count; i++)
        run_unit(&job, i);
    return EK_OK;
}
