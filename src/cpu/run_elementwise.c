/* How elementwise work is cut up on the CPU.
 *
 * Kernels compute rows of contiguous elements and nothing else. Two dimensions of the layout, the
 * innermost and a second one, are cut into tiles of rows and columns. Operands that are contiguous
 * along the columns are computed where they are. The others are packed: a tile of them is moved to
 * a small buffer that stays in cache, and a packed output from there to its place. Threads share
 * the tiles out. */
#include "cpu/run_elementwise.h"

#include <omp.h>
#include <string.h>

#include "cpu/features.h"
#include "cpu/record.h"
#include "cpu/stream.h"
#include "cpu/threads.h"
#include "cpu/tile.h"
#include "fill.h"
#include "integer.h"

enum {
    /* Elements of a tile whose operands are all computed in place. */
    PIECE = 16384,
    /* Bytes an operand's buffer has, and what a tile fills of it. Tiles that are transposed fill it
     * all: many columns, of a cache line at least, are worth leaving the first-level cache for. */
    BUFFER_BYTES = 16384,
    PACKED_BYTES = 8192,
    /* Columns of a tile that is transposed, and rows of one that needs no buffer. */
    TURNED_COLUMNS = BUFFER_BYTES / EK_LINE,
    TURNED_ROWS = 64,
    /* Bytes of results and arguments of a block, whose results are collected before they are
     * streamed to memory. Few, so that the processor still overlaps one block's stores with the
     * next one's loads, and enough to be worth the call. */
    STREAM_BYTES = 2048,
    /* Bytes a row must have for streaming to be worth its beginning and end. */
    STREAM_ROW = 2048,
    /* Rows of fewer elements are computed many at a time as one long row. */
    NARROW = 32,
    /* Bytes a thread must have to be worth waking: that takes some microseconds, and on a busy
     * machine many more, in which one core moves about this much through its cache. */
    THREAD_BYTES = 512 * 1024,
};

/* A loop around the tiles: how often, and how far each operand steps, in bytes. */
typedef struct loop {
    int64_t count, step[EK_MAX_OPERANDS];
} loop;

typedef struct job {
    ek_elementwise_fn *kernel; /* null: the output is the input */
    const ek_scalar *params;
    ek_variant variant;
    int outputs, operands;         /* outputs come first */
    int64_t size[EK_MAX_OPERANDS]; /* bytes of an element */
    void *data[EK_MAX_OPERANDS];
    int64_t rows, columns;           /* of all tiles together */
    int64_t tile_rows, tile_columns; /* of one; those at the ends may have less */
    int64_t row_step[EK_MAX_OPERANDS], column_step[EK_MAX_OPERANDS]; /* bytes */
    bool packed[EK_MAX_OPERANDS];
    bool joined;   /* a tile's rows follow each other in every operand, buffers included */
    bool stream;   /* results go around the cache */
    int64_t block; /* elements of a block that is computed and streamed; 0: tiles are as a whole */
    int loops, row_loop, column_loop; /* the loops over tiles; outermost first */
    loop loop[EK_MAX_NDIM + 2];
} job;

/* What a thread works with. A buffer's tile is remembered, so that what is the same for many tiles,
 * as a scalar or a broadcast row is, is packed once. */
typedef struct worker {
    const void *packed[EK_MAX_OPERANDS];
    int64_t rows, columns; /* of the tiles that are packed */
    _Alignas(EK_LINE) char buffer[EK_MAX_OPERANDS][BUFFER_BYTES];
} worker;

static int64_t least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* An operand's tile in its buffer. Returns the step from row to row, in elements. */
static int64_t pack(const job *job, worker *worker, int i, const void *from)
{
    bool repeats = job->row_step[i] == 0 && !job->joined;
    if (worker->packed[i] != from) {
        ek_tile tile = {.rows = repeats ? 1 : worker->rows,
                        .columns = worker->columns,
                        .from = from,
                        .from_row = job->row_step[i],
                        .from_column = job->column_step[i],
                        .to = worker->buffer[i],
                        .to_row = worker->columns * job->size[i],
                        .to_column = job->size[i]};
        ek_tile_move(job->variant, &tile, job->size[i], false);
        worker->packed[i] = from;
    }
    return repeats ? 0 : worker->columns;
}

/* Moves a tile to output k. */
static void put(const job *job, const worker *worker, int k, void *to, const void *from,
                int64_t from_row, int64_t from_column)
{
    ek_tile tile = {.rows = worker->rows,
                    .columns = worker->columns,
                    .from = from,
                    .from_row = from_row,
                    .from_column = from_column,
                    .to = to,
                    .to_row = job->row_step[k],
                    .to_column = job->column_step[k]};
    ek_tile_move(job->variant, &tile, job->size[k], job->stream);
}

