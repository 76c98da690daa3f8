/* Host memory in few pages. */
#ifndef EK_CPU_PAGES_H
#define EK_CPU_PAGES_H

#include <stddef.h>

/* `bytes` bytes for free, 64-byte aligned; null if there are none. Where there is much of it, it is
 * in huge pages if the system has some to spare. */
void *ek_pages_alloc(size_t bytes);

#endif
