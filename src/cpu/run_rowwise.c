#include "cpu/run_rowwise.h"

#include <omp.h>
#include <string.h>

#include "backend.h"
#include "cpu/aside.h"
#include "cpu/features.h"
#include "cpu/gather.h"
#include "cpu/record.h"
#include "cpu/stream.h"
#include "cpu/units.h"
#include "cpu/workspace.h"
#include "integer.h"

enum {
    LARGEST_SIZE = 8, /* bytes of an element or a number */
    /* Bytes of terms that are kept for the results, instead of being computed again. */
    TERMS_BYTES = EK_CHUNK * LARGEST_SIZE,
    /* Elements of the rows of a unit. */
    UNIT_ELEMENTS = 4096,
    /* Fewer columns than this are gathered row by row, or not split further. */
    LEAST_COLUMNS = 16,
    /* Bytes of results that are collected before they go around the cache. */
    STREAM_BYTES = 2048,
};

typedef struct job {
    const ek_rowwise_kernels *kernels;
    const ek_rows *rows;
    ek_units units;
    bool contiguous; /* a row, and its results */
    bool stream;     /* results go around the cache */
    ek_variant variant;
    int threads; /* over the chunks of a row */
    double eps;
    const char *gain, *bias; /* numbers; null unless the operation has them */
    char *parts;             /* for each thread, room for the numbers of the chunks of a unit */
    int64_t parts_bytes;
} job;

/* Results that a thread has yet to send around the cache, which it does while it computes the next
 * ones: those of a row, and before them what was less than a line. */
typedef struct behind {
    const char *from; /* in the buffer */
    char *to;
    int64_t bytes;
    _Alignas(EK_LINE) char buffer[EK_LINE + EK_CHUNK * LARGEST_SIZE];
} behind;

/* One row, or columns side by side, with what is known of them so far. */
typedef struct span {
    const job *job;
    behind *behind; /* the thread's */
    const char *x;
    char *out;
    int64_t width;
    bool terms_in_out;   /* results are first used as room for the terms */
    char *parts;         /* the thread's room for numbers of chunks */
    char *firsts, *sums; /* of chunks, [chunk][width]; firsts become centers */
    _Alignas(64) char center[EK_TREE_WIDTH_BYTES];
    _Alignas(64) char rest[EK_TREE_WIDTH_BYTES];
} span;

static int64_t chunk_length(const ek_rows *rows, int64_t chunk)
{
    return ek_smaller(rows->n - chunk * EK_CHUNK, EK_CHUNK);
}

/* Number i of an array of them; null stays null. */
static const char *number(const job *job, const char *numbers, int64_t i)
{
    return numbers ? numbers + i * job->kernels->size : NULL;
}

/* Elements first to first + n of the row: where they are, or brought together in the buffer. */
static const void *elements(const span *span, int64_t first, int64_t n, char *buffer)
{
    const job *job = span->job;
    int64_t size = job->kernels->in_size;
    if (job->contiguous)
        return span->x + first * size;
    ek_gather_row(job->rows, size, span->x, first, n, buffer);
    return buffer;
}

/* What is likely read next: as far from `x` as the elements after it are from the row's. */
static ek_aside aside_of(const span *span, const void *x, int64_t step)
{
    return (ek_aside){.next = (uintptr_t)x + (uintptr_t)(span->job->contiguous ? step : 0) *
                                                 span->job->kernels->in_size};
}

static void *terms_of(const span *span, int64_t first)
{
    return span->terms_in_out ? span->out + first * span->job->kernels->size : NULL;
}

/* ---- results of rows */

/* Computes results block by block and streams them. The first block is shorter, so that the others
 * are whole cache lines. */
