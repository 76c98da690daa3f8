/* What a call costs in a recorded program, beside calls one by one and, on a GPU, beside graphs
 * made of bare launches. */
#include <stdio.h>

#include "clock.h"
#include "einkorn/array.h"
#include "einkorn/event.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"
#include "einkorn/program.h"
#include "error.h"
#include "overhead.h"

enum { CALLS = 100, LARGEST = 1000 };

typedef struct programs {
    ek_device *device;
    ek_queue *queue;
    ek_program *program;
    int64_t n;
    float *x, *y, *out;
    ek_array arrays[3];
} programs;

static ek_status open_programs(programs *p, const char *name)
{
    float **operands[] = {&p->x, &p->y, &p->out};
    EK_TRY(ek_device_open(name, &p->device));
    EK_TRY(ek_queue_open(p->device, &p->queue));
    for (int i = 0; i < 3; i++)
        EK_TRY(ek_alloc(p->queue, LARGEST * sizeof(float), (void **)operands[i]));
    for (int i = 0; i < LARGEST && ek_device_get_type(p->device) == EK_DEVICE_CPU; i++)
        p->x[i] = p->y[i] = 1;
    return EK_OK;
}

static void close_programs(programs *p)
{
    ek_program_close(p->program);
    if (p->queue) {
        ek_free(p->queue, p->x);
        ek_free(p->queue, p->y);
        ek_free(p->queue, p->out);
    }
    ek_queue_close(p->queue);
    ek_device_close(p->device);
}

static ek_status call_once(programs *p)
{
    for (int i = 0; i < CALLS; i++)
        EK_TRY(ek_add_f32(p->queue, p->n, p->x, p->y, p->out));
    return EK_OK;
}

/* Makes the program, in place of an earlier one, for arrays of n elements. */
static ek_status record(programs *p, int64_t n)
{
    p->n = n;
    ek_program_close(p->program);
    p->program = NULL;
    EK_TRY(ek_record_begin(p->queue));
    ek_status status = call_once(p);
    ek_status ended = ek_record_end(p->queue, &p->program);
    return status == EK_OK ? ended : status;
}

/* Reports what a call costs that is one of CALLS. */
static ek_status report(result *r, measure_fn *work, measure_fn *beside, void *context,
                        int64_t most)
{
    EK_TRY(measure(work, beside, context, most, &r->time));
    r->time.ns /= CALLS;
    r->time.beside_ns /= CALLS;
    overhead_add(r);
    return EK_OK;
}

/* ---- on the CPU */

static ek_status run_program(void *context, int64_t times, double *ns)
{
    programs *p = context;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++)
        EK_TRY(ek_program_run(p->queue, p->program));
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status call_typed(void *context, int64_t times, double *ns)
{
    programs *p = context;
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++)
        EK_TRY(call_once(p));
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status call_arrays(void *context, int64_t times, double *ns)
{
    programs *p = context;
    double start = clock_ns();
    for (int64_t i = 0; i < times * CALLS; i++)
        EK_TRY(ek_add(p->queue, &p->arrays[0], &p->arrays[1], &p->arrays[2]));
    *ns = clock_ns() - start;
    return EK_OK;
}

static ek_status measure_cpu(programs *p)
{
    static const int64_t sizes[] = {16, LARGEST};
    float *data[] = {p->x, p->y, p->out};
    const struct {
        const char *beside;
        measure_fn *work;
    } peers[] = {{"ek_add_f32", call_typed}, {"ek_add", call_arrays}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        EK_TRY(record(p, sizes[i]));
        for (int k = 0; k < 3; k++)
            p->arrays[k] = ek_array_view(data[k], EK_F32, p->device, 1, &p->n);
        for (size_t k = 0; k < sizeof peers / sizeof peers[0]; k++) {
            result r = {.device = "cpu", .beside = peers[k].beside, .goal = GOAL_SPEED, .bound = 1};
            snprintf(r.what, sizeof r.what, "call of a program of %d, add, n = %d", CALLS,
                     (int)p->n);
            EK_TRY(report(&r, run_program, peers[k].work, p, 1 << 16));
        }
    }
    return EK_OK;
}

