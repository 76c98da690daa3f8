/* Note [Copies between GPUs]
 *
 * Where GPUs cannot reach each other's memory, drivers were seen to copy from one to the other
 * without an error and with wrong values, and so they were where a bridge or a board was not
 * healthy. So a queue tries the way once before it relies on it: some bytes there and back. If they
 * do not arrive, or the driver says that there is no way, copies are relayed: one GPU writes pieces
 * to pinned memory and the other fetches them, ordered by events, so that nothing waits but the two
 * queues. Access of the devices' pools is left as it is; changing it has broken copies, too. */
#include "cuda/away.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/guard.h"
#include "einkorn/memory.h"

static const char call[] = "ek_copy";

enum {
    SLOTS = 2,
    SLOT_BYTES = 4 << 20,
    TRIED_BYTES = 256,
};

/* Pinned memory on the way. The marks are of this queue's device and of the other. */
typedef struct slot {
    char *memory;
    CUevent here, there;
} slot;

typedef struct ek_cuda_relay {
    slot slots[SLOTS];
    int next;
} relay;

/* ---- making it */

static ek_status make_event(const ek_device *device, CUevent *event)
{
    ek_cuda_guard guard;
    EK_TRY(ek_cuda_guard_enter(call, device, &guard));
    CUresult result = ek_cu.cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
    ek_cuda_guard_leave(&guard);
    return result == CUDA_SUCCESS ? EK_OK : ek_cuda_fail(call, "cuEventCreate", result);
}

static ek_status make_slot(ek_device *here, const ek_device *there, slot *slot)
{
    EK_TRY(make_event(here, &slot->here));
    EK_TRY(make_event(there, &slot->there));
    void *memory;
    EK_TRY(ek_pinned_alloc(here, SLOT_BYTES, &memory));
    slot->memory = memory;
    return EK_OK;
}

static ek_status make_relay(ek_device *here, const ek_device *there, ek_cuda_away *away)
{
    away->relay = calloc(1, sizeof *away->relay);
    if (!away->relay)
        return ek_fail(EK_OUT_OF_MEMORY, "%s: no host memory", call);
    for (int i = 0; i < SLOTS; i++)
        EK_TRY(make_slot(here, there, &away->relay->slots[i]));
    return EK_OK;
}

static CUcontext context_of(const ek_queue *queue)
{
    return ek_cuda_device_of(ek_queue_base_of(queue)->device)->context;
}

/* Bytes from one queue's GPU to the other's, in the order of `queue`, which is one of them. */
static CUresult copy_direct(ek_queue *queue, void *dst, const ek_queue *to, const void *src,
                            const ek_queue *from, size_t bytes)
{
    return ek_cu.cuMemcpyPeerAsync((CUdeviceptr)dst, context_of(to), (CUdeviceptr)src,
                                   context_of(from), bytes, ek_cuda_stream_of(queue));
}

/* Sends `pinned` through both GPUs and back behind itself: through near[0] and far to near[1]. */
static bool arrives(ek_queue *queue, const ek_queue *other, char *near, char *far, char *pinned)
{
    CUstream stream = ek_cuda_stream_of(queue);
    ek_cuda_guard guard;
    for (int i = 0; i < TRIED_BYTES; i++) {
        pinned[i] = (char)(7 * i + 3);
        pinned[TRIED_BYTES + i] = 0;
    }
    if (ek_cuda_guard_enter(call, ek_queue_base_of(queue)->device, &guard) != EK_OK)
        return false;
    bool given =
        ek_cu.cuMemcpyAsync((CUdeviceptr)near, (CUdeviceptr)pinned, TRIED_BYTES, stream) ==
            CUDA_SUCCESS &&
        copy_direct(queue, far, other, near, queue, TRIED_BYTES) == CUDA_SUCCESS &&
        copy_direct(queue, near + TRIED_BYTES, queue, far, other, TRIED_BYTES) == CUDA_SUCCESS &&
        ek_cu.cuMemcpyAsync((CUdeviceptr)(pinned + TRIED_BYTES), (CUdeviceptr)(near + TRIED_BYTES),
                            TRIED_BYTES, stream) == CUDA_SUCCESS;
    bool done = ek_cu.cuStreamSynchronize(stream) == CUDA_SUCCESS;
    ek_cuda_guard_leave(&guard);
    return given && done && memcmp(pinned, pinned + TRIED_BYTES, TRIED_BYTES) == 0;
}

