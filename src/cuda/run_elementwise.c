/* How a layout becomes a walk: which dimension lines run along, which operands are turned, and what
 * part of it a block computes. */
#include "cuda/run_elementwise.h"

#include <inttypes.h>
#include <string.h>

#include "cuda/divide.h"
#include "cuda/move_args.h"
#include "integer.h"
#include "typed.h"

ek_status ek_cuda_refuse_address(const ek_op_info *op, int32_t loop, void *const *data,
                                 const uint8_t *align)
{
    char call[EK_TYPED_CALL_TEXT];
    int i = 0;
    while ((uintptr_t)data[i] % align[i] == 0)
        i++;
    return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is at %p: must be a multiple of %d",
                   ek_typed_call(op, loop, call), ek_operand_name(op, i), data[i], align[i]);
}

ek_status ek_cuda_refuse_count(const ek_cuda_kernels *kernels, int64_t n)
{
    return ek_fail(EK_INVALID_ARGUMENT, "ek_%s: n is %" PRId64 ": more than a launch can compute",
                   kernels->op, n);
}

/* The most lines of a launch, and elements of a folded line: indices of 31 bits with some room. */
#define MOST_LINES (INT64_C(1) << 30)

enum {
    LEAST_TURNED = 8,  /* elements that make it worth to load along them */
    MOST_FOLDED = 128, /* packs up to which lines are so short that their ends cost too much */
    SHORT_BYTES = 4096 /* of a line in a tile */
};

/* A layout with its dimensions in order: the last one is the lines. */
typedef struct plan {
    int32_t outputs, operands;
    int32_t ndim; /* of the lines */
    int64_t length;
    int64_t tiles, bands; /* tiles of a line, and what blocks compute of lines */
    int64_t shape[EK_MAX_NDIM];
    const uint8_t *size;
    int log_width;
    ek_cuda_walk walk; /* large, so only what its dimensions need is set */
} plan;

static int ceil_log2(int64_t value)
{
    return value > 1 ? 64 - __builtin_clzll((unsigned long long)value - 1) : 0;
}

static int64_t ceil_shift(int64_t value, int shift)
{
    return (value + ((int64_t)1 << shift) - 1) >> shift;
}

static void copy_dimension(plan *plan, int32_t to, int32_t from)
{
    plan->shape[to] = plan->shape[from];
    memcpy(plan->walk.stride[to], plan->walk.stride[from], sizeof plan->walk.stride[0]);
}

static void remove_dimension(plan *plan, int32_t d)
{
    plan->ndim--;
    for (; d < plan->ndim; d++)
        copy_dimension(plan, d, d + 1);
}

/* A leading dimension of one element. */
static void add_dimension(plan *plan)
{
    for (int32_t d = plan->ndim++; d > 0; d--)
        copy_dimension(plan, d, d - 1);
    plan->shape[0] = 1;
    memset(plan->walk.stride[0], 0, sizeof plan->walk.stride[0]);
}

/* Moves every operand to index `at` of dimension d. */
static void advance(plan *plan, int32_t d, int64_t at)
{
    for (int32_t k = 0; k < plan->operands; k++)
        plan->walk.data[k] =
            (char *)plan->walk.data[k] + at * plan->walk.stride[d][k] * plan->size[k];
}

/* A layout's dimensions come in the order of the output's memory, so its last one is the lines. */
static void open_plan(plan *plan, const ek_layout *layout, const uint8_t *size)
{
    plan->outputs = layout->outputs;
    plan->operands = layout->operands;
    plan->size = size;
    plan->log_width = ceil_log2(EK_CUDA_WIDTH(ek_cuda_largest(layout->operands, size)));
    plan->ndim = layout->ndim;
    plan->length = 1;
    memcpy(plan->walk.data, layout->data, sizeof plan->walk.data);
    memcpy(plan->shape, layout->shape, (size_t)layout->ndim * sizeof plan->shape[0]);
    memcpy(plan->walk.stride, layout->stride, (size_t)layout->ndim * sizeof plan->walk.stride[0]);
    if (plan->ndim > 0) {
        plan->length = plan->shape[--plan->ndim];
        memcpy(plan->walk.step, plan->walk.stride[plan->ndim], sizeof plan->walk.step);
    }
    for (int32_t k = 0; k < plan->operands && plan->length == 1; k++)
        plan->walk.step[k] = 1;
}

