/* ek_copy between the host and GPUs and between GPUs: every byte of the destination, for any layout
 * of either side. On the fake CUDA driver, whose kernels do nothing, results that need one are not
 * looked at; EK_TEST_DEVICE=cuda looks at all of them on a GPU. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "check_runtime.h"
#include "counts.h"
#include "cuda/device.h"
#include "einkorn/array.h"
#include "einkorn/memory.h"
#include "fake.h"
#include "place.h"

/* A copy: where each side begins and how it steps, in elements of a buffer of `cells`. */
typedef struct scene {
    int32_t ndim, src_ndim;
    int64_t shape[3], src_shape[3], dst_step[3], src_step[3];
    int64_t dst_first, src_first, cells;
} scene;

static const scene scenes[] = {
    /* dense, a single element, nothing (O042, O044) */
    {1, 1, {13}, {13}, {1}, {1}, 3, 2, 20},
    {0, 0, {0}, {0}, {0}, {0}, 4, 1, 9},
    {1, 1, {0}, {0}, {1}, {1}, 0, 0, 4},
    {2, 2, {4, 0}, {4, 0}, {1, 1}, {7, 1}, 0, 0, 4},
    /* a column, several, rows with gaps on either side or both */
    {1, 1, {9}, {9}, {1}, {11}, 0, 5, 100},
    {1, 1, {9}, {9}, {11}, {1}, 5, 0, 100},
    {2, 2, {9, 3}, {9, 3}, {3, 1}, {11, 1}, 2, 4, 110},
    {2, 2, {9, 3}, {9, 3}, {11, 1}, {7, 1}, 2, 4, 110},
    {2, 2, {9, 3}, {9, 3}, {11, 2}, {7, 2}, 2, 4, 110},
    {3, 3, {3, 4, 5}, {3, 4, 5}, {20, 5, 1}, {64, 13, 2}, 1, 3, 200},
    /* reversed, in part and wholly (O031, O034) */
    {1, 1, {13}, {13}, {1}, {-1}, 0, 14, 20},
    {1, 1, {13}, {13}, {-1}, {1}, 14, 0, 20},
    {1, 1, {13}, {13}, {-1}, {-1}, 14, 13, 20},
    {1, 1, {7}, {7}, {-3}, {2}, 20, 0, 24},
    {2, 2, {4, 5}, {4, 5}, {5, 1}, {-5, 1}, 0, 15, 24},
    {2, 2, {4, 5}, {4, 5}, {-6, -1}, {5, 1}, 26, 0, 30},
    {2, 2, {1, 5}, {1, 5}, {-99, 1}, {777, 1}, 2, 3, 12}, /* steps that are never taken */
    /* transposed and permuted */
    {2, 2, {4, 5}, {4, 5}, {5, 1}, {1, 4}, 0, 0, 24},
    {2, 2, {4, 5}, {4, 5}, {1, 4}, {1, 4}, 2, 3, 30},
    {3, 3, {2, 3, 4}, {2, 3, 4}, {12, 4, 1}, {4, 8, 1}, 0, 1, 30},
    {3, 3, {2, 3, 4}, {2, 3, 4}, {1, 2, 6}, {12, 4, 1}, 0, 0, 30},
    /* broadcast: a scalar, a row, a column, a step of zero */
    {2, 0, {4, 5}, {0}, {5, 1}, {0}, 0, 3, 24},
    {2, 1, {4, 5}, {5}, {5, 1}, {1}, 0, 3, 24},
    {2, 1, {4, 5}, {5}, {1, 4}, {-2}, 0, 9, 24},
    {2, 2, {4, 5}, {4, 1}, {5, 1}, {2, 9}, 0, 3, 24},
    {2, 2, {4, 5}, {4, 5}, {6, 1}, {0, 1}, 0, 3, 30},
    {3, 2, {2, 4, 5}, {4, 1}, {20, 5, 1}, {1, 1}, 0, 3, 44},
    /* more than a staging slot, and more than all of them; threads */
    {1, 1, {1200001}, {1200001}, {1}, {1}, 1, 3, 1200010},
    {1, 1, {1200001}, {1200001}, {-1}, {1}, 1200005, 3, 1200010},
    {1, 1, {600001}, {600001}, {1}, {2}, 1, 3, 1200010},
    {1, 1, {600001}, {600001}, {2}, {1}, 1, 3, 1200010},
    {2, 2, {1000, 1100}, {1000, 1100}, {1100, 1}, {1200, 1}, 0, 5, 1200010},
    {2, 2, {1000, 1100}, {1000, 1100}, {1200, 1}, {1, 1000}, 0, 5, 1200010},
    {3, 3, {7, 400, 33}, {7, 400, 33}, {1, 7, 2800}, {171000, 400, -12}, 0, 399, 1200010},
    {2, 1, {1000, 1100}, {1100}, {1100, 1}, {1}, 0, 5, 1200010},
};

