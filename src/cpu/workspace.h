/* Memory a call needs only while it runs. */
#ifndef EK_CPU_WORKSPACE_H
#define EK_CPU_WORKSPACE_H

#include <stddef.h>

#include "einkorn/queue.h"

/* At least `bytes` bytes of the queue's own host memory, 64-byte aligned; valid until the next call
 * on the queue that asks for more. Grows and is kept, so a warm call allocates nothing. */
ek_status ek_cpu_workspace(ek_queue *queue, size_t bytes, void **memory);

#endif
