/* Memory of GPUs: who reuses what, and when. On a driver of our own whose streams work as late as
 * their order allows; EK_TEST_DEVICE=cuda runs what needs no such driver on a GPU. */
#include "check_memory.h"

#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "counts.h"
#include "einkorn/event.h"
#include "fake.h"

bool on_gpu;

void hold_work(void)
{
    if (!on_gpu)
        fake.hold(1);
}

ek_memory_info memory_info(ek_queue *queue)
{
    ek_memory_info info;
    OK(ek_memory_stats(ek_queue_device(queue), &info));
    return info;
}

char *take(ek_queue *queue, size_t bytes)
{
    void *memory = NULL;
    OK(ek_alloc(queue, bytes, &memory));
    return memory;
}

void copy_in(ek_queue *queue, void *dst, const void *pinned, size_t bytes)
{
    OK(ek_queue_device(queue)->backend->transfer(queue, dst, 0, EK_DEVICE_CUDA, pinned, 0,
                                                 EK_DEVICE_CUDA_HOST, (int64_t)bytes, 1));
}

void copy_out(ek_queue *queue, void *pinned, const void *src, size_t bytes)
{
    OK(ek_queue_device(queue)->backend->transfer(queue, pinned, 0, EK_DEVICE_CUDA_HOST, src, 0,
                                                 EK_DEVICE_CUDA, (int64_t)bytes, 1));
}

char *pinned_bytes(ek_queue *queue, size_t bytes, int value)
{
    void *memory = NULL;
    OK(ek_pinned_alloc(ek_queue_device(queue), bytes, &memory));
    memset(memory, value, bytes);
    return memory;
}

int all_are(const char *memory, size_t bytes, int value)
{
    for (size_t i = 0; i < bytes; i++) {
        if (memory[i] != value)
            return 0;
    }
    return 1;
}

void follow(ek_queue *later, ek_queue *first)
{
    ek_event *event = NULL;
    OK(ek_event_open(ek_queue_device(first), &event));
    OK(ek_event_record(event, first));
    OK(ek_event_wait(event, later));
    ek_event_close(event);
}

int main(void)
{
    ek_counts counts = {0, 0, 0};
    const char *device = getenv("EK_TEST_DEVICE");
    on_gpu = device && strcmp(device, "cuda") == 0;
    if (on_gpu && ek_device_count(EK_DEVICE_CUDA) == 0) {
        counts.skipped = 1;
        return ek_end(&counts);
    }
    if (!on_gpu && !fake_open())
        return EXIT_FAILURE;
    if (on_gpu)
        setenv("CK_FORK", "no", 1); /* no child can use the driver that was asked above */
    Suite *suite = suite_create("memory");
    suite_add_tcase(suite, reuse_case());
    suite_add_tcase(suite, sharing_case());
    suite_add_tcase(suite, room_case());
    suite_add_tcase(suite, pinned_case());
    suite_add_tcase(suite, memory_threads_case());
    ek_run_suite(suite, &counts);
    return ek_end(&counts);
}
