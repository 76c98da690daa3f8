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
template <typename T, int count> struct ek_moments : ek_usual_lanes<false> {
    using In = typename T::In;

    static constexpr int size = sizeof(double);

    struct Lane {
        double sum[count];
    };

    EK_INLINE Lane start(int)
    {
        return Lane();
    }
    EK_INLINE Lane join(Lane a, Lane b)
    {
#pragma unroll
        for (int i = 0; i < count; i++)
            a.sum[i] += b.sum[i];
        return a;
    }
};

template <typename T> struct ek_moments_spread {
    using Spread = ek_spread<typename T::Wide>;
    using Acc = typename Spread::Part;
    using Out = typename T::Out;

    EK_INLINE Acc identity()
    {
        return Spread::none();
    }
    EK_INLINE Acc combine(Acc a, Acc b)
    {
        return Spread::join(a, b);
    }
    EK_INLINE Out finish(Acc part, int64_t divisor)
    {
        return T::store(Spread::result(part, divisor));
    }

    struct Lanes : ek_moments<T, Spread::sums> {
        using In = typename T::In;
        using Acc = typename Spread::Part;
        using Lane = typename ek_moments<T, Spread::sums>::Lane;

        struct Context {
            typename T::Wide center;

            EK_INLINE Context of(const void *, int64_t)
            {
                return Context();
            }
        };

        template <typename At> EK_INLINE void look(Context &context, int n, const At &at)
        {
            context.center = Spread::center(n, [&](int i) { return T::load(at(i)); });
        }
        EK_INLINE void take(Lane &lane, In x, int, int64_t, const Context &context)
        {
            Lane terms;
            Spread::terms(T::load(x), context.center, terms.sum);
            lane = ek_moments<T, Spread::sums>::join(lane, terms);
        }
        EK_INLINE Acc result(Lane lane, int64_t, int n, const Context &context)
        {
            return Spread::close(n, context.center, lane.sum);
        }
    };
};

/* Sums of squares of elements at some scales, each sum of `scales`. */
template <typename T, int scales> struct ek_moments_scales {
    using Acc = ek_squares;
    using Out = typename T::Out;

    EK_INLINE Acc identity()
    {
        return ek_squares_none();
    }
    EK_INLINE Acc combine(Acc a, Acc b)
    {
        return ek_squares_join(a, b);
    }
    EK_INLINE Out finish(Acc part, int64_t divisor)
    {
        return T::store(ek_squares_result(part, divisor));
    }

    struct Lanes : ek_moments<T, scales> {
        using In = typename T::In;
        using Acc = ek_squares;
        using Context = ek_no_context;
        using Lane = typename ek_moments<T, scales>::Lane;

        EK_INLINE void take(Lane &lane, In x, int, int64_t, const Context &)
        {
            lane.sum[0] += ek_square(T::load(x), 1);
            if (scales == 3) {
                lane.sum[scales / 3] += ek_square(T::load(x), EK_SCALE_UP);
                lane.sum[scales - 1] += ek_square(T::load(x), EK_SCALE_DOWN);
            }
        }
        EK_INLINE Acc result(Lane lane, int64_t, int, const Context &)
        {
            double scale = scales == 1 ? 1 : ek_squares_scale(lane.sum[0]);
            return ek_squares_close(scale == 1  ? lane.sum[0]
                                    : scale > 1 ? lane.sum[scales / 3]
                                                : lane.sum[scales - 1],
                                    scale);
        }
    };
};

template <typename T> using ek_moments_squares = ek_moments_scales<T, 1>;
template <typename T> using ek_moments_scaled = ek_moments_scales<T, 3>;

#endif
