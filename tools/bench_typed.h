/* The typed calls of operations, for the benchmark. Generated: one object an operation. */
#ifndef EK_BENCH_TYPED_H
#define EK_BENCH_TYPED_H

#include "einkorn/queue.h"

/* Makes the same call several times; data[] are the outputs, then the inputs. */
typedef ek_status ek_bench_typed_fn(ek_queue *q, int64_t calls, int64_t n, void *const *data,
                                    const double *params);

typedef struct ek_bench_op {
    const char *name;
    ek_bench_typed_fn *const *loops; /* in the order of the row's loops */
    const int64_t *arithmetic; /* of each: operations an element costs as the body is written; an
                                * fma is two */
} ek_bench_op;

/* Sorted by name. */
extern const ek_bench_op *const ek_bench_ops[];
extern const int ek_bench_op_count;

#endif
