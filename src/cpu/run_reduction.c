/* How a reduction is cut up on the CPU: units of results side by side, threads over the units or,
 * where these are few, over the chunks of each. */
#include "cpu/run_reduction.h"

#include "backend.h"
#include "cpu/gather.h"
#include "cpu/record.h"
#include "cpu/units.h"

enum {
    /* Elements that one call of the rows kernel should have, to be worth the call. */
    UNIT_ELEMENTS = 16384,
    /* The most results of a unit of rows. */
    UNIT_ROWS = 256,
    LARGEST_ELEMENT = 16, /* bytes */
    LARGEST_RESULT = 48,  /* of an accumulator */
};

typedef struct job {
    const ek_reduction_kernels *kernels;
    const ek_rows *rows;
    ek_units units;
    int threads; /* over the chunks of a unit */
} job;

/* Where a unit's elements are. */
typedef struct source {
    const job *job;
    const char *x;
    int64_t width;
} source;

static void chunk_of_row(const void *data, int64_t first, int64_t n, void *result)
{
    const source *source = data;
    const ek_reduction_kernels *kernels = source->job->kernels;
    kernels->rows(1, n, n, source->x + first * kernels->in_size, result);
}

static void chunk_of_columns(const void *data, int64_t first, int64_t n, void *result)
{
    const source *source = data;
    const ek_reduction_kernels *kernels = source->job->kernels;
    int64_t stride = source->job->rows->row_x[0];
    kernels->columns(n, source->width, stride, source->x + first * stride * kernels->in_size,
                     result);
}

static void chunk_gathered(const void *data, int64_t first, int64_t n, void *result)
{
    const source *source = data;
    const ek_reduction_kernels *kernels = source->job->kernels;
    _Alignas(64) char buffer[EK_CHUNK * LARGEST_ELEMENT];
    ek_gather_row(source->job->rows, kernels->in_size, source->x, first, n, buffer);
    kernels->rows(1, n, n, buffer, result);
}

static void run_unit(const job *job, int64_t index)
{
    static void (*const chunks[])(const void *, int64_t, int64_t, void *) = {
        [EK_ROWS] = chunk_of_row, [EK_COLUMNS] = chunk_of_columns, [EK_GATHER] = chunk_gathered};
    const ek_reduction_kernels *kernels = job->kernels;
    const ek_rows *rows = job->rows;
    ek_unit unit = ek_units_at(&job->units, index);
    source source = {job, (const char *)rows->x + unit.x * kernels->in_size, unit.width};
    _Alignas(64) char result[UNIT_ROWS * LARGEST_RESULT];
    if (job->units.pattern == EK_ROWS && rows->n <= EK_CHUNK) {
        kernels->rows(unit.width, rows->n, ek_units_x_step(&job->units), source.x, result);
    } else {
        ek_tree tree = {&kernels->tree, unit.width, chunks[job->units.pattern], &source};
        ek_tree_reduce(&tree, rows->n, job->threads, result);
    }
    kernels->finish(unit.width, ek_rows_divisor(rows), result,
                    (char *)rows->out + unit.out * kernels->out_size,
                    ek_units_out_step(&job->units));
}

/* The most results that a unit may have. */
static int64_t most_results(const ek_reduction_kernels *kernels, const ek_rows *rows,
                            ek_pattern pattern)
{
    if (pattern == EK_COLUMNS) {
        int64_t most = kernels->width ? kernels->width : EK_TREE_WIDTH_BYTES / kernels->tree.size;
        int64_t fits = ek_tree_width(rows->n, kernels->tree.size);
        return most < fits ? most : fits;
    }
    if (pattern == EK_GATHER || rows->n > EK_CHUNK)
        return 1;
    int64_t count = UNIT_ELEMENTS / (rows->n + 1) + 1;
    return count < UNIT_ROWS ? count : UNIT_ROWS;
}

static ek_status run_recorded(ek_queue *queue, const void *kernels, const void *rows)
{
    return ek_cpu_reduce(queue, kernels, rows);
}

ek_status ek_cpu_reduce(ek_queue *queue, const ek_reduction_kernels *kernels, const ek_rows *rows)
{
    if (rows->count == 0)
        return EK_OK;
    if (EK_UNLIKELY(ek_recording(queue)))
        return ek_cpu_record(queue, run_recorded, kernels, rows, sizeof *rows);
    int threads =
        ek_tree_threads(ek_queue_base_of(queue)->threads, ek_rows_bytes(rows, kernels->in_size));
    ek_pattern pattern = ek_rows_pattern(rows);
    job job = {kernels, rows,
               ek_units_cut(rows, pattern, most_results(kernels, rows, pattern), threads), 1};
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
