/* How random kernels walk memory. Op::apply makes one element of a word of random bits; it is given
 * a pointer to the input's element, if there is one, the word, and the element's place. */
#ifndef EK_CUDA_RANDOM_CUH
#define EK_CUDA_RANDOM_CUH

#include "cuda/elementwise.cuh"
#include "cuda/random_args.h"
#include "philox.h"

template <class Op> struct ek_random {
    using T = typename Op::T;
    static constexpr int per = 4 / Op::words; /* elements of a counter */
    static constexpr int width = 16 / sizeof(T), each = EK_CUDA_RANDOM_EACH(sizeof(T));

    using Pack = ek_pack<T, width>;

    /* The i-th element of a counter. */
    EK_INLINE T draw(const Op &op, const ek_philox_words &words, int i, const T *x, uint64_t place)
    {
        if constexpr (Op::words == 1)
            return op.apply(x, words.at[i], place);
        else
            return op.apply(x, (uint64_t)words.at[2 * i + 1] << 32 | words.at[2 * i], place);
    }

    /* The elements from `first` on that a thread draws at once, all of them or the last ones. */
    template <bool all>
    EK_INLINE void some(const Op &op, int64_t first, int count, uint64_t place, T *out, const T *x)
    {
        Pack in[each / width], result[each / width];
        if constexpr (Op::inputs > 0) {
#pragma unroll
            for (int k = 0; k < (all ? each / width : each); k++) {
                if constexpr (all)
                    in[k] = ((const Pack *)(x + first))[k];
                else
                    in[k / width].at[k % width] = x[first + (k < count ? k : 0)];
            }
        }
        place += (uint64_t)first;
#pragma unroll
        for (int k = 0; k < each; k += per) {
            ek_philox_words words = ek_philox_draw(op.seed, (place + k) / per, 0);
#pragma unroll
            for (int i = 0; i < per; i++) {
                int at = k + i;
                result[at / width].at[at % width] =
                    draw(op, words, i, &in[at / width].at[at % width], place + at);
            }
        }
#pragma unroll
        for (int k = 0; k < (all ? each / width : each); k++) {
            if constexpr (all)
                ek_store(out + first + k * width, result[k]);
            else if (k < count)
                out[first + k] = result[k / width].at[k % width];
        }
    }

    /* Elements from a place on that begins a counter, one after the other at boundaries of packs.
     */
    EK_INLINE void contiguous(const Op &op, int64_t n, uint64_t place, T *out, const T *x)
    {
        int64_t tile = (int64_t)blockIdx.x * EK_CUDA_RANDOM_TILE(sizeof(T));
        if (tile + EK_CUDA_RANDOM_TILE(sizeof(T)) <= n) {
#pragma unroll
            for (int round = 0; round < EK_CUDA_RANDOM_ROUNDS; round++) {
                int at = (round * EK_CUDA_THREADS + threadIdx.x) * each;
                some<true>(op, tile + at, each, place, out, x);
            }
        } else {
#pragma unroll 1
            for (int round = 0; round < EK_CUDA_RANDOM_ROUNDS; round++) {
                int64_t first = tile + (round * EK_CUDA_THREADS + threadIdx.x) * each;
                if (first < n)
                    some<false>(op, first, n - first < each ? (int)(n - first) : each, place, out,
                                x);
            }
        }
    }

    /* Elements from any place on, in any layout: a thread has those of whole counters. */
    EK_INLINE void walked(const Op &op, const ek_cuda_random_walk &walk)
    {
        uint64_t group = (uint64_t)blockIdx.x * EK_CUDA_THREADS + threadIdx.x;
        uint64_t first = (walk.place / EK_CUDA_RANDOM_GROUP + group) * EK_CUDA_RANDOM_GROUP;
#pragma unroll
        for (int k = 0; k < EK_CUDA_RANDOM_GROUP; k += per) {
            ek_philox_words words = ek_philox_draw(op.seed, (first + k) / per, 0);
#pragma unroll
            for (int i = 0; i < per; i++) {
                uint64_t index = first + k + i - walk.place;
                if (index >= (uint64_t)walk.size)
                    continue;
                int64_t offset[2] = {0, 0};
#pragma unroll 1
                for (int d = walk.ndim - 1; d >= 0; d--) {
                    uint64_t length = (uint64_t)walk.shape[d], above = d > 0 ? index / length : 0;
                    int64_t at = (int64_t)(index - above * length);
                    offset[0] += at * walk.stride[d][0];
                    offset[1] += at * walk.stride[d][1];
                    index = above;
                }
                const T *x = Op::inputs > 0 ? (const T *)walk.data[1] + offset[1] : nullptr;
                ((T *)walk.data[0])[offset[0]] = draw(op, words, i, x, first + k + i);
            }
        }
    }
};

#endif
