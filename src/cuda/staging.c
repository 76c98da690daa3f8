/* Note [Staging]
 *
 * The driver copies pageable memory through pinned memory of its own, in one thread. Here the
 * threads of the queue do it, while the GPU fetches what they have brought before: measured on an
 * H200 with 16 cores, 256 MB come in at 48 GB/s with 8 threads instead of 7, and go out at 45
 * instead of 14. (Stores around the cache were no faster: what the GPU fetches is still there.) The
 * same threads gather what is scattered over the host, so a strided array costs no step more.
 *
 * A slot is filled piece after piece and marked by one event behind the last of them. Only when it
 * is full the next one is begun, and waited for; so small arrays pass without any wait. */
#include "cuda/staging.h"

#include <omp.h>
#include <stdlib.h>

#include "cpu/features.h"
#include "cpu/run_elementwise.h"
#include "cpu/stream.h"
#include "cuda/guard.h"
#include "einkorn/memory.h"

enum {
    SLOTS = 4,
    /* Measured: with 1 MB the threads meet too often (0.5 of the speed), 8 MB are no faster. */
    SLOT_BYTES = 4 << 20,
    /* The least memory of a slot; pinning costs a millisecond a megabyte. */
    LEAST_BYTES = 256 << 10,
    ALIGNMENT = 64,
    /* Bytes that a thread must move to be worth waking: some ten microseconds of its time. */
    THREAD_BYTES = 128 << 10,
};

typedef struct slot {
    char *memory;
    size_t bytes, used;
    CUevent passed; /* what was put there so far */
} slot;

struct ek_cuda_staging {
    slot slots[SLOTS];
    int current;
};

/* Room for some bytes, and the slot it is in. */
typedef struct room {
    slot *slot;
    char *memory;
} room;

/* ---- slots; the queue's context is current */

static ek_status make_memory(ek_device *device, slot *slot, size_t bytes)
{
    void *memory;
    size_t wanted = LEAST_BYTES;
    while (wanted < bytes)
        wanted *= 2;
    EK_TRY(ek_pinned_alloc(device, wanted, &memory));
    ek_pinned_free(device, slot->memory);
    slot->memory = memory;
    slot->bytes = wanted;
    return EK_OK;
}

/* Empties a slot: what is in it has passed, and there is memory for so many bytes. */
static ek_status begin_slot(ek_queue *queue, const char *call, slot *slot, size_t bytes)
{
    if (!slot->passed)
        EK_CUDA_QUEUE_TRY(queue, call, cuEventCreate, (&slot->passed, CU_EVENT_DISABLE_TIMING));
    else if (slot->used > 0)
        EK_CUDA_QUEUE_TRY(queue, call, cuEventSynchronize, (slot->passed));
    slot->used = 0;
    return slot->bytes < bytes ? make_memory(ek_queue_device(queue), slot, bytes) : EK_OK;
}

static ek_status take(ek_queue *queue, const char *call, size_t bytes, room *taken)
{
    ek_cuda_queue *cuda = ek_cuda_queue_of(queue);
    if (!cuda->staging) {
        cuda->staging = calloc(1, sizeof *cuda->staging);
        if (!cuda->staging)
            return ek_fail(EK_OUT_OF_MEMORY, "%s: no host memory", call);
    }
    struct ek_cuda_staging *staging = cuda->staging;
    slot *slot = &staging->slots[staging->current];
    if (slot->bytes - slot->used < bytes) {
        staging->current = (staging->current + 1) % SLOTS;
        slot = &staging->slots[staging->current];
        EK_TRY(begin_slot(queue, call, slot, bytes));
    }
    taken->slot = slot;
    taken->memory = slot->memory + slot->used;
    slot->used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    slot->used = slot->used < slot->bytes ? slot->used : slot->bytes;
    return EK_OK;
}

void ek_cuda_staging_free(ek_device *device, struct ek_cuda_staging *staging)
{
    for (int i = 0; i < SLOTS && staging; i++) {
        if (staging->slots[i].passed)
            ek_cu.cuEventDestroy(staging->slots[i].passed);
        ek_pinned_free(device, staging->slots[i].memory);
    }
    free(staging);
}

/* ---- pieces */

/* A walk through the layout, piece by piece: some steps along one dimension with all dimensions
 * inside it. */
