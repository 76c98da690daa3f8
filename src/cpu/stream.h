/* Copies that leave the cache alone. */
#ifndef EK_CPU_STREAM_H
#define EK_CPU_STREAM_H

#include <stddef.h>

/* Copies `bytes` bytes with non-temporal stores where the machine has them. */
void ek_stream(void *dst, const void *src, size_t bytes);

/* Orders streamed stores before whatever the thread does next; call it after the last ek_stream. */
void ek_stream_end(void);

#endif