enum { SCENES = sizeof scenes / sizeof scenes[0] };

static int64_t offset_of(int32_t ndim, const int64_t *shape, const int64_t *step, int64_t first,
                         int64_t index)
{
    int64_t at = first;
    for (int32_t d = ndim - 1; d >= 0; d--) {
        at += index % shape[d] * step[d];
        index /= shape[d];
    }
    return at;
}

/* The element of src that goes to element `index` of dst, in cells. */
static int64_t source_of(const scene *s, int64_t index)
{
    int64_t at = s->src_first, rest = index;
    for (int32_t d = s->ndim - 1; d >= 0; d--) {
        int32_t k = d - (s->ndim - s->src_ndim);
        int64_t i = rest % s->shape[d];
        rest /= s->shape[d];
        if (k >= 0 && s->src_shape[k] != 1)
            at += i * s->src_step[k];
    }
    return at;
}

/* Memory of a side: on the host, pageable or pinned, or of a queue's device. */
typedef struct side {
    ek_queue *queue; /* null: the host */
    bool pinned;
    unsigned char *data;
} side;

static void open_side(side *side, size_t bytes)
{
    void *memory = NULL;
    if (side->queue)
        EK_MUST(ek_alloc(side->queue, bytes, &memory));
    else if (side->pinned)
        ck_assert_int_eq(ek_cu.cuMemHostAlloc(&memory, bytes, 0), CUDA_SUCCESS);
    else
        memory = malloc(bytes);
    side->data = memory;
}

static void close_side(const side *side)
{
    if (side->queue)
        EK_MUST(ek_free(side->queue, side->data));
    else if (side->pinned)
        ek_cu.cuMemFreeHost(side->data);
    else
        free(side->data);
}

/* All bytes of a side to or from pageable memory: a plain copy, which the first scene looks at. */
static void put(const side *side, unsigned char *host, size_t bytes, bool back)
{
    int64_t length = (int64_t)bytes;
    if (!side->queue) {
        memcpy(back ? host : side->data, back ? side->data : host, bytes);
        return;
    }
    ek_array here = ek_array_view(side->data, EK_U8, ek_queue_device(side->queue), 1, &length);
    ek_array there = here;
    there.data = host;
    there.device.type = EK_DEVICE_CPU;
    EK_MUST(ek_copy(side->queue, back ? &there : &here, back ? &here : &there));
    EK_MUST(ek_queue_sync(side->queue));
}

static ek_array view(const side *side, ek_dtype dtype, int32_t ndim, int64_t *shape, int64_t *step,
                     int64_t first)
{
    ek_device *device = side->queue ? ek_queue_device(side->queue) : NULL;
    ek_array array = ek_array_view(side->data, dtype, device, ndim, shape);
    array.byte_offset = (uint64_t)first * ek_dtype_size(dtype);
    array.strides = step;
    if (!side->queue)
        array.device.type = side->pinned ? EK_DEVICE_CUDA_HOST : EK_DEVICE_CPU;
    return array;
}

static void look(const scene *s, int number, size_t size, const unsigned char *from,
                 const unsigned char *before, const unsigned char *got)
{
    size_t bytes = (size_t)s->cells * size;
    int64_t count = 1;
    unsigned char *wanted = malloc(bytes);
    memcpy(wanted, before, bytes);
    for (int32_t d = 0; d < s->ndim; d++)
        count *= s->shape[d];
    for (int64_t i = 0; i < count; i++)
        memcpy(wanted + (size_t)offset_of(s->ndim, s->shape, s->dst_step, s->dst_first, i) * size,
               from + (size_t)source_of(s, i) * size, size);
    for (size_t i = 0; i < bytes; i++) {
        if (wanted[i] != got[i])
            ck_abort_msg("scene %d, %zu bytes an element: byte %zu is %02x, not %02x", number, size,
                         i, got[i], wanted[i]);
    }
    free(wanted);
}

/* Makes a scene's copy and looks at the result, unless the fake's kernels should have made it.
 * Returns whether it looked. */
