/* Lookups: elements of an array by indices along one axis, taken from it or joined to it. */
#ifndef EK_LOOKUP_H
#define EK_LOOKUP_H

#include "einkorn/table.h"
#include "kind.h"
#include "lookup_args.h"
#include "params.h"

extern const ek_kind ek_kind_take, ek_kind_put, ek_kind_scatter;

/* The array call: checks, merges dimensions, runs. params: axis, along, mode. */
ek_status ek_lookup_array(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                          const ek_scalar *params, ek_array *out);

/* Checks a typed call of a loop; data are the operands, all without gaps. */
ek_status ek_lookup_typed(const ek_op_info *op, int32_t loop, int64_t outer, int64_t n, int64_t m,
                          int64_t inner, bool along, int64_t mode, void *const *data,
                          ek_lookup *call);

/* The message for the first index that is no place. */
ek_status ek_lookup_refuse(const char *name, int64_t place, int64_t index, int64_t n);

/* The backends' parts, over a checked call. On the CPU `fold` is null for what only moves. */
struct ek_lookup_kernels;
ek_status ek_cpu_lookup(ek_queue *queue, const struct ek_lookup_kernels *kernels,
                        const ek_lookup *call);
#if EK_HAVE_CUDA
struct ek_cuda_kernels;
ek_status ek_cuda_lookup(ek_queue *queue, const struct ek_cuda_kernels *kernels,
                         const ek_op_info *op, int32_t loop, const ek_lookup *call);
#endif

#endif
