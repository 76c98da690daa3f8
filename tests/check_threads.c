/* Devices, queues and memory in many threads. usage: check_threads [fake]
 *
 * On the CPU; on the GPU if EK_TEST_DEVICE=cuda; or on two GPUs of the fake driver, whose kernels
 * do not compute. Under ThreadSanitizer set OMP_NUM_THREADS=1, since gcc's OpenMP synchronizes in
 * ways that it does not see. */
#include "check_threads.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "einkorn/array.h"

enum { MAX_THREADS = 32, TESTS = 20 };

const char *device_names[DEVICES] = {"cpu", "cpu"};
bool computes = true;

void run_threads(int count, void *(*work)(void *number))
{
    static int numbers[MAX_THREADS];
    pthread_t threads[MAX_THREADS];
    for (int i = 0; i < count; i++) {
        numbers[i] = i;
        REQUIRE(pthread_create(&threads[i], NULL, work, &numbers[i]) == 0);
    }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void copy(ek_queue *queue, void *dst, bool dst_on_host, void *src, size_t bytes)
{
    ek_device *cpu;
    int64_t length = (int64_t)bytes;
    MUST(ek_device_open("cpu", &cpu));
    const ek_device *there = ek_queue_device(queue);
    ek_array to = ek_array_view(dst, EK_U8, dst_on_host ? cpu : there, 1, &length);
    ek_array from = ek_array_view(src, EK_U8, dst_on_host ? there : cpu, 1, &length);
    MUST(ek_copy(queue, &to, &from));
    MUST(ek_queue_sync(queue));
    ek_device_close(cpu);
}

void upload(ek_queue *queue, void *device, const void *host, size_t bytes)
{
    copy(queue, device, false, (void *)host, bytes);
}

void download(ek_queue *queue, void *host, const void *device, size_t bytes)
{
    copy(queue, host, true, (void *)device, bytes);
}

/* The fake driver and its cuBLAS; the library's own dlopen then finds them. */
static bool open_fake(void)
{
    static const char *const files[] = {"tests/fake_cuda/libcuda.so.1",
                                        "tests/fake_cuda/libcublas.so"};
    for (int i = 0; i < 2; i++) {
        if (!dlopen(files[i], RTLD_NOW | RTLD_LOCAL)) {
            fprintf(stderr, "%s (run it in the build folder)\n", dlerror());
            return false;
        }
    }
    device_names[0] = "cuda:0";
    device_names[1] = "cuda:1";
    computes = false;
    return true;
}

int main(int argc, char **argv)
{
    ek_counts counts = {0, 0, 0};
    const char *wanted = getenv("EK_TEST_DEVICE");
    if (argc > 1 && strcmp(argv[1], "fake") == 0) {
        if (!open_fake())
            return EXIT_FAILURE;
    } else if (wanted && strcmp(wanted, "cuda") == 0) {
        device_names[0] = device_names[1] = "cuda:0";
        setenv("CK_FORK", "no", 1); /* CUDA is used below, and then works in no child */
        if (ek_device_count(EK_DEVICE_CUDA) > 1)
            device_names[1] = "cuda:1";
        if (ek_device_count(EK_DEVICE_CUDA) == 0) {
            counts.skipped = TESTS;
            return ek_end(&counts);
        }
    }
    Suite *suite = suite_create("threads");
    suite_add_tcase(suite, stress_case());
    suite_add_tcase(suite, sharing_case());
    suite_add_tcase(suite, blas_case());
#if EK_HAVE_CUDA
    if (strcmp(device_names[0], "cpu") != 0)
        suite_add_tcase(suite, streams_case());
#endif
    ek_run_suite(suite, &counts);
    return ek_end(&counts);
}
