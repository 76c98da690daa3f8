/* Exact matrix products on the CPU: what a kernel is, and the run over a whole problem. */
#ifndef EK_CPU_RUN_GEMM_H
#define EK_CPU_RUN_GEMM_H

#include "gemm.h"

/* The most bytes of a tile's results, for any variant and dtype. */
#define EK_GEMM_TILE_BYTES 2048

/* A product, or some rows and columns of one, as a kernel takes it that reads its operands where
 * they are. The elements of a row of B and of C lie together; steps are in elements. */
typedef struct ek_gemm_direct {
    const ek_gemm_problem *problem; /* for alpha and beta */
    int64_t m, n, k;
    int64_t a_row, a_column, b_row, c_row;
} ek_gemm_direct;

/* A tile is what one kernel call keeps in registers: `rows` rows of C, `columns` columns. Operands
 * are packed into panels, `rows` rows of op(A) or `columns` columns of op(B) side by side, for one
 * k after the other, as the type that sums are kept in; missing rows and columns are filled with
 * zeros. A complex panel of A holds pairs, one of B for each k all real parts, then all imaginary
 * ones, and a tile likewise for each row. */
typedef struct ek_gemm_kernel {
    int32_t rows, columns;
    int32_t size;   /* bytes of a number in a panel or a tile */
    bool as_stored; /* a row of B in memory looks as it does in a panel */

    /* Packs a panel: `count` rows or columns `step` elements apart, `k` of each, `k_step` apart. */
    void (*pack_a)(int64_t count, int64_t k, const void *from, int64_t step, int64_t k_step,
                   bool conjugate, void *panel);
    void (*pack_b)(int64_t count, int64_t k, const void *from, int64_t step, int64_t k_step,
                   bool conjugate, void *panel);

    /* tile += panel of A * panel of B, in order of k; from zero unless `resume`. Only the first
     * `rows` rows and `columns` columns of the tile are needed. `b_step` numbers lie between two k
     * of B's panel. */
    void (*multiply)(int64_t k, int32_t rows, int32_t columns, const void *a, const void *b,
                     int64_t b_step, void *tile, bool resume);

    /* C = alpha * tile + beta * C, for `rows` rows and `columns` columns at c. */
    void (*finish)(const ek_gemm_problem *problem, int32_t rows, int32_t columns, const void *tile,
                   void *c);

    /* C = alpha * A * B + beta * C without panels of A. B is one panel unless as_stored. Null for
     * dtypes whose sums are of another type. */
    void (*direct)(const ek_gemm_direct *d, const void *a, const void *b, void *c);
} ek_gemm_kernel;

/* Runs a problem with a kernel, on as many threads as the queue allows and the work is worth. */
ek_status ek_cpu_gemm(ek_queue *queue, const ek_gemm_kernel *kernel,
                      const ek_gemm_problem *problem);

/* At least the bytes of workspace that kernels want for a problem of that shape or of a smaller
 * one, of a floating dtype. */
size_t ek_cpu_gemm_room(const ek_queue *queue, const ek_gemm_problem *problem);

/* Runs a problem with OpenBLAS, or with `exact` where OpenBLAS cannot, and small ones also where
 * that would be slower if `exact_is_quick`. */
ek_status ek_cpu_gemm_blas(ek_queue *queue, ek_gemm_fn *exact, bool exact_is_quick,
                           const ek_gemm_problem *problem);

/* Whether the OpenBLAS that was found is one that may be called. */
bool ek_cpu_blas_is_safe(void);

#endif
