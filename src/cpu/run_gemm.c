/* How an exact product is cut up on the CPU.
 *
 * Note [The order of an exact product]
 *
 * Each element of C is one chain of fma over k, whatever the cutting. C is cut into blocks whose
 * sums are kept in tiles; for a block, k is cut into spans, and after each span the tiles hold the
 * chains so far, in full precision, to be taken up by the next. Threads share out panels to pack
 * and then tiles to compute; none ever adds to what another made. */
#include <omp.h>
#include <stdatomic.h>
#include <stdint.h>

#include "cpu/record.h"
#include "cpu/run_gemm.h"
#include "cpu/threads.h"
#include "cpu/workspace.h"
#include "integer.h"

enum {
    /* k of a span: a panel of B (two registers for each k) and one of A fit the first-level cache.
     */
    SPAN = 256,
    /* Rows of a job: their panels of A (4 or 8 bytes a number) take a fraction of the second-level
     * cache, while panels of B pass through the first. */
    JOB_ROWS = 168,
    JOB_PANELS = 8,
    /* The most bytes of B, gaps between its rows included, that are read where they are: half of a
     * second-level cache of today. */
    DIRECT_BYTES = 512 << 10,
    /* Bytes of the tiles of a block when there is more than one span. */
    BLOCK_BYTES = 16 << 20,
    /* Multiplications below which a second thread costs more than it brings. */
    PARALLEL_WORK = 1024 * 1024,
    LINE = 64,
};

static size_t whole_lines(int64_t bytes)
{
    return (size_t)ek_divide_up(bytes, LINE) * LINE;
}

/* How a problem is cut: the same for every matrix of a batch. */
typedef struct plan {
    const ek_gemm_kernel *kernel;
    const ek_gemm_problem *problem;
    int64_t element; /* bytes of an element in memory */
    int64_t k;       /* 0 if A and B are not to be read */
    int64_t span;    /* k of a span; the last may have less */
    int64_t block_rows, block_columns;
    bool b_in_place;                /* whole panels of B are read where they are */
    size_t a_bytes, b_bytes, bytes; /* of the workspace: panels of A, of B, all with the tiles */
} plan;

/* One thread of a team that works on one matrix. */
typedef struct member {
    int threads;
    _Atomic int64_t *tickets; /* shared by the team; work is taken in order of tickets */
    int64_t first;            /* ticket of the present step's first piece of work */
} member;

/* The next piece of `count`, or false if all are taken. */
static bool take(member *self, int64_t count, int64_t *piece)
{
    if (self->threads == 1)
        return ++*piece < count;
    *piece = atomic_fetch_add_explicit(self->tickets, 1, memory_order_relaxed) - self->first;
    return *piece < count;
}

/* Ends a step: each thread has drawn one ticket past the last piece. */
static void end_step(member *self, int64_t count)
{
    if (self->threads == 1)
        return;
    self->first += count + self->threads;
#pragma omp barrier
}

/* A block of C and a span of k. */
typedef struct part {
    char *a, *b, *c; /* elements of the matrices where the part starts */
    char *a_panels, *b_panels, *tiles;
    int64_t rows, columns, k;
    int64_t row_panels, column_panels;
    bool first, last; /* of the spans */
} part;

static void pack(const plan *plan, const part *part, int64_t piece)
{
    const ek_gemm_kernel *kernel = plan->kernel;
    const ek_gemm_matrix *a = &plan->problem->a, *b = &plan->problem->b;
    if (piece < part->row_panels) {
        int64_t at = piece * kernel->rows;
        kernel->pack_a(ek_smaller(part->rows - at, kernel->rows), part->k,
                       part->a + at * a->row * plan->element, a->row, a->column, a->conjugate,
                       part->a_panels + at * part->k * kernel->size);
        return;
    }
    int64_t at = (piece - part->row_panels) * kernel->columns;
    int64_t count = ek_smaller(part->columns - at, kernel->columns);
    if (plan->b_in_place && count == kernel->columns)
        return;
    kernel->pack_b(count, part->k, part->b + at * b->column * plan->element, b->column, b->row,
                   b->conjugate, part->b_panels + at * part->k * kernel->size);
}

