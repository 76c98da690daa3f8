#include "cuda/run_gemm.h"

#include <string.h>

#include "cuda/gemm_args.h"

static int64_t divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static ek_cuda_gemm_matrix matrix(const ek_gemm_matrix *x)
{
    ek_cuda_gemm_matrix made = {x->data, x->row, x->column, x->batch, x->conjugate};
    return made;
}

static ek_status check_address(const char *call, const char *name, const void *data, uint8_t align)
{
    if ((uintptr_t)data % align != 0)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is at %p: must be a multiple of %d", call, name,
                       data, align);
    return EK_OK;
}

/* Tiles of a side that cover a matrix, or a number above all limits. */
static int64_t tiles(const ek_gemm_problem *problem, int32_t side)
{
    return divide_up(problem->m, side) * divide_up(problem->n, side);
}

ek_status ek_cuda_gemm(ek_queue *queue, const ek_cuda_kernels *kernels,
                       const ek_cuda_gemm_kernel *kernel, const ek_gemm_problem *problem)
{
    /* What CUDA allows; kernels loop over the rest. */
    const int64_t most_x = INT32_MAX, most_y = 65535;
    if (ek_gemm_empty(problem))
        return EK_OK;
    const char *call = kernels->names[kernel->index];
    EK_TRY(check_address(call, "c", problem->c.data, kernel->align));
    if (problem->reads_ab) {
        EK_TRY(check_address(call, "a", problem->a.data, kernel->align));
        EK_TRY(check_address(call, "b", problem->b.data, kernel->align));
    }
    /* Large tiles read less, but must be enough for all multiprocessors. */
    double blocks = (double)tiles(problem, kernel->large) * (double)problem->batch;
    bool large = blocks >= 2.0 * ek_cuda_multiprocessors(queue);
    int32_t side = large ? kernel->large : kernel->small;
    ek_cuda_gemm_args args = {
        .a = matrix(&problem->a),
        .b = matrix(&problem->b),
        .c = matrix(&problem->c),
        .m = problem->m,
        .n = problem->n,
        .k = problem->reads_ab ? problem->k : 0,
        .batch = problem->batch,
        .tiles_m = divide_up(problem->m, side),
        .tiles_n = divide_up(problem->n, side),
        .reads_c = problem->reads_c,
    };
    memcpy(args.alpha, &problem->alpha, sizeof args.alpha);
    memcpy(args.beta, &problem->beta, sizeof args.beta);
    int64_t x = args.tiles_m * args.tiles_n, y = problem->batch;
    ek_grid grid = {{(uint32_t)(x < most_x ? x : most_x), (uint32_t)(y < most_y ? y : most_y), 1},
                    {EK_CUDA_GEMM_THREADS, 1, 1},
                    0};
    void *params[] = {&args};
    return ek_cuda_launch(queue, kernels, kernel->index + !large, &grid, params);
}
