/* Queues with options, on the fake CUDA driver: operands of other devices, operations without a
 * kernel, and that nothing of it happens unasked. Each test runs in a process of its own. */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "check_runtime.h"
#include "counts.h"
#include "einkorn/fallback.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"
#include "einkorn/ops/argmax.h"
#include "einkorn/ops/cast.h"
#include "einkorn/ops/copy.h"
#include "einkorn/ops/cumsum.h"
#include "einkorn/ops/fill.h"
#include "einkorn/ops/frexp.h"
#include "einkorn/ops/gemm_exact.h"
#include "einkorn/ops/layer_norm.h"
#include "einkorn/ops/softmax.h"
#include "einkorn/ops/sum.h"
#include "einkorn/ops/var.h"
#include "einkorn/program.h"
#include "fake.h"

static const char *const variables[] = {"EINKORN_HOST_TO_DEVICE", "EINKORN_FALLBACK",
                                        "EINKORN_SYNC"};
static const uint32_t options[] = {EK_HOST_TO_DEVICE, EK_FALLBACK, EK_SYNC_EACH_CALL};

enum { OPTIONS = 3 };

/* ---- options */

/* O022: a switch that is set to "0" is off. */
START_TEST(switches_of_the_environment_O022)
{
    static const char *const off[] = {"", "0", "no", "off", "false"};
    static const char *const on[] = {"1", "yes", "on", "true"};
    static const char *const wrong[] = {"2", "maybe", "No", " 1", "on "};
    ek_queue *queue = NULL;
    ek_device *device;
    EK_MUST(ek_device_open("cuda", &device));
    for (int v = 0; v < OPTIONS; v++) {
        for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
            setenv(variables[v], off[i], 1);
            EK_MUST(ek_queue_open(device, &queue));
            ck_assert_uint_eq(ek_queue_options(queue), 0);
            ek_queue_close(queue);
        }
        for (size_t i = 0; i < sizeof on / sizeof on[0]; i++) {
            setenv(variables[v], on[i], 1);
            EK_MUST(ek_queue_open(device, &queue));
            ck_assert_uint_eq(ek_queue_options(queue), options[v]);
            setenv(variables[v], "no", 1); /* too late for this queue */
            ck_assert_uint_eq(ek_queue_options(queue), options[v]);
            ek_queue_close(queue);
        }
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            setenv(variables[v], wrong[i], 1);
            queue = NULL;
            EK_MUST_REFUSE(ek_queue_open(device, &queue), EK_INVALID_ARGUMENT, variables[v]);
            ck_assert_ptr_null(queue);
        }
        unsetenv(variables[v]);
    }
    ek_device_close(device);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

