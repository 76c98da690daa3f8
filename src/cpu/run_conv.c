/* A convolution's steps beside its products, on the CPU. */
#include "backend.h"
#include "conv.h"
#include "conv_body.h"
#include "cpu/record.h"
#include "cpu/run_gemm.h"
#include "cpu/threads.h"
#include "cpu/workspace.h"
#include "integer.h"

enum {
    /* What is unfolded at a time and its product's operands stay in the second-level caches; sums
     * of filters' gradients want more. */
    TILE_BYTES = 1 << 20,
    FILTERS_TILE_BYTES = 16 << 20,
    THREAD_ELEMENTS = 1 << 15 /* that pay for another thread */
};

/* Moves of a pair of dtypes: an element filter's line of places, a line of a pack, one of an
 * unpack. */
#define EK_CONV_MOVES(name, From, To, load, store)                                                 \
    static void unfold_line_##name(const ek_unfold *u, const void *plane, int64_t ky, int64_t kx,  \
                                   void *line)                                                     \
    {                                                                                              \
        To *to = line;                                                                             \
        for (int64_t i = 0; i < u->count;) {                                                       \
            int64_t row = (u->first + i) / u->width, column = (u->first + i) % u->width;           \
            int64_t end = ek_smaller(u->count, i + u->width - column);                             \
            int64_t y = ek_unfold_at(u, 0, row, ky);                                               \
            const From *from = (const From *)plane + y * u->step[2];                               \
            for (; i < end; i++, column++) {                                                       \
                int64_t x = y < 0 ? -1 : ek_unfold_at(u, 1, column, kx);                           \
                To zero = {0};                                                                     \
                to[i] = x < 0 ? zero : store(load(from[x * u->step[3]]));                          \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void pack_line_##name(int64_t n, const void *from, int64_t step, void *line)            \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            ((To *)line)[i] = store(load(((const From *)from)[i * step]));                         \
    }                                                                                              \
    static void unpack_line_##name(int64_t n, const void *line, int64_t step, void *to)            \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            ((To *)to)[i * step] = store(load(((const From *)line)[i]));                           \
    }

#define AS_IT_IS(x) (x)

EK_CONV_MOVES(16, ek_f16, ek_f16, AS_IT_IS, AS_IT_IS)
EK_CONV_MOVES(32, float, float, AS_IT_IS, AS_IT_IS)
EK_CONV_MOVES(64, double, double, AS_IT_IS, AS_IT_IS)
EK_CONV_MOVES(f16_f32, ek_f16, float, ek_load_f16, AS_IT_IS)
EK_CONV_MOVES(bf16_f32, ek_bf16, float, ek_load_bf16, AS_IT_IS)
EK_CONV_MOVES(f32_f16, float, ek_f16, AS_IT_IS, ek_store_f16)
EK_CONV_MOVES(f32_bf16, float, ek_bf16, AS_IT_IS, ek_store_bf16)

typedef struct moves {
    void (*unfold)(const ek_unfold *u, const void *plane, int64_t ky, int64_t kx, void *line);
    void (*pack)(int64_t n, const void *from, int64_t step, void *line);
    void (*unpack)(int64_t n, const void *line, int64_t step, void *to);
} moves;

#define EK_MOVES(name)                                                                             \
    {                                                                                              \
        unfold_line_##name, pack_line_##name, unpack_line_##name                                   \
    }

static moves moves_for(ek_dtype from, ek_dtype to)
{
    static const moves same[] = {EK_MOVES(16), EK_MOVES(32), EK_MOVES(64)};
    static const moves widen[] = {EK_MOVES(f16_f32), EK_MOVES(bf16_f32)};
    static const moves narrow[] = {EK_MOVES(f32_f16), EK_MOVES(f32_bf16)};
    if (from == to)
        return same[ek_dtype_size(from) / 4];
    return to == EK_F32 ? widen[from == EK_BF16] : narrow[to == EK_BF16];
}

static int threads_for(const ek_conv_backend *backend, int64_t elements)
{
    return ek_cpu_threads(ek_queue_base_of(backend->queue)->threads, elements / THREAD_ELEMENTS);
}

static ek_status unfold(const ek_conv_backend *backend, ek_dtype to, const ek_unfold *u)
{
    moves moves = moves_for(backend->dtype, to);
    int64_t taps = u->kernel[0] * u->kernel[1], lines = u->images * u->channels * taps;
    int64_t from_size = (int64_t)ek_dtype_size(backend->dtype), size = (int64_t)ek_dtype_size(to);
    int threads = threads_for(backend, lines * u->count);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t line = 0; line < lines; line++) {
        int64_t tap = line % taps, channel = line / taps % u->channels;
        int64_t image = line / taps / u->channels;
        const char *plane =
            (const char *)u->from + (image * u->step[0] + channel * u->step[1]) * from_size;
        moves.unfold(u, plane, tap / u->kernel[1], tap % u->kernel[1],
                     (char *)u->to + line * u->count * size);
    }
    return EK_OK;
}

