#include "dlpack.h"

#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "einkorn/memory.h"
#include "error.h"
#include "layout.h"
#if EK_HAVE_CUDA
#    include "cuda/streams.h"
#endif

/* ---- taking */

static ek_status check(const char *call, const ek_array *array)
{
    ek_operand operand;
    EK_TRY(ek_operand_read(call, "tensor", array, &operand));
    if (!ek_on_host(&operand) && operand.device_type != EK_DEVICE_CUDA)
        return ek_fail(EK_DEVICE_MISMATCH,
                       "%s: tensor is on DLPack's device type %d: must be 1 (CPU), 2 (CUDA) or 3 "
                       "(pinned)",
                       call, (int)operand.device_type);
    return EK_OK;
}

static ek_status check_pointers(const char *call, const void *tensor, const void *other,
                                const char *name)
{
    if (tensor && other)
        return EK_OK;
    return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is null", call, tensor ? name : "tensor");
}

ek_status ek_dlpack_take(struct DLManagedTensorVersioned *tensor, ek_dlpack *taken)
{
    static const char call[] = "ek_dlpack_take";
    EK_TRY(check_pointers(call, tensor, taken, "taken"));
    const ek_managed_versioned *managed = (const ek_managed_versioned *)tensor;
    if (managed->version.major != EK_DLPACK_MAJOR)
        return ek_fail(EK_UNSUPPORTED, "%s: tensor is of DLPack's version %u.%u: must be %d", call,
                       (unsigned)managed->version.major, (unsigned)managed->version.minor,
                       EK_DLPACK_MAJOR);
    EK_TRY(check(call, &managed->array));
    *taken = (ek_dlpack){managed->array, (managed->flags & EK_DLPACK_READ_ONLY) != 0, tensor, 1};
    return EK_OK;
}

ek_status ek_dlpack_take_unversioned(struct DLManagedTensor *tensor, ek_dlpack *taken)
{
    static const char call[] = "ek_dlpack_take_unversioned";
    EK_TRY(check_pointers(call, tensor, taken, "taken"));
    const ek_managed *managed = (const ek_managed *)tensor;
    EK_TRY(check(call, &managed->array));
    *taken = (ek_dlpack){managed->array, 0, tensor, 0};
    return EK_OK;
}

/* A deleter may be null: then there is nothing to do. */
static void delete (const ek_dlpack *taken)
{
    ek_managed_versioned *versioned = taken->tensor;
    ek_managed *plain = taken->tensor;
    if (taken->versioned && versioned->deleter)
        versioned->deleter(versioned);
    else if (!taken->versioned && plain->deleter)
        plain->deleter(plain);
}

ek_status ek_dlpack_release(ek_queue *queue, ek_dlpack *taken)
{
    if (!taken || !taken->tensor)
        return EK_OK;
    ek_status status = queue ? ek_queue_sync(queue) : EK_OK;
    delete (taken);
    memset(taken, 0, sizeof *taken);
    return status;
}

/* ---- lending and giving */

/* What the other side is given, and what it means to us. One of the two tensors is used. */
typedef struct lent {
    ek_managed_versioned versioned;
    ek_managed plain;
    void (*release)(void *context);
    void *context;
    int64_t lengths[]; /* shape, then strides */
} lent;

static void end(void *context)
{
    lent *self = context;
    if (self->release)
        self->release(self->context);
    free(self);
}

static void end_versioned(ek_managed_versioned *self)
{
    end(self->context);
}

static void end_plain(ek_managed *self)
{
    end(self->context);
}

