#include "cuda/run_elementwise.h"

#include <inttypes.h>
#include <string.h>

ek_status ek_cuda_refuse_address(const ek_op_info *op, const ek_cuda_kernels *kernels, int32_t loop,
                                 void *const *data, const uint8_t *align)
{
    int i = 0;
    while (i < op->inputs && (uintptr_t)data[i] % align[i] == 0)
        i++;
    return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is at %p: must be a multiple of %d",
                   kernels->names[2 * loop], i ? op->input_names[i - 1] : "out", data[i], align[i]);
}

ek_status ek_cuda_refuse_count(const ek_cuda_kernels *kernels, int32_t index, int64_t n)
{
    return ek_fail(EK_INVALID_ARGUMENT, "%s: n is %" PRId64 ": more than a launch can compute",
                   kernels->names[index], n);
}

static int64_t magnitude(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* Puts a dimension of the layout where the output's strides fall: the kernel walks the last
 * dimension fastest, so neighbouring threads then write neighbouring memory, whatever the order of
 * the array's dimensions. */
static void insert_dimension(ek_cuda_walk *walk, const ek_layout *layout, int32_t from)
{
    size_t row = sizeof walk->stride[0];
    int32_t to = walk->ndim++;
    for (; to > 0 && magnitude(walk->stride[to - 1][0]) < magnitude(layout->stride[from][0]);
         to--) {
        walk->shape[to] = walk->shape[to - 1];
        memcpy(walk->stride[to], walk->stride[to - 1], row);
    }
    walk->shape[to] = layout->shape[from];
    memcpy(walk->stride[to], layout->stride[from], row);
}

/* Merges dimensions that all operands cross in one step, which sorting may have brought together.
 */
static void merge_dimensions(ek_cuda_walk *walk, int32_t operands)
{
    int32_t last = 0;
    for (int32_t d = 1; d < walk->ndim; d++) {
        bool merges = true;
        for (int32_t k = 0; k < operands; k++)
            merges &= walk->stride[last][k] == walk->stride[d][k] * walk->shape[d];
        if (merges) {
            walk->shape[last] *= walk->shape[d];
        } else {
            last++;
            walk->shape[last] = walk->shape[d];
        }
        memcpy(walk->stride[last], walk->stride[d], sizeof walk->stride[0]);
    }
    walk->ndim = last + 1;
}

static bool is_contiguous(const ek_cuda_walk *walk, int32_t operands)
{
    bool contiguous = walk->ndim == 1;
    for (int32_t k = 0; k < operands && contiguous; k++)
        contiguous = walk->stride[0][k] == 1 || walk->size == 1;
    return contiguous;
}

/* See ek_cuda_walk for what the divisors do. */
static void set_divisors(ek_cuda_walk *walk)
{
    walk->narrow = walk->size <= INT32_MAX;
    for (int32_t d = 0; d < walk->ndim && walk->narrow; d++) {
        uint32_t shift = 0, divisor = (uint32_t)walk->shape[d];
        while (((uint64_t)1 << shift) < divisor)
            shift++;
        walk->shift[d] = shift;
        walk->multiplier[d] =
            (uint32_t)((((((uint64_t)1 << shift) - divisor) << 32) / divisor) + 1);
    }
}

ek_status ek_cuda_elementwise_layout(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t loop,
                                     const ek_layout *layout, const uint8_t *size)
{
    ek_cuda_walk walk; /* large, so only what its dimensions need is set */
    walk.size = layout->size;
    walk.ndim = 0;
    memcpy(walk.data, layout->data, sizeof walk.data);
    for (int32_t d = 0; d < layout->ndim; d++)
        insert_dimension(&walk, layout, d);
    if (walk.ndim > 0)
        merge_dimensions(&walk, layout->operands);
    if (walk.ndim == 0 || is_contiguous(&walk, layout->operands))
        return ek_cuda_elementwise_run(queue, kernels, loop, layout->operands, layout->size,
                                       layout->data, size);
    set_divisors(&walk);
    int64_t blocks = (walk.size - 1) / (EK_CUDA_THREADS * EK_CUDA_ITEMS) + 1;
    if (blocks > INT32_MAX)
        return ek_cuda_refuse_count(kernels, 2 * loop + 1, walk.size);
    ek_grid grid = {{(uint32_t)blocks, 1, 1}, {EK_CUDA_THREADS, 1, 1}, 0};
    void *params[] = {&walk};
    return ek_cuda_launch(queue, kernels, 2 * loop + 1, &grid, params);
}
