#include "limits.h"

#include <string.h>

#include "error.h"
#include "limits_cpu.h"
#include "rotation.h"
#include "timing.h"

enum { MOST = 256, LEAST_BYTES = 1024 };

/* Cold arrays on the CPU are as good as arrays of this size. */
static const int64_t cold_bytes = INT64_C(1) << 29;

static struct {
    bool cuda;
    traffic t;
    int32_t threads;
    double gbps;
} memory[MOST];

static struct {
    bool cuda;
    ek_dtype dtype;
    int64_t size;
    int32_t threads;
    double gflops;
} products[MOST];

static int memory_count, product_count;

static bool on_cuda(ek_queue *queue)
{
    return ek_device_get_type(ek_queue_device(queue)) == EK_DEVICE_CUDA;
}

static int32_t threads_of(ek_queue *queue)
{
    return on_cuda(queue) ? 1 : ek_queue_threads(queue);
}

/* Copies between arrays of half the bytes each. */
typedef struct copying {
    ek_queue *queue;
    rotation sets;
} copying;

static ek_status copy_calls(void *context, int64_t calls)
{
    copying *c = context;
    for (int64_t i = 0; i < calls; i++) {
        operand_set *set = rotation_next(&c->sets);
        EK_TRY(ek_copy(c->queue, &set->array[0], &set->array[1]));
    }
    return EK_OK;
}

static ek_status measure_copy(ek_queue *queue, const traffic *moved, double least_ns, double *gbps)
{
    copying c = {.queue = queue};
    int64_t half = moved->bytes / 2;
    const view views[] = {view_of_shape(1, &half), view_of_shape(1, &half)};
    const ek_dtype dtypes[] = {EK_U8, EK_U8};
    timing t;
    ek_status status = rotation_open(&c.sets, queue, moved->cold, 2, dtypes, views);
    if (status == EK_OK)
        status = timing_measure(queue, copy_calls, &c, least_ns, &t);
    if (status == EK_OK)
        *gbps = 2.0 * (double)half / t.ns;
    rotation_close(&c.sets, queue);
    return status;
}

ek_status limits_memory(ek_queue *queue, const traffic *t, double least_ns, double *gbps)
{
    *gbps = 0;
    if (t->bytes < LEAST_BYTES)
        return EK_OK;
    traffic moved = *t;
    if (on_cuda(queue)) {
        moved.reads = 1;
        moved.writes = true;
    } else if (moved.cold) {
        moved.bytes = cold_bytes;
    }
    for (int i = 0; i < memory_count; i++) {
        if (memory[i].cuda == on_cuda(queue) && memory[i].threads == threads_of(queue) &&
            memory[i].t.reads == moved.reads && memory[i].t.writes == moved.writes &&
            memory[i].t.cold == moved.cold && memory[i].t.bytes == moved.bytes) {
            *gbps = memory[i].gbps;
            return EK_OK;
        }
    }
    if (on_cuda(queue))
        EK_TRY(measure_copy(queue, &moved, least_ns, gbps));
    else
        EK_TRY(limits_cpu_memory(queue, &moved, least_ns, gbps));
    if (memory_count < MOST) {
        memory[memory_count].cuda = on_cuda(queue);
        memory[memory_count].t = moved;
        memory[memory_count].threads = threads_of(queue);
        memory[memory_count++].gbps = *gbps;
    }
    return EK_OK;
}

/* The fast matrix product, where no library can be called directly. */
typedef struct product {
    ek_queue *queue;
    problem p;
    rotation sets;
} product;

static ek_status product_calls(void *context, int64_t calls)
{
    product *c = context;
    for (int64_t i = 0; i < calls; i++) {
        operand_set *set = rotation_next(&c->sets);
        const ek_array *in[] = {&set->array[1], &set->array[2]};
        ek_array *out = &set->array[0];
        EK_TRY(ek_apply(c->queue, c->p.op, in, c->p.param_count, c->p.params, &out));
    }
    return EK_OK;
}

