/* Several operands walked together: one shape, a stride of each operand for every dimension. */
#ifndef EK_LAYOUT_H
#define EK_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "einkorn/array.h"
#include "typed.h"

/* The most bytes that strides may reach over: more than any memory, and sums of a few still fit. */
#define EK_MAX_REACH (INT64_C(1) << 60)

typedef struct ek_layout {
    int32_t outputs; /* which come first */
    int32_t operands;
    int32_t ndim;
    int64_t size; /* elements */
    void *data[EK_MAX_OPERANDS];
    int64_t shape[EK_MAX_NDIM];
    int64_t stride[EK_MAX_NDIM][EK_MAX_OPERANDS]; /* in elements; 0 where broadcast */
} ek_layout;

/* An array whose fields have been checked, with its strides written out. */
typedef struct ek_operand {
    const char *name; /* of the argument, for messages */
    void *data;
    ek_dtype dtype;
    ek_device_type device_type;
    int32_t device_index;
    int32_t ndim;
    int64_t size;
    const int64_t *shape;
    int64_t stride[EK_MAX_NDIM];
} ek_operand;

/* Checks what an array says of itself for a call: not null, 0 to EK_MAX_NDIM dimensions, lengths
 * and size in range, a known dtype. */
ek_status ek_operand_describe(const char *call, const char *name, const ek_array *array,
                              ek_operand *operand);

/* The same, and that there is data unless it has no element, aligned as its device needs. */
ek_status ek_operand_read(const char *call, const char *name, const ek_array *array,
                          ek_operand *operand);

/* The same, and that the array is on the queue's device: an input, or an output. */
ek_status ek_operand_init(const char *call, const char *name, const ek_queue *queue,
                          const ek_array *array, ek_operand *operand);
ek_status ek_operand_init_out(const char *call, const char *name, const ek_queue *queue,
                              const ek_array *array, ek_operand *operand);

/* True for host memory, pinned or not. */
bool ek_on_host(const ek_operand *operand);

/* True if the device computes on the operand where it is. */
bool ek_belongs(const ek_operand *operand, const ek_device *device);

/* "cpu", "cuda:1" and so on for messages; text holds at least 64 characters. */
const char *ek_place_text(const ek_operand *operand, char *text);

/* Notes that the queue uses the memory of an operand at `data`, so that freeing it elsewhere waits
 * for the queue. */
void ek_operand_use(const ek_queue *queue, const void *data);

/* Walks operands of which the first are outputs of one shape and the others inputs broadcast to it.
 * Refuses shapes that do not broadcast to exactly that shape, an output that overlaps itself or
 * another one, and one that overlaps an input without being the same array. Dimensions are walked
 * in the order in which the first output lies in memory, upwards: its strides are positive and fall
 * from the first to the last. Those that all operands cross in one step are merged. */
ek_status ek_layout_init(const char *call, int32_t outputs, int32_t count,
                         const ek_operand *operands, ek_layout *layout);

/* The same for calls whose purpose is to fill any output: the inputs may broadcast to less than the
 * shape of the output, which is one, and are stretched. */
ek_status ek_layout_init_stretched(const char *call, int32_t count, const ek_operand *operands,
                                   ek_layout *layout);

/* Refuses outputs that overlap themselves or each other. */
ek_status ek_check_outputs(const char *call, int32_t count, const ek_operand *operands);

/* True if two elements at different indices share memory. */
bool ek_self_overlaps(const ek_operand *operand);

/* True if the operands share memory. Exact for usual layouts; where an exact answer would take too
 * long it says true. */
bool ek_overlaps(const ek_operand *a, const ek_operand *b);

/* ek_broadcast on behalf of a call, whose name its messages bear. */
ek_status ek_broadcast_for(const char *call, int32_t count, const ek_array *const *arrays,
                           int32_t *ndim, int64_t *shape);

/* "(2, 3)" for messages; text holds at least 128 characters. */
const char *ek_shape_text(int32_t ndim, const int64_t *shape, char *text);

#endif
