/* When copies and computations were at work, and how much of the copies' time was hidden. */
#ifndef PIPELINE_TIMELINE_H
#define PIPELINE_TIMELINE_H

#include <einkorn.h>

typedef struct span {
    double start, end; /* nanoseconds after the timeline's origin */
} span;

typedef struct timeline {
    ek_event *origin;
    int64_t count;
    span *copies, *runs;
} timeline;

/* Room for this many batches; the origin is the present end of the queue's work. */
void timeline_init(timeline *timeline, int64_t batches, ek_queue *queue);
void timeline_free(timeline *timeline);

/* Adds a batch from four events that are reached. */
void timeline_add(timeline *timeline, ek_event *copy_start, ek_event *copied, ek_event *run_start,
                  ek_event *done);

/* Nanoseconds that copies took in all, and how many of them had a computation at work. */
double timeline_copies(const timeline *timeline);
double timeline_hidden(timeline *timeline);

#endif
