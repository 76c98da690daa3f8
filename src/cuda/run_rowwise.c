/* Softmax and its like, norms, and reductions that look at a row twice: one kernel for rows that a
 * warp, a block or a cluster of blocks can keep, else the numbers of chunks, those of rows, and the
 * results. */
#include <string.h>

#include "cuda/rowwise_args.h"
#include "cuda/run_rows.h"
#include "integer.h"
#include "lanes.h"
#include "rowwise.h"

/* The kernels of a loop, in the order of their names; reductions end with JOIN. */
enum {
    PACKED,
    SPREAD,
    WARPS,
    MIDDLE_WARPS,
    LONG_WARPS,
    BLOCKS,
    COLUMNS,
    STRIDED,
    JOIN,
    RESULTS,
    COLUMN_RESULTS
};

typedef struct job {
    ek_queue *queue;
    const ek_cuda_kernels *kernels;
    const ek_rows *rows;
    int32_t first;             /* kernel of the loop */
    int64_t in_size, out_size; /* bytes of an element in memory, of a result, */
    int64_t size;              /* and of a number */
    bool per_row;              /* one result a row */
    bool is_plane;
    ek_cuda_plane_rows plane;
    ek_cuda_any_rows any;
} job;

static ek_status launch(const job *job, int32_t kernel, int64_t units, int64_t per_block,
                        int64_t threads, const void *args)
{
    return ek_cuda_launch_units(job->queue, job->kernels, job->first + kernel, units, per_block,
                                (int32_t)threads, (void *)args);
}

static ek_status launch_clusters(const job *job, int32_t kernel, int64_t units, int64_t per_cluster,
                                 int64_t threads)
{
    return ek_cuda_launch_unit_clusters(job->queue, job->kernels, job->first + kernel, units,
                                        per_cluster, job->plane.cluster, (int32_t)threads,
                                        (void *)&job->plane);
}

/* ---- short rows */

static bool is_aligned(const void *memory, int64_t size)
{
    int64_t pack = EK_CUDA_PACK * size;
    return (uintptr_t)memory % (uintptr_t)(pack < 16 ? pack : 16) == 0;
}

/* Whether all rows are whole packs, and begin where packs do. */
static bool is_packed(const job *job)
{
    const ek_cuda_plane *plane = &job->plane.plane;
    int64_t odd = plane->n;
    odd |= plane->inner > 1 ? plane->inner_x : 0;
    odd |= plane->outer > 1 ? plane->outer_x : 0;
    if (!job->per_row) {
        odd |= plane->inner > 1 ? plane->inner_out : 0;
        odd |= plane->outer > 1 ? plane->outer_out : 0;
    }
    return odd % EK_CUDA_PACK == 0 && is_aligned(plane->x, job->in_size) &&
           (job->per_row || is_aligned(plane->out, job->out_size));
}

static ek_status run_short(job *job, bool packed)
{
    int32_t room = EK_CUDA_PACK;
    while (room < job->plane.plane.n)
        room *= 2;
    job->plane.room = room;
    int32_t own =
        packed ? EK_CUDA_PACKS(room, job->per_row) * EK_CUDA_PACK : EK_CUDA_SPREAD_SLOTS(room);
    int64_t rows = packed ? EK_CUDA_PACKED_ROWS(room) : 1;
    return launch(job, packed ? PACKED : SPREAD, ek_divide_up(job->rows->count, rows),
                  EK_CUDA_ROWS_THREADS / (room / own), EK_CUDA_ROWS_THREADS, &job->plane);
}

static ek_status run_warps(job *job)
{
    enum { WARP = 32 };
    int64_t n = job->plane.plane.n;
    int32_t kernel = n <= EK_CUDA_WARP_ROW          ? WARPS
                     : n <= EK_CUDA_MIDDLE_WARP_ROW ? MIDDLE_WARPS
                                                    : LONG_WARPS;
    return launch(job, kernel, job->rows->count, EK_CUDA_ROWS_THREADS / WARP, EK_CUDA_ROWS_THREADS,
                  &job->plane);
}

/* ---- long rows */

