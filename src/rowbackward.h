/* Backward operations of rows: sums over the rows of several inputs, then a result for each
 * element. */
#ifndef EK_ROWBACKWARD_H
#define EK_ROWBACKWARD_H

#include "kind.h"
#include "layout.h"
#include "params.h"

enum { EK_ROWBACKWARD_OPERANDS = 5 };

/* Computes a row: data[] are the output's and the inputs' first elements, step[] from one element
 * to the next. The CPU kernel of every loop. */
typedef void ek_rowbackward_fn(int64_t n, void *const *data, const int64_t *step,
                               const ek_scalar *params);

/* The work of one call. */
typedef struct ek_rowbackward_work {
    int32_t operands; /* the output, then the inputs */
    int32_t ndim;     /* of the rows; none if there is one row */
    int64_t rows, n;  /* rows, and elements of each */
    void *data[EK_ROWBACKWARD_OPERANDS];
    int64_t step[EK_ROWBACKWARD_OPERANDS]; /* along a row, in elements */
    int64_t shape[EK_MAX_NDIM];
    int64_t stride[EK_MAX_NDIM][EK_ROWBACKWARD_OPERANDS];
    uint8_t bytes; /* of an element */
    ek_scalar params[EK_MAX_PARAMS];
} ek_rowbackward_work;

extern const ek_kind ek_kind_rowbackward;

/* The array call. `params` are as an array call has them, the axis last. */
ek_status ek_rowbackward_array(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                               const ek_scalar *params, ek_array *const *out);

/* A typed call of that name: rows of n elements one after the other. data[] are the output and the
 * inputs; of an input whose bit is set in `shared` there is one row for all. `params` are the
 * loop's. */
ek_status ek_rowbackward_typed(ek_queue *queue, const char *call, const ek_op_info *op,
                               int32_t loop, int64_t rows, int64_t n, void *const *data,
                               unsigned shared, const ek_scalar *params);

/* The backends' parts of it, for work that has elements. */
ek_status ek_cpu_rowbackward(ek_queue *queue, ek_rowbackward_fn *const *kernel,
                             const ek_rowbackward_work *work);
#if EK_HAVE_CUDA
struct ek_cuda_kernels;
ek_status ek_cuda_rowbackward(ek_queue *queue, const struct ek_cuda_kernels *kernels,
                              const ek_op_info *op, int32_t loop, const ek_rowbackward_work *work);
#endif

#endif
