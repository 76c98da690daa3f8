/* Where a call can run: the CPU variants of this machine with one thread and with two, or the
 * device that EK_TEST_DEVICE names. Every place must give the bits of the first one. */
#ifndef EK_TEST_PLACE_H
#define EK_TEST_PLACE_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

#include "einkorn/device.h"
#include "einkorn/queue.h"

typedef struct ek_place {
    char name[32]; /* "avx2, 2 threads" */
    ek_queue *queue;
} ek_place;

/* The places, opened at the first call and left open. The first is the CPU's base variant with one
 * thread; on a GPU it is there for comparison. */
int ek_places(const ek_place **places);

/* The places under test: all, or the GPU's alone. */
int ek_tested_places(const ek_place **places);

/* True if EK_TEST_DEVICE names a GPU. */
bool ek_testing_gpu(void);

/* The main of a program whose tests run at the places: runs the suite, or counts its tests as
 * skipped if they are for a GPU and there is none. */
int ek_run_at_places(Suite *(*suite)(void), int tests);

/* Copies bytes between host memory and the place's device, and waits. */
void ek_upload(const ek_place *place, void *device, const void *host, size_t bytes);
void ek_download(const ek_place *place, void *host, const void *device, size_t bytes);

/* Memory on the place's device that lives until the next call for the same place. */
void *ek_place_memory(const ek_place *place, size_t bytes);

#endif
