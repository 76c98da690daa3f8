/* A second opinion on views: an array as the list of its elements' addresses, in C order. What a
 * view is follows from which index of x each of its indices stands for; strides do not occur. */
#ifndef EK_TEST_VIEW_MODEL_H
#define EK_TEST_VIEW_MODEL_H

#include <stdbool.h>

#include "einkorn/view.h"

enum { MODEL_MOST = 1 << 14, MODEL_NDIM = 12 };

typedef struct model {
    int32_t ndim;
    int64_t shape[MODEL_NDIM];
    int64_t size;
    const char *at[MODEL_MOST];
} model;

/* The addresses that an array has by its strides. */
void model_of(const ek_array *x, model *m);

/* Sets a shape, of dimensions taken from `shape`. False if it is too much for a model. */
bool model_shape(model *m, int32_t ndim, const int64_t *shape);

/* What takes the index of a view to that of the array. */
typedef void model_from(const void *args, const int64_t *index, int64_t *from);

/* Fills a model, whose shape is set, with the elements of x. */
void model_take(model *m, const model *x, model_from *from, const void *args);

/* Whether an array has just these elements. */
bool model_is(const model *m, const ek_array *x);

/* Whether some strides give these elements. */
bool model_is_strided(const model *m);

#endif