START_TEST(options_are_set)
{
    ek_queue *queue = fake_queue("cuda");
    ck_assert_uint_eq(ek_queue_options(queue), 0);
    EK_MUST(ek_queue_set_options(queue, EK_HOST_TO_DEVICE | EK_FALLBACK));
    ck_assert_uint_eq(ek_queue_options(queue), EK_HOST_TO_DEVICE | EK_FALLBACK);
    EK_MUST_REFUSE(ek_queue_set_options(queue, 1u << 31), EK_INVALID_ARGUMENT, "0x80000000");
    EK_MUST_REFUSE(ek_queue_set_options(NULL, 0), EK_INVALID_ARGUMENT, "queue is null");
    ck_assert_uint_eq(ek_queue_options(queue), EK_HOST_TO_DEVICE | EK_FALLBACK);
    EK_MUST(ek_queue_set_options(queue, 0));
    ck_assert_uint_eq(ek_queue_options(queue), 0);
    ek_queue_close(queue);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

/* ---- operands of other devices */

/* Bytes of a device's memory that are given out. */
static size_t in_use(const ek_queue *queue)
{
    ek_memory_info info;
    EK_MUST(ek_memory_stats(ek_queue_device(queue), &info));
    return info.in_use;
}

typedef struct operands {
    ek_queue *queue, *other;
    int64_t shape[2];
    float host[6], *x, *y;
    ek_array on_host, pinned, near, far, out;
} operands;

static operands open_operands(void)
{
    operands o = {.queue = fake_queue("cuda:0"),
                  .other = fake_queue("cuda:1"),
                  .shape = {2, 3},
                  .host = {1, 2, 3, 4, 5, 6}};
    o.x = fake_floats(o.queue, 12);
    o.y = fake_floats(o.other, 6);
    return o;
}

/* Once the operands have their final address. */
static void view_operands(operands *o)
{
    o->near = ek_array_view(o->x, EK_F32, ek_queue_device(o->queue), 2, o->shape);
    o->out = ek_array_view(o->x + 6, EK_F32, ek_queue_device(o->queue), 2, o->shape);
    o->far = ek_array_view(o->y, EK_F32, ek_queue_device(o->other), 2, o->shape);
    o->on_host = o->near;
    o->on_host.data = o->host;
    o->on_host.device.type = EK_DEVICE_CPU;
    o->pinned = o->on_host;
    o->pinned.device.type = EK_DEVICE_CUDA_HOST;
}

static void close_operands(operands *o)
{
    EK_MUST(ek_free(o->queue, o->x));
    EK_MUST(ek_free(o->other, o->y));
    ek_queue_close(o->queue);
    ek_queue_close(o->other);
    ck_assert_int_eq(fake.alive(), 0);
    ck_assert_int_eq(fake.context_failures(), 0);
}

/* O003, O006: nothing reaches the driver, and the message says what would help. */
START_TEST(strangers_are_refused_O003_O006)
{
    operands o = open_operands();
    view_operands(&o);
    for (int mixed = 0; mixed < 2; mixed++) {
        EK_MUST(ek_queue_set_options(o.queue, mixed ? EK_HOST_TO_DEVICE : 0));
        int calls = fake.calls(NULL);
        EK_MUST_REFUSE(ek_add(o.queue, &o.near, &o.far, &o.out), EK_DEVICE_MISMATCH,
                       "ek_add: y is on cuda:1: the queue's device is cuda:0; ek_copy moves it");
        EK_MUST_REFUSE(ek_add(o.queue, &o.near, &o.near, &o.on_host), EK_DEVICE_MISMATCH,
                       "ek_add: out is on cpu: the queue's device is cuda:0; outputs are never "
                       "copied");
        EK_MUST_REFUSE(ek_add(o.queue, &o.near, &o.near, &o.far), EK_DEVICE_MISMATCH,
                       "ek_add: out is on cuda:1");
        EK_MUST_REFUSE(ek_gemm_exact(o.queue, NULL, &o.far, &o.near, &o.out), EK_DEVICE_MISMATCH,
                       "ek_gemm_exact: a is on cuda:1");
        if (!mixed) {
            EK_MUST_REFUSE(ek_add(o.queue, &o.on_host, &o.near, &o.out), EK_DEVICE_MISMATCH,
                           "ek_add: x is on cpu: the queue's device is cuda:0; a queue with "
                           "EK_HOST_TO_DEVICE would copy it in");
            EK_MUST_REFUSE(ek_sum(o.queue, &o.pinned, 0, NULL, false, &o.out), EK_DEVICE_MISMATCH,
                           "ek_sum: x is on pinned host memory");
        }
        ck_assert_int_eq(fake.calls(NULL), calls);
    }
    close_operands(&o);
}
END_TEST

/* What a call is given in place of a host array, looked at by a call of our own. */
typedef struct seen {
    const ek_array *wanted;
    const char *zeros; /* an x for each dimension whose stride must be 0 */
    int calls;
} seen;

static float element(const ek_array *x, int64_t index)
{
    int64_t offset = 0;
    for (int32_t d = x->ndim - 1; d >= 0; d--) {
        offset += index % x->shape[d] * x->strides[d];
        index /= x->shape[d];
    }
    return ((const float *)ek_array_data(x))[offset];
}

static ek_status look(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                      const void *args, ek_array *const *out)
{
    seen *s = (seen *)args;
    const ek_array *wanted = s->wanted, *got = in[0];
    int64_t size = 0;
    (void)out;
    s->calls++;
    ck_assert_ptr_eq(in[1], in[0]); /* one array, moved once */
    ck_assert_int_eq(got->device.type, EK_DEVICE_CUDA);
    ck_assert_int_eq(got->device.index, ek_device_index(ek_queue_device(queue)));
    ck_assert_int_eq(got->ndim, wanted->ndim);
    EK_MUST(ek_array_size(wanted, &size));
    for (int64_t i = 0; i < size; i++) {
        if (element(wanted, i) != element(got, i))
            ck_abort_msg("%s: element %lld", op->name, (long long)i);
    }
    for (int32_t d = 0; d < got->ndim; d++) {
        if (s->zeros[d] == 'x')
            ck_assert_int_eq(got->strides[d], 0);
    }
    return EK_OK;
}

/* Any layout arrives as it is, without what is between its elements, and a row that stands for
 * many stays one row. */
START_TEST(host_inputs_are_copied_in)
{
    static const struct {
        int32_t ndim;
        int64_t shape[3], strides[3];
        int64_t first;
        const char *zeros;
    } layouts[] = {
        {0, {0}, {0}, 5, ""},
        {1, {7}, {1}, 0, " "},
        {1, {7}, {-3}, 20, " "},
        {1, {0}, {1}, 0, " "},
        {2, {3, 4}, {4, 1}, 0, "  "},
        {2, {3, 4}, {1, 3}, 2, "  "},
        {2, {3, 4}, {-20, 2}, 60, "  "},
        {2, {5, 4}, {0, 1}, 0, "x "},
        {2, {5, 4}, {1, 0}, 0, " x"},
        {2, {100, 100}, {0, 0}, 1, "xx"},
        {3, {2, 3, 4}, {4, 8, -1}, 20, "   "},
        {3, {2, 0, 4}, {4, 8, 1}, 20, "   "},
        {2, {3, 3}, {1, 1}, 0, "  "}, /* elements used more than once */
    };
    ek_queue *queue = fake_queue("cuda:1");
    float host[128], *pinned;
    fake_set_current(1);
    ck_assert_int_eq(fake.host_alloc((void **)&pinned, sizeof host, 0), CUDA_SUCCESS);
    fake_set_current(_i);
    EK_MUST(ek_queue_set_options(queue, EK_HOST_TO_DEVICE));
    for (int i = 0; i < 128; i++)
        host[i] = pinned[i] = (float)i;
    CUcontext mine = fake_current();
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        for (int kind = 0; kind < 3; kind++) {
            int64_t shape[3], strides[3];
            memcpy(shape, layouts[i].shape, sizeof shape);
            memcpy(strides, layouts[i].strides, sizeof strides);
            ek_array x = ek_array_view(kind ? pinned : host, EK_F32, ek_queue_device(queue),
                                       layouts[i].ndim, shape);
            x.byte_offset = (uint64_t)layouts[i].first * sizeof(float);
            x.strides = strides;
            x.device.type = kind == 2 ? EK_DEVICE_CUDA_HOST : EK_DEVICE_CPU;
            x.device.index = 0;
            const ek_array *in[] = {&x, &x};
            seen s = {&x, layouts[i].zeros, 0};
            size_t before = in_use(queue);
            EK_MUST(ek_call(look, queue, &ek_op_add.info, in, &s, NULL));
            ck_assert_int_eq(s.calls, 1);
            ck_assert_uint_eq(in_use(queue), before);
            ck_assert_ptr_eq(fake_current(), mine);
        }
    }
    fake.host_free(pinned);
    ek_queue_close(queue);
    ck_assert_int_eq(fake.context_failures(), 0);
}
END_TEST

