#include "compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "format.h"

bool ek_same_element(ek_dtype dtype, const void *a, const void *b)
{
    size_t size = ek_dtype_size(dtype);
    if (memcmp(a, b, size) == 0)
        return true;
    if (ek_is_float(dtype))
        return isnan(ek_element_value(dtype, a)) && isnan(ek_element_value(dtype, b));
    if (!ek_is_complex(dtype))
        return false;
    ek_dtype part = ek_real_dtype(dtype);
    return ek_same_element(part, a, b) &&
           ek_same_element(part, (const char *)a + size / 2, (const char *)b + size / 2);
}

int64_t ek_first_difference(ek_dtype dtype, int64_t n, const void *a, const void *b)
{
    size_t size = ek_dtype_size(dtype);
    if (n == 0 || memcmp(a, b, (size_t)n * size) == 0)
        return -1;
    for (int64_t i = 0; i < n; i++) {
        size_t at = (size_t)i * size;
        if (!ek_same_element(dtype, (const char *)a + at, (const char *)b + at))
            return i;
    }
    return -1;
}

const char *ek_element_text(ek_dtype dtype, const void *element, char *text)
{
    enum { SIZE = 96 };
    size_t size = ek_dtype_size(dtype);
    if (ek_is_complex(dtype)) {
        const char *im = (const char *)element + size / 2;
        snprintf(text, SIZE, "%.17g + %.17gi", ek_element_value(ek_real_dtype(dtype), element),
                 ek_element_value(ek_real_dtype(dtype), im));
        return text;
    }
    uint64_t bits = 0;
    memcpy(&bits, element, size);
    if (ek_is_float(dtype))
        snprintf(text, SIZE, "%.17g (0x%0*" PRIx64 ")", ek_element_value(dtype, element),
                 (int)(2 * size), bits);
    else
        snprintf(text, SIZE, "0x%0*" PRIx64, (int)(2 * size), bits);
    return text;
}
