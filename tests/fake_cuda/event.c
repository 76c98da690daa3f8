#include "driver.h"

#include <stdlib.h>

CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned int flags)
{
    ENTER("cuEventCreate");
    NEED_CONTEXT(NULL);
    REQUIRE(flags < 8, CUDA_ERROR_INVALID_VALUE);
    *event = malloc(sizeof **event);
    REQUIRE(*event, CUDA_ERROR_OUT_OF_MEMORY);
    **event = (struct CUevent_st){.context = fake_current(), .references = 1};
    fake_change_alive(1);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventDestroy(CUevent event)
{
    CUresult result = fake_released(fake_enter("cuEventDestroy"), event->context);
    fake_drop_event(event);
    fake_change_alive(-1);
    return result;
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream)
{
    ENTER("cuEventRecord");
    stream = fake_stream(stream);
    REQUIRE(event && stream && event->context == stream->context, CUDA_ERROR_INVALID_HANDLE);
    NEED_WORKING(stream->context);
    NEED_OPEN(stream);
    fake_do_record(event, stream);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventQuery(CUevent event)
{
    ENTER("cuEventQuery");
    REQUIRE(event, CUDA_ERROR_INVALID_HANDLE);
    NEED_WORKING(event->context);
    return fake_is_reached(event) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult CUDAAPI cuEventSynchronize(CUevent event)
{
    ENTER("cuEventSynchronize");
    REQUIRE(event, CUDA_ERROR_INVALID_HANDLE);
    NEED_WORKING(event->context);
    fake_finish_event(event);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    ENTER("cuEventElapsedTime");
    REQUIRE(start && end && start->marks && end->marks, CUDA_ERROR_INVALID_HANDLE);
    NEED_WORKING(start->context);
    *milliseconds = 0.5f;
    return CUDA_SUCCESS;
}
