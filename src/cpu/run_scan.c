/* How a scan is cut up on the CPU: units of rows side by side, threads over the units or, where
 * these are few, over the spans of each. */
#include "cpu/run_scan.h"

#include <pthread.h>
#include <string.h>

#include "backend.h"
#include "cpu/features.h"
#include "cpu/gather.h"
#include "cpu/record.h"
#include "cpu/stream.h"
#include "cpu/tree.h"
#include "cpu/units.h"
#include "integer.h"

enum {
    /* Elements of the rows of a unit, to be worth the call. */
    UNIT_ELEMENTS = 16384,
    /* Bytes of a row of results that are worth streaming. */
    STREAM_ROW = 8192,
    LARGEST_SIZE = 16, /* bytes of an element, a result or an accumulator */
};

typedef struct job {
    const ek_scan_kernels *kernels;
    const ek_rows *rows;
    ek_units units;
    bool stream; /* results go around the cache */
    ek_variant variant;
} job;

/* A row, or rows side by side. */
typedef struct unit {
    const job *job;
    const char *x;
    char *out;
    int64_t width;
} unit;

/* Results on their way around the cache, up to a chunk and less than a line. */
typedef struct stream {
    _Alignas(EK_LINE) char buffer[EK_LINE + EK_SCAN_CHUNK * LARGEST_SIZE];
    size_t waiting; /* bytes at the beginning */
    char *to;       /* where they go */
} stream;

/* Sends what fills whole lines; the rest waits for what comes next. */
static void send(const job *job, stream *stream, size_t bytes)
{
    size_t all = stream->waiting + bytes, rest = ((uintptr_t)stream->to + all) % EK_LINE;
    if (rest > all)
        rest = all;
    ek_stream(job->variant, stream->to, stream->buffer, all - rest);
    memmove(stream->buffer, stream->buffer + all - rest, rest);
    stream->to += all - rest;
    stream->waiting = rest;
}

/* Elements first to first + n of a row; `first` begins a chunk. There are no results where only the
 * carry is wanted, and then chunks are whole. */
static void run_row(const unit *unit, int64_t first, int64_t n, ek_scan_carry *carry, bool keep)
{
    const job *job = unit->job;
    const ek_scan_kernels *kernels = job->kernels;
    const ek_rows *rows = job->rows;
    bool gather = job->units.pattern == EK_GATHER;
    const char *x = unit->x + (gather ? 0 : first * kernels->in_size);
    char *out = unit->out + first * rows->out_step * kernels->out_size;
    _Alignas(EK_LINE) char elements[EK_SCAN_CHUNK * LARGEST_SIZE];
    stream results; /* most of it is room */
    results.to = out;
    results.waiting = 0;
    if (!gather && !keep) {
        kernels->total(n, x, carry);
        return;
    }
    if (!gather && !job->stream) {
        kernels->row(n, x, carry, out);
        return;
    }
    for (int64_t done = 0, count; done < n; done += count) {
        count = ek_smaller(n - done, EK_SCAN_CHUNK);
        if (gather)
            ek_gather_row(rows, kernels->in_size, x, first + done, count, elements);
        if (!keep) {
            kernels->total(count, elements, carry);
            continue;
        }
        kernels->row(count, gather ? elements : x + done * kernels->in_size, carry,
                     results.buffer + results.waiting);
        if (job->stream)
            send(job, &results, (size_t)(count * kernels->out_size));
        else
            ek_copy_steps(count, kernels->out_size, results.buffer, 1,
                          out + done * rows->out_step * kernels->out_size, rows->out_step);
    }
    memcpy(results.to, results.buffer, results.waiting);
}

/* The same of rows side by side. */
static void run_columns(const unit *unit, int64_t first, int64_t n, ek_scan_carry *carry, bool keep)
{
    const ek_scan_kernels *kernels = unit->job->kernels;
    const ek_rows *rows = unit->job->rows;
    int64_t step = rows->row_ndim > 0 ? rows->row_x[0] : 0, out_step = keep ? rows->out_step : 0;
    char unused[EK_SCAN_WIDTH_BYTES];
    for (int64_t done = 0; done < n; done += EK_SCAN_CHUNK) {
        int64_t at = first + done;
        kernels->columns(ek_smaller(n - done, EK_SCAN_CHUNK), unit->width, step,
                         unit->x + at * step * kernels->in_size, carry, out_step,
                         keep ? unit->out + at * out_step * kernels->out_size : unused);
    }
}

static void run_part(const unit *unit, int64_t first, int64_t n, ek_scan_carry *carry, bool keep)
{
    if (unit->job->units.pattern == EK_COLUMNS)
        run_columns(unit, first, n, carry, keep);
    else
        run_row(unit, first, n, carry, keep);
}

static unit unit_at(const job *job, int64_t index)
{
    ek_unit at = ek_units_at(&job->units, index);
    return (unit){job, (const char *)job->rows->x + at.x * job->kernels->in_size,
                  (char *)job->rows->out + at.out * job->kernels->out_size, at.width};
}

