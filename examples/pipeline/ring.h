/* The places where batches are while they are on their way, and who may go on with which. Batch b
 * is in place b modulo their number, so results come out in the order of the batches whatever
 * order they are computed in. */
#ifndef PIPELINE_RING_H
#define PIPELINE_RING_H

#include <pthread.h>
#include <stdbool.h>

#include "model.h"
#include "timeline.h"

typedef struct place {
    ek_array pixels_host, pixels; /* pinned, and on the device */
    ek_array labels, labels_host;
    ek_event *copy_start, *copied, *run_start, *done;
    bool submitted; /* guarded by the ring's lock */
} place;

typedef struct ring {
    int count;
    place *places;
    int64_t batches;  /* in all */
    int64_t filled;   /* batches whose pixels are on their way to the device */
    int64_t taken;    /* batches that threads have begun with */
    int64_t finished; /* batches whose results were read */
    pthread_mutex_t lock;
    pthread_cond_t changed;
} ring;

/* Makes `count` places for batches of the model, on the queue's device. */
void ring_init(ring *ring, int count, const model *model, ek_queue *queue);
void ring_free(ring *ring, ek_queue *queue);

/* Begins anew with this many batches. */
void ring_start(ring *ring, int64_t batches);

/* For the thread that prepares: waits until batch `filled` has a place and returns it; and says
 * that the batch is on its way. */
place *ring_to_fill(ring *ring);
void ring_filled(ring *ring);

/* For the threads that compute: waits for a batch that none has begun with, and returns its place,
 * or null if there is none left; and says that all its work is in a queue. */
place *ring_take(ring *ring);
void ring_submitted(ring *ring, place *place);

/* For the thread that reads results: waits until the next batch's work is in a queue and returns
 * its place; and says that the place is free. */
place *ring_next(ring *ring);
void ring_finished(ring *ring);

#endif
