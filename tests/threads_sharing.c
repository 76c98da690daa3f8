/* What may be shared, what belongs to one thread at a time, and what a thread does not decide. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check_threads.h"
#include "einkorn/event.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"
#include "einkorn/ops/sum.h"

enum { N = 1000 };

/* ---- O005 */

static ek_device *shared;

/* Opened nothing itself: the handle alone says where the work is done. */
static void *use_shared(void *number)
{
    ek_queue *queue;
    float host[N], back[N], *x;
    for (int i = 0; i < N; i++)
        host[i] = (float)(*(int *)number + i);
    MUST(ek_queue_open(shared, &queue));
    REQUIRE(ek_queue_device(queue) == shared);
    REQUIRE((queue->variant == EK_CUDA) == (ek_device_get_type(shared) == EK_DEVICE_CUDA));
    MUST(ek_alloc(queue, sizeof host, (void **)&x));
    upload(queue, x, host, sizeof host);
    MUST(ek_add_f32(queue, N, x, x, x));
    download(queue, back, x, sizeof back);
    for (int i = 0; i < N && computes; i++)
        REQUIRE(back[i] == 2 * host[i]);
    MUST(ek_free(queue, x));
    ek_queue_close(queue);
    return NULL;
}

START_TEST(handles_decide)
{
    MUST(ek_device_open(device_names[DEVICES - 1], &shared));
    run_threads(4, use_shared);
    ek_device_close(shared);
}
END_TEST

/* ---- events between queues of many threads */

enum { LINE = 6, TURNS = 50 };

static struct {
    ek_device *device;
    int32_t *memory;
    ek_event *done[LINE]; /* recorded by one thread, waited for by the next */
    atomic_int turn;
} relay;

/* Adds to what the thread before has written, in a queue of its own: the device keeps them in
 * order, the host only says that the event has been recorded. */
static void *run_relay(void *number)
{
    int me = *(int *)number, before = (me + LINE - 1) % LINE;
    ek_queue *queue;
    MUST(ek_queue_open(relay.device, &queue));
    for (int turn = me; turn < TURNS * LINE; turn += LINE) {
        while (atomic_load(&relay.turn) != turn)
            sched_yield();
        MUST(ek_event_wait(relay.done[before], queue));
        MUST(ek_add_i32(queue, N, relay.memory, relay.memory + N, relay.memory));
        MUST(ek_event_record(relay.done[me], queue));
        atomic_store(&relay.turn, turn + 1);
    }
    MUST(ek_queue_sync(queue));
    ek_queue_close(queue);
    return NULL;
}

START_TEST(events_order_threads)
{
    int32_t host[2 * N];
    ek_queue *queue = open_queue(device_names[0]);
    relay.device = ek_queue_device(queue);
    for (int i = 0; i < 2 * N; i++)
        host[i] = i < N ? 0 : 1;
    MUST(ek_alloc(queue, sizeof host, (void **)&relay.memory));
    upload(queue, relay.memory, host, sizeof host);
    for (int i = 0; i < LINE; i++)
        MUST(ek_event_open(relay.device, &relay.done[i]));
    run_threads(LINE, run_relay);
    download(queue, host, relay.memory, sizeof host);
    for (int i = 0; i < N && computes; i++)
        REQUIRE(host[i] == TURNS * LINE);
    for (int i = 0; i < LINE; i++)
        ek_event_close(relay.done[i]);
    MUST(ek_free(queue, relay.memory));
    ek_queue_close(queue);
}
END_TEST

/* ---- closing in any order */

START_TEST(any_order_of_closing)
{
    for (int order = 0; order < 6; order++) {
        ek_device *device;
        ek_queue *queue;
        ek_event *event;
        MUST(ek_device_open(device_names[0], &device));
        MUST(ek_queue_open(device, &queue));
        MUST(ek_event_open(device, &event));
        MUST(ek_event_record(event, queue));
        for (int step = 0; step < 3; step++) {
            int what = (order / 3 ? 3 - step + order : step + order) % 3;
            if (what == 0)
                ek_device_close(device);
            else if (what == 1)
                ek_queue_close(queue);
            else
                ek_event_close(event);
        }
    }
    ek_device *device;
    MUST(ek_device_open(device_names[0], &device)); /* and it is all there again */
    ek_device_close(device);
}
END_TEST

#if EK_DEBUG
/* ---- two threads in one queue, which debug builds notice */

enum { LARGE = 1 << 22 };

static struct {
    ek_queue *queue;
    float *x;
    atomic_bool over;
    char message[200];
} contested;

/* Adds until a sum refuses it: of calls counted out, all might run before the first sum does. */
static void add_until_refused(void)
{
    float y[4] = {0};
    while (!atomic_load(&contested.over))
        if (ek_add_f32(contested.queue, 4, y, y, y) != EK_OK) {
            strncpy(contested.message, ek_error_message(), sizeof contested.message - 1);
            atomic_store(&contested.over, true);
        }
}

static void sum_until_over(void)
{
    float sum;
    for (int i = 0; i < 2000 && !atomic_load(&contested.over); i++) {
        ek_status status = ek_sum_f32(contested.queue, 1, LARGE, 1, contested.x, &sum);
        REQUIRE(status == EK_OK || status == EK_INVALID_ARGUMENT);
    }
    atomic_store(&contested.over, true);
}

static void *contest(void *number)
{
    if (*(int *)number)
        add_until_refused();
    else
        sum_until_over();
    return NULL;
}

START_TEST(two_threads_in_one_queue)
{
    contested.queue = open_queue("cpu");
    contested.x = calloc(LARGE, sizeof *contested.x);
    run_threads(2, contest);
    ck_assert_str_eq(contested.message,
                     "ek_add_f32: queue is in use by another thread, in ek_sum_f32: one thread at "
                     "a time may use it");
    free(contested.x);
    ek_queue_close(contested.queue); /* no one is in it any more */
}
END_TEST
#endif

TCase *sharing_case(void)
{
    TCase *sharing = tcase_create("sharing");
    tcase_set_timeout(sharing, 120);
    tcase_add_test(sharing, handles_decide);
    tcase_add_test(sharing, events_order_threads);
    tcase_add_test(sharing, any_order_of_closing);
#if EK_DEBUG
    tcase_add_test(sharing, two_threads_in_one_queue);
#endif
    return sharing;
}