static void run_unit(const job *job, int64_t index)
{
    unit unit = unit_at(job, index);
    int64_t rows = 1, n = job->rows->n;
    if (job->units.pattern == EK_ROWS) {
        rows = unit.width;
        unit.width = 1;
    }
    for (int64_t i = 0; i < rows; i++) {
        ek_scan_carry carry;
        carry.chunk = 0;
        run_part(&unit, 0, n, &carry, true);
        unit.x += ek_units_x_step(&job->units) * job->kernels->in_size;
        unit.out += ek_units_out_step(&job->units) * job->kernels->out_size;
    }
    if (job->stream)
        ek_stream_end();
}

/* What the stretches of a row come to that are done: threads hand it on in order. Who comes too
 * early sleeps: on a busy machine, spinning would take the time of the one that is waited for. */
typedef struct relay {
    pthread_mutex_t lock;
    pthread_cond_t handed_on;
    int64_t done; /* stretches */
    char before[EK_SCAN_WIDTH_BYTES];
} relay;

/* Stretch i has come to carry->stretches, unless it is the last one, which nobody waits for. What
 * is before it takes that place. */
static void hand_on(const job *job, int64_t width, int64_t i, relay *relay, ek_scan_carry *carry)
{
    size_t bytes = (size_t)(width * job->kernels->size);
    char total[EK_SCAN_WIDTH_BYTES];
    bool last = (i + 1) * EK_STRETCH >= job->rows->n;
    if (!last)
        memcpy(total, carry->stretches, bytes);
    pthread_mutex_lock(&relay->lock);
    while (relay->done < i)
        pthread_cond_wait(&relay->handed_on, &relay->lock);
    memcpy(carry->stretches, relay->before, bytes);
    if (!last) {
        if (i > 0)
            job->kernels->take_in(width, relay->before, total);
        memcpy(relay->before, total, bytes);
        relay->done++;
        pthread_cond_broadcast(&relay->handed_on);
    }
    pthread_mutex_unlock(&relay->lock);
}

/* A long row by several threads. A stretch is read twice, the second time from the cache: for its
 * total, and for its results once those before it are known. */
static void share_unit(const job *job, int64_t index, int threads)
{
    unit unit = unit_at(job, index);
    int64_t n = job->rows->n, stretches = (n - 1) / EK_STRETCH + 1;
    relay relay = {.lock = PTHREAD_MUTEX_INITIALIZER, .handed_on = PTHREAD_COND_INITIALIZER};
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int64_t i = 0; i < stretches; i++) {
        int64_t first = i * EK_STRETCH;
        ek_scan_carry carry;
        carry.chunk = 0;
        if (i < stretches - 1)
            run_part(&unit, first, EK_STRETCH, &carry, false);
        hand_on(job, unit.width, i, &relay, &carry);
        carry.chunk = first / EK_SCAN_CHUNK;
        run_part(&unit, first, ek_smaller(n - first, EK_STRETCH), &carry, true);
        if (job->stream)
            ek_stream_end();
    }
    pthread_cond_destroy(&relay.handed_on);
    pthread_mutex_destroy(&relay.lock);
}

/* As ek_rows_pattern, where results must lie as the elements do. */
static ek_pattern pattern_of(const ek_rows *rows)
{
    int32_t last = rows->kept_ndim - 1;
    bool side_by_side = last >= 0 && rows->kept_x[last] == 1 && rows->kept_out[last] == 1;
    if (rows->row_ndim == 1 && rows->row_x[0] == 1 && rows->out_step == 1)
        return EK_ROWS;
    if (rows->row_ndim <= 1 && side_by_side)
        return EK_COLUMNS;
    return rows->row_ndim == 0 ? EK_ROWS : EK_GATHER;
}

/* The most rows that a unit may have. */
static int64_t most_rows(const ek_scan_kernels *kernels, const ek_rows *rows, ek_pattern pattern)
{
    if (pattern == EK_COLUMNS)
        return EK_SCAN_WIDTH_BYTES / kernels->size;
    return pattern == EK_ROWS ? UNIT_ELEMENTS / rows->n + 1 : 1;
}

static ek_status run_recorded(ek_queue *queue, const void *kernels, const void *rows)
{
    return ek_cpu_scan(queue, kernels, rows);
}

ek_status ek_cpu_scan(ek_queue *queue, const ek_scan_kernels *kernels, const ek_rows *rows)
{
    if (rows->count == 0 || rows->n == 0)
        return EK_OK;
    if (EK_UNLIKELY(ek_recording(queue)))
        return ek_cpu_record(queue, run_recorded, kernels, rows, sizeof *rows);
    int64_t bytes = ek_rows_bytes(rows, kernels->in_size + kernels->out_size);
    int threads = ek_tree_threads(ek_queue_base_of(queue)->threads, bytes);
    ek_pattern pattern = pattern_of(rows);
    job job = {.kernels = kernels,
               .rows = rows,
               .units = ek_units_cut(rows, pattern, most_rows(kernels, rows, pattern), threads),
               .stream = pattern == EK_ROWS && rows->n * kernels->out_size >= STREAM_ROW &&
                         (uint64_t)bytes > ek_cpu_cache_bytes(),
               .variant = (ek_variant)queue->variant};
    if (threads > 1 && job.units.count < threads && rows->n > EK_STRETCH) {
        for (int64_t i = 0; i < job.units.count; i++)
            share_unit(&job, i, threads);
        return EK_OK;
    }
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t i = 0; i < job.units.count; i++)
        run_unit(&job, i);
    return EK_OK;
}
