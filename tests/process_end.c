/* The end of a process that uses the library, in its several ways. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "einkorn/event.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"
#include "einkorn/program.h"
#include "plugin.h"
#include "process.h"

static struct {
    ek_queue *queue;
    ek_event *event;
    ek_program *program;
    void *memory, *more;
} late;

/* The driver may have left by now, with all that is freed here. It does not matter, and is no
 * failure. */
static void free_late(void)
{
    if (ek_free(late.queue, late.memory) != EK_OK) {
        fprintf(stderr, "ek_free: %s\n", ek_error_message());
        _Exit(1);
    }
    ek_free(late.queue, late.more);
    ek_program_close(late.program);
    ek_event_close(late.event);
    ek_queue_close(late.queue);
    printf("freed\n");
}

/* O010 */
int end_frees_late(const char *device)
{
    REQUIRE(atexit(free_late) == 0);
    late.queue = open_queue(device);
    MUST(ek_event_open(ek_queue_device(late.queue), &late.event));
    MUST(ek_alloc(late.queue, 4096, &late.memory));
    MUST(ek_alloc(late.queue, 64 << 20, &late.more));
    MUST(ek_record_begin(late.queue));
    MUST(ek_add_f32(late.queue, 4, late.memory, late.memory, late.memory));
    MUST(ek_record_end(late.queue, &late.program));
    MUST(ek_program_run(late.queue, late.program));
    MUST(ek_event_record(late.event, late.queue));
    return 0;
}

/* O016: nothing is closed. */
int end_returns(const char *device)
{
    printf("%g\n", (double)plugin_product(device));
    return 0;
}

static void *leave(void *context)
{
    (void)context;
    exit(0);
}

/* O016: exit in another thread than the one that computed. */
int end_in_thread(const char *device)
{
    pthread_t thread;
    printf("%g\n", (double)plugin_product(device));
    REQUIRE(pthread_create(&thread, NULL, leave, NULL) == 0);
    pthread_join(thread, NULL);
    return 1;
}

static void leave_at_once(void)
{
    fflush(NULL);
    _Exit(0);
}

/* O016: no handler after ours runs. */
int end_at_once(const char *device)
{
    REQUIRE(atexit(leave_at_once) == 0);
    printf("%g\n", (double)plugin_product(device));
    return 1;
}
