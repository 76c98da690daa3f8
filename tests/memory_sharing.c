/* Memory that several queues use is not reused before all of them are done, and none is held up. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check_memory.h"
#include "einkorn/array.h"
#include "einkorn/ops/add.h"
#include "einkorn/program.h"
#include "error.h"
#include "fake.h"

typedef enum declared { NOT, BY_CALL, BY_ARRAYS } declared;

/* O017: memory is filled on one queue, read on a second and freed on the first while the reading is
 * still to come; what the first allocates next is filled with something else. Returns whether the
 * second queue read what it was to read, which it does if the use was declared. */
static int read_before_reuse(size_t bytes, declared how)
{
    ek_queue *first = fake_queue("cuda"), *second = fake_queue("cuda");
    char *ones = pinned_bytes(first, bytes, 1), *twos = pinned_bytes(first, bytes, 2);
    char *seen = pinned_bytes(first, bytes, 0);
    hold_work();
    char *x = take(first, bytes);
    copy_in(first, x, ones, bytes);
    follow(second, first);
    if (how == BY_ARRAYS) {
        int64_t length = (int64_t)bytes;
        ek_array from = ek_array_view(x, EK_I8, ek_queue_device(first), 1, &length), to = from;
        to.data = seen;
        to.device.type = EK_DEVICE_CUDA_HOST;
        OK(ek_copy(second, &to, &from));
    } else {
        for (int i = 0; i < (on_gpu ? 50 : 1); i++) /* so that it takes a while */
            copy_out(second, seen, x, bytes);
    }
    if (how == BY_CALL)
        OK(ek_memory_use(second, x + bytes / 2));
    OK(ek_free(first, x));
    char *y = take(first, bytes);
    copy_in(first, y, twos, bytes);
    OK(ek_queue_sync(first));
    OK(ek_queue_sync(second));
    int right = all_are(seen, bytes, 1);
    OK(ek_free(first, y));
    ek_device *device = ek_queue_device(first);
    OK(ek_pinned_free(device, ones));
    OK(ek_pinned_free(device, twos));
    OK(ek_pinned_free(device, seen));
    ek_queue_close(first);
    ek_queue_close(second);
    return right && (on_gpu || (fake.late_uses() == 0 && fake.alive() == 0));
}

static const size_t sizes[] = {1000, 1 << 20, 64 << 20};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

START_TEST(declared_uses_end_first)
{
    ck_assert(read_before_reuse(sizes[_i], BY_CALL));
}
END_TEST

START_TEST(array_calls_declare)
{
    ck_assert(read_before_reuse(sizes[_i], BY_ARRAYS));
}
END_TEST

/* The same goes wrong if nothing is declared: the tests above can fail. */
START_TEST(undeclared_uses_do_not)
{
    ck_assert(!read_before_reuse(sizes[_i], NOT));
}
END_TEST

/* The arrays of an operation on another queue are declared by the operation. */
START_TEST(operations_declare)
{
    enum { N = 1000 };
    ek_queue *first = fake_queue("cuda"), *second = fake_queue("cuda");
    int64_t length = N / 2;
    float *x = fake_floats(first, N), *out = fake_floats(second, N);
    ek_array a = ek_array_view(x + N / 2, EK_F32, ek_queue_device(first), 1, &length);
    ek_array b = ek_array_view(out, EK_F32, ek_queue_device(first), 1, &length);
    OK(ek_add(second, &a, &a, &b));
    int calls = fake.calls(NULL);
    OK(ek_add(first, &a, &a, &a));
    OK(ek_add(second, &a, &a, &b));
    ck_assert_int_eq(fake.calls(NULL), calls + 2); /* the launches alone */
    hold_work();
    OK(ek_free(first, x));
    ck_assert_ptr_ne(fake_floats(first, N), x);
    ek_queue_close(first);
    ek_queue_close(second);
}
END_TEST

