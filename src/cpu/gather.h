/* Strided elements brought together, for kernels that take contiguous ones. */
#ifndef EK_CPU_GATHER_H
#define EK_CPU_GATHER_H

#include <stdint.h>

#include "rows.h"

/* Copies elements first to first + n, of `size` bytes, of the row at x to the buffer. */
void ek_gather_row(const ek_rows *rows, int64_t size, const void *x, int64_t first, int64_t n,
                   void *buffer);

/* Copies n elements of `size` bytes from every `from_step`-th place to every `to_step`-th. */
void ek_copy_steps(int64_t n, int64_t size, const void *from, int64_t from_step, void *to,
                   int64_t to_step);

#endif
