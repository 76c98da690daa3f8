/* Lookups on the CPU: all indices are checked, then rows are moved, or sorted by their targets and
 * joined to them one target after the other. */
#include "cpu/run_lookup.h"

#include <string.h>

#include "backend.h"
#include "cpu/record.h"
#include "cpu/tree.h"
#include "cpu/workspace.h"
#include "integer.h"

/* Elements of a line that a thread takes at a time; bits of a key that a pass sorts by. */
enum { PIECE = 8192, DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

static int64_t index_at(const ek_lookup *call, int64_t at)
{
    const void *indices = call->data[EK_LOOKUP_INDICES];
    return call->index_size == 4 ? ((const int32_t *)indices)[at] : ((const int64_t *)indices)[at];
}

static ek_status check_indices(const char *name, const ek_lookup *call)
{
    int64_t count = ek_lookup_count(call);
    for (int64_t place = 0; place < count; place++) {
        int64_t index = index_at(call, ek_lookup_at(call, place));
        if (EK_UNLIKELY(index < -call->n || index >= call->n))
            return ek_lookup_refuse(name, place, index, call->n);
    }
    return EK_OK;
}

/* ---- moving */

/* Elements on a line, each between a place of its own and one that its index says: element k is
 * k * line from `rows`, and k * table + place * table_row from `table`. */
typedef struct line {
    int64_t count, n, rows_step, table_step, table_row, index_step;
    char *rows, *table;
    const char *indices;
    int32_t mode;
} line;

#define EK_MOVE_LINE(type, index)                                                                  \
    static void take_##type##_##index(const line *l)                                               \
    {                                                                                              \
        const index *indices = (const index *)l->indices;                                          \
        const type *table = (const type *)l->table;                                                \
        type *rows = (type *)l->rows;                                                              \
        for (int64_t k = 0; k < l->count; k++)                                                     \
            rows[k * l->rows_step] =                                                               \
                table[k * l->table_step +                                                          \
                      ek_lookup_place(indices[k * l->index_step], l->n, l->mode) * l->table_row];  \
    }                                                                                              \
    static void put_##type##_##index(const line *l)                                                \
    {                                                                                              \
        const index *indices = (const index *)l->indices;                                          \
        const type *rows = (const type *)l->rows;                                                  \
        type *table = (type *)l->table;                                                            \
        for (int64_t k = 0; k < l->count; k++)                                                     \
            table[k * l->table_step + ek_lookup_place(indices[k * l->index_step], l->n, l->mode) * \
                                          l->table_row] = rows[k * l->rows_step];                  \
    }

EK_MOVE_LINE(uint8_t, int32_t)
EK_MOVE_LINE(uint16_t, int32_t)
EK_MOVE_LINE(uint32_t, int32_t)
EK_MOVE_LINE(uint64_t, int32_t)
EK_MOVE_LINE(ek_c128, int32_t)
EK_MOVE_LINE(uint8_t, int64_t)
EK_MOVE_LINE(uint16_t, int64_t)
EK_MOVE_LINE(uint32_t, int64_t)
EK_MOVE_LINE(uint64_t, int64_t)
EK_MOVE_LINE(ek_c128, int64_t)

typedef void line_fn(const line *line);

static line_fn *line_function(const ek_lookup *call, bool put)
{
    static line_fn *const functions[2][2][5] = {
        {{take_uint8_t_int32_t, take_uint16_t_int32_t, take_uint32_t_int32_t, take_uint64_t_int32_t,
          take_ek_c128_int32_t},
         {take_uint8_t_int64_t, take_uint16_t_int64_t, take_uint32_t_int64_t, take_uint64_t_int64_t,
          take_ek_c128_int64_t}},
        {{put_uint8_t_int32_t, put_uint16_t_int32_t, put_uint32_t_int32_t, put_uint64_t_int32_t,
          put_ek_c128_int32_t},
         {put_uint8_t_int64_t, put_uint16_t_int64_t, put_uint32_t_int64_t, put_uint64_t_int64_t,
          put_ek_c128_int64_t}},
    };
    return functions[put][call->index_size == 8][__builtin_ctz(call->size)];
}

/* The sides of a call that moves rows one way or the other. */
typedef struct mover {
    const ek_lookup *call;
    int rows, table; /* operands */
    line_fn *move;
    bool put;
} mover;

static char *element(const ek_lookup *call, int k, int64_t outer, int64_t row, int64_t inner)
{
    int64_t at =
        outer * call->outer_step[k] + row * call->row_step[k] + inner * call->inner_step[k];
    return (char *)call->data[k] + at * (k == EK_LOOKUP_INDICES ? call->index_size : call->size);
}

/* The elements of row j, each by an index of its own. */
static void move_row_along(const mover *m, int64_t outer, int64_t j)
{
    const ek_lookup *c = m->call;
    line line = {.count = c->inner,
                 .n = c->n,
                 .rows_step = c->inner_step[m->rows],
                 .table_step = c->inner_step[m->table],
                 .table_row = c->row_step[m->table],
                 .index_step = c->inner_step[EK_LOOKUP_INDICES],
                 .rows = element(c, m->rows, outer, j, 0),
                 .table = element(c, m->table, outer, 0, 0),
                 .indices = element(c, EK_LOOKUP_INDICES, outer, j, 0),
                 .mode = c->mode};
    m->move(&line);
}

/* Rows first to before `end`, of one element each. */
static void move_ones(const mover *m, int64_t outer, int64_t first, int64_t end)
{
    const ek_lookup *c = m->call;
    line line = {.count = end - first,
                 .n = c->n,
                 .rows_step = c->row_step[m->rows],
                 .table_row = c->row_step[m->table],
                 .index_step = c->row_step[EK_LOOKUP_INDICES],
                 .rows = element(c, m->rows, outer, first, 0),
                 .table = element(c, m->table, outer, 0, 0),
                 .indices = element(c, EK_LOOKUP_INDICES, outer, first, 0),
                 .mode = c->mode};
    m->move(&line);
}

/* n elements, one after the other. */
static void copy_elements(int64_t n, size_t size, char *to, int64_t to_step, const char *from,
                          int64_t from_step)
{
    if (to_step == 1 && from_step == 1) {
        memcpy(to, from, (size_t)n * size);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * to_step * (int64_t)size, from + i * from_step * (int64_t)size, size);
}

static void move_row(const mover *m, int64_t outer, int64_t j)
{
    const ek_lookup *c = m->call;
    int64_t index = index_at(c, j * c->row_step[EK_LOOKUP_INDICES]);
    char *row = element(c, m->rows, outer, j, 0);
    char *place = element(c, m->table, outer, ek_lookup_place(index, c->n, c->mode), 0);
    int64_t row_step = c->inner_step[m->rows], place_step = c->inner_step[m->table];
    if (m->put)
        copy_elements(c->inner, c->size, place, place_step, row, row_step);
    else
        copy_elements(c->inner, c->size, row, row_step, place, place_step);
}

static void move_rows(const mover *m, int64_t outer, int64_t first, int64_t end)
{
    if (m->call->inner == 1) {
        move_ones(m, outer, first, end);
        return;
    }
    for (int64_t j = first; j < end; j++) {
        if (m->call->along)
            move_row_along(m, outer, j);
        else
            move_row(m, outer, j);
    }
}

/* Where a target comes twice its last value must stay, so the rows of an outer part that are put
 * are one thread's. */
static void move_all(ek_queue *queue, const mover *m)
{
    const ek_lookup *c = m->call;
    int64_t bytes = c->outer * c->m * c->inner * (2 * c->size + c->index_size);
    int threads = ek_tree_threads(ek_queue_base_of(queue)->threads, bytes);
    int64_t piece = m->put ? c->m : PIECE / ek_smaller(PIECE, c->inner);
    int64_t pieces = ek_divide_up(c->m, piece);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t i = 0; i < c->outer * pieces; i++) {
        int64_t first = i % pieces * piece;
        move_rows(m, i / pieces, first, ek_smaller(first + piece, c->m));
    }
}

