/* Limits, and memory that runs out. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check_memory.h"
#include "cuda/launch.h"
#include "fake.h"

enum { MB = 1 << 20 };

/* What other queues keep is theirs until somebody needs it. */
START_TEST(caches_are_emptied_for_others)
{
    ek_queue *first = fake_queue("cuda"), *second = fake_queue("cuda");
    fake.room(10 * MB);
    hold_work();
    char *x = take(first, 6 * MB);
    OK(ek_free(first, x));
    ck_assert_uint_eq(memory_info(first).cached, 6 * MB);
    char *y = take(second, 8 * MB);
    ek_memory_info info = memory_info(first);
    ck_assert_uint_eq(info.cached, 0);
    ck_assert_uint_eq(info.in_use, 8 * MB);
    ck_assert_uint_eq(info.reserved, 8 * MB);
    ck_assert_uint_eq(info.trims, 1);
    void *none = first;
    ck_assert_int_eq(ek_alloc(first, 4 * MB, &none), EK_OUT_OF_MEMORY);
    ck_assert_str_eq(ek_error_message(), "ek_alloc: bytes is 4194304: cuda:0 has no room for them: "
                                         "8388608 in use, no limit set");
    ck_assert_ptr_eq(none, first);
    ck_assert_uint_eq(memory_info(first).trims, 2);
    OK(ek_free(first, take(first, MB)));
    OK(ek_free(second, y));
    ek_queue_close(first);
    ek_queue_close(second);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

/* Memory that waits for several queues is waited for before a call fails. */
START_TEST(shared_memory_comes_back)
{
    ek_queue *first = fake_queue("cuda"), *second = fake_queue("cuda");
    fake.room(10 * MB);
    hold_work();
    char *x = take(first, 6 * MB);
    OK(ek_memory_use(second, x));
    OK(ek_free(first, x));
    OK(ek_free(first, take(first, 8 * MB)));
    ek_queue_close(first);
    ek_queue_close(second);
}
END_TEST

/* O024: an operation whose workspace does not fit leaves everything as it was. */
START_TEST(workspaces_beyond_the_limit)
{
    ek_queue *queue = fake_queue("cuda");
    void *workspace = NULL;
    OK(ek_memory_set_limit(ek_queue_device(queue), 8 * MB));
    char *out = take(queue, 4 * MB);
    size_t before = memory_info(queue).in_use;
    ck_assert_int_eq(ek_cuda_workspace(queue, 16 * MB, &workspace), EK_OUT_OF_MEMORY);
    ck_assert_ptr_nonnull(strstr(ek_error_message(), "4194304 in use, limit 8388608"));
    ck_assert_uint_eq(memory_info(queue).in_use, before);
    OK(ek_cuda_workspace(queue, MB, &workspace));
    OK(ek_free(queue, out));
    ck_assert_uint_le(memory_info(queue).reserved, 8 * MB);
    ek_queue_close(queue);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

START_TEST(limits)
{
    ek_queue *queue = fake_queue("cuda");
    ek_device *device = ek_queue_device(queue);
    void *none = NULL;
    char *x = take(queue, 6 * MB), *y = take(queue, 6 * MB);
    OK(ek_free(queue, y));
    OK(ek_memory_set_limit(device, 10 * MB)); /* empties what is too much */
    ck_assert_uint_eq(memory_info(queue).reserved, 6 * MB);
    ck_assert_uint_eq(memory_info(queue).limit, 10 * MB);
    ck_assert_int_eq(ek_alloc(queue, 5 * MB, &none), EK_OUT_OF_MEMORY);
    OK(ek_free(queue, take(queue, 4 * MB)));
    OK(ek_memory_set_limit(device, MB)); /* below what is in use, which stays */
    ck_assert_uint_eq(memory_info(queue).in_use, 6 * MB);
    ck_assert_int_eq(ek_alloc(queue, 1, &none), EK_OUT_OF_MEMORY);
    OK(ek_free(queue, x));
    OK(ek_free(queue, take(queue, MB / 2)));
    OK(ek_memory_set_limit(device, SIZE_MAX));
    OK(ek_free(queue, take(queue, 100 * MB)));
    ek_queue_close(queue);
}
END_TEST

START_TEST(trims)
{
    ek_queue *first = fake_queue("cuda"), *second = fake_queue("cuda");
    OK(ek_free(first, take(first, 5 * MB)));
    OK(ek_free(first, take(first, MB)));
    OK(ek_free(second, take(second, 3 * MB)));
    ck_assert_uint_eq(memory_info(first).cached, 9 * MB);
    OK(ek_memory_trim(ek_queue_device(first), 20 * MB));
    ck_assert_uint_eq(memory_info(first).cached, 9 * MB);
    OK(ek_memory_trim(ek_queue_device(first), 4 * MB));
    ck_assert_uint_le(memory_info(first).cached, 4 * MB);
    ck_assert_uint_gt(memory_info(first).cached, 0);
    OK(ek_memory_trim(ek_queue_device(first), 0));
    ck_assert_uint_eq(memory_info(first).cached, 0);
    ck_assert_uint_eq(memory_info(first).reserved, 0);
    ck_assert_uint_eq(memory_info(first).trims, 0);
    ek_queue_close(first);
    ek_queue_close(second);
}
END_TEST

static ek_queue *trimmed;
static int met;

/* What takes the lock of all caches: a queue's opening, a free of shared memory, statistics, a
 * queue's closing. */
static void live_on(void)
{
    ek_queue *other = fake_queue("cuda");
    char *memory = take(other, MB);
    OK(ek_memory_use(trimmed, memory));
    OK(ek_free(other, memory));
    ck_assert_uint_eq(memory_info(trimmed).in_use, 0);
    ek_queue_close(other);
    met++;
}

/* A trim waits for the device's work. The application's other threads do not wait for the trim. */
START_TEST(trims_hold_no_one_up)
{
    trimmed = fake_queue("cuda");
    OK(ek_free(trimmed, take(trimmed, MB)));
    fake.meet("cuStreamSynchronize", live_on);
    OK(ek_memory_trim(ek_queue_device(trimmed), 0));
    ck_assert_int_eq(met, 1);
    ck_assert_uint_eq(memory_info(trimmed).reserved, 0);
    ek_queue_close(trimmed);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

TCase *room_case(void)
{
    TCase *room = tcase_create("room");
    if (on_gpu)
        return room;
    tcase_add_test(room, caches_are_emptied_for_others);
    tcase_add_test(room, shared_memory_comes_back);
    tcase_add_test(room, workspaces_beyond_the_limit);
    tcase_add_test(room, limits);
    tcase_add_test(room, trims);
    tcase_add_test(room, trims_hold_no_one_up);
    return room;
}