static void compute_tile(const plan *plan, const part *part, int64_t row_panel,
                         int64_t column_panel)
{
    const ek_gemm_kernel *kernel = plan->kernel;
    const ek_gemm_problem *problem = plan->problem;
    _Alignas(LINE) char local[EK_GEMM_TILE_BYTES];
    int64_t row = row_panel * kernel->rows, column = column_panel * kernel->columns;
    int32_t rows = (int32_t)ek_smaller(part->rows - row, kernel->rows);
    int32_t columns = (int32_t)ek_smaller(part->columns - column, kernel->columns);
    int64_t numbers = (int64_t)kernel->rows * kernel->columns;
    int64_t index = row_panel * part->column_panels + column_panel;
    void *tile = part->first && part->last ? local : part->tiles + index * numbers * kernel->size;
    const char *b = part->b_panels + column * part->k * kernel->size;
    int64_t b_step = kernel->columns;
    if (plan->b_in_place && columns == kernel->columns) {
        b = part->b + column * plan->element;
        b_step = problem->b.row;
    }
    kernel->multiply(part->k, rows, columns, part->a_panels + row * part->k * kernel->size, b,
                     b_step, tile, !part->first);
    if (part->last)
        kernel->finish(problem, rows, columns, tile,
                       part->c +
                           (row * problem->c.row + column * problem->c.column) * plan->element);
}

/* Jobs: how many panels each has, and how many jobs lie side by side. */
typedef struct jobs {
    int64_t rows, columns;
    int64_t down, across;
} jobs;

/* Near-equal jobs, several for each thread so that none waits long at the end. */
static jobs cut_jobs(const plan *plan, const part *part, int threads)
{
    enum { JOBS_PER_THREAD = 4 };
    jobs jobs;
    jobs.down = ek_divide_up(part->row_panels * plan->kernel->rows, JOB_ROWS);
    jobs.rows = ek_divide_up(part->row_panels, jobs.down);
    jobs.down = ek_divide_up(part->row_panels, jobs.rows);
    int64_t columns = jobs.down * part->column_panels / (JOBS_PER_THREAD * threads);
    jobs.columns = columns < 1 ? 1 : ek_smaller(columns, JOB_PANELS);
    jobs.across = ek_divide_up(part->column_panels, jobs.columns);
    return jobs;
}

static void compute(const plan *plan, const part *part, const jobs *jobs, int64_t job)
{
    int64_t row = job / jobs->across * jobs->rows, column = job % jobs->across * jobs->columns;
    int64_t rows_end = ek_smaller(row + jobs->rows, part->row_panels);
    int64_t columns_end = ek_smaller(column + jobs->columns, part->column_panels);
    for (int64_t j = column; j < columns_end; j++) {
        for (int64_t i = row; i < rows_end; i++)
            compute_tile(plan, part, i, j);
    }
}

static void run_part(const plan *plan, const part *part, member *self)
{
    int64_t panels = plan->k > 0 ? part->row_panels + part->column_panels : 0;
    for (int64_t piece = -1; take(self, panels, &piece);)
        pack(plan, part, piece);
    end_step(self, panels);
    jobs jobs = cut_jobs(plan, part, self->threads);
    int64_t count = jobs.down * jobs.across;
    for (int64_t job = -1; take(self, count, &job);)
        compute(plan, part, &jobs, job);
    end_step(self, count);
}

/* One matrix of the batch, with a workspace for the whole team. */
static void run_matrix(const plan *plan, int64_t index, char *workspace, member *self)
{
    const ek_gemm_problem *problem = plan->problem;
    const ek_gemm_kernel *kernel = plan->kernel;
    const ek_gemm_matrix *a = &problem->a, *b = &problem->b, *c = &problem->c;
    int64_t element = plan->element;
    part part = {.a_panels = workspace,
                 .b_panels = workspace + plan->a_bytes,
                 .tiles = workspace + plan->a_bytes + plan->b_bytes};
    for (int64_t row = 0; row < problem->m; row += plan->block_rows) {
        part.rows = ek_smaller(problem->m - row, plan->block_rows);
        part.row_panels = ek_divide_up(part.rows, kernel->rows);
        for (int64_t column = 0; column < problem->n; column += plan->block_columns) {
            part.columns = ek_smaller(problem->n - column, plan->block_columns);
            part.column_panels = ek_divide_up(part.columns, kernel->columns);
            part.c =
                (char *)c->data + (index * c->batch + row * c->row + column * c->column) * element;
            int64_t k = 0;
            do {
                part.k = ek_smaller(plan->k - k, plan->span);
                part.first = k == 0;
                part.last = k + part.k == plan->k;
                if (plan->k > 0) {
                    part.a = (char *)a->data +
                             (index * a->batch + row * a->row + k * a->column) * element;
                    part.b = (char *)b->data +
                             (index * b->batch + k * b->row + column * b->column) * element;
                }
                run_part(plan, &part, self);
                k += part.k;
            } while (k < plan->k);
        }
    }
}

/* Rows and columns of a block, at most. */
static int64_t largest_edge(int64_t size)
{
    int64_t edge = 1;
    while (4 * edge * edge * size <= BLOCK_BYTES)
        edge *= 2;
    return edge;
}

