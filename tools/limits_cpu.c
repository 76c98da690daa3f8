/* Loops that move data as fast as the processor can: up to three arrays are read, one may be
 * written, and the work in between is an exclusive or, which costs nothing beside the traffic. */
#include "limits_cpu.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "einkorn/memory.h"
#include "error.h"
#include "timing.h"

#if EK_HAVE_X86
#    include <immintrin.h>
#endif

enum { LINE = 64, ARRAYS = 4, UNROLL = 4 };

/* A cache line. Compilers cut it into the widest registers of the function it is used in. */
typedef uint64_t line __attribute__((vector_size(LINE)));

/* Arrays of `lines` lines each; array[0] is written, the others are read. */
typedef struct arrays {
    int reads;
    bool writes;
    bool stream; /* stores go around the cache */
    line *array[ARRAYS];
} arrays;

#define INLINE static inline __attribute__((always_inline))

INLINE void store(line *to, const line *value, bool stream)
{
#if EK_HAVE_X86
    if (stream) {
        const __m128i *from = (const __m128i *)value;
        for (int i = 0; i < LINE / 16; i++)
            _mm_stream_si128((__m128i *)to + i, from[i]);
        return;
    }
#endif
    *to = *value;
}

INLINE void move(const arrays *a, int reads, bool writes, bool stream, int64_t first, int64_t end)
{
    line sum[UNROLL] = {{0}};
    for (int64_t i = first; i < end; i += UNROLL) {
        for (int u = 0; u < UNROLL; u++) {
            line value = writes ? (line){0} : sum[u];
            if (reads > 0)
                value ^= a->array[1][i + u];
            if (reads > 1)
                value ^= a->array[2][i + u];
            if (reads > 2)
                value ^= a->array[3][i + u];
            if (writes)
                store(&a->array[0][i + u], &value, stream);
            else
                sum[u] = value;
        }
    }
    if (!writes) {
        /* Nobody needs the sum, but the loads must happen. */
        for (int u = 0; u < UNROLL; u++)
            __asm__ volatile("" : : "m"(sum[u]));
    }
}

/* The shape of the loop has to be a constant in it. */
INLINE void move_any(const arrays *a, int64_t first, int64_t end)
{
    if (!a->writes && a->reads == 1)
        move(a, 1, false, false, first, end);
    else if (!a->writes && a->reads == 2)
        move(a, 2, false, false, first, end);
    else if (a->reads == 0)
        a->stream ? move(a, 0, true, true, first, end) : move(a, 0, true, false, first, end);
    else if (a->reads == 1)
        a->stream ? move(a, 1, true, true, first, end) : move(a, 1, true, false, first, end);
    else if (a->reads == 2)
        a->stream ? move(a, 2, true, true, first, end) : move(a, 2, true, false, first, end);
    else
        a->stream ? move(a, 3, true, true, first, end) : move(a, 3, true, false, first, end);
}

typedef void move_fn(const arrays *a, int64_t first, int64_t end);

static void move_base(const arrays *a, int64_t first, int64_t end)
{
    move_any(a, first, end);
}

#if EK_HAVE_X86
__attribute__((target("avx2"))) static void move_avx2(const arrays *a, int64_t first, int64_t end)
{
    move_any(a, first, end);
}

__attribute__((target("avx512f"))) static void move_avx512(const arrays *a, int64_t first,
                                                           int64_t end)
{
    move_any(a, first, end);
}
#endif

static move_fn *widest(void)
{
#if EK_HAVE_X86
    if (ek_variant_available(EK_CPU_AVX512))
        return move_avx512;
    if (ek_variant_available(EK_CPU_AVX2))
        return move_avx2;
#endif
    return move_base;
}

typedef struct moving {
    arrays a;
    int64_t lines;
    int32_t threads;
    move_fn *move;
} moving;

static ek_status move_calls(void *context, int64_t calls)
{
    const moving *m = context;
    if (m->threads == 1) {
        for (int64_t i = 0; i < calls; i++)
            m->move(&m->a, 0, m->lines);
        return EK_OK;
    }
    for (int64_t i = 0; i < calls; i++) {
#pragma omp parallel num_threads(m->threads)
        {
            int64_t blocks = m->lines / UNROLL, thread = omp_get_thread_num();
            m->move(&m->a, blocks * thread / m->threads * UNROLL,
                    blocks * (thread + 1) / m->threads * UNROLL);
        }
    }
    return EK_OK;
}

static ek_status measure_moves(ek_queue *queue, moving *m, int64_t bytes, double least_ns,
                               double *gbps)
{
    /* From this many bytes written on, streaming may win; which does is measured. */
    enum { STREAM_BYTES = 1 << 20 };
    int count = m->a.reads + m->a.writes;
    for (int stream = 0; stream <= (m->a.writes && bytes / count > STREAM_BYTES); stream++) {
        timing t;
        m->a.stream = stream;
        EK_TRY(timing_measure(queue, move_calls, m, least_ns, &t));
        double rate = (double)(m->lines * LINE * count) / t.ns;
        *gbps = rate > *gbps ? rate : *gbps;
    }
    return EK_OK;
}

ek_status limits_cpu_memory(ek_queue *queue, const traffic *t, double least_ns, double *gbps)
{
    moving m = {.threads = ek_queue_threads(queue), .move = widest()};
    m.a.reads = t->reads > ARRAYS - 1 ? ARRAYS - 1 : t->reads;
    m.a.writes = t->writes;
    m.lines = t->bytes / (m.a.reads + m.a.writes) / (LINE * UNROLL) * UNROLL;
    *gbps = 0;
    if (m.lines == 0)
        return EK_OK;
    size_t bytes = (size_t)m.lines * LINE;
    ek_status status = EK_OK;
    for (int i = m.a.writes ? 0 : 1; i <= m.a.reads && status == EK_OK; i++) {
        status = ek_alloc(queue, bytes, (void **)&m.a.array[i]);
        if (status == EK_OK)
            memset(m.a.array[i], i, bytes); /* so that the pages are there */
    }
    if (status == EK_OK)
        status = measure_moves(queue, &m, t->bytes, least_ns, gbps);
    for (int i = 0; i < ARRAYS; i++)
        ek_free(queue, m.a.array[i]);
    return status;
}