/* Calls a move for each line of four dimensions; `strided` says which side has steps. */
static void for_lines(const ek_conv_pack *p, int64_t from_size, int64_t to_size, bool from_strided,
                      void (*move)(int64_t n, const void *from, int64_t step, void *to))
{
    const int64_t *n = p->length, *step = p->step;
    int64_t packed = 0;
    for (int64_t a = 0; a < n[0]; a++) {
        for (int64_t b = 0; b < n[1]; b++) {
            for (int64_t c = 0; c < n[2]; c++, packed += n[3]) {
                int64_t strided = a * step[0] + b * step[1] + c * step[2];
                move(n[3], (const char *)p->from + (from_strided ? strided : packed) * from_size,
                     step[3], (char *)p->to + (from_strided ? packed : strided) * to_size);
            }
        }
    }
}

static ek_status pack(const ek_conv_backend *backend, ek_dtype to, const ek_conv_pack *what)
{
    for_lines(what, (int64_t)ek_dtype_size(backend->dtype), (int64_t)ek_dtype_size(to), true,
              moves_for(backend->dtype, to).pack);
    return EK_OK;
}

static ek_status unpack(const ek_conv_backend *backend, ek_dtype from, const ek_conv_pack *what)
{
    for_lines(what, (int64_t)ek_dtype_size(from), (int64_t)ek_dtype_size(backend->dtype), false,
              moves_for(from, backend->dtype).unpack);
    return EK_OK;
}

/* Some of the sums: block by block, so that they stay in the cache. */
#define EK_CONV_JOIN(name, T)                                                                      \
    static void join_##name(const ek_conv_join *j, int64_t first, int64_t end)                     \
    {                                                                                              \
        T *total = j->total;                                                                       \
        for (int64_t i = first; i < end && !j->resume; i++)                                        \
            total[i] = 0;                                                                          \
        for (int64_t part = 0; part < j->parts; part++) {                                          \
            const T *x = (const T *)j->part + part * j->n;                                         \
            for (int64_t i = first; i < end; i++)                                                  \
                total[i] = total[i] + x[i];                                                        \
        }                                                                                          \
    }

EK_CONV_JOIN(f32, float)
EK_CONV_JOIN(f64, double)

static ek_status join(const ek_conv_backend *backend, ek_dtype dtype, const ek_conv_join *what)
{
    enum { BLOCK = 2048 };
    int64_t blocks = ek_divide_up(what->n, BLOCK);
    int threads = threads_for(backend, what->n * what->parts);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t block = 0; block < blocks; block++) {
        int64_t end = ek_smaller(what->n, (block + 1) * BLOCK);
        if (dtype == EK_F64)
            join_f64(what, block * BLOCK, end);
        else
            join_f32(what, block * BLOCK, end);
    }
    return EK_OK;
}

static ek_status run_recorded(ek_queue *queue, const void *gemm, const void *call)
{
    return ek_cpu_conv(queue, gemm, call);
}

ek_status ek_cpu_conv(ek_queue *queue, ek_gemm_fn *const *gemm, const ek_conv_call *call)
{
    if (ek_conv_empty(call))
        return EK_OK;
    if (EK_UNLIKELY(ek_recording(queue)))
        return ek_cpu_record(queue, run_recorded, gemm, call, sizeof *call);
    ek_conv_backend backend = {
        .queue = queue,
        .dtype = call->dtype,
        .gemm = gemm,
        .unfold = unfold,
        .pack = pack,
        .join = join,
        .unpack = unpack,
        .tile_bytes = call->makes == EK_CONV_FILTERS ? FILTERS_TILE_BYTES : TILE_BYTES,
    };
    /* Products have the front of the workspace. */
    ek_gemm_problem largest = ek_conv_largest(call, backend.tile_bytes);
    size_t front = ek_cpu_gemm_room(queue, &largest);
    void *memory = NULL;
    EK_TRY(ek_cpu_workspace(queue, front + (size_t)ek_conv_workspace(call, backend.tile_bytes),
                            &memory));
    return ek_conv_run(&backend, call, (char *)memory + front);
}
