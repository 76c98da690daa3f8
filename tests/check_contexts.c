/* On a GPU, beside an application that has a context of its own current or none at all: every row
 * of the table gives the bits of the CPU and leaves the context alone. A second context plays the
 * other device here; tests/check_every_row.c has two. What broken devices do is in the last part,
 * in processes of their own. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compare.h"
#include "cuda/launch.h"
#include "cuda/queue.h"
#include "einkorn/event.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"
#include "einkorn/ops/argmax.h"
#include "einkorn/ops/gemm.h"
#include "einkorn/ops/softmax.h"
#include "einkorn/ops/sum.h"
#include "einkorn/program.h"
#include "subject.h"

#define MUST(call) ck_assert_msg((call) == EK_OK, "%s: %s", #call, ek_error_message())

/* ---- what is current */

typedef enum context { NONE_CURRENT, OTHER_CURRENT, OWN_CURRENT, CONTEXTS } context;

static const char *const context_names[CONTEXTS] = {"none", "the application's own",
                                                    "the library's"};

/* A context beside the primary one, made once. */
static CUcontext other_context(const ek_cuda_device *device)
{
    static CUcontext other;
    CUresult (*create)(CUcontext *, unsigned, CUdevice) = NULL;
    CUcontext popped;
    if (other)
        return other;
    void *symbol = dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), "cuCtxCreate_v2");
    memcpy(&create, &symbol, sizeof create);
    ck_assert_ptr_nonnull(symbol);
    ck_assert_int_eq(create(&other, 0, device->device), CUDA_SUCCESS);
    ck_assert_int_eq(ek_cu.cuCtxPopCurrent(&popped), CUDA_SUCCESS);
    return other;
}

static CUcontext current(void)
{
    CUcontext context = NULL;
    ek_cu.cuCtxGetCurrent(&context);
    return context;
}

static CUcontext enter(context which, const ek_place *gpu)
{
    const ek_cuda_device *device = ek_cuda_device_of(ek_queue_device(gpu->queue));
    CUcontext wanted = which == OWN_CURRENT ? device->context : other_context(device);
    ck_assert_ptr_null(current());
    if (which == NONE_CURRENT)
        return NULL;
    ck_assert_int_eq(ek_cu.cuCtxPushCurrent(wanted), CUDA_SUCCESS);
    return wanted;
}

static void leave(context which, CUcontext expected)
{
    CUcontext popped;
    ck_assert_ptr_eq(current(), expected);
    if (which != NONE_CURRENT)
        ck_assert_int_eq(ek_cu.cuCtxPopCurrent(&popped), CUDA_SUCCESS);
    ck_assert_ptr_null(current());
}

static const ek_place *cpu_place(void)
{
    const ek_place *places;
    ek_places(&places);
    return &places[0];
}

static const ek_place *gpu_place(void)
{
    const ek_place *places;
    ek_tested_places(&places);
    return &places[0];
}

/* ---- every row */

enum { VARIETIES = 6 };

static bool open_subject(ek_subject *s, const ek_place *place, const ek_typed_test *test, int loop,
                         int variety)
{
    static const int64_t typed[][3] = {{3, 37, 1}, {2, 37, 5}, {1, 40000, 1}},
                         product[] = {2, 99, 70};
    static const int64_t small[] = {3, 5}, wide[] = {3, 20000};
    const ek_op_info *op = test->info;
    bool large_product = variety % 3 == 2 && problem_form_of(op) == FORM_GEMM;
    if (variety < 3) {
        ek_subject_open_typed(s, place, test, loop, large_product ? product : typed[variety]);
        return true;
    }
    ek_subject_layout layout = {2, variety < 5 ? small : wide, 2, variety == 4};
    return !large_product && ek_subject_open(s, place, op, &op->loops[loop], &layout);
}

static void run(ek_subject *s, int variety, context which)
{
    char text[160];
    ek_subject_fill(s, 3);
    ek_subject_poison(s, 0);
    ek_status status = ek_subject_call(s, s->place->queue, 0);
    if (status == EK_OK)
        status = ek_queue_sync(s->place->queue);
    if (status == EK_OK)
        return;
    ek_subject_describe(s, text, sizeof text);
    ck_abort_msg("%s (%d), current context: %s: %s", text, variety, context_names[which],
                 ek_error_message());
}

