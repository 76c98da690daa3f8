#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_call.h"
#include "bench_json.h"
#include "command.h"
#include "error.h"
#include "progress.h"

static const char help[] =
    "usage: einkorn bench [OP]... [OPTION]...\n"
    "\n"
    "Times operations and sets them beside what this machine can do, measured in\n"
    "the same run: loops that only move data (on CUDA a copy), OpenBLAS or cuBLAS\n"
    "for matrix products. Hot arrays are the same ones in every call, so in a cache\n"
    "if they fit; cold ones are others in every call, so in none.\n"
    "\n"
    "  -d, --device D      cpu, cuda or cuda:N (default cpu)\n"
    "  -s, --sizes N,...   elements of an input, 2^28 is allowed too; for a matrix\n"
    "                      product its side, where those above 16384 are left out\n"
    "                      (default 16,1000,100000,32000000, on CUDA\n"
    "                      1000,1000000,2^28; products 64,256,1024 and 512,4096)\n"
    "  -t, --dtype T       the dtype, or all (default f32, or the first there is)\n"
    "  -c, --cases FILE    time what the file says, one case a line:\n"
    "                      OP DTYPE OPERAND... [NAME=VALUE]... (bench/README.md)\n"
    "      --cache C       hot or cold (default hot, on CUDA cold)\n"
    "      --threads N     threads a call may use (default 1, and for large arrays\n"
    "                      also all)\n"
    "      --variant V     base, avx2, avx512 or neon instead of the best\n"
    "      --min-time MS   measure each row for at least this long (default 100)\n"
    "      --json          write JSON: machine, limits, rows: op, dtype, device,\n"
    "                      variant, call, shape, inputs, params, threads, cache,\n"
    "                      ns, best_ns, spread, host_ns (CUDA), gbps or gflops,\n"
    "                      arithmetic (operations an element), limit, share, goal\n"
    "  -h, --help          show this text\n"
    "\n"
    "ns is the median, spread the distance of the quartiles as a share of it; gbps\n"
    "counts every input and output once; share is the part of the limit reached.\n";

enum { MOST_SIZES = 16 };

typedef struct request {
    const char *device, *dtype, *variant, *cases;
    bench_cache cache;
    int64_t sizes[MOST_SIZES];
    int size_count;
    int64_t threads; /* 0: as suits the size */
    double least_ns;
    bool as_json;
} request;

typedef struct session {
    const request *request;
    ek_queue *queue;
    bool cuda;
    int32_t all_threads;
    bench_row *rows;
    int64_t count, room;
    bench_case what; /* to be timed now */
} session;

static bool is_wanted(const request *r, const ek_op_info *op, int32_t loop)
{
    ek_dtype dtype = (ek_dtype)op->loops[loop].dtype;
    if (r->dtype)
        return strcmp(r->dtype, "all") == 0 || strcmp(r->dtype, ek_dtype_name(dtype)) == 0;
    for (int32_t i = 0; i < op->loop_count; i++) {
        if (op->loops[i].dtype == EK_F32)
            return dtype == EK_F32;
    }
    return loop == 0;
}

/* Sizes by default, where no --sizes are given. */
static int sizes_for(const session *s, const ek_op_info *op, const int64_t **sizes)
{
    static const int64_t cpu[] = {16, 1000, 100000, 32000000};
    static const int64_t cuda[] = {1000, 1000000, INT64_C(1) << 28};
    static const int64_t cpu_gemm[] = {64, 256, 1024};
    static const int64_t cuda_gemm[] = {512, 4096};
    if (s->request->size_count) {
        *sizes = s->request->sizes;
        return s->request->size_count;
    }
    if (problem_form_of(op) == FORM_GEMM) {
        *sizes = s->cuda ? cuda_gemm : cpu_gemm;
        return s->cuda ? 2 : 3;
    }
    *sizes = s->cuda ? cuda : cpu;
    return s->cuda ? 3 : 4;
}

static const char *shape_text(const bench_row *row, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (int32_t i = 0; i < row->op->inputs && row->input[i][0] && length < size; i++)
        length +=
            (size_t)snprintf(text + length, size - length, "%s%s", i ? " " : "", row->input[i]);
    for (int32_t d = 0; !row->input[0][0] && d < row->ndim && length < size; d++)
        length += (size_t)snprintf(text + length, size - length, "%s%lld", d ? "x" : "",
                                   (long long)row->shape[d]);
    if (row->params[0] && length < size)
        length += (size_t)snprintf(text + length, size - length, " %s", row->params);
    if (row->cold != (row->threads == 0) && length < size)
        snprintf(text + length, size - length, " %s", row->cold ? "cold" : "hot");
    return text;
}

