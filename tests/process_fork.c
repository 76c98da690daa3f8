/* Forks of a process that uses the library. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "einkorn/array.h"
#include "einkorn/event.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"
#include "einkorn/ops/gemm.h"
#include "einkorn/program.h"
#include "process.h"

/* Beyond what OpenBLAS and OpenMP do in one thread, and what O007 names. */
enum { SMALL_SIDE = 64, LARGE_SIDE = 300 };

/* ---- the child computes on the CPU */

typedef struct computing {
    ek_queue *queue;
    ek_program *product; /* writes to c */
    double *c;
} computing;

static bool everything_is_right(ek_queue *queue)
{
    return product_is_right(queue, SMALL_SIDE) && product_is_right(queue, LARGE_SIDE) &&
           sum_is_right(queue);
}

static void *compute_in_thread(void *right)
{
    ek_queue *queue = open_queue("cpu");
    *(bool *)right = everything_is_right(queue);
    ek_queue_close(queue);
    return NULL;
}

static bool program_is_right(const computing *c)
{
    memset(c->c, 0, LARGE_SIDE * LARGE_SIDE * sizeof *c->c);
    if (ek_program_run(c->queue, c->product) != EK_OK)
        return false;
    for (int i = 0; i < LARGE_SIDE * LARGE_SIDE; i++) {
        if (c->c[i] != LARGE_SIDE)
            return false;
    }
    return true;
}

/* In the parent's queue, in one of its own, and in another thread. */
static int compute_in_child(void *context)
{
    computing *c = context;
    bool right = false;
    pthread_t thread;
    REQUIRE(everything_is_right(c->queue));
    REQUIRE(program_is_right(c));
    compute_in_thread(&right);
    REQUIRE(right);
    REQUIRE(pthread_create(&thread, NULL, compute_in_thread, &right) == 0);
    pthread_join(thread, NULL);
    REQUIRE(right);
    ek_program_close(c->product);
    ek_queue_close(c->queue);
    return 0;
}

static void record_product(computing *c)
{
    enum { COUNT = LARGE_SIDE * LARGE_SIDE };
    static double ones[COUNT], result[COUNT];
    ek_gemm_shape shape = ek_gemm_plain_shape(LARGE_SIDE, LARGE_SIDE, LARGE_SIDE);
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    c->c = result;
    MUST(ek_record_begin(c->queue));
    MUST(ek_gemm_f64(c->queue, &shape, 1, ones, ones, 0, result));
    MUST(ek_record_end(c->queue, &c->product));
}

/* O007 */
int fork_computes(const char *device)
{
    computing c = {.queue = open_queue("cpu")};
    ek_queue *other = open_queue(device);
    MUST(ek_queue_set_threads(c.queue, 4));
    record_product(&c);
    REQUIRE(everything_is_right(c.queue) && program_is_right(&c));
    REQUIRE(child_succeeds(compute_in_child, &c));
    REQUIRE(everything_is_right(c.queue) && program_is_right(&c));
    ek_program_close(c.product);
    ek_queue_close(c.queue);
    ek_queue_close(other);
    return 0;
}

/* ---- CUDA in the child */

typedef struct held {
    ek_device *device;
    ek_queue *queue;
    ek_event *event;
    ek_program *program;
    float *x;
} held;

static void refused(ek_status status)
{
    REQUIRE(status == EK_NO_DEVICE);
    REQUIRE(strstr(ek_error_message(), "forked") != NULL);
}

static int be_refused(void *context)
{
    held *h = context;
    float host[4] = {1, 1, 1, 1};
    int64_t shape[] = {4};
    int reached;
    void *memory = NULL;
    ek_device *device = NULL;
    ek_queue *queue = NULL, *cpu = open_queue("cpu");
    ek_event *event = NULL;
    ek_array there = ek_array_view(h->x, EK_F32, h->device, 1, shape);
    ek_array here = ek_array_view(host, EK_F32, ek_queue_device(cpu), 1, shape);
    MUST(ek_add_f32(cpu, 4, host, host, host));
    REQUIRE(host[0] == 2);
    refused(ek_add_f32(h->queue, 4, h->x, h->x, h->x));
    refused(ek_alloc(h->queue, 1 << 30, &memory));
    refused(ek_event_record(h->event, h->queue));
    refused(ek_event_wait(h->event, h->queue));
    refused(ek_event_query(h->event, &reached));
    refused(ek_event_sync(h->event));
    refused(ek_copy(h->queue, &there, &here));
    refused(ek_program_run(h->queue, h->program));
    refused(ek_record_begin(h->queue));
    refused(ek_queue_sync(h->queue));
    refused(ek_queue_open(h->device, &queue));
    refused(ek_event_open(h->device, &event));
    refused(ek_device_open("cuda", &device));
    REQUIRE(ek_device_count(EK_DEVICE_CUDA) == 0 && !ek_variant_available(EK_CUDA));
    ek_program_close(h->program);
    ek_event_close(h->event);
    ek_queue_close(h->queue);
    ek_device_close(h->device);
    ek_queue_close(cpu);
    return 0;
}

