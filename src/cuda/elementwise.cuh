/* How elementwise kernels walk memory. Op::apply computes one element from storage to storage. */
#ifndef EK_CUDA_ELEMENTWISE_CUH
#define EK_CUDA_ELEMENTWISE_CUH

#include <stdint.h>
#include <utility>

#include "cuda/elementwise_args.h"

#define EK_KERNEL extern "C" __global__ void __launch_bounds__(EK_CUDA_THREADS)
#define EK_INLINE static __device__ __forceinline__

/* Neighbouring elements that are loaded and stored at once. */
template <typename T, int width> struct alignas(sizeof(T) * width) ek_pack {
    T at[width];
};

/* The packs of one thread, a block's width apart, so that neighbours touch neighbouring memory. */
template <typename T, int width, int packs> struct ek_packs {
    using pack = ek_pack<T, width>;

    pack at[packs];

    /* Those that end before n; the rest stays as it is. */
    __device__ __forceinline__ ek_packs(const T *from, int64_t i, int64_t n)
    {
#pragma unroll
        for (int p = 0; p < packs; p++, i += EK_CUDA_THREADS * width)
            if (i + width <= n)
                at[p] = *(const pack *)(from + i);
    }

    EK_INLINE bool fit(const T *memory)
    {
        return (uintptr_t)memory % sizeof(pack) == 0;
    }
};

EK_INLINE constexpr int ek_largest(int a)
{
    return a;
}

template <typename... Rest> EK_INLINE constexpr int ek_largest(int a, int b, Rest... rest)
{
    return ek_largest(a > b ? a : b, rest...);
}

/* x / divisor, for x below 2^31; see ek_cuda_walk. */
EK_INLINE uint32_t ek_divide(uint32_t x, uint32_t multiplier, uint32_t shift)
{
    return (__umulhi(x, multiplier) + x) >> shift;
}

template <typename Op, typename Out, typename... In> struct ek_elementwise {
    static constexpr int largest = ek_largest(sizeof(Out), sizeof(In)...);
    static constexpr int width = EK_CUDA_WIDTH(largest);
    static constexpr int packs = EK_CUDA_PACKS(largest);
    static constexpr int tile = EK_CUDA_TILE(largest);
    static constexpr int operands = 1 + sizeof...(In);

    /* A block computes one tile: by packs if every operand's memory allows it, the rest one by one.
     * All loads of a thread come before its first store: the output may be an input, so the
     * compiler could not bring them forward itself. */
    EK_INLINE void contiguous(int64_t n, Out *out, const In *...in)
    {
        int64_t first = (int64_t)blockIdx.x * tile;
        int64_t end = first + tile < n ? first + tile : n;
        if (ek_packs<Out, width, packs>::fit(out) && (ek_packs<In, width, packs>::fit(in) && ...)) {
            int64_t i = first + threadIdx.x * width;
            store(i, n, out, ek_packs<In, width, packs>(in, i, n)...);
            first = end - (end - first) % width;
        }
#pragma unroll 1
        for (int64_t i = first + threadIdx.x; i < end; i += EK_CUDA_THREADS)
            out[i] = Op::apply(in[i]...);
    }

    EK_INLINE void store(int64_t i, int64_t n, Out *out, const ek_packs<In, width, packs> &...in)
    {
#pragma unroll
        for (int p = 0; p < packs; p++, i += EK_CUDA_THREADS * width) {
            if (i + width > n)
                continue;
            ek_pack<Out, width> result;
#pragma unroll
            for (int e = 0; e < width; e++)
                result.at[e] = Op::apply(in.at[p].at[e]...);
            *(ek_pack<Out, width> *)(out + i) = result;
        }
    }

    /* Any strides: a thread finds the indices of its elements by division. */
    EK_INLINE void strided(const ek_cuda_walk &walk)
    {
        int64_t first = (int64_t)blockIdx.x * (EK_CUDA_THREADS * EK_CUDA_ITEMS) + threadIdx.x;
        if (walk.narrow)
            narrow(walk, (uint32_t)first);
        else
            wide(walk, first);
    }

    /* Elements past the end repeat the last one and are not stored, so that all loads are
     * unconditional and under way together. */
    EK_INLINE void narrow(const ek_cuda_walk &walk, uint32_t first)
    {
        uint32_t size = (uint32_t)walk.size, index[EK_CUDA_ITEMS];
        int64_t offset[EK_CUDA_ITEMS][operands] = {};
        Out result[EK_CUDA_ITEMS];
#pragma unroll
        for (int item = 0; item < EK_CUDA_ITEMS; item++)
            index[item] = min(first + item * EK_CUDA_THREADS, size - 1);
#pragma unroll 1
        for (int d = walk.ndim - 1; d >= 0; d--) {
#pragma unroll
            for (int item = 0; item < EK_CUDA_ITEMS; item++) {
                uint32_t above = ek_divide(index[item], walk.multiplier[d], walk.shift[d]);
                step(walk, d, index[item] - above * (uint32_t)walk.shape[d], offset[item]);
                index[item] = above;
            }
        }
#pragma unroll
        for (int item = 0; item < EK_CUDA_ITEMS; item++)
            result[item] = compute(walk, offset[item], std::index_sequence_for<In...>());
#pragma unroll
        for (int item = 0; item < EK_CUDA_ITEMS; item++)
            if (first + item * EK_CUDA_THREADS < size)
                ((Out *)walk.data[0])[offset[item][0]] = result[item];
    }

    EK_INLINE void wide(const ek_cuda_walk &walk, int64_t i)
    {
#pragma unroll 1
        for (int item = 0; item < EK_CUDA_ITEMS && i < walk.size; item++, i += EK_CUDA_THREADS) {
            int64_t index = i, offset[operands] = {};
#pragma unroll 1
            for (int d = walk.ndim - 1; d >= 0; d--) {
                int64_t above = index / walk.shape[d];
                step(walk, d, index - above * walk.shape[d], offset);
                index = above;
            }
            ((Out *)walk.data[0])[offset[0]] =
                compute(walk, offset, std::index_sequence_for<In...>());
        }
    }

    EK_INLINE void step(const ek_cuda_walk &walk, int d, int64_t at, int64_t (&offset)[operands])
    {
#pragma unroll
        for (int k = 0; k < operands; k++)
            offset[k] += at * walk.stride[d][k];
    }

    template <size_t... k>
    EK_INLINE Out compute(const ek_cuda_walk &walk, const int64_t (&offset)[operands],
                          std::index_sequence<k...>)
    {
        return Op::apply(((const In *)walk.data[k + 1])[offset[k + 1]]...);
    }
};

#endif