static void print_head(void)
{
    printf("%-14s %-9s %-7s %-6s %-24s %3s %13s %6s %9s %6s %6s\n", "OPERATION", "DTYPE", "VARIANT",
           "CALL", "SHAPE", "THR", "NS", "SPREAD", "RATE", "UNIT", "SHARE");
}

static void print_row(const bench_row *row)
{
    char dtype[PROBLEM_DTYPE_TEXT], shape[160], share[16] = "-";
    problem_dtype_text(row->op, row->loop, dtype);
    if (row->limit > 0)
        snprintf(share, sizeof share, "%.2f", row->rate / row->limit);
    printf("%-14s %-9s %-7s %-6s %-24s %3d %13.1f %5.1f%% %9.2f %6s %6s", row->name, dtype,
           row->variant, row->call, shape_text(row, shape, sizeof shape), (int)row->threads,
           row->time.ns, 100 * row->time.spread, row->rate, row->gemm ? "GF/s" : "GB/s", share);
    if (row->time.host_ns > 0)
        printf("  host %.0f ns", row->time.host_ns);
    printf("\n");
    fflush(stdout);
}

static ek_status add_rows(session *s, int count, const bench_row *rows)
{
    if (s->count + count > s->room) {
        int64_t room = s->room ? 2 * s->room : 64;
        bench_row *more = realloc(s->rows, (size_t)room * sizeof *more);
        if (!more)
            return ek_fail(EK_OUT_OF_MEMORY, "no host memory for the report");
        s->rows = more;
        s->room = room;
    }
    for (int i = 0; i < count; i++) {
        s->rows[s->count++] = rows[i];
        if (!s->request->as_json) {
            progress_clear();
            print_row(&rows[i]);
        }
    }
    return EK_OK;
}

/* One thread, and all of them where the array is large enough for more. */
static ek_status bench_threads(session *s, bool large)
{
    bench_case *what = &s->what;
    int32_t counts[2] = {1, s->all_threads};
    int rounds = large && s->all_threads > 1 ? 2 : 1;
    if (what->threads || s->request->threads || s->cuda) {
        counts[0] = s->request->threads ? (int32_t)s->request->threads : 1;
        if (what->threads)
            counts[0] = what->threads < 0 ? s->all_threads : what->threads;
        rounds = 1;
    }
    if (what->cache == CACHE_DEFAULT)
        what->cache = s->request->cache;
    for (int i = 0; i < rounds; i++) {
        bench_row rows[2];
        int count;
        EK_TRY(ek_queue_set_threads(s->queue, counts[i]));
        EK_TRY(bench_call(s->queue, what, s->request->least_ns, rows, &count));
        EK_TRY(add_rows(s, count, rows));
    }
    return EK_OK;
}

static bool reduce(session *s, int32_t ndim, const int64_t *shape, const ek_op_info *op,
                   const ek_loop *loop, unsigned axes)
{
    bench_case_init(&s->what, op, loop, ndim, shape);
    return problem_reduce(&s->what.p, axes, false);
}

/* The whole array; for large ones also the rows and the columns of a matrix. */
static ek_status bench_reduction(session *s, const ek_op_info *op, const ek_loop *loop,
                                 int64_t size, bool large)
{
    enum { LEAST = 1 << 16 };
    if (reduce(s, 1, &size, op, loop, 1))
        EK_TRY(bench_threads(s, large));
    int64_t columns = 1;
    while (columns * columns < size)
        columns *= 2;
    const int64_t shape[] = {size / columns, columns};
    for (unsigned axis = 0; axis < 2 && size >= LEAST; axis++) {
        if (reduce(s, 2, shape, op, loop, 2u >> axis))
            EK_TRY(bench_threads(s, large));
    }
    return EK_OK;
}