static void use(const held *h)
{
    MUST(ek_add_f32(h->queue, 4, h->x, h->x, h->x));
    MUST(ek_program_run(h->queue, h->program));
    MUST(ek_event_record(h->event, h->queue));
    MUST(ek_event_sync(h->event));
    MUST(ek_queue_sync(h->queue));
}

/* O013 */
int fork_refuses(const char *device)
{
    held h = {0};
    MUST(ek_device_open(device, &h.device));
    MUST(ek_queue_open(h.device, &h.queue));
    MUST(ek_event_open(h.device, &h.event));
    MUST(ek_alloc(h.queue, 4 * sizeof *h.x, (void **)&h.x));
    MUST(ek_record_begin(h.queue));
    MUST(ek_add_f32(h.queue, 4, h.x, h.x, h.x));
    MUST(ek_record_end(h.queue, &h.program));
    use(&h);
    for (int i = 0; i < 3; i++) {
        REQUIRE(child_succeeds(be_refused, &h));
        use(&h);
    }
    MUST(ek_free(h.queue, h.x));
    ek_program_close(h.program);
    ek_event_close(h.event);
    ek_queue_close(h.queue);
    ek_device_close(h.device);
    return 0;
}

/* ---- the parent goes on */

static int just_leave(void *context)
{
    (void)context;
    return 0;
}

/* O014 */
int fork_before_threads(const char *device)
{
    enum { N = 200 };
    static double identity[N * N], c[N * N];
    ek_gemm_shape shape = ek_gemm_plain_shape(N, N, N);
    ek_queue *other = open_queue(device), *queue = open_queue("cpu");
    for (int i = 0; i < N; i++)
        identity[i * N + i] = 1;
    REQUIRE(child_succeeds(just_leave, NULL));
    MUST(ek_queue_set_threads(queue, 4));
    MUST(ek_gemm_f64(queue, &shape, 1, identity, identity, 0, c));
    REQUIRE(memcmp(identity, c, sizeof c) == 0);
    REQUIRE(sum_is_right(queue));
    ek_queue_close(queue);
    ek_queue_close(other);
    return 0;
}

static void *fork_and_exec(void *context)
{
    enum { TIMES = 50 };
    (void)context;
    for (int i = 0; i < TIMES; i++) {
        pid_t child = fork();
        int status = -1;
        if (child == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(1);
        }
        REQUIRE(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
    return NULL;
}

/* O011 */
int fork_beside_products(const char *device)
{
    enum { FORKS = 2, N = 128 };
    pthread_t threads[FORKS];
    ek_queue *other = open_queue(device), *queue = open_queue("cpu");
    MUST(ek_queue_set_threads(queue, 2));
    for (int i = 0; i < FORKS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, fork_and_exec, NULL) == 0);
    for (int i = 0; i < 100; i++)
        REQUIRE(product_is_right(queue, N));
    for (int i = 0; i < FORKS; i++)
        pthread_join(threads[i], NULL);
    ek_queue_close(queue);
    ek_queue_close(other);
    return 0;
}

/* ---- forks at any moment of what other threads do */

static atomic_bool stop;
static atomic_int opened;

static void *open_and_close(void *device)
{
    for (bool first = true; !stop; first = false) {
        ek_queue *queue = open_queue(device);
        void *memory;
        MUST(ek_alloc(queue, 1000, &memory));
        MUST(ek_free(queue, memory));
        ek_queue_close(queue);
        opened += first;
    }
    return NULL;
}

static int open_in_child(void *context)
{
    (void)context;
    ek_queue *queue = open_queue("cpu");
    void *memory;
    MUST(ek_alloc(queue, 1000, &memory));
    MUST(ek_free(queue, memory));
    REQUIRE(product_is_right(queue, SMALL_SIDE));
    ek_queue_close(queue);
    return 0;
}

/* No lock of the library that a thread held at a fork keeps the child waiting. Each thread has used
 * OpenMP before: LLVM's cannot be forked while it meets a thread for the first time. */
int fork_beside_opening(const char *device)
{
    enum { THREADS = 3, FORKS = 60 };
    const char *devices[THREADS] = {"cpu", device, device};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, open_and_close, (void *)devices[i]) == 0);
    while (opened < THREADS)
        sched_yield();
    for (int i = 0; i < FORKS; i++)
        REQUIRE(child_succeeds(open_in_child, NULL));
    stop = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
