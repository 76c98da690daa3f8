/* The grid and place kinds: results that depend on where an element is. */
#ifndef EK_GRID_H
#define EK_GRID_H

#include <stdbool.h>

#include "kind.h"
#include "layout.h"
#include "params.h"

/* Elements of a line: element e is out[e * out_step], of x[e * x_step] if there is an x, and its
 * last two indices are i + e * i_step and j + e * j_step. */
typedef struct ek_grid_line {
    void *out;
    const void *x;
    int64_t out_step, x_step;
    int64_t i, j, i_step, j_step;
} ek_grid_line;

/* Computes n elements of a line: the CPU kernel of every loop. */
typedef void ek_grid_fn(int64_t n, const ek_grid_line *line, const ek_scalar *params);

/* True for neighbours along the last axis. Without an x its step is 1. */
static inline bool ek_grid_along(const ek_grid_line *line)
{
    return line->out_step == 1 && line->x_step == 1 && line->i_step == 0 && line->j_step == 1;
}

extern const ek_kind ek_kind_grid;

/* The array call; x is null for the grid kind, `params` are those of an array call. */
ek_status ek_grid_array(ek_queue *queue, const ek_op_info *op, const ek_array *x,
                        const ek_scalar *params, ek_array *out);

/* A typed call of that name, of every variant; `params` are the loop's, EK_MAX_PARAMS of them. */
ek_status ek_grid_typed(ek_queue *queue, const char *call, const ek_op_info *op, int32_t loop,
                        int64_t rows, int64_t columns, const void *x, const ek_scalar *params,
                        void *out);

/* Note [Places as operands]
 *
 * A layout walks operands in the order of the output's memory, with axes merged, turned around and
 * left out, and where an element is gets lost on the way. So the last two indices are operands too:
 * of one byte, with a stride of 1 along their axis and 0 along the others, so that where such an
 * operand "lies", counted from EK_GRID_ORIGIN, is the index. Nobody reads what is there: no memory
 * has these addresses. */
#define EK_GRID_ORIGIN ((uintptr_t)1 << 60)

/* The operands of a layout: the output, x if there is one, and the two indices at the end. */
static inline int32_t ek_grid_row(const ek_layout *layout)
{
    return layout->operands - 2;
}

/* The backends' parts, over a layout that has elements. */
ek_status ek_cpu_grid(ek_queue *queue, ek_grid_fn *kernel, const ek_layout *layout, uint8_t size,
                      const ek_scalar *params);
#if EK_HAVE_CUDA
struct ek_cuda_kernels;
ek_status ek_cuda_grid(ek_queue *queue, const struct ek_cuda_kernels *kernels, int32_t loop,
                       const ek_layout *layout, uint8_t size, const ek_scalar *params);
#endif

#endif
