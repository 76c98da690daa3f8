/* The parts of check_threads, and where they run. */
#ifndef EK_CHECK_THREADS_H
#define EK_CHECK_THREADS_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

#include "must.h"

/* Names of the devices under test; the same one twice where there is only one. */
enum { DEVICES = 2 };

extern const char *device_names[DEVICES];

/* Whether results can be looked at: the fake driver only copies. */
extern bool computes;

/* Runs work(numbers[i]) in `count` threads at once, numbers from 0, and waits for them. */
void run_threads(int count, void *(*work)(void *number));

/* Copies between the host and the queue's device, and waits. */
void upload(ek_queue *queue, void *device, const void *host, size_t bytes);
void download(ek_queue *queue, void *host, const void *device, size_t bytes);

TCase *stress_case(void);
TCase *sharing_case(void);
TCase *blas_case(void);
TCase *streams_case(void); /* of CUDA */

#endif
