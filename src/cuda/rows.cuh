/* How kernels walk rows, and how lanes are folded. The order is that of src/lanes.h; two mappings
 * of lanes to threads give it, each with the loads that suit the memory. */
#ifndef EK_CUDA_ROWS_CUH
#define EK_CUDA_ROWS_CUH

#include <stdint.h>
#include <string.h>

#include "cuda/rows_args.h"
#include "lanes.h"

#define EK_ROWS_KERNEL extern "C" __global__ void __launch_bounds__(EK_CUDA_ROWS_THREADS)
#define EK_INLINE static __device__ __forceinline__

EK_INLINE int64_t ek_smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A value of the thread whose number differs in the bits of `mask`; all threads of the warp take
 * part. */
template <typename T> EK_INLINE T ek_shuffle_xor(T value, int mask)
{
    uint32_t words[(sizeof(T) + 3) / 4] = {};
    memcpy(words, &value, sizeof value);
#pragma unroll
    for (int i = 0; i < (int)((sizeof(T) + 3) / 4); i++)
        words[i] = __shfl_xor_sync(0xffffffffu, words[i], mask);
    memcpy(&value, words, sizeof value);
    return value;
}

/* The value of a thread of the warp; all of its threads take part. */
template <typename T> EK_INLINE T ek_shuffle_from(T value, int lane)
{
    uint32_t words[(sizeof(T) + 3) / 4] = {};
    memcpy(words, &value, sizeof value);
#pragma unroll
    for (int i = 0; i < (int)((sizeof(T) + 3) / 4); i++)
        words[i] = __shfl_sync(0xffffffffu, words[i], lane);
    memcpy(&value, words, sizeof value);
    return value;
}

/* Folds the lanes of a group's threads, one each. The first thread has the result; where the order
 * of combine's arguments does not matter, all of them have it. */
template <typename Op> EK_INLINE typename Op::Acc ek_fold_group(typename Op::Acc lane, int width)
{
    for (int half = width / 2; half > 0; half /= 2)
        lane = Op::combine(lane, ek_shuffle_xor(lane, half));
    return lane;
}

constexpr int ek_pack_alignment(int bytes)
{
    return bytes < 16 ? bytes : 16;
}

/* Neighbouring elements, loaded and stored at once. */
template <typename T, int count> struct alignas(ek_pack_alignment(sizeof(T) * count)) ek_row_pack {
    T at[count];
};

/* What packs are loaded in. */
template <int bytes> struct ek_pack_word {
    using type = uint4;
};
template <> struct ek_pack_word<4> {
    using type = uint32_t;
};
template <> struct ek_pack_word<8> {
    using type = uint2;
};

/* A pack that is loaded, or stored, for the last time in a while: what the caches drop first. */
template <typename Pack> EK_INLINE Pack ek_load_passing(const void *at)
{
    using Word = typename ek_pack_word<sizeof(Pack)>::type;
    Word words[sizeof(Pack) / sizeof(Word)];
    Pack pack;
#pragma unroll
    for (int i = 0; i < (int)(sizeof(Pack) / sizeof(Word)); i++)
        words[i] = __ldcs((const Word *)at + i);
    memcpy(&pack, words, sizeof pack);
    return pack;
}

template <typename Pack> EK_INLINE void ek_store_passing(void *at, const Pack &pack)
{
    using Word = typename ek_pack_word<sizeof(Pack)>::type;
    Word words[sizeof(Pack) / sizeof(Word)];
    memcpy(words, &pack, sizeof pack);
#pragma unroll
    for (int i = 0; i < (int)(sizeof(Pack) / sizeof(Word)); i++)
        __stcs((Word *)at + i, words[i]);
}

/* Where a row begins. */
EK_INLINE int64_t ek_row_offset(int64_t row, int ndim, const int64_t *shape, const int64_t *step)
{
    int64_t offset = 0;
#pragma unroll 1
    for (int d = ndim - 1; d >= 0; d--) {
        int64_t above = row / shape[d];
        offset += (row - above * shape[d]) * step[d];
        row = above;
    }
    return offset;
}

/* Where element i of a row lies. */
EK_INLINE int64_t ek_element_offset(const ek_cuda_rows &rows, int64_t i)
{
    if (rows.row_ndim == 1)
        return i * rows.row_x[0];
    return ek_row_offset(i, rows.row_ndim, rows.row_shape, rows.row_x);
}

/* The chunk of a row that a group of threads, a power of two, works on. Groups past the last row
 * have no elements. */
struct ek_chunk {
    int64_t row, chunk, first;
    int n, thread;
    bool inside;

    __device__ __forceinline__ ek_chunk(int64_t count, int64_t chunks, int64_t elements, int group)
    {
        int shift = 31 - __clz(group);
        int64_t unit = ((int64_t)blockIdx.x * EK_CUDA_ROWS_THREADS + threadIdx.x) >> shift;
        thread = (int)threadIdx.x & (group - 1);
        row = chunks == 1 ? unit : unit / chunks;
        chunk = unit - row * chunks;
        inside = row < count;
        first = chunk * EK_CHUNK;
        n = inside ? (int)ek_smaller(elements - first, EK_CHUNK) : 0;
    }
};

#endif
