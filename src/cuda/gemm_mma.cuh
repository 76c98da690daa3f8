/* Exact float64 products on the tensor cores of compute capability 9.0.
 *
 * Their instruction for 16 by 8 elements and 4 numbers of k adds to each element by four fused
 * multiply-adds in the order of k, each rounded to nearest even, denormals kept: just the chain.
 * NVIDIA does not promise that. It was found by comparing with fma, for 670 million elements of all
 * kinds of values, and tests/gemm_paths.c compares again wherever it runs; on other devices the host
 * chooses the kernels of cuda/gemm.cuh.
 *
 * A step beyond k multiplies -0 by +0: their product, -0, changes no sum, not even -0. */
#ifndef EK_CUDA_GEMM_MMA_CUH
#define EK_CUDA_GEMM_MMA_CUH

#include "cuda/gemm_slice.cuh"

/* sum += a * b. A thread has rows lane / 4 and lane / 4 + 8 and number lane % 4 of k of a, that k
 * and column lane / 4 of b, and columns 2 * (lane % 4) and the next of both rows of the sums. */
EK_INLINE void ek_mma_16_8_4(double (&sum)[2][2], const double (&a)[2], double b)
{
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "
                 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+d"(sum[0][0]), "+d"(sum[0][1]), "+d"(sum[1][0]), "+d"(sum[1][1])
                 : "d"(a[0]), "d"(a[1]), "d"(b));
}

/* a_by_row, b_by_row: the operand's k lie together in memory, so its slices are of its own rows. */
template <typename Type, bool a_by_row, bool b_by_row, int tile_m, int tile_n, int warps_m,
          int warps_n, int depth, int stages, int ahead>
struct ek_gemm_mma {
    static constexpr int threads = 32 * warps_m * warps_n;
    /* What a warp computes, in instructions. */
    static constexpr int warp_m = tile_m / warps_m, warp_n = tile_n / warps_n;
    static constexpr int rows = warp_m / 16, columns = warp_n / 8, steps = depth / 4;

    template <bool by_row, int length> struct Choose {
        using Slice = ek_slice_by_k<Type, length, depth, threads>;
    };
    template <int length> struct Choose<true, length> {
        using Slice = ek_slice_by_row<Type, length, depth, threads>;
    };
    using SliceA = typename Choose<a_by_row, tile_m>::Slice;
    using SliceB = typename Choose<b_by_row, tile_n>::Slice;
    using Ring = ek_slice_ring<SliceA, SliceB, depth, stages>;

    static_assert(steps % ahead == 0, "a shape that does not fit");

    const ek_cuda_gemm_args &args;
    int y, x, lane; /* the warp's first row and column of the tile */
    double sum[rows][columns][2][2];
    double left[ahead][rows][2], right[ahead][columns];

    EK_MEMBER ek_gemm_mma(const ek_cuda_gemm_args &args) : args(args), sum()
    {
        int warp = threadIdx.x / 32;
        lane = threadIdx.x % 32;
        y = warp / warps_n * warp_m;
        x = warp % warps_n * warp_n;
    }

    EK_MEMBER void take(const Ring &ring, int step, int to)
    {
        const double *a = ring.slice_a() + (4 * step + lane % 4) * SliceA::k_step +
                          (y + lane / 4) * SliceA::row_step;
        const double *b = ring.slice_b() + (4 * step + lane % 4) * SliceB::k_step +
                          (x + lane / 4) * SliceB::row_step;
#pragma unroll
        for (int i = 0; i < rows; i++) {
            left[to][i][0] = a[16 * i * SliceA::row_step];
            left[to][i][1] = a[(16 * i + 8) * SliceA::row_step];
        }
#pragma unroll
        for (int j = 0; j < columns; j++)
            right[to][j] = b[8 * j * SliceB::row_step];
    }

    EK_MEMBER void multiply(int from)
    {
#pragma unroll
        for (int i = 0; i < rows; i++) {
#pragma unroll
            for (int l = 0; l < columns; l++) {
                int j = i % 2 ? columns - 1 - l : l;
                ek_mma_16_8_4(sum[i][j], left[from][i], right[from][j]);
            }
        }
    }

    /* Where the thread's k of the last step is not there: -0 and +0. */
    EK_MEMBER void blank(int k, int64_t to_do)
    {
        if (k + lane % 4 < to_do)
            return;
#pragma unroll
        for (int i = 0; i < rows; i++)
            left[0][i][0] = left[0][i][1] = -0.0;
#pragma unroll
        for (int j = 0; j < columns; j++)
            right[0][j] = 0.0;
    }

    EK_MEMBER void multiply_all(Ring &ring)
    {
#pragma unroll
        for (int step = 0; step < ahead - 1; step++)
            take(ring, step, step);
        int64_t to_do = args.k;
        for (; to_do >= depth; to_do -= depth) {
            ring.begin();
#pragma unroll
            for (int step = 0; step < steps; step++) {
                if (step == steps - ahead + 1) {
                    ring.end();
                    ring.advance();
                }
                take(ring, (step + ahead - 1) % steps, (step + ahead - 1) % ahead);
                multiply(step % ahead);
            }
        }
        for (int step = 0; 4 * step < (int)to_do; step++) {
            take(ring, step, 0);
            blank(4 * step, to_do);
            multiply(0);
        }
    }

    EK_INLINE void tile(const ek_cuda_gemm_args &args, int64_t index, int64_t i, int64_t j,
                        void *shared)
    {
        int64_t row = i * tile_m, column = j * tile_n;
        ek_gemm_mma self(args);
        Ring ring(ek_gemm_rows<double>(args, index, row),
                  ek_gemm_columns<double>(args, index, column), args.k, shared);
        self.multiply_all(ring);
        row += self.y + self.lane / 4;
        column += self.x + 2 * (self.lane % 4);
#pragma unroll
        for (int i = 0; i < rows; i++) {
#pragma unroll
            for (int j = 0; j < columns; j++) {
                ek_gemm_finish<Type, 2>(args, index, row + 16 * i, column + 8 * j,
                                        self.sum[i][j][0]);
                ek_gemm_finish<Type, 2>(args, index, row + 16 * i + 8, column + 8 * j,
                                        self.sum[i][j][1]);
            }
        }
        ring.finish();
    }

    EK_INLINE void run(const ek_cuda_gemm_args &args)
    {
        /* No code for other devices, which never get here. */
#if __CUDA_ARCH__ == 900
        extern __shared__ __align__(16) char shared[];
        ek_gemm_for_tiles(args, [&](int64_t index, int64_t i, int64_t j) {
            tile(args, index, i, j, shared);
        });
#endif
    }
};

#endif
