/* What the host and the kernels that reduce rows agree on; read by C and by CUDA C. */
#ifndef EK_CUDA_ROWS_ARGS_H
#define EK_CUDA_ROWS_ARGS_H

#include <stdint.h>

#include "einkorn/limits.h"

/* Threads of a block. */
#define EK_CUDA_ROWS_THREADS 256

/* Neighbouring elements of a row that a thread loads at once. */
#define EK_CUDA_PACK 4

/* Reductions of rows: elements of a load of 16 bytes, lanes of a thread over a whole chunk, and
 * over rows that are shorter or many. Where loads of one element are all that fits, a thread has
 * EK_CUDA_PACK lanes. */
#define EK_CUDA_WIDE(size) ((int)(size) > 16 ? 1 : 16 / (int)(size))
#define EK_CUDA_OWN(size) (EK_CUDA_WIDE(size) > 4 ? EK_CUDA_WIDE(size) : 4)
#define EK_CUDA_OWN_SHORT(size, lane) ((lane) > 4 && EK_CUDA_WIDE(size) <= 8 ? 8 : 16)

/* Loads of a thread that are under way together: of 16 bytes (bytes fill too many registers), and
 * of one element. */
#define EK_CUDA_PACKS_AHEAD(size) ((size) == 1 ? 4 : 8)
#define EK_CUDA_SCALARS_AHEAD(size) ((size) >= 16 ? 8 : 16)

/* Short rows that a group of threads has at once, with so many loads in each thread. */
#define EK_CUDA_SHORT_ROWS(ahead, loads) ((ahead) > (loads) ? (ahead) / (loads) : 1)

/* Rows of up to EK_LANES elements, of more of them, and how their elements are loaded. */
enum {
    EK_CUDA_SHORT_PACKED,
    EK_CUDA_SHORT_SPREAD,
    EK_CUDA_SHORT_STAGED,
    EK_CUDA_NARROW, /* chunks by few threads each, */
    EK_CUDA_WHOLE,  /* or by as many as a warp has */
    EK_CUDA_SPREAD
};

/* What a block stages in shared memory of short rows that fit no packs. */
#define EK_CUDA_STAGE_BYTES 16384

/* Counters of blocks that have come to some point, for kernels that go on where the last block of
 * them does. All are 0 between kernels. */
#define EK_CUDA_TICKETS 4096

/* Columns: a thread has EK_CUDA_THREAD_LANES lanes of up to four neighbouring columns. A block is
 * `across` threads wide and has up to EK_CUDA_LANE_THREADS threads for the lanes of a column. */
#define EK_CUDA_THREAD_LANES 8
#define EK_CUDA_LANE_THREADS 16
#define EK_CUDA_ACROSS 16
#define EK_CUDA_COLUMNS(size, lane)                                                                \
    (EK_CUDA_WIDE(size) > 16 / (int)(lane) ? 16 / (int)(lane) : EK_CUDA_WIDE(size))

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
    int32_t group;     /* rows: threads of a row, a power of two up to 32 */
    int32_t across;    /* columns: threads side by side, */
    int32_t lanes;     /* and threads for the lanes of each; powers of two */
    int32_t packed;    /* 1 if neighbours may be loaded (and stored) at once */
    int32_t form;      /* rows: of the kernel's ways to go about it */
    int32_t tile;      /* rows of a block that stages them */
    int64_t slots;     /* groups that a row of several chunks has, */
    uint32_t *tickets; /* and (optional) counters to join their results by */
    const void *y;     /* a second input, if the operation has one, with its own steps */
    int64_t y_step, outer_y, inner_y;
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

/* The same with a second input. */
typedef struct ek_cuda_row_pairs {
    ek_cuda_rows rows;
    const void *y;
    int64_t kept_y[EK_MAX_NDIM], row_y[EK_MAX_NDIM];
} ek_cuda_row_pairs;

#endif
