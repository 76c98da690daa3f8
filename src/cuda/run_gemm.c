#include "cuda/run_gemm.h"

#include <math.h>
#include <string.h>

#include "integer.h"

/* True if 16 bytes can be moved at once wherever elements lie together: in a row or in a column. */
static bool is_aligned(const ek_gemm_matrix *x, int64_t size)
{
    const int64_t whole = 16;
    int64_t ld = x->column == 1 ? x->row : x->column;
    return (x->column == 1 || x->row == 1) && (uintptr_t)x->data % whole == 0 &&
           ld * size % whole == 0 && x->batch * size % whole == 0;
}

static ek_cuda_gemm_matrix matrix(const ek_gemm_matrix *x, int64_t size)
{
    ek_cuda_gemm_matrix made = {
        x->data, x->row, x->column, x->batch, x->conjugate, is_aligned(x, size),
    };
    return made;
}

static ek_status check_address(const char *call, const char *name, const void *data, uint8_t align)
{
    if ((uintptr_t)data % align != 0)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is at %p: must be a multiple of %d", call, name,
                       data, align);
    return EK_OK;
}

static double tiles(const ek_gemm_problem *problem, const ek_cuda_gemm_shape *shape)
{
    return (double)ek_divide_up(problem->m, shape->tile_m) *
           (double)ek_divide_up(problem->n, shape->tile_n) * (double)problem->batch;
}

/* About how many cycles a kernel takes for each k. A multiprocessor's four schedulers share the
 * warps of its blocks, but blocks of one warp get in each other's way; for a k a warp takes as many
 * cycles as a thread has elements, a quarter more for reading what it multiplies, and ten. A block
 * alone waits a fifth of its time. (Fitted to an H200: from 8 by 16 to 128 by 128 elements it is
 * right within a fourth.) */
static double cost(const ek_gemm_problem *problem, const ek_cuda_gemm_shape *shape,
                   int32_t multiprocessors)
{
    double warps = (double)shape->warps_m * shape->warps_n;
    double elements = (double)shape->tile_m * shape->tile_n / (32 * warps);
    double warp = 1.25 * elements + 10;
    double blocks = ceil(tiles(problem, shape) / multiprocessors);
    return warp * fmax(1.2 * ceil(warps / 4), blocks * fmax(warps, 2) / 4);
}

static bool takes(int8_t by_row, int64_t k_step)
{
    return by_row < 0 || by_row == (k_step == 1);
}

/* The fastest of the kernels that take the problem; the first, thus the larger, of equals. */
static int32_t choose(ek_queue *queue, const ek_cuda_gemm_choice *choice,
                      const ek_gemm_problem *problem)
{
    int32_t multiprocessors = ek_cuda_multiprocessors(queue);
    bool has_mma = EK_HAVE_SM_90 && ek_cuda_capability(queue) == 90 && choice->choice[0].mma;
    double least = INFINITY;
    int32_t best = 0;
    for (int32_t i = 0; i < choice->count; i++) {
        const ek_cuda_gemm_kernel *kernel = &choice->choice[i];
        if (kernel->mma != has_mma || !takes(kernel->a_by_row, problem->a.column) ||
            !takes(kernel->b_by_row, problem->b.row))
            continue;
        double cycles = cost(problem, &kernel->shape, multiprocessors);
        if (cycles < least) {
            least = cycles;
            best = i;
        }
    }
    return best;
}

/* Bytes of shared memory: of the ring's stages those that the problem gets to. Where k is short
 * that leaves room for more blocks at a time, which is what batches of small products need. */
static uint32_t shared_bytes(int32_t all_stages, const ek_cuda_gemm_shape *shape, int64_t k)
{
    int64_t stages = k / shape->depth + 1;
    return (uint32_t)(all_stages / shape->stages *
                      (stages < shape->stages ? (int32_t)stages : shape->stages));
}

ek_status ek_cuda_gemm(ek_queue *queue, const char *call, const ek_cuda_gemm_choice *choice,
                       const ek_gemm_problem *problem)
{
    /* What CUDA allows; kernels loop over the rest. */
    const int64_t most_x = INT32_MAX, most_y = 65535;
    if (ek_gemm_empty(problem))
        return EK_OK;
    EK_TRY(check_address(call, "c", problem->c.data, choice->align));
    if (problem->reads_ab) {
        EK_TRY(check_address(call, "a", problem->a.data, choice->align));
        EK_TRY(check_address(call, "b", problem->b.data, choice->align));
    }
    int32_t best = choose(queue, choice, problem), index = choice->first + best;
    const ek_cuda_gemm_shape *shape = &choice->choice[best].shape;
    int64_t size = (int64_t)ek_dtype_size(problem->dtype);
    ek_cuda_gemm_args args = {
        .a = matrix(&problem->a, size),
        .b = matrix(&problem->b, size),
        .c = matrix(&problem->c, size),
        .m = problem->m,
        .n = problem->n,
        .k = problem->reads_ab ? problem->k : 0,
        .batch = problem->batch,
        .tiles_m = ek_divide_up(problem->m, shape->tile_m),
        .tiles_n = ek_divide_up(problem->n, shape->tile_n),
        .reads_c = problem->reads_c,
    };
    /* C is written in groups along its rows only. */
    args.c.aligned &= problem->c.column == 1;
    memcpy(args.alpha, &problem->alpha, sizeof args.alpha);
    memcpy(args.beta, &problem->beta, sizeof args.beta);
    int64_t x = args.tiles_m * args.tiles_n, y = problem->batch;
    ek_grid grid = {{(uint32_t)(x < most_x ? x : most_x), (uint32_t)(y < most_y ? y : most_y), 1},
                    {32 * (uint32_t)(shape->warps_m * shape->warps_n), 1, 1},
                    shared_bytes(choice->kernels->shared[index], shape, args.k)};
    void *params[] = {&args};
    return ek_cuda_launch(queue, choice->kernels, index, &grid, params);
}
