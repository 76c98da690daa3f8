/* How a lookup is launched: indices are checked first where a bad one is refused; rows are then
 * moved by one kernel, or their targets sorted, in passes of EK_SORT_BITS bits, and the values of
 * each joined to it. */
#include <inttypes.h>

#include "cuda/launch.h"
#include "cuda/lookup_work.h"
#include "cuda/queue.h"
#include "integer.h"
#include "lookup.h"

enum { THREADS = 256, MOVED_AT_ONCE = 4, VECTOR = 16 };

/* Kernels by their place (templates/kinds/lookup/cuda.c.j2). */
enum { CHECK = 0, TAKE = 2, KEYS = 2, COUNT = 6, OFFSETS = 8, SPREAD = 10, COPY = 12, LOOPS = 17 };
enum { FOLD = 0, JOIN = 2, OF_LOOP = 4 };

typedef struct job {
    ek_queue *queue;
    const ek_cuda_kernels *kernels;
    const ek_op_info *op;
    ek_lookup call;
    ek_verdict verdict;
    bool index64;
} job;

/* A GPU ends its context over an address that is not a multiple of its element. */
static ek_status check_addresses(const ek_op_info *op, int32_t loop, const ek_lookup *call)
{
    char name[EK_TYPED_CALL_TEXT];
    for (int32_t k = 0; k <= op->inputs; k++) {
        size_t size = k == EK_LOOKUP_INDICES ? call->index_size : call->size;
        if ((uintptr_t)call->data[k] % size != 0)
            return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is at %p: must be a multiple of %d",
                           ek_typed_call(op, loop, name), ek_operand_name(op, k), call->data[k],
                           (int)size);
    }
    return EK_OK;
}

static ek_status launch(const job *j, int32_t kernel, int64_t threads, void **params)
{
    int64_t blocks = ek_smaller(ek_divide_up(threads, THREADS), INT32_MAX);
    ek_grid grid = {{(uint32_t)(blocks > 0 ? blocks : 1), 1, 1}, {THREADS, 1, 1}, 0};
    return ek_cuda_launch(j->queue, j->kernels, kernel, &grid, params);
}

/* The number of a call, and the word that its indices are judged in. */
static ek_status begin_verdict(job *j)
{
    enum { NUMBERS = (1 << (64 - EK_VERDICT_PLACE_BITS)) - 1 };
    ek_cuda_queue *cuda = ek_cuda_queue_of(j->queue);
    j->verdict.call = j->op->call;
    EK_TRY(ek_cuda_late(j->queue, j->op->call, &j->verdict.late));
    j->verdict.word = (unsigned long long *)ek_cuda_word(j->queue);
    if (cuda->judged == NUMBERS) { /* after 16 million calls */
        EK_CUDA_QUEUE_TRY(j->queue, j->op->call, cuMemsetD8Async,
                          ((CUdeviceptr)j->verdict.word, 0, sizeof *j->verdict.word,
                           ek_cuda_stream_of(j->queue)));
        cuda->judged = 0;
    }
    j->verdict.number = (uint64_t)++cuda->judged;
    return EK_OK;
}

static ek_status check_indices(job *j)
{
    int64_t count = ek_lookup_count(&j->call);
    EK_TRY(begin_verdict(j));
    void *params[] = {&j->call, &j->verdict};
    int64_t most = (int64_t)ek_cuda_multiprocessors(j->queue) * 8 * THREADS;
    return launch(j, CHECK + j->index64, ek_smaller(count, most), params);
}

/* Takes neighbouring elements of rows as one, of up to 16 bytes. */
static void widen(ek_lookup *c, int a, int b)
{
    const int operands[2] = {a, b};
    while (!c->along && c->size < VECTOR && c->inner % 2 == 0) {
        for (int i = 0; i < 2; i++) {
            int k = operands[i];
            if (c->inner_step[k] != 1 || c->row_step[k] % 2 != 0 || c->outer_step[k] % 2 != 0 ||
                (uintptr_t)c->data[k] % (2 * c->size) != 0)
                return;
        }
        for (int i = 0; i < 2; i++) {
            c->row_step[operands[i]] /= 2;
            c->outer_step[operands[i]] /= 2;
        }
        c->inner /= 2;
        c->size *= 2;
    }
}

static ek_status take(job *j)
{
    ek_lookup wide = j->call;
    widen(&wide, EK_LOOKUP_OUT, EK_LOOKUP_X);
    void *params[] = {&wide, &j->verdict};
    int64_t count = wide.outer * wide.m * wide.inner;
    return launch(j, TAKE + 2 * __builtin_ctz(wide.size) + j->index64,
                  ek_divide_up(count, MOVED_AT_ONCE), params);
}

static ek_status copy_table(job *j)
{
    ek_lookup wide = j->call;
    if (wide.data[EK_LOOKUP_OUT] == wide.data[EK_LOOKUP_X])
        return EK_OK;
    widen(&wide, EK_LOOKUP_OUT, EK_LOOKUP_X);
    void *params[] = {&wide, &j->verdict};
    return launch(j, COPY + __builtin_ctz(wide.size), wide.outer * wide.n * wide.inner, params);
}

/* The room that a call needs between its kernels, in parts. */
typedef struct room {
    void *key[2], *at[2], *counts, *totals, *head, *part;
} room;

static char *part_of(char **next, int64_t bytes)
{
    char *part = *next;
    *next += ek_divide_up(bytes, 256) * 256;
    return part;
}

