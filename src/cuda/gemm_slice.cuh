/* How the blocks of a matrix product bring their operands to shared memory.
 *
 * A slice is what a block needs of one operand for `depth` numbers of k: `length` rows of op(A), or
 * columns of op(B). Slices lie in a ring of stages; while one is multiplied, those behind it are on
 * their way. What lies beyond the matrix is not copied, and what was there before is multiplied
 * along: it reaches no element of C that is stored. */
#ifndef EK_CUDA_GEMM_SLICE_CUH
#define EK_CUDA_GEMM_SLICE_CUH

#include <stdint.h>
#include <string.h>

#include "cuda/gemm_args.h"

/* `blocks`: how many a multiprocessor must have room for. */
#define EK_GEMM_KERNEL(blocks, ...)                                                                \
    extern "C" __global__ void __launch_bounds__(EK_GEMM_THREADS(__VA_ARGS__), blocks)

#define EK_INLINE static __device__ __forceinline__
#define EK_MEMBER __device__ __forceinline__

/* Copies to shared memory without waiting; with a device too old for that, waiting. `from` and `to`
 * are multiples of `bytes`: 4, 8 or 16. */
template <int bytes> EK_INLINE void ek_copy_async(void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((uint32_t)__cvta_generic_to_shared(to)),
        "l"(from), "n"(bytes)
        : "memory");
#else
    memcpy(__builtin_assume_aligned(to, bytes), __builtin_assume_aligned(from, bytes), bytes);
#endif
}

/* Ends a group of copies. */
EK_INLINE void ek_copy_commit()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits for all groups but the last `pending`. */
template <int pending> EK_INLINE void ek_copy_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

/* An element in parts that are as large as its alignment allows. */
template <typename Stored> EK_INLINE void ek_copy_element(Stored *to, const Stored *from)
{
    constexpr int part = alignof(Stored);
#pragma unroll
    for (int i = 0; i < (int)sizeof(Stored); i += part)
        ek_copy_async<part>((char *)to + i, (const char *)from + i);
}

/* One operand of a tile: where it is, as rows of `length` to take and k to walk along. */
struct ek_operand_view {
    const void *data;
    int64_t across, along; /* steps to the next row (of op(A)) and to the next k */
    int64_t left;          /* rows of the matrix from the tile's first on */
    bool aligned;
};

/* Slices with k as rows: `length` numbers for each k lie together, whichever way they lie in
 * memory. Type::direct says that a number in shared memory looks as it does in the matrix; others
 * wait in registers between begin and end. */
template <typename Type, int length, int depth, int threads> struct ek_slice_by_k {
    using Stored = typename Type::Stored;
    using Kept = typename Type::Kept;

    static constexpr int pitch = EK_GEMM_PITCH(length, sizeof(Kept));
    static constexpr int size = EK_GEMM_SLICE(length, depth, sizeof(Kept), false);
    static constexpr int k_step = pitch, row_step = 1;
    static constexpr int count = depth * length / threads;
    /* Neighbouring threads take 32 bytes along k, what memory gives at once, or more so that all
     * have something to take. */
    static constexpr int wide = 32 / (int)sizeof(Stored) > depth ? depth : 32 / sizeof(Stored);
    static constexpr int sector = wide > threads / length ? wide : threads / length;
    /* Numbers in 16 bytes. */
    static constexpr int group = 16 / sizeof(Stored);

    static_assert(threads % length == 0 && depth % sector == 0, "threads have nothing to take");

    /* The ways: along k; across it; across it in aligned groups of 16 bytes. */
    enum Way { ALONG, ACROSS, GROUPS };

    const Stored *from;
    int64_t across, along;
    int left, k, at;
    Way way;
    bool inside;
    Kept part[Type::direct ? 1 : count];

    EK_MEMBER ek_slice_by_k(const ek_operand_view &x)
    {
        int thread = threadIdx.x, row;
        across = x.across;
        along = x.along;
        inside = x.left >= length;
        way = along == 1 ? ALONG : Type::direct && x.aligned && inside ? GROUPS : ACROSS;
        if (way == ALONG) {
            k = thread % sector;
            row = thread / sector;
        } else if (way == GROUPS) {
            k = thread / (length / group);
            row = thread % (length / group) * group;
        } else {
            k = thread / length;
            row = thread % length;
        }
        from = (const Stored *)x.data + row * across + k * along;
        left = (int)(x.left - row < length ? x.left - row : length);
        at = k * pitch + row;
    }

    template <Way way, bool all> EK_MEMBER void copy(Kept *slice, int64_t k_left)
    {
        constexpr int step = way == GROUPS ? group : 1;
#pragma unroll
        for (int l = 0; l < count / step; l++) {
            int of_k =
                way == ALONG ? sector * (l % (depth / sector)) : l * (threads * step / length);
            int row = way == ALONG ? threads / sector * (l / (depth / sector)) : 0;
            bool there = all || (row < left && k + of_k < k_left);
            const Stored *x = from + row * across + of_k * (way == ALONG ? 1 : along);
            Kept *to = slice + at + of_k * pitch + row;
            if constexpr (!Type::direct)
                part[l] = there ? Type::load(*x) : Kept{};
            else if constexpr (way == GROUPS) {
                if (there)
                    ek_copy_async<16>(to, x);
            } else if (there)
                ek_copy_element(to, x);
        }
    }

    /* Starts the copy of the next slice; `k_left` numbers of k are there. */
    EK_MEMBER void begin(Kept *slice, int64_t k_left)
    {
        bool all = inside && k_left >= depth;
        if (way == ALONG)
            all ? copy<ALONG, true>(slice, k_left) : copy<ALONG, false>(slice, k_left);
        else if (Type::direct && way == GROUPS)
            all ? copy<GROUPS, true>(slice, k_left) : copy<GROUPS, false>(slice, k_left);
        else
            all ? copy<ACROSS, true>(slice, k_left) : copy<ACROSS, false>(slice, k_left);
        from += depth * along;
    }

    /* Ends what begin left to do before the block may wait for the slice. */
    EK_MEMBER void end(Kept *slice)
    {
        if constexpr (!Type::direct) {
#pragma unroll
            for (int l = 0; l < count; l++) {
                if (way == ALONG)
                    slice[at + sector * (l % (depth / sector)) * pitch +
                          threads / sector * (l / (depth / sector))] = part[l];
                else
                    slice[at + l * (threads / length) * pitch] = part[l];
            }
        }
    }
};

