/* The limits of the CPU. */
#ifndef LIMITS_CPU_H
#define LIMITS_CPU_H

#include "limits.h"

ek_status limits_cpu_memory(ek_queue *queue, const traffic *t, double least_ns, double *gbps);
ek_status limits_cpu_gemm(ek_queue *queue, ek_dtype dtype, int64_t size, double least_ns,
                          double *gflops);

#endif
