/* What the host and the kernels of scans agree on; read by C and by CUDA C. */
#ifndef EK_CUDA_SCAN_ARGS_H
#define EK_CUDA_SCAN_ARGS_H

#include "cuda/rows_args.h"
#include "prefixes.h"

/* Rows of up to EK_SCAN_SHORT_ROW elements: a warp or a part of it has one, and a thread up to
 * EK_SCAN_SHORT_PACKS packs of EK_CUDA_PACK elements, which lie side by side in the lanes of a
 * warp. */
#define EK_SCAN_SHORT_PACKS 4
#define EK_SCAN_PACK_ROW (32 * EK_CUDA_PACK)
#define EK_SCAN_SHORT_ROW (EK_SCAN_SHORT_PACKS * EK_SCAN_PACK_ROW)

/* Longer ones have a block, or several with a span each. */
#define EK_SCAN_PACKS 8
#define EK_SCAN_WARP_ROW (EK_SCAN_PACKS * EK_SCAN_PACK_ROW)
#define EK_SCAN_WARPS (EK_SPAN / EK_SCAN_WARP_ROW)
/* Blocks of a multiprocessor, by the bytes of an accumulator: as many as registers allow. */
#define EK_SCAN_BLOCKS(size) ((size) > 8 ? 2 : (size) > 4 ? 4 : 8)

/* Columns: a thread has a group of each of EK_SCAN_COLUMNS columns, by the bytes of an accumulator.
 * Up to EK_SCAN_ACROSS threads lie side by side, and up to EK_SCAN_GROUPS have a chunk. */
#define EK_SCAN_COLUMNS(size) ((size) > 4 ? 1 : 2)
#define EK_SCAN_ACROSS(size) ((size) > 8 ? 16 : 32)
#define EK_SCAN_COLUMN_THREADS(size) (EK_SCAN_ACROSS(size) * EK_SCAN_GROUPS)

#endif
