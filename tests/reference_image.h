/* What image operations must give, computed without the library in plain loops: each element of the
 * output by the formula of its page, in the order of additions that it states. */
#ifndef EK_TEST_REFERENCE_IMAGE_H
#define EK_TEST_REFERENCE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Sizes in rows and columns. */
typedef struct ek_reference_window {
    int64_t image[2], result[2], kernel[2], stride[2], padding[2], dilation;
    bool every;
} ek_reference_window;

/* One plane of the operation of that name; elements are numbers that the dtype holds. in[] are the
 * inputs in the operation's order. `single`: computed in single precision, else in double. False if
 * there is no such operation. */
bool ek_reference_image(const char *op, const ek_reference_window *window, bool single,
                        const double *const *in, double *out);

#endif
