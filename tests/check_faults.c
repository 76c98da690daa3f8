/* Failures everywhere: a run over the whole runtime and one operation of each kind, on the fake
 * driver and on the CPU, in which the nth call of the driver or the nth allocation fails, for every
 * n until nothing fails, and then every few of them. Each time a call says so, nothing leaks, the
 * current context stays, and the same run succeeds afterwards. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "cuda/address.h"
#include "einkorn/array.h"
#include "einkorn/event.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"
#include "einkorn/ops/fill.h"
#include "einkorn/program.h"
#include "error.h"
#include "fake.h"
#include "fault_alloc.h"
#include "op_test.h"
#include "problem.h"

enum { OPERANDS = EK_MAX_OPERANDS, ROOM = 512 << 10, MAX_CALLS = 64 };

/* What a run works with. */
typedef struct world {
    ek_device *cpu, *device;
    ek_queue *queue;
    char *memory; /* OPERANDS times ROOM bytes of the device */
} world;

static CUstream stream_of_mine; /* of device 1 */
static float *pinned;
static bool excused; /* what failed was closing something, which nobody is told */
static bool retried; /* memory ran out, and there was some the second time */

static bool failed_yet(void)
{
    return fake.failed() || fault_alloc_hit();
}

/* Closes a device of a run. */
static void close_device(ek_device *device)
{
    ek_memory_info info;
    if (device && ek_memory_stats(device, &info) == EK_OK)
        retried |= info.trims > 0;
    ek_device_close(device);
}

/* Closes something in a run. */
#define CLOSE(call)                                                                                \
    do {                                                                                           \
        bool failed_before = failed_yet();                                                         \
        call;                                                                                      \
        excused |= !failed_before && failed_yet();                                                 \
    } while (0)

/* Goes on to the next call only if all went well so far. */
#define THEN(status, call)                                                                         \
    do {                                                                                           \
        if ((status) == EK_OK)                                                                     \
            (status) = (call);                                                                     \
    } while (0)

static bool on_gpu(const world *w)
{
    return ek_device_get_type(w->device) == EK_DEVICE_CUDA;
}

/* ---- the parts of a run; each leaves nothing behind, whatever fails */

static ek_status use_memory(const world *w)
{
    static const int64_t shape[] = {3, 5};
    ek_array array = {0};
    void *memory = NULL;
    EK_TRY(ek_alloc(w->queue, 1000, &memory));
    ek_status status = ek_array_alloc(w->queue, EK_F64, 2, shape, &array);
    if (status == EK_OK)
        status = ek_array_free(w->queue, &array);
    ek_status freed = ek_free(w->queue, memory);
    return status != EK_OK ? status : freed;
}

/* A matrix of 4 by 8 floats. */
static ek_array matrix(void *data, const ek_device *device, int64_t *strides)
{
    static int64_t shape[] = {4, 8};
    ek_array array = ek_array_view(data, EK_F32, device, 2, shape);
    array.strides = strides;
    return array;
}

static ek_status copy_both_ways(const world *w, ek_array *here, ek_array *there)
{
    ek_status status = EK_OK;
    CLOSE(status = ek_copy(w->queue, here, there)); /* for which there is another way by the host */
    if (status == EK_OK)
        CLOSE(status = ek_copy(w->queue, there, here));
    return status;
}

static ek_status copy_between_gpus(const world *w, ek_array *here)
{
    ek_device *far = NULL;
    ek_queue *queue = NULL;
    float *memory = NULL;
    EK_TRY(ek_device_open("cuda:0", &far));
    ek_status status = ek_queue_open(far, &queue);
    THEN(status, ek_alloc(queue, 64 * sizeof *memory, (void **)&memory));
    static int64_t padded[] = {16, 1};
    ek_array whole = matrix(memory, far, NULL), rows = matrix(memory, far, padded);
    THEN(status, copy_both_ways(w, here, &whole));
    THEN(status, copy_both_ways(w, here, &rows));
    THEN(status, ek_queue_sync(w->queue));
    if (memory) {
        ek_status freed = ek_free(queue, memory);
        status = status != EK_OK ? status : freed;
    }
    CLOSE(ek_queue_close(queue));
    CLOSE(close_device(far));
    return status;
}

static ek_status use_copies(const world *w)
{
    static int64_t padded[] = {16, 1}, columns[] = {1, 4}, reversed[] = {-8, 1};
    static float host[64];
    ek_array packed = matrix(w->memory, w->device, NULL);
    ek_array turned = matrix(w->memory + ROOM, w->device, columns);
    ek_array rows = matrix(host, w->cpu, padded), up = matrix(host + 24, w->cpu, reversed);
    ek_array whole = matrix(host, w->cpu, NULL), across = matrix(host, w->cpu, columns);
    EK_TRY(copy_both_ways(w, &packed, &whole));
    EK_TRY(copy_both_ways(w, &packed, &rows));
    EK_TRY(copy_both_ways(w, &packed, &across));
    EK_TRY(copy_both_ways(w, &turned, &up));
    EK_TRY(copy_both_ways(w, &turned, &packed));
    if (!on_gpu(w))
        return EK_OK;
    ek_array fast = matrix(pinned, w->cpu, NULL);
    EK_TRY(copy_both_ways(w, &packed, &fast));
    return copy_between_gpus(w, &packed);
}