/* The array calls of every kind come through the same door. */
START_TEST(every_kind_takes_host_inputs)
{
    operands o = open_operands();
    view_operands(&o);
    int64_t square[] = {2, 2}, two[] = {2}, three[] = {3}, six[] = {6}, one[] = {1};
    int64_t shift = 1;
    int32_t axis = 0;
    ek_array matrix = o.on_host, product = o.out, row = o.on_host, sums = o.out, flat = o.out,
             whole = o.out;
    matrix.shape = product.shape = square;
    row.ndim = sums.ndim = flat.ndim = whole.ndim = 1;
    row.shape = three;
    sums.shape = two;
    flat.shape = six;
    whole.shape = one;
    ek_array index = ek_array_view(o.x + 6, EK_I64, ek_queue_device(o.queue), 1, one);
    ek_array halves = ek_array_view(o.x + 6, EK_F16, ek_queue_device(o.queue), 2, o.shape);
    int32_t last = 1;
    for (int option = 1; option >= 0; option--) {
        EK_MUST(ek_queue_set_options(o.queue, option ? EK_HOST_TO_DEVICE : 0));
        ek_queue *q = o.queue;
        const ek_array *in[] = {&o.on_host};
        for (int call = 0; call < 11; call++) {
            int kernels = fake.kernels();
            ek_status status = EK_OK;
            switch (call) {
            case 0:
                status = ek_add(q, &o.on_host, &o.near, &o.out);
                break;
            case 1:
                status = ek_cast(q, &o.on_host, &halves);
                break;
            case 2:
                status = ek_sum(q, &o.on_host, 1, &last, false, &sums);
                break;
            case 3:
                status = ek_var(q, &o.on_host, 1, &last, 0, false, &sums);
                break;
            case 4:
                status = ek_argmax(q, &row, EK_ALL_AXES, true, &index);
                break;
            case 5:
                status = ek_softmax(q, &o.on_host, -1, &o.out);
                break;
            case 6:
                status = ek_layer_norm(q, &o.near, &row, &row, -1, 1e-5, &o.out);
                break;
            case 7:
                status = ek_cumsum(q, &o.on_host, EK_ALL_AXES, &flat);
                break;
            case 8:
                status = ek_gemm_exact(q, NULL, &matrix, &matrix, &product);
                break;
            case 9:
                status = ek_roll(q, &o.on_host, 1, &shift, &axis, &o.out);
                break;
            default:
                status = ek_apply(q, &ek_op_copy.info, in, 0, NULL, (ek_array *[]){&o.out});
                break;
            }
            ck_assert_msg(status == (option ? EK_OK : EK_DEVICE_MISMATCH), "call %d: %s", call,
                          ek_error_message());
            ck_assert_msg((fake.kernels() > kernels) == option, "call %d", call);
        }
    }
    close_operands(&o);
}
END_TEST

