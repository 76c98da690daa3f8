#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "error.h"
#include "npy.h"
#include "params.h"
#include "problem.h"

static const char help[] =
    "usage: einkorn run OP [OPTION]... [IN.npy]... -o OUT.npy\n"
    "\n"
    "Applies an operation to NumPy files and writes the result to one. Inputs may\n"
    "be in C or Fortran order and in either byte order, and broadcast as in NumPy.\n"
    "bfloat16 is the type '<V2'.\n"
    "\n"
    "  -o, --output FILE   where the result goes; written whole or not at all; once\n"
    "                      for each output, in the order that einkorn ops OP gives\n"
    "  -d, --device D      cpu, cuda or cuda:N (default cpu)\n"
    "  -t, --dtype T       convert the inputs to T first; of a cast and of an\n"
    "                      operation without inputs, the dtype of the result\n"
    "  -p, --param K=V     a parameter, a list as 0,1 (einkorn ops OP names them)\n"
    "      --cpu VARIANT   base, avx2, avx512 or neon instead of the best\n"
    "      --threads N     threads a call may use\n"
    "  -h, --help          show this text\n";

typedef struct request {
    const char *device, *variant, *threads, *dtype;
    int output_count;
    const char *outputs[EK_MAX_OUTPUTS];
    int param_count;
    const char *params[PARAMS_MOST];
} request;

/* What a run holds; everything is freed in one place. */
typedef struct session {
    ek_queue *queue;
    int32_t count;                   /* inputs given */
    npy_array in[EK_MAX_INPUTS];     /* on the host, as read */
    ek_array operand[EK_MAX_INPUTS]; /* as the operation takes it: a view of in[], or made here */
    ek_array moved[EK_MAX_INPUTS];   /* copies on the queue's device */
    ek_array cast[EK_MAX_INPUTS];    /* conversions */
    ek_array out[EK_MAX_OUTPUTS], host_out[EK_MAX_OUTPUTS];
} session;

static bool on_host(const session *s)
{
    return ek_device_get_type(ek_queue_device(s->queue)) == EK_DEVICE_CPU;
}

static ek_status open_queue(session *s, const request *r)
{
    EK_TRY(command_open(r->device, &s->queue));
    if (r->variant) {
        ek_variant variant;
        EK_TRY(ek_variant_parse(r->variant, &variant));
        EK_TRY(ek_queue_set_variant(s->queue, variant));
    }
    if (r->threads) {
        int64_t threads;
        EK_TRY(command_parse_count("threads", r->threads, 1, &threads));
        if (threads > INT32_MAX)
            return ek_fail(EK_INVALID_ARGUMENT, "threads is %s: too many", r->threads);
        EK_TRY(ek_queue_set_threads(s->queue, (int32_t)threads));
    }
    return EK_OK;
}

static ek_status read_inputs(session *s, const ek_op_info *op, int count, char **paths)
{
    if (count > op->inputs || count < op->inputs - op->optional)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_%s: %d files given: it has %d inputs%s", op->name,
                       count, (int)op->inputs,
                       op->optional ? ", of which the last ones may be left out" : "");
    s->count = count;
    for (int i = 0; i < count; i++) {
        EK_TRY(npy_read(paths[i], &s->in[i]));
        s->operand[i] = s->in[i].array;
        if (on_host(s))
            continue;
        EK_TRY(ek_array_alloc(s->queue, s->in[i].dtype, s->operand[i].ndim, s->operand[i].shape,
                              &s->moved[i]));
        EK_TRY(ek_copy(s->queue, &s->moved[i], &s->in[i].array));
        s->operand[i] = s->moved[i];
    }
    return EK_OK;
}

/* The dtypes that the operation takes when it computes in `dtype`. */
static ek_status find_loop(const ek_op_info *op, ek_dtype dtype, const ek_loop **loop)
{
    for (int32_t i = 0; i < op->loop_count; i++) {
        if (op->loops[i].dtype == dtype) {
            *loop = &op->loops[i];
            return EK_OK;
        }
    }
    return ek_fail(EK_DTYPE_MISMATCH, "ek_%s: dtype is %s: it has no kernel for it", op->name,
                   ek_dtype_name(dtype));
}

static ek_status convert_inputs(session *s, const ek_op_info *op, ek_dtype dtype)
{
    const ek_loop *loop = NULL;
    const ek_op_info *cast;
    EK_TRY(find_loop(op, dtype, &loop));
    EK_TRY(command_find_op("cast", &cast));
    for (int32_t i = 0; i < s->count; i++) {
        if (s->in[i].dtype == loop->in[i])
            continue;
        const ek_array *from = &s->operand[i];
        EK_TRY(
            ek_array_alloc(s->queue, (ek_dtype)loop->in[i], from->ndim, from->shape, &s->cast[i]));
        ek_array *to = &s->cast[i];
        EK_TRY(ek_apply(s->queue, cast, &from, 0, NULL, &to));
        s->operand[i] = s->cast[i];
    }
    return EK_OK;
}

/* An operation that adds to its output finds zeros there. */
static ek_status clear_output(session *s, ek_dtype dtype, ek_array *out)
{
    static uint64_t zeros[2];
    ek_device *cpu;
    EK_TRY(ek_device_open("cpu", &cpu));
    ek_array zero = ek_array_view(zeros, dtype, cpu, 0, NULL);
    ek_device_close(cpu);
    return ek_copy(s->queue, out, &zero);
}

