#include "cuda/run_pieces.h"

#include "cuda/divide.h"
#include "integer.h"

/* The most units of a piece, and blocks of a launch: whole tiles fit 31 bits behind them. */
#define MOST (INT64_C(1) << 30)

/* Pieces on their way into a launch. */
typedef struct batch {
    ek_queue *queue;
    const ek_cuda_kernels *kernels;
    int64_t unit;
    uint32_t blocks;
    ek_cuda_pieces args;
} batch;

static ek_status launch(batch *batch)
{
    if (batch->args.count == 0)
        return EK_OK;
    /* These kernels are the last of the operation. */
    int32_t kernel = batch->kernels->count - EK_CUDA_PIECE_KERNELS +
                     __builtin_ctzll((unsigned long long)batch->unit);
    ek_grid grid = {{batch->blocks, 1, 1}, {EK_CUDA_THREADS, 1, 1}, 0};
    void *params[] = {&batch->args};
    EK_TRY(ek_cuda_launch(batch->queue, batch->kernels, kernel, &grid, params));
    batch->args.count = 0;
    batch->blocks = 0;
    return EK_OK;
}

/* Adds what is small enough to be counted. */
static ek_status add(batch *batch, const ek_piece *piece)
{
    int64_t length = piece->length / batch->unit, units = piece->rows * length;
    int64_t blocks = ek_divide_up(units, EK_CUDA_PIECE_TILE(batch->unit));
    if (batch->args.count == EK_CUDA_PIECES || batch->blocks + blocks > MOST)
        EK_TRY(launch(batch));
    batch->args.first[batch->args.count] = batch->blocks;
    batch->args.piece[batch->args.count++] =
        (ek_cuda_piece){.from = piece->from,
                        .to = piece->to,
                        .from_row = piece->from_row / batch->unit,
                        .to_row = piece->to_row / batch->unit,
                        .length = ek_cuda_divisible(length),
                        .units = (uint32_t)units};
    batch->blocks += (uint32_t)blocks;
    return EK_OK;
}

/* The same for rows that are too long, part by part. */
static ek_status add_long(batch *batch, ek_piece piece)
{
    int64_t rows = piece.rows, length = piece.length, most = MOST * batch->unit;
    piece.rows = 1;
    for (int64_t row = 0; row < rows; row++) {
        ek_piece part = piece;
        part.from += row * piece.from_row;
        part.to += row * piece.to_row;
        for (int64_t done = 0; done < length; done += part.length) {
            part.length = ek_smaller(length - done, most);
            EK_TRY(add(batch, &part));
            part.from += part.length;
            part.to += part.length;
        }
    }
    return EK_OK;
}

/* Adds rows; launches what there is when it is full. */
static ek_status add_rows(batch *batch, const ek_piece *piece)
{
    int64_t length = piece->length / batch->unit;
    ek_piece part = *piece;
    if (length > MOST)
        return add_long(batch, part);
    for (int64_t done = 0; done < piece->rows; done += part.rows) {
        part.rows = ek_smaller(piece->rows - done, MOST / length);
        EK_TRY(add(batch, &part));
        part.from += part.rows * piece->from_row;
        part.to += part.rows * piece->to_row;
    }
    return EK_OK;
}

ek_status ek_cuda_copy_pieces(ek_queue *queue, const ek_cuda_kernels *kernels, int64_t unit,
                              int32_t count, const ek_piece *pieces)
{
    batch batch; /* large, so only what is used is set */
    batch.queue = queue;
    batch.kernels = kernels;
    batch.unit = unit;
    batch.blocks = 0;
    batch.args.count = 0;
    for (int32_t i = 0; i < count; i++)
        EK_TRY(add_rows(&batch, &pieces[i]));
    return launch(&batch);
}