static void compare(const ek_subject *s, const void *wanted, int variety, context which)
{
    char *got = ek_subject_download(s, 0), text[160];
    ek_subject_describe(s, text, sizeof text);
    for (int32_t i = 0; i < s->problem.op->outputs; i++) {
        int64_t at = ek_first_difference(s->output[i].dtype, problem_output_size(&s->output[i]),
                                         got + s->out_at[i], (const char *)wanted + s->out_at[i]);
        if (at >= 0)
            ck_abort_msg("%s (%d), current context: %s: element %lld of %s differs", text, variety,
                         context_names[which], (long long)at, s->problem.op->output_names[i]);
    }
    free(got);
}

/* What the call must give: the CPU's bits, or of a fast product what it gives in peace. */
static void *expected(const ek_typed_test *test, int loop, int variety)
{
    bool same_bits = strcmp(test->info->bits, "same") == 0;
    const ek_place *place = same_bits ? cpu_place() : gpu_place();
    context which = same_bits ? NONE_CURRENT : OWN_CURRENT;
    ek_subject s;
    if (!open_subject(&s, place, test, loop, variety))
        return NULL;
    CUcontext mine = enter(which, gpu_place());
    run(&s, variety, which);
    void *result = ek_subject_download(&s, 0);
    leave(which, mine);
    ek_subject_close(&s);
    return result;
}

START_TEST(every_row)
{
    const ek_typed_test *test = ek_typed_tests[_i];
    for (int i = 0; i < VARIETIES * test->info->loop_count; i++) {
        int loop = i / VARIETIES, variety = i % VARIETIES;
        void *wanted = expected(test, loop, variety);
        for (int which = 0; which < CONTEXTS && wanted; which++) {
            CUcontext mine = enter((context)which, gpu_place());
            ek_subject s;
            open_subject(&s, gpu_place(), test, loop, variety);
            run(&s, variety, (context)which);
            compare(&s, wanted, variety, (context)which);
            ek_subject_close(&s);
            leave((context)which, mine);
        }
        free(wanted);
    }
}
END_TEST

/* ---- the runtime */

/* Everything that makes something in a context, waits, copies or keeps. */
START_TEST(every_part_of_the_runtime)
{
    enum { N = 1000 };
    context which = (context)_i;
    CUcontext mine = enter(which, gpu_place());
    ek_device *device = ek_queue_device(gpu_place()->queue);
    ek_queue *queue, *wrapped;
    ek_event *start, *end;
    ek_program *program;
    float host[N], *x;
    int reached = 0;
    double nanoseconds = -1;
    ek_place place = {"cuda, a new queue", NULL};
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    MUST(ek_queue_open(device, &queue));
    place.queue = queue;
    MUST(ek_queue_wrap_stream(device, ek_queue_stream(queue), &wrapped));
    MUST(ek_event_open(device, &start));
    MUST(ek_event_open(device, &end));
    MUST(ek_alloc(queue, sizeof host, (void **)&x));
    ek_upload(&place, x, host, sizeof host);
    MUST(ek_record_begin(queue));
    MUST(ek_add_f32(queue, N, x, x, x));
    MUST(ek_record_end(queue, &program));
    MUST(ek_event_record(start, queue));
    MUST(ek_program_run(wrapped, program));
    MUST(ek_add_f32(queue, N, x, x, x));
    MUST(ek_event_record(end, wrapped));
    MUST(ek_event_wait(end, queue));
    MUST(ek_event_sync(end));
    MUST(ek_event_query(end, &reached));
    MUST(ek_event_elapsed(start, end, &nanoseconds));
    ck_assert_int_eq(reached, 1);
    ck_assert(nanoseconds >= 0);
    ek_download(&place, host, x, sizeof host);
    for (int i = 0; i < N; i++)
        ck_assert(host[i] == 4 * (float)i);
    ek_program_close(program);
    MUST(ek_free(queue, x));
    ek_event_close(start);
    ek_event_close(end);
    ek_queue_close(wrapped);
    ek_queue_close(queue);
    leave(which, mine);
}
END_TEST

