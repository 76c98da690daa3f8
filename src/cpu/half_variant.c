/* Loops of half types; compiled once a variant. */
#include "cpu/half.h"
#include "cpu/variant.h"
#include "cpu/vector.h"
#include "einkorn/body.h"

/* Elements that are converted at once: few enough for the first-level cache. */
enum { BLOCK = 512 };

/* REST: before what converts the few elements that the vectors leave. The baseline has no
 * instructions for it, so there it is the vectorized loop. */
#if EK_VEC_BYTES > 16
#    define NEAREST _MM_FROUND_TO_NEAREST_INT
#    define REST EK_SCALAR
#else
#    define REST (void)0
#endif

static void widen_f16(int64_t n, const ek_f16 *from, float *to)
{
    int64_t i = 0;
#if EK_VEC_BYTES == 64
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(from + i))));
#elif EK_VEC_BYTES == 32
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(from + i))));
#endif
    for (; i < n; i++) {
        REST;
        to[i] = ek_load_f16(from[i]);
    }
}

static void narrow_f16(int64_t n, const float *from, ek_f16 *to)
{
    int64_t i = 0;
#if EK_VEC_BYTES == 64
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((void *)(to + i), _mm512_cvtps_ph(_mm512_loadu_ps(from + i), NEAREST));
#elif EK_VEC_BYTES == 32
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((void *)(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), NEAREST));
#endif
    for (; i < n; i++) {
        REST;
        to[i] = ek_store_f16(from[i]);
    }
}

static void widen_bf16(int64_t n, const ek_bf16 *from, float *to)
{
    EK_SIMD
    for (int64_t i = 0; i < n; i++)
        to[i] = ek_load_bf16(from[i]);
}

static void narrow_bf16(int64_t n, const float *from, ek_bf16 *to)
{
    EK_SIMD
    for (int64_t i = 0; i < n; i++)
        to[i] = ek_store_bf16(from[i]);
}

static bool is_half(int dtype)
{
    return dtype == EK_F16 || dtype == EK_BF16;
}

EK_NOINLINE void widen(int dtype, int64_t n, const void *from, void *to)
{
    if (dtype == EK_F16)
        widen_f16(n, from, to);
    else
        widen_bf16(n, from, to);
}

EK_NOINLINE void narrow(int dtype, int64_t n, const void *from, void *to)
{
    if (dtype == EK_F16)
        narrow_f16(n, from, to);
    else
        narrow_bf16(n, from, to);
}

/* One block: the operands begin at data. */
static void run_block(const ek_half_loop *loop, int64_t n, void *const *data,
                      const ek_scalar *params)
{
    static const int64_t step[EK_MAX_OPERANDS];
    _Alignas(64) float wide[EK_MAX_OPERANDS][BLOCK];
    void *at[EK_MAX_OPERANDS];
    for (int i = 0; i < loop->operands; i++)
        at[i] = is_half(loop->dtype[i]) ? wide[i] : data[i];
    for (int i = loop->outputs; i < loop->operands; i++) {
        if (is_half(loop->dtype[i]))
            widen(loop->dtype[i], n, data[i], wide[i]);
    }
    loop->kernel(1, n, at, step, params);
    for (int k = 0; k < loop->outputs; k++) {
        if (is_half(loop->dtype[k]))
            narrow(loop->dtype[k], n, wide[k], data[k]);
    }
}

/* A conversion from f32 or to it, where there is nothing to compute. */
static void convert(const ek_half_loop *loop, int64_t n, void *const *data)
{
    if (is_half(loop->dtype[1]))
        widen(loop->dtype[1], n, data[1], data[0]);
    else
        narrow(loop->dtype[0], n, data[1], data[0]);
}

void EK_CPU_NAME(ek_half_run)(const ek_half_loop *loop, int64_t rows, int64_t n, void *const *data,
                              const int64_t *step, const ek_scalar *params)
{
    int64_t size[EK_MAX_OPERANDS];
    for (int i = 0; i < loop->operands; i++)
        size[i] = (int64_t)ek_dtype_size((ek_dtype)loop->dtype[i]);
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t done = 0; done < n; done += BLOCK) {
            int64_t count = n - done < BLOCK ? n - done : BLOCK;
            void *at[EK_MAX_OPERANDS];
            for (int i = 0; i < loop->operands; i++)
                at[i] = (char *)data[i] + (row * step[i] + done) * size[i];
            if (loop->kernel)
                run_block(loop, count, at, params);
            else
                convert(loop, count, at);
        }
    }
}