static ek_status overhead_cpu(void)
{
    programs p = {0};
    ek_status status = open_programs(&p, "cpu");
    if (status == EK_OK)
        status = measure_cpu(&p);
    close_programs(&p);
    return status;
}

/* ---- on a GPU */

#if EK_HAVE_CUDA

#    include "cuda/guard.h"
#    include "cuda/queue.h"

/* Runs of a round: below what a stream takes before the host has to wait. */
enum { MOST_RUNS = 8, MOST_TIMED_RUNS = 256 };

typedef struct gpu {
    programs p;
    CUgraphExec same, empty; /* the graphs made by hand */
    CUgraphExec by_hand;     /* the one of the present measurement; null: typed calls */
    ek_event *start, *end;
} gpu;

static CUfunction launched; /* what the last typed call launched, and how */
static unsigned launched_blocks, launched_threads;

static CUresult CUDAAPI note_launch(CUfunction kernel, unsigned blocks_x, unsigned blocks_y,
                                    unsigned blocks_z, unsigned threads_x, unsigned threads_y,
                                    unsigned threads_z, unsigned shared, CUstream stream,
                                    void **params, void **extra)
{
    (void)blocks_y;
    (void)blocks_z;
    (void)threads_y;
    (void)threads_z;
    (void)shared;
    (void)stream;
    (void)params;
    (void)extra;
    launched = kernel;
    launched_blocks = blocks_x;
    launched_threads = threads_x;
    return CUDA_SUCCESS;
}

