/* What streams are given, done at once or kept for a graph. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

struct CUgraphExec_st {
    struct CUgraph_st graph;
    CUcontext context;
};

int fake_synchronized(CUcontext context)
{
    pthread_mutex_lock(&fake_lock);
    int synchronized = context->synchronized;
    pthread_mutex_unlock(&fake_lock);
    return synchronized;
}

void fake_run(const node *node, CUstream stream)
{
    if (!node->launch.kernel && !node->src) {
        memset(node->dst, node->value, node->width);
        return;
    }
    if (!node->launch.kernel) {
        for (size_t row = 0; row < node->rows; row++)
            memmove(node->dst + row * node->dst_pitch, node->src + row * node->src_pitch,
                    node->width);
        return;
    }
    fake_note_launch(&node->launch, stream);
}

CUresult fake_submit(const node *node, CUstream stream)
{
    NEED_WORKING(stream->context);
    if (!stream->capture) {
        fake_do(node, stream);
        return CUDA_SUCCESS;
    }
    REQUIRE(stream->capture->count < MAX_NODES, CUDA_ERROR_OUT_OF_MEMORY);
    stream->capture->nodes[stream->capture->count++] = *node;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    ENTER("cuStreamBeginCapture");
    REQUIRE(stream && mode == CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_INVALID_VALUE);
    NEED_WORKING(stream->context);
    REQUIRE(!stream->capture, CUDA_ERROR_ILLEGAL_STATE);
    stream->capture = calloc(1, sizeof *stream->capture);
    REQUIRE(stream->capture, CUDA_ERROR_OUT_OF_MEMORY);
    stream->capture->synchronized = fake_synchronized(stream->context);
    fake_change_alive(1);
    return CUDA_SUCCESS;
}

/* Whatever it returns, the capture is over. */
CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    CUresult injected = fake_enter("cuStreamEndCapture");
    REQUIRE(stream && stream->capture, CUDA_ERROR_ILLEGAL_STATE);
    CUgraph captured = stream->capture;
    stream->capture = NULL;
    *graph = NULL;
    captured->broken |= captured->synchronized != fake_synchronized(stream->context);
    if (injected != CUDA_SUCCESS || captured->broken) {
        free(captured);
        fake_change_alive(-1);
        return injected != CUDA_SUCCESS ? injected : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    *graph = captured;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph)
{
    CUresult injected = fake_enter("cuGraphDestroy");
    free(graph);
    fake_change_alive(-1);
    return injected;
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *made, CUgraph graph, unsigned long long flags)
{
    ENTER("cuGraphInstantiate");
    NEED_CONTEXT(NULL);
    REQUIRE(graph && flags == 0, CUDA_ERROR_INVALID_VALUE);
    *made = malloc(sizeof **made);
    REQUIRE(*made, CUDA_ERROR_OUT_OF_MEMORY);
    (*made)->graph = *graph;
    (*made)->context = fake_current();
    fake_change_alive(1);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec graph)
{
    CUresult result = fake_released(fake_enter("cuGraphExecDestroy"), graph->context);
    free(graph);
    fake_change_alive(-1);
    return result;
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec graph, CUstream stream)
{
    ENTER("cuGraphLaunch");
    REQUIRE(graph && stream && stream->context == graph->context, CUDA_ERROR_INVALID_HANDLE);
    NEED_WORKING(stream->context);
    NEED_OPEN(stream);
    for (int i = 0; i < graph->graph.count; i++)
        fake_do(&graph->graph.nodes[i], stream);
    return CUDA_SUCCESS;
}
