/* Copies that leave the cache alone. */
#ifndef EK_CPU_STREAM_H
#define EK_CPU_STREAM_H

#include <stddef.h>

#include "einkorn/device.h"

/* Bytes of a cache line. */
#define EK_LINE 64

/* Copies `bytes` bytes with non-temporal stores as wide as the variant has them; whole lines of dst
 * go around the cache, what is left at either end does not. src begins a line. */
void ek_stream(ek_variant variant, void *dst, const void *src, size_t bytes);

/* Orders streamed stores before whatever the thread does next; call it after the last ek_stream. */
void ek_stream_end(void);

#endif
