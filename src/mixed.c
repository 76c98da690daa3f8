/* Array calls on queues with options: operands of other devices, operations without a kernel. */
#include <stdlib.h>

#include "call.h"
#include "einkorn/memory.h"
#include "fallback.h"
#include "kind.h"
#include "move.h"
#include "program.h"

/* An array that stands in for an operand: with its elements in its layout, elsewhere. */
typedef struct stand_in {
    ek_array array;
    ek_operand operand;
    void *memory;
} stand_in;

/* Memory for a stand-in on the host, or on the queue's device. */
static ek_status make(ek_queue *queue, const char *call, const ek_array *array,
                      const ek_operand *operand, bool on_host, stand_in *made)
{
    const ek_device *device = ek_queue_device(queue);
    int64_t first, count = ek_mirror(operand, on_host ? EK_DEVICE_CPU : device->type,
                                     on_host ? 0 : device->index, &made->operand, &first);
    size_t size = ek_dtype_size(operand->dtype), bytes = (size_t)count * size;
    made->memory = NULL;
    if (!on_host)
        EK_TRY(ek_alloc(queue, bytes, &made->memory));
    else if (bytes > 0 && !(made->memory = malloc(bytes)))
        return ek_fail(EK_OUT_OF_MEMORY, "%s: no host memory for %zu bytes of %s", call, bytes,
                       operand->name);
    made->array = *array;
    made->array.data = made->operand.data = (char *)made->memory + first * (int64_t)size;
    made->array.byte_offset = 0;
    made->array.device.type = (int32_t)made->operand.device_type;
    made->array.device.index = made->operand.device_index;
    made->array.strides = made->operand.stride;
    return EK_OK;
}

static ek_status release(ek_queue *queue, const stand_in *made)
{
    if (!ek_on_host(&made->operand))
        return ek_free(queue, made->memory);
    free(made->memory);
    return EK_OK;
}

/* A stand-in for an input. */
static ek_status bring(ek_queue *queue, const char *call, const ek_array *array,
                       const ek_operand *operand, bool to_host, stand_in *made)
{
    EK_TRY(make(queue, call, array, operand, to_host, made));
    ek_status status = ek_move(queue, call, &made->operand, operand);
    if (status != EK_OK)
        release(queue, made);
    return status;
}

/* The inputs of a call, some of them with others that stand in. */
typedef struct inputs {
    const ek_array *in[EK_MAX_INPUTS];
    int32_t count;
    stand_in made[EK_MAX_INPUTS];
} inputs;

/* An operand given twice is moved once. */
static const ek_array *moved_before(const inputs *inputs, const ek_array *const *in, int32_t i)
{
    for (int32_t k = 0; k < i; k++) {
        if (in[k] == in[i])
            return inputs->in[k];
    }
    return NULL;
}

static ek_status release_all(ek_queue *queue, const inputs *inputs, ek_status status)
{
    for (int32_t i = 0; i < inputs->count; i++) {
        ek_status freed = release(queue, &inputs->made[i]);
        status = status == EK_OK ? freed : status;
    }
    return status;
}

/* Lets every input be where the call computes: on the host, or on the queue's device. What may not
 * be moved stays, and the call refuses it. */
static ek_status gather(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                        bool to_host, inputs *inputs)
{
    const ek_device *device = ek_queue_device(queue);
    inputs->count = 0;
    for (int32_t i = 0; i < op->inputs; i++) {
        const char *name = op->input_names[i];
        ek_operand operand;
        inputs->in[i] = in[i];
        if (!in[i])
            continue;
        const ek_array *before = moved_before(inputs, in, i);
        if (before) {
            inputs->in[i] = before;
            continue;
        }
        stand_in *made = &inputs->made[inputs->count];
        ek_status status = ek_operand_read(op->call, name, in[i], &operand);
        if (status == EK_OK && (to_host ? ek_belongs(&operand, device) : ek_on_host(&operand))) {
            status = bring(queue, op->call, in[i], &operand, to_host, made);
            inputs->in[i] = &made->array;
            inputs->count += status == EK_OK;
        }
        if (status != EK_OK)
            return release_all(queue, inputs, status);
    }
    return EK_OK;
}

static ek_status call_on_device(ek_call_fn *call, ek_queue *queue, const ek_op_info *op,
                                const ek_array *const *in, const void *args, ek_array *const *out)
{
    inputs inputs;
    EK_TRY(gather(queue, op, in, false, &inputs));
    return release_all(queue, &inputs, call(queue, op, inputs.in, args, out));
}

