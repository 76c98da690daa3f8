#include "verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "error.h"
#include "json.h"
#include "progress.h"
#include "verify_hashes.h"

static const char help[] =
    "usage: einkorn verify [OP]... [OPTION]...\n"
    "\n"
    "Computes the same calls with every CPU variant of this machine, in one and in\n"
    "two threads, and compares the results bit for bit with those of the baseline\n"
    "variant in one thread (any NaN equals any other). Measures errors of f16, bf16\n"
    "and f32 against the operation's own f64 kernel. Operations whose bits are a\n"
    "library's are left out.\n"
    "\n"
    "  -d, --device D      compare this device too: cuda or cuda:N (repeatable)\n"
    "  -t, --dtype T       loops of this dtype only\n"
    "      --exhaustive    all 2^32 inputs of operations with one f32 input\n"
    "      --hashes        compare nothing: write operation, dtype and a hash of the\n"
    "                      results, the same on every machine, to be kept\n"
    "      --json          write JSON: rows: op, dtype, variant, device, compared,\n"
    "                      differing, max_ulp, ulp_allowed, worst_input, held;\n"
    "                      failed: how many rows did not hold\n"
    "  -h, --help          show this text\n"
    "\n"
    "Exit status 0 only if no result differs and every error is within what its\n"
    "operation states.\n";

/* The reference has errors too, in double precision: far less than this. */
static const double slack_ulp = 1e-6;

enum { MOST_DEVICES = 8 };

typedef struct request {
    int device_count;
    char *devices[MOST_DEVICES];
    bool exhaustive, hashes, as_json;
    const char *dtype;
} request;

/* A loop's results, kept for the JSON. */
typedef struct loop_report {
    const ek_op_info *op;
    const ek_loop *loop;
    result results[VERIFY_COLUMNS];
    error_found error;
} loop_report;

typedef struct report {
    verify_column columns[VERIFY_COLUMNS];
    int32_t column_count;
    loop_report *loops;
    int64_t loop_count, room;
    int64_t failed;
} report;

/* The progress of exhaustive work is counted in blocks. */
static int64_t steps_before;
static char step_name[48];

static void block_done(int64_t blocks)
{
    progress_show(steps_before + blocks, step_name);
}

/* What an error may be: the stated bound; for "exact or rounded once" the half ulp of a rounding.
 * Negative if the operation states none. */
static double allowed_ulp(const ek_loop *loop)
{
    return loop->ulp < 0 ? -1 : (loop->ulp < 0.5 ? 0.5 : loop->ulp);
}

/* Errors are those of the baseline, and so of every column that has the same bits. */
static bool error_known(const loop_report *l, int32_t column)
{
    return l->error.ulp >= 0 && l->results[column].differing == 0 && l->results[column].compared;
}

static bool held(const loop_report *l, int32_t column)
{
    double allowed = allowed_ulp(l->loop);
    return l->results[column].differing == 0 &&
           !(error_known(l, column) && allowed >= 0 && l->error.ulp > allowed + slack_ulp);
}

static loop_report *add_loop(report *r, const ek_op_info *op, const ek_loop *loop,
                             const verifier *v)
{
    if (r->loop_count == r->room) {
        int64_t room = r->room ? 2 * r->room : 64;
        loop_report *more = realloc(r->loops, (size_t)room * sizeof *more);
        if (!more)
            return NULL;
        r->loops = more;
        r->room = room;
    }
    loop_report *l = &r->loops[r->loop_count++];
    l->op = op;
    l->loop = loop;
    l->error = v->error;
    memcpy(l->results, v->results, sizeof l->results);
    for (int32_t i = 0; i < r->column_count; i++)
        r->failed += !held(l, i);
    return l;
}

static void write_worst(json *out, const loop_report *l)
{
    if (l->op->inputs == 1) {
        json_number(out, "worst_input", l->error.input[0]);
        return;
    }
    json_array(out, "worst_input");
    for (int32_t i = 0; i < l->op->inputs; i++)
        json_number(out, NULL, l->error.input[i]);
    json_end(out);
}