/* What is refused after the operands were brought leaves nothing behind. */
START_TEST(refused_calls_give_back)
{
    operands o = open_operands();
    view_operands(&o);
    int64_t wrong[] = {5, 5};
    ek_array x = o.on_host;
    float *odd = (float *)((char *)o.host + 1);
    EK_MUST(ek_queue_set_options(o.queue, EK_HOST_TO_DEVICE));
    size_t before = in_use(o.queue);
    int kernels = fake.kernels();
    EK_MUST_REFUSE(ek_add(o.queue, &o.on_host, &o.far, &o.out), EK_DEVICE_MISMATCH, "y is on");
    x.shape = wrong;
    x.data = NULL;
    EK_MUST_REFUSE(ek_add(o.queue, &o.on_host, &x, &o.out), EK_INVALID_ARGUMENT, "y has no data");
    EK_MUST_REFUSE(ek_add(o.queue, &o.on_host, NULL, &o.out), EK_INVALID_ARGUMENT, "y is null");
    EK_MUST(ek_memory_set_limit(ek_queue_device(o.queue), 0));
    EK_MUST_REFUSE(ek_add(o.queue, &o.on_host, &o.pinned, &o.out), EK_OUT_OF_MEMORY, "ek_alloc");
    EK_MUST(ek_memory_set_limit(ek_queue_device(o.queue), SIZE_MAX));
    fake.fail_call("cuMemcpyAsync", 2, CUDA_ERROR_UNKNOWN);
    EK_MUST_REFUSE(ek_add(o.queue, &o.on_host, &o.pinned, &o.out), EK_DEVICE_ERROR, "another");
    ck_assert_uint_eq(in_use(o.queue), before);
    ck_assert_int_eq(fake.kernels(), kernels);
    x = o.on_host; /* host memory may be anywhere: it is aligned where it arrives */
    x.data = odd;
    int64_t one[] = {1, 1};
    x.shape = one;
    EK_MUST(ek_add(o.queue, &x, &o.near, &o.out));
    close_operands(&o);
}
END_TEST

