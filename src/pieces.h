/* Calls that consist of many copies. On a GPU pieces that are rows without gaps are collected and
 * go into one launch, if that is better than one for each. */
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

typedef struct ek_pieces ek_pieces;

/* Gives all copies of a call to the functions below, in any order. */
typedef ek_status ek_pieces_fn(ek_pieces *pieces, const void *args);

/* Copies what `each` gives; all of it is of one dtype. */
ek_status ek_pieces_run(ek_queue *queue, ek_dtype dtype, ek_pieces_fn *each, const void *args);

/* A copy with an output and an input. */
ek_status ek_pieces_add(ek_pieces *pieces, const ek_layout *layout);

/* The same for what is rows without gaps, known without a layout. */
ek_status ek_pieces_add_rows(ek_pieces *pieces, const ek_piece *piece);

#endif