/* Computes a tile block by block in the outputs' buffers and streams each from there. */
static void stream_tile(const job *job, worker *worker, char *const *to, void *const *from,
                        const int64_t *step)
{
    for (int64_t r = 0; r < worker->rows; r++) {
        void *at[EK_MAX_OPERANDS];
        for (int k = 0; k < job->outputs; k++)
            at[k] = worker->buffer[k];
        for (int i = job->outputs; i < job->operands; i++)
            at[i] = (char *)from[i] + r * step[i] * job->size[i];
        for (int64_t done = 0, count; done < worker->columns; done += count) {
            count = least(worker->columns - done, job->block);
            job->kernel(1, count, at, step, job->params);
            for (int k = 0; k < job->outputs; k++)
                ek_stream(job->variant, to[k] + r * job->row_step[k] + done * job->size[k], at[k],
                          (size_t)(count * job->size[k]));
            for (int i = job->outputs; i < job->operands; i++)
                at[i] = (char *)at[i] + count * job->size[i];
        }
    }
}

static void run_tile(const job *job, worker *worker, int64_t rows, int64_t columns,
                     char *const *data)
{
    void *at[EK_MAX_OPERANDS];
    int64_t step[EK_MAX_OPERANDS];
    if (rows != worker->rows || columns != worker->columns) {
        worker->rows = rows;
        worker->columns = columns;
        memset(worker->packed, 0, sizeof worker->packed);
    }
    for (int i = 0; i < job->operands; i++) {
        at[i] = data[i];
        step[i] = job->row_step[i] / job->size[i];
        if (job->packed[i] && i >= job->outputs) {
            step[i] = pack(job, worker, i, data[i]);
            at[i] = worker->buffer[i];
        }
    }
    if (!job->kernel) {
        if (job->packed[1])
            put(job, worker, 0, data[0], at[1], step[1] * job->size[1], job->size[1]);
        else
            put(job, worker, 0, data[0], data[1], job->row_step[1], job->column_step[1]);
        return;
    }
    if (job->block) {
        stream_tile(job, worker, data, at, step);
        return;
    }
    for (int k = 0; k < job->outputs; k++) {
        if (job->packed[k]) {
            at[k] = worker->buffer[k];
            step[k] = columns;
        }
    }
    if (job->joined)
        job->kernel(1, rows * columns, at, step, job->params);
    else
        job->kernel(rows, columns, at, step, job->params);
    for (int k = 0; k < job->outputs; k++) {
        if (job->packed[k])
            put(job, worker, k, data[k], at[k], columns * job->size[k], job->size[k]);
    }
}

/* A thread's share of the tiles. */
static void run_tiles(const job *job, int64_t first, int64_t end)
{
    worker worker;
    int64_t index[EK_MAX_NDIM + 2], rest = first;
    char *data[EK_MAX_OPERANDS];
    worker.rows = worker.columns = 0;
    for (int i = 0; i < job->operands; i++)
        data[i] = job->data[i];
    for (int k = job->loops - 1; k >= 0; k--) {
        index[k] = rest % job->loop[k].count;
        rest /= job->loop[k].count;
        for (int i = 0; i < job->operands; i++)
            data[i] += index[k] * job->loop[k].step[i];
    }
    for (int64_t tile = first; tile < end; tile++) {
        int64_t row = index[job->row_loop] * job->tile_rows;
        int64_t column = index[job->column_loop] * job->tile_columns;
        int64_t rows = job->rows - row < job->tile_rows ? job->rows - row : job->tile_rows;
        int64_t columns = job->tile_columns, ahead = 0;
        char *at[EK_MAX_OPERANDS];
        /* What is streamed begins with a cache line, and the first tile of a row has less. */
        if (job->stream)
            ahead = (int64_t)((uintptr_t)data[0] % EK_LINE) / job->size[0];
        if (column == 0) {
            columns -= ahead;
            ahead = 0;
        }
        if (columns > job->columns - column + ahead)
            columns = job->columns - column + ahead;
        for (int i = 0; i < job->operands; i++)
            at[i] = data[i] - ahead * job->column_step[i];
        if (columns > 0)
            run_tile(job, &worker, rows, columns, at);
        for (int k = job->loops - 1; k >= 0; k--) {
            const loop *loop = &job->loop[k];
            int64_t back = ++index[k] < loop->count ? 0 : loop->count;
            for (int i = 0; i < job->operands; i++)
                data[i] += (1 - back) * loop->step[i];
            if (!back)
                break;
            index[k] = 0;
        }
    }
    if (job->stream)
        ek_stream_end();
}

