/* Two ways to do the same, timed in turns, so that whatever else the machine does meets both. */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdint.h>

#include "einkorn/status.h"

/* Does the work `times` times and stores how long all of it took. */
typedef ek_status measure_fn(void *context, int64_t times, double *ns);

typedef struct measured {
    double ns;        /* once, in the fastest round: what disturbs work only adds to it */
    double beside_ns; /* the other one; 0 if there is none */
} measured;

/* Times `work`, and `beside` unless it is null, in rounds of at most `most` times. */
ek_status measure(measure_fn *work, measure_fn *beside, void *context, int64_t most, measured *out);

#endif
