/* What the processor can run. */
#ifndef EK_CPU_FEATURES_H
#define EK_CPU_FEATURES_H

#include <stddef.h>

#include "einkorn/device.h"

/* The widest CPU variant this machine can run. */
ek_variant ek_cpu_best_variant(void);

/* The processor's name as the system tells it, or "". */
void ek_cpu_model(char *text, size_t size);

/* Bytes of the last-level cache; a common size if the system does not tell. */
size_t ek_cpu_cache_bytes(void);

#endif
