#include "cpu/run_argreduction.h"

#include "backend.h"
#include "cpu/gather.h"
#include "cpu/record.h"
#include "cpu/units.h"

enum {
    /* Columns side by side. */
    WIDTH = 64,
    /* Neighbouring rows of a unit. */
    UNIT_ROWS = 64,
    /* Parts that threads search at the same time. */
    MAX_PARTS = 32,
    LARGEST_SIZE = 8, /* bytes of what is compared, */
    LARGEST_ELEMENT = 16, /* and of an element */
};

typedef struct winners {
    _Alignas(64) char best[WIDTH * LARGEST_SIZE];
    int64_t index[WIDTH];
} winners;

typedef struct job {
    const ek_argreduction_kernels *kernels;
    const ek_rows *rows;
    ek_units units;
    int threads; /* over the elements of a unit */
} job;

/* Columns from `first` to `end`. */
static void search_columns(const job *job, const char *x, int64_t width, int64_t first, int64_t end,
                           winners *found)
{
    const ek_argreduction_kernels *kernels = job->kernels;
    int64_t step = job->rows->row_x[0];
    winners later;
    for (int64_t at = first; at < end; at += EK_CHUNK) {
        int64_t n = end - at < EK_CHUNK ? end - at : EK_CHUNK;
        winners *here = at == first ? found : &later;
        kernels->columns(n, width, step, x + at * step * kernels->in_size, here->best, here->index);
        if (at > first)
            kernels->merge(width, later.best, later.index, at - first, found->best, found->index);
    }
}

/* Elements of a row, `first` to `end`: the winner, then its place in the chunk that had it first.
 */
static void search_row(const job *job, const char *x, int64_t first, int64_t end, winners *found)
{
    const ek_argreduction_kernels *kernels = job->kernels;
    bool gather = job->units.pattern == EK_GATHER;
    _Alignas(64) char buffer[EK_CHUNK * LARGEST_ELEMENT];
    _Alignas(16) char later[LARGEST_SIZE];
    const int64_t start = 0;
    found->index[0] = 0;
    for (int64_t at = first; at < end; at += EK_CHUNK) {
        int64_t n = end - at < EK_CHUNK ? end - at : EK_CHUNK;
        const char *elements = x + at * kernels->in_size;
        if (gather) {
            ek_gather_row(job->rows, kernels->in_size, x, at, n, buffer);
            elements = buffer;
        }
        kernels->best(n, elements, at == first ? found->best : later);
        if (at > first)
            kernels->merge(1, later, &start, at - first, found->best, found->index);
    }
    int64_t at = first + found->index[0], n = end - at < EK_CHUNK ? end - at : EK_CHUNK;
    const char *elements = x + at * kernels->in_size;
    if (gather) {
        ek_gather_row(job->rows, kernels->in_size, x, at, n, buffer);
        elements = buffer;
    }
    found->index[0] += kernels->place(n, elements, found->best);
}

static void search(const job *job, const char *x, int64_t width, int64_t first, int64_t end,
                   winners *found)
{
    if (job->units.pattern == EK_COLUMNS)
        search_columns(job, x, width, first, end, found);
    else
        search_row(job, x, first, end, found);
}

/* All elements, a part for each thread. */
static void search_parts(const job *job, const char *x, int64_t width, winners *found)
{
    int64_t n = job->rows->n;
    int64_t parts = job->threads < MAX_PARTS ? job->threads : MAX_PARTS;
    int64_t part = (n / parts / EK_CHUNK + 1) * EK_CHUNK;
    parts = (n - 1) / part + 1;
    if (parts == 1) {
        search(job, x, width, 0, n, found);
        return;
    }
    winners of[MAX_PARTS];
#pragma omp parallel for num_threads((int)parts) schedule(static)
    for (int64_t i = 0; i < parts; i++) {
        int64_t end = n - i * part < part ? n : (i + 1) * part;
        search(job, x, width, i * part, end, &of[i]);
    }
    *found = of[0];
    for (int64_t i = 1; i < parts; i++)
        job->kernels->merge(width, of[i].best, of[i].index, i * part, found->best, found->index);
}

static void run_unit(const job *job, int64_t number)
{
    const ek_rows *rows = job->rows;
    ek_unit unit = ek_units_at(&job->units, number);
    int64_t x_step = ek_units_x_step(&job->units), out_step = ek_units_out_step(&job->units);
    int64_t *out = (int64_t *)rows->out + unit.out;
    const char *x = (const char *)rows->x + unit.x * job->kernels->in_size;
    winners found;
    if (job->units.pattern == EK_COLUMNS) {
        search_parts(job, x, unit.width, &found);
        for (int64_t i = 0; i < unit.width; i++)
            out[i * out_step] = found.index[i];
        return;
    }
    if (job->units.pattern == EK_ROWS && rows->n <= EK_CHUNK) {
        job->kernels->rows(unit.width, rows->n, x_step, x, out, out_step);
        return;
    }
    for (int64_t i = 0; i < unit.width; i++) {
        search_parts(job, x + i * x_step * job->kernels->in_size, 1, &found);
        out[i * out_step] = found.index[0];
    }
}

static ek_status run_recorded(ek_queue *queue, const void *kernels, const void *rows)
{
    return ek_cpu_argreduce(queue, kernels, rows);
}

ek_status ek_cpu_argreduce(ek_queue *queue, const ek_argreduction_kernels *kernels,
                           const ek_rows *rows)
{
    if (rows->count == 0)
        return EK_OK;
    if (EK_UNLIKELY(ek_recording(queue)))
        return ek_cpu_record(queue, run_recorded, kernels, rows, sizeof *rows);
    int threads =
        ek_tree_threads(ek_queue_base_of(queue)->threads, ek_rows_bytes(rows, kernels->in_size));
    ek_pattern pattern = ek_rows_pattern(rows);
    int64_t most = pattern == EK_COLUMNS ? WIDTH : rows->n <= EK_CHUNK ? UNIT_ROWS : 1;
    job job = {kernels, rows, ek_units_cut(rows, pattern, most, threads), 1};
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
