#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "blas.h"
#include "command.h"
#include "einkorn/device.h"
#include "einkorn/queue.h"
#include "einkorn/version.h"
#include "error.h"
#include "json.h"

static const char help[] = "usage: einkorn info [--json]\n"
                           "\n"
                           "Tells the version, what was built, the devices and CPU variants\n"
                           "of this machine, how many threads a call may use, what\n"
                           "computes gemm on the CPU, and which options the environment\n"
                           "gives a queue.\n"
                           "\n"
                           "  --json      write JSON: version, build, devices, variants, threads,\n"
                           "              gemm, options\n"
                           "  -h, --help  show this text\n";

static const struct {
    const char *name;
    bool value;
} built[] = {
    {"cuda", EK_HAVE_CUDA},
    {"blas", EK_HAVE_BLAS},
    {"x86_variants", EK_HAVE_X86},
};

enum { BUILT = sizeof built / sizeof built[0] };

/* Calls `show` with every device of this machine; one that cannot be opened is left out. */
static void each_device(void (*show)(const ek_device *device, void *to), void *to)
{
    static const struct {
        ek_device_type type;
        const char *name;
    } types[] = {{EK_DEVICE_CPU, "cpu"}, {EK_DEVICE_CUDA, "cuda"}};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (int32_t i = 0; i < ek_device_count(types[t].type); i++) {
            char name[24];
            snprintf(name, sizeof name, i ? "%s:%d" : "%s", types[t].name, (int)i);
            ek_device *device;
            if (ek_device_open(name, &device) != EK_OK) {
                command_fail("info");
                continue;
            }
            show(device, to);
            ek_device_close(device);
        }
    }
}

static void write_device(const ek_device *device, void *to)
{
    json *out = to;
    json_object(out, NULL);
    json_string(out, "name", ek_device_name(device));
    json_string(out, "model", ek_device_model(device));
    json_end(out);
}

static void print_device(const ek_device *device, void *to)
{
    const char **label = to;
    printf("%-10s%-8s  %s\n", *label, ek_device_name(device), ek_device_model(device));
    *label = "";
}

static const struct {
    const char *name;
    uint32_t value;
} queue_options[] = {
    {"host_to_device", EK_HOST_TO_DEVICE},
    {"fallback", EK_FALLBACK},
    {"sync_each_call", EK_SYNC_EACH_CALL},
};

enum { QUEUE_OPTIONS = sizeof queue_options / sizeof queue_options[0] };

/* The options that the environment gives a queue. */
static ek_status read_options(uint32_t *options)
{
    ek_device *device;
    ek_queue *queue = NULL;
    EK_TRY(ek_device_open("cpu", &device));
    ek_status status = ek_queue_open(device, &queue);
    if (status == EK_OK)
        *options = ek_queue_options(queue);
    ek_queue_close(queue);
    ek_device_close(device);
    return status;
}

static void write_json(int threads, uint32_t options)
{
    json out = json_begin(stdout);
    json_string(&out, "version", EK_VERSION);
    json_object(&out, "build");
    for (int i = 0; i < BUILT; i++)
        json_bool(&out, built[i].name, built[i].value);
    json_string(&out, "compiler", __VERSION__);
    json_int(&out, "openmp", _OPENMP);
    json_end(&out);
    json_array(&out, "devices");
    each_device(write_device, &out);
    json_end(&out);
    json_array(&out, "variants");
    for (int v = 0; v < EK_VARIANTS; v++) {
        if (ek_variant_available((ek_variant)v))
            json_string(&out, NULL, ek_variant_name((ek_variant)v));
    }
    json_end(&out);
    json_int(&out, "threads", threads);
    json_object(&out, "gemm");
    if (blas_library())
        json_string(&out, "library", blas_library());
    json_bool(&out, "used", !blas_refusal());
    if (blas_refusal())
        json_string(&out, "refusal", blas_refusal());
    json_end(&out);
    json_object(&out, "options");
    for (int i = 0; i < QUEUE_OPTIONS; i++)
        json_bool(&out, queue_options[i].name, options & queue_options[i].value);
    json_end(&out);
    json_finish(&out);
}

static void print_table(int threads, uint32_t options)
{
    const char *label = "devices";
    printf("einkorn   %s\nbuild     ", EK_VERSION);
    for (int i = 0; i < BUILT; i++)
        printf("%s %s, ", built[i].name, built[i].value ? "yes" : "no");
    printf("compiler %s\n", __VERSION__);
    each_device(print_device, &label);
    printf("variants ");
    for (int v = 0; v < EK_VARIANTS; v++) {
        if (ek_variant_available((ek_variant)v))
            printf(" %s", ek_variant_name((ek_variant)v));
    }
    printf("\nthreads   %d\ngemm      ", threads);
    if (blas_refusal())
        printf("the exact kernels: %s%s", blas_refusal(), blas_library() ? ": " : "");
    printf("%s\noptions  ", blas_library() ? blas_library() : "");
    for (int i = 0; i < QUEUE_OPTIONS; i++)
        printf(" %s %s%s", queue_options[i].name, options & queue_options[i].value ? "on" : "off",
               i + 1 < QUEUE_OPTIONS ? "," : "\n");
}

int command_info(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {0}};
    bool as_json = false;
    for (int option; (option = command_option(argc, argv, ":h", options, help)) != -1;) {
        if (option == COMMAND_HELP)
            return COMMAND_OK;
        if (option == COMMAND_BAD)
            return COMMAND_MISUSED;
        as_json = true;
    }
    if (optind < argc)
        return command_misuse(argv[0], "argument '%s' is not needed", argv[optind]);
    int threads = omp_get_max_threads();
    uint32_t enabled;
    if (read_options(&enabled) != EK_OK)
        return command_fail("info");
    if (as_json)
        write_json(threads, enabled);
    else
        print_table(threads, enabled);
    return COMMAND_OK;
}
