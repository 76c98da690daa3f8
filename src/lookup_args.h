/* What a lookup works on, the same for the CPU and CUDA.
 *
 * A table has `outer` times n times `inner` elements, a list of rows `outer` times m times `inner`.
 * Row j belongs to the place of the table that index j says. Taking fills the rows from the table;
 * scattering joins the rows to the table. */
#ifndef EK_LOOKUP_ARGS_H
#define EK_LOOKUP_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__CUDACC__)
#    define EK_LOOKUP_INLINE static __host__ __device__ __forceinline__
#else
#    define EK_LOOKUP_INLINE static inline
#endif

/* Operands: the output, and the inputs in their order. */
enum { EK_LOOKUP_OUT, EK_LOOKUP_X, EK_LOOKUP_INDICES, EK_LOOKUP_VALUES, EK_LOOKUP_OPERANDS };

/* What is done with an index that is not a place of the table. */
enum { EK_LOOKUP_RAISE, EK_LOOKUP_WRAP, EK_LOOKUP_CLIP };

/* The values of a target are added in chains of so many, and so are the results of the chains. */
#define EK_LOOKUP_CHAIN 32

typedef struct ek_lookup {
    int64_t outer, n, m, inner;
    /* How far apart neighbours are in each operand, in elements. */
    int64_t outer_step[EK_LOOKUP_OPERANDS], row_step[EK_LOOKUP_OPERANDS];
    int64_t inner_step[EK_LOOKUP_OPERANDS];
    void *data[EK_LOOKUP_OPERANDS];
    int32_t mode;
    bool along;         /* an index for each element of the rows, not one for each row */
    uint8_t size;       /* bytes of an element */
    uint8_t index_size; /* bytes of an index */
} ek_lookup;

/* The place that an index says in a table of n > 0 places. Where indices are refused: one that is
 * no place if it is none. */
EK_LOOKUP_INLINE int64_t ek_lookup_place(int64_t index, int64_t n, int32_t mode)
{
    if (mode == EK_LOOKUP_CLIP)
        return index < 0 ? 0 : (index < n ? index : n - 1);
    if (mode == EK_LOOKUP_WRAP && (index < 0 || index >= n)) {
        index %= n;
        return index < 0 ? index + n : index;
    }
    return index < 0 ? index + n : index;
}

/* Indices in all, in the order of their places: those of each outer part, of each row, of each
 * element of it. */
EK_LOOKUP_INLINE int64_t ek_lookup_count(const ek_lookup *call)
{
    return call->along ? call->outer * call->m * call->inner : call->m;
}

/* Where the index of a place lies, in elements. */
EK_LOOKUP_INLINE int64_t ek_lookup_at(const ek_lookup *call, int64_t place)
{
    if (!call->along)
        return place * call->row_step[EK_LOOKUP_INDICES];
    int64_t i = place % call->inner, row = place / call->inner;
    return row / call->m * call->outer_step[EK_LOOKUP_INDICES] +
           row % call->m * call->row_step[EK_LOOKUP_INDICES] +
           i * call->inner_step[EK_LOOKUP_INDICES];
}

#endif
