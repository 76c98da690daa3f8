/* What einkorn bench measured, as JSON. */
#ifndef BENCH_JSON_H
#define BENCH_JSON_H

#include "bench_call.h"

/* Writes the machine, the limits and the rows to standard output. */
ek_status bench_json_write(ek_queue *queue, int32_t threads, int64_t count, const bench_row *rows);

#endif