/* A warm call whose operands are where they belong costs no further call of the driver. */
START_TEST(options_cost_no_driver_call)
{
    operands o = open_operands();
    view_operands(&o);
    EK_MUST(ek_queue_set_options(o.queue, EK_HOST_TO_DEVICE | EK_FALLBACK));
    EK_MUST(ek_add(o.queue, &o.near, &o.near, &o.out));
    int calls = fake.calls(NULL);
    EK_MUST(ek_add(o.queue, &o.near, &o.near, &o.out));
    ck_assert_int_eq(fake.calls(NULL), calls + 1);
    close_operands(&o);
}
END_TEST

/* On the CPU the options change nothing. */
START_TEST(options_on_the_cpu)
{
    operands o = open_operands();
    view_operands(&o);
    ek_queue *queue = fake_queue("cpu");
    float result[6];
    ek_array out = o.on_host;
    out.data = result;
    EK_MUST(ek_queue_set_options(queue, EK_HOST_TO_DEVICE | EK_FALLBACK));
    EK_MUST(ek_add(queue, &o.on_host, &o.pinned, &out));
    ck_assert_float_eq(result[5], 12);
    EK_MUST_REFUSE(ek_add(queue, &o.near, &o.on_host, &out), EK_DEVICE_MISMATCH,
                   "ek_add: x is on cuda:0: the queue's device is cpu; ek_copy moves it");
    ek_queue_close(queue);
    close_operands(&o);
}
END_TEST

/* An array is copied to the device once, and never where it is there. */
START_TEST(arrays_of_the_device)
{
    operands o = open_operands();
    view_operands(&o);
    ek_array array;
    bool made = true;
    int calls = fake.calls(NULL);
    EK_MUST(ek_asarray(o.queue, EK_F32, &o.near, &array, &made));
    ck_assert(!made);
    ck_assert_mem_eq(&array, &o.near, sizeof array);
    ck_assert_int_eq(fake.calls(NULL), calls);
    const ek_array *sources[] = {&o.on_host, &o.pinned, &o.far};
    memcpy(o.y, o.host, sizeof o.host);
    for (int i = 0; i < 3; i++) {
        EK_MUST(ek_asarray(o.queue, EK_F32, sources[i], &array, &made));
        ck_assert(made);
        ck_assert_int_eq(array.device.type, EK_DEVICE_CUDA);
        ck_assert_int_eq(array.device.index, 0);
        ck_assert_mem_eq(array.data, o.host, sizeof o.host);
        EK_MUST(ek_array_free(o.queue, &array));
    }
    EK_MUST(ek_asarray(o.queue, EK_F16, &o.on_host, &array, &made));
    ck_assert_str_eq(fake.last_launch().kernel, "ek_cast_f32_f16");
    EK_MUST(ek_array_free(o.queue, &array));
    fake.fail_call("cuMemcpyAsync", 1, CUDA_ERROR_UNKNOWN);
    ck_assert_int_eq(ek_asarray(o.queue, EK_F16, &o.on_host, &array, &made), EK_DEVICE_ERROR);
    close_operands(&o);
}
END_TEST

START_TEST(programs_with_host_inputs)
{
    operands o = open_operands();
    view_operands(&o);
    ek_program *program = NULL;
    float *pinned;
    fake_set_current(0);
    ck_assert_int_eq(fake.host_alloc((void **)&pinned, sizeof o.host, 0), CUDA_SUCCESS);
    memcpy(pinned, o.host, sizeof o.host);
    o.pinned.data = pinned;
    EK_MUST(ek_queue_set_options(o.queue, EK_HOST_TO_DEVICE));
    EK_MUST(ek_record_begin(o.queue));
    EK_MUST_REFUSE(ek_add(o.queue, &o.on_host, &o.near, &o.out), EK_UNSUPPORTED, "pageable");
    EK_MUST(ek_add(o.queue, &o.pinned, &o.near, &o.out));
    EK_MUST(ek_record_end(o.queue, &program));
    EK_MUST(ek_program_run(o.queue, program));
    ck_assert_int_eq(fake.kernels(), 1);
    ek_program_close(program);
    fake.host_free(pinned);
    fake.release(0);
    close_operands(&o);
}
END_TEST

