/* How a scan is launched. Loop i has the kernels KERNELS * i + GROUPS and so on, which
 * cuda/scan.cuh describes. */
#include <string.h>

#include "cpu/run_scan.h"
#include "cuda/driver.h"
#include "cuda/queue.h"
#include "cuda/run_rows.h"
#include "cuda/scan_args.h"
#include "integer.h"
#include "program.h"

enum { GROUPS, ROWS, SPANS, STRIPS, COLUMNS, STRIDED, KERNELS };

typedef struct job {
    ek_queue *queue;
    const ek_cuda_kernels *kernels;
    int32_t first;                   /* kernel */
    int64_t in_size, out_size, size; /* bytes of an element, a result, an accumulator */
} job;

/* The smallest power of two from which on `each` times as much is enough. */
static int32_t power_for(int64_t n, int64_t each, int32_t most)
{
    int32_t power = 1;
    while (power < most && power * each < n)
        power *= 2;
    return power;
}

static ek_status launch(const job *job, int32_t kernel, int64_t blocks, int32_t threads, void *args)
{
    return ek_cuda_launch_units(job->queue, job->kernels, job->first + kernel, blocks, 1, threads,
                                args);
}

/* Bytes of the words in which blocks publish a value of `bytes` bytes (cuda/scan_state.cuh). */
static size_t words(int64_t bytes)
{
    return bytes <= 4 ? 8 : (size_t)ek_divide_up(bytes, 8) * 16;
}

/* `room` bytes of such words, with a counter before them. */
static ek_status clear_state(const job *job, size_t room, void **state)
{
    room += 16;
    EK_TRY(ek_cuda_workspace(job->queue, room, state));
    CUresult result =
        ek_cu.cuMemsetD8Async((CUdeviceptr)*state, 0, room, ek_cuda_stream_of(job->queue));
    if (EK_UNLIKELY(result != CUDA_SUCCESS))
        return ek_recorded(job->queue,
                           ek_cuda_queue_fail(job->queue, job->kernels->names[job->first],
                                              "cuMemsetD8Async", result));
    return EK_OK;
}

/* Words of `spans` spans: their totals, and what is before them, which is two values. */
static ek_status clear_spans(const job *job, int64_t spans, void **state)
{
    return clear_state(job, (size_t)spans * (words(job->size) + words(2 * job->size)), state);
}

/* Whether `count` neighbours of `size` bytes may be loaded at once wherever rows begin. */
static bool fits(const void *memory, int64_t size, int64_t count, const ek_cuda_plane *plane,
                 int64_t outer_step, int64_t inner_step)
{
    int64_t align = size * count < 16 ? size * count : 16;
    return (uintptr_t)memory % (uintptr_t)align == 0 &&
           (plane->outer == 1 || outer_step * size % align == 0) &&
           (plane->inner == 1 || inner_step * size % align == 0);
}

static ek_status run_groups(const job *job, ek_cuda_plane *plane)
{
    plane->group = power_for(plane->n, EK_CUDA_PACK, 32);
    int64_t packs = power_for(plane->n, EK_SCAN_PACK_ROW, EK_SCAN_SHORT_PACKS);
    int64_t rows = EK_CUDA_ROWS_THREADS / plane->group * (EK_SCAN_SHORT_PACKS / packs);
    return launch(job, GROUPS, ek_divide_up(plane->outer * plane->inner, rows),
                  EK_CUDA_ROWS_THREADS, plane);
}

static int32_t threads_of_row(int64_t n)
{
    return 32 * power_for(n, EK_SCAN_WARP_ROW, EK_SCAN_WARPS);
}

static ek_status run_rows(const job *job, ek_cuda_plane *plane)
{
    int64_t rows = plane->outer * plane->inner;
    plane->chunks = ek_divide_up(plane->n, EK_SPAN);
    if (plane->chunks == 1 ||
        rows >= (int64_t)ek_cuda_multiprocessors(job->queue) * EK_SCAN_BLOCKS(job->size))
        return launch(job, ROWS, rows, threads_of_row(plane->n), plane);
    EK_TRY(clear_spans(job, rows * plane->chunks, &plane->parts));
    return launch(job, SPANS, 1 + rows * plane->chunks, threads_of_row(plane->n), plane);
}

