/* Arrays: memory, device, dtype, shape and strides. The layout is DLPack's DLTensor field for field
 * (ABI version 1), so an array of NumPy, PyTorch, CuPy or JAX passes without a copy. */
#ifndef EINKORN_ARRAY_H
#define EINKORN_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "einkorn/device.h"
#include "einkorn/dtype.h"
#include "einkorn/limits.h"
#include "einkorn/queue.h"
#include "einkorn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An array. The caller owns everything it points to. */
typedef struct ek_array {
    void *data; /* (may be null if the array has no element) */
    struct {
        int32_t type;  /* an ek_device_type */
        int32_t index; /* which device of that type */
    } device;
    int32_t ndim; /* 0 to EK_MAX_NDIM; 0 is a single element */
    struct {
        uint8_t code;   /* DLPack's code: 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool */
        uint8_t bits;   /* bits of one element */
        uint16_t lanes; /* 1 */
    } type;
    int64_t *shape;       /* ndim lengths, zero allowed */
    int64_t *strides;     /* ndim steps in elements, zero or negative allowed; null: C order */
    uint64_t byte_offset; /* of the first element from data */
} ek_array;

/* An array over `data` in C order (strides null). `shape` is kept by reference. */
ek_array ek_array_view(void *data, ek_dtype dtype, const ek_device *device, int32_t ndim,
                       int64_t *shape);

/* Allocates an array in C order on the queue's device: its elements come from ek_alloc and its
 * shape is kept in a host block of the array's own, so `shape` may be temporary. */
ek_status ek_array_alloc(ek_queue *queue, ek_dtype dtype, int32_t ndim, const int64_t *shape,
                         ek_array *array);

/* Frees what ek_array_alloc allocated and clears the array. */
ek_status ek_array_free(ek_queue *queue, ek_array *array);

/* Allocates an array of the dtype of `like` on the queue's device, in C order: of that shape, or,
 * if ndim is EK_SAME_SHAPE, of the shape of `like`; `shape` is then not looked at. `like` may be
 * anywhere. ek_array_free frees it. */
#define EK_SAME_SHAPE (-1)
ek_status ek_empty_like(ek_queue *queue, const ek_array *like, int32_t ndim, const int64_t *shape,
                        ek_array *array);

/* src as an array of that dtype on the queue's device. Without a copy if it is that already: array
 * then is src, with its memory, shape and strides, which the caller owns as before, and *made is
 * false. Else array is a new one in C order, *made is true, and ek_array_free frees it. src is
 * brought from the host to a GPU, or from one GPU to another, by ek_copy and converted by ek_cast.
 * Memory of a GPU comes to the host by ek_copy on a queue of that GPU only: EK_DEVICE_MISMATCH. */
ek_status ek_asarray(ek_queue *queue, ek_dtype dtype, const ek_array *src, ek_array *array,
                     bool *made);

/* The dtype of an array; EK_DTYPE_MISMATCH if DLPack's type is none of the fifteen. */
ek_status ek_array_dtype(const ek_array *array, ek_dtype *dtype);

/* The number of elements; 1 for 0 dimensions. EK_INVALID_ARGUMENT if a length is negative or the
 * count in bytes does not fit 63 bits. */
ek_status ek_array_size(const ek_array *array, int64_t *size);

/* The address of the first element. */
static inline void *ek_array_data(const ek_array *array)
{
    return array->data ? (char *)array->data + array->byte_offset : (void *)0;
}

/* NumPy's broadcasting of `count` shapes: aligned at the last dimension, lengths of 1 stretch.
 * Stores the result in *ndim and shape[EK_MAX_NDIM]. EK_SHAPE_MISMATCH if they do not fit. */
ek_status ek_broadcast(int32_t count, const ek_array *const *arrays, int32_t *ndim, int64_t *shape);

/* Copies src to dst: any device to any device, any strides, src broadcast to dst's shape. The
 * dtypes must be the same (ek_cast converts). dst must not overlap src unless they are the same
 * array. If a side is on a GPU, the queue must be of that GPU, or of either if both are.
 *
 * Work of other queues with the arrays must be ordered by events. A copy is in queue order and the
 * call returns before it is done, with these exceptions:
 * - Pageable host memory as src has been read when the call returns, as dst it has been written.
 * - So has pinned host memory with gaps between its elements, unless it consists of rows of 256
 *   bytes or more; as src it is read when the queue has come to it, which is waited for.
 * - The first copy between two GPUs on a queue waits for it: it tries whether the one can write to
 *   the other. If not, copies go through pinned host memory, without a wait.
 * Dense host arrays, transposed or reversed or not, are not touched by the host if pinned.
 *
 * A queue that records takes host memory only if pinned and without gaps, but for rows, and no copy
 * between two GPUs: EK_UNSUPPORTED. */
ek_status ek_copy(ek_queue *queue, ek_array *dst, const ek_array *src);

/* Shifts x cyclically along `count` axes: the element at index i of an axis of n elements goes to
 * (i + shift) modulo n. Shifts have any sign and size; negative axes count from the end; the shifts
 * of an axis that is named twice add up. With count = 0 it is a copy. x and out are on the queue's
 * device and have the same shape and dtype and any strides. out must not overlap x at all, nor
 * itself: EK_OVERLAP. An axis that x does not have is EK_INVALID_ARGUMENT. Every bit is kept. */
ek_status ek_roll(ek_queue *queue, const ek_array *x, int32_t count, const int64_t *shifts,
                  const int32_t *axes, ek_array *out);

#ifdef __cplusplus
}
#endif
#endif
