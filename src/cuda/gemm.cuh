/* Exact matrix products on CUDA.
 *
 * A block computes a tile of C from slices of A and B in shared memory (cuda/gemm_slice.cuh). A
 * warp is 4 rows of 8 threads; each thread keeps its sums in registers for all of k and adds to
 * each in the order of k: see docs/arithmetic.md.
 *
 * Type says what an element is in memory, in shared memory, and as a number in sums:
 *     Stored, Kept, Sum, Result                 types
 *     direct                                    Kept is Stored
 *     Kept load(Stored x)                       only where not direct
 *     Sum take(Kept x, bool conjugate)
 *     Sum step(Sum a, Sum b, Sum sum)           the chain's fma
 *     Stored finish(Sum, Result alpha, Result beta, const Stored *c)   c is null if not to be read
 */
#ifndef EK_CUDA_GEMM_CUH
#define EK_CUDA_GEMM_CUH

#include "cuda/gemm_slice.cuh"

template <typename Type, int tile_m, int tile_n, int warps_m, int warps_n, int depth, int stages,
          int ahead>
struct ek_gemm {
    using Kept = typename Type::Kept;
    using Sum = typename Type::Sum;

    static constexpr int threads = 32 * warps_m * warps_n;
    /* A thread's rows and columns of the tile. */
    static constexpr int rows = tile_m / warps_m / 4, columns = tile_n / warps_n / 8;
    /* Of these, so many lie together as 16 bytes hold; the next follow behind those of the
     * neighbours. */
    static constexpr int wide = 16 / sizeof(Sum);
    static constexpr int high = rows < wide ? rows : wide;
    static constexpr int width = columns < wide ? columns : wide;

    using SliceA = ek_slice_by_k<Type, tile_m, depth, threads>;
    using SliceB = ek_slice_by_k<Type, tile_n, depth, threads>;
    using Ring = ek_slice_ring<SliceA, SliceB, depth, stages>;

    static_assert(sizeof(Kept) == sizeof(Sum) && depth % ahead == 0, "a shape that does not fit");

    template <int count> struct Part {
        alignas(sizeof(Kept) * count) Kept at[count];
    };

    /* Row i of a thread, from the thread's first one; likewise columns. */
    EK_INLINE int row_of(int i)
    {
        return i / high * high * 4 + i % high;
    }

    EK_INLINE int column_of(int j)
    {
        return j / width * width * 8 + j % width;
    }

    const ek_cuda_gemm_args &args;
    int y, x; /* the thread's first row and column of the tile */
    Sum sum[rows][columns];
    Sum left[ahead][rows], right[ahead][columns];

    EK_MEMBER ek_gemm(const ek_cuda_gemm_args &args) : args(args), sum()
    {
        int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        y = warp / warps_n * (4 * rows) + lane / 8 * high;
        x = warp % warps_n * (8 * columns) + lane % 8 * width;
    }

    /* Takes what step k of the ring's slice multiplies. */
    EK_MEMBER void take(const Ring &ring, int k, int to)
    {
        const Kept *a = ring.slice_a() + k * SliceA::pitch + y;
        const Kept *b = ring.slice_b() + k * SliceB::pitch + x;
#pragma unroll
        for (int i = 0; i < rows; i += high) {
            Part<high> part = *(const Part<high> *)(a + row_of(i));
#pragma unroll
            for (int l = 0; l < high; l++)
                left[to][i + l] = Type::take(part.at[l], args.a.conjugate);
        }
#pragma unroll
        for (int j = 0; j < columns; j += width) {
            Part<width> part = *(const Part<width> *)(b + column_of(j));
#pragma unroll
            for (int l = 0; l < width; l++)
                right[to][j + l] = Type::take(part.at[l], args.b.conjugate);
        }
    }

    /* Back and forth, so that neighbouring steps share an operand. */
    EK_MEMBER void multiply(int from)
    {
#pragma unroll
        for (int i = 0; i < rows; i++) {
#pragma unroll
            for (int l = 0; l < columns; l++) {
                int j = i % 2 ? columns - 1 - l : l;
                sum[i][j] = Type::step(left[from][i], right[from][j], sum[i][j]);
            }
        }
    }

    EK_MEMBER void multiply_all(Ring &ring)
    {
#pragma unroll
        for (int k = 0; k < ahead - 1; k++)
            take(ring, k, k);
        int64_t to_do = args.k;
        for (; to_do >= depth; to_do -= depth) {
            ring.begin();
#pragma unroll
            for (int k = 0; k < depth; k++) {
                if (k == depth - ahead + 1) {
                    ring.end();
                    ring.advance();
                }
                take(ring, (k + ahead - 1) % depth, (k + ahead - 1) % ahead);
                multiply(k % ahead);
            }
        }
        /* No step for the k that are not there: adding their zeros would change -0. */
#pragma unroll 2
        for (int k = 0; k < (int)to_do; k++) {
            take(ring, k, 0);
            multiply(0);
        }
    }

    EK_INLINE void tile(const ek_cuda_gemm_args &args, int64_t index, int64_t i, int64_t j,
                        void *shared)
    {
        int64_t row = i * tile_m, column = j * tile_n;
        ek_gemm self(args);
        Ring ring(ek_gemm_rows<typename Type::Stored>(args, index, row),
                  ek_gemm_columns<typename Type::Stored>(args, index, column), args.k, shared);
        self.multiply_all(ring);
#pragma unroll
        for (int i = 0; i < rows; i++) {
#pragma unroll
            for (int j = 0; j < columns; j += width)
                ek_gemm_finish<Type, width>(args, index, row + self.y + row_of(i),
                                            column + self.x + column_of(j), &self.sum[i][j]);
        }
        ring.finish();
    }

    EK_INLINE void run(const ek_cuda_gemm_args &args)
    {
        extern __shared__ __align__(16) char shared[];
        ek_gemm_for_tiles(
            args, [&](int64_t index, int64_t i, int64_t j) { tile(args, index, i, j, shared); });
    }
};

#endif
