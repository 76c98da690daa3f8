/* Products of two arrays whose dimensions have labels: what ek_matmul, ek_tensordot and ek_einsum
 * are made of. */
#ifndef EK_LABELS_H
#define EK_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "einkorn/product.h"
#include "einkorn/view.h"

/* 52 letters, and what "..." stands for. */
#define EK_LABELS (52 + EK_MAX_NDIM)

/* An array with a label for each dimension, none twice. */
typedef struct ek_labelled {
    ek_view view;
    uint8_t label[EK_MAX_NDIM];
    ek_array memory; /* that the view looks at, if it was made here and is to be freed: */
    bool owns;
} ek_labelled;

/* What a product belongs to. */
typedef struct ek_labels {
    const char *call;
    ek_queue *queue;
    const ek_op_info *gemm;
    ek_dtype dtype;
    int64_t length[EK_LABELS]; /* of every label */
} ek_labels;

/* The dimension of x that has the label, or -1. */
int32_t ek_labels_find(const ek_labelled *x, uint8_t label);

/* x over all of the dimensions `label` names, in their order; of those that it lacks, and of those
 * with length 1, the step is 0 and the length that of the label. */
void ek_labels_order(const ek_labels *labels, const ek_labelled *x, int32_t count,
                     const uint8_t *label, ek_view *view);

/* out = the sum of x over the labels that out lacks. */
ek_status ek_labels_sum(const ek_labels *labels, const ek_labelled *x, ek_labelled *out);

/* out = the sum of the products of a and b over the labels that out lacks. */
ek_status ek_labels_product(const ek_labels *labels, const ek_labelled *a, const ek_labelled *b,
                            ek_labelled *out);

/* An array with these labels in memory of the queue's. */
ek_status ek_labels_alloc(const ek_labels *labels, int32_t count, const uint8_t *label,
                          ek_labelled *made);

/* Frees its memory, if it is the queue's. */
void ek_labels_free(const ek_labels *labels, ek_labelled *x);

/* Checks operands and out: on the queue's device, of one dtype, out apart from all. Sets `dtype`.
 */
ek_status ek_labels_check(ek_labels *labels, int32_t count, const ek_array *const *operands,
                          const ek_array *out);

/* The shape of out must be that of these labels. */
ek_status ek_labels_check_out(const ek_labels *labels, int32_t count, const uint8_t *label,
                              const ek_array *out, ek_labelled *made);

#endif
