/* Events: points in a queue's work that others can wait for. On the CPU, where a call has done its
 * work when it returns, an event is complete once recorded. */
#ifndef EINKORN_EVENT_H
#define EINKORN_EVENT_H

#include "einkorn/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ek_event ek_event;

ek_status ek_event_open(ek_device *device, ek_event **event);

/* A null pointer is allowed. */
void ek_event_close(ek_event *event);

/* Marks the present end of the queue's work. Recording again moves the mark. */
ek_status ek_event_record(ek_event *event, ek_queue *queue);

/* Work given to the queue after this call starts only when the event is reached. The event may be
 * of another device. An event never recorded is no obstacle. */
ek_status ek_event_wait(ek_event *event, ek_queue *queue);

/* Blocks the calling thread until the event is reached; not at all if it was never recorded. */
ek_status ek_event_sync(ek_event *event);

/* Sets *reached to 1 or 0 without waiting. */
ek_status ek_event_query(ek_event *event, int *reached);

/* Nanoseconds between two reached events of one device. */
ek_status ek_event_elapsed(ek_event *start, ek_event *end, double *nanoseconds);

#ifdef __cplusplus
}
#endif
#endif