static char *lay_out(char *begin, int64_t count, int64_t tiles, int64_t slots, int64_t word,
                     int64_t part_bytes, room *room)
{
    char *next = begin;
    for (int i = 0; i < 2; i++) {
        room->key[i] = part_of(&next, count * word);
        room->at[i] = part_of(&next, count * word);
    }
    room->counts = part_of(&next, tiles * EK_SORT_DIGITS * word);
    room->totals = part_of(&next, EK_SORT_DIGITS * word);
    room->head = part_of(&next, slots * word);
    room->part = part_of(&next, slots * part_bytes);
    return next;
}

/* Sorts the values by their targets, the smallest number of passes that tells all targets apart.
 * The sorted ones are in *sorted afterwards. */
static ek_status sort(job *j, const room *room, int64_t count, int64_t targets, bool word64,
                      int *sorted)
{
    int side = 0;
    int64_t tiles = ek_divide_up(count, EK_SORT_TILE);
    for (int shift = 0; shift == 0 || (shift < 63 && (targets - 1) >> shift > 0);
         shift += EK_SORT_BITS) {
        ek_sort pass = {.count = count,
                        .tiles = tiles,
                        .shift = shift,
                        .first = shift == 0,
                        .key = room->key[side],
                        .at = room->at[side],
                        .key_out = room->key[!side],
                        .at_out = room->at[!side],
                        .counts = room->counts,
                        .totals = room->totals};
        void *params[] = {&pass};
        EK_TRY(launch(j, COUNT + word64, tiles * THREADS, params));
        EK_TRY(launch(j, OFFSETS + word64, EK_SORT_DIGITS * THREADS, params));
        EK_TRY(launch(j, SPREAD + word64, tiles * THREADS, params));
        side = !side;
    }
    *sorted = side;
    return EK_OK;
}

/* Elements of a row that a thread joins at once: 16 bytes, where both sides are at their
 * boundaries. */
static int32_t joined_at_once(const ek_lookup *c)
{
    ek_lookup wide = *c;
    widen(&wide, EK_LOOKUP_OUT, EK_LOOKUP_VALUES);
    return wide.size == VECTOR ? VECTOR / c->size : 1;
}

static ek_status join(job *j, int32_t loop, ek_chains *chains, bool word64, bool last_stays)
{
    const ek_lookup *c = &j->call;
    int32_t first = LOOPS + OF_LOOP * loop + word64;
    int64_t rows = c->along ? 1 : c->outer * c->inner;
    void *params[] = {&j->call, &j->verdict, chains};
    EK_TRY(launch(j, first + FOLD, chains->count * (rows / chains->wide), params));
    for (int64_t distance = EK_LOOKUP_CHAIN; !last_stays && distance < chains->count;
         distance *= EK_LOOKUP_CHAIN) {
        chains->distance = distance;
        EK_TRY(launch(j, first + JOIN, chains->slots * rows, params));
    }
    return EK_OK;
}

/* Bytes of an accumulator: half types are added in float32. */
static int64_t accumulator_bytes(const job *j)
{
    return j->call.size < 4 ? 4 : j->call.size;
}

static ek_status scatter(job *j, int32_t loop, bool last_stays)
{
    const ek_lookup *c = &j->call;
    int64_t count = ek_lookup_count(c), targets = c->along ? c->outer * c->n * c->inner : c->n;
    bool word64 = targets > UINT32_MAX || count >= UINT32_MAX;
    int64_t word = word64 ? 8 : 4, tiles = ek_divide_up(count, EK_SORT_TILE);
    ek_chains chains = {.count = count, .wide = last_stays ? 1 : joined_at_once(c)};
    chains.slots = last_stays ? 0 : 2 * ek_divide_up(count, EK_LOOKUP_CHAIN);
    int64_t part_bytes = (c->along ? 1 : c->outer * c->inner) * accumulator_bytes(j);
    room room;
    void *memory;
    int64_t bytes = lay_out(NULL, count, tiles, chains.slots, word, part_bytes, &room) - (char *)0;
    EK_TRY(ek_cuda_workspace(j->queue, (size_t)bytes, &memory));
    lay_out(memory, count, tiles, chains.slots, word, part_bytes, &room);
    chains.head = room.head;
    chains.part = room.part;
    if (c->mode == EK_LOOKUP_RAISE) /* the workspace has its last address now */
        EK_TRY(check_indices(j));
    EK_TRY(copy_table(j));
    void *params[] = {&j->call, &j->verdict, &room.key[0], &chains};
    EK_TRY(launch(j, KEYS + 2 * j->index64 + word64, count, params));
    int sorted;
    EK_TRY(sort(j, &room, count, targets, word64, &sorted));
    chains.key = room.key[sorted];
    chains.at = room.at[sorted];
    return join(j, loop, &chains, word64, last_stays);
}

ek_status ek_cuda_lookup(ek_queue *queue, const ek_cuda_kernels *kernels, const ek_op_info *op,
                         int32_t loop, const ek_lookup *call)
{
    job j = {.queue = queue,
             .kernels = kernels,
             .op = op,
             .call = *call,
             .index64 = call->index_size == 8};
    bool takes = op->run == &ek_kind_take;
    EK_TRY(check_addresses(op, loop, call));
    EK_TRY(ek_cuda_check_late(queue));
    if (call->outer == 0 || call->inner == 0 || call->m == 0) {
        bool nothing = takes || call->outer == 0 || call->inner == 0 || call->n == 0;
        return nothing ? EK_OK : copy_table(&j);
    }
    if (!takes)
        return scatter(&j, loop, op->run == &ek_kind_put);
    if (call->mode == EK_LOOKUP_RAISE) {
        void *memory;
        EK_TRY(ek_cuda_workspace(queue, 1, &memory));
        EK_TRY(check_indices(&j));
    }
    return take(&j);
}
