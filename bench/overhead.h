/* What the library adds to what it stands on: a call to its kernel, a launch to the driver's, a
 * matrix product to the BLAS below it. Each result stands beside its peer, timed in turns with it.
 */
#ifndef OVERHEAD_H
#define OVERHEAD_H

#include "einkorn/status.h"
#include "measure.h"

/* What a result should reach. */
typedef enum goal {
    GOAL_NONE,
    GOAL_NS,   /* at most so many nanoseconds */
    GOAL_MORE, /* at most so many more than the peer */
    GOAL_SPEED /* at least this part of the peer's speed */
} goal;

typedef struct result {
    char what[56];
    const char *device; /* "cpu", "cuda" */
    const char *beside; /* null: nothing stands beside it */
    measured time;
    goal goal;
    double bound;
} result;

/* Adds a result to the report. */
void overhead_add(const result *r);

ek_status overhead_calls(void);
ek_status overhead_memory(void);
ek_status overhead_alloc(void);
ek_status overhead_gemm(void);
ek_status overhead_launch(void);
ek_status overhead_program(void);
ek_status overhead_cublas(void);
ek_status overhead_threads(void);
ek_status overhead_copy(void);

#endif
