/* Threads that allocate and free on queues of their own, and hand memory to each other. */
#include <pthread.h>
#include <stdlib.h>

#include "check_memory.h"
#include "einkorn/program.h"
#include "error.h"
#include "fake.h"
#include "stock.h"

enum { THREADS = 6, ROUNDS = 300, MAIL = 8, MB = 1 << 20 };

typedef struct shared {
    pthread_mutex_t lock; /* what orders the threads, as an application would */
    void *mail[MAIL];     /* memory that some thread allocated and any may use and free */
    ek_device *device;
    int stop;
} shared;

static void *exchange(shared *all, int slot, void *memory)
{
    pthread_mutex_lock(&all->lock);
    void *found = all->mail[slot];
    all->mail[slot] = memory;
    pthread_mutex_unlock(&all->lock);
    return found;
}

/* A program with memory of its own. */
static ek_status record(ek_queue *queue, size_t bytes)
{
    void *memory = NULL;
    ek_program *program = NULL;
    EK_TRY(ek_record_begin(queue));
    ek_status status = ek_alloc(queue, bytes, &memory), ended = ek_record_end(queue, &program);
    if (ended == EK_OK)
        ended = ek_program_run(queue, program);
    ek_program_close(program);
    return status == EK_OK ? ended : status;
}

static void *work(void *context)
{
    shared *all = context;
    unsigned seed = (unsigned)(uintptr_t)pthread_self();
    ek_queue *queue = NULL;
    ek_status status = ek_queue_open(all->device, &queue);
    for (int i = 0; i < ROUNDS && status == EK_OK; i++) {
        size_t bytes = (size_t)1 << rand_r(&seed) % 21;
        void *mine = NULL, *pinned = NULL;
        status = ek_alloc(queue, bytes + (size_t)(rand_r(&seed) % 1000), &mine);
        if (status == EK_OK && i % 4 == 0)
            status = ek_pinned_alloc(all->device, bytes, &pinned);
        ek_memory_use(queue, pinned);
        void *other = exchange(all, rand_r(&seed) % MAIL, mine);
        ek_memory_use(queue, other);
        if (i % 3 == 0)
            other = exchange(all, rand_r(&seed) % MAIL, other); /* used here, freed elsewhere */
        if (status == EK_OK)
            status = ek_free(queue, other);
        if (status == EK_OK)
            status = ek_pinned_free(all->device, pinned);
        if (status == EK_OK && i % 20 == 19)
            status = record(queue, bytes);
        if (i % 50 == 49) { /* queues come and go */
            ek_queue_close(queue);
            status = status == EK_OK ? ek_queue_open(all->device, &queue) : status;
        }
    }
    ek_queue_close(queue);
    return status == EK_OK ? NULL : "failed";
}

/* One that looks at the others from outside. */
static void *watch(void *context)
{
    shared *all = context;
    ek_status status = EK_OK;
    for (int stop = 0; !stop && status == EK_OK;) {
        ek_memory_info info;
        status = ek_memory_stats(all->device, &info);
        if (status == EK_OK)
            status = ek_memory_trim(all->device, 1 << 20);
        pthread_mutex_lock(&all->lock);
        stop = all->stop;
        pthread_mutex_unlock(&all->lock);
    }
    return status == EK_OK ? NULL : "failed";
}

START_TEST(threads_exchange_memory)
{
    pthread_t threads[THREADS], watcher;
    shared all = {.lock = PTHREAD_MUTEX_INITIALIZER};
    ek_queue *queue = fake_queue("cuda");
    void *failed = NULL, *result;
    all.device = ek_queue_device(queue);
    pthread_create(&watcher, NULL, watch, &all);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &all);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &result);
        failed = failed ? failed : result;
    }
    pthread_mutex_lock(&all.lock);
    all.stop = 1;
    pthread_mutex_unlock(&all.lock);
    pthread_join(watcher, &result);
    ck_assert_ptr_null(failed);
    ck_assert_ptr_null(result);
    for (int i = 0; i < MAIL; i++)
        OK(ek_free(queue, all.mail[i]));
    ck_assert_uint_eq(memory_info(queue).in_use, 0);
    ck_assert_uint_eq(memory_info(queue).pinned, 0);
    ek_queue_close(queue);
    if (on_gpu)
        return;
    ck_assert_int_eq(fake.alive(), 0);
    ck_assert_int_eq(fake.context_failures(), 0);
}
END_TEST

static void *ask_too_much(void *context)
{
    ek_stock *stock = context;
    const char *failed = NULL;
    for (int i = 0; i < 1000000; i++) {
        if (ek_stock_reserve(stock, 8 * MB) == EK_OK)
            failed = "beyond the limit";
    }
    atomic_store(&stock->trims, 1); /* the end */
    return (void *)failed;
}

/* A thread that is refused takes no room from another, not even for a moment. */
START_TEST(refusals_take_no_room)
{
    ek_stock stock = {.limit = 4 * MB};
    pthread_t thread;
    int refused = 0;
    void *failed;
    pthread_create(&thread, NULL, ask_too_much, &stock);
    while (atomic_load(&stock.trims) == 0) {
        if (ek_stock_reserve(&stock, MB) == EK_OK)
            ek_stock_unreserve(&stock, MB);
        else
            refused++;
    }
    pthread_join(thread, &failed);
    ck_assert_int_eq(refused, 0);
    ck_assert_ptr_null(failed);
    ck_assert_int_eq(atomic_load(&stock.held), 0);
}
END_TEST

TCase *memory_threads_case(void)
{
    TCase *threads = tcase_create("threads");
    tcase_set_timeout(threads, 120);
    tcase_add_test(threads, threads_exchange_memory);
    tcase_add_test(threads, refusals_take_no_room);
    return threads;
}