static void stream_results(const span *span, int64_t first, int64_t n, const char *x,
                           const char *terms, const void *center, const void *rest)
{
    const job *job = span->job;
    const ek_rowwise_kernels *kernels = job->kernels;
    _Alignas(EK_LINE) char buffer[STREAM_BYTES];
    int64_t size = kernels->out_size;
    char *out = span->out + first * size;
    int64_t ahead = (int64_t)((uintptr_t)out % EK_LINE) / size;
    for (int64_t done = 0, count; done < n; done += count) {
        count = ek_smaller(n - done, STREAM_BYTES / size - (done ? 0 : ahead));
        kernels->results(count, x + done * kernels->in_size, number(job, terms, done), center, rest,
                         number(job, job->gain, first + done), number(job, job->bias, first + done),
                         buffer);
        ek_stream(job->variant, out + done * size, buffer, (size_t)(count * size));
    }
}

static void write_results(const span *span, int64_t first, int64_t n, const void *x,
                          const void *terms, const void *center, const void *rest)
{
    const job *job = span->job;
    const ek_rowwise_kernels *kernels = job->kernels;
    _Alignas(64) char buffer[EK_CHUNK * LARGEST_SIZE];
    char *out = span->out + first * job->rows->out_step * kernels->out_size;
    if (job->stream) {
        stream_results(span, first, n, x, terms, center, rest);
        return;
    }
    kernels->results(n, x, terms, center, rest, number(job, job->gain, first),
                     number(job, job->bias, first), job->contiguous ? out : buffer);
    if (!job->contiguous)
        ek_copy_steps(n, kernels->out_size, buffer, 1, out, job->rows->out_step);
}

/* ---- results of a row, sent while the next row is computed */

static void leave_behind(behind *behind, int64_t bytes)
{
    behind->from += bytes;
    behind->to += bytes;
    behind->bytes -= bytes;
}

/* Gives a kernel the whole lines to send. */
static void hand_over(behind *behind, ek_aside *aside)
{
    int64_t head = (int64_t)(-(uintptr_t)behind->to % EK_LINE);
    head = ek_smaller(head, behind->bytes);
    memcpy(behind->to, behind->from, (size_t)head);
    leave_behind(behind, head);
    aside->from = behind->from;
    aside->to = behind->to;
    aside->left = behind->bytes / EK_LINE * EK_LINE;
    leave_behind(behind, aside->left);
}

static void send_left(const job *job, const ek_aside *aside)
{
    if (aside->left > 0)
        ek_stream(job->variant, aside->to, aside->from, (size_t)aside->left);
}

/* Sends everything. */
static void catch_up(const job *job, behind *behind)
{
    ek_aside aside;
    hand_over(behind, &aside);
    send_left(job, &aside);
    memcpy(behind->to, behind->from, (size_t)behind->bytes);
    behind->bytes = 0;
}

/* Room for `bytes` bytes of results that belong at `out`. No whole line is left. */
static char *make_room(const job *job, behind *behind, char *out, int64_t bytes)
{
    char *room = behind->buffer + EK_LINE, *from = room;
    if (behind->to + behind->bytes != out) {
        catch_up(job, behind);
        behind->to = out;
    }
    from -= behind->bytes;
    memmove(from, behind->from, (size_t)behind->bytes);
    behind->from = from;
    behind->bytes += bytes;
    return room;
}

/* ---- numbers of chunks, and of rows from these */

/* The numbers of n elements of each column. */
static void columns_numbers(const span *span, int64_t at, int64_t n, int64_t terms_step,
                            void *terms, void *first, void *sum)
{
    const ek_rowwise_kernels *kernels = span->job->kernels;
    _Alignas(64) char lanes[EK_TREE_LANES_BYTES];
    _Alignas(64) char center[EK_TREE_WIDTH_BYTES];
    int64_t width = span->width, step = span->job->rows->row_x[0], used = ek_tree_lanes(n);
    size_t bytes = (size_t)(width * kernels->size);
    const char *x = span->x + at * step * kernels->in_size;
    memset(first, 0, bytes);
    memset(center, 0, bytes);
    if (kernels->first_lanes) {
        int64_t few = ek_smaller(used, kernels->first_lanes);
        kernels->first.start(few * width, lanes);
        kernels->first_columns(n, width, step, x, lanes);
        kernels->first.fold(few, width, lanes, first);
        memcpy(center, first, bytes);
        kernels->centers(width, n, center);
    }
    kernels->add.start(used * width, lanes);
    kernels->sum_columns(n, width, step, x, center, terms_step, terms, lanes);
    kernels->add.fold(used, width, lanes, sum);
}