/* The table's elements to the output, where that is another array. */
static void copy_table(ek_queue *queue, const ek_lookup *c)
{
    if (c->data[EK_LOOKUP_OUT] == c->data[EK_LOOKUP_X])
        return;
    int64_t rows = c->outer * c->n;
    int threads = ek_tree_threads(ek_queue_base_of(queue)->threads, 2 * rows * c->inner * c->size);
    int64_t to = c->inner_step[EK_LOOKUP_OUT], from = c->inner_step[EK_LOOKUP_X];
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t i = 0; i < rows; i++)
        copy_elements(c->inner, c->size, element(c, EK_LOOKUP_OUT, i / c->n, i % c->n, 0), to,
                      element(c, EK_LOOKUP_X, i / c->n, i % c->n, 0), from);
}

/* ---- joining */

/* Values sorted by their targets, which keep their order otherwise. */
typedef struct sorted {
    int64_t count, targets;
    int64_t *key[2]; /* of a value: its target */
    int64_t *at[2];  /* where it lies, in elements */
    int64_t *first;  /* of each target, its first value; one more at the end */
    int64_t *to;     /* where the target lies */
    bool unsorted;   /* they stay as they are */
    void *room;      /* for joining them then */
} sorted;

static int64_t targets_of(const ek_lookup *c)
{
    return c->along ? c->outer * c->n * c->inner : c->n;
}

