/* How elementwise work is cut up on the CPU: rows of the layout's innermost dimension, pieces of
 * long rows, and threads over the pieces. */
#include "cpu/run_elementwise.h"

#include <omp.h>
#include <string.h>

#include "cpu/features.h"
#include "cpu/record.h"
#include "cpu/stream.h"
#include "fill.h"

enum {
    /* Elements a piece of a row has; pieces are what threads share out. */
    PIECE = 16384,
    /* Bytes a thread must have to be worth waking: that takes some microseconds, and on a busy
     * machine many more, in which one core moves about this much through its cache. */
    THREAD_BYTES = 512 * 1024,
    /* Bytes of results collected in the first-level cache before they are streamed to memory. Few,
     * so that the processor still overlaps one block's stores with the next one's loads: measured,
     * 8 kB reach 0.8 of the bandwidth that 512 bytes do. */
    STREAM_BYTES = 512,
    /* Bytes a row must have for streaming to be worth its beginning and end. */
    STREAM_ROW = 8192,
};

typedef struct job {
    ek_elementwise_fn *kernel;
    const ek_layout *layout;
    int64_t row;    /* elements of the innermost dimension */
    int64_t pieces; /* pieces of a row */
    int64_t rows;
    bool stream; /* results go around the cache */
    ek_variant variant;
    const uint8_t *size;
} job;

/* Computes `n` elements into a small buffer, block by block, and streams them to `data[0]`: a
 * normal store would first read the line it overwrites, a third of the traffic of an addition. The
 * first block is shorter, so that the others are whole cache lines. */
static void run_streamed(const job *job, int64_t n, void *const *data, const int64_t *stride)
{
    _Alignas(EK_LINE) char buffer[STREAM_BYTES];
    int64_t size = job->size[0];
    int64_t ahead = (int64_t)((uintptr_t)data[0] % EK_LINE) / size;
    void *at[EK_MAX_OPERANDS] = {buffer};
    for (int64_t done = 0, count; done < n; done += count) {
        count = STREAM_BYTES / size - (done ? 0 : ahead);
        count = n - done < count ? n - done : count;
        for (int i = 1; i < job->layout->operands; i++)
            at[i] = (char *)data[i] + done * stride[i] * job->size[i];
        job->kernel(count, at, stride);
        ek_stream(job->variant, (char *)data[0] + done * size, buffer, (size_t)(count * size));
    }
}

static void run_piece(const job *job, int64_t index)
{
    const ek_layout *layout = job->layout;
    int inner = layout->ndim - 1;
    int64_t row = index / job->pieces;
    int64_t first = index % job->pieces * PIECE;
    int64_t n = job->row - first < PIECE ? job->row - first : PIECE;
    int64_t offset[EK_MAX_OPERANDS] = {0};
    for (int d = inner - 1; d >= 0; d--) {
        int64_t at = row % layout->shape[d];
        row /= layout->shape[d];
        for (int i = 0; i < layout->operands; i++)
            offset[i] += at * layout->stride[d][i];
    }
    void *data[EK_MAX_OPERANDS];
    for (int i = 0; i < layout->operands; i++)
        data[i] =
            (char *)layout->data[i] + (offset[i] + first * layout->stride[inner][i]) * job->size[i];
    if (job->stream)
        run_streamed(job, n, data, layout->stride[inner]);
    else
        job->kernel(n, data, layout->stride[inner]);
}

/* A thread's share. Ordering the streamed stores takes a moment, so it is done once. */
static void run_pieces(const job *job, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i++)
        run_piece(job, i);
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
    int64_t useful = bytes / THREAD_BYTES;
    int32_t threads = ek_queue_base_of(queue)->threads;
    return useful < threads ? (int)(useful > 1 ? useful : 1) : threads;
}

/* Whether one call of the kernel in the calling thread does it all. */
static bool is_single(const ek_layout *layout)
{
    return layout->ndim == 0 || (layout->ndim == 1 && layout->shape[0] <= PIECE);
}

static void run_single(ek_elementwise_fn *kernel, const ek_layout *layout)
{
    static const int64_t zeros[EK_MAX_OPERANDS];
    kernel(layout->size, layout->data, layout->ndim ? layout->stride[0] : zeros);
}