/* ---- operations without a kernel */

typedef struct heard {
    int count;
    char last[32];
} heard;

static void hear(void *context, const char *operation)
{
    heard *h = context;
    h->count++;
    strncpy(h->last, operation, sizeof h->last - 1);
}

/* An operation as an application has it that gave no CUDA kernel. */
typedef struct kernelless {
    ek_op_info info;
    const void *kernels[EK_VARIANTS];
} kernelless;

static void without_cuda(const ek_op_info *op, kernelless *made)
{
    made->info = *op;
    memcpy(made->kernels, op->kernels, sizeof made->kernels);
    made->kernels[EK_CUDA] = NULL;
    made->info.kernels = made->kernels;
}

START_TEST(fallback_is_asked_for)
{
    operands o = open_operands();
    view_operands(&o);
    kernelless add, sum;
    heard heard = {0, ""};
    without_cuda(&ek_op_add.info, &add);
    without_cuda(&ek_op_sum.info, &sum);
    for (int i = 0; i < 6; i++)
        o.x[i] = (float)i;
    const ek_array *in[] = {&o.near, &o.near};
    EK_MUST(ek_fallback_announce(o.queue, hear, &heard));
    EK_MUST_REFUSE(ek_apply(o.queue, &add.info, in, 0, NULL, (ek_array *[]){&o.out}),
                   EK_UNSUPPORTED, "with EK_FALLBACK an array call runs it on the CPU");
    ck_assert_int_eq(ek_fallback_count(o.queue), 0);
    EK_MUST(ek_queue_set_options(o.queue, EK_FALLBACK));
    size_t before = in_use(o.queue);
    for (int time = 1; time <= 3; time++) {
        memset(o.x + 6, 0, 6 * sizeof *o.x);
        EK_MUST(ek_apply(o.queue, &add.info, in, 0, NULL, (ek_array *[]){&o.out}));
        for (int i = 0; i < 6; i++)
            ck_assert_float_eq(o.x[6 + i], 2 * (float)i);
        ck_assert_int_eq(ek_fallback_count(o.queue), time);
        ck_assert_int_eq(heard.count, 1);
        ck_assert_str_eq(heard.last, "add");
    }
    ek_array scalar = o.out;
    scalar.ndim = 0;
    EK_MUST(ek_apply(o.queue, &sum.info, in, 0, NULL, (ek_array *[]){&scalar}));
    ck_assert_float_eq(o.x[6], 15);
    ck_assert_int_eq(heard.count, 2);
    EK_MUST(ek_add(o.queue, &o.near, &o.near, &o.out)); /* has a kernel */
    ck_assert_int_eq(ek_fallback_count(o.queue), 4);
    ck_assert_int_eq(fake.kernels(), 1);
    ck_assert_uint_eq(in_use(o.queue), before);
    EK_MUST(ek_fallback_announce(o.queue, NULL, NULL));
    EK_MUST(ek_apply(o.queue, &sum.info, in, 0, NULL, (ek_array *[]){&scalar}));
    ck_assert_int_eq(heard.count, 2);
    ck_assert_int_eq(ek_fallback_count(o.queue), 5);
    EK_MUST_REFUSE(ek_fallback_announce(NULL, hear, &heard), EK_INVALID_ARGUMENT, "queue is null");
    close_operands(&o);
}
END_TEST

