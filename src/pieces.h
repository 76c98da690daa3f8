/* Calls that consist of many copies. What they copy is looked at twice: to see what it is, and to
 * move it. On a GPU pieces that are rows without gaps go into one launch if that is better than one
 * for each. */
#ifndef EK_PIECES_H
#define EK_PIECES_H

#include "elementwise.h"

/* Rows of bytes. */
typedef struct ek_piece {
    char *to;
    const char *from;
    int64_t rows, length;     /* both 1 or more */
    int64_t to_row, from_row; /* from row to row */
} ek_piece;

typedef struct ek_cuda_batch ek_cuda_batch;

typedef struct ek_pieces {
    ek_queue *queue;
    ek_dtype dtype;
    int64_t count, bytes; /* of what is rows without gaps */
    uint64_t ends;        /* a bit for every size at whose multiples not all begin and end */
    ek_cuda_batch *batch; /* null: one by one */
} ek_pieces;

/* Gives all layouts of a call to `take`, each of an output and an input. */
typedef ek_status ek_pieces_fn(ek_pieces *pieces, const void *args,
                               ek_status (*take)(ek_pieces *pieces, const ek_layout *layout));

/* Moves what `each` gives; it is called twice where a batch is possible. */
ek_status ek_pieces_run(ek_queue *queue, ek_dtype dtype, ek_pieces_fn *each, const void *args);

#endif
