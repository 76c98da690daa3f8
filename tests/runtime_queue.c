/* Queues, events and memory. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "check_runtime.h"
#include "einkorn/event.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"

START_TEST(queue_arguments)
{
    ek_queue *queue = NULL;
    int stream;
    EK_MUST_REFUSE(ek_queue_open(NULL, &queue), EK_INVALID_ARGUMENT, "device is null");
    EK_MUST_REFUSE(ek_queue_open(ek_cpu, NULL), EK_INVALID_ARGUMENT, "queue is null");
    EK_MUST_REFUSE(ek_queue_wrap_stream(ek_cpu, &stream, &queue), EK_UNSUPPORTED, "cpu");
    EK_MUST_REFUSE(ek_queue_wrap_stream(ek_cpu, NULL, &queue), EK_UNSUPPORTED, "stream is null");
    EK_MUST_REFUSE(ek_queue_sync(NULL), EK_INVALID_ARGUMENT, "queue is null");
    ck_assert_ptr_null(queue);
    ek_queue_close(NULL);
    EK_MUST(ek_queue_sync(ek_cpu_queue));
    ck_assert_ptr_null(ek_queue_stream(ek_cpu_queue));
    ck_assert_ptr_eq(ek_queue_device(ek_cpu_queue), ek_cpu);
}
END_TEST

START_TEST(threads_are_set)
{
    ck_assert_int_ge(ek_queue_threads(ek_cpu_queue), 1);
    EK_MUST(ek_queue_set_threads(ek_cpu_queue, 7));
    ck_assert_int_eq(ek_queue_threads(ek_cpu_queue), 7);
    EK_MUST_REFUSE(ek_queue_set_threads(ek_cpu_queue, 0), EK_INVALID_ARGUMENT, "threads is 0");
    EK_MUST_REFUSE(ek_queue_set_threads(ek_cpu_queue, -3), EK_INVALID_ARGUMENT, "threads is -3");
    EK_MUST_REFUSE(ek_queue_set_threads(ek_cpu_queue, INT32_MAX), EK_INVALID_ARGUMENT,
                   "must be 1 to 4096");
    EK_MUST_REFUSE(ek_queue_set_threads(NULL, 1), EK_INVALID_ARGUMENT, "queue is null");
    ck_assert_int_eq(ek_queue_threads(ek_cpu_queue), 7);
}
END_TEST

START_TEST(variants_are_set)
{
    float x[3] = {1, 2, 3}, y[3] = {10, 20, 30}, out[3];
    for (int variant = EK_CPU_BASE; variant <= EK_CPU_AVX512; variant++) {
        if (!ek_variant_available((ek_variant)variant)) {
            EK_MUST_REFUSE(ek_queue_set_variant(ek_cpu_queue, (ek_variant)variant), EK_UNSUPPORTED,
                           ek_variant_name((ek_variant)variant));
            continue;
        }
        EK_MUST(ek_queue_set_variant(ek_cpu_queue, (ek_variant)variant));
        ck_assert_int_eq(ek_cpu_queue->variant, variant);
        EK_MUST(ek_add_f32(ek_cpu_queue, 3, x, y, out));
        ck_assert_float_eq(out[2], 33);
    }
    int32_t before = ek_cpu_queue->variant;
    EK_MUST_REFUSE(ek_queue_set_variant(ek_cpu_queue, EK_CUDA), EK_UNSUPPORTED, "cuda");
    EK_MUST_REFUSE(ek_queue_set_variant(ek_cpu_queue, (ek_variant)99), EK_UNSUPPORTED, "?");
    EK_MUST_REFUSE(ek_queue_set_variant(ek_cpu_queue, (ek_variant)-1), EK_UNSUPPORTED, "?");
    EK_MUST_REFUSE(ek_queue_set_variant(NULL, EK_CPU_BASE), EK_INVALID_ARGUMENT, "null");
    ck_assert_int_eq(ek_cpu_queue->variant, before);
}
END_TEST

START_TEST(events_on_the_cpu)
{
    ek_event *start, *end;
    int reached = -1;
    double nanoseconds = -1;
    EK_MUST(ek_event_open(ek_cpu, &start));
    EK_MUST(ek_event_open(ek_cpu, &end));
    EK_MUST(ek_event_wait(start, ek_cpu_queue)); /* never recorded: no obstacle */
    EK_MUST(ek_event_record(start, ek_cpu_queue));
    EK_MUST_REFUSE(ek_event_elapsed(start, end, &nanoseconds), EK_INVALID_ARGUMENT,
                   "end was never recorded");
    EK_MUST(ek_event_record(end, ek_cpu_queue));
    EK_MUST(ek_event_wait(end, ek_cpu_queue));
    EK_MUST(ek_event_sync(end));
    EK_MUST(ek_event_query(end, &reached));
    ck_assert_int_eq(reached, 1);
    EK_MUST(ek_event_elapsed(start, end, &nanoseconds));
    ck_assert(nanoseconds >= 0 && nanoseconds < 1e9);
    EK_MUST_REFUSE(ek_event_open(NULL, &start), EK_INVALID_ARGUMENT, "device is null");
    EK_MUST_REFUSE(ek_event_open(ek_cpu, NULL), EK_INVALID_ARGUMENT, "event is null");
    EK_MUST_REFUSE(ek_event_record(NULL, ek_cpu_queue), EK_INVALID_ARGUMENT, "event is null");
    EK_MUST_REFUSE(ek_event_record(start, NULL), EK_INVALID_ARGUMENT, "queue is null");
    EK_MUST_REFUSE(ek_event_wait(start, NULL), EK_INVALID_ARGUMENT, "queue is null");
    EK_MUST_REFUSE(ek_event_sync(NULL), EK_INVALID_ARGUMENT, "event is null");
    EK_MUST_REFUSE(ek_event_query(end, NULL), EK_INVALID_ARGUMENT, "reached is null");
    EK_MUST_REFUSE(ek_event_elapsed(NULL, end, &nanoseconds), EK_INVALID_ARGUMENT, "start is null");
    EK_MUST_REFUSE(ek_event_elapsed(start, NULL, &nanoseconds), EK_INVALID_ARGUMENT, "null");
    EK_MUST_REFUSE(ek_event_elapsed(start, end, NULL), EK_INVALID_ARGUMENT, "null");
    ek_event_close(start);
    ek_event_close(end);
    ek_event_close(NULL);
}
END_TEST