static ek_status bench_size(session *s, const ek_op_info *op, const ek_loop *loop, int64_t size)
{
    enum { ROW = 1024, LARGE = 1 << 18, LARGE_GEMM = 256, MOST_GEMM = 16384, SIDE = 64 };
    int64_t none = 0, rows[] = {size / ROW, ROW};
    gemm_size square = {.m = size, .n = size, .k = size, .alpha = 1};
    switch (problem_form_of(op)) {
    case FORM_REDUCTION:
    case FORM_SCAN:
        return bench_reduction(s, op, loop, size, size >= LARGE);
    case FORM_ROW:
        if (size >= 2 * ROW)
            bench_case_init(&s->what, op, loop, 2, rows);
        else
            bench_case_init(&s->what, op, loop, 1, &size);
        return bench_threads(s, size >= LARGE);
    case FORM_IMAGE:
        bench_case_init(&s->what, op, loop, 0, &none);
        problem_image(&s->what.p, size / (SIDE * SIDE) + 1, SIDE, SIDE);
        bench_case_settle(&s->what);
        return bench_threads(s, size >= LARGE);
    case FORM_CONV: {
        conv_size layer = {size / (SIDE * 32 * 32) + 1, SIDE, 32, 32, SIDE, 3, 3, 1, 1, 1, 1, 1, 1};
        bench_case_init(&s->what, op, loop, 0, &none);
        problem_conv(&s->what.p, &layer);
        bench_case_settle(&s->what);
        return bench_threads(s, size >= LARGE);
    }
    case FORM_GEMM:
        if (size > MOST_GEMM)
            return EK_OK;
        bench_case_init(&s->what, op, loop, 0, &none);
        problem_gemm(&s->what.p, &square);
        bench_case_settle(&s->what);
        return bench_threads(s, size >= LARGE_GEMM);
    default:
        bench_case_init(&s->what, op, loop, 1, &size);
        return bench_threads(s, size >= LARGE);
    }
}

static ek_status bench_op(session *s, const ek_op_info *op)
{
    if (!ek_op_has_variant(op, (ek_variant)s->queue->variant))
        return EK_OK;
    for (int32_t k = 0; k < op->loop_count; k++) {
        if (!is_wanted(s->request, op, k))
            continue;
        const int64_t *sizes;
        int count = sizes_for(s, op, &sizes);
        for (int i = 0; i < count; i++)
            EK_TRY(bench_size(s, op, &op->loops[k], sizes[i]));
    }
    return EK_OK;
}

/* What is in a file, which may be a pipe; null if there is no memory for it. */
static char *read_text(FILE *file)
{
    size_t used = 0, room = 0, got = 0;
    char *text = NULL;
    do {
        used += got;
        if (room - used < 2) {
            char *grown = realloc(text, room = 2 * room + 4096);
            if (!grown) {
                free(text);
                return NULL;
            }
            text = grown;
        }
        got = fread(text + used, 1, room - used - 1, file);
    } while (got > 0);
    text[used] = '\0';
    return text;
}

/* Ends the line that begins at `at` and returns where the next one begins. */
static char *cut_line(char *at)
{
    char *end = at + strcspn(at, "\n");
    if (*end == '\0')
        return end;
    *end = '\0';
    return end + 1;
}

/* Empty lines and those that begin with # say nothing. */
static bool is_case(const char *line)
{
    size_t blank = strspn(line, " \t");
    return line[0] != '#' && line[blank] != '\0' && line[blank] != '\n';
}

