/* How large arrays and operations may be described. Kernels are compiled with these too, so they
 * are apart from what changes more often. */
#ifndef EINKORN_LIMITS_H
#define EINKORN_LIMITS_H

/* The most dimensions an array operand may have. */
#define EK_MAX_NDIM 32

/* The most array inputs an operation may have. */
#define EK_MAX_INPUTS 3

#endif
