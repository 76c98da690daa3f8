#include "timing.h"

#include <stdlib.h>

#include "clock.h"
#include "einkorn/event.h"
#include "error.h"

/* Long beside the clock's own time, and short beside the time slices of other programs, which then
 * disturb few batches and not the median. */
static const double batch_ns = 50e3;

enum {
    LEAST_BATCHES = 7,
    MOST_BATCHES = 2001,
    /* Calls a batch may have on CUDA, where a stream takes about a thousand launches before the
     * host has to wait. */
    CUDA_BATCH = 256
};

typedef struct stopwatch {
    ek_queue *queue;
    ek_event *start, *end; /* CUDA only */
} stopwatch;

static int on_cuda(const stopwatch *w)
{
    return w->start != NULL;
}

/* Nanoseconds of a batch, and of issuing it. */
static ek_status time_batch(stopwatch *w, timing_fn *call, void *context, int64_t calls, double *ns,
                            double *host_ns)
{
    if (on_cuda(w)) {
        EK_TRY(ek_queue_sync(w->queue));
        EK_TRY(ek_event_record(w->start, w->queue));
    }
    double begin = clock_ns();
    EK_TRY(call(context, calls));
    *host_ns = clock_ns() - begin;
    *ns = *host_ns;
    if (!on_cuda(w))
        return EK_OK;
    EK_TRY(ek_event_record(w->end, w->queue));
    EK_TRY(ek_event_sync(w->end));
    return ek_event_elapsed(w->start, w->end, ns);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static ek_status measure(stopwatch *w, timing_fn *call, void *context, double least_ns, timing *out)
{
    static double batches[MOST_BATCHES], issued[MOST_BATCHES];
    double ns, host_ns, total = 0;
    int64_t calls = 1;
    EK_TRY(time_batch(w, call, context, 1, &ns, &host_ns)); /* the first call is another matter */
    for (;;) {
        EK_TRY(time_batch(w, call, context, calls, &ns, &host_ns));
        if (ns >= batch_ns || (on_cuda(w) && calls >= CUDA_BATCH))
            break;
        calls *= 2;
    }
    int count = 0;
    while (count < MOST_BATCHES && (count < LEAST_BATCHES || total < least_ns)) {
        EK_TRY(time_batch(w, call, context, calls, &ns, &host_ns));
        total += ns;
        batches[count] = ns / (double)calls;
        issued[count++] = host_ns / (double)calls;
    }
    qsort(batches, (size_t)count, sizeof *batches, compare);
    qsort(issued, (size_t)count, sizeof *issued, compare);
    out->ns = batches[count / 2];
    out->best_ns = batches[0];
    out->spread = (batches[3 * count / 4] - batches[count / 4]) / out->ns;
    out->host_ns = on_cuda(w) ? issued[count / 2] : 0;
    return EK_OK;
}

ek_status timing_measure(ek_queue *queue, timing_fn *call, void *context, double least_ns,
                         timing *out)
{
    ek_device *device = ek_queue_device(queue);
    stopwatch w = {.queue = queue};
    ek_status status = EK_OK;
    if (ek_device_get_type(device) != EK_DEVICE_CPU) {
        status = ek_event_open(device, &w.start);
        if (status == EK_OK)
            status = ek_event_open(device, &w.end);
    }
    if (status == EK_OK)
        status = measure(&w, call, context, least_ns, out);
    ek_event_close(w.start);
    ek_event_close(w.end);
    return status;
}
