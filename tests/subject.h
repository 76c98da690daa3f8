/* One call of any operation with its arrays in memory of a device: made up from the operation's
 * row, so a test can go through all of them. */
#ifndef EK_TEST_SUBJECT_H
#define EK_TEST_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op_test.h"
#include "place.h"
#include "problem.h"

enum { EK_SUBJECT_RESULTS = 2 };

/* Its parameters point into the struct, so it is not to be copied. */
typedef struct ek_subject {
    const ek_place *place;
    const ek_typed_test *typed; /* whose typed call it is; null: the array call */
    int64_t lengths[3];         /* of the typed call */
    problem problem;
    ek_array in[EK_MAX_INPUTS], out[EK_MAX_OUTPUTS];
    const ek_array *inputs[EK_MAX_INPUTS];
    ek_output output[EK_MAX_OUTPUTS];
    int64_t strides[PROBLEM_NDIM];
    size_t in_bytes[EK_MAX_INPUTS];
    size_t out_at[EK_MAX_OUTPUTS];    /* where an output begins in a result */
    size_t bytes;                     /* of a result */
    void *result[EK_SUBJECT_RESULTS]; /* where a call can leave its outputs, one after the other */
} ek_subject;

/* What an array call looks like. */
typedef struct ek_subject_layout {
    int32_t ndim;
    const int64_t *shape;
    unsigned axes; /* (reductions, scans) the axes taken */
    bool strided;  /* the first input in Fortran order */
} ek_subject_layout;

/* Allocates the arrays of an array call. False, and nothing is open, if the operation cannot do
 * it. */
bool ek_subject_open(ek_subject *s, const ek_place *place, const ek_op_info *op,
                     const ek_loop *loop, const ek_subject_layout *layout);

/* Allocates those of a typed call. */
void ek_subject_open_typed(ek_subject *s, const ek_place *place, const ek_typed_test *test,
                           int loop, const int64_t *lengths);

void ek_subject_close(ek_subject *s);

/* Values of everyday size for the inputs. */
void ek_subject_fill(ek_subject *s, uint64_t seed);

/* Makes all bytes of a result EK_SUBJECT_POISON. */
enum { EK_SUBJECT_POISON = 0xA5 };
void ek_subject_poison(const ek_subject *s, int result);
bool ek_subject_is_poisoned(const ek_subject *s, int result);

/* Makes the call, which leaves its output in a result. */
ek_status ek_subject_call(ek_subject *s, ek_queue *queue, int result);

/* A result in host memory, which the caller frees. */
void *ek_subject_download(const ek_subject *s, int result);

/* What call it is, in words. */
void ek_subject_describe(const ek_subject *s, char *text, size_t size);

#endif
