/* Everything at once: threads that open, compute, record, run, wait for each other, hand memory and
 * queues over, and close in any order. What they compute is known from one thread alone. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check_threads.h"
#include "einkorn/event.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"
#include "einkorn/ops/argmax.h"
#include "einkorn/ops/cast.h"
#include "einkorn/ops/copy.h"
#include "einkorn/ops/cumsum.h"
#include "einkorn/ops/exp.h"
#include "einkorn/ops/fill.h"
#include "einkorn/ops/gemm.h"
#include "einkorn/ops/gemm_exact.h"
#include "einkorn/ops/layer_norm.h"
#include "einkorn/ops/lt.h"
#include "einkorn/ops/softmax.h"
#include "einkorn/ops/sum.h"
#include "einkorn/ops/var.h"
#include "einkorn/ops/where.h"
#include "einkorn/program.h"
#include "error.h"

enum { ROWS = 32, LENGTH = 64, N = ROWS * LENGTH, ARRAYS = 16, THREADS = 8, ROUNDS = 12 };

/* ARRAYS arrays of N floats: the operand first, then what is computed from it. */
typedef float block[ARRAYS][N];

static block initial, expected;

/* One operation of each kind, typed. */
static ek_status compute(ek_queue *q, float (*m)[N])
{
    ek_gemm_shape square = ek_gemm_plain_shape(ROWS, ROWS, ROWS);
    const float *x = m[0];
    EK_TRY(ek_fill_f32(q, N, 0.5f, m[1]));
    EK_TRY(ek_add_f32(q, N, x, m[1], m[2]));
    EK_TRY(ek_exp_f32(q, N, x, m[3]));
    EK_TRY(ek_lt_f32(q, N, x, m[1], (ek_b8 *)m[4]));
    EK_TRY(ek_where_f32(q, N, (const ek_b8 *)m[4], x, m[1], m[5]));
    EK_TRY(ek_cast_f32_f16(q, N, x, (ek_f16 *)m[6]));
    EK_TRY(ek_sum_f32(q, ROWS, LENGTH, 1, x, m[7]));
    EK_TRY(ek_var_f32(q, ROWS, LENGTH, 1, 1, x, m[8]));
    EK_TRY(ek_argmax_f32(q, ROWS, LENGTH, 1, x, (int64_t *)m[9]));
    EK_TRY(ek_softmax_f32(q, ROWS, LENGTH, 1, x, m[10]));
    EK_TRY(ek_layer_norm_f32(q, ROWS, LENGTH, 1, x, m[1], m[1], 1e-5, m[11]));
    EK_TRY(ek_cumsum_f32(q, ROWS, LENGTH, 1, x, m[12]));
    EK_TRY(ek_gemm_exact_f32(q, &square, 1, x, m[1], 0, m[13]));
    EK_TRY(ek_gemm_f32(q, &square, 1, x, m[1], 0, m[14]));
    return ek_copy_f32(q, N, m[3], m[15]);
}

static void prepare(void)
{
    ek_queue *queue = open_queue("cpu");
    memset(initial, 0, sizeof initial);
    for (int i = 0; i < N; i++)
        initial[0][i] = (float)(i * 7 % 17 - 8) / 4; /* products of these are exact */
    memcpy(expected, initial, sizeof expected);
    MUST(compute(queue, expected));
    ek_queue_close(queue);
}

static void check_block(ek_queue *queue, float (*m)[N])
{
    block *host = malloc(sizeof *host);
    download(queue, host, m, sizeof *host);
    REQUIRE(!computes || memcmp(*host, expected, sizeof *host) == 0);
    free(host);
}

/* ---- what threads hand over */

/* Memory filled in one queue, to be read once the event is reached; or a queue with its work. */
typedef struct parcel {
    ek_event *event;
    ek_device *device;
    float (*memory)[N];
    ek_queue *queue; /* null: the receiver opens one */
} parcel;

static struct mailbox {
    pthread_mutex_t lock;
    parcel parcels[THREADS];
    int count;
} mailbox = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool post(const parcel *p)
{
    pthread_mutex_lock(&mailbox.lock);
    bool room = mailbox.count < THREADS;
    if (room)
        mailbox.parcels[mailbox.count++] = *p;
    pthread_mutex_unlock(&mailbox.lock);
    return room;
}

