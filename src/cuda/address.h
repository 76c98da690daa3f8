/* Which block an address is in. */
#ifndef EK_CUDA_ADDRESS_H
#define EK_CUDA_ADDRESS_H

#include <stdbool.h>

#include "stock.h"

/* Enters a block, at a multiple of 256 bytes. False if there is no host memory for that. */
bool ek_cuda_address_add(ek_block *block);

/* Takes it out. From then on its address may be another's. */
void ek_cuda_address_remove(ek_block *block);

/* The block that the address points to or into, null if it is none of the library's. No lock, a few
 * nanoseconds. The block stays as long as the caller may use its memory. */
ek_block *ek_cuda_block_find(const void *memory);

/* Nodes that the table is made of so far; for tests, which count what is left. */
long ek_cuda_address_nodes(void);

#endif