static bool play(ek_queue *queue, int number, ek_dtype dtype, side *dst, side *src)
{
    scene s = scenes[number];
    size_t size = ek_dtype_size(dtype), bytes = (size_t)s.cells * size;
    unsigned char *from = malloc(bytes), *before = malloc(bytes), *got = malloc(bytes);
    for (size_t i = 0; i < bytes; i++) {
        from[i] = (unsigned char)(i * 31 + i / 251);
        before[i] = (unsigned char)(0x5a ^ i);
    }
    open_side(dst, bytes);
    open_side(src, bytes);
    put(dst, before, bytes, false);
    put(src, from, bytes, false);
    ek_array to = view(dst, dtype, s.ndim, s.shape, s.dst_step, s.dst_first);
    ek_array at = view(src, dtype, s.src_ndim, s.src_shape, s.src_step, s.src_first);
    int kernels = ek_testing_gpu() ? 0 : fake.kernels();
    EK_MUST(ek_copy(queue, &to, &at));
    EK_MUST(ek_queue_sync(queue));
    bool looks = ek_testing_gpu() || fake.kernels() == kernels;
    if (looks) {
        put(dst, got, bytes, true);
        look(&s, number, size, from, before, got);
    }
    close_side(dst);
    close_side(src);
    free(from);
    free(before);
    free(got);
    return looks;
}

static ek_queue *open_queue(const char *name)
{
    ek_device *device;
    ek_queue *queue;
    EK_MUST(ek_device_open(name, &device));
    EK_MUST(ek_queue_open(device, &queue));
    EK_MUST(ek_queue_set_threads(queue, 2));
    ek_device_close(device);
    return queue;
}

static const char *device_name(void)
{
    return ek_testing_gpu() ? getenv("EK_TEST_DEVICE") : "cuda:0";
}

/* Memory of the application's own is pinned with the context current. */
static void enter(const ek_queue *queue)
{
    ek_cu.cuCtxPushCurrent(ek_cuda_device_of(ek_queue_device(queue))->context);
}

static void leave(void)
{
    CUcontext popped;
    ek_cu.cuCtxPopCurrent(&popped);
}

/* ---- tests */

static const ek_dtype dtypes[] = {EK_F32, EK_U8, EK_I16, EK_F64, EK_C128};

enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

START_TEST(host_and_device)
{
    ek_queue *queue = open_queue(device_name());
    ek_dtype dtype = dtypes[_i];
    int looked = 0;
    enter(queue);
    for (int number = 0; number < SCENES; number++) {
        for (int way = 0; way < 4; way++) {
            side device = {.queue = queue}, host = {.pinned = way & 1};
            looked += way & 2 ? play(queue, number, dtype, &host, &device)
                              : play(queue, number, dtype, &device, &host);
        }
    }
    leave();
    ck_assert_int_ge(looked, ek_testing_gpu() ? 4 * SCENES : SCENES);
    ek_queue_close(queue);
    if (!ek_testing_gpu()) {
        ck_assert_int_eq(fake.alive(), 0);
        ck_assert_int_eq(fake.context_failures(), 0);
    }
}
END_TEST

/* Small pageable arrays go in without a wait; what they were may change at once. */
START_TEST(small_arrays_do_not_wait)
{
    enum { COPIES = 3000, N = 100 };
    ek_queue *queue = open_queue(device_name());
    float host[N], *back = malloc(COPIES * sizeof host);
    int64_t length = N, whole = (int64_t)COPIES * N;
    void *memory;
    EK_MUST(ek_alloc(queue, COPIES * sizeof host, &memory));
    ek_array all = ek_array_view(memory, EK_F32, ek_queue_device(queue), 1, &whole), result = all;
    int waits = ek_testing_gpu() ? 0 : fake.calls("cuStreamSynchronize");
    for (int i = 0; i < COPIES; i++) {
        for (int k = 0; k < N; k++)
            host[k] = (float)(i + k);
        ek_array to = ek_array_view((char *)memory + (size_t)i * sizeof host, EK_F32,
                                    ek_queue_device(queue), 1, &length);
        ek_array from = to;
        from.data = host;
        from.device.type = EK_DEVICE_CPU;
        EK_MUST(ek_copy(queue, &to, &from));
    }
    if (!ek_testing_gpu())
        ck_assert_int_eq(fake.calls("cuStreamSynchronize"), waits);
    result.data = back;
    result.device.type = EK_DEVICE_CPU;
    EK_MUST(ek_copy(queue, &result, &all));
    for (int64_t i = 0; i < whole; i++) {
        if (back[i] != (float)(i / N + i % N))
            ck_abort_msg("element %lld", (long long)i);
    }
    free(back);
    EK_MUST(ek_free(queue, memory));
    ek_queue_close(queue);
}
END_TEST

