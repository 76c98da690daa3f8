#include "cuda/run_rows.h"

#include <inttypes.h>
#include <string.h>

#include "integer.h"
#include "lanes.h"

int64_t ek_cuda_chunks(int64_t n)
{
    return n > EK_CHUNK ? ek_divide_up(n, EK_CHUNK) : 1;
}

int32_t ek_cuda_group(int64_t n)
{
    int32_t group = 1;
    while (group < 32 && group * EK_CUDA_PACK < n)
        group *= 2;
    return group;
}

int32_t ek_cuda_across(int64_t length, int32_t columns, int32_t most)
{
    int32_t across = 1;
    while (across < most && (int64_t)across * columns < length)
        across *= 2;
    return across;
}

bool ek_cuda_plane_of(const ek_rows *rows, ek_cuda_plane *plane)
{
    if (rows->kept_ndim > 2 || (rows->row_ndim > 1 && rows->n > 0))
        return false;
    memset(plane, 0, sizeof *plane);
    plane->x = rows->x;
    plane->out = rows->out;
    plane->n = rows->n;
    plane->chunks = ek_cuda_chunks(rows->n);
    plane->step = rows->row_ndim == 1 ? rows->row_x[0] : 1;
    plane->y = rows->y;
    plane->y_step = rows->row_ndim == 1 ? rows->row_y[0] : 1;
    plane->out_step = rows->out_step;
    plane->outer = plane->inner = 1;
    int32_t last = rows->kept_ndim - 1;
    if (last >= 0) {
        plane->inner = rows->kept_shape[last];
        plane->inner_x = rows->kept_x[last];
        plane->inner_y = rows->kept_y[last];
        plane->inner_out = rows->kept_out[last];
    }
    if (last == 1) {
        plane->outer = rows->kept_shape[0];
        plane->outer_x = rows->kept_x[0];
        plane->outer_y = rows->kept_y[0];
        plane->outer_out = rows->kept_out[0];
    }
    return true;
}

void ek_cuda_rows_of(const ek_rows *rows, ek_cuda_rows *args)
{
    size_t kept = (size_t)rows->kept_ndim * sizeof(int64_t);
    size_t row = (size_t)rows->row_ndim * sizeof(int64_t);
    args->x = rows->x;
    args->out = rows->out;
    args->from = args->parts = NULL;
    args->context = NULL;
    args->count = rows->count;
    args->n = rows->n;
    args->chunks = ek_cuda_chunks(rows->n);
    args->out_step = rows->out_step;
    args->divisor = ek_rows_divisor(rows);
    args->group = ek_cuda_group(rows->n);
    args->kept_ndim = rows->kept_ndim;
    args->row_ndim = rows->row_ndim;
    memcpy(args->kept_shape, rows->kept_shape, kept);
    memcpy(args->kept_x, rows->kept_x, kept);
    memcpy(args->kept_out, rows->kept_out, kept);
    memcpy(args->row_shape, rows->row_shape, row);
    memcpy(args->row_x, rows->row_x, row);
}

/* Bytes of one level's results. */
static size_t level_bytes(int64_t count, int64_t size)
{
    enum { ALIGN = 256 };
    return (size_t)(ek_divide_up(count * size, ALIGN) * ALIGN);
}

size_t ek_cuda_parts_bytes(const ek_rows *rows, int64_t size)
{
    size_t bytes = 0;
    for (int64_t n = rows->n; n > EK_CHUNK; n = ek_cuda_chunks(n))
        bytes += level_bytes(rows->count * ek_cuda_chunks(n), size);
    return bytes;
}

ek_status ek_cuda_launch_units(ek_queue *queue, const ek_cuda_kernels *kernels, int32_t index,
                               int64_t units, int64_t per_block, int32_t threads, void *args)
{
    return ek_cuda_launch_unit_clusters(queue, kernels, index, units, per_block, 1, threads, args);
}

