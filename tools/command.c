#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "einkorn/status.h"
#include "error.h"

int command_option(int argc, char **argv, const char *letters, const struct option *options,
                   const char *help)
{
    opterr = 0;
    int option = getopt_long(argc, argv, letters, options, NULL);
    const char *given = optind > 0 ? argv[optind - 1] : "";
    switch (option) {
    case 'h':
        fputs(help, stdout);
        return COMMAND_HELP;
    case ':':
        command_misuse(argv[0], "option '%s' needs a value", given);
        return COMMAND_BAD;
    case '?':
        if (optopt && strncmp(given, "--", 2) != 0)
            command_misuse(argv[0], "unknown option '-%c'", optopt);
        else
            command_misuse(argv[0], "unknown option '%s'", given);
        return COMMAND_BAD;
    default:
        return option;
    }
}

int command_misuse(const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "einkorn %s: ", command);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "; see einkorn %s --help\n", command);
    va_end(arguments);
    return COMMAND_MISUSED;
}

int command_fail(const char *command)
{
    fprintf(stderr, "einkorn %s: %s\n", command, ek_error_message());
    return COMMAND_FAILED;
}

ek_status command_find_op(const char *name, const ek_op_info **op)
{
    *op = ek_op_find(name);
    if (!*op)
        return ek_fail(EK_INVALID_ARGUMENT, "no operation '%s': einkorn ops lists them", name);
    return EK_OK;
}

ek_status command_choose_ops(int count, char **names, const ek_op_info **chosen,
                             int32_t *chosen_count)
{
    *chosen_count = 0;
    for (int i = 0; i < count; i++) {
        const ek_op_info *op;
        EK_TRY(command_find_op(names[i], &op));
    }
    for (int32_t i = 0; i < ek_op_count; i++) {
        int wanted = count == 0;
        for (int k = 0; k < count; k++)
            wanted |= strcmp(names[k], ek_ops[i]->name) == 0;
        if (wanted)
            chosen[(*chosen_count)++] = ek_ops[i];
    }
    return EK_OK;
}

ek_status command_open(const char *device, ek_queue **queue)
{
    ek_device *opened;
    EK_TRY(ek_device_open(device, &opened));
    ek_status status = ek_queue_open(opened, queue);
    ek_device_close(opened);
    return status;
}

static int parse_whole(const char *text, char **end, int64_t *value)
{
    errno = 0;
    *value = strtoll(text, end, 10);
    return *end != text && errno == 0;
}

ek_status command_parse_count(const char *what, const char *text, int64_t least, int64_t *value)
{
    char *end;
    int64_t base, exponent;
    int good = parse_whole(text, &end, &base);
    if (good && *end == '^') {
        good = parse_whole(end + 1, &end, &exponent) && base == 2 && exponent >= 0 && exponent < 63;
        base = good ? INT64_C(1) << exponent : 0;
    }
    if (!good || *end || base < least)
        return ek_fail(EK_INVALID_ARGUMENT, "%s is '%s': must be a whole number of at least %lld",
                       what, text, (long long)least);
    *value = base;
    return EK_OK;
}