static void write_row(json *out, const report *r, const loop_report *l, int32_t column)
{
    char dtype[PROBLEM_DTYPE_TEXT];
    const result *found = &l->results[column];
    problem_dtype_text(l->op, l->loop, dtype);
    json_object(out, NULL);
    json_string(out, "op", l->op->name);
    json_string(out, "dtype", dtype);
    json_string(out, "variant", ek_variant_name(r->columns[column].variant));
    json_string(out, "device", r->columns[column].device);
    json_int(out, "compared", found->compared);
    json_int(out, "differing", found->differing);
    if (error_known(l, column)) {
        json_number(out, "max_ulp", l->error.ulp);
        json_number(out, "ulp_allowed", allowed_ulp(l->loop) < 0 ? NAN : allowed_ulp(l->loop));
        write_worst(out, l);
    } else {
        json_null(out, "max_ulp");
        json_null(out, "ulp_allowed");
        json_null(out, "worst_input");
    }
    json_bool(out, "held", held(l, column));
    if (found->described)
        json_string(out, "first_difference", found->difference);
    json_end(out);
}

static void write_json(const report *r)
{
    json out = json_begin(stdout);
    json_array(&out, "rows");
    for (int64_t i = 0; i < r->loop_count; i++) {
        for (int32_t column = 0; column < r->column_count; column++)
            write_row(&out, r, &r->loops[i], column);
    }
    json_end(&out);
    json_int(&out, "failed", r->failed);
    json_finish(&out);
}

static void print_head(const report *r)
{
    printf("compared with baseline, one thread:");
    for (int32_t i = 0; i < r->column_count; i++)
        printf("%s %s", i ? "," : "",
               r->columns[i].variant == EK_CUDA ? r->columns[i].device
                                                : ek_variant_name(r->columns[i].variant));
    printf("\n\n%-14s %-10s %14s %10s %10s %8s  %s\n", "OPERATION", "DTYPE", "COMPARED",
           "DIFFERING", "MAX ULP", "ALLOWED", "WORST INPUT");
}

static void print_loop(const report *r, const loop_report *l)
{
    int64_t compared = 0, differing = 0;
    char dtype[PROBLEM_DTYPE_TEXT], ulp[16] = "-", allowed[16] = "-";
    for (int32_t i = 0; i < r->column_count; i++) {
        compared += l->results[i].compared;
        differing += l->results[i].differing;
    }
    problem_dtype_text(l->op, l->loop, dtype);
    if (l->error.ulp >= 0)
        snprintf(ulp, sizeof ulp, "%.4f", l->error.ulp);
    if (l->error.ulp >= 0 && allowed_ulp(l->loop) >= 0)
        snprintf(allowed, sizeof allowed, "%g", allowed_ulp(l->loop));
    printf("%-14s %-10s %14lld %10lld %10s %8s ", l->op->name, dtype, (long long)compared,
           (long long)differing, ulp, allowed);
    for (int32_t i = 0; i < l->op->inputs && l->error.ulp >= 0; i++)
        printf(" %.9g", l->error.input[i]);
    printf("\n");
    for (int32_t i = 0; i < r->column_count; i++) {
        if (!held(l, i))
            printf("  FAILED on %s, %s: %s\n", r->columns[i].device,
                   ek_variant_name(r->columns[i].variant),
                   l->results[i].described ? l->results[i].difference : "error too large");
    }
    fflush(stdout);
}

static bool wanted(const request *r, const ek_op_info *op, const ek_loop *loop)
{
    return verify_same_bits(op) &&
           (!r->dtype || strcmp(r->dtype, ek_dtype_name((ek_dtype)loop->dtype)) == 0);
}

static int64_t steps_of(const request *r, const ek_op_info *op, const ek_loop *loop)
{
    enum { SAMPLED = 256 }; /* a sampled loop, in blocks of an exhaustive one */
    return r->exhaustive && verify_can_exhaust(op, loop) ? VERIFY_BLOCKS : SAMPLED;
}

static ek_status verify_one(const request *request, verifier *v, const ek_op_info *op,
                            const ek_loop *loop)
{
    char dtype[PROBLEM_DTYPE_TEXT];
    problem_dtype_text(op, loop, dtype);
    snprintf(step_name, sizeof step_name, "%s %s", op->name, dtype);
    progress_show(steps_before, step_name);
    verifier_clear(v);
    EK_TRY(verify_loop(v, op, loop));
    if (request->exhaustive && verify_can_exhaust(op, loop))
        EK_TRY(verify_exhaustive(v, op, loop, request->device_count, (char **)request->devices,
                                 block_done));
    steps_before += steps_of(request, op, loop);
    return EK_OK;
}

