/* A convolution's steps beside its products, on CUDA: a thread has a place, or an element. */
#ifndef EK_CUDA_CONV_CUH
#define EK_CUDA_CONV_CUH

#include <stdint.h>

#include "conv_body.h"

#define EK_CONV_THREADS 256
#define EK_CONV_KERNEL extern "C" __global__ void __launch_bounds__(EK_CONV_THREADS)
#define EK_INLINE static __device__ __forceinline__

/* A thread's place, for every channel that is the block's: what each element of a filter meets. */
template <typename Move> EK_INLINE void ek_conv_unfold(const ek_unfold &u)
{
    using From = typename Move::From;
    using To = typename Move::To;
    int64_t place = (int64_t)blockIdx.x * EK_CONV_THREADS + threadIdx.x;
    if (place >= u.count)
        return;
    int64_t row = (u.first + place) / u.width, column = (u.first + place) - row * u.width;
    int64_t taps = u.kernel[0] * u.kernel[1];
    for (int64_t plane = blockIdx.y; plane < u.images * u.channels; plane += gridDim.y) {
        int64_t image = plane / u.channels, channel = plane - image * u.channels;
        const From *from = (const From *)u.from + image * u.step[0] + channel * u.step[1];
        To *to = (To *)u.to + plane * taps * u.count + place;
        for (int64_t ky = 0; ky < u.kernel[0]; ky++) {
            int64_t y = ek_unfold_at(&u, 0, row, ky);
            for (int64_t kx = 0; kx < u.kernel[1]; kx++, to += u.count) {
                int64_t x = y < 0 ? -1 : ek_unfold_at(&u, 1, column, kx);
                *to = x < 0 ? To{} : Move::move(from[y * u.step[2] + x * u.step[3]]);
            }
        }
    }
}

/* The thread's elements of four dimensions; `from_strided` says which side has steps. */
template <typename Move, bool from_strided> EK_INLINE void ek_conv_pack_all(const ek_conv_pack &p)
{
    const int64_t *n = p.length;
    int64_t count = n[0] * n[1] * n[2] * n[3], all = (int64_t)gridDim.x * EK_CONV_THREADS;
    for (int64_t i = (int64_t)blockIdx.x * EK_CONV_THREADS + threadIdx.x; i < count; i += all) {
        int64_t rest = i, strided = 0;
#pragma unroll
        for (int d = 3; d >= 0; d--) {
            int64_t above = rest / n[d];
            strided += (rest - above * n[d]) * p.step[d];
            rest = above;
        }
        ((typename Move::To *)p.to)[from_strided ? i : strided] =
            Move::move(((const typename Move::From *)p.from)[from_strided ? strided : i]);
    }
}

template <typename T> EK_INLINE void ek_conv_join_all(const ek_conv_join &j)
{
    int64_t i = (int64_t)blockIdx.x * EK_CONV_THREADS + threadIdx.x;
    if (i >= j.n)
        return;
    T sum = j.resume ? ((T *)j.total)[i] : T(0);
    for (int64_t part = 0; part < j.parts; part++)
        sum = sum + ((const T *)j.part)[part * j.n + i];
    ((T *)j.total)[i] = sum;
}

#endif
