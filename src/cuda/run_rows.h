/* Running reductions and their like on CUDA. Loop i of a reduction or an argreduction has the
 * kernels 4 i + EK_CUDA_ROWS_KERNEL and so on, which cuda/reduction.cuh describes. */
#ifndef EK_CUDA_RUN_ROWS_H
#define EK_CUDA_RUN_ROWS_H

#include "cuda/launch.h"
#include "cuda/rows_args.h"
#include "rows.h"

enum {
    EK_CUDA_ROWS_KERNEL,
    EK_CUDA_COLUMNS_KERNEL,
    EK_CUDA_STRIDED_KERNEL,
    EK_CUDA_JOIN_KERNEL,
    EK_CUDA_REDUCTION_KERNELS
};

/* A reduction to launch: its kernels by index, bytes of an element. */
typedef struct ek_cuda_reduction {
    const ek_cuda_kernels *kernels;
    int32_t kernel[EK_CUDA_REDUCTION_KERNELS]; /* no kernel for rows: -1; strided does it */
    int64_t in_size;
    ek_cuda_sizes sizes;
    const void *context; /* (optional) a number for each row, for the operation */
    char *parts;         /* room for ek_cuda_parts_bytes */
} ek_cuda_reduction;

/* The rows as a plane: true if they are one. With few or no dimensions missing ones have length 1.
 */
bool ek_cuda_plane_of(const ek_rows *rows, ek_cuda_plane *plane);

/* Rows of any layout, without what differs between their kernels. */
void ek_cuda_rows_of(const ek_rows *rows, ek_cuda_rows *args);

/* Chunks of n elements. */
int64_t ek_cuda_chunks(int64_t n);

/* Workspace for the results of chunks, of `size` bytes each; 0 if rows have one chunk. */
size_t ek_cuda_parts_bytes(const ek_rows *rows, int64_t size);

/* Reduces each row to a result in rows->out. */
ek_status ek_cuda_reduce_rows(ek_queue *queue, const ek_cuda_reduction *reduction,
                              const ek_rows *rows);

/* A launch of blocks that have so many units of work each; fails if they are too many. */
ek_status ek_cuda_launch_units(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t index,
                               int64_t units, int64_t per_block, int32_t threads, void *args);

/* The same with blocks in clusters, which have the units. */
ek_status ek_cuda_launch_unit_clusters(ek_queue *queue, const ek_cuda_kernels *kernels,
                                       int32_t index, int64_t units, int64_t per_cluster,
                                       int32_t cluster, int32_t threads, void *args);

/* Threads of a group that reduces n elements: a power of two up to 32. */
int32_t ek_cuda_group(int64_t n);

/* Threads side by side for `length` columns, each with `columns` of them. */
int32_t ek_cuda_across(int64_t length, int32_t columns, int32_t most);

/* Refuses memory that is not aligned for its elements: a GPU ends the context's life over it. */
ek_status ek_cuda_check_address(const ek_op_info *op, int32_t loop, const ek_rows *rows);

#endif