static void *copy_for_a_while(void *unused)
{
    (void)unused;
    ek_queue *queue = open_queue(device_name());
    for (int time = 0; time < 3; time++) {
        for (int way = 0; way < 2; way++) {
            side device = {.queue = queue}, host = {.pinned = false};
            play(queue, SCENES - 8, EK_F32, way ? &host : &device, way ? &device : &host);
        }
    }
    ek_queue_close(queue);
    return NULL;
}

START_TEST(threads_copy_at_once)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    ek_queue *queue = open_queue(device_name()); /* keeps the device open */
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, copy_for_a_while, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ek_queue_close(queue);
}
END_TEST

/* ---- several GPUs: on the fake driver alone */

static const char *const peers[] = {"yes", "no", "broken"};

/* O018: peers that reach each other's memory, that do not, and that say they do; O019, O020, O021:
 * memory of each device's own pool, on streams of that device, which wait for one another. */
START_TEST(between_devices_O018_O019_O020_O021)
{
    setenv("EK_FAKE_PEERS", peers[_i / 2], 1);
    ek_queue *zero = open_queue("cuda:0"), *one = open_queue("cuda:1");
    ek_queue *queue = _i % 2 ? zero : one;
    CUcontext mine = fake_current();
    int looked = 0;
    for (int number = 0; number < SCENES; number++) {
        for (int way = 0; way < 2; way++) {
            side dst = {.queue = way ? zero : one}, src = {.queue = way ? one : zero};
            looked += play(queue, number, EK_F32, &dst, &src);
            ck_assert_ptr_eq(fake_current(), mine);
        }
    }
    ck_assert_int_ge(looked, SCENES / 4);
    if (_i / 2 == 1)
        ck_assert_int_eq(fake.calls("cuMemcpyPeerAsync"), 0);
    ek_queue_close(zero);
    ek_queue_close(one);
    ck_assert_int_eq(fake.alive(), 0);
    ck_assert_int_eq(fake.context_failures(), 0);
}
END_TEST

/* O001: a device that has no part in it gets no context. */
START_TEST(other_devices_sleep_O001)
{
    ek_queue *queue = open_queue("cuda:1");
    float host[4] = {1, 2, 3, 4}, back[4] = {0};
    int64_t length = 4;
    unsigned flags;
    int active = 1;
    void *memory;
    EK_MUST(ek_alloc(queue, sizeof host, &memory));
    ek_array x = ek_array_view(memory, EK_F32, ek_queue_device(queue), 1, &length), y = x;
    y.data = host;
    y.device.type = EK_DEVICE_CPU;
    y.device.index = 0;
    EK_MUST(ek_copy(queue, &x, &y));
    y.data = back;
    EK_MUST(ek_copy(queue, &y, &x));
    ck_assert_mem_eq(back, host, sizeof host);
    EK_MUST(ek_free(queue, memory));
    ek_queue_close(queue);
    ck_assert_int_eq(fake.state(0, &flags, &active), CUDA_SUCCESS);
    ck_assert_int_eq(active, 0);
}
END_TEST

START_TEST(strangers_are_refused)
{
    ek_queue *zero = open_queue("cuda:0"), *cpu = open_queue("cpu");
    float host[4] = {0};
    int64_t length = 4;
    ek_array x = ek_array_view(host, EK_F32, ek_queue_device(cpu), 1, &length), far = x, odd = x;
    far.device.type = EK_DEVICE_CUDA;
    far.device.index = 1;
    odd.device.type = (ek_device_type)99;
    int calls = fake.calls(NULL);
    EK_MUST_REFUSE(ek_copy(zero, &x, &x), EK_DEVICE_MISMATCH,
                   "ek_copy: queue is of cuda:0: dst is on cpu and src on cpu");
    EK_MUST_REFUSE(ek_copy(zero, &x, &far), EK_DEVICE_MISMATCH, "src on cuda:1");
    EK_MUST_REFUSE(ek_copy(cpu, &x, &far), EK_DEVICE_MISMATCH, "queue is of cpu");
    EK_MUST_REFUSE(ek_copy(cpu, &x, &odd), EK_DEVICE_MISMATCH, "device type 99 index 0");
    far.device.index = 0;
    EK_MUST_REFUSE(ek_copy(zero, &far, &odd), EK_DEVICE_MISMATCH, "device type 99 index 0");
    ck_assert_int_eq(fake.calls(NULL), calls);
    ek_queue_close(zero);
    ek_queue_close(cpu);
}
END_TEST

