/* All 2^32 inputs: blocks of them, shared out over the processors. Each worker has queues of its
 * own with one thread each, since results do not depend on threads (verify_loop compares that). */
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "verify.h"

static const int64_t block = (INT64_C(1) << 32) / VERIFY_BLOCKS;

bool verify_can_exhaust(const ek_op_info *op, const ek_loop *loop)
{
    return problem_form_of(op) == FORM_ELEMENTWISE && op->inputs == 1 && loop->in[0] == EK_F32;
}

typedef struct shared {
    const ek_op_info *op;
    const ek_loop *loop;
    int device_count;
    char **devices;
    void (*done)(int64_t blocks);
    _Atomic int64_t next, finished;
    _Atomic int status; /* the first failure stops everyone */
} shared;

static ek_status work(shared *s, verifier *v)
{
    problem p;
    problem_init(&p, s->op, s->loop, 1, &block);
    EK_TRY(verifier_open(v, false, s->device_count, s->devices, NULL));
    while (atomic_load(&s->status) == EK_OK) {
        int64_t index = atomic_fetch_add(&s->next, 1);
        if (index >= VERIFY_BLOCKS)
            break;
        EK_TRY(verify_call(v, &p, SAMPLE_ALL, index * block, false));
        int64_t finished = atomic_fetch_add(&s->finished, 1) + 1;
        if (omp_get_thread_num() == 0)
            s->done(finished);
    }
    return EK_OK;
}

ek_status verify_exhaustive(verifier *v, const ek_op_info *op, const ek_loop *loop,
                            int device_count, char **devices, void (*done)(int64_t blocks))
{
    shared s = {
        .op = op, .loop = loop, .device_count = device_count, .devices = devices, .done = done};
    char message[512] = ""; /* a failure's text belongs to the thread that failed */
#pragma omp parallel
    {
        verifier own;
        memset(&own, 0, sizeof own);
        verifier_clear(&own);
        ek_status status = work(&s, &own);
#pragma omp critical
        {
            if (status != EK_OK && atomic_load(&s.status) == EK_OK) {
                atomic_store(&s.status, (int)status);
                snprintf(message, sizeof message, "%s", ek_error_message());
            }
            if (status == EK_OK)
                verifier_merge(v, &own);
        }
        verifier_close(&own);
    }
    ek_status status = (ek_status)atomic_load(&s.status);
    return status == EK_OK ? EK_OK : ek_fail(status, "%s", message);
}