/* Operands of any layout, the output too; what a product adds to is read first. */
START_TEST(fallback_of_any_layout)
{
    operands o = open_operands();
    view_operands(&o);
    kernelless add, gemm;
    without_cuda(&ek_op_add.info, &add);
    without_cuda(&ek_op_gemm_exact.info, &gemm);
    EK_MUST(ek_queue_set_options(o.queue, EK_FALLBACK));
    for (int i = 0; i < 12; i++)
        o.x[i] = (float)i;
    int64_t shape[] = {2, 2}, back[] = {-2, 0}, across[] = {1, 4};
    ek_array x = o.near, out = o.out;
    x.shape = out.shape = shape;
    x.strides = back;
    x.byte_offset = 3 * sizeof(float); /* 3 3, 1 1 */
    out.strides = across;              /* cells 6 10, 7 11 */
    const ek_array *in[] = {&x, &x};
    EK_MUST(ek_apply(o.queue, &add.info, in, 0, NULL, (ek_array *[]){&out}));
    const float wanted[] = {6, 2, 8, 9, 6, 2};
    for (int i = 0; i < 6; i++)
        ck_assert_float_eq(o.x[6 + i], wanted[i]);
    const ek_param beta = {.name = "beta", .real = 1};
    ek_array a = o.near, c = o.out;
    a.shape = c.shape = shape;
    const ek_array *factors[] = {&a, &a}; /* 0 1, 2 3 */
    EK_MUST(ek_apply(o.queue, &gemm.info, factors, 1, &beta, (ek_array *[]){&c}));
    const float sums[] = {6 + 2, 2 + 3, 8 + 6, 9 + 11};
    for (int i = 0; i < 4; i++)
        ck_assert_float_eq(o.x[6 + i], sums[i]);
    int64_t none[] = {0, 2};
    a.shape = out.shape = none;
    a.data = out.data = NULL;
    out.strides = NULL;
    const ek_array *empty[] = {&a, &a};
    EK_MUST(ek_apply(o.queue, &add.info, empty, 0, NULL, (ek_array *[]){&out}));
    close_operands(&o);
}
END_TEST

/* Whether operands may be elsewhere is the other option's business. */
/* Several outputs, one of them in place of an input; outputs that overlap each other are refused as
 * they are where the operation has a kernel. */
START_TEST(fallback_of_several_outputs)
{
    operands o = open_operands();
    view_operands(&o);
    kernelless frexp;
    without_cuda(&ek_op_frexp.info, &frexp);
    EK_MUST(ek_queue_set_options(o.queue, EK_FALLBACK));
    for (int i = 0; i < 6; i++)
        o.x[i] = (float)(1 << i) * 1.5f;
    ek_array exponent = ek_array_view(o.x + 6, EK_I32, ek_queue_device(o.queue), 2, o.shape);
    const ek_array *in[] = {&o.near};
    EK_MUST(ek_apply(o.queue, &frexp.info, in, 0, NULL, (ek_array *[]){&o.near, &exponent}));
    for (int i = 0; i < 6; i++) {
        int32_t found;
        memcpy(&found, o.x + 6 + i, sizeof found);
        ck_assert_float_eq(o.x[i], 0.75f);
        ck_assert_int_eq(found, i + 1);
    }
    exponent.data = o.x;
    EK_MUST_REFUSE(ek_apply(o.queue, &frexp.info, in, 0, NULL, (ek_array *[]){&o.near, &exponent}),
                   EK_OVERLAP, "mantissa at");
    ck_assert_float_eq(o.x[0], 0.75f);
    ck_assert_int_eq(ek_fallback_count(o.queue), 1);
    close_operands(&o);
}
END_TEST