static int64_t bytes_of(const ek_layout *layout, const uint8_t *size)
{
    int64_t bytes = 0;
    for (int i = 0; i < layout->operands; i++)
        bytes += layout->size * size[i];
    return bytes;
}

static int threads_for(const ek_queue *queue, int64_t bytes)
{
    return ek_cpu_threads(ek_queue_base_of(queue)->threads, bytes / THREAD_BYTES);
}

static int64_t at_least_1(int64_t x)
{
    return x > 1 ? x : 1;
}

/* The dimension that makes the rows of a tile: the one in which an operand's elements are closest
 * together if that is not the innermost, which makes the columns; else the next one. -1: none. */
static int second_dimension(const ek_layout *layout, bool *transposed)
{
    int inner = layout->ndim - 1;
    *transposed = false;
    for (int i = 1; i < layout->operands; i++) {
        int64_t closest = ek_magnitude(layout->stride[inner][i]);
        int found = inner;
        for (int d = 0; d < inner; d++) {
            int64_t step = ek_magnitude(layout->stride[d][i]);
            if (step > 0 && step < closest) {
                closest = step;
                found = d;
            }
        }
        if (found != inner) {
            *transposed = true;
            return found;
        }
    }
    return inner - 1;
}

/* True if an operand's rows follow each other, so that a tile of whole rows is one long row. */
static bool follows(const job *job, int i)
{
    return job->column_step[i] == job->size[i] &&
           (job->rows == 1 || job->row_step[i] == job->columns * job->size[i]);
}

/* True if a tile of whole rows is one long row, where packed operands are so in their buffers. Not
 * if one is the same in all rows: it has a single row there. */
static bool all_follow(const job *job)
{
    bool all = job->rows > 1;
    for (int i = 0; i < job->operands; i++)
        all &= job->packed[i] ? job->row_step[i] != 0 : follows(job, i);
    return all;
}

static bool any_packed(const job *job)
{
    bool any = false;
    for (int i = job->block ? job->outputs : 0; i < job->operands; i++)
        any |= job->packed[i];
    return any;
}

/* True if all outputs are contiguous along the columns. */
static bool outputs_contiguous(const job *job)
{
    bool contiguous = true;
    for (int k = 0; k < job->outputs; k++)
        contiguous &= job->column_step[k] == job->size[k];
    return contiguous;
}

/* The elements of a block: lines of results. */
static int64_t block_of(const job *job)
{
    int64_t line = EK_LINE / job->size[0], bytes = 0;
    for (int i = 0; i < job->operands; i++)
        bytes += job->size[i];
    return at_least_1(STREAM_BYTES / bytes / line) * line;
}

/* The columns of tiles that are transposed, cut so that the last ones are not too few to be so. */
static int64_t even_part(int64_t columns)
{
    int64_t parts = (columns + TURNED_COLUMNS - 1) / TURNED_COLUMNS;
    int64_t part = (columns + parts - 1) / parts;
    return least(columns, (part + EK_LINE - 1) / EK_LINE * EK_LINE);
}

/* The columns from the beginning of the line in which streamed rows may begin. */
static int64_t columns_of_lines(const job *job)
{
    return job->columns + (job->stream ? EK_LINE / job->size[0] - 1 : 0);
}

/* How large the tiles are, and which operands are packed. */
static void choose_tiles(job *job, bool transposed, bool large)
{
    int64_t widest = 1, limit;
    for (int i = 0; i < job->operands; i++)
        widest = job->size[i] > widest ? job->size[i] : widest;
    bool lines = job->rows == 1 || job->row_step[0] % EK_LINE == 0;
    job->stream = large && outputs_contiguous(job) && job->columns * job->size[0] >= STREAM_ROW;
    job->joined = false;
    if (!job->kernel) {
        /* Streaming wants rows of whole lines: where each begins elsewhere they are packed. */
        job->packed[0] = false;
        job->packed[1] =
            job->stream && job->column_step[1] != job->size[1] && !(transposed && lines);
    } else {
        for (int i = 0; i < job->operands; i++)
            job->packed[i] = job->column_step[i] != job->size[i];
        for (int k = 0; k < job->outputs; k++)
            job->packed[k] |= job->stream;
        job->joined = job->columns < NARROW && job->rows > 1;
        for (int i = 0; i < job->operands && job->joined; i++)
            job->packed[i] |= !follows(job, i);
    }
    job->block = job->stream && job->kernel && !transposed ? block_of(job) : 0;
    bool buffers = any_packed(job);
    if (transposed)
        limit = buffers ? BUFFER_BYTES / widest : TURNED_ROWS * TURNED_COLUMNS;
    else
        limit = buffers ? PACKED_BYTES / widest : PIECE;
    job->tile_columns = transposed ? even_part(job->columns) : least(columns_of_lines(job), limit);
    job->tile_rows = least(job->rows, at_least_1(limit / job->tile_columns));
    if (job->kernel && !job->stream && job->tile_columns == job->columns)
        job->joined |= all_follow(job);
    if (job->stream && !lines && !transposed)
        job->tile_rows = 1; /* so that every row's tiles begin with its own lines */
}