typedef struct walk {
    const ek_layout *layout;
    int64_t element;
    int32_t d;     /* the dimension that is cut */
    int64_t inner; /* elements of one step */
    int64_t steps; /* of a whole piece */
    int64_t done;  /* elements */
} walk;

static walk begin_walk(const ek_layout *layout, int64_t element, int64_t most)
{
    walk w = {.layout = layout, .element = element, .d = layout->ndim - 1, .inner = 1};
    while (w.d > 0 && w.inner * layout->shape[w.d] <= most)
        w.inner *= layout->shape[w.d--];
    w.steps = most / w.inner;
    return w;
}

/* The next piece: layout of the host's part, the elements, the device's address. False: no more. */
static bool next_piece(walk *w, ek_layout *piece, char **device)
{
    const ek_layout *all = w->layout;
    if (w->done == all->size)
        return false;
    int64_t length = all->ndim > 0 ? all->shape[w->d] : 1;
    int64_t step = w->done / w->inner, first = step % length, offset;
    int64_t steps = length - first < w->steps ? length - first : w->steps;
    offset = all->ndim > 0 ? first * all->stride[w->d][1] : 0;
    step /= length;
    for (int32_t d = w->d - 1; d >= 0; d--) {
        offset += step % all->shape[d] * all->stride[d][1];
        step /= all->shape[d];
    }
    piece->operands = 2;
    piece->ndim = all->ndim > 0 ? all->ndim - w->d : 0;
    piece->size = steps * w->inner;
    for (int32_t d = 0; d < piece->ndim; d++) {
        piece->shape[d] = d ? all->shape[w->d + d] : steps;
        piece->stride[d][0] = all->stride[w->d + d][0];
        piece->stride[d][1] = all->stride[w->d + d][1];
    }
    piece->data[1] = (char *)all->data[1] + offset * w->element;
    *device = (char *)all->data[0] + w->done * w->element;
    w->done += piece->size;
    return true;
}

/* Part `part` of `parts` of a piece between the host and its room, in the calling thread. */
static void copy_part(const ek_layout *piece, char *memory, int64_t element, bool to_device,
                      int64_t part, int64_t parts)
{
    const uint8_t size[2] = {(uint8_t)element, (uint8_t)element};
    ek_queue_base host = {.head = {.variant = ek_cpu_best_variant()}, .threads = 1};
    ek_layout mine = *piece;
    char *side[2] = {memory, piece->data[1]}; /* the room's, the host's */
    int room = to_device ? 0 : 1;
    if (piece->ndim > 0) {
        int64_t first = piece->shape[0] * part / parts;
        mine.shape[0] = piece->shape[0] * (part + 1) / parts - first;
        mine.size = piece->size / piece->shape[0] * mine.shape[0];
        for (int i = 0; i < 2; i++)
            side[i] += first * piece->stride[0][i] * element;
    }
    for (int i = 0; i < 2; i++) {
        mine.data[i == 0 ? room : 1 - room] = side[i];
        for (int32_t d = 0; d < piece->ndim; d++)
            mine.stride[d][i == 0 ? room : 1 - room] = piece->stride[d][i];
    }
    if (mine.size > 0)
        ek_cpu_elementwise_layout(&host.head, NULL, &mine, size, NULL);
}

/* Threads for a piece: by the bytes that pass through the caches, where an element far from the
 * next one brings its whole line. */
static int threads_for(const ek_queue *queue, const ek_layout *piece, int64_t element)
{
    int64_t step = piece->ndim > 0 ? piece->stride[piece->ndim - 1][1] * element : element;
    int64_t line = step < 0 ? -step : step;
    line = line < element ? element : (line < EK_LINE ? line : EK_LINE);
    int64_t useful = piece->size * (element + line) / THREAD_BYTES;
    int64_t most = ek_queue_threads(queue);
    if (piece->ndim > 0 && piece->shape[0] < most)
        most = piece->shape[0];
    useful = useful < most ? useful : most;
    return piece->ndim == 0 || useful < 1 ? 1 : (int)useful;
}

