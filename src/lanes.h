/* The order in which the elements of a reduction are combined. It follows from their number alone,
 * so that every layout, variant, number of threads and device gives the same bits.
 *
 * The elements are cut into chunks of EK_CHUNK. In a chunk, lane j of EK_LANES combines the
 * elements j, j + EK_LANES, j + 2 EK_LANES, ... in order, from the identity. The lanes are folded
 * by halves: lane j takes in lane j + 64, then j + 32, 16, ..., 1. The results of the chunks are
 * the elements of the next level, reduced by the same rule, until one is left.
 *
 * The identity is exact (-0 for floating sums), so lanes that get no element may be left out or
 * padded: both give the same bits. */
#ifndef EK_LANES_H
#define EK_LANES_H

#define EK_LANES 128
#define EK_CHUNK 4096

#endif
