/* Timing one call beside the machine's limit. */
#ifndef BENCH_CALL_H
#define BENCH_CALL_H

#include "bench_case.h"
#include "timing.h"

typedef struct bench_row {
    const char *name; /* the operation's, or "roll" */
    const ek_op_info *op;
    const ek_loop *loop;
    char device[16];
    const char *variant;
    const char *call; /* "typed" or "array" */
    int32_t ndim;
    int64_t shape[PROBLEM_NDIM];          /* of the first input; of the output if there is none */
    char input[EK_MAX_INPUTS][VIEW_TEXT]; /* as the case has them; empty if all are of `shape` */
    char params[64];                      /* which axes, for example; may be empty */
    int32_t threads;
    bool cold;
    timing time;
    int64_t arithmetic; /* operations an element costs; 0: not known */
    bool gemm;          /* rate and limit are GFLOP/s, else GB/s */
    double rate;        /* least bytes (inputs once, output once) or operations, by time */
    double limit;       /* 0: none was measured */
    double goal;        /* share of it to reach; 0: none was said */
} bench_row;

/* Times the array call of a case and, where the operation has generated typed calls for arrays
 * without shapes that can do it, the typed one: sets one or two rows, and *count. */
ek_status bench_call(ek_queue *queue, const bench_case *what, double least_ns, bench_row *rows,
                     int *count);

#endif