static bool is_contiguous(const plan *plan)
{
    bool contiguous = plan->ndim == 0;
    for (int32_t k = 0; k < plan->operands; k++)
        contiguous &= plan->walk.step[k] == 1;
    return contiguous &&
           ek_cuda_packs_fit(plan->operands, plan->walk.data, plan->size, 1 << plan->log_width);
}

/* True if all operands that move along lines are at boundaries of packs together. */
static bool is_aligned(const plan *plan)
{
    const ek_cuda_walk *walk = &plan->walk;
    uintptr_t width = (uintptr_t)1 << plan->log_width, apart = walk->step[0] != 1;
    uintptr_t first = (uintptr_t)walk->data[0] / plan->size[0];
    for (int32_t k = 0; k < plan->operands; k++) {
        if (walk->step[k] == 0)
            continue;
        apart |= walk->step[k] != 1 || (uintptr_t)walk->data[k] % plan->size[k] != 0;
        apart |= ((uintptr_t)walk->data[k] / plan->size[k] - first) & (width - 1);
        for (int32_t d = 0; d < plan->ndim; d++)
            apart |= (uintptr_t)(walk->stride[d][k] - walk->stride[d][0]) & (width - 1);
    }
    return apart == 0;
}

/* The dimension across the lines, longer than a few elements, along which a far-stepping input has
 * its smallest steps; -1 if there is none. */
static int32_t find_turned(const plan *plan)
{
    int32_t found = -1;
    for (int32_t k = plan->outputs; k < plan->operands && found < 0; k++) {
        int64_t smallest = ek_magnitude(plan->walk.step[k]);
        for (int32_t d = 0; d < plan->ndim && smallest > 1; d++) {
            int64_t stride = ek_magnitude(plan->walk.stride[d][k]);
            if (stride > 0 && stride < smallest && plan->shape[d] >= LEAST_TURNED) {
                smallest = stride;
                found = d;
            }
        }
    }
    return found;
}

/* Cuts the work into tiles of 2^log_x elements along 2^log_y lines. */
static void set_tiles(plan *plan, int log_x, int log_y)
{
    int64_t lines = 1;
    for (int32_t d = 0; d < plan->ndim; d++)
        lines *= plan->shape[d];
    plan->tiles = ceil_shift(plan->length, log_x);
    plan->bands = ceil_shift(lines, log_y);
    plan->walk.lines = (uint32_t)lines;
}

/* Turns what steps far along the lines, if tiles of lines and dimension d would be mostly full. */
static bool set_turned(plan *plan, int32_t d, int log_packs)
{
    ek_cuda_walk *walk = &plan->walk;
    int64_t lines = plan->shape[d], stride[EK_MAX_OPERANDS];
    int log_tile = EK_CUDA_LOG_THREADS + log_packs, across = (log_tile - plan->log_width) / 2;
    int least = log_packs > plan->log_width ? log_packs - plan->log_width : 0;
    int most = log_tile - plan->log_width;
    most = most < EK_CUDA_LOG_THREADS ? most : EK_CUDA_LOG_THREADS;
    /* A narrow side lets the tile reach further along the other one. */
    int low = log_tile - ceil_log2(lines), high = ceil_log2(plan->length) - plan->log_width;
    across = across < low ? low : across;
    across = across > high ? high : across;
    across = across > most ? most : (across < least ? least : across);
    int log_y = log_tile - across, log_x = across + plan->log_width;
    int64_t padded = ceil_shift(lines, log_y) << log_y;
    if (2 * lines * plan->length < padded * (ceil_shift(plan->length, log_x) << log_x))
        return false;
    for (int32_t k = plan->outputs; k < plan->operands; k++) {
        int64_t size = ek_magnitude(walk->stride[d][k]);
        walk->turned |= (size > 0 && size < ek_magnitude(walk->step[k]) ? 1u : 0u) << k;
    }
    memcpy(stride, walk->stride[d], sizeof stride);
    remove_dimension(plan, d);
    if (plan->ndim == 0)
        add_dimension(plan);
    plan->shape[plan->ndim] = padded;
    memcpy(walk->stride[plan->ndim++], stride, sizeof stride);
    walk->across = across;
    set_tiles(plan, log_x, log_y);
    walk->lines = (uint32_t)lines;
    return true;
}