/* Chunks of a block and blocks of a cluster for all chunks of a row. */
static int32_t share_chunks(job *job)
{
    ek_cuda_plane_rows *args = &job->plane;
    int32_t chunks = (int32_t)args->plane.chunks;
    args->cluster = 1;
    while (args->cluster * EK_CUDA_BLOCK_CHUNKS(job->size) < chunks)
        args->cluster *= 2;
    int32_t per_block = (int32_t)ek_divide_up(chunks, args->cluster);
    args->full = args->plane.n % EK_CHUNK == 0 && per_block * args->cluster == chunks;
    return per_block;
}

static ek_status run_blocks(job *job)
{
    int32_t per_block = share_chunks(job);
    return launch_clusters(job, BLOCKS, job->rows->count, 1, per_block * EK_LANES);
}

/* ---- columns */

/* How the elements of columns are spread over threads: as many lanes that a thread has 8 or more of
 * them, if there are so many. */
static ek_status run_columns(job *job)
{
    ek_cuda_plane_rows *args = &job->plane;
    ek_cuda_plane *plane = &args->plane;
    int32_t threads = EK_CUDA_COLUMN_THREADS;
    int64_t n = plane->n < EK_CHUNK ? plane->n : EK_CHUNK;
    int32_t lanes = 1;
    while (lanes * EK_CUDA_SHORT_SLOTS < n && lanes * EK_CUDA_SHORT_SLOTS < EK_LANES)
        lanes *= 2;
    if (n > EK_LANES)
        lanes = n <= EK_LANES / 8 * EK_CUDA_SLOTS   ? EK_LANES / 8
                : n <= EK_LANES / 4 * EK_CUDA_SLOTS ? EK_LANES / 4
                                                    : EK_LANES;
    plane->across = ek_cuda_across(plane->inner, 1, threads / EK_CUDA_COLUMN_FOLD);
    plane->lanes = threads / plane->across < lanes ? threads / plane->across : lanes;
    args->cluster = lanes / plane->lanes;
    int64_t tiles = ek_divide_up(plane->inner, plane->across);
    int64_t units = plane->outer * plane->chunks * tiles;
    return launch_clusters(job, COLUMNS, units, threads / (plane->across * plane->lanes), threads);
}

/* ---- in several kernels */

static ek_status run_strided(const job *job)
{
    int64_t chunks = EK_CUDA_BLOCK_CHUNKS(job->size);
    return launch(job, STRIDED, job->rows->count * job->any.rows.chunks, chunks, chunks * EK_LANES,
                  &job->any);
}

static size_t room_for(int64_t numbers, int64_t size)
{
    enum { ALIGN = 256 };
    return (size_t)(ek_divide_up(numbers * size, ALIGN) * ALIGN);
}

/* Room for the numbers of chunks and rows. */
static ek_status get_numbers(const job *job, ek_cuda_row_numbers *numbers)
{
    int64_t count = job->rows->count, chunks = ek_cuda_chunks(job->rows->n);
    size_t of_chunks = room_for(count * chunks, job->size), of_rows = room_for(count, job->size);
    size_t levels = room_for(count * ek_cuda_chunks(chunks), job->size);
    void *memory;
    EK_TRY(ek_cuda_workspace(job->queue, 2 * of_chunks + levels + 2 * of_rows, &memory));
    char *at = memory;
    numbers->firsts = at;
    numbers->sums = at += of_chunks;
    numbers->levels = at += of_chunks;
    numbers->centers = at += levels;
    numbers->rests = at + of_rows;
    return EK_OK;
}

static ek_status run_results(job *job, bool columns)
{
    enum { MOST_ACROSS = 32 };
    ek_cuda_plane *plane = &job->plane.plane;
    if (!columns || plane->inner_out != 1)
        return launch(job, RESULTS, job->rows->count * job->any.rows.chunks, 1,
                      EK_CUDA_ROWS_THREADS, &job->any);
    plane->across = ek_cuda_across(plane->inner, 1, MOST_ACROSS);
    int64_t tiles = ek_divide_up(plane->inner, plane->across);
    return launch(job, COLUMN_RESULTS, plane->outer * plane->chunks * tiles, 1,
                  EK_CUDA_ROWS_THREADS, &job->plane);
}

