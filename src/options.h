/* The options that the environment gives a queue. */
#ifndef EK_OPTIONS_H
#define EK_OPTIONS_H

#include <stdint.h>

#include "einkorn/status.h"

/* All there are. */
enum { EK_ALL_OPTIONS = 7 };

/* Those whose variables are on. EK_INVALID_ARGUMENT, on behalf of `call`, if one is set to what is
 * neither on nor off. */
ek_status ek_options_read(const char *call, uint32_t *options);

#endif
