#include "rotation.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "sample.h"

/* More than any cache, so that nothing of the last round is left in it. */
static const int64_t cold_bytes = INT64_C(1) << 29;

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

/* Sets of one operand lie one after the other, each at an address as aligned as an array's own. */
static int64_t set_bytes(const view *v, ek_dtype dtype)
{
    enum { ALIGNMENT = 256 };
    int64_t bytes = v->elements * (int64_t)ek_dtype_size(dtype);
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The array of a set, but for its address. */
static ek_array look(view *v, ek_dtype dtype, const ek_array *memory)
{
    ek_array array = *memory;
    array.ndim = v->ndim;
    array.shape = v->shape;
    array.strides = v->plain ? NULL : v->stride;
    array.byte_offset = (uint64_t)v->first * ek_dtype_size(dtype);
    return array;
}

ek_status rotation_open(rotation *r, ek_queue *queue, bool cold, int32_t operands,
                        const ek_dtype *dtypes, const view *views)
{
    int64_t bytes = 0;
    memset(r, 0, sizeof *r);
    for (int32_t i = 0; i < operands; i++)
        bytes += r->step[i] = set_bytes(&views[i], dtypes[i]);
    r->count = cold ? cold_bytes / (bytes + 1) + 1 : 1;
    for (int32_t i = 0; i < operands; i++) {
        int64_t elements = r->count * r->step[i] / (int64_t)ek_dtype_size(dtypes[i]);
        r->views[i] = views[i];
        EK_TRY(ek_array_alloc(queue, dtypes[i], 1, &elements, &r->memory[i]));
        r->operands = i + 1;
        EK_TRY(fill(queue, i, dtypes[i], &r->memory[i]));
        r->set.array[i] = look(&r->views[i], dtypes[i], &r->memory[i]);
    }
    return ek_queue_sync(queue);
}

void rotation_close(rotation *r, ek_queue *queue)
{
    for (int32_t i = 0; i < r->operands; i++)
        ek_array_free(queue, &r->memory[i]);
    r->operands = 0;
}