static void run_cut(ek_queue *queue, ek_elementwise_fn *kernel, const ek_layout *layout,
                    const uint8_t *size)
{
    int inner = layout->ndim - 1;
    job job = {.kernel = kernel,
               .layout = layout,
               .row = layout->shape[inner],
               .size = size,
               .variant = (ek_variant)queue->variant};
    job.pieces = (job.row + PIECE - 1) / PIECE;
    job.rows = layout->size / job.row;
    int64_t bytes = bytes_of(layout, size);
    job.stream = layout->stride[inner][0] == 1 && job.row * size[0] >= STREAM_ROW &&
                 (uint64_t)bytes > ek_cpu_cache_bytes();
    int64_t count = job.pieces * job.rows;
    int threads = threads_for(queue, bytes);
    if (threads == 1) {
        run_pieces(&job, 0, count);
        return;
    }
#pragma omp parallel num_threads(threads)
    {
        int64_t mine = omp_get_thread_num(), all = omp_get_num_threads();
        run_pieces(&job, count * mine / all, count * (mine + 1) / all);
    }
}

/* A recorded call that is a single call of its kernel. */
typedef struct single {
    ek_elementwise_fn *kernel;
    int64_t n;
    void *data[EK_MAX_OPERANDS];
    int64_t stride[EK_MAX_OPERANDS];
} single;

static ek_status run_recorded_single(ek_queue *queue, const void *kernels, const void *what)
{
    const single *call = what;
    (void)queue;
    (void)kernels;
    call->kernel(call->n, call->data, call->stride);
    return EK_OK;
}

/* Any other. */
typedef struct cut {
    ek_elementwise_fn *kernel;
    ek_layout layout;
    uint8_t size[EK_MAX_OPERANDS];
} cut;

static ek_status run_recorded_cut(ek_queue *queue, const void *kernels, const void *what)
{
    const cut *call = what;
    (void)kernels;
    run_cut(queue, call->kernel, &call->layout, call->size);
    return EK_OK;
}

static ek_status record(ek_queue *queue, ek_elementwise_fn *kernel, const ek_layout *layout,
                        const uint8_t *size)
{
    size_t operands = (size_t)layout->operands;
    if (is_single(layout)) {
        single call = {.kernel = kernel, .n = layout->size};
        memcpy(call.data, layout->data, operands * sizeof *call.data);
        if (layout->ndim > 0)
            memcpy(call.stride, layout->stride[0], operands * sizeof *call.stride);
        return ek_cpu_record(queue, run_recorded_single, NULL, &call, sizeof call);
    }
    cut call = {.kernel = kernel, .layout = *layout};
    memcpy(call.size, size, operands);
    return ek_cpu_record(queue, run_recorded_cut, NULL, &call, sizeof call);
}

ek_status ek_cpu_elementwise_layout(ek_queue *queue, ek_elementwise_fn *kernel,
                                    const ek_layout *layout, const uint8_t *size)
{
    if (EK_UNLIKELY(ek_recording(queue)))
        return layout->size > 0 ? record(queue, kernel, layout, size) : EK_OK;
    if (is_single(layout))
        run_single(kernel, layout);
    else
        run_cut(queue, kernel, layout, size);
    return EK_OK;
}

ek_status ek_cpu_elementwise_large(ek_queue *queue, ek_elementwise_fn *kernel, int operands,
                                   int64_t n, void *const *data, const uint8_t *size)
{
    static const int64_t ones[EK_MAX_OPERANDS] = {1, 1, 1, 1};
    ek_layout layout;
    layout.operands = operands;
    layout.ndim = 1;
    layout.size = layout.shape[0] = n;
    memcpy(layout.data, data, (size_t)operands * sizeof *data);
    memcpy(layout.stride[0], ones, sizeof ones);
    return ek_cpu_elementwise_layout(queue, kernel, &layout, size);
}

ek_status ek_cpu_fill_layout(ek_queue *queue, ek_elementwise_fn *kernel, ek_layout *layout,
                             const void *value, const uint8_t *size)
{
    layout->operands = 2;
    layout->data[1] = (void *)value;
    for (int32_t d = 0; d < layout->ndim; d++)
        layout->stride[d][1] = 0;
    if (EK_UNLIKELY(ek_recording(queue))) { /* the caller's value is gone when the program runs */
        EK_TRY(ek_program_keep(ek_recording(queue), size[1], &layout->data[1]));
        memcpy(layout->data[1], value, size[1]);
    }
    return ek_cpu_elementwise_layout(queue, kernel, layout, size);
}

ek_status ek_cpu_broadcast(ek_queue *queue, ek_elementwise_fn *kernel, int64_t n, void *const *data,
                           const uint8_t *size)
{
    ek_layout layout;
    layout.ndim = 1;
    layout.size = layout.shape[0] = n;
    layout.data[0] = data[0];
    layout.stride[0][0] = 1;
    return n > 0 ? ek_cpu_fill_layout(queue, kernel, &layout, data[1], size) : EK_OK;
}
