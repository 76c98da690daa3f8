/* What memory, events, queues, programs and copies ask of the driver, on device 1. Each call is
 * beside what makes it ready and what cleans up behind it. */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "driver_table.h"
#include "einkorn/array.h"
#include "einkorn/event.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"
#include "einkorn/program.h"
#include "fake.h"

#define OK(call) ck_assert_msg((call) == EK_OK, "%s: %s", #call, ek_error_message())

enum { SMALL = 4096, LARGE = 64 << 20, ROOM = 16 << 20 };

typedef struct scene {
    ek_queue *queue, *beside; /* of device 1 */
    ek_device *device;
    CUstream stream; /* an application's */
    void *memory, *used;
    ek_event *start, *end;
    ek_program *program;
    ek_queue *opened;
    ek_array dst, src; /* of a copy */
} scene;

/* ---- memory */

static void alloc_small(void *of)
{
    scene *s = of;
    OK(ek_alloc(s->queue, SMALL, &s->memory));
}

static void alloc_large(void *of)
{
    scene *s = of;
    OK(ek_alloc(s->queue, LARGE, &s->memory));
}

static void alloc_pinned(void *of)
{
    scene *s = of;
    OK(ek_pinned_alloc(s->device, SMALL, &s->memory));
}

static void use_small(void *of)
{
    scene *s = of;
    alloc_small(s);
    OK(ek_memory_use(s->beside, s->memory));
}

static void use_pinned(void *of)
{
    scene *s = of;
    alloc_pinned(s);
    OK(ek_memory_use(s->queue, s->memory));
}

static void use(void *of)
{
    scene *s = of;
    OK(ek_memory_use(s->beside, s->memory));
}

static void free_memory(void *of)
{
    scene *s = of;
    OK(ek_free(s->queue, s->memory));
}

static void free_pinned(void *of)
{
    scene *s = of;
    OK(ek_pinned_free(s->device, s->memory));
}

static void ask_memory(void *of)
{
    scene *s = of;
    ek_memory_info info;
    OK(ek_memory_stats(s->device, &info));
}

static void trim(void *of)
{
    scene *s = of;
    OK(ek_memory_trim(s->device, SIZE_MAX));
}

/* ---- events */

static void open_event(void *of)
{
    scene *s = of;
    OK(ek_event_open(s->device, &s->start));
}

static void close_event(void *of)
{
    scene *s = of;
    ek_event_close(s->start);
}

static void record(void *of)
{
    scene *s = of;
    OK(ek_event_record(s->start, s->queue));
}

static void open_recorded(void *of)
{
    open_event(of);
    record(of);
}

static void wait(void *of)
{
    scene *s = of;
    OK(ek_event_wait(s->start, s->beside));
}

static void sync_event(void *of)
{
    scene *s = of;
    OK(ek_event_sync(s->start));
}

static void query(void *of)
{
    scene *s = of;
    int reached;
    OK(ek_event_query(s->start, &reached));
}

static void elapsed(void *of)
{
    scene *s = of;
    double nanoseconds;
    OK(ek_event_elapsed(s->start, s->start, &nanoseconds));
}

/* ---- queues */

static void open_queue(void *of)
{
    scene *s = of;
    OK(ek_queue_open(s->device, &s->opened));
}

static void wrap(void *of)
{
    scene *s = of;
    OK(ek_queue_wrap_stream(s->device, s->stream, &s->opened));
}

static void close_queue(void *of)
{
    scene *s = of;
    ek_queue_close(s->opened);
}

static void sync_queue(void *of)
{
    scene *s = of;
    OK(ek_queue_sync(s->queue));
}

static void wait_stream(void *of)
{
    scene *s = of;
    OK(ek_queue_wait_stream(s->queue, s->stream));
}

static void signal_stream(void *of)
{
    scene *s = of;
    OK(ek_queue_signal_stream(s->queue, s->stream));
}

/* ---- programs */

static void begin(void *of)
{
    scene *s = of;
    OK(ek_record_begin(s->queue));
}

