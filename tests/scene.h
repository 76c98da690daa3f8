/* A scene: the memory of one call, with its operands somewhere in it. Whatever a call leaves there
 * is known in advance byte for byte: the output's elements, and everything else as it was. */
#ifndef EK_TEST_SCENE_H
#define EK_TEST_SCENE_H

#include "einkorn/array.h"
#include "op_test.h"
#include "place.h"

enum { EK_VIEW_NDIM = 4, EK_SCENE_OPERANDS = EK_MAX_OPERANDS };

/* An operand: `offset` is where its first element lies, in bytes from the scene's start. */
typedef struct ek_view {
    ek_dtype dtype;
    int32_t ndim;
    int64_t shape[EK_VIEW_NDIM], stride[EK_VIEW_NDIM];
    int64_t offset;
} ek_view;

/* What a call is given: the operands in memory, outputs first. */
typedef struct ek_arguments {
    ek_queue *queue;
    int64_t n;
    void *data[EK_SCENE_OPERANDS];
    ek_array array[EK_SCENE_OPERANDS];
    ek_array *pointer[EK_SCENE_OPERANDS];
} ek_arguments;

typedef struct ek_scene {
    const ek_op_test *test;
    int loop;
    int outputs, operands;           /* outputs come first */
    const double *params;            /* of the call; the first set of the test */
    ek_view view[EK_SCENE_OPERANDS]; /* outputs first */
    int64_t bytes;
    unsigned char *memory;

    /* Makes the arguments wrong. (null: they are right) */
    void (*spoil)(ek_arguments *arguments, int operand);
    int spoiled; /* the operand */
} ek_scene;

/* A view in C order, not yet placed. */
ek_view ek_view_of(ek_dtype dtype, int32_t ndim, const int64_t *shape);

int64_t ek_view_size(const ek_view *view);

/* The offset in elements of the view's i-th element in C order. */
int64_t ek_view_step(const ek_view *view, int64_t i);

/* The dtype of an operand of a loop, outputs first, and its name. */
ek_dtype ek_operand_dtype(const ek_op_test *test, int loop, int operand);
const char *ek_scene_operand_name(const ek_op_test *test, int operand);

/* Of an input. */
ek_dtype ek_input_dtype(const ek_op_test *test, int loop, int input);

/* Starts a scene for a loop. Its views are placed one after the other with unused memory around
 * each, the first element `skew` elements from a 64-byte boundary. */
void ek_scene_open(ek_scene *scene, const ek_op_test *test, int loop);
void ek_scene_place(ek_scene *scene, int operand, const ek_view *view, int skew);

/* Gives the operand the view of one placed before, for calls in place. */
void ek_scene_share(ek_scene *scene, int operand, int with);

/* Allocates the memory, poisons it and gives the inputs values: random bits, or values of everyday
 * size if `seed` is odd. */
void ek_scene_fill(ek_scene *scene, uint64_t seed);
void ek_scene_close(ek_scene *scene);

typedef enum ek_call { EK_TYPED_CALL, EK_ARRAY_CALL } ek_call;

/* Makes the call on a copy of the scene's memory and leaves the copy in `after`, which the caller
 * frees. */
ek_status ek_scene_run(const ek_scene *scene, const ek_place *place, ek_call call,
                       unsigned char **after);

/* Calls on every place under test; the results must be what the first place gives for the same
 * elements packed, and nothing else may have changed. `text` names the scene in a failure. */
void ek_scene_check(const ek_scene *scene, ek_call call, const char *text);

/* Calls on every place under test; the status must be `status`, the message must name the call and
 * contain `word`, and nothing may have changed. */
void ek_scene_refused(const ek_scene *scene, ek_call call, ek_status status, const char *word);

/* "ek_add" or "ek_add_f32". */
const char *ek_scene_call_name(const ek_scene *scene, ek_call call);

#endif
