#include "cuda/graph.h"
#include "cuda/guard.h"
#include "cuda/queue.h"
#include "move.h"

static const char call[] = "ek_copy";

typedef struct copy {
    ek_queue *queue;
    CUstream stream;
    void *dst;
    const void *src;
    int64_t dst_pitch, src_pitch, width, rows;
    CUmemorytype dst_type, src_type;
} copy;

static ek_status copy_plain(const copy *copy, void *dst, const void *src, int64_t bytes)
{
    EK_CUDA_QUEUE_TRY(copy->queue, call, cuMemcpyAsync,
                      ((CUdeviceptr)dst, (CUdeviceptr)src, (size_t)bytes, copy->stream));
    return EK_OK;
}

static ek_status copy_pitched(const copy *copy)
{
    CUDA_MEMCPY2D what = {
        .srcMemoryType = copy->src_type,
        .srcHost = copy->src,
        .srcDevice = (CUdeviceptr)copy->src,
        .srcPitch = (size_t)copy->src_pitch,
        .dstMemoryType = copy->dst_type,
        .dstHost = copy->dst,
        .dstDevice = (CUdeviceptr)copy->dst,
        .dstPitch = (size_t)copy->dst_pitch,
        .WidthInBytes = (size_t)copy->width,
        .Height = (size_t)copy->rows,
    };
    EK_CUDA_QUEUE_TRY(copy->queue, call, cuMemcpy2DAsync, (&what, copy->stream));
    return EK_OK;
}

/* Pitches that the driver's two-dimensional copies take. */
static bool pitch_fits(const copy *copy, int64_t pitch)
{
    return pitch >= copy->width && pitch <= INT32_MAX;
}

static ek_status enqueue(const copy *copy)
{
    if (copy->rows == 1 || (copy->dst_pitch == copy->width && copy->src_pitch == copy->width))
        return copy_plain(copy, copy->dst, copy->src, copy->width * copy->rows);
    if (pitch_fits(copy, copy->dst_pitch) && pitch_fits(copy, copy->src_pitch))
        return copy_pitched(copy);
    for (int64_t row = 0; row < copy->rows; row++)
        EK_TRY(copy_plain(copy, (char *)copy->dst + row * copy->dst_pitch,
                          (const char *)copy->src + row * copy->src_pitch, copy->width));
    return EK_OK;
}

/* Copies of memory from a pool want the stream's context current; NVIDIA's programming guide says
 * so where it explains stream-ordered allocation, whatever a given driver does without. */
static ek_status enqueue_guarded(const ek_device *device, const copy *copy)
{
    ek_cuda_guard guard;
    EK_TRY(ek_cuda_guard_enter(call, device, &guard));
    ek_status status = enqueue(copy);
    ek_cuda_guard_leave(&guard);
    return status;
}

/* Host memory the driver does not know of may move or be reused as soon as the call returns. */
bool ek_cuda_is_pinned(ek_device_type type, const void *memory)
{
    CUmemorytype known = 0;
    if (type != EK_DEVICE_CPU)
        return true;
    CUresult result =
        ek_cu.cuPointerGetAttribute(&known, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)memory);
    return result == CUDA_SUCCESS && known == CU_MEMORYTYPE_HOST;
}

static CUmemorytype memory_type(ek_device_type type)
{
    return type == EK_DEVICE_CUDA ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

ek_status ek_cuda_transfer(ek_queue *queue, void *dst, int64_t dst_pitch, ek_device_type dst_type,
                           const void *src, int64_t src_pitch, ek_device_type src_type,
                           int64_t width, int64_t rows)
{
    const ek_device *device = ek_queue_base_of(queue)->device;
    if (width == 0 || rows == 0)
        return EK_OK;
    copy copy = {
        .queue = queue,
        .stream = ek_cuda_stream_of(queue),
        .dst = dst,
        .src = src,
        .dst_pitch = dst_pitch,
        .src_pitch = src_pitch,
        .width = width,
        .rows = rows,
        .dst_type = memory_type(dst_type),
        .src_type = memory_type(src_type),
    };
    EK_TRY(ek_recorded(queue, enqueue_guarded(device, &copy)));
    /* Unless the GPU reads pageable memory itself, when it comes to it. */
    bool taken = rows == 1 && width <= EK_TAKEN_BYTES && !ek_cuda_device_of(device)->reads_pageable;
    if (!ek_cuda_is_pinned(dst_type, dst) || (!taken && !ek_cuda_is_pinned(src_type, src)))
        EK_CUDA_QUEUE_TRY(queue, call, cuStreamSynchronize, (copy.stream));
    return ek_cuda_given(queue, "copy");
}