static void begin_with_a_call(void *of)
{
    scene *s = of;
    float *x = s->used;
    begin(s);
    OK(ek_add_f32(s->queue, 8, x, x, x));
}

static void end(void *of)
{
    scene *s = of;
    OK(ek_record_end(s->queue, &s->program));
}

static void make_program(void *of)
{
    begin_with_a_call(of);
    end(of);
}

static void run(void *of)
{
    scene *s = of;
    OK(ek_program_run(s->queue, s->program));
}

static void close_program(void *of)
{
    scene *s = of;
    ek_program_close(s->program);
}

static void end_and_close(void *of)
{
    end(of);
    close_program(of);
}

static const struct {
    const char *kind, *name;
    void (*before)(void *scene), (*call)(void *scene), (*after)(void *scene);
} calls[] = {
    {"memory", "ek_alloc of what is kept", NULL, alloc_small, free_memory},
    {"memory", "ek_alloc of 64 MB", NULL, alloc_large, free_memory},
    {"memory", "ek_free", alloc_small, free_memory, NULL},
    {"memory", "ek_free of 64 MB", alloc_large, free_memory, NULL},
    {"memory", "ek_free of what two queues used", use_small, free_memory, NULL},
    {"memory", "ek_memory_use", alloc_small, use, free_memory},
    {"memory", "ek_pinned_alloc of what is kept", NULL, alloc_pinned, free_pinned},
    {"memory", "ek_pinned_free", alloc_pinned, free_pinned, NULL},
    {"memory", "ek_pinned_free of what a queue used", use_pinned, free_pinned, sync_queue},
    {"memory", "ek_memory_stats", NULL, ask_memory, NULL},
    {"memory", "ek_memory_trim with two queues", NULL, trim, NULL},
    {"event", "ek_event_open", NULL, open_event, close_event},
    {"event", "ek_event_record", open_event, record, close_event},
    {"event", "ek_event_wait", open_recorded, wait, close_event},
    {"event", "ek_event_sync", open_recorded, sync_event, close_event},
    {"event", "ek_event_query", open_recorded, query, close_event},
    {"event", "ek_event_elapsed", open_recorded, elapsed, close_event},
    {"event", "ek_event_close", open_recorded, close_event, NULL},
    {"queue", "ek_queue_open", NULL, open_queue, close_queue},
    {"queue", "ek_queue_close", open_queue, close_queue, NULL},
    {"queue", "ek_queue_wrap_stream", NULL, wrap, close_queue},
    {"queue", "ek_queue_close of a stream", wrap, close_queue, NULL},
    {"queue", "ek_queue_sync", NULL, sync_queue, NULL},
    {"queue", "ek_queue_wait_stream", NULL, wait_stream, NULL},
    {"queue", "ek_queue_signal_stream", NULL, signal_stream, NULL},
    {"program", "ek_record_begin", NULL, begin, end_and_close},
    {"program", "ek_record_end", begin_with_a_call, end, close_program},
    {"program", "ek_program_run", make_program, run, close_program},
    {"program", "ek_program_close", make_program, close_program, NULL},
};

/* ---- copies */

/* Of one side, the host's if it is one of the two. The other is in C order. What passes through
 * staging memory fills whole slots, so that each call finds them as the one before did. */
static const struct {
    const char *name;
    int64_t shape[2], step[2];
} forms[] = {
    {"400 bytes", {1, 100}, {100, 1}},
    {"8 MB", {1, 2 << 20}, {2 << 20, 1}},
    {"rows with gaps", {128, 8192}, {16384, 1}},
    {"every other element", {1, 1 << 20}, {2 << 20, 2}},
};

enum { FORMS = sizeof forms / sizeof forms[0] };

typedef enum place { HERE, THERE, PAGEABLE, PINNED, PLACES } place;

