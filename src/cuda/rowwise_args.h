/* What the host and the kernels of row operations agree on; read by C and by CUDA C. */
#ifndef EK_CUDA_ROWWISE_ARGS_H
#define EK_CUDA_ROWWISE_ARGS_H

#include "cuda/rows_args.h"

/* Elements that a thread holds: of short columns, and of other rows. */
#define EK_CUDA_SHORT_SLOTS 16
#define EK_CUDA_SLOTS 32

/* A group of threads of a warp keeps short rows, in room for a power of two elements, 4 or more:
 * rows of whole packs up to EK_CUDA_PACKED_ROW, other ones up to EK_CUDA_SPREAD_ROW. A thread has
 * EK_CUDA_PACKS packs of EK_CUDA_PACKED_ROWS rows, or EK_CUDA_SPREAD_SLOTS elements. What only
 * reads can do with fewer threads a row. */
#define EK_CUDA_PACKED_ROW(per_row) ((per_row) ? 256 : 128)
#define EK_CUDA_PACKS(room, per_row)                                                               \
    ((room) < 8 ? 1 : (room) < 16 ? 1 + ((per_row) != 0) : (per_row) ? 4 : 2)
#define EK_CUDA_PACKED_ROWS(room) ((room) == 4 ? 2 : 1)
#define EK_CUDA_SPREAD_ROW 128
#define EK_CUDA_SPREAD_SLOTS(room) ((room) < 16 ? 4 : 8)

/* A warp keeps rows of up to EK_CUDA_LONG_WARP_ROW elements; with less registers, and more warps
 * under way, those of up to the other lengths. */
#define EK_CUDA_WARP_ROW 256
#define EK_CUDA_MIDDLE_WARP_ROW 1024
#define EK_CUDA_LONG_WARP_ROW 2048

/* Longer rows: 128 threads keep a chunk, a block some chunks, a cluster of blocks the row. `size`
 * is of a number. */
#define EK_CUDA_BLOCK_CHUNKS(size) ((size) > 4 ? 2 : 4)
#define EK_CUDA_BLOCK_THREADS(size) (128 * EK_CUDA_BLOCK_CHUNKS(size))
#define EK_CUDA_CLUSTER 8

/* Columns: a block has EK_CUDA_COLUMN_THREADS, side by side as many as 16 rows of threads leave. */
#define EK_CUDA_COLUMN_THREADS 256
#define EK_CUDA_COLUMN_FOLD 16

/* What a norm multiplies and adds. */
typedef struct ek_cuda_affine {
    const void *gain, *bias; /* null: none */
    int64_t gain_step, bias_step;
    double eps;
} ek_cuda_affine;

/* Numbers of chunks and rows between kernels, [row][chunk] and [row]. */
typedef struct ek_cuda_row_numbers {
    void *firsts, *sums;   /* of chunks; null: a kernel has whole rows */
    void *levels;          /* join: room for results of chunks of chunks */
    void *centers, *rests; /* of rows */
} ek_cuda_row_numbers;

/* Rows in a plane. Beside what rows_args.h says: `across` columns lie side by side and `lanes`
 * threads share the lanes of a block's column. */
typedef struct ek_cuda_plane_rows {
    ek_cuda_plane plane;
    ek_cuda_row_numbers numbers;
    ek_cuda_affine affine;
    int32_t cluster; /* blocks of a row, or of a tile of columns */
    int32_t room;    /* short rows: for elements of a row */
    int32_t full;    /* 1 if no chunk of a long row, and no block of them, is shorter than others */
} ek_cuda_plane_rows;

/* Rows of any layout. */
typedef struct ek_cuda_any_rows {
    ek_cuda_rows rows;
    ek_cuda_row_numbers numbers;
    ek_cuda_affine affine;
} ek_cuda_any_rows;

#endif
