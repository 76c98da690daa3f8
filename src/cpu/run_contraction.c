/* How a reduction of pairs is cut up on the CPU: as cpu/run_reduction.c does it, with a second
 * input beside the first. */
#include "cpu/run_contraction.h"

#include <string.h>

#include "backend.h"
#include "cpu/gather.h"
#include "cpu/record.h"
#include "cpu/units.h"

enum {
    UNIT_PAIRS = 16384, /* that one call of a kernel should have, to be worth the call */
    UNIT_ROWS = 256,    /* the most results of a unit of rows */
    LARGEST_ELEMENT = 16,
    LARGEST_RESULT = 16,
};

typedef struct job {
    const ek_contraction_kernels *kernels;
    const ek_rows *rows;
    ek_units units;
    ek_pair_pattern pattern;
    int threads; /* over the chunks of a unit */
} job;

/* Where a unit's elements are. */
typedef struct source {
    const job *job;
    const char *x, *y;
    int64_t width;
} source;

static void chunk_of_row(const void *data, int64_t first, int64_t n, void *result)
{
    const source *source = data;
    const ek_contraction_kernels *kernels = source->job->kernels;
    int64_t offset = first * kernels->in_size;
    kernels->rows(1, n, n, n, source->x + offset, source->y + offset, result);
}

/* The innermost kept dimension's step in y. */
static int64_t y_apart(const ek_rows *rows)
{
    return rows->kept_ndim ? rows->kept_y[rows->kept_ndim - 1] : 0;
}

static void chunk_of_columns(const void *data, int64_t first, int64_t n, void *result)
{
    const source *source = data;
    const ek_contraction_kernels *kernels = source->job->kernels;
    const ek_rows *rows = source->job->rows;
    int64_t x = rows->row_x[0], y = rows->row_y[0];
    kernels->columns(n, source->width, x, y, y_apart(rows) == 0,
                     source->x + first * x * kernels->in_size,
                     source->y + first * y * kernels->in_size, result);
}

/* The rows of y alone, for what is written for x. */
static ek_rows rows_of_y(const ek_rows *rows)
{
    ek_rows y;
    y.row_ndim = rows->row_ndim;
    memcpy(y.row_shape, rows->row_shape, (size_t)rows->row_ndim * sizeof(int64_t));
    memcpy(y.row_x, rows->row_y, (size_t)rows->row_ndim * sizeof(int64_t));
    return y;
}

static void chunk_gathered(const void *data, int64_t first, int64_t n, void *result)
{
    const source *source = data;
    const ek_contraction_kernels *kernels = source->job->kernels;
    _Alignas(64) char x[EK_CHUNK * LARGEST_ELEMENT], y[EK_CHUNK * LARGEST_ELEMENT];
    const ek_rows of_y = rows_of_y(source->job->rows);
    ek_gather_row(source->job->rows, kernels->in_size, source->x, first, n, x);
    ek_gather_row(&of_y, kernels->in_size, source->y, first, n, y);
    kernels->rows(1, n, n, n, x, y, result);
}

static void run_unit(const job *job, int64_t index)
{
    static void (*const chunks[])(const void *, int64_t, int64_t,
                                  void *) = {[EK_PAIR_ROWS] = chunk_of_row,
                                             [EK_PAIR_COLUMNS] = chunk_of_columns,
                                             [EK_PAIR_GATHER] = chunk_gathered};
    const ek_contraction_kernels *kernels = job->kernels;
    const ek_rows *rows = job->rows;
    const ek_units *units = &job->units;
    ek_unit unit = ek_units_at(units, index);
    int64_t row = index / units->per_last * units->last + index % units->per_last * units->width;
    int64_t y = rows->n > 0 ? ek_rows_offset_y(rows, row) : 0;
    source source = {job, (const char *)rows->x + unit.x * kernels->in_size,
                     (const char *)rows->y + y * kernels->in_size, unit.width};
    _Alignas(64) char result[UNIT_ROWS * LARGEST_RESULT];
    if (job->pattern == EK_PAIR_ROWS && rows->n <= EK_CHUNK) {
        kernels->rows(unit.width, rows->n, ek_units_x_step(units), y_apart(rows), source.x,
                      source.y, result);
    } else {
        ek_tree tree = {&kernels->tree, unit.width, chunks[job->pattern], &source};
        ek_tree_reduce(&tree, rows->n, job->threads, result);
    }
    kernels->finish(unit.width, rows->n, result, (char *)rows->out + unit.out * kernels->out_size,
                    ek_units_out_step(units));
}

/* The most results that a unit may have. */
static int64_t most_results(const ek_contraction_kernels *kernels, const ek_rows *rows,
                            ek_pair_pattern pattern)
{
    if (pattern == EK_PAIR_COLUMNS) {
        int64_t most = EK_TREE_WIDTH_BYTES / kernels->tree.size;
        int64_t fits = ek_tree_width(rows->n, kernels->tree.size);
        return most < fits ? most : fits;
    }
    if (pattern == EK_PAIR_GATHER || rows->n > EK_CHUNK)
        return 1;
    int64_t count = UNIT_PAIRS / (rows->n + 1) + 1;
    return count < UNIT_ROWS ? count : UNIT_ROWS;
}

static ek_status run_recorded(ek_queue *queue, const void *kernels, const void *rows)
{
    return ek_cpu_contract(queue, kernels, rows);
}

ek_status ek_cpu_contract(ek_queue *queue, const ek_contraction_kernels *kernels,
                          const ek_rows *rows)
{
    if (rows->count == 0)
        return EK_OK;
    if (EK_UNLIKELY(ek_recording(queue)))
        return ek_cpu_record(queue, run_recorded, kernels, rows, sizeof *rows);
    int threads =
        ek_tree_threads(ek_queue_base_of(queue)->threads, ek_rows_bytes(rows, kernels->in_size));
    ek_pair_pattern pattern = ek_pair_pattern_of(rows);
    ek_pattern cut = pattern == EK_PAIR_COLUMNS ? EK_COLUMNS : EK_ROWS;
    job job = {kernels, rows,
               ek_units_cut(rows, cut, most_results(kernels, rows, pattern), threads), pattern, 1};
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
