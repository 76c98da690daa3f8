/* What this machine can do, measured by loops that do nothing but move data, or by the library that
 * computes matrix products. Each limit is measured once and remembered. */
#ifndef LIMITS_H
#define LIMITS_H

#include <stdbool.h>

#include "json.h"
#include "problem.h"

/* Arrays a call walks through: how many it reads, whether it writes one, all their bytes, and
 * whether they come from memory that no cache holds. */
typedef struct traffic {
    int reads;
    bool writes;
    bool cold;
    int64_t bytes;
} traffic;

/* Sets *gbps to the rate at which the queue's device moves this traffic: on the CPU with the
 * queue's threads, its widest loads, and stores around the cache if that is faster; on CUDA a copy
 * of as many bytes. 0 where there is too little to measure. */
ek_status limits_memory(ek_queue *queue, const traffic *t, double least_ns, double *gbps);

/* Sets *gflops to what the library behind the fast matrix product does with these matrices, called
 * directly. 0 if this build has none for the dtype. */
ek_status limits_gemm(ek_queue *queue, ek_dtype dtype, int64_t size, double least_ns,
                      double *gflops);

/* Floating-point operations of a product of square matrices. */
double limits_gemm_flops(ek_dtype dtype, int64_t size);

/* All that was measured, as members of an object. */
void limits_write(json *out);

#endif
