/* The parts of tests/process: programs about what becomes of the library when its process forks or
 * ends. Each is run by itself (check_process.sh) and says at its end what it found. */
#ifndef EK_TEST_PROCESS_H
#define EK_TEST_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "must.h"

/* A scenario on a device; `device` is "cpu" or "cuda". The result is the program's status. */
typedef int scenario_fn(const char *device);

/* Whether the n by n product of two matrices of ones, by ek_gemm_f64 on the host, is all n. */
bool product_is_right(ek_queue *queue, int n);

/* Whether a sum of so many ones that threads share it out is right. */
bool sum_is_right(ek_queue *queue);

/* Runs work(context) in a child that has ten seconds for it; whether it ended with status 0. */
bool child_succeeds(int (*work)(void *context), void *context);

scenario_fn fork_computes;
scenario_fn fork_refuses;
scenario_fn fork_before_threads;
scenario_fn fork_beside_products;
scenario_fn fork_beside_opening;

scenario_fn end_frees_late;
scenario_fn end_returns;
scenario_fn end_in_thread;
scenario_fn end_at_once;

#endif