/* The widest tile that wastes little at the ends of lines and at the last line. */
static void set_across(plan *plan, int log_packs)
{
    ek_cuda_walk *walk = &plan->walk;
    int64_t least = INT64_MAX, width = INT64_C(1) << plan->log_width, length = plan->length;
    int64_t skew = (int64_t)((uintptr_t)walk->data[0] / plan->size[0]);
    for (int32_t d = 0; d < plan->ndim; d++)
        skew |= walk->stride[d][0];
    if (plan->ndim == 0)
        add_dimension(plan);
    plan->length += skew & (width - 1) ? width - 1 : 0; /* a line may begin before a boundary */
    for (int across = EK_CUDA_LOG_THREADS; across >= 0; across--) {
        int log_x = across + plan->log_width + log_packs;
        set_tiles(plan, log_x, EK_CUDA_LOG_THREADS - across);
        /* Short pieces of many far lines are slow to fetch, so they must save more. */
        int64_t blocks = plan->tiles * plan->bands;
        int64_t worth = (INT64_C(1) << log_x) * plan->size[0] < SHORT_BYTES ? 4 : 16;
        if (blocks + blocks / worth < least) {
            least = blocks;
            walk->across = across;
        }
    }
    set_tiles(plan, walk->across + plan->log_width + log_packs, EK_CUDA_LOG_THREADS - walk->across);
    plan->length = length;
}

ek_cuda_length ek_cuda_divisible(int64_t length)
{
    uint64_t value = (uint64_t)length;
    int shift = ceil_log2(length);
    uint64_t multiplier = ((((UINT64_C(1) << shift) - value) << 32) / value) + 1;
    return (ek_cuda_length){(uint32_t)value, (uint32_t)multiplier, (uint32_t)shift};
}

/* Folds the last dimension of lines into lines of less than `least` elements if that leaves the
 * outputs without gaps. */
static bool fold_lines(plan *plan, int64_t least)
{
    ek_cuda_walk *walk = &plan->walk;
    int32_t d = plan->ndim - 1;
    if (plan->length >= least || d < 0 || plan->shape[d] > MOST_LINES / plan->length)
        return false;
    for (int32_t k = 0; k < plan->outputs; k++) {
        if (walk->step[k] != 1 || walk->stride[d][k] != plan->length)
            return false;
    }
    for (int32_t k = 0; k < plan->operands; k++) {
        walk->fold_stride[k] = walk->stride[d][k];
        walk->folded |= (walk->fold_stride[k] != plan->length * walk->step[k] ? 1u : 0u) << k;
    }
    walk->fold = ek_cuda_divisible(plan->length);
    plan->length *= plan->shape[d];
    remove_dimension(plan, d);
    return true;
}

/* Bit k for every operand whose lines along its smallest steps are all at boundaries of packs. */
static uint32_t at_boundaries(const plan *plan, int32_t turned)
{
    const ek_cuda_walk *walk = &plan->walk;
    uint32_t found = 0;
    for (int32_t k = 0; k < plan->operands; k++) {
        bool across = walk->turned >> k & 1;
        uintptr_t width = (uintptr_t)1 << plan->log_width;
        uintptr_t apart = (uintptr_t)walk->data[k] % (width * plan->size[k]);
        apart |= (uintptr_t)(across ? walk->step[k] : 0) & (width - 1);
        for (int32_t d = 0; d < plan->ndim; d++)
            apart |= (uintptr_t)(across && d == turned ? 0 : walk->stride[d][k]) & (width - 1);
        bool dense = (across ? walk->stride[turned][k] : walk->step[k]) == 1;
        found |= (dense && apart == 0 ? 1u : 0u) << k;
    }
    return found;
}