static const struct {
    const char *kind;
    place dst, src;
    bool dst_formed, relayed;
} routes[] = {
    {"copy on the device", HERE, HERE, false, false},
    {"copy from pageable memory", HERE, PAGEABLE, false, false},
    {"copy from pinned memory", HERE, PINNED, false, false},
    {"copy to pageable memory", PAGEABLE, HERE, true, false},
    {"copy to pinned memory", PINNED, HERE, true, false},
    {"copy from a peer", HERE, THERE, false, false},
    {"copy to a peer", THERE, HERE, true, false},
    {"copy from a device out of reach", HERE, THERE, false, true},
    {"copy to a device out of reach", THERE, HERE, true, true},
};

enum { ROUTES = sizeof routes / sizeof routes[0] };

static void copy(void *of)
{
    scene *s = of;
    OK(ek_copy(s->queue, &s->dst, &s->src));
}

static void count_copies(ek_driver_table *table, scene *s, int route, char *const *memory,
                         ek_device *const *devices)
{
    for (int i = 0; i < FORMS; i++) {
        int64_t shape[] = {forms[i].shape[0], forms[i].shape[1]};
        int64_t step[] = {forms[i].step[0], forms[i].step[1]};
        place dst = routes[route].dst, src = routes[route].src;
        char *from = memory[src] + (src == dst ? ROOM / 2 : 0);
        s->dst = ek_array_view(memory[dst], EK_F32, devices[dst], 2, shape);
        s->src = ek_array_view(from, EK_F32, devices[src], 2, shape);
        *(routes[route].dst_formed ? &s->dst.strides : &s->src.strides) = step;
        if (src == PINNED)
            s->src.device.type = EK_DEVICE_CUDA_HOST;
        if (dst == PINNED)
            s->dst.device.type = EK_DEVICE_CUDA_HOST;
        ek_driver_count(table, routes[route].kind, forms[i].name, NULL, copy, sync_queue, s);
    }
}

/* ---- all of them */

static void open_scene(scene *s)
{
    *s = (scene){.queue = fake_queue("cuda:1"), .beside = fake_queue("cuda:1")};
    s->device = ek_queue_device(s->queue);
    s->stream = fake_stream(1);
    s->used = fake_floats(s->queue, 8);
    OK(ek_queue_set_threads(s->queue, 1));
}

static void close_scene(scene *s)
{
    OK(ek_free(s->queue, s->used));
    ek_queue_close(s->queue);
    ek_queue_close(s->beside);
    fake.stream_destroy(s->stream);
}

static void count_routes(ek_driver_table *table, bool relayed)
{
    scene s;
    ek_queue *far = fake_queue("cuda:0");
    ek_device *cpu = NULL;
    char *memory[PLACES];
    OK(ek_device_open("cpu", &cpu));
    setenv("EK_FAKE_PEERS", relayed ? "no" : "yes", 1);
    open_scene(&s);
    memory[HERE] = (char *)fake_floats(s.queue, ROOM / sizeof(float));
    memory[THERE] = (char *)fake_floats(far, ROOM / sizeof(float));
    memory[PAGEABLE] = calloc(1, ROOM);
    ck_assert_ptr_nonnull(memory[PAGEABLE]);
    OK(ek_pinned_alloc(s.device, ROOM, (void **)&memory[PINNED]));
    ek_device *devices[PLACES] = {s.device, ek_queue_device(far), cpu, cpu};
    for (int route = 0; route < ROUTES; route++) {
        if (routes[route].relayed == relayed)
            count_copies(table, &s, route, memory, devices);
    }
    OK(ek_pinned_free(s.device, memory[PINNED]));
    free(memory[PAGEABLE]);
    OK(ek_free(far, memory[THERE]));
    OK(ek_free(s.queue, memory[HERE]));
    close_scene(&s);
    ek_queue_close(far);
    ek_device_close(cpu);
}

void ek_count_runtime(ek_driver_table *table)
{
    scene s;
    open_scene(&s);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        ek_driver_count(table, calls[i].kind, calls[i].name, calls[i].before, calls[i].call,
                        calls[i].after, &s);
    close_scene(&s);
    count_routes(table, false);
    count_routes(table, true);
}