/* Whether targets are single elements that lie in one step, and few enough to have a chain each:
 * then nothing need be sorted. */
static bool goes_unsorted(const ek_lookup *c, int64_t count)
{
    bool ones = c->outer == 1 && c->inner == 1;
    bool dense = c->inner_step[EK_LOOKUP_OUT] == 1 && c->row_step[EK_LOOKUP_OUT] == c->inner &&
                 c->outer_step[EK_LOOKUP_OUT] == c->n * c->inner;
    return (ones || (c->along && dense)) && count <= UINT32_MAX && targets_of(c) / 4 <= count;
}

static ek_status make_room(ek_queue *queue, const ek_lookup *c, sorted *s)
{
    void *memory;
    s->count = ek_lookup_count(c);
    s->unsorted = goes_unsorted(c, s->count);
    size_t bytes = (size_t)s->count * 2 * sizeof(int64_t);
    bytes += s->unsorted ? (size_t)EK_LOOKUP_ROOM(s->count, targets_of(c))
                         : ((size_t)s->count * 4 + 1) * sizeof(int64_t);
    EK_TRY(ek_cpu_workspace(queue, bytes, &memory));
    int64_t *next = memory;
    s->key[0] = next;
    s->at[0] = next + s->count;
    s->room = next += 2 * s->count;
    if (!s->unsorted) {
        s->key[1] = next;
        s->at[1] = next + s->count;
        s->to = next + 2 * s->count;
        s->first = next + 3 * s->count;
    }
    return EK_OK;
}

static void find_targets(const ek_lookup *c, sorted *s)
{
    int64_t value = 0, rows = c->along ? c->outer * c->m : 1;
    int64_t *key = s->key[0], *at = s->at[0];
    const int64_t row_step = c->row_step[EK_LOOKUP_VALUES];
    if (!c->along) {
        for (int64_t j = 0; j < c->m; j++) {
            int64_t index = index_at(c, j * c->row_step[EK_LOOKUP_INDICES]);
            key[j] = ek_lookup_place(index, c->n, c->mode);
            at[j] = j * row_step;
        }
        return;
    }
    for (int64_t row = 0; row < rows; row++) {
        int64_t outer = row / c->m, j = row % c->m;
        for (int64_t i = 0; i < c->inner; i++, value++) {
            int64_t index = index_at(c, outer * c->outer_step[EK_LOOKUP_INDICES] +
                                            j * c->row_step[EK_LOOKUP_INDICES] +
                                            i * c->inner_step[EK_LOOKUP_INDICES]);
            key[value] = (outer * c->n + ek_lookup_place(index, c->n, c->mode)) * c->inner + i;
            at[value] = outer * c->outer_step[EK_LOOKUP_VALUES] + j * row_step +
                        i * c->inner_step[EK_LOOKUP_VALUES];
        }
    }
}

/* One pass of a radix sort, which keeps the order of equal digits. */
static void sort_by_digit(sorted *s, int shift)
{
    int64_t place[DIGITS] = {0}, sum = 0;
    for (int64_t i = 0; i < s->count; i++)
        place[(s->key[0][i] >> shift) & (DIGITS - 1)]++;
    for (int d = 0; d < DIGITS; d++) {
        int64_t count = place[d];
        place[d] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < s->count; i++) {
        int64_t to = place[(s->key[0][i] >> shift) & (DIGITS - 1)]++;
        s->key[1][to] = s->key[0][i];
        s->at[1][to] = s->at[0][i];
    }
    int64_t *key = s->key[0], *at = s->at[0];
    s->key[0] = s->key[1];
    s->at[0] = s->at[1];
    s->key[1] = key;
    s->at[1] = at;
}

