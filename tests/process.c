/* usage: process SCENARIO DEVICE
 *        process plugin FILE DEVICE
 *
 * `plugin` opens a shared object that has the library in it (process_plugin.c), computes there,
 * closes the object, forks, and returns. */
#include "process.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "einkorn/ops/gemm.h"
#include "einkorn/ops/sum.h"

static const struct {
    const char *name;
    scenario_fn *run;
} scenarios[] = {
    {"fork-computes", fork_computes},
    {"fork-refuses", fork_refuses},
    {"fork-before-threads", fork_before_threads},
    {"fork-beside-products", fork_beside_products},
    {"fork-beside-opening", fork_beside_opening},
    {"end-frees-late", end_frees_late},
    {"end-returns", end_returns},
    {"end-in-thread", end_in_thread},
    {"end-at-once", end_at_once},
};

enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

bool product_is_right(ek_queue *queue, int n)
{
    size_t count = (size_t)n * (size_t)n;
    double *ones = calloc(count, sizeof *ones), *c = calloc(count, sizeof *c);
    ek_gemm_shape shape = ek_gemm_plain_shape(n, n, n);
    for (size_t i = 0; i < count; i++)
        ones[i] = 1;
    bool right = ek_gemm_f64(queue, &shape, 1, ones, ones, 0, c) == EK_OK;
    for (size_t i = 0; i < count && right; i++)
        right = c[i] == n;
    free(ones);
    free(c);
    return right;
}

bool sum_is_right(ek_queue *queue)
{
    enum { N = 1 << 22 };
    float *ones = calloc(N, sizeof *ones), sum = 0;
    for (int i = 0; i < N; i++)
        ones[i] = 1;
    bool right = ek_sum_f32(queue, 1, N, 1, ones, &sum) == EK_OK && sum == N;
    free(ones);
    return right;
}

bool child_succeeds(int (*work)(void *context), void *context)
{
    enum { PATIENCE = 10 };
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        alarm(PATIENCE);
        exit(work(context));
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int return_zero(void *context)
{
    (void)context;
    return 0;
}

static int run_plugin(const char *file, const char *device)
{
    void *plugin = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    float (*product)(const char *device) = NULL;
    if (plugin)
        *(void **)&product = dlsym(plugin, "plugin_product");
    if (!product) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    printf("%g\n", (double)product(device));
    dlclose(plugin);
    REQUIRE(child_succeeds(return_zero, NULL));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "plugin") == 0)
        return run_plugin(argv[2], argv[3]);
    for (int i = 0; argc == 3 && i < SCENARIOS; i++) {
        if (strcmp(argv[1], scenarios[i].name) == 0)
            return scenarios[i].run(argv[2]);
    }
    fprintf(stderr, "usage: process SCENARIO cpu|cuda\n");
    return 2;
}
