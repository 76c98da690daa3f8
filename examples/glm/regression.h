/* Logistic regression by gradient descent, on whatever device its queue is of. */
#ifndef GLM_REGRESSION_H
#define GLM_REGRESSION_H

#include <einkorn.h>

/* Fits the weights of  P(y = 1 | x) = 1 / (1 + exp(-x w))  to the rows of x by `steps` steps of
 *
 *     w <- w - rate / rows * x' (sigmoid(x w) - y)
 *
 * from w = 0. x: rows x columns of f32. y: rows x 1 of f32, 0 or 1. w: columns x 1 of f32, on the
 * queue's device. x and y may be in host memory: then either the queue's device is the CPU, or the
 * queue allows it (EK_HOST_TO_DEVICE) and every step copies them to the device, or the first call
 * that reads one is refused, and so is this. */
ek_status regression_fit(ek_queue *queue, const ek_array *x, const ek_array *y, int steps,
                         float rate, ek_array *w);

/* Stores the share of rows for which sigmoid(x w) is on y's side of one half. */
ek_status regression_accuracy(ek_queue *queue, const ek_array *x, const ek_array *y,
                              const ek_array *w, double *share);

#endif
