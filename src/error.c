#include "error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char message[512];

ek_status ek_fail(ek_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    for (char *c = message; *c; c++) { /* names that the caller gave may hold anything: one line */
        if ((unsigned char)*c < ' ' || *c == '\x7f')
            *c = '?';
    }
    return status;
}

const char *ek_error_message(void)
{
    return message;
}

const char *ek_status_name(ek_status status)
{
    static const char *const names[EK_STATUS_COUNT] = {
        [EK_OK] = "EK_OK",
        [EK_INVALID_ARGUMENT] = "EK_INVALID_ARGUMENT",
        [EK_SHAPE_MISMATCH] = "EK_SHAPE_MISMATCH",
        [EK_DTYPE_MISMATCH] = "EK_DTYPE_MISMATCH",
        [EK_DEVICE_MISMATCH] = "EK_DEVICE_MISMATCH",
        [EK_OVERLAP] = "EK_OVERLAP",
        [EK_UNSUPPORTED] = "EK_UNSUPPORTED",
        [EK_OUT_OF_MEMORY] = "EK_OUT_OF_MEMORY",
        [EK_NO_DEVICE] = "EK_NO_DEVICE",
        [EK_DEVICE_ERROR] = "EK_DEVICE_ERROR",
        [EK_ASYNC_ERROR] = "EK_ASYNC_ERROR",
    };
    return (unsigned)status < EK_STATUS_COUNT ? names[status] : "EK_?";
}
