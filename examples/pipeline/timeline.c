#include "timeline.h"

#include <stdlib.h>

#include "model.h"

void timeline_init(timeline *timeline, int64_t batches, ek_queue *queue)
{
    *timeline = (struct timeline){.copies = calloc((size_t)batches, sizeof(span)),
                                  .runs = calloc((size_t)batches, sizeof(span))};
    if (!timeline->copies || !timeline->runs)
        abort();
    check(ek_event_open(ek_queue_device(queue), &timeline->origin));
    check(ek_event_record(timeline->origin, queue));
}

void timeline_free(timeline *timeline)
{
    ek_event_close(timeline->origin);
    free(timeline->copies);
    free(timeline->runs);
}

static span measure(const timeline *timeline, ek_event *start, ek_event *end)
{
    span span;
    check(ek_event_elapsed(timeline->origin, start, &span.start));
    check(ek_event_elapsed(timeline->origin, end, &span.end));
    return span;
}

void timeline_add(timeline *timeline, ek_event *copy_start, ek_event *copied, ek_event *run_start,
                  ek_event *done)
{
    timeline->copies[timeline->count] = measure(timeline, copy_start, copied);
    timeline->runs[timeline->count++] = measure(timeline, run_start, done);
}

double timeline_copies(const timeline *timeline)
{
    double total = 0;
    for (int64_t i = 0; i < timeline->count; i++)
        total += timeline->copies[i].end - timeline->copies[i].start;
    return total;
}

static int by_start(const void *a, const void *b)
{
    double x = ((const span *)a)->start, y = ((const span *)b)->start;
    return (x > y) - (x < y);
}

/* Merges spans that touch, so that none is counted twice, and returns how many are left. */
static int64_t merge(span *spans, int64_t count)
{
    int64_t kept = 0;
    qsort(spans, (size_t)count, sizeof *spans, by_start);
    for (int64_t i = 1; i < count; i++) {
        if (spans[i].start > spans[kept].end)
            spans[++kept] = spans[i];
        else if (spans[i].end > spans[kept].end)
            spans[kept].end = spans[i].end;
    }
    return count ? kept + 1 : 0;
}

double timeline_hidden(timeline *timeline)
{
    double hidden = 0;
    int64_t runs = merge(timeline->runs, timeline->count);
    for (int64_t i = 0; i < timeline->count; i++) {
        for (int64_t j = 0; j < runs; j++) {
            const span *copy = &timeline->copies[i], *run = &timeline->runs[j];
            double start = copy->start > run->start ? copy->start : run->start;
            double end = copy->end < run->end ? copy->end : run->end;
            hidden += end > start ? end - start : 0;
        }
    }
    return hidden;
}
