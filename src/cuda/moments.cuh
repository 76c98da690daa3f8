/* What kind `moments` reduces, for the kernels of reduction.cuh; the arithmetic is that of
 * src/moments.h. T has the types In, Wide (double or ek_c128) and Out and the functions load(x) and
 * store(result). */
#ifndef EK_CUDA_MOMENTS_CUH
#define EK_CUDA_MOMENTS_CUH

#include "cuda/reduction.cuh"
#include "moments.h"

/* The functions of src/moments.h by type. */
template <typename Wide> struct ek_spread;

template <> struct ek_spread<double> {
    using Part = ek_spread_f64;

    static constexpr int sums = 2;

    EK_INLINE void terms(double x, double center, double *term)
    {
        term[0] = ek_spread_f64_term0(x, center);
        term[1] = ek_spread_f64_term1(x, center);
    }
    template <typename Load> EK_INLINE double center(int n, const Load &load)
    {
        double x[EK_CENTER_MEAN];
#pragma unroll
        for (int i = 0; i < EK_CENTER_MEAN; i++)
            x[i] = i < ek_center_count(n) ? load(i) : 0;
        return ek_center_f64(n, x);
    }
    EK_INLINE Part close(int n, double center, const double *sum)
    {
        return ek_spread_f64_close(n, center, sum);
    }
    EK_INLINE Part none()
    {
        return ek_spread_f64_none();
    }
    EK_INLINE Part join(Part a, Part b)
    {
        return ek_spread_f64_join(a, b);
    }
    EK_INLINE double result(Part part, int64_t divisor)
    {
        return ek_spread_f64_result(part, divisor);
    }
};

template <> struct ek_spread<ek_c128> {
    using Part = ek_spread_c128;

    static constexpr int sums = 3;

    EK_INLINE void terms(ek_c128 x, ek_c128 center, double *term)
    {
        term[0] = ek_spread_c128_term0(x, center);
        term[1] = ek_spread_c128_term1(x, center);
        term[2] = ek_spread_c128_term2(x, center);
    }
    template <typename Load> EK_INLINE ek_c128 center(int n, const Load &load)
    {
        return ek_body_complex_c128(
            ek_spread<double>::center(n, [&](int i) { return load(i).re; }),
            ek_spread<double>::center(n, [&](int i) { return load(i).im; }));
    }
    EK_INLINE Part close(int n, ek_c128 center, const double *sum)
    {
        return ek_spread_c128_close(n, center, sum);
    }
    EK_INLINE Part none()
    {
        return ek_spread_c128_none();
    }
    EK_INLINE Part join(Part a, Part b)
    {
        return ek_spread_c128_join(a, b);
    }
    EK_INLINE double result(Part part, int64_t divisor)
    {
        return ek_spread_c128_result(part, divisor);
    }
};

EK_INLINE double ek_square(double x, double scale)
{
    return ek_squares_f64_term0(x, scale);
}

EK_INLINE double ek_square(ek_c128 x, double scale)
{
    return ek_squares_c128_term0(x, scale);
}

/* Lanes add up some sums, side by side. */
template <typename T, int count> struct ek_moments {
    using In = typename T::In;
    using Out = typename T::Out;

    static constexpr int lane_size = sizeof(double);

    struct Acc {
        double sum[count];
    };

    EK_INLINE Acc identity()
    {
        return Acc();
    }
    EK_INLINE Acc combine(Acc a, Acc b)
    {
#pragma unroll
        for (int i = 0; i < count; i++)
            a.sum[i] += b.sum[i];
        return a;
    }
};

template <typename T> struct ek_moments_spread : ek_moments<T, ek_spread<typename T::Wide>::sums> {
    using Spread = ek_spread<typename T::Wide>;
    using In = typename T::In;
    using Acc = typename ek_moments<T, Spread::sums>::Acc;

    struct Context {
        typename T::Wide center;

        EK_INLINE Context of(const void *, int64_t)
        {
            return Context();
        }
    };

    struct Chunks {
        using In = typename T::In;
        using Acc = typename Spread::Part;
        using Out = typename T::Out;
        using Context = ek_no_context;

        EK_INLINE Acc identity()
        {
            return Spread::none();
        }
        EK_INLINE Acc combine(Acc a, Acc b)
        {
            return Spread::join(a, b);
        }
    };
    using Join = Chunks;

    template <typename Load> EK_INLINE void about(Context &context, int n, const Load &load)
    {
        context.center = Spread::center(n, [&](int i) { return T::load(load(i)); });
    }
    EK_INLINE Acc element(In x, int64_t, const Context &context)
    {
        Acc a;
        Spread::terms(T::load(x), context.center, a.sum);
        return a;
    }
    EK_INLINE typename Chunks::Acc close(Acc a, const Context &context, int n)
    {
        return Spread::close(n, context.center, a.sum);
    }
    EK_INLINE typename T::Out finish(typename Chunks::Acc part, int64_t divisor)
    {
        return T::store(Spread::result(part, divisor));
    }
};

/* Sums of squares of elements at some scales, each sum of `scales`. */
template <typename T, int scales> struct ek_moments_scales : ek_moments<T, scales> {
    using In = typename T::In;
    using Acc = typename ek_moments<T, scales>::Acc;
    using Context = ek_no_context;

    struct Chunks {
        using In = typename T::In;
        using Acc = ek_squares;
        using Out = typename T::Out;
        using Context = ek_no_context;

        EK_INLINE Acc identity()
        {
            return ek_squares_none();
        }
        EK_INLINE Acc combine(Acc a, Acc b)
        {
            return ek_squares_join(a, b);
        }
    };
    using Join = Chunks;

    template <typename Load> EK_INLINE void about(Context &, int, const Load &)
    {
    }
    EK_INLINE Acc element(In x, int64_t, Context)
    {
        Acc a;
        a.sum[0] = ek_square(T::load(x), 1);
        if (scales == 3) {
            a.sum[scales / 3] = ek_square(T::load(x), EK_SCALE_UP);
            a.sum[scales - 1] = ek_square(T::load(x), EK_SCALE_DOWN);
        }
        return a;
    }
    EK_INLINE ek_squares close(Acc a, Context, int)
    {
        double scale = scales == 1 ? 1 : ek_squares_scale(a.sum[0]);
        return ek_squares_close(scale == 1  ? a.sum[0]
                                : scale > 1 ? a.sum[scales / 3]
                                            : a.sum[scales - 1],
                                scale);
    }
    EK_INLINE typename T::Out finish(ek_squares part, int64_t divisor)
    {
        return T::store(ek_squares_result(part, divisor));
    }
};

template <typename T> using ek_moments_squares = ek_moments_scales<T, 1>;
template <typename T> using ek_moments_scaled = ek_moments_scales<T, 3>;

#endif