static void chunk_numbers(const span *span, int64_t chunk)
{
    const job *job = span->job;
    int64_t at = chunk * EK_CHUNK, n = chunk_length(job->rows, chunk);
    int64_t bytes = span->width * job->kernels->size;
    char *first = span->firsts + chunk * bytes, *sum = span->sums + chunk * bytes;
    if (job->units.pattern == EK_COLUMNS) {
        int64_t step = job->rows->out_step;
        columns_numbers(span, at, n, step, terms_of(span, at * step), first, sum);
        return;
    }
    _Alignas(64) char buffer[EK_CHUNK * LARGEST_SIZE];
    const void *x = elements(span, at, n, buffer);
    ek_aside aside = aside_of(span, x, n);
    job->kernels->chunk(n, x, &aside, terms_of(span, at), first, sum);
}

typedef struct parts {
    const ek_tree_kernels *kernels;
    int64_t width;
    const char *numbers;
} parts;

static void reduce_parts(const void *data, int64_t first, int64_t n, void *result)
{
    const parts *parts = data;
    const ek_tree_kernels *kernels = parts->kernels;
    _Alignas(64) char lanes[EK_TREE_LANES_BYTES];
    int64_t used = ek_tree_lanes(n);
    kernels->start(used * parts->width, lanes);
    kernels->join(n, parts->width, parts->numbers + first * parts->width * kernels->size, lanes);
    kernels->fold(used, parts->width, lanes, result);
}

static void join(span *span, int64_t chunks)
{
    const ek_rowwise_kernels *kernels = span->job->kernels;
    const ek_rows *rows = span->job->rows;
    int64_t width = span->width, bytes = width * kernels->size;
    if (kernels->first_lanes) {
        parts firsts = {&kernels->first, width, span->firsts};
        ek_tree tree = {&kernels->first, width, reduce_parts, &firsts};
        ek_tree_reduce(&tree, chunks, 1, span->center);
        kernels->centers(width, rows->n, span->center);
        for (int64_t i = 0; i < chunks; i++) {
            kernels->centers(width, chunk_length(rows, i), span->firsts + i * bytes);
            kernels->move(width, chunk_length(rows, i), span->firsts + i * bytes, span->center,
                          span->sums + i * bytes);
        }
    }
    parts sums = {&kernels->add, width, span->sums};
    ek_tree tree = {&kernels->add, width, reduce_parts, &sums};
    ek_tree_reduce(&tree, chunks, 1, span->rest);
    kernels->rests(width, rows->n, span->job->eps, span->rest);
}

/* ---- rows and columns */

static void column_results(const span *span, int64_t at, int64_t n, int64_t terms_step,
                           const void *terms, const void *center, const void *rest)
{
    const job *job = span->job;
    const ek_rows *rows = job->rows;
    int64_t step = rows->row_x[0];
    ek_column_results results = {
        .n = n,
        .width = span->width,
        .step = step,
        .out_step = rows->out_step,
        .terms_step = terms_step,
        .x = span->x + at * step * job->kernels->in_size,
        .terms = terms,
        .center = center,
        .rest = rest,
        .gain = number(job, job->gain, at),
        .bias = number(job, job->bias, at),
        .out = span->out + at * rows->out_step * job->kernels->out_size,
    };
    job->kernels->result_columns(&results);
}

