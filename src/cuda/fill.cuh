/* Storing one value in every element. */
#ifndef EK_CUDA_FILL_CUH
#define EK_CUDA_FILL_CUH

#include "cuda/elementwise.cuh"

/* A block fills one tile, by packs if the memory allows it. */
template <typename T> EK_INLINE void ek_fill_contiguous(int64_t n, T *out, T value)
{
    constexpr int width = EK_CUDA_WIDTH(sizeof(T));
    constexpr int tile = EK_CUDA_TILE(sizeof(T));
    int64_t first = (int64_t)blockIdx.x * tile;
    int64_t end = first + tile < n ? first + tile : n;
    if (ek_packs<T, width, 1>::fit(out)) {
        ek_pack<T, width> pack;
#pragma unroll
        for (int e = 0; e < width; e++)
            pack.at[e] = value;
        for (int64_t i = first + threadIdx.x * width; i + width <= end;
             i += EK_CUDA_THREADS * width)
            *(ek_pack<T, width> *)(out + i) = pack;
        first = end - (end - first) % width;
    }
    for (int64_t i = first + threadIdx.x; i < end; i += EK_CUDA_THREADS)
        out[i] = value;
}

template <typename T> EK_INLINE void ek_fill_strided(const ek_cuda_walk &walk, T value)
{
    int64_t index = (int64_t)blockIdx.x * EK_CUDA_THREADS + threadIdx.x, offset = 0;
    if (index >= walk.size)
        return;
    for (int d = walk.ndim - 1; d >= 0; d--) {
        int64_t above = index / walk.shape[d];
        offset += (index - above * walk.shape[d]) * walk.stride[d][0];
        index = above;
    }
    ((T *)walk.data[0])[offset] = value;
}

#endif
