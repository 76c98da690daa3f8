/* Trains a small multilayer perceptron on handwritten digits, out of library calls alone.
 *
 *   digits [--device cpu|cuda|cuda:N] [--cpu base|avx2|avx512] [--threads N] [--data FOLDER]
 *          [--epochs N] [--compare]
 *
 * The network is 64-128-64-10 with gelu between the layers, softmax and cross-entropy at the end,
 * and is trained with Adam. Every number in it is the same on every device: the hash of the trained
 * weights says so, and --compare runs each device and variant of this machine to show it. */
#include <einkorn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "data.h"
#include "network.h"

typedef struct options {
    const char *device, *cpu, *folder;
    int threads, epochs, compare;
} options;

typedef struct result {
    double accuracy, seconds;
    uint64_t hash;
} result;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void train(network *net, const digits_set *set, const options *options)
{
    enum { BATCH = 32 };
    const float first_rate = 3e-3f;
    int steps = options->epochs * ((set->count + BATCH - 1) / BATCH), step = 0;
    for (int epoch = 0; epoch < options->epochs; epoch++) {
        network_load(net, set, epoch);
        for (int at = 0; at < set->count; at += BATCH, step++) {
            int rows = set->count - at < BATCH ? set->count - at : BATCH;
            network_step(net, at, rows, first_rate * (float)(steps - step) / (float)steps);
        }
        if (isatty(STDERR_FILENO))
            fprintf(stderr, "\repoch %d of %d", epoch + 1, options->epochs);
    }
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
}

static result run(const options *options, const char *device_name, const char *cpu, int threads,
                  const digits_set *training, const digits_set *test)
{
    ek_device *device;
    ek_queue *queue;
    check(ek_device_open(device_name, &device));
    check(ek_queue_open(device, &queue));
    if (cpu) {
        ek_variant variant;
        check(ek_variant_parse(cpu, &variant));
        check(ek_queue_set_variant(queue, variant));
    }
    if (threads)
        check(ek_queue_set_threads(queue, threads));
    network *net =
        network_new(queue, training->count > test->count ? training->count : test->count);
    double start = now();
    train(net, training, options);
    check(ek_queue_sync(queue));
    result result = {.seconds = now() - start};
    result.accuracy = network_accuracy(net, test);
    result.hash = network_hash(net);
    printf("%-8s %-7s %2d thread%s  accuracy %.2f%%  %6.2f s  weights %016" PRIx64 "\n",
           ek_device_name(device), ek_variant_name((ek_variant)queue->variant),
           (int)ek_queue_threads(queue), ek_queue_threads(queue) == 1 ? " " : "s",
           100 * result.accuracy, result.seconds, result.hash);
    network_free(net);
    ek_queue_close(queue);
    ek_device_close(device);
    return result;
}

static int compare(const options *options, const digits_set *training, const digits_set *test)
{
    static const char *const variants[] = {"base", "avx2", "avx512"};
    uint64_t first = 0;
    int runs = 0, same = 1;
    for (int i = 0; i < 3; i++) {
        ek_variant variant;
        check(ek_variant_parse(variants[i], &variant));
        for (int threads = 1; threads <= 2 && ek_variant_available(variant); threads++) {
            result result = run(options, "cpu", variants[i], threads, training, test);
            first = runs++ ? first : result.hash;
            same &= result.hash == first;
        }
    }
    int gpus = ek_device_count(EK_DEVICE_CUDA);
    if (gpus > 0)
        same &= run(options, "cuda", NULL, 0, training, test).hash == first;
    printf("%s: %d CPU runs%s\n", same ? "the same weights, bit for bit" : "THE WEIGHTS DIFFER",
           runs, gpus > 0 ? " and CUDA" : "; this machine has no CUDA device");
    return !same;
}

static int usage(void)
{
    fprintf(stderr, "usage: digits [--device NAME] [--cpu VARIANT] [--threads N] [--data FOLDER] "
                    "[--epochs N] [--compare]\n");
    return 2;
}

int main(int argc, char **argv)
{
    options options = {.device = "cpu", .folder = ".", .epochs = 30};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--compare") == 0) {
            options.compare = 1;
            continue;
        }
        if (!value)
            return usage();
        if (strcmp(argv[i], "--device") == 0)
            options.device = value;
        else if (strcmp(argv[i], "--cpu") == 0)
            options.cpu = value;
        else if (strcmp(argv[i], "--data") == 0)
            options.folder = value;
        else if (strcmp(argv[i], "--threads") == 0 && atoi(value) > 0)
            options.threads = atoi(value);
        else if (strcmp(argv[i], "--epochs") == 0 && atoi(value) > 0)
            options.epochs = atoi(value);
        else
            return usage();
        i++;
    }
    digits_set training, test;
    if (!digits_read(options.folder, "digits.train.txt", &training) ||
        !digits_read(options.folder, "digits.test.txt", &test))
        return 1;
    int failed = 0;
    if (options.compare)
        failed = compare(&options, &training, &test);
    else
        run(&options, options.device, options.cpu, options.threads, &training, &test);
    digits_free(&training);
    digits_free(&test);
    return failed;
}
