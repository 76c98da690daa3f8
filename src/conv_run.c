/* How a convolution becomes products of matrices, the same on every device. See docs/arithmetic.md
 * for the order of the sums; how much is unfolded at a time does not change it. */
#include <string.h>

#include "conv.h"
#include "integer.h"

/* Places of an image whose products are one chain in a filters' gradient. */
enum { PIECE = 4096, LINE = 256 };

static int64_t whole_lines(int64_t bytes)
{
    return ek_divide_up(bytes, LINE) * LINE;
}

ek_dtype ek_conv_sums(ek_dtype dtype)
{
    return dtype == EK_F64 ? EK_F64 : EK_F32;
}

static int64_t area(const int64_t *size)
{
    return size[0] * size[1];
}

bool ek_conv_empty(const ek_conv_call *call)
{
    switch (call->makes) {
    case EK_CONV_IMAGE:
        return call->batch * call->channels * area(call->image) == 0;
    case EK_CONV_RESULT:
        return call->batch * call->filters * area(call->result) == 0;
    default:
        return call->filters * call->channels * area(call->kernel) == 0;
    }
}

/* Channels of a group. */
static int64_t channels_of(const ek_conv_call *call)
{
    return call->channels / call->groups;
}

static int64_t filters_of(const ek_conv_call *call)
{
    return call->filters / call->groups;
}

/* An element of an array. */
static void *at(const ek_conv_call *call, int array, int64_t i, int64_t k)
{
    if (!call->data[array])
        return NULL;
    return (char *)call->data[array] + (i * call->step[array][0] + k * call->step[array][1]) *
                                           (int64_t)ek_dtype_size(call->dtype);
}

/* True if an array's rows lie one behind the other, so that places are evenly apart. */
static bool is_even(const ek_conv_call *call, int array, const int64_t *size)
{
    return size[0] == 1 || call->step[array][2] == size[1] * call->step[array][3];
}

static ek_gemm_problem product(ek_dtype dtype, int64_t m, int64_t n, int64_t k, int64_t batch)
{
    ek_gemm_problem problem = {.dtype = dtype, .m = m, .n = n, .k = k, .batch = batch};
    if (dtype == EK_F64)
        problem.alpha.f64 = 1;
    else
        problem.alpha.f32 = 1;
    problem.reads_ab = k > 0;
    return problem;
}

/* ---- y of x and filters, and x's gradient: out = matrix of filters * unfolded source */

/* What both have in common. */
typedef struct forward {
    int source, target;          /* arrays */
    int64_t channels, rows_of_a; /* of a group: of the source, of the target */
    const int64_t *grid;         /* rows and columns of the target */
    int64_t taps, k;             /* elements of a filter; columns of the matrix */
    bool packed, even;
    int64_t a_bytes;
    int64_t images, count; /* unfolded at a time */
} forward;

static forward plan_forward(const ek_conv_call *call, int64_t tile_bytes)
{
    bool transposed = call->makes == EK_CONV_IMAGE;
    const int64_t *step = call->step[EK_CONV_FILTERS], size = (int64_t)ek_dtype_size(call->dtype);
    forward f = {
        .source = transposed ? EK_CONV_RESULT : EK_CONV_IMAGE,
        .target = call->makes,
        .channels = transposed ? filters_of(call) : channels_of(call),
        .rows_of_a = transposed ? channels_of(call) : filters_of(call),
        .grid = transposed ? call->image : call->result,
        .taps = area(call->kernel),
    };
    f.k = f.channels * f.taps;
    f.packed = transposed || (call->kernel[1] > 1 && step[3] != 1) ||
               (call->kernel[0] > 1 && step[2] != call->kernel[1]) ||
               (f.channels > 1 && step[1] != f.taps) || (call->filters > 1 && step[0] < f.k);
    f.even = is_even(call, f.target, f.grid);
    f.a_bytes = f.packed ? whole_lines(call->groups * f.rows_of_a * f.k * size) : 0;
    int64_t places = f.even ? area(f.grid) : f.grid[1];
    int64_t bytes = (f.k * call->groups > 0 ? f.k * call->groups : 1) * size;
    int64_t fits = tile_bytes / bytes / 128 * 128;
    f.count = ek_smaller(places, fits > 128 ? fits : 128);
    f.images = 1;
    if (call->groups == 1 && f.count == area(f.grid))
        f.images = ek_smaller(call->batch, tile_bytes / (bytes * f.count));
    f.images = f.images > 0 ? f.images : 1;
    return f;
}

