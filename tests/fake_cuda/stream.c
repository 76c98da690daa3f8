#include "driver.h"

#include <stdlib.h>

bool fake_is_open(CUstream stream)
{
    if (stream->capture)
        stream->capture->broken = true;
    return !stream->capture;
}

CUstream fake_stream(CUstream stream)
{
    static struct CUstream_st defaults[MAX_DEVICES];
    CUcontext context = fake_current();
    if (stream && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD)
        return stream;
    if (!context)
        return NULL;
    pthread_mutex_lock(&fake_lock);
    defaults[context->device].context = context;
    pthread_mutex_unlock(&fake_lock);
    return &defaults[context->device];
}

CUresult CUDAAPI cuStreamCreate(CUstream *stream, unsigned int flags)
{
    ENTER("cuStreamCreate");
    NEED_CONTEXT(NULL);
    REQUIRE(flags <= CU_STREAM_NON_BLOCKING, CUDA_ERROR_INVALID_VALUE);
    *stream = malloc(sizeof **stream);
    REQUIRE(*stream, CUDA_ERROR_OUT_OF_MEMORY);
    **stream = (struct CUstream_st){.context = fake_current()};
    fake_change_alive(1);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamDestroy(CUstream stream)
{
    CUresult result = fake_released(fake_enter("cuStreamDestroy"), stream->context);
    fake_finish(stream);
    free(stream);
    fake_change_alive(-1);
    return result;
}

CUresult CUDAAPI cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    ENTER("cuStreamGetCtx");
    REQUIRE(stream, CUDA_ERROR_INVALID_HANDLE);
    *context = stream->context;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    ENTER("cuStreamIsCapturing");
    REQUIRE(stream, CUDA_ERROR_INVALID_HANDLE);
    *status = stream->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamQuery(CUstream stream)
{
    ENTER("cuStreamQuery");
    REQUIRE(stream, CUDA_ERROR_INVALID_HANDLE);
    NEED_WORKING(stream->context);
    NEED_OPEN(stream);
    return fake_is_done(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream)
{
    ENTER("cuStreamSynchronize");
    stream = fake_stream(stream);
    REQUIRE(stream && stream->context->retained > 0, CUDA_ERROR_INVALID_HANDLE);
    NEED_WORKING(stream->context);
    NEED_OPEN(stream);
    fake_finish(stream);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    ENTER("cuStreamWaitEvent");
    stream = fake_stream(stream);
    REQUIRE(stream && event, CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(flags == 0, CUDA_ERROR_INVALID_VALUE);
    NEED_WORKING(stream->context);
    NEED_OPEN(stream);
    fake_do_wait(stream, event);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    ENTER("cuCtxSynchronize");
    NEED_CONTEXT(NULL);
    return CUDA_SUCCESS;
}
