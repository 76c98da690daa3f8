/* What the host and the kernels of row operations agree on; read by C and by CUDA C. */
#ifndef EK_CUDA_ROWWISE_ARGS_H
#define EK_CUDA_ROWWISE_ARGS_H

#include "cuda/rows_args.h"

/* Elements that a thread holds: of a short row, and of any other. */
#define EK_CUDA_FEW_SLOTS 4
#define EK_CUDA_SHORT_SLOTS 16
#define EK_CUDA_SLOTS 32

/* Short rows, up to EK_CUDA_SHORT_ROW elements, come and go through shared memory, in tiles of at
 * most EK_CUDA_TILE elements. Between rows it leaves room, so that threads find their elements in
 * different banks: fewer than EK_CUDA_TILE_GAPS elements in all. */
#define EK_CUDA_SHORT_ROW 128
#define EK_CUDA_TILE 4096
#define EK_CUDA_TILE_GAPS 512

/* A warp keeps rows of up to EK_CUDA_WARP_ROW elements; with less registers, and more warps under
 * way, those of up to EK_CUDA_SMALL_WARP_ROW. */
#define EK_CUDA_SMALL_WARP_ROW 256
#define EK_CUDA_WARP_ROW 1024

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

/* Rows in a plane. Beside what rows_args.h says: `group` threads have a short row, `across` columns
 * lie side by side and `lanes` threads share the lanes of a block's column. */
typedef struct ek_cuda_plane_rows {
    ek_cuda_plane plane;
    ek_cuda_row_numbers numbers;
    ek_cuda_affine affine;
    int32_t cluster; /* blocks of a row, or of a tile of columns */
    int32_t tile;    /* short rows of a block */
    int32_t stride;  /* from one short row to the next in shared memory */
    int32_t full;    /* 1 if no chunk of a long row, and no block of them, is shorter than others */
} ek_cuda_plane_rows;

/* Rows of any layout. */
typedef struct ek_cuda_any_rows {
    ek_cuda_rows rows;
    ek_cuda_row_numbers numbers;
    ek_cuda_affine affine;
} ek_cuda_any_rows;

#endif
