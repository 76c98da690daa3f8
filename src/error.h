/* Setting the calling thread's message. */
#ifndef EK_ERROR_H
#define EK_ERROR_H

#include "einkorn/status.h"

#define EK_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Stores the formatted line as the thread's message and returns `status`. */
ek_status ek_fail(ek_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

/* Returns from the calling function with the status of `call` unless it is EK_OK. */
#define EK_TRY(call)                                                                               \
    do {                                                                                           \
        ek_status ek_try_status = (call);                                                          \
        if (EK_UNLIKELY(ek_try_status != EK_OK))                                                   \
            return ek_try_status;                                                                  \
    } while (0)

#endif
