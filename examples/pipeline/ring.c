#include "ring.h"

#include <stdlib.h>

/* An array in pinned host memory, which the device copies from and to by itself. */
static ek_array pinned_array(ek_device *device, ek_dtype dtype, int32_t ndim, int64_t *shape)
{
    size_t bytes = ek_dtype_size(dtype);
    void *memory;
    for (int32_t d = 0; d < ndim; d++)
        bytes *= (size_t)shape[d];
    check(ek_pinned_alloc(device, bytes, &memory));
    ek_array array = ek_array_view(memory, dtype, device, ndim, shape);
    array.device.type =
        ek_device_get_type(device) == EK_DEVICE_CUDA ? EK_DEVICE_CUDA_HOST : EK_DEVICE_CPU;
    array.device.index = 0;
    return array;
}

static void init_place(place *place, const model *model, ek_queue *queue)
{
    ek_device *device = ek_queue_device(queue);
    int64_t shape[] = {model->rows, model->width};
    check(ek_array_alloc(queue, EK_U8, 2, shape, &place->pixels));
    check(ek_array_alloc(queue, EK_I64, 1, shape, &place->labels));
    place->pixels_host = pinned_array(device, EK_U8, 2, place->pixels.shape);
    place->labels_host = pinned_array(device, EK_I64, 1, place->labels.shape);
    check(ek_event_open(device, &place->copy_start));
    check(ek_event_open(device, &place->copied));
    check(ek_event_open(device, &place->run_start));
    check(ek_event_open(device, &place->done));
}

static void free_place(place *place, ek_queue *queue)
{
    ek_device *device = ek_queue_device(queue);
    check(ek_pinned_free(device, place->pixels_host.data));
    check(ek_pinned_free(device, place->labels_host.data));
    check(ek_array_free(queue, &place->pixels));
    check(ek_array_free(queue, &place->labels));
    ek_event_close(place->copy_start);
    ek_event_close(place->copied);
    ek_event_close(place->run_start);
    ek_event_close(place->done);
}

void ring_init(ring *ring, int count, const model *model, ek_queue *queue)
{
    *ring = (struct ring){.count = count, .places = calloc((size_t)count, sizeof *ring->places)};
    if (!ring->places || pthread_mutex_init(&ring->lock, NULL) != 0 ||
        pthread_cond_init(&ring->changed, NULL) != 0)
        abort();
    for (int i = 0; i < count; i++)
        init_place(&ring->places[i], model, queue);
    check(ek_queue_sync(queue));
}

void ring_free(ring *ring, ek_queue *queue)
{
    for (int i = 0; i < ring->count; i++)
        free_place(&ring->places[i], queue);
    pthread_cond_destroy(&ring->changed);
    pthread_mutex_destroy(&ring->lock);
    free(ring->places);
}

void ring_start(ring *ring, int64_t batches)
{
    ring->batches = batches;
    ring->filled = ring->taken = ring->finished = 0;
    for (int i = 0; i < ring->count; i++)
        ring->places[i].submitted = false;
}

static place *place_of(const ring *ring, int64_t batch)
{
    return &ring->places[batch % ring->count];
}

static void changed(ring *ring)
{
    pthread_cond_broadcast(&ring->changed);
    pthread_mutex_unlock(&ring->lock);
}

place *ring_to_fill(ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    while (ring->filled - ring->finished == ring->count)
        pthread_cond_wait(&ring->changed, &ring->lock);
    place *place = place_of(ring, ring->filled);
    pthread_mutex_unlock(&ring->lock);
    return place;
}

void ring_filled(ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->filled++;
    changed(ring);
}

place *ring_take(ring *ring)
{
    place *place = NULL;
    pthread_mutex_lock(&ring->lock);
    while (ring->taken == ring->filled && ring->taken < ring->batches)
        pthread_cond_wait(&ring->changed, &ring->lock);
    if (ring->taken < ring->batches)
        place = place_of(ring, ring->taken++);
    pthread_mutex_unlock(&ring->lock);
    return place;
}

void ring_submitted(ring *ring, place *place)
{
    pthread_mutex_lock(&ring->lock);
    place->submitted = true;
    changed(ring);
}

place *ring_next(ring *ring)
{
    place *place = place_of(ring, ring->finished);
    pthread_mutex_lock(&ring->lock);
    while (!place->submitted)
        pthread_cond_wait(&ring->changed, &ring->lock);
    place->submitted = false;
    pthread_mutex_unlock(&ring->lock);
    return place;
}

void ring_finished(ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->finished++;
    changed(ring);
}