static ek_status run_strided(const job *job, const ek_rows *rows)
{
    ek_cuda_rows args;
    ek_cuda_rows_of(rows, &args);
    args.chunks = ek_divide_up(rows->n, EK_SPAN);
    int64_t blocks = rows->count * args.chunks;
    if (args.chunks > 1)
        EK_TRY(clear_spans(job, blocks++, &args.parts));
    return launch(job, STRIDED, blocks, threads_of_row(rows->n), &args);
}

static ek_status run_columns(const job *job, ek_cuda_plane *plane)
{
    int32_t width = EK_SCAN_COLUMNS(job->size), most = EK_SCAN_ACROSS(job->size);
    int32_t threads = EK_SCAN_COLUMN_THREADS(job->size);
    plane->chunks = ek_divide_up(plane->n, EK_SCAN_CHUNK);
    plane->lanes = power_for(plane->n, EK_GROUP, EK_SCAN_GROUPS);
    plane->across = power_for(plane->inner, width, most);
    plane->packed = plane->inner % width == 0 && plane->step % width == 0 &&
                    plane->out_step % width == 0 &&
                    fits(plane->x, job->in_size, width, plane, plane->outer_x, width) &&
                    fits(plane->out, job->out_size, width, plane, plane->outer_out, width);
    int64_t strips = plane->outer * ek_divide_up(plane->inner, plane->across * width);
    int32_t units = threads / (plane->across * plane->lanes);
    /* Whole strips reach the memory's speed with two for a multiprocessor, cut ones three fifths of
     * it with any number; measured. */
    int64_t enough = ek_divide_up(5 * (int64_t)ek_cuda_multiprocessors(job->queue), 4);
    if (plane->chunks == 1 || strips >= enough)
        return launch(job, STRIPS, ek_divide_up(strips, units), threads, plane);
    int64_t parts = ek_divide_up(strips * plane->chunks, units) * units;
    EK_TRY(clear_state(job, (size_t)(parts * plane->across * width) * words(3 * job->size),
                       &plane->parts));
    return launch(job, COLUMNS, parts / units, threads, plane);
}

ek_status ek_cuda_scan(ek_queue *queue, const ek_cuda_kernels *kernels, const ek_op_info *op,
                       int32_t loop, const ek_rows *rows)
{
    /* Fewer columns side by side are taken as rows with gaps. */
    enum { LEAST_COLUMNS = 16 };
    if (rows->count == 0 || rows->n == 0)
        return EK_OK;
    EK_TRY(ek_cuda_check_address(op, loop, rows));
    const ek_scan_kernels *sizes = (const ek_scan_kernels *)op->kernels[EK_CPU_BASE] + loop;
    job job = {queue, kernels, loop * KERNELS, sizes->in_size, sizes->out_size, sizes->size};
    ek_cuda_plane plane;
    if (!ek_cuda_plane_of(rows, &plane))
        return run_strided(&job, rows);
    if (rows->n > 1 && plane.step != 1 && plane.inner_x == 1 && plane.inner_out == 1 &&
        (plane.inner >= LEAST_COLUMNS || rows->n <= EK_SCAN_CHUNK))
        return run_columns(&job, &plane);
    plane.packed =
        plane.step == 1 && plane.out_step == 1 &&
        fits(rows->x, job.in_size, EK_CUDA_PACK, &plane, plane.outer_x, plane.inner_x) &&
        fits(rows->out, job.out_size, EK_CUDA_PACK, &plane, plane.outer_out, plane.inner_out);
    if (rows->n <= (plane.packed ? EK_SCAN_SHORT_ROW : EK_SCAN_PACK_ROW))
        return run_groups(&job, &plane);
    return plane.packed ? run_rows(&job, &plane) : run_strided(&job, rows);
}
