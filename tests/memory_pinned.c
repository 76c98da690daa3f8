/* Pinned host memory. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check_memory.h"
#include "einkorn/array.h"
#include "fake.h"

enum { MB = 1 << 20 };

START_TEST(pinned_memory_is_kept)
{
    ek_queue *queue = fake_queue("cuda");
    ek_device *device = ek_queue_device(queue);
    char *first = pinned_bytes(queue, 100000, 1);
    ck_assert_uint_eq((uintptr_t)first % 64, 0);
    ck_assert_uint_eq(memory_info(queue).pinned, 102400);
    OK(ek_pinned_free(device, first));
    ck_assert_uint_eq(memory_info(queue).pinned, 0);
    ck_assert_uint_eq(memory_info(queue).pinned_cached, 102400);
    int calls = fake.calls(NULL);
    char *again = pinned_bytes(queue, 90000, 2);
    ck_assert_int_eq(fake.calls(NULL), calls);
    ck_assert_ptr_eq(again, first);
    char *smaller = pinned_bytes(queue, 50000, 3); /* which must not take what is far too large */
    OK(ek_pinned_free(device, again));
    char *other = pinned_bytes(queue, 50000, 3);
    ck_assert_ptr_ne(other, again);
    ek_queue *elsewhere = fake_queue("cuda:1");
    ck_assert_int_eq(ek_pinned_free(ek_queue_device(elsewhere), smaller), EK_DEVICE_MISMATCH);
    ek_queue_close(elsewhere);
    OK(ek_pinned_free(device, smaller));
    OK(ek_pinned_free(device, other));
    ck_assert_int_eq(ek_pinned_free(device, other), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_pinned_free(device, &queue), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_pinned_free(NULL, other), EK_INVALID_ARGUMENT);
    OK(ek_pinned_free(device, NULL));
    ck_assert_int_eq(ek_free(queue, other), EK_INVALID_ARGUMENT);
    ek_queue_close(queue);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

/* A copy that is still to come keeps the memory that it reads. */
START_TEST(copies_keep_pinned_memory)
{
    enum { BYTES = 100000 };
    ek_queue *queue = fake_queue("cuda");
    ek_device *device = ek_queue_device(queue);
    int64_t length = BYTES;
    char *x = take(queue, BYTES), *ones = pinned_bytes(queue, BYTES, 1);
    char *seen = pinned_bytes(queue, BYTES, 0);
    hold_work();
    ek_array to = ek_array_view(x, EK_I8, device, 1, &length), from = to;
    from.data = ones;
    from.device.type = EK_DEVICE_CUDA_HOST;
    OK(ek_copy(queue, &to, &from));
    int syncs = fake.calls("cuStreamSynchronize") + fake.calls("cuEventSynchronize");
    OK(ek_pinned_free(device, ones));
    ck_assert_int_eq(fake.calls("cuStreamSynchronize") + fake.calls("cuEventSynchronize"), syncs);
    char *twos = pinned_bytes(queue, BYTES, 2);
    ck_assert_ptr_ne(twos, ones);
    copy_out(queue, seen, x, BYTES);
    OK(ek_queue_sync(queue));
    ck_assert(all_are(seen, BYTES, 1));
    OK(ek_pinned_free(device, seen));
    OK(ek_pinned_free(device, twos));
    OK(ek_free(queue, x));
    ek_queue_close(queue);
    ck_assert_int_eq(fake.late_uses(), 0);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

/* And is given out again when it is done. */
START_TEST(pinned_memory_comes_back)
{
    enum { BYTES = 100000 };
    ek_queue *queue = fake_queue("cuda");
    ek_device *device = ek_queue_device(queue);
    char *x = take(queue, BYTES), *ones = pinned_bytes(queue, BYTES, 1);
    copy_in(queue, x, ones, BYTES);
    OK(ek_memory_use(queue, ones));
    OK(ek_pinned_free(device, ones));
    OK(ek_queue_sync(queue));
    ck_assert_ptr_eq(pinned_bytes(queue, BYTES, 2), ones);
    OK(ek_pinned_free(device, ones));
    OK(ek_free(queue, x));
    ek_queue_close(queue);
}
END_TEST

START_TEST(kept_pinned_memory_is_bounded)
{
    enum { BLOCKS = 6 };
    ek_queue *queue = fake_queue("cuda");
    char *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        OK(ek_pinned_alloc(ek_queue_device(queue), 100 * (size_t)MB, (void **)&blocks[i]));
    for (int i = 0; i < BLOCKS; i++)
        OK(ek_pinned_free(ek_queue_device(queue), blocks[i]));
    ck_assert_uint_eq(memory_info(queue).pinned, 0);
    ck_assert_uint_eq(memory_info(queue).pinned_cached, 500 * (size_t)MB);
    ek_queue_close(queue);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

START_TEST(pinned_memory_that_cannot_be_had)
{
    ek_queue *queue = fake_queue("cuda");
    ek_device *device = ek_queue_device(queue);
    void *memory = queue;
    fake.fail_call("cuMemHostAlloc", 1, CUDA_ERROR_UNKNOWN);
    ck_assert_int_eq(ek_pinned_alloc(device, MB, &memory), EK_DEVICE_ERROR);
    ck_assert_int_eq(ek_pinned_alloc(device, (size_t)INT64_MAX, &memory), EK_OUT_OF_MEMORY);
    ck_assert_int_eq(ek_pinned_alloc(device, SIZE_MAX, &memory), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_pinned_alloc(NULL, MB, &memory), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_pinned_alloc(device, MB, NULL), EK_INVALID_ARGUMENT);
    ck_assert_ptr_eq(memory, queue);
    OK(ek_pinned_alloc(device, 0, &memory));
    ck_assert_ptr_null(memory);
    /* Once is retried, without what was kept. */
    OK(ek_pinned_free(device, pinned_bytes(queue, MB, 0)));
    fake.fail_call("cuMemHostAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY);
    OK(ek_pinned_alloc(device, 3 * MB, &memory));
    ck_assert_uint_eq(memory_info(queue).pinned_cached, 0);
    OK(ek_pinned_free(device, memory));
    ek_queue_close(queue);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

TCase *pinned_case(void)
{
    TCase *pinned = tcase_create("pinned");
    tcase_set_timeout(pinned, 60);
    tcase_add_test(pinned, pinned_memory_comes_back);
    if (on_gpu)
        return pinned;
    tcase_add_test(pinned, pinned_memory_is_kept);
    tcase_add_test(pinned, copies_keep_pinned_memory);
    tcase_add_test(pinned, kept_pinned_memory_is_bounded);
    tcase_add_test(pinned, pinned_memory_that_cannot_be_had);
    return pinned;
}
