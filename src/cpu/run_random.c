/* How random work is cut up on the CPU: into pieces of lines, each computed from its place in the
 * sequence, so that it makes no difference where they are cut. */
#include "random.h"

#include <omp.h>
#include <string.h>

#include "backend.h"
#include "cpu/features.h"
#include "cpu/record.h"
#include "cpu/stream.h"
#include "cpu/threads.h"
#include "cpu/tile.h"
#include "integer.h"

enum {
    /* Elements of a piece, a multiple of the elements of a cache line. */
    PIECE = 512,
    /* Bytes of an element at most. */
    WIDEST = 8,
    /* Elements that a thread must have to be worth waking. */
    THREAD_ELEMENTS = 32768,
};

typedef struct job {
    ek_random_fn *kernel;
    const ek_random_work *work;
    ek_variant variant;
    bool stream; /* results go around the cache */
} job;

/* Elements in a line of an operand, to a buffer or from one. */
static void move(const job *job, int operand, int64_t n, const char *from, int64_t from_step,
                 char *to, int64_t to_step)
{
    int64_t bytes = job->work->bytes[operand];
    ek_tile tile = {.rows = 1,
                    .columns = n,
                    .from = from,
                    .from_column = from_step * bytes,
                    .to = to,
                    .to_column = to_step * bytes};
    ek_tile_move(job->variant, &tile, bytes, false);
}

/* n elements of a line, of which the first is number `at` of the output and lies at data[]. */
static void run_piece(const job *job, int64_t at, int64_t n, char *const *data)
{
    const ek_random_work *work = job->work;
    _Alignas(EK_LINE) char buffer[2][PIECE * WIDEST];
    const int64_t *step = work->stride[work->ndim - 1];
    bool apart = step[0] != 1 || job->stream;
    void *operands[2] = {apart ? buffer[0] : data[0], NULL};
    if (work->operands > 1) {
        operands[1] = data[1];
        if (step[1] != 1) {
            move(job, 1, n, data[1], step[1], buffer[1], 1);
            operands[1] = buffer[1];
        }
    }
    job->kernel(work->place + (uint64_t)at, n, operands, work->params);
    if (job->stream && step[0] == 1)
        ek_stream(job->variant, data[0], buffer[0], (size_t)(n * work->bytes[0]));
    else if (apart)
        move(job, 0, n, buffer[0], 1, data[0], step[0]);
}

/* The elements from `first` to before `end`. */
static void run_part(const job *job, int64_t first, int64_t end)
{
    const ek_random_work *work = job->work;
    int32_t inner = work->ndim - 1;
    while (first < end) {
        int64_t index = first, along = 0;
        char *data[2];
        for (int i = 0; i < work->operands; i++)
            data[i] = work->data[i];
        for (int32_t d = inner; d >= 0; d--) {
            int64_t at = index % work->shape[d];
            index /= work->shape[d];
            along = d == inner ? at : along;
            for (int i = 0; i < work->operands; i++)
                data[i] += at * work->stride[d][i] * work->bytes[i];
        }
        int64_t n = ek_smaller(work->shape[inner] - along, end - first);
        while (n > 0) {
            int64_t count = ek_smaller(n, PIECE);
            run_piece(job, first, count, data);
            first += count;
            n -= count;
            for (int i = 0; i < work->operands; i++)
                data[i] += count * work->stride[inner][i] * work->bytes[i];
        }
    }
    if (job->stream)
        ek_stream_end();
}

static bool is_line(const ek_random_work *work)
{
    bool line = work->ndim == 1;
    for (int i = 0; i < work->operands; i++)
        line &= work->stride[0][i] == 1;
    return line;
}

static void run(ek_queue *queue, ek_random_fn *kernel, const ek_random_work *work)
{
    int64_t bytes = 0, pieces = ek_divide_up(work->size, PIECE);
    for (int i = 0; i < work->operands; i++)
        bytes += work->size * work->bytes[i];
    job job = {.kernel = kernel,
               .work = work,
               .variant = (ek_variant)queue->variant,
               .stream = (uint64_t)bytes > ek_cpu_cache_bytes()};
    int threads = ek_cpu_threads(ek_queue_base_of(queue)->threads, work->size / THREAD_ELEMENTS);
    if (threads == 1 && !job.stream && is_line(work)) {
        kernel(work->place, work->size, work->data, work->params);
        return;
    }
    if (threads == 1) {
        run_part(&job, 0, work->size);
        return;
    }
#pragma omp parallel num_threads(threads)
    {
        int64_t mine = omp_get_thread_num(), all = omp_get_num_threads();
        int64_t first = pieces * mine / all * PIECE, end = pieces * (mine + 1) / all * PIECE;
        run_part(&job, first, ek_smaller(end, work->size));
    }
}

static ek_status run_recorded(ek_queue *queue, const void *kernels, const void *what)
{
    run(queue, *(ek_random_fn *const *)kernels, what);
    return EK_OK;
}

ek_status ek_cpu_random(ek_queue *queue, ek_random_fn *const *kernel, const ek_random_work *work)
{
    if (EK_UNLIKELY(ek_recording(queue)))
        return ek_cpu_record(queue, run_recorded, kernel, work, sizeof *work);
    run(queue, *kernel, work);
    return EK_OK;
}