/* Strides are always written out: readers of the first versions expect them. */
static lent *make(const char *call, const ek_array *array, int read_only,
                  void (*release)(void *context), void *context, ek_status *status)
{
    ek_operand operand;
    *status = ek_operand_describe(call, "array", array, &operand);
    if (*status != EK_OK)
        return NULL;
    size_t ndim = (size_t)operand.ndim;
    lent *fresh = calloc(1, sizeof *fresh + 2 * ndim * sizeof fresh->lengths[0]);
    if (!fresh) {
        *status = ek_fail(EK_OUT_OF_MEMORY, "%s: no host memory", call);
        return NULL;
    }
    for (size_t d = 0; d < ndim; d++) {
        fresh->lengths[d] = operand.shape[d];
        fresh->lengths[ndim + d] = operand.stride[d];
    }
    ek_array tensor = *array;
    tensor.shape = fresh->lengths;
    tensor.strides = fresh->lengths + ndim;
    fresh->release = release;
    fresh->context = context;
    fresh->plain = (ek_managed){tensor, fresh, end_plain};
    fresh->versioned = (ek_managed_versioned){{EK_DLPACK_MAJOR, EK_DLPACK_MINOR},
                                              fresh,
                                              end_versioned,
                                              read_only ? EK_DLPACK_READ_ONLY : 0,
                                              tensor};
    return fresh;
}

ek_status ek_dlpack_lend(const ek_array *array, int read_only, void (*release)(void *context),
                         void *context, struct DLManagedTensorVersioned **tensor)
{
    static const char call[] = "ek_dlpack_lend";
    ek_status status;
    EK_TRY(check_pointers(call, tensor, array, "array"));
    lent *made = make(call, array, read_only, release, context, &status);
    if (made)
        *tensor = (struct DLManagedTensorVersioned *)&made->versioned;
    return status;
}

ek_status ek_dlpack_lend_unversioned(const ek_array *array, void (*release)(void *context),
                                     void *context, struct DLManagedTensor **tensor)
{
    static const char call[] = "ek_dlpack_lend_unversioned";
    ek_status status;
    EK_TRY(check_pointers(call, tensor, array, "array"));
    lent *made = make(call, array, 0, release, context, &status);
    if (made)
        *tensor = (struct DLManagedTensor *)&made->plain;
    return status;
}

/* An array that was given away, with a queue of its own to free it in, since the one that made it
 * may be closed or busy in another thread by then. */
typedef struct given {
    ek_array array;
    ek_queue *queue;
} given;

static void free_given(void *context)
{
    given *self = context;
#if EK_HAVE_CUDA
    if (self->queue->variant == EK_CUDA)
        ek_cuda_wait_until_idle(ek_queue_device(self->queue));
#endif
    ek_array_free(self->queue, &self->array);
    ek_queue_close(self->queue);
    free(self);
}

static ek_status prepare(const char *call, ek_queue *queue, ek_array *array, given **made)
{
    ek_operand operand;
    if (!queue)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: queue is null", call);
    EK_TRY(ek_operand_init(call, "array", queue, array, &operand));
    given *fresh = malloc(sizeof *fresh);
    if (!fresh)
        return ek_fail(EK_OUT_OF_MEMORY, "%s: no host memory", call);
    ek_status status = ek_queue_open(ek_queue_device(queue), &fresh->queue);
    if (status != EK_OK) {
        free(fresh);
        return status;
    }
    fresh->array = *array;
    *made = fresh;
    return EK_OK;
}

/* The array is the tensor's, or it is still the caller's. */
static ek_status settle(given *made, ek_status lent, ek_array *array)
{
    if (lent == EK_OK) {
        memset(array, 0, sizeof *array);
        return EK_OK;
    }
    ek_queue_close(made->queue);
    free(made);
    return lent;
}

ek_status ek_dlpack_give(ek_queue *queue, ek_array *array, struct DLManagedTensorVersioned **tensor)
{
    static const char call[] = "ek_dlpack_give";
    given *made;
    EK_TRY(check_pointers(call, tensor, array, "array"));
    EK_TRY(prepare(call, queue, array, &made));
    return settle(made, ek_dlpack_lend(array, 0, free_given, made, tensor), array);
}

ek_status ek_dlpack_give_unversioned(ek_queue *queue, ek_array *array,
                                     struct DLManagedTensor **tensor)
{
    static const char call[] = "ek_dlpack_give_unversioned";
    given *made;
    EK_TRY(check_pointers(call, tensor, array, "array"));
    EK_TRY(prepare(call, queue, array, &made));
    return settle(made, ek_dlpack_lend_unversioned(array, free_given, made, tensor), array);
}