/* Nothing waits: not the host, not the queue that frees, not the one that uses. */
START_TEST(no_one_is_held_up)
{
    enum { BYTES = 4096 };
    ek_queue *first = fake_queue("cuda"), *second = fake_queue("cuda");
    char *ones = pinned_bytes(first, BYTES, 1), *seen = pinned_bytes(first, BYTES, 0);
    char *also = pinned_bytes(first, BYTES, 0);
    hold_work();
    char *x = take(first, BYTES), *y = take(first, BYTES);
    copy_in(second, x, ones, BYTES);
    copy_out(second, seen, x, BYTES);
    OK(ek_memory_use(second, x));
    int syncs = fake.calls("cuStreamSynchronize") + fake.calls("cuEventSynchronize");
    OK(ek_free(first, x));
    ck_assert_int_eq(fake.calls("cuStreamSynchronize") + fake.calls("cuEventSynchronize"), syncs);
    copy_in(first, y, ones, BYTES);
    copy_out(first, also, y, BYTES);
    OK(ek_queue_sync(first));
    ck_assert(all_are(also, BYTES, 1));
    ck_assert(all_are(seen, BYTES, 0)); /* the second queue has not begun */
    OK(ek_queue_sync(second));
    ck_assert(all_are(seen, BYTES, 1));
    OK(ek_free(first, y));
    ek_queue_close(first);
    ek_queue_close(second);
    ck_assert_int_eq(fake.late_uses(), 0);
}
END_TEST

/* A queue may free what another one allocated and still works on. */
START_TEST(frees_by_others)
{
    enum { BYTES = 4096 };
    ek_queue *first = fake_queue("cuda"), *second = fake_queue("cuda");
    char *ones = pinned_bytes(first, BYTES, 1), *twos = pinned_bytes(first, BYTES, 2);
    char *seen = pinned_bytes(first, BYTES, 0);
    hold_work();
    char *x = take(first, BYTES);
    copy_in(first, x, ones, BYTES);
    copy_out(first, seen, x, BYTES);
    OK(ek_free(second, x));
    char *y = take(second, BYTES);
    copy_in(second, y, twos, BYTES);
    OK(ek_queue_sync(second));
    OK(ek_queue_sync(first));
    ck_assert(all_are(seen, BYTES, 1));
    OK(ek_free(second, y));
    ek_queue_close(second);
    ek_queue_close(first);
    ck_assert(on_gpu || fake.late_uses() == 0);
}
END_TEST

/* O023: memory that is freed on one queue is not another's before the driver says so. (Streams
 * whose handle means another stream in each thread are no queues: check_guards.c.) */
START_TEST(caches_are_their_queues)
{
    ek_queue *first = fake_queue("cuda"), *second = fake_queue("cuda");
    char *x = take(first, 4096);
    OK(ek_free(first, x));
    char *y = take(second, 4096);
    ck_assert_ptr_ne(y, x);
    OK(ek_free(second, y));
    ek_queue_close(first);
    ek_queue_close(second);
}
END_TEST

/* O021: a copy between GPUs under a queue of the one uses memory of the other. */
START_TEST(copies_between_devices)
{
    enum { BYTES = 4096 };
    ek_queue *here = fake_queue("cuda:0"), *there = fake_queue("cuda:1");
    char *ones = pinned_bytes(here, BYTES, 1), *twos = pinned_bytes(here, BYTES, 2);
    hold_work();
    int64_t length = BYTES;
    char *x = take(here, BYTES), *z = take(there, BYTES);
    copy_in(here, x, ones, BYTES);
    copy_in(there, z, twos, BYTES);
    follow(here, there);
    ek_array from = ek_array_view(x, EK_I8, ek_queue_device(here), 1, &length);
    ek_array to = ek_array_view(z, EK_I8, ek_queue_device(there), 1, &length);
    OK(ek_copy(here, &to, &from));
    OK(ek_free(there, z)); /* while the copy is still to come */
    char *y = take(there, BYTES);
    copy_in(there, y, twos, BYTES);
    OK(ek_queue_sync(there));
    OK(ek_queue_sync(here));
    ck_assert(all_are(y, BYTES, 2));
    OK(ek_free(here, x));
    OK(ek_free(there, y));
    ek_queue_close(here);
    ek_queue_close(there);
    ck_assert_int_eq(fake.late_uses(), 0);
}
END_TEST

/* A queue that records can be waited for: what it did before, and nothing of what it records. */
START_TEST(users_that_record)
{
    enum { BYTES = 4096 };
    ek_queue *first = fake_queue("cuda"), *second = fake_queue("cuda");
    ek_program *program = NULL;
    char *ones = pinned_bytes(first, BYTES, 1), *seen = pinned_bytes(first, BYTES, 0);
    hold_work();
    char *x = take(first, BYTES), *mine = take(second, BYTES);
    copy_in(second, x, ones, BYTES);
    copy_out(second, seen, x, BYTES);
    OK(ek_memory_use(second, x));
    OK(ek_record_begin(second));
    copy_in(second, mine, ones, BYTES);
    OK(ek_free(first, x));
    ek_queue_close(first); /* and the stream that waits with it */
    OK(ek_record_end(second, &program));
    ck_assert_int_eq(fake.late_uses(), 0);
    ck_assert(all_are(seen, BYTES, 1));
    OK(ek_program_run(second, program));
    OK(ek_queue_sync(second));
    ek_program_close(program);
    OK(ek_free(second, mine));
    ek_queue_close(second);
    ck_assert_int_eq(fake.late_uses(), 0);
}
END_TEST

