/* What the host and the matrix product's kernels agree on; read by C and by CUDA C. */
#ifndef EK_CUDA_GEMM_ARGS_H
#define EK_CUDA_GEMM_ARGS_H

#include <stdint.h>

typedef struct ek_cuda_gemm_matrix {
    void *data;
    int64_t row, column, batch; /* steps in elements */
    int32_t conjugate;
    int32_t aligned; /* all that lies together starts at multiples of 16 bytes */
} ek_cuda_gemm_matrix;

/* A kernel's parameter. */
typedef struct ek_cuda_gemm_args {
    ek_cuda_gemm_matrix a, b, c; /* op(A), op(B), C */
    int64_t m, n, k, batch;
    int64_t tiles_m, tiles_n;   /* of the kernel's size, to cover C */
    uint64_t alpha[2], beta[2]; /* of the type results are finished in */
    int32_t reads_c;
} ek_cuda_gemm_args;

/* The shape of a kernel: a block computes tile_m by tile_n elements of C with warps_m by warps_n
 * warps. `stages` slices of A and B, `depth` numbers of k each, are in shared memory; what a thread
 * multiplies is read from there `ahead` - 1 steps before. */
typedef struct ek_cuda_gemm_shape {
    int32_t tile_m, tile_n, warps_m, warps_n, depth, stages, ahead;
} ek_cuda_gemm_shape;

/* The shapes there are, by the bytes of a number that is summed. NARROW are operands of one or two
 * bytes, which pass through registers on their way. The smaller ones are for products that would
 * leave multiprocessors without work, TINY for those whose time is that of one element's chain. */
#define EK_GEMM_LARGE_4 128, 128, 4, 2, 16, 3, 2
#define EK_GEMM_MEDIUM_4 64, 64, 2, 2, 16, 4, 2
#define EK_GEMM_SMALL_4 32, 32, 2, 1, 32, 4, 2
#define EK_GEMM_TINY_4 8, 16, 1, 1, 64, 4, 8

#define EK_GEMM_LARGE_NARROW 128, 128, 4, 2, 8, 3, 2
#define EK_GEMM_SMALL_NARROW 32, 32, 2, 1, 16, 4, 4

#define EK_GEMM_LARGE_8 64, 64, 2, 2, 8, 4, 2
#define EK_GEMM_SMALL_8 32, 32, 2, 1, 16, 4, 2

#define EK_GEMM_LARGE_16 64, 64, 4, 2, 8, 3, 2
#define EK_GEMM_SMALL_16 32, 32, 2, 1, 8, 4, 2

/* The same for float64 on tensor cores. */
#define EK_GEMM_LARGE_MMA 128, 128, 2, 4, 16, 3, 2
#define EK_GEMM_MEDIUM_MMA 64, 64, 2, 2, 16, 4, 2
#define EK_GEMM_SMALL_MMA 32, 32, 2, 2, 32, 4, 2
#define EK_GEMM_TINY_MMA 16, 32, 1, 4, 32, 4, 4

/* Numbers that lie between two rows of a slice in shared memory, given the length of a row and the
 * bytes of a number: the padding spreads a column of the slice over the banks. */
#define EK_GEMM_PITCH(length, size) ((length) + ((size) == 16 ? 2 : 4))

/* Numbers of a slice of an operand in shared memory. Slices of rows of k hold `length` rows of
 * `depth`, the others `depth` rows of `length`. */
#define EK_GEMM_SLICE(length, depth, size, rows_of_k)                                              \
    ((rows_of_k) ? (length)*EK_GEMM_PITCH(depth, size) : (depth)*EK_GEMM_PITCH(length, size))

/* Bytes of dynamic shared memory of a kernel, given the bytes of a number, which slices are of rows
 * of k, and the shape. */
#define EK_GEMM_SHARED(size, a_by_row, b_by_row, ...)                                              \
    EK_GEMM_SHARED_(size, a_by_row, b_by_row, __VA_ARGS__)
#define EK_GEMM_SHARED_(size, a_by_row, b_by_row, tile_m, tile_n, warps_m, warps_n, depth, stages, \
                        ahead)                                                                     \
    ((stages) * (size) *                                                                           \
     (EK_GEMM_SLICE(tile_m, depth, size, a_by_row) +                                               \
      EK_GEMM_SLICE(tile_n, depth, size, b_by_row)))

/* Threads of a block of that shape. */
#define EK_GEMM_THREADS(...) EK_GEMM_THREADS_(__VA_ARGS__)
#define EK_GEMM_THREADS_(tile_m, tile_n, warps_m, warps_n, depth, stages, ahead)                   \
    (32 * (warps_m) * (warps_n))

#endif
