#include "cpu/gather.h"

#include <string.h>

#define COPY(type)                                                                                 \
    for (int64_t i = 0; i < n; i++)                                                                \
        memcpy((char *)to + i * to_step * (int64_t)sizeof(type),                                   \
               (const char *)from + i * from_step * (int64_t)sizeof(type), sizeof(type));

void ek_copy_steps(int64_t n, int64_t size, const void *from, int64_t from_step, void *to,
                   int64_t to_step)
{
    if (from_step == 1 && to_step == 1) {
        memcpy(to, from, (size_t)(n * size));
        return;
    }
    switch (size) {
    case 1:
        COPY(uint8_t)
        break;
    case 2:
        COPY(uint16_t)
        break;
    case 4:
        COPY(uint32_t)
        break;
    case 8:
        COPY(uint64_t)
        break;
    default:
        COPY(ek_c128)
    }
}

void ek_gather_row(const ek_rows *rows, int64_t size, const void *x, int64_t first, int64_t n,
                   void *buffer)
{
    int32_t inner = rows->row_ndim - 1;
    char *to = buffer;
    int64_t index[EK_MAX_NDIM], offset = 0;
    if (inner < 0) {
        memcpy(buffer, x, (size_t)(n * size));
        return;
    }
    for (int32_t d = inner; d >= 0; d--) {
        index[d] = first % rows->row_shape[d];
        first /= rows->row_shape[d];
        offset += index[d] * rows->row_x[d];
    }
    while (n > 0) {
        int64_t run = rows->row_shape[inner] - index[inner];
        run = run < n ? run : n;
        ek_copy_steps(run, size, (const char *)x + offset * size, rows->row_x[inner], to, 1);
        to += run * size;
        n -= run;
        /* The next run begins where the index of the dimensions outside steps on. */
        offset -= index[inner] * rows->row_x[inner];
        index[inner] = 0;
        for (int32_t d = inner - 1; d >= 0; d--) {
            offset += rows->row_x[d];
            if (++index[d] < rows->row_shape[d])
                break;
            offset -= index[d] * rows->row_x[d];
            index[d] = 0;
        }
    }
}