static int64_t count_cases(const char *text)
{
    int64_t count = 0;
    while (text) {
        count += is_case(text);
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return count;
}

/* The lines of a file of cases, on one thread unless they say more. */
static ek_status bench_cases(session *s, char *text)
{
    int64_t done = 0;
    progress_begin(count_cases(text));
    for (int number = 1; *text; number++) {
        char *line = text;
        text = cut_line(text);
        if (!is_case(line))
            continue;
        progress_show(done++, line);
        if (bench_case_parse(&s->what, line) != EK_OK) {
            char problem[256];
            snprintf(problem, sizeof problem, "%s", ek_error_message());
            return ek_fail(EK_INVALID_ARGUMENT, "%s:%d: %s", s->request->cases, number, problem);
        }
        if (ek_op_has_variant(s->what.p.op, (ek_variant)s->queue->variant))
            EK_TRY(bench_threads(s, false));
    }
    return EK_OK;
}

static ek_status bench_file(session *s)
{
    FILE *file = fopen(s->request->cases, "r");
    if (!file)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: cannot be read", s->request->cases);
    char *text = read_text(file);
    fclose(file);
    ek_status status = text ? bench_cases(s, text)
                            : ek_fail(EK_OUT_OF_MEMORY, "no host memory for %s", s->request->cases);
    free(text);
    return status;
}

static ek_status bench_ops(session *s, int count, const ek_op_info *const *ops)
{
    progress_begin(count);
    for (int32_t i = 0; i < count; i++) {
        progress_show(i, ops[i]->name);
        EK_TRY(bench_op(s, ops[i]));
    }
    return EK_OK;
}

static ek_status bench_all(session *s, int count, char **names, const ek_op_info **ops)
{
    const request *r = s->request;
    int32_t op_count;
    ek_dtype dtype;
    ek_variant variant;
    if (r->dtype && strcmp(r->dtype, "all") != 0)
        EK_TRY(ek_dtype_parse(r->dtype, &dtype));
    EK_TRY(command_choose_ops(count, names, ops, &op_count));
    EK_TRY(command_open(r->device, &s->queue));
    s->cuda = ek_device_get_type(ek_queue_device(s->queue)) == EK_DEVICE_CUDA;
    if (r->variant) {
        EK_TRY(ek_variant_parse(r->variant, &variant));
        EK_TRY(ek_queue_set_variant(s->queue, variant));
    }
    if (!r->as_json)
        print_head();
    EK_TRY(r->cases ? bench_file(s) : bench_ops(s, op_count, ops));
    progress_end();
    if (s->count == 0)
        return ek_fail(EK_INVALID_ARGUMENT, "nothing was measured: these operations have no such "
                                            "dtype or variant, or the sizes are too large");
    return r->as_json ? bench_json_write(s->queue, s->all_threads, s->count, s->rows) : EK_OK;
}

static int bench(const request *r, int count, char **names)
{
    session s = {.request = r, .all_threads = omp_get_max_threads()};
    const ek_op_info **ops = calloc((size_t)ek_op_count, sizeof *ops);
    ek_status status = ops ? bench_all(&s, count, names, ops)
                           : ek_fail(EK_OUT_OF_MEMORY, "no host memory for the list of operations");
    progress_end();
    int result = status == EK_OK ? COMMAND_OK : command_fail("bench");
    ek_queue_close(s.queue);
    free(s.rows);
    free(ops);
    return result;
}

static ek_status parse_sizes(request *r, const char *text)
{
    char word[32];
    for (r->size_count = 0; *text;) {
        size_t length = strcspn(text, ",");
        if (r->size_count == MOST_SIZES)
            return ek_fail(EK_INVALID_ARGUMENT, "sizes are more than %d", MOST_SIZES);
        if (length >= sizeof word)
            return ek_fail(EK_INVALID_ARGUMENT, "size is '%.*s': too long", (int)length, text);
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        EK_TRY(command_parse_count("size", word, 1, &r->sizes[r->size_count++]));
        text += length + (text[length] == ',');
    }
    return r->size_count ? EK_OK : ek_fail(EK_INVALID_ARGUMENT, "sizes are empty");
}

static ek_status parse_cache(request *r, const char *text)
{
    r->cache = strcmp(text, "hot") == 0 ? CACHE_HOT : CACHE_COLD;
    if (r->cache == CACHE_HOT || strcmp(text, "cold") == 0)
        return EK_OK;
    return ek_fail(EK_INVALID_ARGUMENT, "cache is '%s': must be hot or cold", text);
}

int command_bench(int argc, char **argv)
{
    enum { THREADS = 256, VARIANT, MIN_TIME, JSON, CACHE };
    static const struct option options[] = {
        {"device", required_argument, NULL, 'd'},
        {"sizes", required_argument, NULL, 's'},
        {"dtype", required_argument, NULL, 't'},
        {"cases", required_argument, NULL, 'c'},
        {"cache", required_argument, NULL, CACHE},
        {"threads", required_argument, NULL, THREADS},
        {"variant", required_argument, NULL, VARIANT},
        {"min-time", required_argument, NULL, MIN_TIME},
        {"json", no_argument, NULL, JSON},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    request r = {.device = "cpu", .least_ns = 1e8};
    for (int option; (option = command_option(argc, argv, ":d:s:t:c:h", options, help)) != -1;) {
        ek_status status = EK_OK;
        int64_t milliseconds = 0;
        switch (option) {
        case COMMAND_HELP:
            return COMMAND_OK;
        case COMMAND_BAD:
            return COMMAND_MISUSED;
        case 'd':
            r.device = optarg;
            break;
        case 's':
            status = parse_sizes(&r, optarg);
            break;
        case 't':
            r.dtype = optarg;
            break;
        case 'c':
            r.cases = optarg;
            break;
        case CACHE:
            status = parse_cache(&r, optarg);
            break;
        case THREADS:
            status = command_parse_count("threads", optarg, 1, &r.threads);
            break;
        case VARIANT:
            r.variant = optarg;
            break;
        case MIN_TIME:
            status = command_parse_count("min-time", optarg, 1, &milliseconds);
            r.least_ns = 1e6 * (double)milliseconds;
            break;
        default:
            r.as_json = true;
        }
        if (status != EK_OK)
            return command_misuse(argv[0], "%s", ek_error_message());
    }
    return bench(&r, argc - optind, argv + optind);
}
