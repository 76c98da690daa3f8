/* A deep classifier of 8-bit images. Its weights are made by one thread and read by all; what a
 * thread needs beside them while it computes is a workspace of its own. */
#ifndef PIPELINE_MODEL_H
#define PIPELINE_MODEL_H

#include <einkorn.h>

typedef struct model {
    int rows, width, layers; /* images a batch, pixels an image */
    ek_array weights;        /* layers x width x width */
    ek_array scale;          /* what a pixel is multiplied by */
} model;

typedef struct model_workspace {
    ek_array x[2]; /* what goes into a layer and what comes out */
} model_workspace;

/* Ends the program with the library's message unless the call succeeded. */
void check(ek_status status);

/* A model with random weights, the same ones every time. They are there when it returns. */
void model_init(model *model, ek_queue *queue, int rows, int width, int layers);
void model_free(model *model, ek_queue *queue);

void model_workspace_init(model_workspace *work, const model *model, ek_queue *queue);
void model_workspace_free(model_workspace *work, ek_queue *queue);

/* Writes the class of each image, the place of the largest of its last layer's outputs. pixels:
 * rows x width of u8. labels: rows of i64. Both on the queue's device. */
void model_apply(const model *model, model_workspace *work, ek_queue *queue, const ek_array *pixels,
                 ek_array *labels);

#endif
