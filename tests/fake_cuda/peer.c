/* Copies from one device to another. EK_FAKE_PEERS says how that goes: "yes" (the default), "no"
 * (the devices cannot reach each other's memory) or "broken" (they say they can). The last two copy
 * nothing and report nothing, as real drivers did. */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

static bool peers_are(const char *what)
{
    const char *peers = getenv("EK_FAKE_PEERS");
    return strcmp(peers ? peers : "yes", what) == 0;
}

static bool on_device(const void *memory, size_t bytes, int device)
{
    block *known = fake_find_block(memory, bytes);
    return known && known->device == device;
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    ENTER("cuDeviceCanAccessPeer");
    REQUIRE(device != peer, CUDA_ERROR_INVALID_DEVICE);
    *can = !peers_are("no");
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
                                   CUcontext src_context, size_t bytes, CUstream stream)
{
    ENTER("cuMemcpyPeerAsync");
    REQUIRE(stream && dst_context->retained > 0 && src_context->retained > 0,
            CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE(on_device((void *)dst, bytes, dst_context->device) &&
                on_device((void *)src, bytes, src_context->device),
            CUDA_ERROR_INVALID_VALUE);
    node node = {.dst = (char *)dst, .src = (char *)src, .width = bytes, .rows = 1};
    return peers_are("yes") ? fake_submit(&node, stream) : CUDA_SUCCESS;
}
