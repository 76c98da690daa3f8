/* What is to be timed: a problem, how its operands lie in memory, and what is hoped for. */
#ifndef BENCH_CASE_H
#define BENCH_CASE_H

#include "params.h"
#include "problem.h"
#include "view.h"

typedef enum bench_cache { CACHE_DEFAULT, CACHE_HOT, CACHE_COLD } bench_cache;

/* Parts of the struct point to others, so it is not to be moved. */
typedef struct bench_case {
    problem p;
    params params;
    view input[EK_MAX_INPUTS]; /* without inputs, the output */
    bool named;                /* the operands were said one by one */
    int32_t threads;           /* 0: as the queue has them, -1: all there are */
    bench_cache cache;
    int64_t roll; /* ek_roll by so many along the last axis in place of the operation; 0: no */
    double goal;  /* the share of the limit to reach; 0: none was said */
} bench_case;

/* One shape for all inputs, or the output where there is none. */
void bench_case_init(bench_case *c, const ek_op_info *op, const ek_loop *loop, int32_t ndim,
                     const int64_t *shape);

/* After the problem's shapes were changed: operands in C order of those shapes. */
void bench_case_settle(bench_case *c);

/* Reads `OP DTYPE OPERAND... [NAME=VALUE]...`: an operand for each input, as view.h has them, or a
 * single one for all of them; for a matrix product the side. Names are the operation's parameters
 * and
 *
 *   threads=N   threads a call may use, or all
 *   cache=C     hot or cold
 *   goal=X      share of the limit to reach
 *
 * `roll DTYPE OPERAND shift=N` is ek_roll along the last axis, which is no operation of the table.
 */
ek_status bench_case_parse(bench_case *c, const char *line);

#endif