static ek_status use_events(const world *w)
{
    ek_event *start = NULL, *end = NULL;
    int reached = 0;
    double nanoseconds;
    EK_TRY(ek_event_open(w->device, &start));
    ek_status status = ek_event_open(w->device, &end);
    THEN(status, ek_event_record(start, w->queue));
    THEN(status, ek_event_record(end, w->queue));
    THEN(status, ek_event_wait(end, w->queue));
    THEN(status, ek_event_sync(end));
    THEN(status, ek_event_query(end, &reached));
    THEN(status, ek_event_elapsed(start, end, &nanoseconds));
    CLOSE(ek_event_close(start));
    CLOSE(ek_event_close(end));
    return status;
}

static ek_status use_wrapped_stream(const world *w)
{
    ek_queue *queue = NULL;
    float *x = (float *)w->memory;
    if (!on_gpu(w))
        return EK_OK;
    EK_TRY(ek_queue_wrap_stream(w->device, stream_of_mine, &queue));
    ek_status status = ek_add_f32(queue, 100, x, x, x);
    THEN(status, ek_queue_sync(queue));
    CLOSE(ek_queue_close(queue));
    return status;
}

/* ---- one operation of each kind */

/* A call made up before anything fails. */
typedef struct prepared {
    const ek_typed_test *test;
    int loop;
    int64_t lengths[3]; /* of the typed call */
    problem problem;
    ek_output output[EK_MAX_OUTPUTS];
} prepared;

static prepared calls[MAX_CALLS];
static int call_count;

static bool is_known(const ek_op_info *op)
{
    for (int i = 0; i < call_count; i++) {
        const ek_op_info *known = calls[i].test->info;
        if (strcmp(known->kind, op->kind) == 0 && strcmp(known->bits, op->bits) == 0)
            return true;
    }
    return false;
}

static void prepare(const ek_typed_test *test)
{
    static const int64_t shape[] = {6, 5000}, square[] = {30, 30}, planes[] = {3};
    const ek_op_info *op = test->info;
    prepared *p = &calls[call_count++];
    problem_form form = problem_form_of(op);
    bool product = form == FORM_GEMM, window = form == FORM_IMAGE || form == FORM_CONV;
    p->test = test;
    p->lengths[0] = window ? planes[0] : 1;
    p->lengths[1] = window ? PROBLEM_HEIGHT : product ? 30 : 5000; /* two kernels reduce 5,000 */
    p->lengths[2] = window ? PROBLEM_WIDTH : 2;
    for (int i = 0; i < op->loop_count; i++)
        p->loop = op->loops[i].out[0] == EK_F32 ? i : p->loop;
    problem_init(&p->problem, op, &op->loops[p->loop], window ? 1 : 2,
                 window    ? planes
                 : product ? square
                           : shape);
    if (product)
        problem_gemm(&p->problem, &(gemm_size){0, 30, 30, 30, false, true, 1, 0});
    if (form == FORM_REDUCTION)
        problem_reduce(&p->problem, 2, false);
    ck_assert_int_eq(problem_infer(&p->problem, p->output), EK_OK);
}

static void prepare_all(void)
{
    for (int i = 0; i < ek_typed_test_count; i++) {
        if (!is_known(ek_typed_tests[i]->info))
            prepare(ek_typed_tests[i]);
    }
}

static ek_status typed_call(const world *w, const prepared *p)
{
    const void *in[EK_MAX_INPUTS];
    void *out[EK_MAX_OUTPUTS];
    for (int i = 0; i < EK_MAX_OUTPUTS; i++)
        out[i] = w->memory + i * ROOM;
    for (int i = 0; i < EK_MAX_INPUTS; i++)
        in[i] = w->memory + (EK_MAX_OUTPUTS + i) * ROOM;
    return p->test->call(w->queue, p->loop, p->lengths, in, out);
}