static const ek_op_info *find_library_gemm(ek_dtype dtype, const ek_loop **loop)
{
    for (int32_t i = 0; i < ek_op_count; i++) {
        if (problem_form_of(ek_ops[i]) != FORM_GEMM || strcmp(ek_ops[i]->bits, "library") != 0)
            continue;
        for (int32_t k = 0; k < ek_ops[i]->loop_count; k++) {
            if (ek_ops[i]->loops[k].out[0] != dtype)
                continue;
            *loop = &ek_ops[i]->loops[k];
            return ek_ops[i];
        }
    }
    return NULL;
}

static ek_status measure_product(ek_queue *queue, ek_dtype dtype, int64_t size, double least_ns,
                                 double *gflops)
{
    product c = {.queue = queue};
    const ek_loop *loop = NULL;
    const ek_op_info *op = find_library_gemm(dtype, &loop);
    if (!op || !ek_op_has_variant(op, (ek_variant)queue->variant))
        return EK_OK;
    const int64_t shape[] = {size, size};
    const view matrix = view_of_shape(2, shape), views[] = {matrix, matrix, matrix};
    const ek_dtype dtypes[] = {dtype, dtype, dtype};
    timing t;
    problem_init(&c.p, op, loop, 2, shape);
    ek_status status = rotation_open(&c.sets, queue, on_cuda(queue), 3, dtypes, views);
    if (status == EK_OK)
        status = timing_measure(queue, product_calls, &c, least_ns, &t);
    if (status == EK_OK)
        *gflops = limits_gemm_flops(dtype, size) / t.ns;
    rotation_close(&c.sets, queue);
    return status;
}

ek_status limits_gemm(ek_queue *queue, ek_dtype dtype, int64_t size, double least_ns,
                      double *gflops)
{
    for (int i = 0; i < product_count; i++) {
        if (products[i].cuda == on_cuda(queue) && products[i].dtype == dtype &&
            products[i].size == size && products[i].threads == threads_of(queue)) {
            *gflops = products[i].gflops;
            return EK_OK;
        }
    }
    *gflops = 0;
    if (on_cuda(queue))
        EK_TRY(measure_product(queue, dtype, size, least_ns, gflops));
    else
        EK_TRY(limits_cpu_gemm(queue, dtype, size, least_ns, gflops));
    if (product_count<MOST && * gflops> 0) {
        products[product_count].cuda = on_cuda(queue);
        products[product_count].dtype = dtype;
        products[product_count].size = size;
        products[product_count].threads = threads_of(queue);
        products[product_count++].gflops = *gflops;
    }
    return EK_OK;
}

double limits_gemm_flops(ek_dtype dtype, int64_t size)
{
    double products_of_numbers = (double)size * (double)size * (double)size;
    return (dtype == EK_C64 || dtype == EK_C128 ? 8.0 : 2.0) * products_of_numbers;
}

void limits_write(json *out)
{
    json_array(out, "memory");
    for (int i = 0; i < memory_count; i++) {
        json_object(out, NULL);
        json_string(out, "device", memory[i].cuda ? "cuda" : "cpu");
        json_int(out, "reads", memory[i].t.reads);
        json_int(out, "writes", memory[i].t.writes);
        json_string(out, "cache", memory[i].t.cold ? "cold" : "hot");
        json_int(out, "bytes", memory[i].t.bytes);
        json_int(out, "threads", memory[i].threads);
        json_number(out, "gbps", memory[i].gbps);
        json_end(out);
    }
    json_end(out);
    json_array(out, "gemm");
    for (int i = 0; i < product_count; i++) {
        json_object(out, NULL);
        json_string(out, "device", products[i].cuda ? "cuda" : "cpu");
        json_string(out, "dtype", ek_dtype_name(products[i].dtype));
        json_int(out, "size", products[i].size);
        json_int(out, "threads", products[i].threads);
        json_number(out, "gflops", products[i].gflops);
        json_end(out);
    }
    json_end(out);
}
