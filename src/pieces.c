#include "pieces.h"

#include "backend.h"
#include "cpu/tile.h"
#include "einkorn/ops/copy.h"
#include "program.h"
#if EK_HAVE_CUDA
#    include "cuda/run_pieces.h"
#endif

/* Bytes that a CPU moves at once, in the calling thread. */
enum { SMALL_BYTES = 64 << 10 };

struct ek_pieces {
    ek_queue *queue;
    ek_dtype dtype;
    int64_t size; /* bytes of an element */
#if EK_HAVE_CUDA
    /* What is collected: how much, and a bit for every size at whose multiples not all begins and
     * ends. */
    int32_t count;
    int64_t bytes;
    uint64_t ends;
    ek_piece piece[EK_CUDA_PIECES];
#endif
};

static ek_status move(const ek_pieces *pieces, const ek_layout *layout)
{
    /* The row has every dtype, in the enum's order. */
    return ek_elementwise_run(pieces->queue, &ek_op_copy.info, (int32_t)pieces->dtype, layout,
                              NULL);
}

static ek_status move_rows(const ek_pieces *pieces, const ek_piece *piece)
{
    ek_queue *queue = pieces->queue;
    int64_t n = piece->length / pieces->size;
    if (queue->variant != EK_CUDA && piece->rows * piece->length < SMALL_BYTES &&
        !ek_recording(queue)) {
        const ek_tile tile = {.rows = piece->rows,
                              .columns = n,
                              .from = piece->from,
                              .from_row = piece->from_row,
                              .from_column = pieces->size,
                              .to = piece->to,
                              .to_row = piece->to_row,
                              .to_column = pieces->size};
        ek_tile_move((ek_variant)queue->variant, &tile, pieces->size, false);
        return EK_OK;
    }
    ek_layout layout; /* large, so only what is used is set */
    layout.outputs = 1;
    layout.operands = 2;
    layout.ndim = 2;
    layout.size = piece->rows * n;
    layout.data[0] = piece->to;
    layout.data[1] = (void *)piece->from;
    layout.shape[0] = piece->rows;
    layout.stride[0][0] = piece->to_row / pieces->size;
    layout.stride[0][1] = piece->from_row / pieces->size;
    layout.shape[1] = n;
    layout.stride[1][0] = layout.stride[1][1] = 1;
    if (piece->rows > 1)
        return move(pieces, &layout);
    layout.ndim = 1;
    layout.shape[0] = n;
    layout.stride[0][0] = layout.stride[0][1] = 1;
    return move(pieces, &layout);
}

#if EK_HAVE_CUDA

/* Bytes of a piece from which on a launch of its own costs little beside it, and of units that are
 * as fast as any. */
enum { LARGE_BYTES = 1 << 20, WIDE_BYTES = 4 };

/* The units in which what is collected had better go together; 0 if it had not. */
static int64_t unit_of(const ek_pieces *pieces)
{
    int64_t unit = 16;
    while ((pieces->ends & (uint64_t)(unit - 1)) != 0)
        unit /= 2;
    bool large = pieces->bytes / pieces->count >= LARGE_BYTES;
    return pieces->count < 2 || (unit < WIDE_BYTES && large) ? 0 : unit;
}

static ek_status flush(ek_pieces *pieces)
{
    int32_t count = pieces->count;
    if (count == 0)
        return EK_OK;
    int64_t unit = unit_of(pieces);
    pieces->count = 0;
    pieces->bytes = 0;
    pieces->ends = 0;
    if (unit > 0)
        return ek_cuda_copy_pieces(pieces->queue, ek_op_copy.info.kernels[EK_CUDA], unit, count,
                                   pieces->piece);
    for (int32_t i = 0; i < count; i++)
        EK_TRY(move_rows(pieces, &pieces->piece[i]));
    return EK_OK;
}

/* True if a layout is rows without gaps on both sides, or few elements with a step. */
static bool is_rows(const ek_layout *layout, int64_t size, ek_piece *piece)
{
    int32_t last = layout->ndim - 1;
    bool dense = last < 0 || (layout->stride[last][0] == 1 && layout->stride[last][1] == 1);
    if (layout->ndim > 2 || (!dense && (last > 0 || layout->size * size >= LARGE_BYTES)))
        return false;
    *piece = (ek_piece){layout->data[0], layout->data[1], 1, size, 0, 0};
    if (last >= 0 && dense)
        piece->length = layout->shape[last] * size;
    if (last > 0 || !dense) { /* where it steps, each element is a row */
        piece->rows = layout->shape[0];
        piece->to_row = layout->stride[0][0] * size;
        piece->from_row = layout->stride[0][1] * size;
    }
    return true;
}

#endif

ek_status ek_pieces_add_rows(ek_pieces *pieces, const ek_piece *piece)
{
#if EK_HAVE_CUDA
    if (pieces->queue->variant == EK_CUDA) {
        pieces->bytes += piece->rows * piece->length;
        pieces->ends |= (uintptr_t)piece->to | (uintptr_t)piece->from | (uint64_t)piece->length |
                        (uint64_t)piece->to_row | (uint64_t)piece->from_row;
        pieces->piece[pieces->count++] = *piece;
        return pieces->count == EK_CUDA_PIECES ? flush(pieces) : EK_OK;
    }
#endif
    return move_rows(pieces, piece);
}

ek_status ek_pieces_add(ek_pieces *pieces, const ek_layout *layout)
{
    if (layout->size == 0)
        return EK_OK;
#if EK_HAVE_CUDA
    ek_piece piece;
    if (pieces->queue->variant == EK_CUDA && is_rows(layout, pieces->size, &piece))
        return ek_pieces_add_rows(pieces, &piece);
#endif
    return move(pieces, layout);
}

ek_status ek_pieces_run(ek_queue *queue, ek_dtype dtype, ek_pieces_fn *each, const void *args)
{
    const void *kernels;
    EK_TRY(ek_find_kernels(&ek_op_copy.info, queue, &kernels));
    ek_pieces pieces; /* large, so only what is used is set */
    pieces.queue = queue;
    pieces.dtype = dtype;
    pieces.size = (int64_t)ek_dtype_size(dtype);
#if EK_HAVE_CUDA
    pieces.count = 0;
    pieces.bytes = 0;
    pieces.ends = 0;
    EK_TRY(each(&pieces, args));
    return flush(&pieces);
#else
    return each(&pieces, args);
#endif
}
