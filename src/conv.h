/* Convolutions and their gradients: products of matrices, of which one is an image unfolded. */
#ifndef EK_CONV_H
#define EK_CONV_H

#include "conv_args.h"
#include "einkorn/conv.h"
#include "gemm.h"
#include "kind.h"

extern const ek_kind ek_kind_conv;         /* y of x and filters */
extern const ek_kind ek_kind_convtrans;    /* x's gradient, of y's and the filters */
extern const ek_kind ek_kind_conv_filters; /* the filters' gradient, of x and y's */

/* The arrays of a convolution: x, filters, y. */
enum { EK_CONV_IMAGE, EK_CONV_FILTERS, EK_CONV_RESULT, EK_CONV_ARRAYS };

/* A checked call. */
typedef struct ek_conv_call {
    ek_dtype dtype;
    int32_t makes; /* which of the arrays is the output */
    int64_t batch, channels, filters, groups;
    int64_t image[2], result[2], kernel[2], stride[2], padding[2], dilation;
    void *data[EK_CONV_ARRAYS];
    int64_t step[EK_CONV_ARRAYS][4]; /* in elements */
} ek_conv_call;

/* Computes a checked call: a cell of the tables behind ek_op_info's kernels, one a dtype. */
typedef ek_status ek_conv_fn(ek_queue *queue, const ek_conv_call *call);

/* The array call. `params` are those of an array call. */
ek_status ek_conv_arrays(ek_queue *queue, const ek_op_info *op, const ek_array *a,
                         const ek_array *b, const ek_scalar *params, ek_array *out);

/* Checks the typed call of that name and describes it: a and b are the inputs in their order. */
ek_status ek_conv_typed(const char *name, const ek_op_info *op, int32_t loop,
                        const ek_conv_shape *shape, const void *a, const void *b, void *out,
                        ek_conv_call *call);

/* What a backend does for a call, in order. */
typedef struct ek_conv_backend {
    ek_queue *queue;
    ek_dtype dtype;          /* of the arrays */
    ek_gemm_fn *const *gemm; /* by dtype */
    const void *kernels;     /* the backend's own */
    /* The first of two dtypes is that of the arrays, the second one is `to`. */
    ek_status (*unfold)(const struct ek_conv_backend *backend, ek_dtype to, const ek_unfold *what);
    ek_status (*pack)(const struct ek_conv_backend *backend, ek_dtype to, const ek_conv_pack *what);
    ek_status (*join)(const struct ek_conv_backend *backend, ek_dtype dtype,
                      const ek_conv_join *what);
    ek_status (*unpack)(const struct ek_conv_backend *backend, ek_dtype from,
                        const ek_conv_pack *what);
    int64_t tile_bytes; /* of what is unfolded at a time */
} ek_conv_backend;

/* Bytes of workspace, beside that of products, that a call wants. */
int64_t ek_conv_workspace(const ek_conv_call *call, int64_t tile_bytes);

/* A product that wants as much room as any that the call makes. */
ek_gemm_problem ek_conv_largest(const ek_conv_call *call, int64_t tile_bytes);

/* Makes a checked call that has something to do, in that workspace. */
ek_status ek_conv_run(const ek_conv_backend *backend, const ek_conv_call *call, void *workspace);

/* The dtype that filters' gradients are summed in: f32 for half types. */
ek_dtype ek_conv_sums(ek_dtype dtype);

/* True if there is nothing to compute. */
bool ek_conv_empty(const ek_conv_call *call);

/* The backends' parts of it. */
ek_status ek_cpu_conv(ek_queue *queue, ek_gemm_fn *const *gemm, const ek_conv_call *call);
#if EK_HAVE_CUDA
struct ek_cuda_kernels;
ek_status ek_cuda_conv(ek_queue *queue, const struct ek_cuda_kernels *kernels,
                       ek_gemm_fn *const *gemm, const ek_conv_call *call);
#endif

#endif