static void add_loop(job *job, int64_t count, const int64_t *step, int64_t times)
{
    loop *loop = &job->loop[job->loops++];
    loop->count = count;
    for (int i = 0; i < job->operands; i++)
        loop->step[i] = step[i] * times;
}

static void add_row_loop(job *job)
{
    job->row_loop = job->loops;
    add_loop(job, (job->rows + job->tile_rows - 1) / job->tile_rows, job->row_step, job->tile_rows);
}

static void add_column_loop(job *job)
{
    /* One more where streamed rows begin before their first whole tile. */
    int64_t tiles = (columns_of_lines(job) + job->tile_columns - 1) / job->tile_columns;
    job->column_loop = job->loops;
    add_loop(job, tiles, job->column_step, job->tile_columns);
}

static void plan(const ek_layout *layout, bool large, job *job)
{
    bool transposed;
    int inner = layout->ndim - 1, second = second_dimension(layout, &transposed);
    job->columns = layout->shape[inner];
    job->rows = second >= 0 ? layout->shape[second] : 1;
    for (int i = 0; i < layout->operands; i++) {
        job->data[i] = layout->data[i];
        job->column_step[i] = layout->stride[inner][i] * job->size[i];
        job->row_step[i] = second >= 0 ? layout->stride[second][i] * job->size[i] : 0;
    }
    choose_tiles(job, transposed, large);
    job->loops = 0;
    for (int d = 0; d < inner; d++) {
        int64_t step[EK_MAX_OPERANDS];
        for (int i = 0; i < layout->operands; i++)
            step[i] = layout->stride[d][i] * job->size[i];
        if (d != second)
            add_loop(job, layout->shape[d], step, 1);
    }
    /* Down the columns where they are what an operand has in its lines, so that these are used up
     * while they are in cache. */
    if (transposed) {
        add_column_loop(job);
        add_row_loop(job);
    } else {
        add_row_loop(job);
        add_column_loop(job);
    }
}

/* One row of an output that is its input, however it lies. */
static void move_row(ek_variant variant, int64_t n, void *const *data, const int64_t *stride,
                     int64_t size)
{
    ek_tile tile = {.rows = 1,
                    .columns = n,
                    .from = data[1],
                    .from_column = stride[1] * size,
                    .to = data[0],
                    .to_column = stride[0] * size};
    ek_tile_move(variant, &tile, size, false);
}

/* Whether one call of the kernel in the calling thread does it all. */
static bool is_single(const ek_layout *layout)
{
    bool single = layout->ndim == 0 || (layout->ndim == 1 && layout->size <= PIECE);
    for (int i = 0; i < layout->operands && layout->ndim == 1; i++)
        single &= layout->stride[0][i] == 1;
    return single;
}

static void run_cut(ek_queue *queue, ek_elementwise_fn *kernel, const ek_layout *layout,
                    const uint8_t *size, const ek_scalar *params)
{
    if (!kernel && layout->ndim == 1 && layout->size <= PIECE) {
        move_row((ek_variant)queue->variant, layout->size, layout->data, layout->stride[0],
                 size[0]);
        return;
    }
    int64_t bytes = bytes_of(layout, size);
    job job; /* large, so only what the call needs is set */
    job.kernel = kernel;
    job.params = params;
    job.variant = (ek_variant)queue->variant;
    job.outputs = layout->outputs;
    job.operands = layout->operands;
    for (int i = 0; i < layout->operands; i++)
        job.size[i] = size[i];
    plan(layout, (uint64_t)bytes > ek_cpu_cache_bytes(), &job);
    int64_t count = 1;
    for (int k = 0; k < job.loops; k++)
        count *= job.loop[k].count;
    int threads = threads_for(queue, bytes);
    if (threads == 1) {
        run_tiles(&job, 0, count);
        return;
    }
#pragma omp parallel num_threads(threads)
    {
        int64_t mine = omp_get_thread_num(), all = omp_get_num_threads();
        run_tiles(&job, count * mine / all, count * (mine + 1) / all);
    }
}

