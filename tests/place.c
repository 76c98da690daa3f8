#include "place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "einkorn/array.h"
#include "einkorn/memory.h"

enum { MAX_PLACES = 8, THREADS = 2 };

/* Instrumented code is several times slower: it shows each variant with threads, as what one thread
 * does is part of that. */
#ifdef __SANITIZE_ADDRESS__
enum { LEAST_THREADS = THREADS };
#else
enum { LEAST_THREADS = 1 };
#endif

static ek_place places[MAX_PLACES];
static int count;
static ek_device *cpu;

static const char *device_name(void)
{
    const char *name = getenv("EK_TEST_DEVICE");
    return name && *name ? name : "cpu";
}

bool ek_testing_gpu(void)
{
    return strcmp(device_name(), "cpu") != 0;
}

static void must(ek_status status)
{
    ck_assert_msg(status == EK_OK, "%s", ek_error_message());
}

static void add(ek_device *device, ek_variant variant, int threads)
{
    ek_place *place = &places[count++];
    must(ek_queue_open(device, &place->queue));
    must(ek_queue_set_variant(place->queue, variant));
    must(ek_queue_set_threads(place->queue, threads));
    snprintf(place->name, sizeof place->name, "%s, %d thread%s", ek_variant_name(variant), threads,
             threads > 1 ? "s" : "");
}

int ek_places(const ek_place **list)
{
    *list = places;
    if (count)
        return count;
    must(ek_device_open("cpu", &cpu));
    add(cpu, EK_CPU_BASE, 1);
    if (ek_testing_gpu()) {
        ek_device *gpu;
        must(ek_device_open(device_name(), &gpu));
        add(gpu, EK_CUDA, 1);
        return count;
    }
    for (int variant = EK_CPU_BASE; variant < EK_CUDA; variant++) {
        for (int threads = LEAST_THREADS;
             threads <= THREADS && ek_variant_available((ek_variant)variant); threads++) {
            if (variant != EK_CPU_BASE || threads != 1)
                add(cpu, (ek_variant)variant, threads);
        }
    }
    return count;
}

int ek_tested_places(const ek_place **list)
{
    int all = ek_places(list);
    int skipped = ek_testing_gpu() ? 1 : 0;
    *list += skipped;
    return all - skipped;
}

static void transfer(const ek_place *place, void *to, const ek_device *to_device, const void *from,
                     const ek_device *from_device, size_t bytes)
{
    int64_t length = (int64_t)bytes;
    ek_array dst = ek_array_view(to, EK_U8, to_device, 1, &length);
    ek_array src = ek_array_view((void *)from, EK_U8, from_device, 1, &length);
    must(ek_copy(place->queue, &dst, &src));
    must(ek_queue_sync(place->queue));
}

void ek_upload(const ek_place *place, void *device, const void *host, size_t bytes)
{
    if (bytes == 0)
        return; /* neither pointer need be one */
    if (place->queue->variant != EK_CUDA)
        memcpy(device, host, bytes);
    else
        transfer(place, device, ek_queue_device(place->queue), host, cpu, bytes);
}

void ek_download(const ek_place *place, void *host, const void *device, size_t bytes)
{
    if (bytes == 0)
        return;
    if (place->queue->variant != EK_CUDA)
        memcpy(host, device, bytes);
    else
        transfer(place, host, cpu, device, ek_queue_device(place->queue), bytes);
}

void *ek_place_memory(const ek_place *place, size_t bytes)
{
    static void *memory[MAX_PLACES];
    static size_t held[MAX_PLACES];
    int at = (int)(place - places);
    if (held[at] < bytes) {
        must(ek_free(place->queue, memory[at]));
        must(ek_alloc(place->queue, bytes, &memory[at]));
        held[at] = bytes;
    }
    return memory[at];
}

int ek_run_at_places(Suite *(*suite)(void), int tests)
{
    ek_counts counts = {0, 0, 0};
    if (ek_testing_gpu() && ek_device_count(EK_DEVICE_CUDA) == 0) {
        counts.skipped = tests;
        return ek_end(&counts);
    }
    if (ek_testing_gpu())
        setenv("CK_FORK", "no", 1); /* a GPU cannot be used on both sides of a fork */
    ek_run_suite(suite(), &counts);
    return ek_end(&counts);
}