/* The filters as a matrix for each group, one behind the other, of rows for the target's channels.
 */
static ek_status pack_filters(const ek_conv_backend *backend, const ek_conv_call *call,
                              const forward *f, char *to)
{
    const int64_t *step = call->step[EK_CONV_FILTERS];
    bool transposed = call->makes == EK_CONV_IMAGE;
    int64_t groups = transposed ? call->groups : 1;
    for (int64_t group = 0; group < groups; group++) {
        ek_conv_pack pack = {
            .from = at(call, EK_CONV_FILTERS, group * filters_of(call), 0),
            .to = to + group * f->rows_of_a * f->k * (int64_t)ek_dtype_size(call->dtype),
            .length = {transposed ? f->rows_of_a : call->filters, f->channels, call->kernel[0],
                       call->kernel[1]},
            .step = {step[transposed], step[!transposed], step[2], step[3]},
        };
        EK_TRY(backend->pack(backend, call->dtype, &pack));
    }
    return EK_OK;
}

static ek_unfold unfolding(const ek_conv_call *call, int source, const int64_t *grid)
{
    bool transposed = source == EK_CONV_RESULT;
    const int64_t *size = transposed ? call->result : call->image;
    ek_unfold u = {.rows = size[0],
                   .columns = size[1],
                   .dilation = call->dilation,
                   .width = grid[1],
                   .transposed = transposed};
    memcpy(u.step, call->step[source], sizeof u.step);
    memcpy(u.kernel, call->kernel, sizeof u.kernel);
    memcpy(u.stride, call->stride, sizeof u.stride);
    memcpy(u.padding, call->padding, sizeof u.padding);
    return u;
}

static ek_status run_forward(const ek_conv_backend *backend, const ek_conv_call *call,
                             char *workspace)
{
    forward f = plan_forward(call, backend->tile_bytes);
    int64_t size = (int64_t)ek_dtype_size(call->dtype), places = area(f.grid), images = f.images;
    const int64_t *filter_step = call->step[EK_CONV_FILTERS], *to = call->step[f.target];
    ek_unfold u = unfolding(call, f.source, f.grid);
    u.channels = call->groups * f.channels;
    u.to = workspace + f.a_bytes;
    ek_gemm_problem p = product(call->dtype, f.rows_of_a, 0, f.k, 1);
    p.a.data = call->data[EK_CONV_FILTERS];
    p.a.row = f.packed || call->filters == 1 ? f.k : filter_step[0];
    p.a.column = p.b.column = 1;
    if (f.packed && f.k > 0) {
        p.a.data = workspace;
        EK_TRY(pack_filters(backend, call, &f, workspace));
    }
    p.b.data = u.to;
    p.c.row = to[1];
    p.c.column = to[3];
    for (int64_t image = 0; image < call->batch; image += images) {
        images = u.images = ek_smaller(f.images, call->batch - image);
        u.from = at(call, f.source, image, 0);
        for (int64_t place = 0; place < places; place += u.count) {
            u.first = place;
            u.count = ek_smaller(f.count, places - place);
            if (!f.even)
                u.count = ek_smaller(u.count, f.grid[1] - place % f.grid[1]);
            if (f.k > 0)
                EK_TRY(backend->unfold(backend, call->dtype, &u));
            p.n = p.b.row = u.count;
            p.b.batch = f.k * u.count;
            p.batch = call->groups > 1 ? call->groups : images;
            p.a.batch = call->groups > 1 ? f.rows_of_a * p.a.row : 0;
            p.c.batch = call->groups > 1 ? f.rows_of_a * to[1] : to[0];
            p.c.data = (char *)at(call, f.target, image, 0) +
                       (place / f.grid[1] * to[2] + place % f.grid[1] * to[3]) * size;
            EK_TRY(backend->gemm[call->dtype](backend->queue, &p));
        }
    }
    return EK_OK;
}

