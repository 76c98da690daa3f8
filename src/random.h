/* Random operations: each element of the output from its own words of a seed's sequence. */
#ifndef EK_RANDOM_H
#define EK_RANDOM_H

#include "kind.h"
#include "layout.h"
#include "params.h"

/* Computes n contiguous elements, of which the first has that place in the sequence: data[] are the
 * output and the input if there is one. The CPU kernel of every random loop. */
typedef void ek_random_fn(uint64_t place, int64_t n, void *const *data, const ek_scalar *params);

/* The work of one call. The dimensions are the output's in C order, as its elements are numbered;
 * those that all operands cross in one step are merged. */
typedef struct ek_random_work {
    int32_t operands; /* the output, then the input */
    int32_t ndim;
    int64_t size; /* elements */
    void *data[2];
    int64_t shape[EK_MAX_NDIM];
    int64_t stride[EK_MAX_NDIM][2]; /* in elements */
    uint8_t bytes[2];               /* of an element */
    uint64_t place;                 /* of the first element in the sequence */
    ek_scalar params[EK_MAX_PARAMS];
} ek_random_work;

extern const ek_kind ek_kind_random;

/* Refuses the bounds `low` and `high`, an operation's first two parameters, that are not finite and
 * in order, or that the loop's integers do not reach. */
ek_status ek_random_check_bounds(const char *call, const ek_op_info *op, int32_t loop,
                                 const ek_scalar *params);

/* The array call. `params` are as an array call has them. */
ek_status ek_random_array(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                          const ek_scalar *params, ek_array *const *out);

/* A typed call whose operands ek_typed_ok has passed; `params` are the loop's. */
ek_status ek_random_typed(ek_queue *queue, const ek_op_info *op, int32_t loop, int64_t n,
                          void *const *data, const ek_scalar *params);

/* The backends' parts of it, for work that has elements. */
ek_status ek_cpu_random(ek_queue *queue, ek_random_fn *const *kernel, const ek_random_work *work);
#if EK_HAVE_CUDA
struct ek_cuda_kernels;
ek_status ek_cuda_random(ek_queue *queue, const struct ek_cuda_kernels *kernels, int32_t loop,
                         const ek_random_work *work);
#endif

#endif
