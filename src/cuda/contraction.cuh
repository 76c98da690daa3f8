/* Reductions of pairs of elements of two arrays: those of cuda/reduction.cuh, with In a pair. */
#ifndef EK_CUDA_CONTRACTION_CUH
#define EK_CUDA_CONTRACTION_CUH

#include "cuda/reduction.cuh"

template <typename T> struct ek_pair {
    T x, y;
};

template <typename T> struct ek_two_arrays {
    using In = ek_pair<T>;

    static constexpr bool staged = false;

    template <int count>
    EK_INLINE ek_row_pack<In, count> together(const ek_row_pack<T, count> &x,
                                              const ek_row_pack<T, count> &y)
    {
        ek_row_pack<In, count> pack;
#pragma unroll
        for (int i = 0; i < count; i++)
            pack.at[i] = {x.at[i], y.at[i]};
        return pack;
    }

    /* Elements of x one after the other; packs need those of y to be so, too. */
    template <int count> struct Elements {
        const T *x, *y;
        int64_t y_step;

        __device__ __forceinline__ ek_row_pack<In, count> pack(int i) const
        {
            if constexpr (count == 1)
                return {{at(i)}};
            else
                return together<count>(*(const ek_row_pack<T, count> *)(x + i),
                                       *(const ek_row_pack<T, count> *)(y + i));
        }
        __device__ __forceinline__ In at(int i) const
        {
            return {x[i], y[i * y_step]};
        }
    };

    template <int count>
    EK_INLINE Elements<count> row(const ek_cuda_plane &plane, int64_t row, int64_t first)
    {
        int64_t outer = plane.outer == 1 ? 0 : row / plane.inner, inner = row - outer * plane.inner;
        return {(const T *)plane.x + outer * plane.outer_x + inner * plane.inner_x + first,
                (const T *)plane.y + outer * plane.outer_y + inner * plane.inner_y +
                    first * plane.y_step,
                plane.y_step};
    }

    struct Strided {
        const T *x, *y;
        const ek_cuda_row_pairs &pairs;
        int64_t first;

        /* `rows` are part of ek_cuda_row_pairs. */
        __device__ __forceinline__ Strided(const ek_cuda_rows &rows, const ek_chunk &at)
            : x((const T *)rows.x), y(nullptr), pairs((const ek_cuda_row_pairs &)rows),
              first(at.first)
        {
            y = (const T *)pairs.y;
            if (at.inside) {
                x += ek_row_offset(at.row, rows.kept_ndim, rows.kept_shape, rows.kept_x);
                y += ek_row_offset(at.row, rows.kept_ndim, rows.kept_shape, pairs.kept_y);
            }
        }
        __device__ __forceinline__ In at(int i) const
        {
            const ek_cuda_rows &rows = pairs.rows;
            return {x[ek_row_offset(first + i, rows.row_ndim, rows.row_shape, rows.row_x)],
                    y[ek_row_offset(first + i, rows.row_ndim, rows.row_shape, pairs.row_y)]};
        }
        __device__ __forceinline__ ek_row_pack<In, 1> pack(int i) const
        {
            ek_row_pack<In, 1> pack = {{at(i)}};
            return pack;
        }
    };

    /* Rows whose elements of x lie side by side; those of y do, or are the same for all rows, where
     * packs are loaded. */
    struct Columns {
        const T *x, *y;
        int64_t x_step, y_step, y_over;

        __device__ __forceinline__ Columns(const ek_cuda_plane &plane, int64_t outer,
                                           int64_t column, int64_t first)
            : x((const T *)plane.x + outer * plane.outer_x + first * plane.step + column),
              y((const T *)plane.y + outer * plane.outer_y + first * plane.y_step +
                column * plane.inner_y),
              x_step(plane.step), y_step(plane.y_step), y_over(plane.inner_y)
        {
        }
        __device__ __forceinline__ In at(int i, int64_t over) const
        {
            return {x[i * x_step + over], y[i * y_step + over * y_over]};
        }
        template <int count> __device__ __forceinline__ ek_row_pack<In, count> pack(int i) const
        {
            using Pack = ek_row_pack<T, count>;
            Pack of_y;
            if (y_over == 0) {
                T same = y[i * y_step];
#pragma unroll
                for (int v = 0; v < count; v++)
                    of_y.at[v] = same;
            } else {
                of_y = *(const Pack *)(y + i * y_step);
            }
            return together<count>(*(const Pack *)(x + i * x_step), of_y);
        }
    };
};

#endif