/* Slices with the operand's own rows, for an operand whose k lie together: they are copied as they
 * are. */
template <typename Type, int length, int depth, int threads> struct ek_slice_by_row {
    using Stored = typename Type::Stored;
    using Kept = typename Type::Kept;

    static constexpr int pitch = EK_GEMM_PITCH(depth, sizeof(Kept));
    static constexpr int size = EK_GEMM_SLICE(length, depth, sizeof(Kept), true);
    static constexpr int k_step = 1, row_step = pitch;
    static constexpr int group = 16 / sizeof(Stored);

    static_assert(Type::direct && depth * length % (threads * group) == 0, "rows do not fit");

    const Stored *from;
    int64_t across;
    int left, k, at, per_row;
    bool inside, groups;

    EK_MEMBER ek_slice_by_row(const ek_operand_view &x)
    {
        int thread = threadIdx.x;
        across = x.across;
        inside = x.left >= length;
        /* A row's last 16 bytes may end beyond it: those of the last row, beyond memory. */
        groups = x.aligned && inside;
        per_row = groups ? depth / group : depth;
        k = thread % per_row * (groups ? group : 1);
        int row = thread / per_row;
        from = (const Stored *)x.data + row * across + k;
        left = (int)(x.left - row < length ? x.left - row : length);
        at = row * pitch + k;
    }

    template <int step, bool all> EK_MEMBER void copy(Kept *slice, int64_t k_left)
    {
        constexpr int rows = threads * step / depth;
#pragma unroll
        for (int l = 0; l < length / rows; l++) {
            Kept *to = slice + at + l * rows * pitch;
            if (all || (l * rows < left && k < k_left))
                ek_copy_async<sizeof(Stored) * step>(to, from + l * rows * across);
        }
    }

    EK_MEMBER void begin(Kept *slice, int64_t k_left)
    {
        bool all = inside && k_left >= depth;
        if (groups)
            all ? copy<group, true>(slice, k_left) : copy<group, false>(slice, k_left);
        else
            all ? copy<1, true>(slice, k_left) : copy<1, false>(slice, k_left);
        from += depth;
    }

    EK_MEMBER void end(Kept *)
    {
    }
};