/* O030 */
START_TEST(failed_launches_are_told_once)
{
    extern const ek_cuda_kernels ek_add__cuda;
    const ek_grid impossible = {{1, 1, 1}, {2048, 1, 1}, 0};
    const ek_place *gpu = gpu_place();
    float host[3] = {1, 1, 0}, *x;
    MUST(ek_alloc(gpu->queue, sizeof host, (void **)&x));
    ek_upload(gpu, x, host, sizeof host);
    void *params[] = {&x, &x, &x, &x};
    ck_assert_int_eq(ek_cuda_launch(gpu->queue, &ek_add__cuda, 0, &impossible, params),
                     EK_DEVICE_ERROR);
    MUST(ek_add_f32(gpu->queue, 1, x, x + 1, x + 2));
    ek_download(gpu, host, x, sizeof host);
    ck_assert(host[2] == 2);
    MUST(ek_free(gpu->queue, x));
}
END_TEST

/* Leaves an error behind in the CUDA runtime, if there is one. */
static void fail_in_the_runtime(void)
{
    static const char *const names[] = {"libcudart.so.13", "libcudart.so.12"};
    int (*set_device)(int) = NULL;
    for (int i = 0; i < 2 && !set_device; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        void *symbol = library ? dlsym(library, "cudaSetDevice") : NULL;
        memcpy(&set_device, &symbol, sizeof symbol);
    }
    if (set_device)
        ck_assert_int_ne(set_device(100), 0);
}

/* O027 */
START_TEST(failures_of_the_application)
{
    enum { N = 1000 };
    const ek_place *gpu = gpu_place();
    int32_t host[N];
    int64_t sum = 0;
    int32_t *x;
    int64_t *out;
    CUdevice device;
    for (int i = 0; i < N; i++)
        host[i] = i;
    MUST(ek_alloc(gpu->queue, sizeof host, (void **)&x));
    MUST(ek_alloc(gpu->queue, sizeof sum, (void **)&out));
    ek_upload(gpu, x, host, sizeof host);
    ck_assert_int_ne(ek_cu.cuDeviceGet(&device, 100), CUDA_SUCCESS);
    ck_assert_int_ne(ek_cu.cuMemFreeAsync(64, ek_cuda_stream_of(gpu->queue)), CUDA_SUCCESS);
    fail_in_the_runtime();
    MUST(ek_sum_i32(gpu->queue, 1, N, 1, x, out));
    ek_download(gpu, &sum, out, sizeof sum);
    ck_assert_int_eq(sum, 499500);
    MUST(ek_free(gpu->queue, x));
    MUST(ek_free(gpu->queue, out));
}
END_TEST

/* ---- captures by the application */

enum { OPS = 5 };

/* One of several operations on rows of n, into an output of its own. */
static ek_status give(ek_queue *queue, int op, int64_t n, float *x, float *out)
{
    ek_gemm_shape shape = ek_gemm_plain_shape(1, 1, n);
    switch (op) {
    case 0:
        return ek_add_f32(queue, n, x, x, out);
    case 1:
        return ek_sum_f32(queue, 1, n, 1, x, out);
    case 2:
        return ek_softmax_f32(queue, 1, n, 1, x, out);
    case 3:
        return ek_argmax_f32(queue, 1, n, 1, x, (int64_t *)out);
    default:
        return ek_gemm_f32(queue, &shape, 1, x, x, 0, out);
    }
}