/* Copies between a piece of the host and its room, with the queue's threads. */
static void copy_piece(const ek_queue *queue, const ek_layout *piece, char *memory, int64_t element,
                       bool to_device)
{
    int threads = threads_for(queue, piece, element);
    if (threads == 1) {
        copy_part(piece, memory, element, to_device, 0, 1);
        return;
    }
#pragma omp parallel num_threads(threads)
    copy_part(piece, memory, element, to_device, omp_get_thread_num(), omp_get_num_threads());
}

/* Elements of a piece: few enough that the threads and the GPU work at the same time. */
static int64_t piece_elements(const ek_layout *layout, int64_t element)
{
    int64_t bytes = layout->size * element / SLOTS;
    if (bytes < LEAST_BYTES)
        bytes = LEAST_BYTES;
    return (bytes < SLOT_BYTES ? bytes : SLOT_BYTES) / element;
}

static ek_status give(ek_queue *queue, const char *call, const room *room, void *dst,
                      const void *src, int64_t bytes)
{
    CUstream stream = ek_cuda_stream_of(queue);
    EK_CUDA_QUEUE_TRY(queue, call, cuMemcpyAsync,
                      ((CUdeviceptr)dst, (CUdeviceptr)src, (size_t)bytes, stream));
    EK_CUDA_QUEUE_TRY(queue, call, cuEventRecord, (room->slot->passed, stream));
    return EK_OK;
}

static ek_status stage_in(ek_queue *queue, const char *call, walk *walk)
{
    ek_layout piece;
    char *device;
    while (next_piece(walk, &piece, &device)) {
        int64_t bytes = piece.size * walk->element;
        room room;
        EK_TRY(take(queue, call, (size_t)bytes, &room));
        copy_piece(queue, &piece, room.memory, walk->element, true);
        EK_TRY(give(queue, call, &room, device, room.memory, bytes));
    }
    return EK_OK;
}

/* Pieces on their way out of the device, the oldest first. */
typedef struct under_way {
    struct {
        ek_layout piece;
        room room;
    } pieces[SLOTS - 1]; /* so that a piece that is begun never waits for one of these */
    int first, count;
} under_way;

static ek_status begin_out(ek_queue *queue, const char *call, walk *walk, under_way *all,
                           bool *more)
{
    int at = (all->first + all->count) % (SLOTS - 1);
    char *device;
    *more = next_piece(walk, &all->pieces[at].piece, &device);
    if (!*more)
        return EK_OK;
    int64_t bytes = all->pieces[at].piece.size * walk->element;
    room *room = &all->pieces[at].room;
    EK_TRY(take(queue, call, (size_t)bytes, room));
    EK_TRY(give(queue, call, room, room->memory, device, bytes));
    all->count++;
    return EK_OK;
}

static ek_status end_out(ek_queue *queue, const char *call, const walk *walk, under_way *all)
{
    const room *room = &all->pieces[all->first].room;
    EK_CUDA_QUEUE_TRY(queue, call, cuEventSynchronize, (room->slot->passed));
    copy_piece(queue, &all->pieces[all->first].piece, room->memory, walk->element, false);
    all->first = (all->first + 1) % (SLOTS - 1);
    all->count--;
    return EK_OK;
}

static ek_status stage_out(ek_queue *queue, const char *call, walk *walk)
{
    under_way all;
    bool more = true;
    all.first = all.count = 0;
    do {
        while (more && all.count < SLOTS - 1)
            EK_TRY(begin_out(queue, call, walk, &all, &more));
        if (all.count > 0)
            EK_TRY(end_out(queue, call, walk, &all));
    } while (all.count > 0);
    return EK_OK;
}

ek_status ek_cuda_stage(ek_queue *queue, const char *call, const ek_layout *layout, int64_t element,
                        bool to_device)
{
    const ek_device *device = ek_queue_base_of(queue)->device;
    walk walk = begin_walk(layout, element, piece_elements(layout, element));
    ek_cuda_guard guard;
    EK_TRY(ek_cuda_guard_enter(call, device, &guard));
    ek_status status = to_device ? stage_in(queue, call, &walk) : stage_out(queue, call, &walk);
    /* Whatever is under way must not pass through a slot that others have got. */
    if (status != EK_OK)
        ek_cu.cuStreamSynchronize(ek_cuda_stream_of(queue));
    ek_cuda_guard_leave(&guard);
    return status != EK_OK ? status : ek_cuda_given(queue, "copy");
}
