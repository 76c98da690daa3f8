/* Timing one call beside the machine's limit. */
#ifndef BENCH_CALL_H
#define BENCH_CALL_H

#include "problem.h"
#include "timing.h"

typedef struct bench_row {
    const ek_op_info *op;
    const ek_loop *loop;
    char device[16];
    const char *variant;
    const char *call; /* "typed" or "array" */
    int32_t ndim;
    int64_t shape[PROBLEM_NDIM]; /* of the first input; of the output if there is none */
    char params[32];             /* which axes, for example; may be empty */
    int32_t threads;
    timing time;
    bool gemm;    /* rate and limit are GFLOP/s, else GB/s */
    double rate;  /* least bytes (inputs once, output once) or operations, by time */
    double limit; /* 0: none was measured */
} bench_row;

/* Times the array call of a problem and, where the operation has generated typed calls for arrays
 * without shapes, the typed one. Adds one or two rows; returns through *rows how many. */
ek_status bench_call(ek_queue *queue, const problem *p, double least_ns, bench_row *rows,
                     int *count);

#endif