START_TEST(memory_is_aligned)
{
    for (size_t bytes = 1; bytes < 100000; bytes = bytes * 3 + 1) {
        void *memory = NULL;
        EK_MUST(ek_alloc(ek_cpu_queue, bytes, &memory));
        ck_assert_uint_eq((uintptr_t)memory % 64, 0);
        memset(memory, 1, bytes);
        EK_MUST(ek_free(ek_cpu_queue, memory));
    }
    void *memory = &memory;
    EK_MUST(ek_alloc(ek_cpu_queue, 0, &memory));
    ck_assert_ptr_null(memory);
    EK_MUST(ek_free(ek_cpu_queue, NULL));
}
END_TEST

START_TEST(memory_that_cannot_be_had)
{
    void *memory = &memory;
    EK_MUST_REFUSE(ek_alloc(NULL, 1, &memory), EK_INVALID_ARGUMENT, "queue is null");
    EK_MUST_REFUSE(ek_alloc(ek_cpu_queue, 1, NULL), EK_INVALID_ARGUMENT, "memory is null");
    EK_MUST_REFUSE(ek_alloc(ek_cpu_queue, SIZE_MAX, &memory), EK_INVALID_ARGUMENT, "bytes");
    EK_MUST_REFUSE(ek_alloc(ek_cpu_queue, SIZE_MAX / 4, &memory), EK_OUT_OF_MEMORY, "bytes");
    EK_MUST_REFUSE(ek_alloc(ek_cpu_queue, INT64_MAX, &memory), EK_OUT_OF_MEMORY, "bytes");
    EK_MUST_REFUSE(ek_free(NULL, &memory), EK_INVALID_ARGUMENT, "queue is null");
    ck_assert_ptr_eq(memory, &memory);
    EK_MUST(ek_alloc(ek_cpu_queue, 64, &memory)); /* the library stays usable */
    EK_MUST(ek_free(ek_cpu_queue, memory));
}
END_TEST

static void *fail_elsewhere(void *unused)
{
    (void)unused;
    char before = ek_error_message()[0];
    ek_queue_set_threads(NULL, 1);
    return before == '\0' && strstr(ek_error_message(), "ek_queue_set_threads") ? NULL : "wrong";
}

START_TEST(messages_belong_to_threads)
{
    pthread_t thread;
    void *wrong;
    char mine[256];
    float x[1] = {1};
    EK_MUST_REFUSE(ek_add_f32(ek_cpu_queue, -1, x, x, x), EK_INVALID_ARGUMENT, "ek_add_f32");
    snprintf(mine, sizeof mine, "%s", ek_error_message());
    pthread_create(&thread, NULL, fail_elsewhere, NULL);
    pthread_join(thread, &wrong);
    ck_assert_ptr_null(wrong);
    EK_MUST(ek_add_f32(ek_cpu_queue, 1, x, x, x)); /* success leaves the message alone */
    ck_assert_str_eq(ek_error_message(), mine);
    ck_assert_ptr_null(strchr(mine, '\n'));
}
END_TEST

TCase *ek_queue_case(void)
{
    TCase *queue = tcase_create("queue");
    tcase_add_checked_fixture(queue, ek_open_cpu, ek_close_cpu);
    tcase_add_test(queue, queue_arguments);
    tcase_add_test(queue, threads_are_set);
    tcase_add_test(queue, variants_are_set);
    tcase_add_test(queue, events_on_the_cpu);
    tcase_add_test(queue, memory_is_aligned);
    tcase_add_test(queue, memory_that_cannot_be_had);
    tcase_add_test(queue, messages_belong_to_threads);
    return queue;
}