static ek_status try_direct(ek_queue *queue, ek_cuda_away *away)
{
    ek_queue *other = away->queue;
    ek_device *here = ek_queue_device(queue);
    void *near = NULL, *far = NULL, *pinned = NULL;
    ek_status status = ek_pinned_alloc(here, 2 * TRIED_BYTES, &pinned);
    if (status == EK_OK)
        status = ek_alloc(queue, 2 * TRIED_BYTES, &near);
    if (status == EK_OK)
        status = ek_alloc(other, TRIED_BYTES, &far);
    if (status == EK_OK)
        status = ek_cuda_queue_sync(other);
    if (status == EK_OK)
        away->direct = arrives(queue, other, near, far, pinned);
    ek_free(other, far);
    ek_free(queue, near);
    ek_pinned_free(here, pinned);
    return status;
}

static bool can_access(const ek_device *from, const ek_device *to)
{
    int can = 0;
    return ek_cu.cuDeviceCanAccessPeer(&can, ek_cuda_device_of(from)->device,
                                       ek_cuda_device_of(to)->device) == CUDA_SUCCESS &&
           can;
}

static ek_status make(ek_queue *queue, ek_device *there, ek_cuda_away *away)
{
    ek_device *here = ek_queue_device(queue);
    EK_TRY(ek_queue_make(there, NULL, &away->queue));
    EK_TRY(make_event(here, &away->here));
    EK_TRY(make_event(there, &away->there));
    if (can_access(here, there) && can_access(there, here))
        EK_TRY(try_direct(queue, away));
    return away->direct ? EK_OK : make_relay(here, there, away);
}

ek_status ek_cuda_away_get(ek_queue *queue, int32_t index, ek_cuda_away **away)
{
    ek_cuda_queue *cuda = ek_cuda_queue_of(queue);
    ek_device *there;
    char name[24];
    for (*away = cuda->away; *away; *away = (*away)->next) {
        if (ek_queue_device((*away)->queue)->index == index)
            return EK_OK;
    }
    snprintf(name, sizeof name, "cuda:%d", (int)index);
    ek_cuda_away *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return ek_fail(EK_OUT_OF_MEMORY, "%s: no host memory", call);
    ek_status status = ek_device_open(name, &there);
    if (status == EK_OK) {
        status = make(queue, there, fresh);
        ek_device_close(there); /* its queue keeps it */
    }
    if (status != EK_OK) {
        ek_cuda_away_free(ek_queue_device(queue), fresh);
        return status;
    }
    fresh->next = cuda->away;
    cuda->away = *away = fresh;
    return EK_OK;
}

void ek_cuda_away_free(ek_device *here, ek_cuda_away *away)
{
    while (away) {
        ek_cuda_away *gone = away;
        away = gone->next;
        if (gone->queue)
            ek_cu.cuStreamSynchronize(ek_cuda_stream_of(gone->queue));
        for (int i = 0; i < SLOTS && gone->relay; i++) {
            const slot *slot = &gone->relay->slots[i];
            ek_pinned_free(here, slot->memory);
            if (slot->here)
                ek_cu.cuEventDestroy(slot->here);
            if (slot->there)
                ek_cu.cuEventDestroy(slot->there);
        }
        free(gone->relay);
        if (gone->here)
            ek_cu.cuEventDestroy(gone->here);
        if (gone->there)
            ek_cu.cuEventDestroy(gone->there);
        ek_queue_close(gone->queue);
        free(gone);
    }
}

/* ---- using it */

