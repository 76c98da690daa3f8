#include "measure.h"

#include <math.h>

#include "clock.h"
#include "error.h"

enum { LEAST_ROUNDS = 7, MOST_ROUNDS = 101 };

static const double round_ns = 2e6; /* long beside what the clock costs */
static const double enough_ns = 5e8;

/* How many times make a round. Warms up on the way. */
static ek_status choose_times(measure_fn *work, void *context, int64_t most, int64_t *times)
{
    double ns;
    EK_TRY(work(context, 1, &ns));
    for (*times = 1;;) {
        EK_TRY(work(context, *times, &ns));
        if (ns >= round_ns || *times >= most)
            return EK_OK;
        *times = 2 * *times < most ? 2 * *times : most;
    }
}

ek_status measure(measure_fn *work, measure_fn *beside, void *context, int64_t most, measured *out)
{
    double ns, least = INFINITY, beside_least = beside ? INFINITY : 0;
    int64_t times;
    if (beside)
        EK_TRY(choose_times(beside, context, most, &times));
    EK_TRY(choose_times(work, context, most, &times));
    double end = clock_ns() + enough_ns;
    for (int i = 0; i < LEAST_ROUNDS || (i < MOST_ROUNDS && clock_ns() < end); i++) {
        EK_TRY(work(context, times, &ns));
        least = fmin(least, ns);
        if (beside) {
            EK_TRY(beside(context, times, &ns));
            beside_least = fmin(beside_least, ns);
        }
    }
    out->ns = least / (double)times;
    out->beside_ns = beside_least / (double)times;
    return EK_OK;
}
