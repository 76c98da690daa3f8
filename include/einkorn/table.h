/* The ops table. Each operation has one row, an object of its own in the library (ek_op_add in
 * einkorn/ops/add.h): information for everyone, and typed columns that the typed calls jump
 * through. ek_ops lists all rows; only who names it links them all. */
#ifndef EINKORN_TABLE_H
#define EINKORN_TABLE_H

#include <stdint.h>

#include "einkorn/array.h"
#include "einkorn/device.h"
#include "einkorn/dtype.h"
#include "einkorn/limits.h"
#include "einkorn/queue.h"
#include "einkorn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As the axis of an operation that gives an index: all of them, flattened in C order. */
#define EK_ALL_AXES INT32_MIN

/* How an operation is called and run; one a kind, in src/. */
typedef struct ek_kind ek_kind;

/* One combination of dtypes an operation computes. */
typedef struct ek_loop {
    uint8_t dtype;               /* the ek_dtype it is for, which its typed call is named by */
    uint8_t in[EK_MAX_INPUTS];   /* an ek_dtype for each input */
    uint8_t out[EK_MAX_OUTPUTS]; /* an ek_dtype for each output */
    double ulp; /* largest error in units in the last place; 0: exact or rounded once,
                   negative: no such bound (see the operation's page) */
} ek_loop;

/* A named parameter of an operation, as ek_apply takes it. */
typedef struct ek_param_info {
    const char *name;
    const char *type;    /* "int", "real", "double", "bool", "ints" (a list) */
    const char *brief;   /* what it does, and its default */
    const char *allowed; /* (optional) which values it may have, in words: least to most */
    double least, most;  /* where `allowed` is given */
    double standard;     /* the default, where it is a number */
} ek_param_info;

/* What an output of a call would be. */
typedef struct ek_output {
    ek_dtype dtype;
    int32_t ndim;
    int64_t shape[EK_MAX_NDIM];
} ek_output;

typedef struct ek_op_info {
    const char *name;
    const char *call;  /* the array call's name, ek_<name>, as messages give it */
    const char *kind;  /* "unary", "reduction", ... */
    const char *brief; /* one line */
    const char *bits;  /* "same": same bits everywhere; "library": what OpenBLAS or cuBLAS gives */
    int32_t inputs;    /* array inputs */
    int32_t optional;  /* the last ones of them, in whose place null may stand */
    const char *const *input_names;
    int32_t outputs; /* array outputs */
    const char *const *output_names;
    int32_t loop_count;
    const ek_loop *loops;
    int32_t param_count;
    const ek_param_info *params;
    const ek_kind *run;         /* private: how the kind infers shapes and runs */
    const void *const *kernels; /* private: the kind's tables, one a variant; null where missing */
} ek_op_info;

/* A parameter's value. Which field counts depends on its type: `integer` for int and bool, `real`
 * for real and double, `list` and `count` for ints. */
typedef struct ek_param {
    const char *name;
    int64_t integer;
    double real;
    const int64_t *list;
    int32_t count;
} ek_param;

/* All operations, sorted by name; ek_op_count of them. */
extern const ek_op_info *const ek_ops[];
extern const int32_t ek_op_count;

/* The row of that name; null if there is none. Links the whole table. */
const ek_op_info *ek_op_find(const char *name);

/* 1 if the operation has kernels for the variant in this build. */
int ek_op_has_variant(const ek_op_info *op, ek_variant variant);

/* What the outputs of a call would be: out[op->outputs]. All checks of operands' dtypes and shapes
 * and of parameters are made; nothing is computed. */
ek_status ek_infer(const ek_op_info *op, const ek_array *const *in, int32_t param_count,
                   const ek_param *params, ek_output *out);

/* Any operation by its row: in[op->inputs], then out[op->outputs], which have the shapes and dtypes
 * that ek_infer gives. Parameters not named have their defaults; an unknown name is
 * EK_INVALID_ARGUMENT. */
ek_status ek_apply(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                   int32_t param_count, const ek_param *params, ek_array *const *out);

#ifdef __cplusplus
}
#endif
#endif
