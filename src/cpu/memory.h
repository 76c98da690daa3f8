/* Memory of the CPU: blocks with a header of their own before them. */
#ifndef EK_CPU_MEMORY_H
#define EK_CPU_MEMORY_H

#include "backend.h"
#include "shelf.h"

typedef struct ek_cpu_device {
    ek_device base;
    ek_shelf shelf; /* blocks too large for queues */
} ek_cpu_device;

void ek_cpu_memory_open(ek_cpu_device *device);
void ek_cpu_memory_close(ek_cpu_device *device);

/* Gives back a block that is in use by no one. */
void ek_cpu_give(ek_device *device, ek_block *block);

/* The parts of ek_cpu_backend; src/backend.h says what each does. */

ek_status ek_cpu_block_take(ek_device *device, void *line, size_t bytes, ek_block **block);
void ek_cpu_block_release(ek_cache *cache, ek_block *block);
ek_block *ek_cpu_block_find(const void *memory);
ek_status ek_cpu_stock_trim(ek_device *device, size_t keep);
ek_status ek_cpu_stock_info(ek_device *device, ek_memory_info *info);
ek_status ek_cpu_pinned_alloc(ek_device *device, size_t bytes, void **memory);
ek_status ek_cpu_pinned_free(ek_device *device, void *memory);

#endif
