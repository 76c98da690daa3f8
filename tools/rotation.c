#include "rotation.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "sample.h"

/* More than the cache of any GPU, so that nothing of the last round is left in it. */
static const int64_t cold_bytes = INT64_C(1) << 28;

/* Part of an array as an array of one dimension. */
static ek_array part_of(const ek_array *whole, int64_t first, int64_t *length)
{
    ek_array part = *whole;
    part.ndim = 1;
    part.shape = length;
    part.strides = NULL;
    part.byte_offset = (uint64_t)first * (whole->type.bits / 8);
    return part;
}

/* The first elements come from a sample; what is there is copied until the array is full. */
static ek_status fill(ek_queue *queue, int32_t input, ek_dtype dtype, ek_array *array)
{
    enum { SAMPLED = 1 << 18 };
    int64_t size;
    EK_TRY(ek_array_size(array, &size));
    int64_t filled = size < SAMPLED ? size : SAMPLED;
    if (size == 0)
        return EK_OK;
    void *values = malloc((size_t)filled * ek_dtype_size(dtype));
    ek_device *cpu;
    if (!values)
        return ek_fail(EK_OUT_OF_MEMORY, "no host memory for the operands");
    ek_status status = ek_device_open("cpu", &cpu);
    if (status == EK_OK) {
        sample s = {SAMPLE_ORDINARY, dtype, input, 1};
        sample_fill(&s, 0, filled, values);
        ek_array source = ek_array_view(values, dtype, cpu, 1, &filled);
        ek_array target = part_of(array, 0, &filled);
        ek_device_close(cpu);
        status = ek_copy(queue, &target, &source);
    }
    if (status == EK_OK)
        status = ek_queue_sync(queue);
    free(values);
    while (status == EK_OK && filled < size) {
        int64_t more = size - filled < filled ? size - filled : filled;
        ek_array source = part_of(array, 0, &more), target = part_of(array, filled, &more);
        status = ek_copy(queue, &target, &source);
        filled += more;
    }
    return status;
}

ek_status rotation_open(rotation *r, ek_queue *queue, int32_t operands, const ek_dtype *dtypes,
                        const int32_t *ndims, const int64_t *const *shapes)
{
    memset(r, 0, sizeof *r);
    r->operands = operands;
    int64_t wanted = 1;
    do {
        operand_set *set = &r->set[r->count++];
        int64_t bytes = 0;
        for (int32_t i = 0; i < operands; i++) {
            int64_t size;
            EK_TRY(ek_array_alloc(queue, dtypes[i], ndims[i], shapes[i], &set->array[i]));
            EK_TRY(fill(queue, i, dtypes[i], &set->array[i]));
            EK_TRY(ek_array_size(&set->array[i], &size));
            bytes += size * (int64_t)ek_dtype_size(dtypes[i]);
            set->data[i] = set->array[i].data;
        }
        if (ek_device_get_type(ek_queue_device(queue)) == EK_DEVICE_CUDA)
            wanted = cold_bytes / (bytes + 1) + 1;
    } while (r->count < wanted && r->count < ROTATION_SETS);
    return ek_queue_sync(queue);
}

void rotation_close(rotation *r, ek_queue *queue)
{
    for (int32_t i = 0; i < r->count; i++) {
        for (int32_t k = 0; k < r->operands; k++)
            ek_array_free(queue, &r->set[i].array[k]);
    }
    r->count = 0;
}