static void make_plan(const ek_gemm_kernel *kernel, const ek_gemm_problem *problem, plan *plan)
{
    plan->kernel = kernel;
    plan->problem = problem;
    plan->element = (int64_t)ek_dtype_size(problem->dtype);
    plan->k = problem->reads_ab ? problem->k : 0;
    plan->span = ek_smaller(plan->k, SPAN);
    int64_t edge = largest_edge(kernel->size);
    plan->block_rows = ek_divide_up(ek_smaller(problem->m, edge), kernel->rows) * kernel->rows;
    plan->block_columns =
        ek_divide_up(ek_smaller(problem->n, edge), kernel->columns) * kernel->columns;
    /* A single panel of A uses each panel of B once: packing would only be a detour. */
    plan->b_in_place =
        plan->k > 0 && kernel->as_stored && problem->m <= kernel->rows && problem->b.column == 1;
    int64_t tiles = plan->k > plan->span ? plan->block_rows * plan->block_columns : 0;
    plan->a_bytes = whole_lines(plan->block_rows * plan->span * kernel->size);
    plan->b_bytes = whole_lines(plan->block_columns * plan->span * kernel->size);
    plan->bytes = plan->a_bytes + plan->b_bytes + whole_lines(tiles * kernel->size) + LINE;
}

/* Threads that `work` multiplications are worth. */
static int useful_threads(const ek_queue *queue, double work)
{
    double useful = work / PARALLEL_WORK;
    int32_t threads = ek_queue_base_of(queue)->threads;
    return ek_cpu_threads(threads, useful < threads ? (int64_t)useful : threads);
}

static void run_alone(const plan *plan, int64_t batch, char *workspace)
{
    member self = {.threads = 1};
    for (int64_t i = 0; i < batch; i++)
        run_matrix(plan, i, workspace, &self);
}

/* All threads on one matrix after the other. */
static void run_team(const plan *plan, int64_t batch, char *workspace, int threads)
{
    _Atomic int64_t tickets = 0;
#pragma omp parallel num_threads(threads)
    {
        member self = {.threads = omp_get_num_threads(), .tickets = &tickets};
        for (int64_t i = 0; i < batch; i++)
            run_matrix(plan, i, workspace, &self);
    }
}

/* Each thread on matrices of its own. */
static void run_batch(const plan *plan, int64_t batch, char *workspace, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < batch; i++) {
        member self = {.threads = 1};
        run_matrix(plan, i, workspace + (size_t)omp_get_thread_num() * plan->bytes, &self);
    }
}

/* ---- products that need no panels of A */

/* True if rows of B are read where they are, false if through panels. */
static bool reads_in_place(const ek_gemm_kernel *kernel, const ek_gemm_matrix *b)
{
    return kernel->as_stored && b->column == 1;
}

/* True where panels would be a detour: B stays in the second-level cache while all rows pass by. */
static bool is_direct(const ek_gemm_kernel *kernel, const ek_gemm_problem *problem)
{
    const ek_gemm_matrix *b = &problem->b;
    int64_t most = DIRECT_BYTES / kernel->size;
    int64_t row = b->row;
    if (!reads_in_place(kernel, b))
        row = problem->n > kernel->columns ? problem->n : kernel->columns;
    return kernel->direct && problem->reads_ab && problem->c.column == 1 && problem->k <= most &&
           problem->n <= most && row > 0 && row <= most / problem->k;
}

/* A piece of one product: some rows of C, some columns. `panel` has room for a panel of B. */
static void run_piece(const ek_gemm_kernel *kernel, const ek_gemm_problem *problem, int64_t index,
                      int64_t row, int64_t rows, int64_t column, int64_t columns, void *panel)
{
    const ek_gemm_matrix *a = &problem->a, *b = &problem->b, *c = &problem->c;
    const int64_t size = kernel->size;
    ek_gemm_direct direct = {
        .problem = problem,
        .m = rows,
        .n = columns,
        .k = problem->k,
        .a_row = a->row,
        .a_column = a->column,
        .b_row = b->row,
        .c_row = c->row,
    };
    const char *from_a = (const char *)a->data + (index * a->batch + row * a->row) * size;
    const char *from_b = (const char *)b->data + (index * b->batch + column * b->column) * size;
    char *to = (char *)c->data + (index * c->batch + row * c->row + column) * size;
    if (reads_in_place(kernel, b)) {
        kernel->direct(&direct, from_a, from_b, to);
        return;
    }
    direct.b_row = kernel->columns;
    for (int64_t at = 0; at < columns; at += kernel->columns) {
        direct.n = ek_smaller(columns - at, kernel->columns);
        kernel->pack_b(direct.n, problem->k, from_b + at * b->column * size, b->column, b->row,
                       b->conjugate, panel);
        kernel->direct(&direct, from_a, panel, to + at * size);
    }
}