/* ---- the filters' gradient: a matrix of y's gradient * unfolded x, turned */

typedef struct backward {
    ek_dtype sums;
    int64_t size, n, k;      /* bytes of a sum; elements of a group's filters, of one filter */
    int64_t pieces, length;  /* of an image; places of one */
    int64_t images, at_once; /* images, and pieces of each, before their sums are joined */
    bool packed;
    int64_t part_bytes, total_bytes, dy_bytes, column_bytes;
} backward;

static backward plan_backward(const ek_conv_call *call, int64_t tile_bytes)
{
    int64_t places = area(call->result);
    backward b = {.sums = ek_conv_sums(call->dtype)};
    b.size = (int64_t)ek_dtype_size(b.sums);
    b.k = channels_of(call) * area(call->kernel);
    b.n = filters_of(call) * b.k;
    b.length = ek_smaller(places, PIECE);
    b.pieces = b.length > 0 ? ek_divide_up(places, b.length) : 0;
    b.packed = b.sums != call->dtype || !is_even(call, EK_CONV_RESULT, call->result);
    int64_t dy = b.packed ? filters_of(call) * b.length : 0;
    int64_t image = (b.k * b.length + dy + b.n * b.pieces) * b.size;
    b.images = image > 0 ? tile_bytes / image : 1;
    b.images = b.images < 1 ? 1 : ek_smaller(b.images, call->batch);
    int64_t rest = tile_bytes / b.size - b.k * b.length - dy;
    b.at_once = b.images > 1 || b.n == 0 ? b.pieces : rest / b.n;
    b.at_once = b.at_once < 1 ? 1 : ek_smaller(b.at_once, b.pieces);
    b.part_bytes = whole_lines(b.images * b.at_once * b.n * b.size);
    b.total_bytes = whole_lines(b.n * b.size);
    b.dy_bytes = whole_lines(b.images * dy * b.size);
    b.column_bytes = whole_lines(b.images * b.k * b.length * b.size);
    return b;
}

/* Rows of y's gradient, a filter each, for `count` places of so many images: where they are, or in
 * C order. */
static ek_status take_rows(const ek_conv_backend *backend, const ek_conv_call *call,
                           const backward *b, int64_t image, int64_t images, int64_t filter,
                           int64_t first, int64_t count, char *packed, ek_gemm_matrix *rows)
{
    const int64_t *step = call->step[EK_CONV_RESULT], width = call->result[1];
    const char *from = at(call, EK_CONV_RESULT, image, filter);
    int64_t size = (int64_t)ek_dtype_size(call->dtype), done = 0, part;
    if (!b->packed) {
        *rows = (ek_gemm_matrix){.data = (char *)from + first * step[3] * size,
                                 .row = step[1],
                                 .column = step[3],
                                 .batch = step[0]};
        return EK_OK;
    }
    *rows = (ek_gemm_matrix){
        .data = packed, .row = count, .column = 1, .batch = filters_of(call) * count};
    if (is_even(call, EK_CONV_RESULT, call->result)) {
        ek_conv_pack pack = {.from = from + first * step[3] * size,
                             .to = packed,
                             .length = {1, images, filters_of(call), count},
                             .step = {0, step[0], step[1], step[3]}};
        return backend->pack(backend, b->sums, &pack);
    }
    /* Row by row, and the filters of each, whose rows lie `count` apart, one by one. */
    for (; done < count; done += part) {
        int64_t row = (first + done) / width, column = (first + done) % width;
        part = ek_smaller(count - done, width - column);
        for (int64_t i = 0; i < images * filters_of(call); i++) {
            int64_t k = i % filters_of(call);
            ek_conv_pack pack = {
                .from = from + (i / filters_of(call) * step[0] + k * step[1] + row * step[2] +
                                column * step[3]) *
                                   size,
                .to = packed + (i * count + done) * b->size,
                .length = {1, 1, 1, part},
                .step = {0, 0, 0, step[3]},
            };
            EK_TRY(backend->pack(backend, b->sums, &pack));
        }
    }
    return EK_OK;
}

