/* Host memory that runs out on demand. A program linked with EK_WRAP_ALLOC (Makefile.am) sends all
 * allocations of its own and of the library through here. */
#ifndef EK_FAULT_ALLOC_H
#define EK_FAULT_ALLOC_H

#include <stdbool.h>

/* The nth allocation from now on fails, and if `every` is not 0 every so many after it another one;
 * n = 0 takes that back. */
void fault_alloc(int n, int every);

/* Whether one has failed since. */
bool fault_alloc_hit(void);

/* Blocks that are allocated and not yet freed. */
long fault_alloc_alive(void);

#endif