static void chunk_results(const span *span, int64_t chunk)
{
    const job *job = span->job;
    const ek_rowwise_kernels *kernels = job->kernels;
    int64_t at = chunk * EK_CHUNK, n = chunk_length(job->rows, chunk);
    int64_t bytes = span->width * kernels->size, step = job->rows->out_step;
    _Alignas(64) char moved[EK_TREE_WIDTH_BYTES];
    const void *center = span->center, *rest = span->rest;
    /* Terms go by the center of their chunk. */
    if (kernels->uses_terms && kernels->first_lanes) {
        center = span->firsts + chunk * bytes;
        rest = memcpy(moved, span->rest, (size_t)bytes);
        kernels->move(span->width, n, center, span->center, moved);
    }
    if (job->units.pattern == EK_COLUMNS) {
        column_results(span, at, n, step, terms_of(span, at * step), center, rest);
        return;
    }
    _Alignas(64) char buffer[EK_CHUNK * LARGEST_SIZE];
    const void *terms = terms_of(span, at);
    write_results(span, at, n, terms ? NULL : elements(span, at, n, buffer), terms, center, rest);
}

static void each_chunk(const span *span, int64_t chunks, void (*work)(const struct span *, int64_t))
{
    if (span->job->threads == 1) {
        for (int64_t i = 0; i < chunks; i++)
            work(span, i);
        return;
    }
#pragma omp parallel for num_threads(span->job->threads) schedule(static)
    for (int64_t i = 0; i < chunks; i++) {
        work(span, i);
        if (span->job->stream)
            ek_stream_end();
    }
}

static void finish(const span *span)
{
    span->job->kernels->finish(span->width, span->center, span->rest, span->out,
                               ek_units_out_step(&span->job->units));
}

static void run_chunks(span *span, int64_t chunks)
{
    const job *job = span->job;
    const ek_rowwise_kernels *kernels = job->kernels;
    span->firsts = span->parts;
    span->sums = span->firsts + job->parts_bytes / 2;
    span->terms_in_out = kernels->uses_terms && !job->stream &&
                         (job->contiguous || job->units.pattern == EK_COLUMNS) &&
                         kernels->out_size == kernels->size;
    each_chunk(span, chunks, chunk_numbers);
    join(span, chunks);
    if (kernels->finish)
        finish(span);
    else
        each_chunk(span, chunks, chunk_results);
}

static void settle(span *span)
{
    const job *job = span->job;
    if (job->kernels->first_lanes)
        job->kernels->centers(span->width, job->rows->n, span->center);
    job->kernels->rests(span->width, job->rows->n, job->eps, span->rest);
}

/* A row of one chunk is gathered once at most, and its terms are kept. */
static void run_row(span *span)
{
    const ek_rowwise_kernels *kernels = span->job->kernels;
    _Alignas(64) char buffer[EK_CHUNK * LARGEST_SIZE];
    _Alignas(64) char memory[TERMS_BYTES];
    const job *job = span->job;
    behind *behind = span->behind;
    void *terms = kernels->uses_terms ? memory : NULL;
    int64_t n = job->rows->n;
    const void *x = elements(span, 0, n, buffer);
    ek_aside aside = aside_of(span, x, ek_units_x_step(&job->units));
    if (job->stream)
        hand_over(behind, &aside);
    kernels->chunk(n, x, &aside, terms, span->center, span->rest);
    settle(span);
    if (job->stream) {
        send_left(job, &aside);
        kernels->results(n, x, terms, span->center, span->rest, job->gain, job->bias,
                         make_room(job, behind, span->out, n * kernels->out_size));
    } else if (kernels->finish) {
        finish(span);
    } else {
        write_results(span, 0, n, x, terms, span->center, span->rest);
    }
}

static void run_columns(span *span)
{
    const ek_rowwise_kernels *kernels = span->job->kernels;
    const ek_rows *rows = span->job->rows;
    _Alignas(64) char memory[TERMS_BYTES];
    int64_t step = rows->out_step;
    char *terms = NULL;
    if (kernels->uses_terms && kernels->out_size == kernels->size) {
        terms = span->out;
    } else if (kernels->uses_terms && rows->n * span->width * kernels->size <= TERMS_BYTES) {
        terms = memory;
        step = span->width;
    }
    columns_numbers(span, 0, rows->n, step, terms, span->center, span->rest);
    settle(span);
    if (kernels->finish)
        finish(span);
    else
        column_results(span, 0, rows->n, step, terms, span->center, span->rest);
}