/* Memory of a program waits for queues that read what a run left there. */
START_TEST(users_of_programs)
{
    enum { BYTES = 4096 };
    ek_queue *first = fake_queue("cuda"), *second = fake_queue("cuda");
    ek_program *program = NULL;
    char *ones = pinned_bytes(first, BYTES, 1), *seen = pinned_bytes(first, BYTES, 0);
    OK(ek_record_begin(first));
    char *x = take(first, BYTES);
    copy_in(first, x, ones, BYTES);
    OK(ek_record_end(first, &program));
    hold_work();
    OK(ek_program_run(first, program));
    follow(second, first);
    copy_out(second, seen, x, BYTES);
    OK(ek_memory_use(second, x));
    ek_program_close(program);
    OK(ek_queue_sync(first));
    OK(ek_queue_sync(second));
    ck_assert(all_are(seen, BYTES, 1));
    ck_assert_int_eq(fake.late_uses(), 0);
    ek_queue_close(first);
    ek_queue_close(second);
}
END_TEST

/* What a failing driver makes of a free among several queues. */
static ek_status share(void)
{
    ek_device *device = NULL;
    ek_queue *first = NULL, *second = NULL;
    void *x = NULL, *pinned = NULL;
    EK_TRY(ek_device_open("cuda", &device));
    ek_status status = ek_queue_open(device, &first);
    if (status == EK_OK)
        status = ek_queue_open(device, &second);
    if (status == EK_OK)
        status = ek_alloc(first, 4096, &x);
    if (status == EK_OK)
        status = ek_pinned_alloc(device, 4096, &pinned);
    if (status == EK_OK) {
        ek_memory_use(second, x);
        ek_memory_use(second, pinned);
        status = ek_memory_trim(device, 0);
    }
    ek_status freed = x ? ek_free(first, x) : EK_OK;
    ek_status unpinned = ek_pinned_free(device, pinned);
    ek_queue_close(first);
    ek_queue_close(second);
    ek_device_close(device);
    return status != EK_OK ? status : freed != EK_OK ? freed : unpinned;
}

START_TEST(failures_leave_nothing)
{
    CUcontext mine = fake_set_current(_i - 1);
    ck_assert_int_eq(ek_device_count(EK_DEVICE_CUDA), FAKE_DEVICES); /* which starts the driver */
    int alive = fake.alive(), n = 0, failures = 0;
    const char *failed;
    do {
        fake.fail_any(++n, 0, CUDA_ERROR_UNKNOWN);
        failures += share() != EK_OK;
        failed = fake.failed();
        fake.fail_any(0, 0, 0);
        ck_assert_msg(fake.alive() == alive, "%s leaves %d", failed, fake.alive() - alive);
        ck_assert_ptr_eq(fake_current(), mine);
        OK(share());
    } while (failed);
    ck_assert_int_gt(n, 20);
    ck_assert_int_gt(failures, 10);
    ck_assert_int_eq(fake.context_failures(), 0);
}
END_TEST

TCase *sharing_case(void)
{
    TCase *sharing = tcase_create("sharing");
    tcase_set_timeout(sharing, 60);
    tcase_add_loop_test(sharing, declared_uses_end_first, 0, SIZES);
    tcase_add_loop_test(sharing, array_calls_declare, 0, SIZES);
    tcase_add_test(sharing, frees_by_others);
    tcase_add_test(sharing, caches_are_their_queues);
    if (on_gpu)
        return sharing;
    tcase_add_loop_test(sharing, undeclared_uses_do_not, 0, SIZES);
    tcase_add_test(sharing, operations_declare);
    tcase_add_test(sharing, no_one_is_held_up);
    tcase_add_test(sharing, copies_between_devices);
    tcase_add_test(sharing, users_that_record);
    tcase_add_test(sharing, users_of_programs);
    tcase_add_loop_test(sharing, failures_leave_nothing, 0, FAKE_DEVICES + 1);
    return sharing;
}
