#include "driver.h"

#include <stdint.h>
#include <string.h>

/* Memory the driver does not know may be the host's own; known memory must hold all the bytes. */
static bool readable(const void *memory, size_t bytes)
{
    return fake_find_block(memory, bytes) || !fake_find_block(memory, 1);
}

static bool on_device(const void *memory, size_t bytes, int device)
{
    block *known = fake_find_block(memory, bytes);
    return known && (device < 0 ? known->device >= 0 : known->device == device);
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr memory, unsigned char value, size_t bytes,
                                 CUstream stream)
{
    ENTER("cuMemsetD8Async");
    block *known = fake_find_block((void *)memory, bytes);
    REQUIRE(stream && known && known->device == stream->context->device, CUDA_ERROR_INVALID_VALUE);
    node node = {.dst = (char *)memory, .value = value, .width = bytes};
    return fake_submit(&node, stream);
}

static CUresult copy_rows(CUstream stream, void *dst, size_t dst_pitch, const void *src,
                          size_t src_pitch, size_t width, size_t rows)
{
    node node = {.dst = dst, .src = src, .dst_pitch = dst_pitch, .src_pitch = src_pitch};
    node.width = width;
    node.rows = rows;
    return fake_submit(&node, stream);
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    ENTER("cuMemcpyAsync");
    stream = fake_stream(stream);
    REQUIRE(stream, CUDA_ERROR_INVALID_CONTEXT);
    NEED_CONTEXT(stream->context);
    REQUIRE(readable((void *)dst, bytes) && readable((void *)src, bytes), CUDA_ERROR_INVALID_VALUE);
    return copy_rows(stream, (void *)dst, 0, (void *)src, 0, bytes, 1);
}

/* The last byte of rows that a pitched copy touches, plus one. */
static size_t extent(size_t pitch, size_t width, size_t rows)
{
    return (rows - 1) * pitch + width;
}

static bool pitches_fit(size_t dst_pitch, size_t src_pitch, size_t width)
{
    return dst_pitch >= width && src_pitch >= width && dst_pitch <= INT32_MAX &&
           src_pitch <= INT32_MAX;
}

CUresult CUDAAPI cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    ENTER("cuMemcpy2DAsync");
    NEED_CONTEXT(stream->context);
    bool to_host = copy->dstMemoryType == CU_MEMORYTYPE_HOST;
    bool from_host = copy->srcMemoryType == CU_MEMORYTYPE_HOST;
    char *dst = to_host ? copy->dstHost : (char *)copy->dstDevice;
    const char *src = from_host ? copy->srcHost : (const char *)copy->srcDevice;
    size_t dst_bytes = extent(copy->dstPitch, copy->WidthInBytes, copy->Height);
    size_t src_bytes = extent(copy->srcPitch, copy->WidthInBytes, copy->Height);
    REQUIRE(pitches_fit(copy->dstPitch, copy->srcPitch, copy->WidthInBytes) && copy->Height > 0 &&
                (to_host ? readable(dst, dst_bytes) : on_device(dst, dst_bytes, -1)) &&
                (from_host ? readable(src, src_bytes) : on_device(src, src_bytes, -1)),
            CUDA_ERROR_INVALID_VALUE);
    return copy_rows(stream, dst, copy->dstPitch, src, copy->srcPitch, copy->WidthInBytes,
                     copy->Height);
}
