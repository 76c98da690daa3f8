/* Softmax and its like: one kernel for rows that a warp or a block can keep, else reductions to the
 * tops and the sums, then the results. */
#include "cuda/run_rows.h"
#include "lanes.h"
#include "rowwise.h"

/* The kernels of a loop, in the order of their names. */
enum {
    GROUPS,
    WARPS,
    BLOCKS,
    RESULTS,
    COLUMN_RESULTS,
    TOP_COLUMNS,
    TOP_STRIDED,
    TOP_JOIN,
    SUM_COLUMNS,
    SUM_STRIDED,
    SUM_JOIN,
    KERNELS
};

typedef struct job {
    ek_queue *queue;
    const ek_cuda_kernels *kernels;
    const ek_rows *rows;
    int32_t first;         /* kernel of the loop */
    int64_t in_size, size; /* bytes of an element in memory and of a number */
} job;

/* The tops or the sums of all rows, one after the other in `out`. */
static ek_status reduce(const job *job, int32_t columns_kernel, const void *tops, void *out,
                        char *parts)
{
    ek_rows rows = *job->rows;
    ek_cuda_reduction reduction = {
        .kernels = job->kernels,
        .kernel = {-1, job->first + columns_kernel, job->first + columns_kernel + 1,
                   job->first + columns_kernel + 2},
        .in_size = job->in_size,
        .sizes = {4, (uint8_t)job->size},
        .context = tops,
        .parts = parts,
    };
    rows.out = out;
    int64_t step = 1;
    for (int32_t d = rows.kept_ndim - 1; d >= 0; d--) {
        rows.kept_out[d] = step;
        step *= rows.kept_shape[d];
    }
    return ek_cuda_reduce_rows(job->queue, &reduction, &rows);
}

static ek_status launch_results(const job *job, const void *tops, const void *sums)
{
    ek_cuda_plane plane;
    ek_cuda_rows args;
    if (ek_cuda_plane_of(job->rows, &plane) && plane.step != 1 && plane.inner_x == 1 &&
        plane.inner_out == 1) {
        enum { MOST = 32 };
        plane.context = tops;
        plane.parts = (void *)sums;
        plane.across = ek_cuda_across(plane.inner, 1, MOST);
        int64_t tiles = (plane.inner - 1) / plane.across + 1;
        return ek_cuda_launch_units(job->queue, job->kernels, job->first + COLUMN_RESULTS,
                                    plane.outer * plane.chunks * tiles, 1, EK_CUDA_ROWS_THREADS,
                                    &plane);
    }
    ek_cuda_rows_of(job->rows, &args);
    args.context = tops;
    args.from = sums;
    return ek_cuda_launch_units(job->queue, job->kernels, job->first + RESULTS,
                                args.count * args.chunks, EK_CUDA_ROWS_THREADS / args.group,
                                EK_CUDA_ROWS_THREADS, &args);
}

static ek_status run_passes(const job *job)
{
    enum { ALIGN = 256 };
    size_t numbers = ((size_t)(job->rows->count * job->size) + ALIGN - 1) / ALIGN * ALIGN;
    void *memory;
    EK_TRY(ek_cuda_workspace(job->queue, 2 * numbers + ek_cuda_parts_bytes(job->rows, job->size),
                             &memory));
    char *tops = memory, *sums = tops + numbers, *parts = sums + numbers;
    EK_TRY(reduce(job, TOP_COLUMNS, NULL, tops, parts));
    EK_TRY(reduce(job, SUM_COLUMNS, tops, sums, parts));
    return launch_results(job, tops, sums);
}

/* Whether packs of EK_CUDA_PACK elements are aligned in all rows, and fill them. */
static bool packs(const ek_cuda_plane *plane, int64_t size)
{
    uintptr_t align = EK_CUDA_PACK * size < 16 ? (uintptr_t)(EK_CUDA_PACK * size) : 16;
    if (plane->n % EK_CUDA_PACK != 0 || (uintptr_t)plane->x % align != 0 ||
        (uintptr_t)plane->out % align != 0)
        return false;
    bool inner = plane->inner == 1 ||
                 (plane->inner_x % EK_CUDA_PACK == 0 && plane->inner_out % EK_CUDA_PACK == 0);
    bool outer = plane->outer == 1 ||
                 (plane->outer_x % EK_CUDA_PACK == 0 && plane->outer_out % EK_CUDA_PACK == 0);
    return inner && outer;
}

ek_status ek_cuda_rowwise(ek_queue *queue, const ek_cuda_kernels *kernels, const ek_op_info *op,
                          int32_t loop, const ek_rows *rows)
{
    if (rows->count == 0 || rows->n == 0)
        return EK_OK;
    EK_TRY(ek_cuda_check_address(op, loop, rows));
    ek_cuda_plane plane;
    job job = {queue,
               kernels,
               rows,
               loop * KERNELS,
               (int64_t)ek_dtype_size((ek_dtype)op->loops[loop].in[0]),
               0};
    job.size = job.in_size > (int64_t)sizeof(float) ? job.in_size : (int64_t)sizeof(float);
    bool contiguous = ek_cuda_plane_of(rows, &plane) &&
                      (rows->n == 1 || (plane.step == 1 && plane.out_step == 1));
    if (contiguous && rows->n <= EK_CUDA_WARP_ROW) {
        plane.group = ek_cuda_group(rows->n);
        plane.packed = packs(&plane, job.in_size);
        return ek_cuda_launch_units(
            queue, kernels, job.first + (rows->n <= EK_CUDA_GROUP_ROW ? GROUPS : WARPS),
            rows->count, EK_CUDA_ROWS_THREADS / plane.group, EK_CUDA_ROWS_THREADS, &plane);
    }
    if (contiguous && rows->n <= EK_CUDA_BLOCK_ROW(job.size))
        return ek_cuda_launch_units(queue, kernels, job.first + BLOCKS, rows->count, 1,
                                    (int32_t)plane.chunks * EK_LANES, &plane);
    return run_passes(&job);
}
