/* The library's own tool, and the way to see it from outside. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "einkorn/version.h"

static const struct {
    const char *name;
    const char *brief;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"info", "version, build options, devices, variants, threads", command_info},
    {"ops", "the operations: kind, dtypes, variants, accuracy", command_ops},
    {"run", "apply an operation to NumPy files", command_run},
    {"verify", "compare variants and devices bit for bit, measure errors", command_verify},
    {"bench", "time operations beside this machine's limits", command_bench},
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_help(void)
{
    printf("usage: einkorn COMMAND [OPTION]... [ARGUMENT]...\n\n"
           "Array kernels for CPU and CUDA: one definition, every device, the same bits.\n\n");
    for (int i = 0; i < COMMANDS; i++)
        printf("  %-8s  %s\n", commands[i].name, commands[i].brief);
    printf("\neinkorn COMMAND --help describes one; einkorn --version tells the version.\n"
           "Exit status: 0 if all held, 1 if something failed, 2 if the command line is wrong.\n");
}

/* A result that could not be written is a failure too. */
static int finish(const char *name, int status)
{
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == COMMAND_OK) {
        fprintf(stderr, "einkorn %s: standard output: cannot be written\n", name);
        return COMMAND_FAILED;
    }
    return status;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        fprintf(stderr, "einkorn: no command given; see einkorn --help\n");
        return COMMAND_MISUSED;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help();
        return finish("help", COMMAND_OK);
    }
    if (strcmp(name, "--version") == 0) {
        printf("einkorn %s\n", EK_VERSION);
        return finish("--version", COMMAND_OK);
    }
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(name, commands[i].name) == 0)
            return finish(name, commands[i].run(argc - 1, argv + 1));
    }
    fprintf(stderr, "einkorn: unknown command '%s'; see einkorn --help\n", name);
    return COMMAND_MISUSED;
}