static void find_segments(const ek_lookup *c, sorted *s)
{
    s->targets = 0;
    for (int64_t i = 0; i < s->count; i++) {
        int64_t key = s->key[0][i];
        if (i > 0 && key == s->key[0][i - 1])
            continue;
        int64_t row = c->along ? key / c->inner : key, outer = c->along ? row / c->n : 0;
        s->first[s->targets] = i;
        s->to[s->targets++] = outer * c->outer_step[EK_LOOKUP_OUT] +
                              (row - outer * c->n) * c->row_step[EK_LOOKUP_OUT] +
                              (c->along ? key % c->inner * c->inner_step[EK_LOOKUP_OUT] : 0);
    }
    s->first[s->targets] = s->count;
}

static void join_ones(const ek_lookup_kernels *kernels, const ek_lookup *c, const sorted *s,
                      int threads)
{
    int64_t pieces = ek_divide_up(s->targets, PIECE);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t i = 0; i < pieces; i++) {
        int64_t t = i * PIECE;
        kernels->fold_ones(ek_smaller(PIECE, s->targets - t), s->first + t, s->at[0],
                           c->data[EK_LOOKUP_VALUES], c->data[EK_LOOKUP_OUT], s->to + t);
    }
}

static void join_rows(const ek_lookup_kernels *kernels, const ek_lookup *c, const sorted *s,
                      int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t i = 0; i < c->outer * s->targets; i++) {
        int64_t t = i % s->targets, outer = i / s->targets;
        for (int64_t k = 0; k < c->inner; k += EK_LOOKUP_WIDTH)
            kernels->fold(s->first[t + 1] - s->first[t], s->at[0] + s->first[t],
                          element(c, EK_LOOKUP_VALUES, outer, 0, k),
                          ek_smaller(EK_LOOKUP_WIDTH, c->inner - k),
                          c->inner_step[EK_LOOKUP_VALUES],
                          element(c, EK_LOOKUP_OUT, outer, 0, k) + s->to[t] * c->size,
                          c->inner_step[EK_LOOKUP_OUT]);
    }
}

static void join(ek_queue *queue, const ek_lookup_kernels *kernels, const ek_lookup *c, sorted *s)
{
    int64_t keys = targets_of(c);
    int64_t bytes = c->outer * c->m * c->inner * (2 * c->size + c->index_size);
    int threads = ek_tree_threads(ek_queue_base_of(queue)->threads, bytes);
    find_targets(c, s);
    if (s->unsorted) {
        kernels->fold_all(s->count, s->key[0], s->at[0], c->data[EK_LOOKUP_VALUES], keys, s->room,
                          c->data[EK_LOOKUP_OUT], c->along ? 1 : c->row_step[EK_LOOKUP_OUT]);
        return;
    }
    for (int shift = 0; shift < 63 && (keys - 1) >> shift > 0; shift += DIGIT_BITS)
        sort_by_digit(s, shift);
    find_segments(c, s);
    if (c->along || (c->outer == 1 && c->inner == 1))
        join_ones(kernels, c, s, threads);
    else
        join_rows(kernels, c, s, threads);
}

static ek_status run_recorded(ek_queue *queue, const void *kernels, const void *call)
{
    return ek_cpu_lookup(queue, kernels, call);
}

ek_status ek_cpu_lookup(ek_queue *queue, const ek_lookup_kernels *kernels, const ek_lookup *call)
{
    if (EK_UNLIKELY(ek_recording(queue)))
        return ek_cpu_record(queue, run_recorded, kernels, call, sizeof *call);
    if (call->mode == EK_LOOKUP_RAISE)
        EK_TRY(check_indices(kernels->name, call));
    bool nothing = call->outer == 0 || call->m == 0 || call->inner == 0;
    sorted sorted;
    if (kernels->fold && !nothing)
        EK_TRY(make_room(queue, call, &sorted));
    if (kernels->scatters)
        copy_table(queue, call);
    if (nothing)
        return EK_OK;
    if (kernels->fold) {
        join(queue, kernels, call, &sorted);
        return EK_OK;
    }
    mover mover = {.call = call,
                   .rows = kernels->scatters ? EK_LOOKUP_VALUES : EK_LOOKUP_OUT,
                   .table = kernels->scatters ? EK_LOOKUP_OUT : EK_LOOKUP_X,
                   .move = line_function(call, kernels->scatters),
                   .put = kernels->scatters};
    move_all(queue, &mover);
    return EK_OK;
}
