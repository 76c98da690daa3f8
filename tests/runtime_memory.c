/* Memory of the CPU: reused, counted, limited, and watched by sanitizers. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "check_runtime.h"
#include "einkorn/memory.h"
#include "einkorn/program.h"
#include "sanitized.h"

enum { MB = 1 << 20 };

#ifdef EK_SANITIZED
#    include <sanitizer/asan_interface.h>
#endif

static char *take(size_t bytes)
{
    void *memory = NULL;
    EK_MUST(ek_alloc(ek_cpu_queue, bytes, &memory));
    return memory;
}

static ek_memory_info info(void)
{
    ek_memory_info found;
    EK_MUST(ek_memory_stats(ek_cpu, &found));
    return found;
}

START_TEST(memory_is_reused)
{
    for (size_t bytes = 1; bytes < 100 * (size_t)MB; bytes = bytes * 3 + 1) {
        char *first = take(bytes);
        size_t in_use = info().in_use;
        ck_assert_uint_ge(in_use, bytes);
        ck_assert_uint_le(in_use, bytes + (bytes / 4 > 63 ? bytes / 4 : 63));
        memset(first, 1, bytes);
        EK_MUST(ek_free(ek_cpu_queue, first));
        char *again = take(bytes);
        ck_assert_ptr_eq(again, first);
        memset(again, 1, bytes);
        EK_MUST(ek_free(ek_cpu_queue, again));
        ck_assert_uint_eq(info().in_use, 0);
    }
    ck_assert_uint_gt(info().reused, 0);
    ck_assert_uint_eq(info().reserved, info().cached);
}
END_TEST

START_TEST(kept_memory_is_bounded_and_trimmed)
{
    enum { BLOCKS = 400 };
    static char *memory[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        memory[i] = take(MB / 4 + (size_t)i * 100);
    ck_assert_uint_ge(info().peak, BLOCKS * (size_t)MB / 4);
    for (int i = 0; i < BLOCKS; i++)
        EK_MUST(ek_free(ek_cpu_queue, memory[i]));
    ck_assert_uint_le(info().cached, 8 * MB);
    ck_assert_uint_gt(info().cached, 4 * MB);
    EK_MUST(ek_free(ek_cpu_queue, take(20 * MB)));
    ck_assert_uint_ge(info().cached, 20 * MB);
    EK_MUST(ek_memory_trim(ek_cpu, 2 * MB));
    ck_assert_uint_le(info().cached, 2 * MB);
    EK_MUST(ek_memory_trim(ek_cpu, 0));
    ck_assert_uint_eq(info().cached, 0);
    ck_assert_uint_eq(info().reserved, 0);
}
END_TEST

START_TEST(memory_has_limits)
{
    void *memory = &memory;
    char *mine = take(4 * MB);
    EK_MUST(ek_free(ek_cpu_queue, take(3 * MB)));
    EK_MUST(ek_memory_set_limit(ek_cpu, 8 * MB));
    EK_MUST_REFUSE(ek_alloc(ek_cpu_queue, 5 * MB, &memory), EK_OUT_OF_MEMORY,
                   "4194304 in use, limit 8388608");
    ck_assert_ptr_eq(memory, &memory);
    ck_assert_uint_eq(info().in_use, 4 * MB);
    EK_MUST(ek_free(ek_cpu_queue, take(4 * MB))); /* for which what is kept must go */
    ck_assert_uint_le(info().reserved, 8 * MB);
    ck_assert_uint_ge(info().trims, 1);
    EK_MUST(ek_memory_set_limit(ek_cpu, SIZE_MAX));
    EK_MUST(ek_free(ek_cpu_queue, take(20 * MB)));
    EK_MUST(ek_free(ek_cpu_queue, mine));
}
END_TEST

START_TEST(frees_are_checked)
{
    char *mine = take(1000);
    EK_MUST_REFUSE(ek_free(ek_cpu_queue, mine + 8), EK_INVALID_ARGUMENT, "not from ek_alloc");
    EK_MUST(ek_free(ek_cpu_queue, mine));
    EK_MUST_REFUSE(ek_free(ek_cpu_queue, mine), EK_INVALID_ARGUMENT, "freed already");
    EK_MUST(ek_memory_use(ek_cpu_queue, mine)); /* nothing to declare on the CPU */
    EK_MUST_REFUSE(ek_memory_use(NULL, mine), EK_INVALID_ARGUMENT, "queue is null");
}
END_TEST

START_TEST(queues_exchange_memory)
{
    ek_queue *other;
    EK_MUST(ek_queue_open(ek_cpu, &other));
    char *mine = take(1000);
    EK_MUST(ek_free(other, mine));
    void *theirs;
    EK_MUST(ek_alloc(other, 1000, &theirs));
    ck_assert_ptr_eq(theirs, mine);
    ck_assert_uint_eq(info().in_use, 1024);
    ek_queue_close(other);
    EK_MUST(ek_free(ek_cpu_queue, theirs));
    ck_assert_uint_eq(info().in_use, 0);
}
END_TEST