ek_status ek_cuda_launch_unit_clusters(ek_queue *queue, const ek_cuda_kernels *kernels,
                                       int32_t index, int64_t units, int64_t per_cluster,
                                       int32_t cluster, int32_t threads, void *args)
{
    int64_t blocks = ek_divide_up(units, per_cluster) * cluster;
    if (blocks > INT32_MAX)
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: %" PRId64 " blocks are more than a launch can have",
                       kernels->names[index], blocks);
    ek_grid grid = {{(uint32_t)blocks, 1, 1}, {(uint32_t)threads, 1, 1}, 0};
    void *params[] = {args};
    return ek_cuda_launch_clusters(queue, kernels, index, &grid, cluster, params);
}

/* Bytes of an element of x: of two arrays, both are elements of a reduction. */
static int64_t element_size(const ek_cuda_plane *plane, int64_t in_size)
{
    return plane->y ? in_size / 2 : in_size;
}

static ek_status launch_columns(ek_queue *queue, const ek_cuda_reduction *reduction,
                                ek_cuda_plane *plane)
{
    int32_t columns = EK_CUDA_COLUMNS((int32_t)reduction->in_size, (int32_t)reduction->sizes.lane);
    int64_t size = element_size(plane, reduction->in_size), pack = size * columns;
    int64_t align = pack < 16 ? pack : 16;
    plane->packed = (uintptr_t)plane->x % (uintptr_t)align == 0 && plane->inner % columns == 0 &&
                    plane->step * size % align == 0 &&
                    (plane->outer == 1 || plane->outer_x * size % align == 0);
    if (plane->y && plane->inner_y != 0)
        plane->packed &= plane->inner_y == 1 && (uintptr_t)plane->y % (uintptr_t)align == 0 &&
                         plane->y_step * size % align == 0 &&
                         (plane->outer == 1 || plane->outer_y * size % align == 0);
    plane->across = ek_cuda_across(plane->inner, columns, EK_CUDA_ACROSS);
    plane->lanes = 1;
    while (plane->lanes < EK_CUDA_LANE_THREADS && plane->lanes * EK_CUDA_THREAD_LANES < plane->n)
        plane->lanes *= 2;
    int64_t tiles = ek_divide_up(plane->inner, plane->across * columns);
    return ek_cuda_launch_units(
        queue, reduction->kernels, reduction->kernel[EK_CUDA_COLUMNS_KERNEL],
        plane->outer * plane->chunks * tiles, EK_CUDA_ROWS_THREADS / (plane->across * plane->lanes),
        EK_CUDA_ROWS_THREADS, plane);
}

