/* How large arrays and operations may be described. Kernels are compiled with these too, so they
 * are apart from what changes more often. */
#ifndef EINKORN_LIMITS_H
#define EINKORN_LIMITS_H

/* The most dimensions an array operand may have. */
#define EK_MAX_NDIM 32

/* The most arrays an operation may take and give, and both together. */
#define EK_MAX_INPUTS 6
#define EK_MAX_OUTPUTS 4
#define EK_MAX_OPERANDS (EK_MAX_OUTPUTS + EK_MAX_INPUTS)

/* The most parameters an operation may have beside them. */
#define EK_MAX_PARAMS 8

#endif