static ek_status array_call(const world *w, const prepared *p)
{
    const ek_op_info *op = p->test->info;
    ek_array inputs[EK_MAX_INPUTS], outputs[EK_MAX_OUTPUTS], *out[EK_MAX_OUTPUTS];
    const ek_array *in[EK_MAX_INPUTS];
    for (int32_t i = 0; i < op->outputs; i++) {
        const ek_output *output = &p->output[i];
        outputs[i] = ek_array_view(w->memory + i * ROOM, output->dtype, w->device, output->ndim,
                                   (int64_t *)output->shape);
        out[i] = &outputs[i];
    }
    for (int32_t i = 0; i < op->inputs; i++) {
        inputs[i] =
            ek_array_view(w->memory + (EK_MAX_OUTPUTS + i) * ROOM, (ek_dtype)p->problem.loop->in[i],
                          w->device, p->problem.ndim[i], (int64_t *)p->problem.shape[i]);
        in[i] = &inputs[i];
    }
    return ek_apply(w->queue, op, in, p->problem.param_count, p->problem.params, out);
}

static ek_status use_kinds(const world *w)
{
    static const int64_t shift = 3;
    static const int32_t axis = 1;
    for (int i = 0; i < call_count; i++) {
        EK_TRY(typed_call(w, &calls[i]));
        EK_TRY(array_call(w, &calls[i]));
    }
    ek_array out = matrix(w->memory, w->device, NULL),
             x = matrix(w->memory + ROOM, w->device, NULL);
    EK_TRY(ek_roll(w->queue, &x, 1, &shift, &axis, &out));
    return ek_queue_sync(w->queue);
}

/* The calls of all kinds and memory of its own, run on the queue and on another. */
static ek_status record(const world *w)
{
    void *memory = NULL;
    EK_TRY(ek_alloc(w->queue, 5000, &memory));
    ek_status status = ek_fill_f32(w->queue, 1000, 1, memory);
    for (int i = 0; i < call_count && status == EK_OK; i++)
        status = typed_call(w, &calls[i]);
    ek_status freed = ek_free(w->queue, memory);
    return status != EK_OK ? status : freed;
}

static ek_status use_programs(const world *w)
{
    ek_program *program = NULL;
    ek_queue *other = NULL;
    EK_TRY(ek_record_begin(w->queue));
    ek_status status = record(w), ended = ek_record_end(w->queue, &program);
    status = status != EK_OK ? status : ended;
    THEN(status, ek_queue_open(w->device, &other));
    THEN(status, ek_program_run(w->queue, program));
    THEN(status, ek_program_run(other, program));
    THEN(status, ek_queue_sync(other));
    if (program)
        CLOSE(ek_program_close(program));
    CLOSE(ek_queue_close(other));
    return status;
}

static ek_status (*const parts[])(const world *w) = {
    use_memory, use_copies, use_events, use_wrapped_stream, use_kinds, use_programs,
};

enum { PARTS = sizeof parts / sizeof parts[0] };

/* ---- the run */

static ek_status run_in(world *w)
{
    EK_TRY(ek_queue_open(w->device, &w->queue));
    EK_TRY(ek_queue_set_threads(w->queue, 1));
    EK_TRY(ek_alloc(w->queue, (size_t)OPERANDS * ROOM, (void **)&w->memory));
    EK_TRY(ek_fill_u8(w->queue, (int64_t)OPERANDS * ROOM, 0, (uint8_t *)w->memory));
    for (int i = 0; i < PARTS; i++)
        EK_TRY(parts[i](w));
    return EK_OK;
}

static ek_status run(const char *name)
{
    world w = {0};
    excused = retried = false;
    EK_TRY(ek_device_open("cpu", &w.cpu));
    ek_status status = ek_device_open(name, &w.device);
    THEN(status, run_in(&w));
    if (w.memory) {
        ek_status freed = ek_free(w.queue, w.memory);
        status = status != EK_OK ? status : freed;
    }
    CLOSE(ek_queue_close(w.queue));
    CLOSE(close_device(w.device));
    CLOSE(close_device(w.cpu));
    return status;
}

/* Without a word of it: which memory is pageable is found out by asking, what is pushed, kept or
 * made on the way is given back at once, and a handle of cuBLAS that does not get its workspace
 * back after a recording is made anew. */
static bool is_quiet(const char *entry)
{
    static const char *const quiet[] = {
        "cuPointerGetAttribute", "cuCtxPopCurrent",     "cuDevicePrimaryCtxRelease",
        "cuGraphDestroy",        "cuStreamIsCapturing", "cublasSetWorkspace",
        "cuDeviceCanAccessPeer", "cuMemcpyPeerAsync",
    };
    for (size_t i = 0; i < sizeof quiet / sizeof quiet[0]; i++) {
        if (entry && strcmp(entry, quiet[i]) == 0)
            return true;
    }
    return false;
}

