/* What the host and the kernels that reduce rows agree on; read by C and by CUDA C. */
#ifndef EK_CUDA_ROWS_ARGS_H
#define EK_CUDA_ROWS_ARGS_H

#include <stdint.h>

#include "einkorn/array.h"

/* Threads of a block. */
#define EK_CUDA_ROWS_THREADS 256

/* Neighbouring elements of a row that a thread loads at once. */
#define EK_CUDA_PACK 4

/* Columns: a thread has EK_CUDA_THREAD_LANES lanes of some neighbouring columns, as many as 16
 * bytes of elements and of accumulators allow. A block is `across` threads wide and has up to
 * EK_CUDA_LANE_THREADS threads for the lanes of a column. */
#define EK_CUDA_THREAD_LANES 8
#define EK_CUDA_LANE_THREADS 16
#define EK_CUDA_ACROSS 16
#define EK_CUDA_AT_MOST_4(bytes) (16 / (bytes) > 4 ? 4 : 16 / (bytes) < 1 ? 1 : 16 / (bytes))
#define EK_CUDA_COLUMNS(element, accumulator)                                                      \
    (EK_CUDA_AT_MOST_4(element) < EK_CUDA_AT_MOST_4(accumulator) ? EK_CUDA_AT_MOST_4(element)      \
                                                                 : EK_CUDA_AT_MOST_4(accumulator))

/* Rows with a result per element: a group of threads keeps rows of up to EK_CUDA_GROUP_ROW
 * elements, a warp those up to EK_CUDA_WARP_ROW, a block those up to EK_CUDA_BLOCK_ROW. A thread of
 * the block holds EK_CUDA_LANE_ELEMENTS, the elements of one lane. */
#define EK_CUDA_GROUP_ROW 256
#define EK_CUDA_WARP_ROW 1024
#define EK_CUDA_LANE_ELEMENTS 32
#define EK_CUDA_BLOCK_THREADS(size) ((size) > 4 ? 512 : 1024)
#define EK_CUDA_BLOCK_ROW(size) (EK_CUDA_BLOCK_THREADS(size) * EK_CUDA_LANE_ELEMENTS)

/* Rows in two kept dimensions, elements a constant step apart: what typed calls have. All steps are
 * in elements. Row r is row r % inner of the inner dimension, r / inner of the outer one. */
typedef struct ek_cuda_plane {
    const void *x;
    void *out;
    void *parts; /* accumulators, [row][chunk]; null if rows have one chunk: results go to out */
    const void *context; /* (optional) a number for each row */
    int64_t n;           /* elements of a row */
    int64_t chunks;      /* of a row */
    int64_t step;        /* between elements of a row */
    int64_t out_step;    /* between results of a row */
    int64_t divisor;     /* of a row's result */
    int64_t outer, outer_x, outer_out;
    int64_t inner, inner_x, inner_out;
    int32_t group;  /* rows: threads of a row, a power of two up to 32 */
    int32_t across; /* columns: threads side by side, */
    int32_t lanes;  /* and threads for the lanes of each; powers of two */
    int32_t packed; /* 1 if neighbours may be loaded (and stored) at once */
} ek_cuda_plane;

/* Rows of any layout: dimensions as in src/rows.h. */
typedef struct ek_cuda_rows {
    const void *x;
    void *out;
    const void *from; /* join: accumulators, [row][n] */
    void *parts;      /* as above */
    const void *context;
    int64_t count; /* of rows */
    int64_t n;     /* elements of a row at this level */
    int64_t chunks;
    int64_t divisor; /* of a row's result */
    int64_t out_step;
    int32_t group;
    int32_t kept_ndim, row_ndim;
    int64_t kept_shape[EK_MAX_NDIM], kept_x[EK_MAX_NDIM], kept_out[EK_MAX_NDIM];
    int64_t row_shape[EK_MAX_NDIM], row_x[EK_MAX_NDIM];
} ek_cuda_rows;

#endif
