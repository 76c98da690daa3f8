/* Image operations on CUDA: a thread computes an element of the output, and another one a whole
 * grid further. */
#ifndef EK_CUDA_IMAGE_CUH
#define EK_CUDA_IMAGE_CUH

#include <stdint.h>

#include "image_body.h"

#define EK_IMAGE_THREADS 256
#define EK_IMAGE_KERNEL extern "C" __global__ void __launch_bounds__(EK_IMAGE_THREADS)
#define EK_INLINE static __device__ __forceinline__

template <typename View, typename T>
EK_INLINE View ek_image_view(const ek_image_call &call, int k, const int64_t *plane)
{
    return View{(const T *)call.data[k] + plane[k], call.row[k], call.column[k]};
}

template <typename T>
EK_INLINE T &ek_image_place(const ek_image_call &call, const int64_t *plane, int64_t row,
                            int64_t column)
{
    return ((T *)call.data[0])[plane[0] + row * call.row[0] + column * call.column[0]];
}

/* Calls element(plane, row, column) for the thread's elements: plane[k] is where the plane begins
 * in operand k. Index is of a type that counts all elements. */
template <typename Index, typename Element>
EK_INLINE void ek_image_counted(const ek_image_call &call, Element element)
{
    const Index width = (Index)call.width, height = (Index)call.height;
    const Index count = (Index)call.planes * height * width;
    const Index all = (Index)gridDim.x * EK_IMAGE_THREADS;
    for (Index i = (Index)blockIdx.x * EK_IMAGE_THREADS + threadIdx.x; i < count; i += all) {
        Index line = i / width, plane = line / height;
        int64_t begin[EK_IMAGE_OPERANDS] = {};
        for (int d = call.ndim - 1; d >= 0; d--) {
            Index length = (Index)call.shape[d];
            Index above = d > 0 ? plane / length : 0, at = plane - above * length;
#pragma unroll
            for (int k = 0; k < EK_IMAGE_OPERANDS; k++)
                if (k < call.operands)
                    begin[k] += (int64_t)at * call.step[d][k];
            plane = above;
        }
        element(begin, (int64_t)(line % height), (int64_t)(i - line * width));
    }
}

template <typename Element>
EK_INLINE void ek_image_elements(const ek_image_call &call, Element element)
{
    /* Half of what the type holds, so that a step beyond the last element does not wrap. */
    if (call.planes * call.height * call.width <= INT32_MAX)
        ek_image_counted<uint32_t>(call, element);
    else
        ek_image_counted<uint64_t>(call, element);
}

/* The result of a window whose size is known, so that its elements are loaded together; 0: of
 * whatever size it has. */
template <typename Op, int kernel_y, int kernel_x>
EK_INLINE typename Op::Out ek_pool_window(const ek_image_call &call, const typename Op::In *x,
                                          int64_t row, int64_t column)
{
    const ek_window &window = call.window;
    const int64_t rows = kernel_y ? kernel_y : window.kernel[0];
    const int64_t columns = kernel_x ? kernel_x : window.kernel[1];
    const int64_t top = ek_window_place(&window, 0, row, 0);
    const int64_t left = ek_window_place(&window, 1, column, 0);
    typename Op::Acc a = Op::identity();
    x += top * call.row[1] + left * call.column[1];
    if constexpr (kernel_y > 0) {
        bool inside = top >= 0 && left >= 0 &&
                      top + (rows - 1) * window.dilation < window.image[0] &&
                      left + (columns - 1) * window.dilation < window.image[1];
        if (inside) {
            typename Op::In at[kernel_y][kernel_x];
#pragma unroll
            for (int ky = 0; ky < kernel_y; ky++)
#pragma unroll
                for (int kx = 0; kx < kernel_x; kx++)
                    at[ky][kx] = x[window.dilation * (ky * call.row[1] + kx * call.column[1])];
#pragma unroll
            for (int ky = 0; ky < kernel_y; ky++)
#pragma unroll
                for (int kx = 0; kx < kernel_x; kx++)
                    a = Op::take(a, at[ky][kx]);
            return Op::finish(a, rows * columns);
        }
    }
    for (int64_t ky = 0; ky < rows; ky++) {
        int64_t y = ky * window.dilation;
        if ((uint64_t)(top + y) >= (uint64_t)window.image[0])
            continue;
        for (int64_t kx = 0; kx < columns; kx++) {
            int64_t z = kx * window.dilation;
            if ((uint64_t)(left + z) < (uint64_t)window.image[1])
                a = Op::take(a, x[y * call.row[1] + z * call.column[1]]);
        }
    }
    return Op::finish(a, rows * columns);
}

template <typename Op, int kernel_y, int kernel_x>
EK_INLINE void ek_pool_windows(const ek_image_call &call)
{
    ek_image_elements(call, [&](const int64_t *plane, int64_t row, int64_t column) {
        const typename Op::In *x = (const typename Op::In *)call.data[1] + plane[1];
        ek_image_place<typename Op::Out>(call, plane, row, column) =
            ek_pool_window<Op, kernel_y, kernel_x>(call, x, row, column);
    });
}

/* The usual sizes have code of their own. */
template <typename Op> EK_INLINE void ek_pool(const ek_image_call &call)
{
    const int64_t *kernel = call.window.kernel;
    if (kernel[0] == 2 && kernel[1] == 2)
        ek_pool_windows<Op, 2, 2>(call);
    else if (kernel[0] == 3 && kernel[1] == 3)
        ek_pool_windows<Op, 3, 3>(call);
    else
        ek_pool_windows<Op, 0, 0>(call);
}

#endif
