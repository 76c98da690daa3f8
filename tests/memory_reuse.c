/* A queue reuses what was freed on it, within bounds, and counts it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check_memory.h"
#include "einkorn/program.h"
#include "fake.h"

enum { MB = 1 << 20 };

START_TEST(hot_calls_ask_no_driver)
{
    ek_queue *queue = fake_queue("cuda");
    char *first = take(queue, 4096);
    OK(ek_free(queue, first));
    int calls = fake.calls(NULL);
    for (int i = 0; i < 100; i++) {
        char *again = take(queue, (size_t)(4096 - i)); /* all of one class */
        ck_assert_ptr_eq(again, first);
        OK(ek_free(queue, again));
    }
    ck_assert_int_eq(fake.calls(NULL), calls);
    ek_memory_info info = memory_info(queue);
    ck_assert_uint_eq(info.allocations, 101);
    ck_assert_uint_eq(info.reused, 100);
    ek_queue_close(queue);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

/* Every size fits its block, which is not much larger, and comes from one of its own size. */
START_TEST(blocks_fit)
{
    ek_queue *queue = fake_queue("cuda");
    for (size_t bytes = 1; bytes < 50 * (size_t)MB; bytes += bytes / 5 + 1) {
        char *memory = take(queue, bytes);
        size_t block = memory_info(queue).in_use;
        ck_assert_uint_ge(block, bytes);
        ck_assert_uint_le(block, bytes + (bytes / 4 > 255 ? bytes / 4 : 255));
        ck_assert_uint_eq((uintptr_t)memory % 256, 0);
        memory[bytes - 1] = 1; /* which a sanitizer watches */
        OK(ek_free(queue, memory));
        ck_assert_uint_eq(memory_info(queue).in_use, 0);
    }
    ek_queue_close(queue);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

/* What a queue keeps is bounded, in whatever sizes it was freed, and so is what one free gives
 * back. */
START_TEST(caches_are_bounded)
{
    enum { BLOCKS = 300, MOST_GIVEN_BACK = 5 };
    static char *memory[BLOCKS];
    ek_queue *queue = fake_queue("cuda");
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < BLOCKS; i++)
            memory[i] = take(queue, (size_t)(round == 0 ? MB / 4 : (i + 1) * 4000 + round));
        for (int i = 0; i < BLOCKS; i++) {
            int frees = fake.calls("cuMemFreeAsync");
            OK(ek_free(queue, memory[i]));
            ck_assert_int_le(fake.calls("cuMemFreeAsync"), frees + MOST_GIVEN_BACK);
            ck_assert_uint_le(memory_info(queue).cached, 64 * (size_t)MB);
        }
        ck_assert_uint_gt(memory_info(queue).cached, 32 * (size_t)MB);
    }
    /* A size of long ago does not keep one of today out. */
    char *today = take(queue, 3 * MB);
    OK(ek_free(queue, today));
    ck_assert_ptr_eq(take(queue, 3 * MB), today);
    OK(ek_free(queue, today));
    ek_queue_close(queue);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

