/* Scans along an axis of arrays of any shape and strides: a result for each element, of all up to
 * it. */
#ifndef EK_SCAN_H
#define EK_SCAN_H

#include "kind.h"
#include "rows.h"

extern const ek_kind ek_kind_scan;

/* The array call: checks, merges dimensions, runs. axis may be EK_ALL_AXES. */
ek_status ek_scan(ek_queue *queue, const ek_op_info *op, const ek_array *x, int32_t axis,
                  ek_array *out);

/* The backends' parts of it, over checked rows with a result per element. */
struct ek_scan_kernels;
ek_status ek_cpu_scan(ek_queue *queue, const struct ek_scan_kernels *kernels, const ek_rows *rows);
#if EK_HAVE_CUDA
struct ek_cuda_kernels;
ek_status ek_cuda_scan(ek_queue *queue, const struct ek_cuda_kernels *kernels, const ek_op_info *op,
                       int32_t loop, const ek_rows *rows);
#endif

#endif