/* The ring: where the slices of both operands come in, and the way through all of k. */
template <typename SliceA, typename SliceB, int depth, int stages> struct ek_slice_ring {
    using Kept = typename SliceA::Kept;

    static constexpr int stage = SliceA::size + SliceB::size;

    SliceA a;
    SliceB b;
    Kept *memory;
    int64_t to_come; /* numbers of k not yet on their way */
    int now, next;   /* stages: to multiply, to fill */

    EK_MEMBER ek_slice_ring(const ek_operand_view &x, const ek_operand_view &y, int64_t k,
                            void *shared)
        : a(x), b(y), memory((Kept *)shared), to_come(k), now(0), next(0)
    {
#pragma unroll 1
        for (int s = 0; s < stages - 1; s++) {
            begin();
            end();
        }
        ek_copy_wait<stages - 2>();
        __syncthreads();
    }

    EK_MEMBER const Kept *slice_a() const
    {
        return memory + now * stage;
    }

    EK_MEMBER const Kept *slice_b() const
    {
        return memory + now * stage + SliceA::size;
    }

    EK_MEMBER void begin()
    {
        if (to_come > 0) {
            a.begin(memory + next * stage, to_come);
            b.begin(memory + next * stage + SliceA::size, to_come);
        }
        ek_copy_commit();
    }

    EK_MEMBER void end()
    {
        if (to_come > 0) {
            a.end(memory + next * stage);
            b.end(memory + next * stage + SliceA::size);
        }
        to_come -= depth;
        next = next + 1 == stages ? 0 : next + 1;
    }

    /* To the next slice, once it has arrived and all threads are done with the last but one. */
    EK_MEMBER void advance()
    {
        ek_copy_wait<stages - 2>();
        __syncthreads();
        now = now + 1 == stages ? 0 : now + 1;
    }

    /* Before the memory is used for another tile. */
    EK_MEMBER void finish()
    {
        ek_copy_wait<0>();
        __syncthreads();
    }
};

/* Calls `compute` with every tile of every product that is this block's: its product and its place
 * among the tiles. They are walked in bands a few tiles high, so that the blocks at work at one
 * time share rows of A as well as columns of B. */
template <typename Compute>
EK_INLINE void ek_gemm_for_tiles(const ek_cuda_gemm_args &args, Compute compute)
{
    constexpr int band = 8;
    int64_t tiles = args.tiles_m * args.tiles_n;
    for (int64_t index = blockIdx.y; index < args.batch; index += gridDim.y) {
        for (int64_t at = blockIdx.x; at < tiles; at += gridDim.x) {
            int64_t first = at / (band * args.tiles_n) * band;
            int64_t rows = args.tiles_m - first < band ? args.tiles_m - first : band;
            int64_t in_band = at - first * args.tiles_n;
            compute(index, first + in_band % rows, in_band / rows);
        }
    }
}

/* The operands of the tile at (row, column) of product `index`. */
template <typename Stored>
EK_INLINE ek_operand_view ek_gemm_rows(const ek_cuda_gemm_args &args, int64_t index, int64_t row)
{
    const ek_cuda_gemm_matrix &x = args.a;
    return {(const Stored *)x.data + index * x.batch + row * x.row, x.row, x.column, args.m - row,
            x.aligned != 0};
}

template <typename Stored>
EK_INLINE ek_operand_view ek_gemm_columns(const ek_cuda_gemm_args &args, int64_t index,
                                          int64_t column)
{
    const ek_cuda_gemm_matrix &x = args.b;
    return {(const Stored *)x.data + index * x.batch + column * x.column, x.column, x.row,
            args.n - column, x.aligned != 0};
}

/* Elements of C that a thread has side by side. */
template <typename Type, int count>
EK_INLINE void ek_gemm_finish(const ek_cuda_gemm_args &args, int64_t index, int64_t row,
                              int64_t column, const typename Type::Sum *sum)
{
    using Stored = typename Type::Stored;
    struct alignas(sizeof(Stored) * count) Group {
        Stored at[count];
    };
    typename Type::Result alpha, beta;
    memcpy(&alpha, args.alpha, sizeof alpha);
    memcpy(&beta, args.beta, sizeof beta);
    if (row >= args.m)
        return;
    Stored *to = (Stored *)args.c.data + index * args.c.batch + row * args.c.row +
                 column * args.c.column;
    bool whole = args.c.aligned && column + count <= args.n;
    Group c = {};
    if (args.reads_c && whole) {
        c = *(const Group *)to;
    } else if (args.reads_c) {
#pragma unroll
        for (int j = 0; j < count; j++)
            if (column + j < args.n)
                c.at[j] = to[j * args.c.column];
    }
#pragma unroll
    for (int j = 0; j < count; j++)
        c.at[j] = Type::finish(sum[j], alpha, beta, args.reads_c ? &c.at[j] : nullptr);
    if (whole) {
        *(Group *)to = c;
        return;
    }
#pragma unroll
    for (int j = 0; j < count; j++)
        if (column + j < args.n)
            to[j * args.c.column] = c.at[j];
}

#endif
