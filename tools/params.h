/* Parameters of an operation as text: NAME=VALUE, by the type the operation's row states. */
#ifndef PARAMS_H
#define PARAMS_H

#include "einkorn/table.h"

enum { PARAMS_MOST = 16 };

typedef struct params {
    int32_t count;
    ek_param value[PARAMS_MOST];
    char name[PARAMS_MOST][32];
    int64_t list[PARAMS_MOST][EK_MAX_NDIM];
} params;

/* Adds one parameter. int: a whole number (for one named dtype also a dtype's name); real: a
 * number; bool: 0, 1, true or false; ints: whole numbers with commas, none at all for an empty
 * list. */
ek_status params_add(params *p, const ek_op_info *op, const char *text);

#endif
