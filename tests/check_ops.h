/* The tests of one loop of one operation. */
#ifndef EK_CHECK_OPS_H
#define EK_CHECK_OPS_H

#include "op_test.h"

/* Against the reference: special values, values of everyday size, random bits. */
void ek_test_reference(const ek_op_test *test, int loop);

/* The same bits from every place. */
void ek_test_bits(const ek_op_test *test, int loop);

/* Lengths 0 to 70 and around the sizes where code changes its way, aligned and not. */
void ek_test_lengths(const ek_op_test *test, int loop);

/* Strides of either sign and zero, transposed and padded arrays, broadcasting. */
void ek_test_strides(const ek_op_test *test, int loop);
void ek_test_tiles(const ek_op_test *test, int loop);
void ek_test_broadcast(const ek_op_test *test, int loop);

/* The output as an input, interleaved with one, and overlapping one. */
void ek_test_overlap(const ek_op_test *test, int loop);

/* ek_infer and ek_apply. */
void ek_test_table(const ek_op_test *test, int loop);

/* Every way to call it wrongly. */
void ek_test_typed_refusals(const ek_op_test *test, int loop);
void ek_test_array_refusals(const ek_op_test *test, int loop);

#endif