/* Pieces for several threads; none waits for another. */
static void run_pieces(const ek_gemm_kernel *kernel, const ek_gemm_problem *problem, char *panels,
                       size_t panel_bytes, int threads)
{
    enum { PIECE_ROWS = 32, PIECES_PER_THREAD = 4 };
    int64_t pieces = ek_divide_up(PIECES_PER_THREAD * (int64_t)threads, problem->batch);
    int64_t blocks = ek_divide_up(problem->m, PIECE_ROWS);
    int64_t rows = ek_divide_up(blocks, ek_smaller(blocks, pieces)) * PIECE_ROWS;
    int64_t down = ek_divide_up(problem->m, rows);
    int64_t column_panels = ek_divide_up(problem->n, kernel->columns);
    int64_t columns =
        ek_divide_up(column_panels, ek_smaller(column_panels, ek_divide_up(pieces, down))) *
        kernel->columns;
    int64_t across = ek_divide_up(problem->n, columns);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t piece = 0; piece < problem->batch * down * across; piece++) {
        int64_t column = piece % across * columns, row = piece / across % down * rows;
        run_piece(kernel, problem, piece / across / down, row, ek_smaller(rows, problem->m - row),
                  column, ek_smaller(columns, problem->n - column),
                  panels + (size_t)omp_get_thread_num() * panel_bytes);
    }
}

static ek_status run_direct(ek_queue *queue, const ek_gemm_kernel *kernel,
                            const ek_gemm_problem *problem)
{
    double work = (double)problem->m * (double)problem->n * (double)problem->k;
    int threads = useful_threads(queue, work * (double)problem->batch);
    size_t bytes = 0;
    void *panels = NULL;
    if (!reads_in_place(kernel, &problem->b)) {
        bytes = whole_lines(problem->k * kernel->columns * kernel->size);
        EK_TRY(ek_cpu_workspace(queue, bytes * (size_t)threads, &panels));
    }
    if (threads > 1) {
        run_pieces(kernel, problem, panels, bytes, threads);
        return EK_OK;
    }
    for (int64_t i = 0; i < problem->batch; i++)
        run_piece(kernel, problem, i, 0, problem->m, 0, problem->n, panels);
    return EK_OK;
}

/* ---- all products */

size_t ek_cpu_gemm_room(const ek_queue *queue, const ek_gemm_problem *problem)
{
    enum { MOST_ROWS = 16, MOST_COLUMNS = 64 }; /* of any kernel's tile */
    int64_t size = (int64_t)ek_dtype_size(problem->dtype);
    size = size < 4 ? 4 : size;
    int64_t edge = largest_edge(size), span = ek_smaller(problem->k, SPAN);
    int64_t rows = ek_smaller(problem->m, edge) + MOST_ROWS;
    int64_t columns = ek_smaller(problem->n, edge) + MOST_COLUMNS;
    int64_t tiles = problem->k > span ? rows * columns : 0;
    size_t bytes =
        whole_lines((rows + columns) * span * size) + whole_lines(tiles * size) + 3 * LINE;
    size_t direct = whole_lines(problem->k * MOST_COLUMNS * size);
    return (bytes > direct ? bytes : direct) * (size_t)ek_queue_base_of(queue)->threads;
}

static ek_status run_recorded(ek_queue *queue, const void *kernel, const void *problem)
{
    return ek_cpu_gemm(queue, kernel, problem);
}

ek_status ek_cpu_gemm(ek_queue *queue, const ek_gemm_kernel *kernel, const ek_gemm_problem *problem)
{
    if (ek_gemm_empty(problem))
        return EK_OK;
    if (EK_UNLIKELY(ek_recording(queue)))
        return ek_cpu_record(queue, run_recorded, kernel, problem, sizeof *problem);
    if (is_direct(kernel, problem))
        return run_direct(queue, kernel, problem);
    plan plan;
    make_plan(kernel, problem, &plan);
    /* A team meets after each span of a block, so that is what must be worth it. */
    double step = (double)plan.block_rows * (double)plan.block_columns * ((double)plan.span + 1);
    double all = (double)problem->m * (double)problem->n * ((double)plan.k + 1);
    int team = useful_threads(queue, step);
    int threads = useful_threads(queue, all * (double)problem->batch);
    bool apart = problem->batch >= threads && team < threads;
    threads = apart ? threads : team;
    void *workspace = NULL;
    EK_TRY(ek_cpu_workspace(queue, plan.bytes * (size_t)(apart ? threads : 1), &workspace));
    if (threads == 1)
        run_alone(&plan, problem->batch, workspace);
    else if (apart)
        run_batch(&plan, problem->batch, workspace, threads);
    else
        run_team(&plan, problem->batch, workspace, threads);
    return EK_OK;
}