/* Blocks beyond all classes are kept, too: few, and only for about their size. */
START_TEST(large_blocks_are_kept)
{
    enum { BLOCKS = 6 };
    static char *memory[BLOCKS];
    const size_t bytes = 256 * (size_t)MB;
    ek_queue *queue = fake_queue("cuda");
    char *first = take(queue, bytes);
    OK(ek_free(queue, first));
    int calls = fake.calls(NULL);
    for (int i = 0; i < 100; i++) {
        ck_assert_ptr_eq(take(queue, bytes - (size_t)i * 4096), first);
        OK(ek_free(queue, first));
    }
    ck_assert_int_eq(fake.calls(NULL), calls);
    ck_assert_uint_eq(memory_info(queue).cached, bytes);
    char *half = take(queue, bytes / 2);
    ck_assert_uint_eq(memory_info(queue).in_use, bytes / 2);
    OK(ek_free(queue, half));
    for (int i = 0; i < BLOCKS; i++)
        memory[i] = take(queue, bytes);
    for (int i = 0; i < BLOCKS; i++)
        OK(ek_free(queue, memory[i]));
    ck_assert_uint_eq(memory_info(queue).cached, 1024 * (size_t)MB);
    ck_assert_ptr_eq(take(queue, bytes), memory[BLOCKS - 1]);
    OK(ek_free(queue, memory[BLOCKS - 1]));
    OK(ek_memory_trim(ek_queue_device(queue), 300 * (size_t)MB));
    ck_assert_uint_eq(memory_info(queue).cached, bytes);
    ek_queue_close(queue);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

START_TEST(peaks)
{
    ek_queue *queue = fake_queue("cuda"), *other = fake_queue("cuda");
    char *a = take(queue, 4 * MB), *b = take(other, 2 * MB);
    ck_assert_uint_eq(memory_info(queue).peak, 6 * MB);
    OK(ek_free(queue, a));
    ck_assert_uint_eq(memory_info(queue).in_use, 2 * MB);
    a = take(queue, 3 * MB);
    ck_assert_uint_eq(memory_info(queue).peak, 6 * MB);
    ck_assert_uint_eq(memory_info(queue).in_use, 5 * MB);
    OK(ek_free(queue, a));
    OK(ek_free(other, b));
    ck_assert_uint_eq(memory_info(queue).in_use, 0);
    ck_assert_uint_eq(memory_info(queue).limit, SIZE_MAX);
    ek_queue_close(queue);
    ek_queue_close(other);
}
END_TEST

/* What a GPU gave to the CPU, whose blocks have headers that no GPU's have; and the reverse. */
static void free_on_the_wrong_side(ek_queue *gpu)
{
    ek_device *cpu = NULL;
    ek_queue *host = NULL;
    void *pinned = NULL, *plain = NULL;
    OK(ek_device_open("cpu", &cpu));
    OK(ek_queue_open(cpu, &host));
    char *far = take(gpu, 1000), *near = take(host, 1000);
    OK(ek_pinned_alloc(ek_queue_device(gpu), 1000, &pinned));
    OK(ek_pinned_alloc(cpu, 1000, &plain));
    ck_assert_int_eq(ek_free(host, far), EK_DEVICE_MISMATCH);
    ck_assert_ptr_nonnull(strstr(ek_error_message(), "of cuda:0: the queue is of cpu"));
    ck_assert_int_eq(ek_free(host, far + 64), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_free(host, pinned), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_free(gpu, near), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_pinned_free(cpu, pinned), EK_DEVICE_MISMATCH);
    ck_assert_int_eq(ek_pinned_free(cpu, far), EK_DEVICE_MISMATCH);
    ck_assert_int_eq(ek_pinned_free(cpu, near), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_pinned_free(ek_queue_device(gpu), plain), EK_INVALID_ARGUMENT);
    OK(ek_pinned_free(ek_queue_device(gpu), pinned));
    OK(ek_pinned_free(cpu, plain));
    OK(ek_free(gpu, far));
    OK(ek_free(host, near));
    ck_assert_int_eq(ek_free(host, far), EK_INVALID_ARGUMENT);
    ek_queue_close(host);
    ek_device_close(cpu);
}

START_TEST(wrong_frees)
{
    ek_queue *queue = fake_queue("cuda:0"), *elsewhere = fake_queue("cuda:1");
    char *memory = take(queue, 1000), host[64];
    ck_assert_int_eq(ek_free(queue, host), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_free(queue, memory + 256), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_free(elsewhere, memory), EK_DEVICE_MISMATCH);
    ck_assert_ptr_nonnull(strstr(ek_error_message(), "of cuda:0: the queue is of cuda:1"));
    OK(ek_free(queue, memory));
    ck_assert_int_eq(ek_free(queue, memory), EK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(ek_error_message(), "freed already"));
    char *again = take(queue, 1000), *more = take(queue, 1000);
    ck_assert_ptr_ne(again, more);
    OK(ek_free(queue, again));
    OK(ek_free(queue, more));
    free_on_the_wrong_side(queue);
    ck_assert_int_eq(ek_memory_stats(NULL, NULL), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_memory_stats(ek_queue_device(queue), NULL), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_memory_set_limit(NULL, 0), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_memory_trim(NULL, 0), EK_INVALID_ARGUMENT);
    ck_assert_int_eq(ek_memory_use(NULL, memory), EK_INVALID_ARGUMENT);
    OK(ek_memory_use(queue, host));
    OK(ek_memory_use(queue, NULL));
    ek_queue_close(queue);
    ek_queue_close(elsewhere);
}
END_TEST

/* Memory may outlive the queue that gave it, and a later queue may take that one's place. */
START_TEST(memory_outlives_its_queue)
{
    ek_queue *stays = fake_queue("cuda"), *goes = fake_queue("cuda");
    char *one = take(goes, 1000), *two = take(goes, 40 * MB);
    ek_queue_close(goes);
    OK(ek_free(stays, one));
    goes = fake_queue("cuda");
    OK(ek_free(goes, two));
    ck_assert_uint_eq(memory_info(stays).in_use, 0);
    ek_queue_close(goes);
    ek_queue_close(stays);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

/* What is never freed goes with its device, but for what the driver holds. */
START_TEST(memory_that_is_forgotten)
{
    ek_queue *queue = fake_queue("cuda");
    char *lost = take(queue, 1000);
    ek_queue_close(queue);
    queue = fake_queue("cuda");
    ck_assert_int_eq(ek_free(queue, lost), EK_INVALID_ARGUMENT);
    ck_assert_uint_eq(memory_info(queue).in_use, 0);
    ek_queue_close(queue);
    ck_assert_int_eq(fake.alive(), 1);
}
END_TEST

START_TEST(memory_of_programs_counts)
{
    ek_queue *queue = fake_queue("cuda");
    ek_program *program = NULL;
    OK(ek_record_begin(queue));
    char *memory = take(queue, 5 * MB);
    OK(ek_record_end(queue, &program));
    ck_assert_uint_eq(memory_info(queue).in_use, 5 * MB);
    ck_assert_uint_eq(memory_info(queue).peak, 5 * MB);
    ck_assert_int_eq(ek_free(queue, memory), EK_INVALID_ARGUMENT);
    ek_program_close(program);
    ck_assert_uint_eq(memory_info(queue).in_use, 0);
    ek_queue_close(queue);
    ck_assert_int_eq(fake.alive(), 0);
}
END_TEST

/* A stream that the application captures is left as it is. */
START_TEST(captured_streams_take_no_memory)
{
    CUgraph graph = NULL;
    ek_device *device = NULL;
    ek_queue *queue = NULL;
    CUstream mine = fake_stream(0);
    OK(ek_device_open("cuda:0", &device));
    OK(ek_queue_wrap_stream(device, mine, &queue));
    char *memory = take(queue, 1000);
    void *none = queue;
    OK(ek_free(queue, take(queue, 2000)));
    fake.stream_begin_capture(mine, CU_STREAM_CAPTURE_MODE_RELAXED);
    ck_assert_int_eq(ek_alloc(queue, 2000, &none), EK_UNSUPPORTED);
    ck_assert_int_eq(ek_alloc(queue, 64 * MB, &none), EK_UNSUPPORTED);
    ck_assert_int_eq(ek_free(queue, memory), EK_UNSUPPORTED);
    ck_assert_ptr_eq(none, queue);
    OK(ek_memory_trim(device, 0));
    ck_assert_int_eq(fake.stream_end_capture(mine, &graph), CUDA_SUCCESS);
    fake.graph_destroy(graph);
    OK(ek_free(queue, memory));
    ek_queue_close(queue);
    ek_device_close(device);
    fake.stream_destroy(mine);
}
END_TEST

TCase *reuse_case(void)
{
    TCase *reuse = tcase_create("reuse");
    if (on_gpu)
        return reuse;
    tcase_set_timeout(reuse, 60);
    tcase_add_test(reuse, hot_calls_ask_no_driver);
    tcase_add_test(reuse, blocks_fit);
    tcase_add_test(reuse, caches_are_bounded);
    tcase_add_test(reuse, large_blocks_are_kept);
    tcase_add_test(reuse, peaks);
    tcase_add_test(reuse, wrong_frees);
    tcase_add_test(reuse, memory_outlives_its_queue);
    tcase_add_test(reuse, memory_that_is_forgotten);
    tcase_add_test(reuse, memory_of_programs_counts);
    tcase_add_test(reuse, captured_streams_take_no_memory);
    return reuse;
}