START_TEST(fallback_refuses)
{
    operands o = open_operands();
    view_operands(&o);
    kernelless add;
    without_cuda(&ek_op_add.info, &add);
    EK_MUST(ek_queue_set_options(o.queue, EK_FALLBACK));
    memset(o.x, 0, 12 * sizeof *o.x);
    const ek_array *in[] = {&o.on_host, &o.near}, *far[] = {&o.near, &o.far};
    EK_MUST_REFUSE(ek_apply(o.queue, &add.info, in, 0, NULL, (ek_array *[]){&o.out}),
                   EK_DEVICE_MISMATCH, "x is on cpu");
    EK_MUST_REFUSE(ek_apply(o.queue, &add.info, far, 0, NULL, (ek_array *[]){&o.out}),
                   EK_DEVICE_MISMATCH, "y is on cuda:1");
    EK_MUST_REFUSE(ek_apply(o.queue, &add.info, in, 0, NULL, (ek_array *[]){&o.on_host}),
                   EK_DEVICE_MISMATCH, "out is on cpu");
    ck_assert_int_eq(ek_fallback_count(o.queue), 0);
    EK_MUST(ek_queue_set_options(o.queue, EK_FALLBACK | EK_HOST_TO_DEVICE));
    EK_MUST(ek_apply(o.queue, &add.info, in, 0, NULL, (ek_array *[]){&o.out}));
    ck_assert_float_eq(o.x[11], 6);
    EK_MUST(ek_record_begin(o.queue));
    EK_MUST_REFUSE(ek_apply(o.queue, &add.info, in, 0, NULL, (ek_array *[]){&o.out}),
                   EK_UNSUPPORTED, "queue is recording");
    ek_program *program = NULL;
    EK_MUST(ek_record_end(o.queue, &program));
    ek_program_close(program);
    fake.fail_call("cuMemcpyAsync", 2, CUDA_ERROR_UNKNOWN);
    memset(o.x + 6, 0, 6 * sizeof *o.x);
    ck_assert_int_eq(ek_apply(o.queue, &add.info, in, 0, NULL, (ek_array *[]){&o.out}),
                     EK_DEVICE_ERROR);
    ck_assert_float_eq(o.x[11], 0);
    fake.fail_call("cuMemcpyAsync", 0, 0);
    close_operands(&o);
}
END_TEST

/* A pinned input is read where it is, and only when the queue has come to the call. */
START_TEST(fallback_waits_for_pinned_inputs)
{
    operands o = open_operands();
    float *pinned;
    kernelless add;
    view_operands(&o);
    without_cuda(&ek_op_add.info, &add);
    EK_MUST(ek_pinned_alloc(ek_queue_device(o.queue), sizeof o.host, (void **)&pinned));
    memset(pinned, 0, sizeof o.host);
    o.pinned.data = pinned;
    for (int i = 0; i < 6; i++)
        o.x[i] = (float)i;
    EK_MUST(ek_queue_set_options(o.queue, EK_FALLBACK | EK_HOST_TO_DEVICE));
    fake.hold(1);
    EK_MUST(ek_copy(o.queue, &o.pinned, &o.near));
    const ek_array *in[] = {&o.pinned, &o.pinned};
    EK_MUST(ek_apply(o.queue, &add.info, in, 0, NULL, (ek_array *[]){&o.out}));
    EK_MUST(ek_queue_sync(o.queue));
    fake.hold(0);
    for (int i = 0; i < 6; i++)
        ck_assert_float_eq(o.x[6 + i], 2 * (float)i);
    EK_MUST(ek_pinned_free(ek_queue_device(o.queue), pinned));
    close_operands(&o);
}
END_TEST

static Suite *mixed_suite(void)
{
    Suite *suite = suite_create("mixed");
    TCase *set = tcase_create("options");
    tcase_add_test(set, switches_of_the_environment_O022);
    tcase_add_test(set, options_are_set);
    suite_add_tcase(suite, set);
    TCase *operands = tcase_create("operands");
    tcase_add_test(operands, strangers_are_refused_O003_O006);
    tcase_add_loop_test(operands, host_inputs_are_copied_in, -1, 2);
    tcase_add_test(operands, every_kind_takes_host_inputs);
    tcase_add_test(operands, refused_calls_give_back);
    tcase_add_test(operands, options_cost_no_driver_call);
    tcase_add_test(operands, options_on_the_cpu);
    tcase_add_test(operands, arrays_of_the_device);
    tcase_add_test(operands, programs_with_host_inputs);
    suite_add_tcase(suite, operands);
    TCase *fallback = tcase_create("fallback");
    tcase_add_test(fallback, fallback_is_asked_for);
    tcase_add_test(fallback, fallback_of_any_layout);
    tcase_add_test(fallback, fallback_of_several_outputs);
    tcase_add_test(fallback, fallback_refuses);
    tcase_add_test(fallback, fallback_waits_for_pinned_inputs);
    suite_add_tcase(suite, fallback);
    return suite;
}

int main(void)
{
    ek_counts counts = {0, 0, 0};
    if (!fake_open())
        return EXIT_FAILURE;
    ek_run_suite(mixed_suite(), &counts);
    return ek_end(&counts);
}