static ek_status verify_all(const request *request, verifier *v, int32_t count,
                            const ek_op_info *const *ops, report *r)
{
    int64_t steps = 0;
    for (int32_t i = 0; i < count; i++) {
        for (int32_t k = 0; k < ops[i]->loop_count; k++)
            steps += wanted(request, ops[i], &ops[i]->loops[k])
                         ? steps_of(request, ops[i], &ops[i]->loops[k])
                         : 0;
    }
    steps_before = 0;
    progress_begin(steps);
    for (int32_t i = 0; i < count; i++) {
        for (int32_t k = 0; k < ops[i]->loop_count; k++) {
            const ek_loop *loop = &ops[i]->loops[k];
            if (!wanted(request, ops[i], loop))
                continue;
            EK_TRY(verify_one(request, v, ops[i], loop));
            const loop_report *l = add_loop(r, ops[i], loop, v);
            if (!l)
                return ek_fail(EK_OUT_OF_MEMORY, "no host memory for the report");
            if (!request->as_json) {
                progress_clear();
                print_loop(r, l);
            }
        }
    }
    return EK_OK;
}

static int verify(const request *request, int count, char **names)
{
    verifier v;
    report r;
    memset(&v, 0, sizeof v);
    memset(&r, 0, sizeof r);
    const ek_op_info **ops = calloc((size_t)ek_op_count, sizeof *ops);
    int32_t op_count = 0;
    ek_status status =
        ops ? EK_OK : ek_fail(EK_OUT_OF_MEMORY, "no host memory for the list of operations");
    ek_dtype dtype = EK_DTYPES;
    if (status == EK_OK && request->dtype)
        status = ek_dtype_parse(request->dtype, &dtype);
    if (status == EK_OK)
        status = command_choose_ops(count, names, ops, &op_count);
    if (status == EK_OK && request->hashes) {
        status = verify_hashes(op_count, ops, dtype);
        free(ops);
        return status == EK_OK ? COMMAND_OK : command_fail("verify");
    }
    if (status == EK_OK)
        status =
            verifier_open(&v, true, request->device_count, (char **)request->devices, r.columns);
    r.column_count = v.columns;
    if (status == EK_OK && !request->as_json)
        print_head(&r);
    if (status == EK_OK)
        status = verify_all(request, &v, op_count, ops, &r);
    progress_end();
    int result = status == EK_OK ? COMMAND_OK : command_fail("verify");
    if (status == EK_OK && request->as_json)
        write_json(&r);
    else if (status == EK_OK)
        printf("\n%lld failed\n", (long long)r.failed);
    verifier_close(&v);
    free(ops);
    free(r.loops);
    return r.failed ? COMMAND_FAILED : result;
}

int command_verify(int argc, char **argv)
{
    enum { EXHAUSTIVE = 256, HASHES, JSON };
    static const struct option options[] = {
        {"device", required_argument, NULL, 'd'},
        {"dtype", required_argument, NULL, 't'},
        {"exhaustive", no_argument, NULL, EXHAUSTIVE},
        {"hashes", no_argument, NULL, HASHES},
        {"json", no_argument, NULL, JSON},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    request r = {.device_count = 0};
    for (int option; (option = command_option(argc, argv, ":d:t:h", options, help)) != -1;) {
        switch (option) {
        case COMMAND_HELP:
            return COMMAND_OK;
        case COMMAND_BAD:
            return COMMAND_MISUSED;
        case 'd':
            if (r.device_count == MOST_DEVICES)
                return command_misuse(argv[0], "more than %d devices", MOST_DEVICES);
            if (strcmp(optarg, "cpu") != 0) /* it is always there */
                r.devices[r.device_count++] = optarg;
            break;
        case 't':
            r.dtype = optarg;
            break;
        case EXHAUSTIVE:
            r.exhaustive = true;
            break;
        case HASHES:
            r.hashes = true;
            break;
        default:
            r.as_json = true;
        }
    }
    if (r.hashes && (r.device_count || r.exhaustive || r.as_json))
        return command_misuse(argv[0], "--hashes goes with --dtype alone");
    return verify(&r, argc - optind, argv + optind);
}
