#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "einkorn/device.h"
#include "einkorn/version.h"
#include "json.h"

static const char help[] = "usage: einkorn info [--json]\n"
                           "\n"
                           "Tells the version, what was built, the devices and CPU variants\n"
                           "of this machine, and how many threads a call may use.\n"
                           "\n"
                           "  --json      write JSON: version, build, devices, variants, threads\n"
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

static void write_json(int threads)
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
    json_finish(&out);
}

static void print_table(int threads)
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
    printf("\nthreads   %d\n", threads);
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
    if (as_json)
        write_json(threads);
    else
        print_table(threads);
    return COMMAND_OK;
}