/* A run with faults that `arm` has set up; false if none was met. */
static bool faulty_run(const char *name, void (*arm)(int n, int every), int n, int every)
{
    CUcontext mine = fake_current();
    int alive = fake.alive();
    long blocks = fault_alloc_alive() - ek_cuda_address_nodes(); /* which stay */
    arm(n, every);
    ek_status status = run(name);
    const char *entry = fake.failed();
    bool met = failed_yet();
    arm(0, 0);
    if (met && !excused && !retried && status == EK_OK && every == 0 && !is_quiet(entry))
        ck_abort_msg("fault %d on %s (%s) is in silence", n, name, entry ? entry : "memory");
    if (!met && status != EK_OK)
        ck_abort_msg("%s, after %d faults: %s", name, n, ek_error_message());
    if (fake_current() != mine)
        ck_abort_msg("fault %d on %s (%s): another context is current", n, name, entry);
    /* A handle of cuBLAS can be destroyed in its context only; without, it stays. */
    bool no_context = excused && entry && strncmp(entry, "cuCtx", 5) == 0;
    if (no_context && fake.alive() == alive + 1)
        alive += 1;
    if (fake.alive() != alive || fault_alloc_alive() - ek_cuda_address_nodes() != blocks)
        ck_abort_msg("fault %d on %s (%s): %d things of the driver and %ld blocks are left", n,
                     name, entry ? entry : "memory", fake.alive() - alive,
                     fault_alloc_alive() - ek_cuda_address_nodes() - blocks);
    status = run(name);
    if (status != EK_OK)
        ck_abort_msg("after fault %d on %s (%s): %s", n, name, entry ? entry : "memory",
                     ek_error_message());
    return met;
}

/* ---- the faults */

static int result;

static void arm_driver(int n, int every)
{
    fake.fail_any(n, every, result);
}

static void arm_memory(int n, int every)
{
    fault_alloc(n, every);
}

/* What comes before the first fault: memory and a stream of the application's, all kernels. */
static void begin(int current)
{
    CUcontext popped;
    prepare_all();
    stream_of_mine = fake_stream(1);
    fake_set_current(1);
    ck_assert_int_eq(fake.host_alloc((void **)&pinned, 1024, 0), CUDA_SUCCESS);
    fake.pop(&popped);
    fake_set_current(current);
}

static void end(void)
{
    fake.host_free(pinned);
    fake.stream_destroy(stream_of_mine);
    ck_assert_int_eq(fake.context_failures(), 0);
}

static const int results[] = {CUDA_ERROR_UNKNOWN, CUDA_ERROR_OUT_OF_MEMORY,
                              CUDA_ERROR_LAUNCH_FAILED};

enum { RESULTS = sizeof results / sizeof results[0] };

START_TEST(each_call_of_the_driver)
{
    result = results[_i / 2];
    begin(_i % 2 ? 0 : -1);
    ck_assert_int_eq(run("cuda:1"), EK_OK);
    int n = 1;
    while (faulty_run("cuda:1", arm_driver, n, 0))
        n++;
    ck_assert_int_gt(n, 100);
    end();
}
END_TEST

START_TEST(many_calls_of_the_driver)
{
    result = results[_i];
    begin(0);
    ck_assert_int_eq(run("cuda:1"), EK_OK);
    for (int every = 1; every < 40; every++) {
        for (int n = 1; n <= every && n < 12; n++)
            ck_assert(faulty_run("cuda:1", arm_driver, n, every));
    }
    end();
}
END_TEST

/* The first run of a process loads kernels and cuBLAS. A driver that does not start (its first two
 * calls) stays so. */
START_TEST(first_calls_of_the_driver)
{
    result = results[_i % RESULTS];
    begin(0);
    faulty_run("cuda:1", arm_driver, 3 + 61 * _i, 0);
    end();
}
END_TEST

START_TEST(each_allocation)
{
    const char *name = _i ? "cuda:1" : "cpu";
    begin(0);
    ck_assert_int_eq(run(name), EK_OK);
    int n = 1;
    while (faulty_run(name, arm_memory, n, 0))
        n++;
    ck_assert_int_gt(n, 10);
    for (int every = 1; every < n; every++)
        ck_assert(faulty_run(name, arm_memory, every, every));
    end();
}
END_TEST

static Suite *faults_suite(void)
{
    Suite *suite = suite_create("faults");
    TCase *faults = tcase_create("faults");
    tcase_set_timeout(faults, 300);
    tcase_add_loop_test(faults, each_call_of_the_driver, 0, 2 * RESULTS);
    tcase_add_loop_test(faults, many_calls_of_the_driver, 0, RESULTS);
    tcase_add_loop_test(faults, first_calls_of_the_driver, 0, 40);
    tcase_add_loop_test(faults, each_allocation, 0, 2);
    suite_add_tcase(suite, faults);
    return suite;
}

int main(void)
{
    ek_counts counts = {0, 0, 0};
    if (!fake_open())
        return EXIT_FAILURE;
    ek_run_suite(faults_suite(), &counts);
    return ek_end(&counts);
}