static ek_status compute(session *s, const ek_op_info *op, const params *p, const ek_dtype *wanted)
{
    const ek_array *in[EK_MAX_INPUTS];
    for (int32_t i = 0; i < op->inputs; i++)
        in[i] = i < s->count ? &s->operand[i] : NULL;
    ek_output of[EK_MAX_OUTPUTS];
    ek_array *out[EK_MAX_OUTPUTS];
    EK_TRY(ek_infer(op, in, p->count, p->value, of));
    for (int32_t i = 0; i < op->outputs; i++) {
        ek_dtype dtype = wanted ? *wanted : of[i].dtype;
        out[i] = &s->out[i];
        EK_TRY(ek_array_alloc(s->queue, dtype, of[i].ndim, of[i].shape, out[i]));
        EK_TRY(clear_output(s, dtype, out[i]));
    }
    EK_TRY(ek_apply(s->queue, op, in, p->count, p->value, out));
    return ek_queue_sync(s->queue);
}

static ek_status write_output(session *s, int32_t i, const char *path)
{
    ek_array *out = &s->out[i], *host_out = &s->host_out[i];
    if (on_host(s))
        return npy_write(path, out);
    ek_dtype dtype;
    int64_t size;
    ek_device *cpu;
    EK_TRY(ek_array_dtype(out, &dtype));
    EK_TRY(ek_array_size(out, &size));
    void *data = malloc((size_t)size * ek_dtype_size(dtype) + 1);
    if (!data)
        return ek_fail(EK_OUT_OF_MEMORY, "%s: no host memory", path);
    EK_TRY(ek_device_open("cpu", &cpu));
    *host_out = ek_array_view(data, dtype, cpu, out->ndim, out->shape);
    ek_device_close(cpu);
    EK_TRY(ek_copy(s->queue, host_out, out));
    EK_TRY(ek_queue_sync(s->queue));
    return npy_write(path, host_out);
}

static ek_status run(session *s, const request *r, int count, char **words)
{
    const ek_op_info *op;
    params p = {.count = 0};
    ek_dtype dtype;
    EK_TRY(command_find_op(words[0], &op));
    if (r->output_count != op->outputs)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_%s: %d output files given: it has %d output%s",
                       op->name, r->output_count, (int)op->outputs, op->outputs > 1 ? "s" : "");
    if (r->dtype)
        EK_TRY(ek_dtype_parse(r->dtype, &dtype));
    for (int i = 0; i < r->param_count; i++)
        EK_TRY(params_add(&p, op, r->params[i]));
    EK_TRY(open_queue(s, r));
    EK_TRY(read_inputs(s, op, count - 1, words + 1));
    bool result_dtype = strcmp(op->kind, "cast") == 0 || op->inputs == 0;
    if (strcmp(op->kind, "cast") == 0 && !r->dtype)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_%s: --dtype must name the dtype of the result",
                       op->name);
    if (r->dtype && !result_dtype)
        EK_TRY(convert_inputs(s, op, dtype));
    EK_TRY(compute(s, op, &p, r->dtype && result_dtype ? &dtype : NULL));
    for (int32_t i = 0; i < op->outputs; i++)
        EK_TRY(write_output(s, i, r->outputs[i]));
    return EK_OK;
}

static void close_session(session *s)
{
    for (int i = 0; i < EK_MAX_INPUTS; i++) {
        npy_free(&s->in[i]);
        ek_array_free(s->queue, &s->moved[i]);
        ek_array_free(s->queue, &s->cast[i]);
    }
    for (int i = 0; i < EK_MAX_OUTPUTS; i++) {
        ek_array_free(s->queue, &s->out[i]);
        free(s->host_out[i].data);
    }
    ek_queue_close(s->queue);
}

int command_run(int argc, char **argv)
{
    enum { CPU = 256, THREADS };
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'}, {"device", required_argument, NULL, 'd'},
        {"dtype", required_argument, NULL, 't'},  {"param", required_argument, NULL, 'p'},
        {"cpu", required_argument, NULL, CPU},    {"threads", required_argument, NULL, THREADS},
        {"help", no_argument, NULL, 'h'},         {0},
    };
    request r = {.device = "cpu"};
    for (int option; (option = command_option(argc, argv, ":o:d:t:p:h", options, help)) != -1;) {
        switch (option) {
        case COMMAND_HELP:
            return COMMAND_OK;
        case COMMAND_BAD:
            return COMMAND_MISUSED;
        case 'o':
            if (r.output_count == EK_MAX_OUTPUTS)
                return command_misuse(argv[0], "more than %d outputs", EK_MAX_OUTPUTS);
            r.outputs[r.output_count++] = optarg;
            break;
        case 'd':
            r.device = optarg;
            break;
        case 't':
            r.dtype = optarg;
            break;
        case CPU:
            r.variant = optarg;
            break;
        case THREADS:
            r.threads = optarg;
            break;
        default:
            if (r.param_count == PARAMS_MOST)
                return command_misuse(argv[0], "more than %d parameters", PARAMS_MOST);
            r.params[r.param_count++] = optarg;
        }
    }
    if (optind == argc)
        return command_misuse(argv[0], "no operation given");
    if (!r.output_count)
        return command_misuse(argv[0], "no output given: -o FILE");
    session s;
    memset(&s, 0, sizeof s);
    ek_status status = run(&s, &r, argc - optind, argv + optind);
    int result = status == EK_OK ? COMMAND_OK : command_fail(argv[0]);
    close_session(&s);
    return result;
}