/* Short rows, whose results lie one after the other, around the cache. */
static void stream_short_rows(const job *job, const ek_short_rows *all, const char *x, char *out)
{
    _Alignas(EK_LINE) char buffer[STREAM_BYTES];
    int64_t size = job->kernels->out_size, bytes = all->n * size;
    ek_short_rows some = *all;
    for (int64_t done = 0; done < all->count; done += some.count) {
        some.count = ek_smaller(all->count - done, STREAM_BYTES / bytes);
        job->kernels->short_rows(&some, x + done * all->step * job->kernels->in_size, buffer);
        ek_stream(job->variant, out + done * bytes, buffer, (size_t)(some.count * bytes));
    }
}

static void run_short_rows(const job *job, int64_t count, const char *x, char *out)
{
    ek_short_rows rows = {.count = count,
                          .n = job->rows->n,
                          .step = ek_units_x_step(&job->units),
                          .out_step = ek_units_out_step(&job->units),
                          .eps = job->eps,
                          .gain = job->gain,
                          .bias = job->bias};
    if (job->stream && rows.out_step == rows.n)
        stream_short_rows(job, &rows, x, out);
    else
        job->kernels->short_rows(&rows, x, out);
}

static void run_unit(const job *job, int64_t index, char *parts, behind *behind)
{
    const ek_rows *rows = job->rows;
    const ek_rowwise_kernels *kernels = job->kernels;
    ek_unit unit = ek_units_at(&job->units, index);
    int64_t chunks = rows->n > 0 ? (rows->n - 1) / EK_CHUNK + 1 : 1;
    span span = {.job = job, .behind = behind, .width = 1, .parts = parts};
    span.x = (const char *)rows->x + unit.x * kernels->in_size;
    span.out = (char *)rows->out + unit.out * kernels->out_size;
    if (job->units.pattern == EK_COLUMNS) {
        span.width = unit.width;
        if (chunks == 1)
            run_columns(&span);
        else
            run_chunks(&span, chunks);
        return;
    }
    if (job->contiguous && rows->n <= EK_LANES) {
        run_short_rows(job, unit.width, span.x, span.out);
        return;
    }
    for (int64_t i = 0; i < unit.width; i++) {
        if (chunks == 1)
            run_row(&span);
        else
            run_chunks(&span, chunks);
        span.x += ek_units_x_step(&job->units) * kernels->in_size;
        span.out += ek_units_out_step(&job->units) * kernels->out_size;
    }
}

/* The share of thread `mine` of `all`. Ordering streamed stores takes a moment, so it is done once.
 */
static void run_units(const job *job, int64_t mine, int64_t all)
{
    char *parts = job->parts + mine * job->parts_bytes;
    behind behind; /* most of it is room */
    behind.from = behind.to = behind.buffer;
    behind.bytes = 0;
    for (int64_t i = job->units.count * mine / all; i < job->units.count * (mine + 1) / all; i++)
        run_unit(job, i, parts, &behind);
    if (job->stream) {
        catch_up(job, &behind);
        ek_stream_end();
    }
}

/* ---- how a call is cut up */

/* Columns only if their results lie side by side too, and are some; and the most rows of a unit. */
static ek_pattern choose(const ek_rowwise_kernels *kernels, const ek_rows *rows, int64_t *most)
{
    ek_pattern pattern = ek_rows_pattern(rows);
    int32_t last = rows->kept_ndim - 1;
    *most = UNIT_ELEMENTS / (rows->n + 1) + 1;
    if (pattern != EK_COLUMNS)
        return pattern;
    if (rows->kept_out[last] != 1 || rows->kept_shape[last] < LEAST_COLUMNS)
        return EK_GATHER;
    int64_t widest = EK_TREE_WIDTH_BYTES / kernels->size;
    int64_t kept = TERMS_BYTES / kernels->size / rows->n;
    bool in_out = !kernels->uses_terms || kernels->out_size == kernels->size;
    *most = in_out || kept < LEAST_COLUMNS ? widest : ek_smaller(kept, widest);
    return pattern;
}