static void check_capture(ek_queue *queue, ek_place *place, int64_t n, int op)
{
    enum { MOST = 2048 };
    float host[MOST], wanted[MOST], got[MOST], *x, *out;
    CUgraph graph = NULL;
    CUgraphExec made = NULL;
    CUstream stream = ek_cuda_stream_of(queue);
    size_t bytes = (size_t)n * sizeof *x;
    MUST(ek_alloc(place->queue, bytes, (void **)&x));
    MUST(ek_alloc(place->queue, bytes, (void **)&out));
    MUST(give(queue, op, n, x, out)); /* gives the queue the room it needs */
    MUST(ek_queue_sync(queue));
    ck_assert_int_eq(ek_cu.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
                     CUDA_SUCCESS);
    ek_status status = give(queue, op, n, x, out);
    ck_assert_int_eq(ek_cu.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    ck_assert_msg(status == EK_OK, "operation %d of %d: %s", op, (int)n, ek_error_message());
    ek_cu.cuCtxPushCurrent(ek_cuda_device_of(ek_queue_device(queue))->context);
    ck_assert_int_eq(ek_cu.cuGraphInstantiate(&made, graph, 0), CUDA_SUCCESS);
    ek_cu.cuCtxPopCurrent(&(CUcontext){NULL});
    for (int replay = 1; replay <= 10; replay *= 10) {
        for (int64_t i = 0; i < n; i++)
            host[i] = (float)(replay * (i % 3 + 1));
        memset(wanted, 0, sizeof wanted);
        memset(got, 0, sizeof got);
        ek_upload(place, x, host, bytes);
        ek_upload(place, out, got, bytes);
        MUST(give(queue, op, n, x, out));
        MUST(ek_queue_sync(queue));
        ek_download(place, wanted, out, bytes);
        ek_upload(place, out, got, bytes);
        ck_assert_int_eq(ek_cu.cuGraphLaunch(made, stream), CUDA_SUCCESS);
        MUST(ek_queue_sync(queue));
        ek_download(place, got, out, bytes);
        ck_assert_mem_eq(got, wanted, bytes);
        ck_assert(op != 1 || n != 3 || got[0] == (float)(6 * replay));
    }
    ek_cu.cuGraphExecDestroy(made);
    ek_cu.cuGraphDestroy(graph);
    MUST(ek_free(place->queue, x));
    MUST(ek_free(place->queue, out));
}

/* O025: replays see what is in memory then. */
START_TEST(captures_by_the_application)
{
    static const int64_t lengths[] = {3, 501, 2048};
    ek_device *device = ek_queue_device(gpu_place()->queue);
    ek_place place = {"cuda, captured", NULL};
    ek_queue *wrapped;
    MUST(ek_queue_open(device, &place.queue));
    MUST(ek_queue_wrap_stream(device, ek_queue_stream(place.queue), &wrapped));
    check_capture(wrapped, &place, lengths[_i / OPS], _i % OPS);
    ek_queue_close(wrapped);
    ek_queue_close(place.queue);
}
END_TEST

/* What needs new memory is refused, and the capture goes on. */
START_TEST(cold_captures_are_refused)
{
    enum { N = 1 << 22 };
    const ek_place *gpu = gpu_place();
    ek_queue *wrapped;
    float *x;
    CUgraph graph = NULL;
    CUstream stream = ek_cuda_stream_of(gpu->queue);
    MUST(ek_alloc(gpu->queue, (N + 1) * sizeof *x, (void **)&x));
    MUST(ek_queue_wrap_stream(ek_queue_device(gpu->queue), stream, &wrapped));
    ck_assert_int_eq(ek_cu.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
                     CUDA_SUCCESS);
    ek_status sum = ek_sum_f32(wrapped, 1, N, 1, x, x + N);
    ek_status product = give(wrapped, 4, 2, x, x + 2), plain = ek_add_f32(wrapped, N, x, x, x);
    ck_assert_int_eq(ek_cu.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    ck_assert_ptr_nonnull(graph);
    ck_assert_int_eq(sum, EK_UNSUPPORTED);
    ck_assert_int_eq(product, EK_UNSUPPORTED);
    ck_assert_int_eq(plain, EK_OK);
    ek_cu.cuGraphDestroy(graph);
    MUST(ek_sum_f32(wrapped, 1, N, 1, x, x + N));
    ek_queue_close(wrapped);
    MUST(ek_free(gpu->queue, x));
}
END_TEST

/* ---- broken devices: this program again, in a process that gives up its device */

static const char breaking[] = "--break-the-device";

typedef struct broken {
    ek_queue *queue;
    ek_event *event;
    ek_program *program;
    float *x;
} broken;

static ek_status open_broken(broken *b, ek_device *device)
{
    EK_TRY(ek_queue_open(device, &b->queue));
    EK_TRY(ek_alloc(b->queue, 4096, (void **)&b->x));
    EK_TRY(ek_event_open(device, &b->event));
    EK_TRY(ek_record_begin(b->queue));
    EK_TRY(ek_sum_f32(b->queue, 1, 100, 1, b->x, b->x + 100));
    EK_TRY(ek_record_end(b->queue, &b->program));
    EK_TRY(give(b->queue, 4, 2, b->x, b->x + 2)); /* makes cuBLAS ready */
    EK_TRY(ek_event_record(b->event, b->queue));
    return ek_queue_sync(b->queue);
}

static ek_status ask(const broken *b, int call)
{
    int reached;
    ek_queue *another;
    switch (call) {
    case 0:
        return ek_queue_sync(b->queue);
    case 1:
        return ek_program_run(b->queue, b->program);
    case 2:
        return ek_event_record(b->event, b->queue);
    case 3:
        return ek_event_sync(b->event);
    case 4:
        return ek_event_query(b->event, &reached);
    case 5:
        return ek_queue_open(ek_queue_device(b->queue), &another);
    default:
        return give(b->queue, call - 6, 100, b->x, b->x + 100);
    }
}

enum { ASKS = 6 + OPS };

/* Adds what is at an address where nothing is; from then on every call must fail. Prints what is
 * wrong. */
static int break_device(void)
{
    ek_device *device;
    broken b = {0};
    int wrong = 0;
    float *nowhere = (float *)(uintptr_t)0x100000;
    if (ek_device_open("cuda", &device) != EK_OK || open_broken(&b, device) != EK_OK) {
        printf("cannot begin: %s\n", ek_error_message());
        return 1;
    }
    ek_status status = ek_add_f32(b.queue, 1000, nowhere, nowhere, nowhere);
    if (status == EK_OK) /* as it is unless the GPU was quick */
        status = ek_queue_sync(b.queue);
    printf("%s\n", ek_error_message());
    wrong += status != EK_ASYNC_ERROR || !strstr(ek_error_message(), "at or before ek_add");
    for (int i = 0; i < 2 * ASKS; i++) {
        status = ask(&b, i % ASKS);
        if (status != EK_ASYNC_ERROR) {
            printf("call %d gives %s: %s\n", i % ASKS, ek_status_name(status), ek_error_message());
            wrong++;
        }
    }
    ek_program_close(b.program);
    ek_event_close(b.event);
    ek_free(b.queue, b.x);
    ek_queue_close(b.queue);
    ek_device_close(device);
    return wrong != 0;
}

/* O028 */
START_TEST(broken_devices_say_so)
{
    char self[4096];
    int status = -1;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    ck_assert_int_gt(length, 0);
    self[length] = '\0';
    pid_t child = fork();
    if (child == 0) {
        execl(self, self, breaking, (char *)NULL);
        _exit(127);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with 0x%x",
                  status);
}
END_TEST

static Suite *contexts_suite(void)
{
    Suite *suite = suite_create("contexts");
    TCase *all = tcase_create("contexts");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, every_row, 0, ek_typed_test_count);
    tcase_add_loop_test(all, every_part_of_the_runtime, 0, CONTEXTS);
    tcase_add_test(all, failed_launches_are_told_once);
    tcase_add_test(all, failures_of_the_application);
    tcase_add_loop_test(all, captures_by_the_application, 0, 3 * OPS);
    tcase_add_test(all, cold_captures_are_refused);
    tcase_add_test(all, broken_devices_say_so);
    suite_add_tcase(suite, all);
    return suite;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], breaking) == 0)
        return break_device();
    if (!ek_testing_gpu())
        setenv("EK_TEST_DEVICE", "cuda", 1);
    return ek_run_at_places(contexts_suite, ek_typed_test_count + CONTEXTS + 3 * OPS + 4);
}
