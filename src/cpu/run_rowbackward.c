/* How rows of backward operations are shared out on the CPU: each is one thread's. */
#include "cpu/run_rowbackward.h"

#include <omp.h>

#include "backend.h"
#include "cpu/record.h"
#include "cpu/threads.h"
#include "integer.h"

/* Elements that a thread must have to be worth waking. */
enum { THREAD_ELEMENTS = 32768 };

static void run_rows(ek_rowbackward_fn *kernel, const ek_rowbackward_work *work, int64_t first,
                     int64_t end)
{
    for (int64_t row = first; row < end; row++) {
        void *data[EK_ROWBACKWARD_OPERANDS];
        int64_t rest = row;
        for (int i = 0; i < work->operands; i++)
            data[i] = work->data[i];
        for (int32_t d = work->ndim - 1; d >= 0; d--) {
            int64_t at = rest % work->shape[d];
            rest /= work->shape[d];
            for (int i = 0; i < work->operands; i++)
                data[i] = (char *)data[i] + at * work->stride[d][i] * work->bytes;
        }
        kernel(work->n, data, work->step, work->params);
    }
}

static void run(ek_queue *queue, ek_rowbackward_fn *kernel, const ek_rowbackward_work *work)
{
    int64_t useful = ek_smaller(work->rows * work->n / THREAD_ELEMENTS, work->rows);
    int threads = ek_cpu_threads(ek_queue_base_of(queue)->threads, useful);
    if (threads == 1) {
        run_rows(kernel, work, 0, work->rows);
        return;
    }
#pragma omp parallel num_threads(threads)
    {
        int64_t mine = omp_get_thread_num(), all = omp_get_num_threads();
        run_rows(kernel, work, work->rows * mine / all, work->rows * (mine + 1) / all);
    }
}

static ek_status run_recorded(ek_queue *queue, const void *kernels, const void *what)
{
    run(queue, *(ek_rowbackward_fn *const *)kernels, what);
    return EK_OK;
}

ek_status ek_cpu_rowbackward(ek_queue *queue, ek_rowbackward_fn *const *kernel,
                             const ek_rowbackward_work *work)
{
    if (EK_UNLIKELY(ek_recording(queue)))
        return ek_cpu_record(queue, run_recorded, kernel, work, sizeof *work);
    run(queue, *kernel, work);
    return EK_OK;
}