START_TEST(pinned_memory_is_ordinary)
{
    void *memory;
    EK_MUST(ek_pinned_alloc(ek_cpu, 5000, &memory));
    memset(memory, 1, 5000);
    ck_assert_uint_eq((uintptr_t)memory % 64, 0);
    ck_assert_uint_ge(info().in_use, 5000);
    EK_MUST_REFUSE(ek_free(ek_cpu_queue, memory), EK_INVALID_ARGUMENT, "not from ek_alloc");
    EK_MUST(ek_pinned_free(ek_cpu, memory));
    ck_assert_uint_eq(info().in_use, 0);
    char *mine = take(1000);
    EK_MUST_REFUSE(ek_pinned_free(ek_cpu, mine), EK_INVALID_ARGUMENT, "ek_pinned_alloc");
    EK_MUST(ek_free(ek_cpu_queue, mine));
    EK_MUST(ek_pinned_free(ek_cpu, NULL));
    EK_MUST(ek_pinned_alloc(ek_cpu, 0, &memory));
    ck_assert_ptr_null(memory);
}
END_TEST

/* With AddressSanitizer, memory that is kept and what is behind an array cannot be used. */
START_TEST(kept_memory_is_poisoned)
{
#ifdef EK_SANITIZED
    static const size_t sizes[] = {100, 5000, 3 * MB};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *memory = take(sizes[i]);
        ck_assert_ptr_null(__asan_region_is_poisoned(memory, sizes[i]));
        ck_assert(__asan_address_is_poisoned(memory + sizes[i]));
        EK_MUST(ek_free(ek_cpu_queue, memory));
        ck_assert(__asan_address_is_poisoned(memory));
        ck_assert(__asan_address_is_poisoned(memory + sizes[i] - 1));
        char *again = take(sizes[i] - sizes[i] / 8);
        ck_assert_ptr_eq(again, memory);
        ck_assert(__asan_address_is_poisoned(memory + sizes[i] - 1));
        EK_MUST(ek_free(ek_cpu_queue, again));
    }
#endif
}
END_TEST

enum { THREADS = 4, ROUNDS = 2000, MAIL = 4 };

typedef struct mailbox {
    pthread_mutex_t lock;
    char *memory[MAIL];
} mailbox;

static void *exchange_memory(void *context)
{
    mailbox *box = context;
    unsigned seed = (unsigned)(uintptr_t)pthread_self();
    ek_queue *queue = NULL;
    ek_status status = ek_queue_open(ek_cpu, &queue);
    for (int i = 0; i < ROUNDS && status == EK_OK; i++) {
        size_t bytes = (size_t)1 << rand_r(&seed) % 22;
        void *mine = NULL;
        status = ek_alloc(queue, bytes, &mine);
        if (status != EK_OK)
            break;
        ((char *)mine)[0] = ((char *)mine)[bytes - 1] = 1;
        int slot = rand_r(&seed) % MAIL;
        pthread_mutex_lock(&box->lock);
        void *other = box->memory[slot];
        box->memory[slot] = mine;
        pthread_mutex_unlock(&box->lock);
        status = ek_free(queue, other);
        if (i % 500 == 0)
            status = ek_memory_trim(ek_cpu, 0);
    }
    ek_queue_close(queue);
    return status == EK_OK ? NULL : "failed";
}

START_TEST(threads_share_a_device)
{
    pthread_t threads[THREADS];
    mailbox box = {.lock = PTHREAD_MUTEX_INITIALIZER};
    void *failed = NULL, *result;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, exchange_memory, &box);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &result);
        failed = failed ? failed : result;
    }
    ck_assert_ptr_null(failed);
    for (int i = 0; i < MAIL; i++)
        EK_MUST(ek_free(ek_cpu_queue, box.memory[i]));
    ck_assert_uint_eq(info().in_use, 0);
}
END_TEST

/* The queue's own workspace and a program's memory count too. */
START_TEST(programs_count)
{
    ek_program *program;
    EK_MUST(ek_record_begin(ek_cpu_queue));
    char *memory = take(5000);
    EK_MUST(ek_record_end(ek_cpu_queue, &program));
    ck_assert_uint_ge(info().in_use, 5000);
    EK_MUST_REFUSE(ek_free(ek_cpu_queue, memory), EK_INVALID_ARGUMENT, "program");
    ek_program_close(program);
    ck_assert_uint_eq(info().in_use, 0);
}
END_TEST

TCase *ek_memory_case(void)
{
    TCase *memory = tcase_create("memory");
    tcase_add_checked_fixture(memory, ek_open_cpu, ek_close_cpu);
    tcase_set_timeout(memory, 60);
    tcase_add_test(memory, memory_is_reused);
    tcase_add_test(memory, kept_memory_is_bounded_and_trimmed);
    tcase_add_test(memory, memory_has_limits);
    tcase_add_test(memory, frees_are_checked);
    tcase_add_test(memory, queues_exchange_memory);
    tcase_add_test(memory, pinned_memory_is_ordinary);
    tcase_add_test(memory, kept_memory_is_poisoned);
    tcase_add_test(memory, threads_share_a_device);
    tcase_add_test(memory, programs_count);
    return memory;
}