/* CALLS launches of a kernel, one after the other, as the driver makes a graph of them. */
static ek_status make_graph(const gpu *g, CUfunction kernel, unsigned blocks, unsigned threads,
                            void **params, CUgraphExec *made)
{
    static const char call[] = "bare graph";
    CUstream stream = ek_cuda_stream_of(g->p.queue);
    CUgraph graph;
    ek_cuda_guard guard;
    EK_CUDA_TRY(call, cuStreamBeginCapture, (stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    for (int i = 0; i < CALLS; i++)
        EK_CUDA_TRY(call, cuLaunchKernel,
                    (kernel, blocks, 1, 1, threads, 1, 1, 0, stream, params, NULL));
    EK_CUDA_TRY(call, cuStreamEndCapture, (stream, &graph));
    EK_TRY(ek_cuda_guard_enter(call, g->p.device, &guard));
    CUresult result = ek_cu.cuGraphInstantiate(made, graph, 0);
    ek_cuda_guard_leave(&guard);
    ek_cu.cuGraphDestroy(graph);
    return result == CUDA_SUCCESS ? EK_OK : ek_cuda_fail(call, "cuGraphInstantiate", result);
}

/* The launch that a typed call makes; its arguments are as generated/cuda/add.cu has them. */
static ek_status make_same(gpu *g)
{
    __typeof__(cuLaunchKernel) *launch = ek_cu.cuLaunchKernel;
    ek_cu.cuLaunchKernel = note_launch;
    ek_status status = ek_add_f32(g->p.queue, g->p.n, g->p.x, g->p.y, g->p.out);
    ek_cu.cuLaunchKernel = launch;
    void *params[] = {&g->p.n, &g->p.out, &g->p.x, &g->p.y};
    EK_TRY(status);
    return make_graph(g, launched, launched_blocks, launched_threads, params, &g->same);
}

static ek_status make_empty(gpu *g)
{
    static const char ptx[] = ".version 7.8\n.target sm_70\n.address_size 64\n"
                              ".visible .entry empty()\n{\n    ret;\n}\n";
    static const char call[] = "empty kernel";
    CUlibrary library;
    CUkernel kernel;
    EK_CUDA_TRY(call, cuLibraryLoadData, (&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    EK_CUDA_TRY(call, cuLibraryGetKernel, (&kernel, library, "empty"));
    return make_graph(g, (CUfunction)kernel, launched_blocks, launched_threads, NULL, &g->empty);
}

static ek_status run_by_hand(gpu *g)
{
    if (!g->by_hand)
        return call_once(&g->p);
    EK_CUDA_TRY("bare graph", cuGraphLaunch, (g->by_hand, ek_cuda_stream_of(g->p.queue)));
    return EK_OK;
}

static ek_status host_program(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    EK_TRY(ek_queue_sync(g->p.queue));
    EK_TRY(run_program(&g->p, times, ns));
    return ek_queue_sync(g->p.queue);
}

static ek_status host_by_hand(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    EK_TRY(ek_queue_sync(g->p.queue));
    double start = clock_ns();
    for (int64_t i = 0; i < times; i++)
        EK_TRY(run_by_hand(g));
    *ns = clock_ns() - start;
    return ek_queue_sync(g->p.queue);
}

static ek_status elapsed(const gpu *g, double *ns)
{
    EK_TRY(ek_event_record(g->end, g->p.queue));
    EK_TRY(ek_event_sync(g->end));
    return ek_event_elapsed(g->start, g->end, ns);
}

static ek_status device_program(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    EK_TRY(ek_event_record(g->start, g->p.queue));
    for (int64_t i = 0; i < times; i++)
        EK_TRY(ek_program_run(g->p.queue, g->p.program));
    return elapsed(g, ns);
}

static ek_status device_by_hand(void *context, int64_t times, double *ns)
{
    gpu *g = context;
    EK_TRY(ek_event_record(g->start, g->p.queue));
    for (int64_t i = 0; i < times; i++)
        EK_TRY(run_by_hand(g));
    return elapsed(g, ns);
}

static ek_status measure_gpu(gpu *g)
{
    EK_TRY(record(&g->p, 16));
    EK_TRY(make_same(g));
    EK_TRY(make_empty(g));
    const struct {
        const char *beside;
        CUgraphExec graph;
    } peers[] = {{"graph of bare launches", g->same},
                 {"graph of empty kernels", g->empty},
                 {"ek_add_f32, one by one", NULL}};
    const struct {
        const char *clock;
        measure_fn *work, *beside;
        int64_t most;
    } clocks[] = {{"host", host_program, host_by_hand, MOST_RUNS},
                  {"device", device_program, device_by_hand, MOST_TIMED_RUNS}};
    for (size_t c = 0; c < sizeof clocks / sizeof clocks[0]; c++) {
        for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++) {
            result r = {.device = "cuda",
                        .beside = peers[i].beside,
                        .goal = i == 0 ? GOAL_SPEED : GOAL_NONE,
                        .bound = 0.83};
            g->by_hand = peers[i].graph;
            snprintf(r.what, sizeof r.what, "call of a program of %d, add, n = 16, %s time", CALLS,
                     clocks[c].clock);
            EK_TRY(report(&r, clocks[c].work, clocks[c].beside, g, clocks[c].most));
        }
    }
    return EK_OK;
}

static ek_status overhead_gpu(void)
{
    gpu g = {0};
    if (ek_device_count(EK_DEVICE_CUDA) == 0)
        return EK_OK; /* overhead_launch says so */
    ek_status status = open_programs(&g.p, "cuda");
    if (status == EK_OK)
        status = ek_event_open(g.p.device, &g.start);
    if (status == EK_OK)
        status = ek_event_open(g.p.device, &g.end);
    if (status == EK_OK)
        status = measure_gpu(&g);
    ek_event_close(g.start);
    ek_event_close(g.end);
    if (g.same)
        ek_cu.cuGraphExecDestroy(g.same);
    if (g.empty)
        ek_cu.cuGraphExecDestroy(g.empty);
    close_programs(&g.p);
    return status;
}

#endif

ek_status overhead_program(void)
{
    EK_TRY(overhead_cpu());
#if EK_HAVE_CUDA
    EK_TRY(overhead_gpu());
#endif
    return EK_OK;
}
