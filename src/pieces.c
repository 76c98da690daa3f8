#include "pieces.h"

#include "backend.h"
#include "einkorn/ops/copy.h"
#if EK_HAVE_CUDA
#    include "cuda/run_pieces.h"
#endif

static ek_status move_alone(ek_pieces *pieces, const ek_layout *layout)
{
    /* The row has every dtype, in the enum's order. */
    return ek_elementwise_run(pieces->queue, &ek_op_copy.info, (int32_t)pieces->dtype, layout,
                              NULL);
}

#if EK_HAVE_CUDA

/* Bytes of a piece from which on a launch of its own costs little beside it. */
enum { LARGE_BYTES = 1 << 20, WIDE_BYTES = 4 };

/* True if a layout is rows without gaps on both sides. */
static bool is_rows(const ek_layout *layout, int64_t size, ek_piece *piece)
{
    int32_t last = layout->ndim - 1;
    bool rows = layout->ndim == 2, dense = true;
    if (layout->ndim > 2)
        return false;
    *piece = (ek_piece){layout->data[0], layout->data[1], 1, size, 0, 0};
    if (layout->ndim > 0) {
        dense = layout->stride[last][0] == 1 && layout->stride[last][1] == 1;
        piece->length = layout->shape[last] * size;
    }
    if (rows) {
        piece->rows = layout->shape[0];
        piece->to_row = layout->stride[0][0] * size;
        piece->from_row = layout->stride[0][1] * size;
    }
    if (dense)
        return true;
    /* One dimension that steps: each element is a row. */
    piece->rows = layout->shape[last];
    piece->length = size;
    piece->to_row = layout->stride[last][0] * size;
    piece->from_row = layout->stride[last][1] * size;
    return !rows && layout->size * size < LARGE_BYTES;
}

static ek_status see(ek_pieces *pieces, const ek_layout *layout)
{
    ek_piece piece;
    int64_t size = (int64_t)ek_dtype_size(pieces->dtype);
    if (layout->size == 0 || !is_rows(layout, size, &piece))
        return EK_OK;
    pieces->count++;
    pieces->bytes += layout->size * size;
    pieces->ends |= (uintptr_t)piece.to | (uintptr_t)piece.from | (uint64_t)piece.length |
                    (uint64_t)piece.to_row | (uint64_t)piece.from_row;
    return EK_OK;
}

static ek_status move(ek_pieces *pieces, const ek_layout *layout)
{
    ek_piece piece;
    if (layout->size == 0)
        return EK_OK;
    if (!is_rows(layout, (int64_t)ek_dtype_size(pieces->dtype), &piece))
        return move_alone(pieces, layout);
    return ek_cuda_batch_add(pieces->batch, &piece);
}

static ek_status run_batch(ek_pieces *pieces, int64_t unit, ek_pieces_fn *each, const void *args)
{
    ek_cuda_batch batch; /* large, so only what is used is set */
    batch.queue = pieces->queue;
    batch.kernels = ek_op_copy.info.kernels[EK_CUDA];
    batch.unit = unit;
    batch.blocks = 0;
    batch.args.count = 0;
    pieces->batch = &batch;
    EK_TRY(each(pieces, args, move));
    return ek_cuda_batch_end(&batch);
}

/* The units that a batch would move; 0 if it had better not. */
static int64_t unit_of(const ek_pieces *pieces)
{
    int64_t unit = 16, size = (int64_t)ek_dtype_size(pieces->dtype);
    int64_t least = size < WIDE_BYTES ? size : WIDE_BYTES;
    while ((pieces->ends & (uint64_t)(unit - 1)) != 0)
        unit /= 2;
    if (pieces->count < 2 || unit < least ||
        (unit < WIDE_BYTES && pieces->bytes / pieces->count >= LARGE_BYTES))
        return 0;
    return unit;
}

#endif

ek_status ek_pieces_run(ek_queue *queue, ek_dtype dtype, ek_pieces_fn *each, const void *args)
{
    ek_pieces pieces = {.queue = queue, .dtype = dtype};
#if EK_HAVE_CUDA
    if (queue->variant == EK_CUDA) {
        EK_TRY(each(&pieces, args, see));
        int64_t unit = unit_of(&pieces);
        if (unit > 0)
            return run_batch(&pieces, unit, each, args);
    }
#endif
    return each(&pieces, args, move_alone);
}
