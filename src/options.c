#include "options.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "einkorn/queue.h"
#include "error.h"

static const struct {
    const char *name;
    uint32_t option;
} variables[] = {
    {"EINKORN_HOST_TO_DEVICE", EK_HOST_TO_DEVICE},
    {"EINKORN_FALLBACK", EK_FALLBACK},
    {"EINKORN_SYNC", EK_SYNC_EACH_CALL},
};

_Static_assert(EK_ALL_OPTIONS == (EK_HOST_TO_DEVICE | EK_FALLBACK | EK_SYNC_EACH_CALL),
               "an option is missing");

static bool is_one_of(const char *value, const char *const *words)
{
    while (*words && strcmp(value, *words) != 0)
        words++;
    return *words != NULL;
}

ek_status ek_options_read(const char *call, uint32_t *options)
{
    static const char *const on[] = {"1", "yes", "on", "true", NULL};
    static const char *const off[] = {"", "0", "no", "off", "false", NULL};
    *options = 0;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i].name);
        if (!value || is_one_of(value, off))
            continue;
        if (!is_one_of(value, on))
            return ek_fail(EK_INVALID_ARGUMENT,
                           "%s: %s is '%s': must be 1, yes, on or true, or 0, no, off or false",
                           call, variables[i].name, value);
        *options |= variables[i].option;
    }
    return EK_OK;
}