/* Outputs on the host that stand in for those of a call. */
typedef struct outputs {
    ek_operand result[EK_MAX_OUTPUTS]; /* where they go */
    stand_in made[EK_MAX_OUTPUTS];
    int32_t count;
} outputs;

/* Computes on the host and takes the results where they go. */
static ek_status call_on_host(ek_call_fn *call, ek_queue *queue, const ek_op_info *op,
                              const ek_array *const *in, const void *args, outputs *outputs)
{
    ek_queue *host = ek_queue_base_of(queue)->fallback->host;
    ek_array *out[EK_MAX_OUTPUTS];
    for (int32_t i = 0; i < op->outputs; i++) {
        out[i] = &outputs->made[i].array;
        if (op->run->reads_out)
            EK_TRY(ek_move(queue, op->call, &outputs->made[i].operand, &outputs->result[i]));
    }
    /* Pinned inputs, which nothing has waited for, may still be written by what the queue was told
     * before. */
    EK_TRY(ek_queue_sync(queue));
    EK_TRY(ek_queue_set_threads(host, ek_queue_threads(queue)));
    EK_TRY(call(host, op, in, args, out));
    for (int32_t i = 0; i < op->outputs; i++)
        EK_TRY(ek_move(queue, op->call, &outputs->result[i], &outputs->made[i].operand));
    return EK_OK;
}

/* The same with memory for the results on the host. */
static ek_status call_beside(ek_call_fn *call, ek_queue *queue, const ek_op_info *op,
                             const ek_array *const *in, const void *args, ek_array *const *out,
                             outputs *outputs)
{
    ek_status status = EK_OK;
    outputs->count = 0;
    for (int32_t i = 0; i < op->outputs && status == EK_OK; i++) {
        status = make(queue, op->call, out[i], &outputs->result[i], true, &outputs->made[i]);
        outputs->count += status == EK_OK;
    }
    if (status == EK_OK)
        status = call_on_host(call, queue, op, in, args, outputs);
    for (int32_t i = 0; i < outputs->count; i++)
        release(queue, &outputs->made[i]);
    return status;
}

/* Host inputs are of use as they are, but that is for EK_HOST_TO_DEVICE to allow: whether a call is
 * refused must not depend on where it runs. */
static ek_status check_inputs(ek_queue *queue, const ek_op_info *op, const ek_array *const *in)
{
    bool mixed = ek_queue_base_of(queue)->options & EK_HOST_TO_DEVICE;
    for (int32_t i = 0; i < op->inputs; i++) {
        ek_operand operand;
        if (!in[i] || (mixed && (in[i]->device.type == EK_DEVICE_CPU ||
                                 in[i]->device.type == EK_DEVICE_CUDA_HOST)))
            continue;
        EK_TRY(ek_operand_init(op->call, op->input_names[i], queue, in[i], &operand));
    }
    return EK_OK;
}

static ek_status fall_back(ek_call_fn *call, ek_queue *queue, const ek_op_info *op,
                           const ek_array *const *in, const void *args, ek_array *const *out)
{
    outputs outputs;
    inputs inputs;
    if (ek_recording(queue))
        return ek_fail(EK_UNSUPPORTED,
                       "%s: queue is recording: a program cannot hold what runs on the CPU instead",
                       op->call);
    for (int32_t i = 0; i < op->outputs; i++)
        EK_TRY(
            ek_operand_init_out(op->call, op->output_names[i], queue, out[i], &outputs.result[i]));
    EK_TRY(ek_check_outputs(op->call, op->outputs, outputs.result));
    EK_TRY(check_inputs(queue, op, in));
    EK_TRY(ek_fallback_note(queue, op));
    EK_TRY(gather(queue, op, in, true, &inputs));
    return release_all(queue, &inputs,
                       call_beside(call, queue, op, inputs.in, args, out, &outputs));
}

ek_status ek_call_mixed(ek_call_fn *call, ek_queue *queue, const ek_op_info *op,
                        const ek_array *const *in, const void *args, ek_array *const *out)
{
    uint32_t options = ek_queue_base_of(queue)->options;
    if (queue->variant != EK_CUDA)
        return call(queue, op, in, args, out);
    if ((options & EK_FALLBACK) && !op->kernels[EK_CUDA])
        return fall_back(call, queue, op, in, args, out);
    if (options & EK_HOST_TO_DEVICE)
        return call_on_device(call, queue, op, in, args, out);
    return call(queue, op, in, args, out);
}
