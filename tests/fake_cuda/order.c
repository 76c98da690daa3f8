/* Streams that do their work late. While a test holds work back, every stream keeps what it is
 * given, and does it when somebody waits for it and only as far as that needs: the laziest GPU that
 * still keeps the order which streams and events promise. What is ordered by luck goes wrong here.
 */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of pageable memory that a driver has read when the call returns. */
enum { TAKEN_BYTES = 64 << 10 };

typedef enum kind { RUN, RECORD, WAIT, FREE } kind;

struct work {
    struct work *next;
    kind kind;
    node node;         /* (run) */
    uint64_t dst, src; /* (run) serial numbers of the memory it was meant for; 0: none known */
    char *taken;       /* (run) what a small piece of pageable memory held; null: it is none */
    CUevent event;     /* (record, wait) */
    int mark;          /* (record, wait) which record of the event */
    int device;        /* (free) */
    void *memory;      /* (free) */
};

static pthread_mutex_t order_lock = PTHREAD_MUTEX_INITIALIZER;
static bool holds;
static int late_uses;

void ek_fake_hold(int hold)
{
    pthread_mutex_lock(&order_lock);
    holds = hold;
    pthread_mutex_unlock(&order_lock);
}

int ek_fake_late_uses(void)
{
    return late_uses;
}

/* True if the stream has to keep what it is given. */
static bool is_held(CUstream stream)
{
    return holds || stream->first;
}

static struct work *add(CUstream stream, kind kind)
{
    struct work *work = calloc(1, sizeof *work);
    if (!work)
        abort();
    work->kind = kind;
    *(stream->first ? &stream->last->next : &stream->first) = work;
    stream->last = work;
    return work;
}

static uint64_t serial_of(const void *memory)
{
    const block *known = memory ? fake_find_block(memory, 1) : NULL;
    return known ? known->serial : 0;
}

static void drop_event(CUevent event)
{
    if (--event->references == 0)
        free(event);
}

static void run_next(CUstream stream);

/* Does what leads to a record of the event. */
static void reach(CUevent event, int mark)
{
    while (event->reached < mark)
        run_next(event->stream);
}

static void run_next(CUstream stream)
{
    struct work *work = stream->first;
    if (work->kind == WAIT)
        reach(work->event, work->mark);
    stream->first = work->next;
    if (work->kind == RECORD && work->event->reached < work->mark)
        work->event->reached = work->mark;
    else if (work->kind == FREE)
        fake_remove_block(work->device, work->memory);
    else if (work->kind == RUN && serial_of(work->node.dst) == work->dst &&
             serial_of(work->node.src) == work->src)
        fake_run(&work->node, stream);
    else if (work->kind == RUN)
        late_uses++;
    if (work->event)
        drop_event(work->event);
    free(work->taken);
    free(work);
}

static void take_pageable(struct work *work)
{
    node *node = &work->node;
    if (!node->src || work->src || node->rows != 1 || node->width > TAKEN_BYTES)
        return;
    work->taken = malloc(node->width);
    if (!work->taken)
        abort();
    node->src = memcpy(work->taken, node->src, node->width);
}

void fake_do(const node *node, CUstream stream)
{
    pthread_mutex_lock(&order_lock);
    if (is_held(stream)) {
        struct work *work = add(stream, RUN);
        work->node = *node;
        work->dst = serial_of(node->dst);
        work->src = serial_of(node->src);
        take_pageable(work);
    } else {
        fake_run(node, stream);
    }
    pthread_mutex_unlock(&order_lock);
}

void fake_do_record(CUevent event, CUstream stream)
{
    pthread_mutex_lock(&order_lock);
    /* Records are counted, so a wait for an earlier one knows it by its number. A record on another
     * stream makes the event that stream's. */
    if (event->stream && event->stream != stream)
        reach(event, event->marks);
    event->stream = stream;
    event->marks++;
    if (is_held(stream)) {
        struct work *work = add(stream, RECORD);
        work->event = event;
        work->mark = event->marks;
        event->references++;
    } else {
        event->reached = event->marks;
    }
    pthread_mutex_unlock(&order_lock);
}

void fake_do_wait(CUstream stream, CUevent event)
{
    pthread_mutex_lock(&order_lock);
    if (is_held(stream) && event->reached < event->marks) {
        struct work *work = add(stream, WAIT);
        work->event = event;
        work->mark = event->marks;
        event->references++;
    } else {
        reach(event, event->marks);
    }
    pthread_mutex_unlock(&order_lock);
}

CUresult fake_do_free(CUstream stream, int device, void *memory)
{
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&order_lock);
    if (is_held(stream)) {
        struct work *work = add(stream, FREE);
        work->device = device;
        work->memory = memory;
    } else {
        result = fake_remove_block(device, memory);
    }
    pthread_mutex_unlock(&order_lock);
    return result;
}

bool fake_is_done(CUstream stream)
{
    pthread_mutex_lock(&order_lock);
    bool done = !stream->first;
    pthread_mutex_unlock(&order_lock);
    return done;
}

bool fake_is_reached(CUevent event)
{
    pthread_mutex_lock(&order_lock);
    bool reached = event->reached == event->marks;
    pthread_mutex_unlock(&order_lock);
    return reached;
}

void fake_finish(CUstream stream)
{
    pthread_mutex_lock(&order_lock);
    while (stream->first)
        run_next(stream);
    pthread_mutex_unlock(&order_lock);
}

void fake_finish_event(CUevent event)
{
    pthread_mutex_lock(&order_lock);
    reach(event, event->marks);
    pthread_mutex_unlock(&order_lock);
}

void fake_drop_event(CUevent event)
{
    pthread_mutex_lock(&order_lock);
    drop_event(event);
    pthread_mutex_unlock(&order_lock);
}
