/* One matrix product under test: its arguments, a plain reference, and a run in every place. */
#ifndef EK_TEST_GEMM_CASE_H
#define EK_TEST_GEMM_CASE_H

#include <check.h>
#include <stdbool.h>

#include "einkorn/dtype.h"
#include "einkorn/gemm.h"
#include "place.h"

typedef struct gemm_case {
    ek_dtype dtype;
    ek_gemm_shape shape;
    ek_c128 alpha, beta; /* the imaginary parts count for complex dtypes only */
} gemm_case;

/* Elements from an operand's first to its last; 0 if it has none. */
int64_t gemm_extent_a(const ek_gemm_shape *s);
int64_t gemm_extent_b(const ek_gemm_shape *s);
int64_t gemm_extent_c(const ek_gemm_shape *s);

/* The typed call of ek_gemm or ek_gemm_exact. */
ek_status gemm_call(ek_queue *queue, bool exact, const gemm_case *t, const void *a, const void *b,
                    void *c);

/* What the exact call must give: one chain of fma an element, written without the library. */
void gemm_reference(const gemm_case *t, const void *a, const void *b, void *c);

/* Runs the call with host operands in a place and copies the result back to c. On the CPU each
 * operand ends where memory that must not be touched begins. */
ek_status gemm_run(const ek_place *place, bool exact, const gemm_case *t, const void *a,
                   const void *b, void *c);

/* Runs the exact call with ordinary values in every place; each must give the reference's bits, and
 * leave what lies between the rows of C. */
void gemm_check_exact(const gemm_case *t, uint64_t seed);

/* The same with given operands. */
void gemm_check_operands(const gemm_case *t, const void *a, const void *b, const void *c);

/* Runs the fast call in every place; results must be within the error of any order of sums. */
void gemm_check_fast(const gemm_case *t, uint64_t seed);

/* True if |got - wanted| is at most `bound`; NaN is near nothing but NaN. */
bool gemm_near(double got, double wanted, double bound);

/* The tests of the array call, of all paths, and of calls that must be refused. */
TCase *gemm_array_tests(void);
TCase *gemm_path_tests(void);
TCase *gemm_refusal_tests(void);

#endif
