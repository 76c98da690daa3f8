#include "bench_json.h"

#include <unistd.h>

#include "einkorn/version.h"
#include "error.h"
#include "json.h"
#include "limits.h"

static void write_row(json *out, const bench_row *row)
{
    char dtype[PROBLEM_DTYPE_TEXT];
    problem_dtype_text(row->op, row->loop, dtype);
    json_object(out, NULL);
    json_string(out, "op", row->name);
    json_string(out, "dtype", dtype);
    json_string(out, "device", row->device);
    json_string(out, "variant", row->variant);
    json_string(out, "call", row->call);
    json_array(out, "shape");
    for (int32_t d = 0; d < row->ndim; d++)
        json_int(out, NULL, row->shape[d]);
    json_end(out);
    if (row->input[0][0]) {
        json_array(out, "inputs");
        for (int32_t i = 0; i < row->op->inputs; i++)
            json_string(out, NULL, row->input[i]);
        json_end(out);
    }
    json_string(out, "params", row->params);
    json_string(out, "cache", row->cold ? "cold" : "hot");
    if (row->threads)
        json_int(out, "threads", row->threads);
    else
        json_null(out, "threads");
    json_number(out, "ns", row->time.ns);
    json_number(out, "best_ns", row->time.best_ns);
    json_number(out, "spread", row->time.spread);
    if (row->time.host_ns > 0)
        json_number(out, "host_ns", row->time.host_ns);
    json_number(out, row->gemm ? "gflops" : "gbps", row->rate);
    if (row->limit > 0) {
        json_number(out, "limit", row->limit);
        json_number(out, "share", row->rate / row->limit);
    } else {
        json_null(out, "limit");
        json_null(out, "share");
    }
    if (row->arithmetic > 0)
        json_int(out, "arithmetic", row->arithmetic);
    if (row->goal > 0)
        json_number(out, "goal", row->goal);
    json_end(out);
}

static void write_cache(json *out, const char *key, int name)
{
    long bytes = sysconf(name);
    if (bytes > 0)
        json_int(out, key, bytes);
    else
        json_null(out, key);
}

ek_status bench_json_write(ek_queue *queue, int32_t threads, int64_t count, const bench_row *rows)
{
    ek_device *cpu;
    EK_TRY(ek_device_open("cpu", &cpu));
    json out = json_begin(stdout);
    json_object(&out, "machine");
    json_string(&out, "cpu", ek_device_model(cpu));
    json_int(&out, "threads", threads);
    write_cache(&out, "l1_bytes", _SC_LEVEL1_DCACHE_SIZE);
    write_cache(&out, "l2_bytes", _SC_LEVEL2_CACHE_SIZE);
    write_cache(&out, "l3_bytes", _SC_LEVEL3_CACHE_SIZE);
    json_string(&out, "device", ek_device_name(ek_queue_device(queue)));
    json_string(&out, "model", ek_device_model(ek_queue_device(queue)));
    json_string(&out, "version", EK_VERSION);
    json_end(&out);
    ek_device_close(cpu);
    json_object(&out, "limits");
    limits_write(&out);
    json_end(&out);
    json_array(&out, "rows");
    for (int64_t i = 0; i < count; i++)
        write_row(&out, &rows[i]);
    json_end(&out);
    json_finish(&out);
    return EK_OK;
}