/* The least power of two that is at least n. */
static int64_t power_of_two(int64_t n)
{
    int64_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

/* Whether every row is aligned for loads of 16 bytes (of 8 where pairs are loaded), and short ones
 * fill them. */
static bool rows_are_packed(const ek_cuda_plane *plane, int64_t in_size)
{
    int64_t wide = EK_CUDA_WIDE(in_size), size = element_size(plane, in_size), bytes = wide * size;
    bool packed = (uintptr_t)plane->x % (uintptr_t)bytes == 0 &&
                  (plane->inner == 1 || plane->inner_x * size % bytes == 0) &&
                  (plane->outer == 1 || plane->outer_x * size % bytes == 0) &&
                  (plane->n > EK_LANES || plane->n % wide == 0);
    if (plane->y)
        packed &= plane->y_step == 1 && (uintptr_t)plane->y % (uintptr_t)bytes == 0 &&
                  (plane->inner == 1 || plane->inner_y * size % bytes == 0) &&
                  (plane->outer == 1 || plane->outer_y * size % bytes == 0);
    return packed;
}

/* Rows of up to EK_LANES elements. Where packs do not fit, or leave most of a thread's loads empty,
 * rows that lie one after the other are staged. */
static ek_status launch_short_rows(ek_queue *queue, const ek_cuda_reduction *reduction,
                                   ek_cuda_plane *plane, bool packed)
{
    enum { FULL_BYTES = 32 };
    int64_t size = reduction->in_size, n = plane->n, rows = plane->outer * plane->inner;
    /* (complex elements may be at half their size) */
    bool dense = !plane->y && n > 0 && (uintptr_t)plane->x % (uintptr_t)size == 0 &&
                 (plane->inner == 1 || plane->inner_x == n) &&
                 (plane->outer == 1 || plane->outer_x == plane->inner * n);
    int64_t per_block;
    if (dense && (!packed || n * size < FULL_BYTES)) {
        int64_t tile = EK_CUDA_STAGE_BYTES / (n * size);
        plane->form = EK_CUDA_SHORT_STAGED;
        plane->group = (int32_t)power_of_two(ek_divide_up(n, EK_CUDA_PACK));
        plane->tile = (int32_t)(tile < rows ? tile : rows);
        per_block = plane->tile;
    } else {
        int64_t own = packed ? EK_CUDA_OWN_SHORT(size, reduction->sizes.lane) : EK_CUDA_PACK;
        int64_t loads = packed ? own / EK_CUDA_WIDE(size) : own;
        int64_t ahead = packed ? EK_CUDA_PACKS_AHEAD(size) : EK_CUDA_SCALARS_AHEAD(size);
        plane->form = packed ? EK_CUDA_SHORT_PACKED : EK_CUDA_SHORT_SPREAD;
        plane->group = (int32_t)power_of_two(ek_divide_up(n, own));
        per_block = EK_CUDA_ROWS_THREADS / plane->group * EK_CUDA_SHORT_ROWS(ahead, loads);
    }
    return ek_cuda_launch_units(queue, reduction->kernels, reduction->kernel[EK_CUDA_ROWS_KERNEL],
                                rows, per_block, EK_CUDA_ROWS_THREADS, plane);
}

/* The counters that joining the results of each row's chunks takes, on all levels. */
static int64_t count_tickets(int64_t rows, int64_t chunks)
{
    int64_t tickets = 0;
    do {
        chunks = ek_divide_up(chunks, EK_CHUNK);
        tickets += rows * chunks;
    } while (chunks > 1);
    return tickets;
}

/* Rows of more than EK_LANES elements. True in `joined` if no results of chunks are left. */
static ek_status launch_chunks(ek_queue *queue, const ek_cuda_reduction *reduction,
                               ek_cuda_plane *plane, bool packed, bool *joined)
{
    /* Rows of a few kB fold more than they load, unless few threads have all lanes of one; they
     * must be many, or threads are missing elsewhere. */
    enum { NARROW = 1024, ROWS_OF_MULTIPROCESSOR = 64 };
    int64_t rows = plane->outer * plane->inner, own = EK_CUDA_PACK;
    plane->form = EK_CUDA_SPREAD;
    if (packed && plane->n <= NARROW &&
        rows >= ROWS_OF_MULTIPROCESSOR * ek_cuda_multiprocessors(queue)) {
        plane->form = EK_CUDA_NARROW;
        own = EK_CUDA_OWN_SHORT(reduction->in_size, reduction->sizes.lane);
    } else if (packed) {
        plane->form = EK_CUDA_WHOLE;
        own = EK_CUDA_OWN(reduction->in_size);
    }
    int64_t groups = EK_CUDA_ROWS_THREADS * own / EK_LANES;
    plane->slots = plane->chunks <= groups ? power_of_two(plane->chunks)
                                           : ek_divide_up(plane->chunks, groups) * groups;
    *joined = plane->slots <= groups;
    if (!*joined && count_tickets(rows, plane->chunks) <= EK_CUDA_TICKETS) {
        plane->tickets = ek_cuda_tickets(queue);
        *joined = true;
    }
    return ek_cuda_launch_units(queue, reduction->kernels, reduction->kernel[EK_CUDA_ROWS_KERNEL],
                                rows * plane->slots, groups, EK_CUDA_ROWS_THREADS, plane);
}

/* The elements to a result each, or to one for each chunk; then args->parts is not null. */
static ek_status launch_first(ek_queue *queue, const ek_cuda_reduction *reduction,
                              const ek_rows *rows, ek_cuda_rows *args)
{
    ek_cuda_plane plane;
    args->context = reduction->context;
    args->group = ek_cuda_group(args->n);
    if (ek_cuda_plane_of(rows, &plane)) {
        plane.parts = args->parts;
        plane.context = reduction->context;
        plane.divisor = args->divisor;
        if (rows->row_ndim == 1 && rows->n > 0 && plane.step != 1 && plane.inner_x == 1)
            return launch_columns(queue, reduction, &plane);
        if ((plane.step == 1 || rows->n == 0) && reduction->kernel[EK_CUDA_ROWS_KERNEL] >= 0) {
            bool joined = true, packed = rows_are_packed(&plane, reduction->in_size);
            EK_TRY(rows->n <= EK_LANES ? launch_short_rows(queue, reduction, &plane, packed)
                                       : launch_chunks(queue, reduction, &plane, packed, &joined));
            if (joined)
                args->parts = NULL;
            return EK_OK;
        }
    }
    return ek_cuda_launch_units(
        queue, reduction->kernels, reduction->kernel[EK_CUDA_STRIDED_KERNEL],
        args->count * args->chunks, EK_CUDA_ROWS_THREADS / args->group, EK_CUDA_ROWS_THREADS, args);
}

/* What ek_cuda_row_pairs has of the second input. */
static void set_second(const ek_rows *rows, ek_cuda_row_pairs *pairs)
{
    pairs->y = rows->y;
    memcpy(pairs->kept_y, rows->kept_y, (size_t)rows->kept_ndim * sizeof(int64_t));
    memcpy(pairs->row_y, rows->row_y, (size_t)rows->row_ndim * sizeof(int64_t));
}

ek_status ek_cuda_reduce_rows(ek_queue *queue, const ek_cuda_reduction *reduction,
                              const ek_rows *rows)
{
    ek_cuda_row_pairs pairs; /* large, so only what its dimensions need is set */
    ek_cuda_rows *args = &pairs.rows;
    char *room = reduction->parts;
    ek_cuda_rows_of(rows, args);
    args->parts = args->chunks > 1 ? room : NULL;
    set_second(rows, &pairs);
    EK_TRY(launch_first(queue, reduction, rows, args));
    while (args->parts) {
        room += level_bytes(args->count * args->chunks, reduction->sizes.part);
        args->from = args->parts;
        args->n = args->chunks;
        args->chunks = ek_cuda_chunks(args->n);
        args->parts = args->chunks > 1 ? room : NULL;
        args->group = ek_cuda_group(args->n);
        EK_TRY(ek_cuda_launch_units(queue, reduction->kernels,
                                    reduction->kernel[EK_CUDA_JOIN_KERNEL],
                                    args->count * args->chunks, EK_CUDA_ROWS_THREADS / args->group,
                                    EK_CUDA_ROWS_THREADS, args));
    }
    return EK_OK;
}

/* What the C types of a dtype's elements are aligned to. */
static size_t alignment(uint8_t dtype)
{
    size_t size = ek_dtype_size((ek_dtype)dtype);
    return dtype == EK_C64 || dtype == EK_C128 ? size / 2 : size;
}

ek_status ek_cuda_check_address(const ek_op_info *op, int32_t loop, const ek_rows *rows)
{
    char call[64];
    size_t in = alignment(op->loops[loop].in[0]), out = alignment(op->loops[loop].out[0]);
    bool x_fits = (uintptr_t)rows->x % in == 0, y_fits = (uintptr_t)rows->y % in == 0;
    if (EK_UNLIKELY(!x_fits || !y_fits || (uintptr_t)rows->out % out != 0))
        return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is at %p: must be a multiple of %d",
                       ek_rows_call(op, loop, call),
                       !x_fits   ? "x"
                       : !y_fits ? "y"
                                 : "out",
                       !x_fits   ? rows->x
                       : !y_fits ? rows->y
                                 : rows->out,
                       (int)(x_fits && y_fits ? out : in));
    return EK_OK;
}
