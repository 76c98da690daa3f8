/* Filling: an elementwise operation without inputs. */
#ifndef EK_CUDA_FILL_CUH
#define EK_CUDA_FILL_CUH

#include "einkorn/dtype.h"

#include "cuda/elementwise.cuh"

template <typename T> struct ek_filled {
    T value;

    EK_MEMBER void apply(T *out) const
    {
        *out = value;
    }
};

#endif
