/* A convolution's steps beside its products, on CUDA. Loop i has the kernels KERNELS * i + UNFOLD
 * and so on, which cuda/conv.cuh describes. */
#include "conv.h"
#include "cuda/cublas.h"
#include "cuda/launch.h"
#include "cuda/queue.h"
#include "integer.h"
#include "program.h"

enum { UNFOLD, PACK, JOIN, UNPACK, KERNELS };

enum {
    THREADS = 256,
    /* What is unfolded at a time passes to the product through the second-level cache; sums of
     * filters' gradients want blocks for all multiprocessors. */
    TILE_BYTES = 24 << 20,
    FILTERS_TILE_BYTES = 256 << 20,
};

/* The loops are those of the floating dtypes, in order. */
static int32_t loop_of(ek_dtype dtype)
{
    return (int32_t)dtype - EK_F16;
}

static ek_status launch(const ek_conv_backend *backend, int32_t loop, int32_t kernel,
                        int64_t blocks, int64_t planes, const void *what)
{
    const int64_t most_x = INT32_MAX, most_y = 65535;
    if (blocks == 0 || planes == 0)
        return EK_OK;
    if (blocks > most_x)
        return ek_fail(EK_UNSUPPORTED, "convolution: %lld blocks are more than a GPU has",
                       (long long)blocks);
    ek_grid grid = {
        {(uint32_t)blocks, (uint32_t)ek_smaller(planes, most_y), 1}, {THREADS, 1, 1}, 0};
    void *params[] = {(void *)what};
    return ek_cuda_launch(backend->queue, backend->kernels, loop * KERNELS + kernel, &grid, params);
}

static ek_status unfold(const ek_conv_backend *backend, ek_dtype to, const ek_unfold *u)
{
    (void)to;
    return launch(backend, loop_of(backend->dtype), UNFOLD, ek_divide_up(u->count, THREADS),
                  u->images * u->channels, u);
}

/* Blocks for so many elements; threads go on from there. */
static int64_t blocks_for(const int64_t *length)
{
    enum { MOST = 1 << 16 };
    return ek_smaller(ek_divide_up(length[0] * length[1] * length[2] * length[3], THREADS), MOST);
}

static ek_status pack(const ek_conv_backend *backend, ek_dtype to, const ek_conv_pack *what)
{
    (void)to;
    return launch(backend, loop_of(backend->dtype), PACK, blocks_for(what->length), 1, what);
}

static ek_status join(const ek_conv_backend *backend, ek_dtype dtype, const ek_conv_join *what)
{
    (void)dtype;
    return launch(backend, loop_of(backend->dtype), JOIN, ek_divide_up(what->n, THREADS), 1, what);
}

static ek_status unpack(const ek_conv_backend *backend, ek_dtype from, const ek_conv_pack *what)
{
    (void)from;
    return launch(backend, loop_of(backend->dtype), UNPACK, blocks_for(what->length), 1, what);
}

/* A GPU ends its context over an address that is not a multiple of its element. */
static ek_status check_addresses(const ek_cuda_kernels *kernels, const ek_conv_call *call)
{
    size_t size = ek_dtype_size(call->dtype);
    for (int k = 0; k < EK_CONV_ARRAYS; k++) {
        if ((uintptr_t)call->data[k] % size != 0)
            return ek_fail(EK_INVALID_ARGUMENT,
                           "ek_%s: an array is at %p: must be a multiple of %d", kernels->op,
                           call->data[k], (int)size);
    }
    return EK_OK;
}

ek_status ek_cuda_conv(ek_queue *queue, const ek_cuda_kernels *kernels, ek_gemm_fn *const *gemm,
                       const ek_conv_call *call)
{
    if (ek_conv_empty(call))
        return EK_OK;
    EK_TRY(check_addresses(kernels, call));
    ek_conv_backend backend = {
        .queue = queue,
        .dtype = call->dtype,
        .gemm = gemm,
        .kernels = kernels,
        .unfold = unfold,
        .pack = pack,
        .join = join,
        .unpack = unpack,
        .tile_bytes = call->makes == EK_CONV_FILTERS ? FILTERS_TILE_BYTES : TILE_BYTES,
    };
    /* In a program cuBLAS works in the front of the workspace. */
    size_t front = ek_recording(queue) ? EK_CUBLAS_WORKSPACE : 0;
    size_t bytes = front + (size_t)ek_conv_workspace(call, backend.tile_bytes);
    void *memory = NULL;
    EK_TRY(ek_cuda_workspace(queue, bytes, &memory));
    return ek_recorded(queue, ek_conv_run(&backend, call, (char *)memory + front));
}
