#include "cuda/graph.h"
#include "cuda/guard.h"
#include "cuda/queue.h"

static const char call[] = "ek_copy";

typedef struct copy {
    ek_queue *queue;
    CUstream stream;
    void *dst;
    const void *src;
    int64_t dst_pitch, src_pitch, width, rows;
    CUmemorytype dst_type, src_type;
    bool peer;                          /* between two GPUs */
    CUcontext dst_context, src_context; /* theirs, if it is */
} copy;

static ek_status copy_plain(const copy *copy, void *dst, const void *src, int64_t bytes)
{
    CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;
    if (copy->peer)
        EK_CUDA_QUEUE_TRY(
            copy->queue, call, cuMemcpyPeerAsync,
            (to, copy->dst_context, from, copy->src_context, (size_t)bytes, copy->stream));
    else
        EK_CUDA_QUEUE_TRY(copy->queue, call, cuMemcpyAsync,
                          (to, from, (size_t)bytes, copy->stream));
    return EK_OK;
}

static ek_status copy_peer_pitched(const copy *copy)
{
    CUDA_MEMCPY3D_PEER what = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = (CUdeviceptr)copy->src,
        .srcContext = copy->src_context,
        .srcPitch = (size_t)copy->src_pitch,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = (CUdeviceptr)copy->dst,
        .dstContext = copy->dst_context,
        .dstPitch = (size_t)copy->dst_pitch,
        .WidthInBytes = (size_t)copy->width,
        .Height = (size_t)copy->rows,
        .Depth = 1,
    };
    EK_CUDA_QUEUE_TRY(copy->queue, call, cuMemcpy3DPeerAsync, (&what, copy->stream));
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
        return copy->peer ? copy_peer_pitched(copy) : copy_pitched(copy);
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

/* Memory on the other GPU lives in its primary context, which is kept for as long as the call. */
static ek_status enqueue_peer(const ek_device *device, copy *copy, int32_t dst_index,
                              int32_t src_index)
{
    CUcontext mine = ek_cuda_device_of(device)->context, other = NULL;
    CUdevice handle;
    EK_CUDA_TRY(call, cuDeviceGet, (&handle, dst_index == device->index ? src_index : dst_index));
    EK_CUDA_TRY(call, cuDevicePrimaryCtxRetain, (&other, handle));
    copy->peer = true;
    copy->dst_context = dst_index == device->index ? mine : other;
    copy->src_context = src_index == device->index ? mine : other;
    ek_status status = enqueue_guarded(device, copy);
    ek_cu.cuDevicePrimaryCtxRelease(handle);
    return status != EK_OK ? status : ek_cuda_given(copy->queue, "copy");
}

/* Host memory the driver does not know of; it may move or be reused as soon as the call returns. */
static bool is_pageable(ek_device_type type, const void *memory)
{
    CUmemorytype known = 0;
    if (type != EK_DEVICE_CPU)
        return false;
    CUresult result =
        ek_cu.cuPointerGetAttribute(&known, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)memory);
    return result != CUDA_SUCCESS || known != CU_MEMORYTYPE_HOST;
}

static CUmemorytype memory_type(ek_device_type type)
{
    return type == EK_DEVICE_CUDA ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

/* Pageable memory may be somewhere else when the program runs, and the context of another GPU is
 * kept for the length of a call only. */
ek_status ek_cuda_record_transfer(ek_queue *queue, const void *dst, ek_device_type dst_type,
                                  int32_t dst_index, const void *src, ek_device_type src_type,
                                  int32_t src_index)
{
    (void)queue;
    if (dst_type == EK_DEVICE_CUDA && src_type == EK_DEVICE_CUDA && dst_index != src_index)
        return ek_fail(EK_UNSUPPORTED,
                       "%s: queue is recording: a program cannot copy from one GPU to another",
                       call);
    bool dst_pageable = is_pageable(dst_type, dst);
    if (dst_pageable || is_pageable(src_type, src))
        return ek_fail(EK_UNSUPPORTED,
                       "%s: queue is recording: %s is pageable host memory, which a program cannot "
                       "use: it must be pinned",
                       call, dst_pageable ? "dst" : "src");
    return EK_OK;
}

ek_status ek_cuda_transfer(ek_queue *queue, void *dst, int64_t dst_pitch, ek_device_type dst_type,
                           int32_t dst_index, const void *src, int64_t src_pitch,
                           ek_device_type src_type, int32_t src_index, int64_t width, int64_t rows)
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
    if (dst_type == EK_DEVICE_CUDA && src_type == EK_DEVICE_CUDA && dst_index != src_index)
        return enqueue_peer(device, &copy, dst_index, src_index);
    EK_TRY(ek_recorded(queue, enqueue_guarded(device, &copy)));
    if (is_pageable(dst_type, dst) || is_pageable(src_type, src))
        EK_CUDA_QUEUE_TRY(queue, call, cuStreamSynchronize, (copy.stream));
    return ek_cuda_given(queue, "copy");
}