static ek_status run_passes(job *job, bool contiguous, bool columns)
{
    enum { WARP = 32 };
    EK_TRY(get_numbers(job, &job->any.numbers));
    job->plane.numbers = job->any.numbers;
    if (contiguous) {
        int64_t chunks = EK_CUDA_BLOCK_CHUNKS(job->size), all = job->rows->count;
        all *= job->plane.plane.chunks;
        job->plane.cluster = 1;
        job->plane.full = job->rows->n % EK_CHUNK == 0 && all % chunks == 0;
        EK_TRY(launch(job, BLOCKS, all, chunks, chunks * EK_LANES, &job->plane));
    } else {
        EK_TRY(columns ? run_columns(job) : run_strided(job));
    }
    EK_TRY(launch(job, JOIN, job->rows->count, EK_CUDA_ROWS_THREADS / WARP, EK_CUDA_ROWS_THREADS,
                  &job->any));
    return job->per_row ? EK_OK : run_results(job, columns);
}

static ek_status run(job *job)
{
    const ek_rows *rows = job->rows;
    const ek_cuda_plane *plane = &job->plane.plane;
    bool clusters = ek_cuda_has_clusters(job->queue);
    bool contiguous =
        job->is_plane &&
        (rows->n == 1 || (plane->step == 1 && (job->per_row || plane->out_step == 1)));
    int64_t held = EK_CUDA_BLOCK_CHUNKS(job->size) * EK_CHUNK;
    if (contiguous && rows->n <= EK_CUDA_PACKED_ROW(job->per_row) && is_packed(job))
        return run_short(job, true);
    if (contiguous && rows->n <= EK_CUDA_SPREAD_ROW)
        return run_short(job, false);
    if (contiguous && rows->n <= EK_CUDA_LONG_WARP_ROW)
        return run_warps(job);
    if (contiguous && rows->n <= (clusters ? EK_CUDA_CLUSTER * held : held))
        return run_blocks(job);
    bool columns = job->is_plane && plane->inner_x == 1 && plane->inner > 1 && clusters;
    if (contiguous || rows->n > EK_CHUNK)
        return run_passes(job, contiguous, columns);
    return columns ? run_columns(job) : run_strided(job);
}

/* A reduction of nothing still has results. */
static ek_status run_empty(job *job)
{
    return job->per_row ? run_strided(job) : EK_OK;
}

static void set_affine(job *job, const ek_affine *affine)
{
    if (!affine)
        return;
    ek_cuda_affine *set = &job->plane.affine;
    set->gain = affine->gain;
    set->bias = affine->bias;
    set->gain_step = affine->gain_step;
    set->bias_step = affine->bias_step;
    set->eps = affine->eps;
    job->any.affine = *set;
}

static ek_status check_affine(const ek_op_info *op, int32_t loop, const ek_affine *affine)
{
    const void *data[] = {affine ? affine->gain : NULL, affine ? affine->bias : NULL};
    uintptr_t size = ek_dtype_size((ek_dtype)op->loops[loop].out[0]);
    char call[64];
    for (int i = 0; i < 2; i++) {
        if (EK_UNLIKELY((uintptr_t)data[i] % size != 0))
            return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is at %p: must be a multiple of %d",
                           ek_rows_call(op, loop, call), op->input_names[i + 1], data[i],
                           (int)size);
    }
    return EK_OK;
}

ek_status ek_cuda_rowwise(ek_queue *queue, const ek_cuda_kernels *kernels, const ek_op_info *op,
                          int32_t loop, const ek_rows *rows, const ek_affine *affine)
{
    if (rows->count == 0)
        return EK_OK;
    EK_TRY(ek_cuda_check_address(op, loop, rows));
    EK_TRY(check_affine(op, loop, affine));
    job job;
    memset(&job.plane, 0, sizeof job.plane);
    job.queue = queue;
    job.kernels = kernels;
    job.rows = rows;
    job.first = loop * (kernels->count / op->loop_count);
    job.in_size = (int64_t)ek_dtype_size((ek_dtype)op->loops[loop].in[0]);
    job.out_size = (int64_t)ek_dtype_size((ek_dtype)op->loops[loop].out[0]);
    job.size = job.in_size > (int64_t)sizeof(float) ? job.in_size : (int64_t)sizeof(float);
    job.per_row = op->run == &ek_kind_rowreduction;
    job.is_plane = ek_cuda_plane_of(rows, &job.plane.plane);
    ek_cuda_rows_of(rows, &job.any.rows);
    memset(&job.any.numbers, 0, sizeof job.any.numbers);
    memset(&job.any.affine, 0, sizeof job.any.affine);
    set_affine(&job, affine);
    return rows->n == 0 ? run_empty(&job) : run(&job);
}
