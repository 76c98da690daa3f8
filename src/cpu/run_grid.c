/* How the work of a grid is cut up on the CPU: pieces of lines, which threads share. */
#include <omp.h>
#include <string.h>

#include "backend.h"
#include "cpu/record.h"
#include "cpu/threads.h"
#include "grid.h"
#include "integer.h"

enum {
    PIECE = 16384,            /* elements */
    THREAD_BYTES = 512 * 1024 /* that make another thread worth waking */
};

typedef struct job {
    ek_grid_fn *kernel;
    ek_layout layout;
    int64_t size;
    ek_scalar params[EK_MAX_PARAMS];
} job;

/* Pieces first to end, counted through all lines. */
static void run_pieces(const job *job, int64_t pieces, int64_t first, int64_t end)
{
    const ek_layout *layout = &job->layout;
    int32_t last = layout->ndim - 1, row = ek_grid_row(layout);
    bool has_x = layout->operands == 4;
    static const int64_t one[EK_MAX_OPERANDS] = {1, 1, 1, 1};
    const int64_t *step = last >= 0 ? layout->stride[last] : one;
    int64_t length = last >= 0 ? layout->shape[last] : 1;
    for (int64_t at = first; at < end; at++) {
        int64_t begins = at % pieces * PIECE, line = at / pieces, offset[EK_MAX_OPERANDS];
        for (int32_t k = 0; k < layout->operands; k++)
            offset[k] = begins * step[k];
        for (int32_t d = last - 1; d >= 0; d--) {
            for (int32_t k = 0; k < layout->operands; k++)
                offset[k] += line % layout->shape[d] * layout->stride[d][k];
            line /= layout->shape[d];
        }
        ek_grid_line of = {
            .out = (char *)layout->data[0] + offset[0] * job->size,
            .x = has_x ? (char *)layout->data[1] + offset[1] * job->size : NULL,
            .out_step = step[0],
            .x_step = has_x ? step[1] : 1,
            .i = (int64_t)((uintptr_t)layout->data[row] - EK_GRID_ORIGIN) + offset[row],
            .j = (int64_t)((uintptr_t)layout->data[row + 1] - EK_GRID_ORIGIN) + offset[row + 1],
            .i_step = step[row],
            .j_step = step[row + 1]};
        job->kernel(ek_smaller(length - begins, PIECE), &of, job->params);
    }
}

static void run(ek_queue *queue, const job *job)
{
    const ek_layout *layout = &job->layout;
    int64_t length = layout->ndim > 0 ? layout->shape[layout->ndim - 1] : 1;
    int64_t pieces = ek_divide_up(length, PIECE), count = layout->size / length * pieces;
    int64_t bytes = layout->size * job->size * (layout->operands - 2);
    int threads = ek_cpu_threads(ek_queue_base_of(queue)->threads, bytes / THREAD_BYTES);
    if (threads == 1) {
        run_pieces(job, pieces, 0, count);
        return;
    }
#pragma omp parallel num_threads(threads)
    {
        int64_t mine = omp_get_thread_num(), all = omp_get_num_threads();
        run_pieces(job, pieces, count * mine / all, count * (mine + 1) / all);
    }
}

static ek_status run_recorded(ek_queue *queue, const void *kernels, const void *what)
{
    (void)kernels;
    run(queue, what);
    return EK_OK;
}

ek_status ek_cpu_grid(ek_queue *queue, ek_grid_fn *kernel, const ek_layout *layout, uint8_t size,
                      const ek_scalar *params)
{
    job job = {.kernel = kernel, .layout = *layout, .size = size};
    if (params)
        memcpy(job.params, params, sizeof job.params);
    if (EK_UNLIKELY(ek_recording(queue)))
        return ek_cpu_record(queue, run_recorded, NULL, &job, sizeof job);
    run(queue, &job);
    return EK_OK;
}