/* Work that `behind` is told next comes behind all that `queue` was told. */
static ek_status order(ek_queue *queue, CUevent mark, ek_queue *behind)
{
    EK_CUDA_QUEUE_TRY(queue, call, cuEventRecord, (mark, ek_cuda_stream_of(queue)));
    EK_CUDA_QUEUE_TRY(behind, call, cuStreamWaitEvent,
                      (ek_cuda_stream_of(behind), mark, CU_EVENT_WAIT_DEFAULT));
    return EK_OK;
}

ek_status ek_cuda_away_begin(ek_queue *queue, const ek_cuda_away *away)
{
    return order(queue, away->here, away->queue);
}

ek_status ek_cuda_away_end(ek_queue *queue, const ek_cuda_away *away)
{
    return order(away->queue, away->there, queue);
}

/* One end of a relayed copy. */
static ek_status fetch(ek_queue *queue, void *dst, const void *src, size_t bytes)
{
    ek_cuda_guard guard;
    EK_TRY(ek_cuda_guard_enter(call, ek_queue_base_of(queue)->device, &guard));
    CUresult result =
        ek_cu.cuMemcpyAsync((CUdeviceptr)dst, (CUdeviceptr)src, bytes, ek_cuda_stream_of(queue));
    ek_cuda_guard_leave(&guard);
    if (result != CUDA_SUCCESS)
        return ek_cuda_queue_fail(queue, call, "cuMemcpyAsync", result);
    return EK_OK;
}

/* A piece through a slot: written by one queue, fetched by the other, then free for the next. */
static ek_status relay_piece(ek_queue *from, ek_queue *to, CUevent written, CUevent fetched,
                             char *memory, void *dst, const void *src, size_t bytes)
{
    EK_CUDA_QUEUE_TRY(from, call, cuStreamWaitEvent,
                      (ek_cuda_stream_of(from), fetched, CU_EVENT_WAIT_DEFAULT));
    EK_TRY(fetch(from, memory, src, bytes));
    EK_TRY(order(from, written, to));
    EK_TRY(fetch(to, dst, memory, bytes));
    EK_CUDA_QUEUE_TRY(to, call, cuEventRecord, (fetched, ek_cuda_stream_of(to)));
    return EK_OK;
}

static ek_status copy_relayed(ek_queue *queue, ek_cuda_away *away, char *dst, const char *src,
                              size_t bytes, bool to_away)
{
    ek_queue *from = to_away ? queue : away->queue, *to = to_away ? away->queue : queue;
    for (size_t done = 0; done < bytes; done += SLOT_BYTES) {
        size_t part = bytes - done < SLOT_BYTES ? bytes - done : SLOT_BYTES;
        const slot *slot = &away->relay->slots[away->relay->next];
        CUevent written = to_away ? slot->here : slot->there;
        CUevent fetched = to_away ? slot->there : slot->here;
        EK_TRY(relay_piece(from, to, written, fetched, slot->memory, dst + done, src + done, part));
        away->relay->next = (away->relay->next + 1) % SLOTS;
    }
    return EK_OK;
}

ek_status ek_cuda_away_copy(ek_queue *queue, ek_cuda_away *away, void *dst, const void *src,
                            size_t bytes, bool to_away)
{
    if (!away->direct)
        return copy_relayed(queue, away, dst, src, bytes, to_away);
    const ek_queue *from = to_away ? queue : away->queue, *to = to_away ? away->queue : queue;
    EK_TRY(ek_cuda_away_end(queue, away)); /* what it did before comes first */
    ek_cuda_guard guard;
    EK_TRY(ek_cuda_guard_enter(call, ek_queue_base_of(queue)->device, &guard));
    CUresult result = copy_direct(queue, dst, to, src, from, bytes);
    ek_cuda_guard_leave(&guard);
    if (result != CUDA_SUCCESS)
        return ek_cuda_queue_fail(queue, call, "cuMemcpyPeerAsync", result);
    return ek_cuda_away_begin(queue, away);
}
