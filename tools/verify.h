/* What `einkorn verify` is made of: targets compute the same call, and their results must be those
 * of the first one, bit for bit. */
#ifndef VERIFY_H
#define VERIFY_H

#include "problem.h"
#include "sample.h"

enum { VERIFY_TARGETS = 24, VERIFY_COLUMNS = 12 };

/* Something that computes: a CPU variant with a number of threads, or a device. */
typedef struct target {
    ek_queue *queue;
    int32_t column; /* of the results; targets that differ in threads alone share one */
} target;

/* What is known of a variant on a device. */
typedef struct result {
    int64_t compared, differing;
    bool described; /* the first difference, as text */
    char difference[160];
} result;

/* The largest error of an operation. */
typedef struct error_found {
    double ulp; /* negative: none was measured */
    double input[EK_MAX_INPUTS];
} error_found;

/* Targets and the results of one loop so far. targets[0] is the reference: baseline, one thread,
 * where there are others. */
typedef struct verifier {
    int32_t target_count;
    target targets[VERIFY_TARGETS];
    ek_queue *precise; /* computes references in double precision; null: errors do not matter */
    int32_t columns;
    result results[VERIFY_COLUMNS];
    error_found error;
    uint64_t hash; /* of the reference's results, but for exhaustive calls */
} verifier;

/* What stands above the columns of every verifier. */
typedef struct verify_column {
    char device[16];
    ek_variant variant;
} verify_column;

/* Opens queues for every CPU variant of this machine, with one thread and, if `threaded`, with two,
 * and for the devices named. Columns are the same each time; `columns` may be null. */
ek_status verifier_open(verifier *v, bool threaded, int device_count, char **devices,
                        verify_column *columns);
/* The fastest variant alone: there is a hash, and nothing to compare it with. */
ek_status verifier_open_one(verifier *v);
void verifier_close(verifier *v);

/* Whether the operation's results are the same everywhere, and not a library's. */
bool verify_same_bits(const ek_op_info *op);

/* Forgets results. */
void verifier_clear(verifier *v);

/* Adds the results of another verifier of the same loop. */
void verifier_merge(verifier *to, const verifier *from);

/* One call with inputs from a sample, element `first` onwards, by every target. `strided` lays the
 * inputs out in other orders. */
ek_status verify_call(verifier *v, const problem *p, sample_kind kind, int64_t first, bool strided);

/* All calls of one loop. */
ek_status verify_loop(verifier *v, const ek_op_info *op, const ek_loop *loop);

/* All 2^32 inputs of a loop that takes one float32, on all processors; `done` is called with how
 * many of VERIFY_BLOCKS blocks are done. */
enum { VERIFY_BLOCKS = 1 << 16 };

bool verify_can_exhaust(const ek_op_info *op, const ek_loop *loop);
ek_status verify_exhaustive(verifier *v, const ek_op_info *op, const ek_loop *loop,
                            int device_count, char **devices, void (*done)(int64_t blocks));

#endif