/* The sums of some pieces of some images, of one group. */
static ek_status run_pieces(const ek_conv_backend *backend, const ek_conv_call *call,
                            const backward *b, int64_t group, int64_t image, int64_t images,
                            int64_t piece, int64_t pieces, char *workspace)
{
    char *dy = workspace + b->part_bytes + b->total_bytes, *columns = dy + b->dy_bytes;
    int64_t places = area(call->result);
    ek_unfold u = unfolding(call, EK_CONV_IMAGE, call->result);
    u.from = at(call, EK_CONV_IMAGE, image, group * channels_of(call));
    u.to = columns;
    u.images = images;
    u.channels = channels_of(call);
    for (int64_t j = 0; j < pieces; j++) {
        u.first = (piece + j) * b->length;
        u.count = ek_smaller(b->length, places - u.first);
        ek_gemm_problem p = product(b->sums, filters_of(call), b->k, u.count, images);
        EK_TRY(backend->unfold(backend, b->sums, &u));
        EK_TRY(take_rows(backend, call, b, image, images, group * filters_of(call), u.first,
                         u.count, dy, &p.a));
        p.b =
            (ek_gemm_matrix){.data = columns, .row = 1, .column = u.count, .batch = b->k * u.count};
        p.c = (ek_gemm_matrix){.data = workspace + j * b->n * b->size,
                               .row = b->k,
                               .column = 1,
                               .batch = pieces * b->n};
        EK_TRY(backend->gemm[b->sums](backend->queue, &p));
    }
    return EK_OK;
}

static ek_status run_backward(const ek_conv_backend *backend, const ek_conv_call *call,
                              char *workspace)
{
    backward b = plan_backward(call, backend->tile_bytes);
    const int64_t *step = call->step[EK_CONV_FILTERS];
    for (int64_t group = 0; group < call->groups; group++) {
        ek_conv_join join = {.part = workspace, .total = workspace + b.part_bytes, .n = b.n};
        for (int64_t image = 0; image < call->batch; image += b.images) {
            int64_t images = ek_smaller(b.images, call->batch - image);
            for (int64_t piece = 0; piece < b.pieces; piece += b.at_once) {
                int64_t pieces = ek_smaller(b.at_once, b.pieces - piece);
                EK_TRY(
                    run_pieces(backend, call, &b, group, image, images, piece, pieces, workspace));
                join.parts = images * pieces;
                EK_TRY(backend->join(backend, b.sums, &join));
                join.resume = true;
            }
        }
        if (!join.resume) /* no image, or no place */
            EK_TRY(backend->join(backend, b.sums, &join));
        ek_conv_pack unpack = {
            .from = join.total,
            .to = at(call, EK_CONV_FILTERS, group * filters_of(call), 0),
            .length = {filters_of(call), channels_of(call), call->kernel[0], call->kernel[1]},
            .step = {step[0], step[1], step[2], step[3]},
        };
        EK_TRY(backend->unpack(backend, b.sums, &unpack));
    }
    return EK_OK;
}

/* ---- both */

int64_t ek_conv_workspace(const ek_conv_call *call, int64_t tile_bytes)
{
    if (call->makes == EK_CONV_FILTERS) {
        backward b = plan_backward(call, tile_bytes);
        return b.part_bytes + b.total_bytes + b.dy_bytes + b.column_bytes;
    }
    forward f = plan_forward(call, tile_bytes);
    return f.a_bytes +
           f.images * call->groups * f.k * f.count * (int64_t)ek_dtype_size(call->dtype);
}

ek_gemm_problem ek_conv_largest(const ek_conv_call *call, int64_t tile_bytes)
{
    if (call->makes == EK_CONV_FILTERS) {
        backward b = plan_backward(call, tile_bytes);
        return product(b.sums, filters_of(call), b.k, b.length, b.images);
    }
    forward f = plan_forward(call, tile_bytes);
    return product(call->dtype, f.rows_of_a, f.count, f.k,
                   call->groups > 1 ? call->groups : f.images);
}

ek_status ek_conv_run(const ek_conv_backend *backend, const ek_conv_call *call, void *workspace)
{
    return call->makes == EK_CONV_FILTERS ? run_backward(backend, call, workspace)
                                          : run_forward(backend, call, workspace);
}