/* Chooses the kernel, and what its blocks and threads do. */
static int choose(plan *plan, bool moves)
{
    ek_cuda_walk *walk = &plan->walk;
    int largest = ek_cuda_largest(plan->operands, plan->size), log_width = plan->log_width;
    int log_packs = ceil_log2(EK_CUDA_PACKS(largest));
    walk->turned = walk->folded = 0;
    if (is_aligned(plan) && !fold_lines(plan, INT64_C(1) << (log_packs + log_width - 1))) {
        set_across(plan, log_packs);
        return EK_CUDA_LINES;
    }
    int32_t turned = walk->folded ? -1 : find_turned(plan);
    log_packs = 0;
    if (moves && turned >= 0) {
        log_packs = ceil_log2(EK_CUDA_TURN_PACKS(largest));
        plan->log_width = ceil_log2(EK_CUDA_TURN_BYTES(largest) / largest);
    }
    if (turned >= 0 && set_turned(plan, turned, log_packs)) {
        walk->at_boundaries = at_boundaries(plan, plan->ndim - 1);
        return moves ? EK_CUDA_TURN : EK_CUDA_WALK;
    }
    plan->log_width = log_width;
    if (!walk->folded)
        fold_lines(plan, MOST_FOLDED << log_width);
    bool slides = moves && !walk->folded && walk->step[0] == 1 &&
                  ek_magnitude(walk->step[1]) == 1 && (uintptr_t)walk->data[0] % plan->size[0] == 0;
    set_across(plan, slides ? ceil_log2(EK_CUDA_SLIDE_PACKS) : 0);
    return slides ? EK_CUDA_SLIDE : EK_CUDA_WALK;
}

static ek_status launch(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t loop, plan *plan,
                        const void *value)
{
    ek_cuda_walk *walk = &plan->walk;
    int kernel = choose(plan, kernels->layouts == EK_CUDA_MOVE_LAYOUTS);
    walk->length = plan->length;
    walk->ndim = plan->ndim;
    walk->tiles = ek_cuda_divisible(plan->tiles);
    for (int32_t d = 0; d < plan->ndim; d++)
        walk->shape[d] = ek_cuda_divisible(plan->shape[d]);
    if (plan->tiles > INT32_MAX / plan->bands)
        return ek_cuda_refuse_count(kernels, plan->length);
    ek_grid grid = {{(uint32_t)(plan->tiles * plan->bands), 1, 1}, {EK_CUDA_THREADS, 1, 1}, 0};
    void *params[] = {walk, (void *)value};
    return ek_cuda_launch(queue, kernels, kernels->layouts * loop + kernel, &grid, params);
}

/* Kernels count lines in 31 bits: more are walked half by half. */
static ek_status walk_parts(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t loop,
                            plan *plan, const void *value)
{
    int64_t lines = 1;
    int32_t longest = 0;
    for (int32_t d = 0; d < plan->ndim; d++) {
        lines *= plan->shape[d];
        longest = plan->shape[d] > plan->shape[longest] ? d : longest;
    }
    if (lines <= MOST_LINES)
        return launch(queue, kernels, loop, plan, value);
    struct plan half = *plan;
    half.shape[longest] /= 2;
    EK_TRY(walk_parts(queue, kernels, loop, &half, value));
    half = *plan;
    half.shape[longest] -= half.shape[longest] / 2;
    advance(&half, longest, plan->shape[longest] - half.shape[longest]);
    return walk_parts(queue, kernels, loop, &half, value);
}

ek_status ek_cuda_run_layout(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t loop,
                             const ek_layout *layout, const uint8_t *size, const void *value)
{
    plan plan; /* large, so only what its dimensions need is set */
    open_plan(&plan, layout, size);
    if (is_contiguous(&plan))
        return ek_cuda_run_contiguous(queue, kernels, loop, layout->operands, layout->size,
                                      plan.walk.data, size, value);
    return walk_parts(queue, kernels, loop, &plan, value);
}

ek_status ek_cuda_run_line(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t loop,
                           int32_t outputs, int32_t operands, int64_t n, void *const *data,
                           const uint8_t *size, const void *value)
{
    ek_layout layout; /* large, so only what one dimension needs is set */
    layout.outputs = outputs;
    layout.operands = operands;
    layout.ndim = 1;
    layout.size = layout.shape[0] = n;
    for (int32_t k = 0; k < operands; k++) {
        layout.data[k] = data[k];
        layout.stride[0][k] = 1;
    }
    return ek_cuda_run_layout(queue, kernels, loop, &layout, size, value);
}

ek_status ek_cuda_elementwise_layout(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t loop,
                                     const ek_layout *layout, const uint8_t *size,
                                     const ek_scalar *params)
{
    return ek_cuda_run_layout(queue, kernels, loop, layout, size, params);
}