static int64_t aligned(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Gain or bias as numbers one after the other: where they are, or in `memory`. */
static const char *prepare(const job *job, const void *from, int64_t step, double without,
                           char *memory)
{
    const ek_rowwise_kernels *kernels = job->kernels;
    int64_t n = job->rows->n;
    if (from && step == 1 && kernels->in_size == kernels->size)
        return from;
    if (from) {
        kernels->widen(n, step, from, memory);
        return memory;
    }
    for (int64_t i = 0; i < n; i++) {
        if (kernels->size == sizeof(float))
            ((float *)(void *)memory)[i] = (float)without;
        else
            ((double *)(void *)memory)[i] = without;
    }
    return memory;
}

/* The call's workspace: gain, bias, and the numbers of chunks. */
static ek_status get_room(ek_queue *queue, job *job, const ek_affine *affine, int threads)
{
    const ek_rowwise_kernels *kernels = job->kernels;
    int64_t n = job->rows->n, along = affine ? aligned(n * kernels->size) : 0;
    int64_t width = job->units.pattern == EK_COLUMNS ? job->units.width : 1;
    if (n > EK_CHUNK)
        job->parts_bytes = 2 * aligned(((n - 1) / EK_CHUNK + 1) * width * kernels->size);
    size_t bytes = (size_t)(2 * along + threads * job->parts_bytes);
    void *memory = NULL;
    if (bytes > 0)
        EK_TRY(ek_cpu_workspace(queue, bytes, &memory));
    if (affine) {
        job->eps = affine->eps;
        job->gain = prepare(job, affine->gain, affine->gain_step, 1, memory);
        if (kernels->affine > 1)
            job->bias = prepare(job, affine->bias, affine->bias_step, -0.0, (char *)memory + along);
    }
    job->parts = (char *)memory + 2 * along;
    return EK_OK;
}

/* A recorded call. */
typedef struct call {
    ek_rows rows;
    ek_affine affine;
    bool is_norm;
} call;

static ek_status run_recorded(ek_queue *queue, const void *kernels, const void *what)
{
    const call *call = what;
    return ek_cpu_rowwise(queue, kernels, &call->rows, call->is_norm ? &call->affine : NULL);
}

static ek_status record(ek_queue *queue, const ek_rowwise_kernels *kernels, const ek_rows *rows,
                        const ek_affine *affine)
{
    call call = {.rows = *rows, .is_norm = affine != NULL};
    if (affine)
        call.affine = *affine;
    return ek_cpu_record(queue, run_recorded, kernels, &call, sizeof call);
}

ek_status ek_cpu_rowwise(ek_queue *queue, const ek_rowwise_kernels *kernels, const ek_rows *rows,
                         const ek_affine *affine)
{
    if (rows->count == 0 || (rows->n == 0 && !kernels->finish))
        return EK_OK;
    if (EK_UNLIKELY(ek_recording(queue)))
        return record(queue, kernels, rows, affine);
    int64_t most = 0, bytes = ek_rows_bytes(rows, kernels->in_size);
    int threads =
        ek_tree_threads(ek_queue_base_of(queue)->threads,
                        bytes > INT64_MAX / kernels->cost ? bytes : bytes * kernels->cost);
    ek_pattern pattern = choose(kernels, rows, &most);
    job job = {.kernels = kernels,
               .rows = rows,
               .units = ek_units_cut(rows, pattern, most, threads),
               .contiguous =
                   pattern == EK_ROWS && (rows->out_step == 1 || rows->n <= 1 || kernels->finish),
               .variant = (ek_variant)queue->variant,
               .threads = 1};
    job.stream = job.contiguous && !kernels->finish && (uint64_t)bytes > ek_cpu_cache_bytes() / 2;
    EK_TRY(get_room(queue, &job, affine, threads));
    if (threads == 1 || job.units.count < threads) {
        job.threads = threads;
        run_units(&job, 0, 1);
        return EK_OK;
    }
#pragma omp parallel num_threads(threads)
    run_units(&job, omp_get_thread_num(), omp_get_num_threads());
    return EK_OK;
}
