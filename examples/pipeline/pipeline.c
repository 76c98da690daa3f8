/* Inference as a service does it: one thread prepares batches of images and copies them to the
 * device, several threads run a model on them, and the results come back in order.
 *
 *   pipeline [--device cpu|cuda|cuda:N] [--threads N] [--batches N] [--rows N] [--width N]
 *            [--layers N]
 *
 * It does the same work three times: everything in one thread, one step after the other; the
 * computing alone, by all threads, on batches that are on the device already; and as a pipeline.
 * The last should be as fast as the second: then preparing and copying cost nothing. The hash of
 * all results, in order, is the same each time, on every device. */
#include <einkorn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "images.h"
#include "model.h"
#include "ring.h"
#include "timeline.h"

enum { MOST_THREADS = 64 };

typedef struct options {
    const char *device;
    int threads, batches, rows, width, layers; /* 0: what suits the device */
} options;

typedef struct pipeline {
    ek_device *device;
    ek_queue *queue; /* the one that copies */
    model model;
    images images;
    ring ring;
    timeline timeline;
    int threads;
    bool copies; /* whether the threads get new pixels, and results are copied back */
} pipeline;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t add_to_hash(uint64_t hash, const ek_array *labels)
{
    const int64_t *label = ek_array_data(labels);
    for (int64_t i = 0; i < labels->shape[0]; i++)
        hash = (hash ^ (uint64_t)label[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static const uint64_t empty_hash = UINT64_C(0xcbf29ce484222325);

/* A queue for one thread of several: each computes on a core of its own. */
static ek_queue *open_queue(ek_device *device)
{
    ek_queue *queue;
    check(ek_queue_open(device, &queue));
    check(ek_queue_set_threads(queue, 1));
    return queue;
}

/* ---- everything in one thread */

static uint64_t run_in_turn(pipeline *p, int64_t batches)
{
    uint64_t hash = empty_hash;
    place *place = &p->ring.places[0];
    model_workspace work;
    model_workspace_init(&work, &p->model, p->queue);
    for (int64_t batch = 0; batch < batches; batch++) {
        images_prepare(&p->images, batch, p->model.rows, ek_array_data(&place->pixels_host));
        check(ek_copy(p->queue, &place->pixels, &place->pixels_host));
        model_apply(&p->model, &work, p->queue, &place->pixels, &place->labels);
        check(ek_copy(p->queue, &place->labels_host, &place->labels));
        check(ek_queue_sync(p->queue));
        hash = add_to_hash(hash, &place->labels_host);
    }
    model_workspace_free(&work, p->queue);
    return hash;
}

/* ---- the pipeline's threads */

static void *prepare(void *argument)
{
    pipeline *p = argument;
    for (int64_t batch = 0; batch < p->ring.batches; batch++) {
        place *place = ring_to_fill(&p->ring);
        if (p->copies) {
            images_prepare(&p->images, batch, p->model.rows, ek_array_data(&place->pixels_host));
            check(ek_event_record(place->copy_start, p->queue));
            check(ek_copy(p->queue, &place->pixels, &place->pixels_host));
        }
        check(ek_event_record(place->copied, p->queue));
        ring_filled(&p->ring);
    }
    return NULL;
}

/* A thread gives its queue two batches, so that the device goes on to the next at once, and takes
 * another only when the first is done: otherwise the threads that are quick to wake take nearly all
 * there are, and the device finds work in one or two queues instead of all. */
static void *compute(void *argument)
{
    pipeline *p = argument;
    ek_queue *queue = open_queue(p->device);
    ek_event *ends[2];
    model_workspace work;
    model_workspace_init(&work, &p->model, queue);
    for (int i = 0; i < 2; i++)
        check(ek_event_open(p->device, &ends[i]));
    for (int64_t turn = 0;; turn++) {
        ek_event *end = ends[turn % 2];
        check(ek_event_sync(end)); /* of two turns before, if there was one */
        place *place = ring_take(&p->ring);
        if (!place)
            break;
        check(ek_event_wait(place->copied, queue));
        check(ek_event_record(place->run_start, queue));
        model_apply(&p->model, &work, queue, &place->pixels, &place->labels);
        if (p->copies)
            check(ek_copy(queue, &place->labels_host, &place->labels));
        check(ek_event_record(place->done, queue));
        check(ek_event_record(end, queue));
        ring_submitted(&p->ring, place);
    }
    check(ek_queue_sync(queue));
    for (int i = 0; i < 2; i++)
        ek_event_close(ends[i]);
    model_workspace_free(&work, queue);
    ek_queue_close(queue);
    return NULL;
}

static uint64_t collect(pipeline *p)
{
    uint64_t hash = empty_hash;
    for (int64_t batch = 0; batch < p->ring.batches; batch++) {
        place *place = ring_next(&p->ring);
        check(ek_event_sync(place->done));
        if (p->copies) {
            hash = add_to_hash(hash, &place->labels_host);
            timeline_add(&p->timeline, place->copy_start, place->copied, place->run_start,
                         place->done);
        }
        ring_finished(&p->ring);
    }
    return hash;
}

static uint64_t run_threads(pipeline *p, int64_t batches, bool copies)
{
    pthread_t preparing, computing[MOST_THREADS];
    p->copies = copies;
    ring_start(&p->ring, batches);
    if (pthread_create(&preparing, NULL, prepare, p) != 0)
        abort();
    for (int i = 0; i < p->threads; i++) {
        if (pthread_create(&computing[i], NULL, compute, p) != 0)
            abort();
    }
    uint64_t hash = collect(p);
    pthread_join(preparing, NULL);
    for (int i = 0; i < p->threads; i++)
        pthread_join(computing[i], NULL);
    return hash;
}

/* ---- the comparison */

static double report(const char *what, double seconds, double base, const pipeline *p,
                     int64_t batches, uint64_t hash)
{
    printf("%-26s %9.0f images/s  %5.2f", what, (double)batches * p->model.rows / seconds,
           base / seconds);
    if (hash)
        printf("  results %016" PRIx64, hash);
    printf("\n");
    return seconds;
}

static int run(pipeline *p, int64_t batches)
{
    char label[32];
    uint64_t hash, same;
    run_in_turn(p, 2); /* loads kernels */
    double start = now();
    hash = run_in_turn(p, batches);
    double alone = now() - start;
    report("one thread, in turn", alone, alone, p, batches, hash);

    run_threads(p, 2 * p->threads, false);
    start = now();
    run_threads(p, batches, false);
    double computing = now() - start;
    snprintf(label, sizeof label, "%d threads, only computing", p->threads);
    report(label, computing, alone, p, batches, 0);

    timeline_init(&p->timeline, batches, p->queue);
    start = now();
    same = run_threads(p, batches, true);
    double piped = now() - start;
    snprintf(label, sizeof label, "%d threads, pipeline", p->threads);
    report(label, piped, alone, p, batches, same);

    double copies = timeline_copies(&p->timeline), hidden = timeline_hidden(&p->timeline);
    printf("pipeline / only computing: %.3f\n", computing / piped);
    printf("copies to the device: %.2f ms, %.1f%% of it while a batch was computed\n", copies / 1e6,
           copies > 0 ? 100 * hidden / copies : 0);
    timeline_free(&p->timeline);
    if (same != hash)
        printf("THE RESULTS DIFFER\n");
    return same != hash;
}

static int usage(void)
{
    fprintf(stderr, "usage: pipeline [--device NAME] [--threads N] [--batches N] [--rows N] "
                    "[--width N] [--layers N]\n");
    return 2;
}

static int read_options(int argc, char **argv, options *options)
{
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            return usage();
        if (strcmp(argv[i], "--device") == 0) {
            options->device = argv[i + 1];
            continue;
        }
        int *number = strcmp(argv[i], "--threads") == 0   ? &options->threads
                      : strcmp(argv[i], "--batches") == 0 ? &options->batches
                      : strcmp(argv[i], "--rows") == 0    ? &options->rows
                      : strcmp(argv[i], "--width") == 0   ? &options->width
                      : strcmp(argv[i], "--layers") == 0  ? &options->layers
                                                          : NULL;
        if (!number || (*number = atoi(argv[i + 1])) < 1 || options->threads > MOST_THREADS)
            return usage();
    }
    return 0;
}

int main(int argc, char **argv)
{
    options options = {.device = "cpu", .threads = 4};
    int failed = read_options(argc, argv, &options);
    if (failed)
        return failed;
    pipeline p = {.threads = options.threads};
    check(ek_device_open(options.device, &p.device));
    p.queue = open_queue(p.device);
    bool gpu = ek_device_get_type(p.device) == EK_DEVICE_CUDA;
    int batches = options.batches ? options.batches : gpu ? 400 : 100;
    model_init(&p.model, p.queue,
               options.rows ? options.rows
               : gpu        ? 1024
                            : 64,
               options.width ? options.width
               : gpu         ? 1024
                             : 256,
               options.layers ? options.layers : 8);
    images_init(&p.images, 4096, p.model.width);
    ring_init(&p.ring, 4 * p.threads + 2, &p.model, p.queue);
    printf("%s: %d batches of %d images of %d pixels, %d layers\n", ek_device_name(p.device),
           batches, p.model.rows, p.model.width, p.model.layers);

    failed = run(&p, batches);

    ring_free(&p.ring, p.queue);
    images_free(&p.images);
    model_free(&p.model, p.queue);
    ek_queue_close(p.queue);
    ek_device_close(p.device);
    return failed;
}