/* Copies of all sorts, until one fails. */
static ek_status copy_all_sorts(void)
{
    enum { N = 4096 };
    int64_t shape[] = {64, 32}, gaps[] = {64, 2}, turned[] = {1, 64}, large[] = {200, 32};
    ek_device *devices[2] = {NULL, NULL};
    ek_queue *queue = NULL, *other = NULL;
    void *near = NULL, *far = NULL;
    char *host = calloc(200 * 32, 4);
    ek_status status = ek_device_open("cuda:0", &devices[0]);
    if (status == EK_OK)
        status = ek_device_open("cuda:1", &devices[1]);
    if (status == EK_OK)
        status = ek_queue_open(devices[0], &queue);
    if (status == EK_OK)
        status = ek_queue_open(devices[1], &other);
    if (status == EK_OK)
        status = ek_alloc(queue, 200 * 32 * 4, &near);
    if (status == EK_OK)
        status = ek_alloc(other, 200 * 32 * 4, &far);
    for (int sort = 0; sort < 5 && status == EK_OK; sort++) {
        ek_array x = ek_array_view(near, EK_F32, devices[0], 2, sort == 4 ? large : shape);
        ek_array y = ek_array_view(host, EK_F32, NULL, 2, x.shape), z = y;
        z.data = far;
        z.device.type = EK_DEVICE_CUDA;
        z.device.index = 1;
        y.device.type = EK_DEVICE_CPU;
        if (sort == 1)
            y.strides = gaps;
        if (sort == 2)
            y.strides = z.strides = turned;
        if (sort == 3)
            x.strides = gaps;
        status = ek_copy(queue, &x, &y);
        if (status == EK_OK)
            status = ek_copy(queue, &y, &x);
        if (status == EK_OK)
            status = ek_copy(queue, &z, &x);
        if (status == EK_OK)
            status = ek_copy(queue, &x, &z);
    }
    ek_status freed = queue ? ek_free(queue, near) : EK_OK;
    status = status == EK_OK ? freed : status;
    freed = other ? ek_free(other, far) : EK_OK;
    status = status == EK_OK ? freed : status;
    ek_queue_close(queue);
    ek_queue_close(other);
    ek_device_close(devices[0]);
    ek_device_close(devices[1]);
    free(host);
    return status;
}

/* Whichever call of the driver fails: a status, nothing left behind, the same context current, and
 * all is well the next time. */
START_TEST(failing_drivers)
{
    setenv("EK_FAKE_PEERS", peers[_i], 1);
    fake.init(0);
    CUcontext mine = fake_set_current(1);
    int alive = fake.alive(), failed = 0;
    EK_MUST(copy_all_sorts()); /* loads the kernels */
    for (int n = 1;; n++) {
        fake.fail_any(n, 0, CUDA_ERROR_UNKNOWN);
        ek_status status = copy_all_sorts();
        const char *entry = fake.failed();
        fake.fail_any(0, 0, 0);
        ck_assert_msg(fake.alive() == alive, "call %d, %s, leaves %d behind: %s", n, entry,
                      fake.alive() - alive, ek_error_message());
        ck_assert_ptr_eq(fake_current(), mine);
        failed += status != EK_OK;
        if (!entry)
            break;
    }
    ck_assert_int_gt(failed, 100);
    EK_MUST(copy_all_sorts());
    ck_assert_int_eq(fake.context_failures(), 0);
}
END_TEST

static Suite *copy_suite(void)
{
    Suite *suite = suite_create("copy");
    /* In two parts, of which slow tools (bench/run-gpu.sh) take the first. */
    TCase *host = tcase_create("host"), *sizes = tcase_create("sizes");
    tcase_set_timeout(host, 120);
    tcase_add_loop_test(host, host_and_device, 0, 1);
    tcase_add_test(host, small_arrays_do_not_wait);
    tcase_add_test(host, threads_copy_at_once);
    suite_add_tcase(suite, host);
    tcase_set_timeout(sizes, 120);
    tcase_add_loop_test(sizes, host_and_device, 1, DTYPES);
    suite_add_tcase(suite, sizes);
    if (ek_testing_gpu())
        return suite;
    TCase *devices = tcase_create("devices");
    tcase_set_timeout(devices, 120);
    tcase_add_loop_test(devices, between_devices_O018_O019_O020_O021, 0, 6);
    tcase_add_test(devices, other_devices_sleep_O001);
    tcase_add_test(devices, strangers_are_refused);
    tcase_add_loop_test(devices, failing_drivers, 0, 3);
    suite_add_tcase(suite, devices);
    return suite;
}

int main(void)
{
    if (!ek_testing_gpu() && !fake_open())
        return EXIT_FAILURE;
    if (ek_testing_gpu())
        return ek_run_at_places(copy_suite, 7);
    ek_counts counts = {0, 0, 0};
    ek_run_suite(copy_suite(), &counts);
    return ek_end(&counts);
}