static bool collect(parcel *p)
{
    pthread_mutex_lock(&mailbox.lock);
    bool any = mailbox.count > 0;
    if (any)
        *p = mailbox.parcels[--mailbox.count];
    pthread_mutex_unlock(&mailbox.lock);
    return any;
}

static void open_parcel(const parcel *p)
{
    ek_queue *queue = p->queue;
    if (!queue)
        MUST(ek_queue_open(p->device, &queue));
    MUST(ek_event_wait(p->event, queue));
    check_block(queue, p->memory);
    MUST(ek_free(queue, p->memory));
    ek_event_close(p->event);
    ek_device_close(p->device);
    ek_queue_close(queue);
}

/* ---- a round of a thread */

static float (*fresh_block(ek_queue *queue))[N]
{
    void *memory;
    MUST(ek_alloc(queue, sizeof(block), &memory));
    upload(queue, memory, initial, sizeof initial);
    return memory;
}

static void record_and_run(ek_queue *queue, float (*m)[N])
{
    ek_program *program;
    ek_queue *other;
    ek_event *done;
    MUST(ek_record_begin(queue));
    MUST(compute(queue, m));
    MUST(ek_record_end(queue, &program));
    MUST(ek_program_run(queue, program));
    MUST(ek_event_open(ek_queue_device(queue), &done));
    MUST(ek_event_record(done, queue));
    MUST(ek_queue_open(ek_queue_device(queue), &other));
    MUST(ek_event_wait(done, other));
    MUST(ek_program_run(other, program));
    check_block(other, m);
    ek_event_close(done);
    ek_program_close(program);
    MUST(ek_queue_sync(other));
    ek_queue_close(other);
}

static void hand_over(ek_device *device, ek_queue *queue, float (*m)[N], bool with_queue)
{
    parcel p = {.device = device, .memory = m, .queue = with_queue ? queue : NULL};
    MUST(ek_event_open(device, &p.event));
    MUST(ek_event_record(p.event, queue));
    if (!post(&p)) {
        p.queue = with_queue ? queue : NULL;
        open_parcel(&p);
    }
    if (!with_queue)
        ek_queue_close(queue);
}

static void *live(void *number)
{
    unsigned seed = (unsigned)*(int *)number;
    for (int round = 0; round < ROUNDS; round++) {
        ek_device *device;
        ek_queue *queue;
        parcel p;
        MUST(ek_device_open(device_names[rand_r(&seed) % DEVICES], &device));
        MUST(ek_queue_open(device, &queue));
        float(*m)[N] = fresh_block(queue);
        if (rand_r(&seed) % 2)
            MUST(compute(queue, m));
        else
            record_and_run(queue, m);
        hand_over(device, queue, m, rand_r(&seed) % 2);
        if (collect(&p))
            open_parcel(&p);
    }
    return NULL;
}

START_TEST(threads_do_everything)
{
    parcel p;
    prepare();
    run_threads(THREADS, live);
    while (collect(&p))
        open_parcel(&p);
}
END_TEST

/* All threads want each device, its kernels and its libraries first at the same time. */
static pthread_barrier_t start;

static void *begin(void *number)
{
    pthread_barrier_wait(&start);
    ek_queue *queue = open_queue(device_names[*(int *)number % DEVICES]);
    float(*m)[N] = fresh_block(queue);
    MUST(compute(queue, m));
    check_block(queue, m);
    MUST(ek_free(queue, m));
    ek_queue_close(queue);
    return NULL;
}

START_TEST(threads_begin_together)
{
    prepare();
    pthread_barrier_init(&start, NULL, THREADS);
    run_threads(THREADS, begin);
    pthread_barrier_destroy(&start);
}
END_TEST

TCase *stress_case(void)
{
    TCase *stress = tcase_create("stress");
    tcase_set_timeout(stress, 300);
    tcase_add_test(stress, threads_begin_together);
    tcase_add_test(stress, threads_do_everything);
    return stress;
}
