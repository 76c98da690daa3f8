/* The runtime: devices, queues, memory, arrays, copies, errors, and what the library must not
 * touch. */
#include "check_runtime.h"

#include "counts.h"

ek_device *ek_cpu;
ek_queue *ek_cpu_queue;

void ek_open_cpu(void)
{
    EK_MUST(ek_device_open("cpu", &ek_cpu));
    EK_MUST(ek_queue_open(ek_cpu, &ek_cpu_queue));
}

void ek_close_cpu(void)
{
    ek_queue_close(ek_cpu_queue);
    ek_device_close(ek_cpu);
}

int main(void)
{
    ek_counts counts = {0, 0, 0};
    Suite *suite = suite_create("runtime");
    suite_add_tcase(suite, ek_harness_case());
    suite_add_tcase(suite, ek_device_case());
    suite_add_tcase(suite, ek_queue_case());
    suite_add_tcase(suite, ek_memory_case());
    suite_add_tcase(suite, ek_array_case());
    suite_add_tcase(suite, ek_broadcast_case());
    suite_add_tcase(suite, ek_overlap_case());
    suite_add_tcase(suite, ek_copy_case());
    suite_add_tcase(suite, ek_tiles_case());
    suite_add_tcase(suite, ek_dlpack_case());
    suite_add_tcase(suite, ek_environment_case());
    ek_run_suite(suite, &counts);
    return ek_end(&counts);
}