/* A recorded call that is a single call of its kernel. */
typedef struct single {
    ek_elementwise_fn *kernel;
    int64_t n;
    void *data[EK_MAX_OPERANDS];
    uint8_t size[EK_MAX_OPERANDS];
    ek_scalar params[EK_MAX_PARAMS];
} single;

static ek_status run_recorded_single(ek_queue *queue, const void *kernels, const void *what)
{
    const single *call = what;
    (void)queue;
    (void)kernels;
    ek_cpu_elementwise_row(call->kernel, call->n, call->data, call->size, call->params);
    return EK_OK;
}

/* Any other. */
typedef struct cut {
    ek_elementwise_fn *kernel;
    ek_layout layout;
    uint8_t size[EK_MAX_OPERANDS];
    ek_scalar params[EK_MAX_PARAMS];
} cut;

static ek_status run_recorded_cut(ek_queue *queue, const void *kernels, const void *what)
{
    const cut *call = what;
    (void)kernels;
    run_cut(queue, call->kernel, &call->layout, call->size, call->params);
    return EK_OK;
}

static ek_status record(ek_queue *queue, ek_elementwise_fn *kernel, const ek_layout *layout,
                        const uint8_t *size, const ek_scalar *params)
{
    size_t operands = (size_t)layout->operands;
    if (is_single(layout)) {
        single call = {.kernel = kernel, .n = layout->size};
        memcpy(call.data, layout->data, operands * sizeof *call.data);
        memcpy(call.size, size, operands);
        if (params)
            memcpy(call.params, params, sizeof call.params);
        return ek_cpu_record(queue, run_recorded_single, NULL, &call, sizeof call);
    }
    cut call = {.kernel = kernel, .layout = *layout};
    memcpy(call.size, size, operands);
    if (params)
        memcpy(call.params, params, sizeof call.params);
    return ek_cpu_record(queue, run_recorded_cut, NULL, &call, sizeof call);
}

ek_status ek_cpu_elementwise_layout(ek_queue *queue, ek_elementwise_fn *kernel,
                                    const ek_layout *layout, const uint8_t *size,
                                    const ek_scalar *params)
{
    if (EK_UNLIKELY(ek_recording(queue)))
        return layout->size > 0 ? record(queue, kernel, layout, size, params) : EK_OK;
    if (is_single(layout))
        ek_cpu_elementwise_row(kernel, layout->size, layout->data, size, params);
    else
        run_cut(queue, kernel, layout, size, params);
    return EK_OK;
}

ek_status ek_cpu_elementwise_large(ek_queue *queue, ek_elementwise_fn *kernel, int outputs,
                                   int operands, int64_t n, void *const *data, const uint8_t *size,
                                   const ek_scalar *params)
{
    ek_layout layout;
    layout.outputs = outputs;
    layout.operands = operands;
    layout.ndim = 1;
    layout.size = layout.shape[0] = n;
    for (int i = 0; i < operands; i++) {
        layout.data[i] = data[i];
        layout.stride[0][i] = 1;
    }
    return ek_cpu_elementwise_layout(queue, kernel, &layout, size, params);
}

ek_status ek_cpu_fill_layout(ek_queue *queue, ek_layout *layout, const void *value,
                             const uint8_t *size)
{
    layout->outputs = 1;
    layout->operands = 2;
    layout->data[1] = (void *)value;
    for (int32_t d = 0; d < layout->ndim; d++)
        layout->stride[d][1] = 0;
    if (EK_UNLIKELY(ek_recording(queue))) { /* the caller's value is gone when the program runs */
        EK_TRY(ek_program_keep(ek_recording(queue), size[1], &layout->data[1]));
        memcpy(layout->data[1], value, size[1]);
    }
    return ek_cpu_elementwise_layout(queue, NULL, layout, size, NULL);
}

ek_status ek_cpu_fill(ek_queue *queue, int64_t n, void *const *data, const uint8_t *size)
{
    static const int64_t stride[] = {1, 0};
    ek_layout layout;
    if (n <= ek_queue_base_of(queue)->at_once) {
        move_row((ek_variant)queue->variant, n, data, stride, size[0]);
        return EK_OK;
    }
    layout.ndim = 1;
    layout.size = layout.shape[0] = n;
    layout.data[0] = data[0];
    layout.stride[0][0] = 1;
    return n > 0 ? ek_cpu_fill_layout(queue, &layout, data[1], size) : EK_OK;
}
