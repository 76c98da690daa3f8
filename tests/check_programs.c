/* Recorded programs: every operation of the table gives the same bits from a program as from a
 * call, on any queue of the device; what a recording refuses, and what it leaves behind. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "einkorn/event.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"
#include "einkorn/ops/copy.h"
#include "einkorn/ops/fill.h"
#include "einkorn/ops/gemm.h"
#include "einkorn/ops/mul.h"
#include "einkorn/ops/sum.h"
#include "einkorn/program.h"
#include "subject.h"
#include "values.h"

enum { N = 64 };

#define MUST(call) ck_assert_msg((call) == EK_OK, "%s: %s", #call, ek_error_message())

#define REFUSED(call, wanted, word)                                                                \
    do {                                                                                           \
        ek_status refused = (call);                                                                \
        ck_assert_msg(refused == (wanted), "%s gives %s", #call, ek_status_name(refused));         \
        ck_assert_msg(strstr(ek_error_message(), word) != NULL, "%s: no '%s' in: %s", #call, word, \
                      ek_error_message());                                                         \
    } while (0)

/* The place that a loop test is for. */
static const ek_place *place_of(int index)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    return index < count ? &places[index] : NULL;
}

static ek_queue *open_queue(const ek_place *place)
{
    ek_queue *queue;
    MUST(ek_queue_open(ek_queue_device(place->queue), &queue));
    return queue;
}

static void *upload(const ek_place *place, const void *host, size_t bytes)
{
    void *memory;
    MUST(ek_alloc(place->queue, bytes, &memory));
    ek_upload(place, memory, host, bytes);
    return memory;
}

/* Four arrays of N floats: ones, twos, and two of zeros. */
typedef struct arrays {
    float *one, *two, *zero, *out;
} arrays;

static float *floats(const ek_place *place, float value)
{
    float host[N];
    for (int i = 0; i < N; i++)
        host[i] = value;
    return upload(place, host, sizeof host);
}

static arrays open_arrays(const ek_place *place)
{
    return (arrays){floats(place, 1), floats(place, 2), floats(place, 0), floats(place, 0)};
}

static void close_arrays(const ek_place *place, arrays *a)
{
    MUST(ek_free(place->queue, a->one));
    MUST(ek_free(place->queue, a->two));
    MUST(ek_free(place->queue, a->zero));
    MUST(ek_free(place->queue, a->out));
}

static void check_floats(const ek_place *place, const float *x, float value)
{
    float host[N];
    ek_download(place, host, x, sizeof host);
    for (int i = 0; i < N; i++) {
        if (host[i] != value)
            ck_abort_msg("%s: element %d is %g: should be %g", place->name, i, (double)host[i],
                         (double)value);
    }
}

/* ---- every operation */

enum { CALLED, RECORDED }; /* the results of a subject */

/* Whether the output of the call and that of the program have the same bytes. */
static bool same_bytes(const ek_subject *s)
{
    void *call = ek_subject_download(s, CALLED), *program = ek_subject_download(s, RECORDED);
    bool same = memcmp(call, program, s->bytes) == 0;
    free(call);
    free(program);
    return same;
}

/* Recorded with one set of values and run with another (O025), on `queue`. Products take up what is
 * in the output, so that is the same for both. */
static void check_subject(ek_subject *s, ek_queue *queue)
{
    char text[160];
    ek_program *program = NULL;
    ek_subject_describe(s, text, sizeof text);
    ek_subject_fill(s, 1);
    ek_subject_poison(s, RECORDED);
    MUST(ek_record_begin(s->place->queue));
    ek_status status = ek_subject_call(s, s->place->queue, RECORDED);
    ck_assert_msg(status == EK_OK, "%s: %s", text, ek_error_message());
    MUST(ek_record_end(s->place->queue, &program));
    if (!ek_subject_is_poisoned(s, RECORDED))
        ck_abort_msg("%s: worked while it was recorded", text);
    for (uint64_t run = 2; run < 4; run++) {
        ek_subject_fill(s, run);
        ek_subject_poison(s, RECORDED);
        ek_subject_poison(s, CALLED);
        MUST(ek_subject_call(s, s->place->queue, CALLED));
        MUST(ek_queue_sync(s->place->queue));
        status = ek_program_run(queue, program);
        ck_assert_msg(status == EK_OK, "%s: %s", text, ek_error_message());
        MUST(ek_queue_sync(queue));
        if (!same_bytes(s))
            ck_abort_msg("%s: run %d differs from the call", text, (int)run - 1);
    }
    ek_program_close(program);
}

static void check_problem(const ek_place *place, ek_queue *queue, const ek_op_info *op,
                          const ek_loop *loop, int32_t ndim, const int64_t *shape, unsigned axes)
{
    for (int strided = 0; strided < 2; strided++) {
        ek_subject s;
        ek_subject_layout layout = {ndim, shape, axes, strided};
        if (!ek_subject_open(&s, place, op, loop, &layout))
            continue;
        check_subject(&s, queue);
        ek_subject_close(&s);
    }
}

START_TEST(every_operation)
{
    static const int64_t small[] = {3, 5}, wide[] = {2, 9000};
    const ek_op_info *op = ek_ops[_i];
    const ek_place *place;
    for (int at = 0; (place = place_of(at)); at++) {
        ek_queue *other = open_queue(place);
        for (int32_t i = 0; i < op->loop_count; i++) {
            for (unsigned axes = problem_form_of(op) == FORM_REDUCTION ? 1 : 3; axes < 4; axes++)
                check_problem(place, other, op, &op->loops[i], 2, small, axes);
        }
        check_problem(place, other, op, &op->loops[op->loop_count - 1], 2, wide, 2);
        ek_queue_close(other);
    }
}
END_TEST

START_TEST(every_typed_call)
{
    static const int64_t lengths[][3] = {{3, 37, 1}, {2, 37, 5}, {1, 20000, 1}},
                         product[] = {2, 150, 70};
    const ek_typed_test *test = ek_typed_tests[_i];
    const ek_place *place;
    for (int at = 0; (place = place_of(at)); at++) {
        for (int i = 0; i < 3 * test->info->loop_count; i++) {
            ek_subject s;
            bool large = i % 3 == 2 && problem_form_of(test->info) == FORM_GEMM;
            ek_subject_open_typed(&s, place, test, i / 3, large ? product : lengths[i % 3]);
            check_subject(&s, place->queue);
            ek_subject_close(&s);
        }
    }
}
END_TEST

/* ---- what a program holds */

START_TEST(addresses_not_values)
{
    const ek_place *place = place_of(_i);
    if (!place)
        return;
    ek_queue *queue = place->queue;
    ek_program *program;
    arrays a = open_arrays(place);
    MUST(ek_record_begin(queue));
    MUST(ek_add_f32(queue, N, a.zero, a.one, a.zero));
    MUST(ek_fill_f32(queue, N / 2, 7, a.out));
    MUST(ek_fill_f32(queue, N / 2, 7, a.out + N / 2));
    MUST(ek_record_end(queue, &program));
    check_floats(place, a.zero, 0);
    for (int run = 1; run <= 3; run++) {
        MUST(ek_program_run(queue, program));
        check_floats(place, a.zero, (float)run);
        check_floats(place, a.out, 7);
    }
    MUST(ek_mul_f32(queue, N, a.two, a.two, a.one));
    MUST(ek_program_run(queue, program));
    check_floats(place, a.zero, 7);
    ek_program_close(program);
    close_arrays(place, &a);
}
END_TEST

/* Fills of every layout: the value is the recording's. */
START_TEST(fills_keep_their_value)
{
    const ek_place *place = place_of(_i);
    if (!place)
        return;
    ek_queue *queue = place->queue;
    ek_program *program;
    int64_t shape[] = {N / 8, 8}, columns[] = {1, N / 8};
    arrays a = open_arrays(place);
    ek_array out = ek_array_view(a.out, EK_F32, ek_queue_device(queue), 2, shape);
    ek_array turned = ek_array_view(a.zero, EK_F32, ek_queue_device(queue), 2, shape);
    turned.strides = columns;
    float value = 3;
    MUST(ek_record_begin(queue));
    MUST(ek_fill(queue, &value, &out));
    value = 4;
    MUST(ek_fill(queue, &value, &turned));
    MUST(ek_record_end(queue, &program));
    value = 5;
    MUST(ek_program_run(queue, program));
    check_floats(place, a.out, 3);
    check_floats(place, a.zero, 4);
    ek_program_close(program);
    close_arrays(place, &a);
}
END_TEST

START_TEST(empty_programs)
{
    const ek_place *place = place_of(_i);
    if (!place)
        return;
    ek_queue *queue = place->queue;
    ek_program *program;
    arrays a = open_arrays(place);
    MUST(ek_record_begin(queue));
    MUST(ek_record_end(queue, &program));
    MUST(ek_program_run(queue, program));
    ek_program_close(program);
    MUST(ek_record_begin(queue));
    MUST(ek_add_f32(queue, 0, a.one, a.one, a.out));
    MUST(ek_fill_f32(queue, 0, 1, a.out));
    MUST(ek_sum_f32(queue, 0, 4, 1, NULL, NULL));
    MUST(ek_record_end(queue, &program));
    MUST(ek_program_run(queue, program));
    check_floats(place, a.out, 0);
    ek_program_close(program);
    ek_program_close(NULL);
    close_arrays(place, &a);
}
END_TEST

/* Sums need room between their kernels. The room of a program is its own: larger work of the queue
 * that recorded it, other programs at the same time, and the end of that queue do not matter. */
START_TEST(workspaces_are_their_own)
{
    enum { SMALL = 100000, LARGE = 3000000, QUEUES = 3, RUNS = 20 };
    const ek_place *place = place_of(_i);
    if (!place)
        return;
    float *host = malloc(LARGE * sizeof *host), wanted[2], results[QUEUES], *x, *out;
    ek_queue *queues[QUEUES];
    ek_program *programs[QUEUES];
    ek_ordinary_values(EK_F32, 5, LARGE, host);
    x = upload(place, host, LARGE * sizeof *host);
    out = floats(place, 0);
    MUST(ek_sum_f32(place->queue, 1, SMALL, 1, x, out));
    MUST(ek_sum_f32(place->queue, 1, LARGE, 1, x, out + 1));
    ek_download(place, wanted, out, sizeof wanted);
    for (int i = 0; i < QUEUES; i++) {
        queues[i] = open_queue(place);
        MUST(ek_record_begin(queues[i]));
        MUST(ek_sum_f32(queues[i], 1, SMALL, 1, x, out + i));
        if (i == 1)
            MUST(ek_sum_f32(queues[i], 1, LARGE, 1, x, out + i));
        MUST(ek_record_end(queues[i], &programs[i]));
    }
    MUST(ek_sum_f32(queues[0], 1, LARGE, 1, x, out + 8));
    ek_queue_close(queues[0]);
    queues[0] = open_queue(place);
    for (int run = 0; run < RUNS; run++) {
        for (int i = 0; i < QUEUES; i++)
            MUST(ek_program_run(queues[(i + run) % QUEUES], programs[i]));
        MUST(ek_sum_f32(queues[2], 1, LARGE, 1, x, out + 9));
    }
    for (int i = 0; i < QUEUES; i++)
        MUST(ek_queue_sync(queues[i]));
    ek_download(place, results, out, sizeof results);
    for (int i = 0; i < QUEUES; i++)
        ck_assert_mem_eq(&results[i], &wanted[i == 1], sizeof *wanted);
    for (int i = 0; i < QUEUES; i++) {
        ek_program_close(programs[i]); /* while others may still run */
        ek_queue_close(queues[i]);
    }
    MUST(ek_free(place->queue, x));
    MUST(ek_free(place->queue, out));
    free(host);
}
END_TEST

/* ---- memory */

START_TEST(memory_of_a_program)
{
    const ek_place *place = place_of(_i);
    if (!place)
        return;
    ek_queue *queue = place->queue;
    ek_program *program;
    arrays a = open_arrays(place);
    void *first, *second, *third, *none = &none;
    MUST(ek_record_begin(queue));
    MUST(ek_alloc(queue, N * sizeof(float), &first));
    MUST(ek_alloc(queue, N * sizeof(float), &second));
    MUST(ek_alloc(queue, 0, &none));
    ck_assert_ptr_null(none);
    ck_assert_ptr_ne(first, second);
    MUST(ek_add_f32(queue, N, a.one, a.two, first));  /* 3 */
    MUST(ek_mul_f32(queue, N, first, a.two, second)); /* 6 */
    MUST(ek_free(queue, first));
    MUST(ek_alloc(queue, N * sizeof(float) / 2, &third));
    ck_assert_ptr_eq(third, first);
    MUST(ek_mul_f32(queue, N / 2, a.two, a.two, third)); /* 4 */
    MUST(ek_add_f32(queue, N / 2, third, second, a.out));
    MUST(ek_add_f32(queue, N / 2, third, (float *)second + N / 2, a.out + N / 2));
    REFUSED(ek_free(queue, a.one), EK_UNSUPPORTED, "ek_free: memory is ");
    MUST(ek_free(queue, second));
    REFUSED(ek_free(queue, second), EK_UNSUPPORTED, "ek_free: memory is ");
    MUST(ek_free(queue, NULL));
    MUST(ek_record_end(queue, &program));
    for (int run = 0; run < 2; run++) {
        MUST(ek_fill_f32(queue, N, 0, a.out));
        MUST(ek_program_run(queue, program));
        check_floats(place, a.out, 10);
    }
    MUST(ek_program_run(queue, program));
    ek_program_close(program);
    MUST(ek_queue_sync(queue));
    close_arrays(place, &a);
}
END_TEST

/* ---- refusals */

START_TEST(refused_calls_are_not_recorded)
{
    const ek_place *place = place_of(_i);
    if (!place)
        return;
    ek_queue *queue = place->queue;
    ek_program *program = NULL;
    ek_event *event;
    arrays a = open_arrays(place);
    int64_t length = N, other = N - 1;
    ek_array x = ek_array_view(a.one, EK_F32, ek_queue_device(queue), 1, &length);
    ek_array y = ek_array_view(a.two, EK_F32, ek_queue_device(queue), 1, &other);
    MUST(ek_event_open(ek_queue_device(queue), &event));
    MUST(ek_record_begin(queue));
    MUST(ek_add_f32(queue, N, a.zero, a.one, a.zero));
    REFUSED(ek_add_f32(queue, -1, a.zero, a.one, a.zero), EK_INVALID_ARGUMENT, "n is -1");
    REFUSED(ek_add_f32(queue, 4, a.zero, a.one, a.zero + 1), EK_OVERLAP, "overlaps");
    REFUSED(ek_add(queue, &x, &y, &x), EK_SHAPE_MISMATCH, "ek_add");
    REFUSED(ek_sum_f32(queue, 1, N, 1, NULL, a.out), EK_INVALID_ARGUMENT, "null");
    REFUSED(ek_record_begin(queue), EK_INVALID_ARGUMENT, "recording already");
    REFUSED(ek_record_end(queue, NULL), EK_INVALID_ARGUMENT, "program is null");
    REFUSED(ek_queue_sync(queue), EK_UNSUPPORTED, "ek_queue_sync: queue is recording");
    REFUSED(ek_event_record(event, queue), EK_UNSUPPORTED, "ek_event_record");
    REFUSED(ek_event_wait(event, queue), EK_UNSUPPORTED, "ek_event_wait");
    MUST(ek_record_end(queue, &program));
    check_floats(place, a.zero, 0);
    MUST(ek_program_run(queue, program));
    check_floats(place, a.zero, 1);
    MUST(ek_record_begin(queue));
    REFUSED(ek_program_run(queue, program), EK_UNSUPPORTED, "ek_program_run");
    ek_program *empty;
    MUST(ek_record_end(queue, &empty));
    MUST(ek_program_run(queue, empty));
    check_floats(place, a.zero, 1);
    ek_program_close(empty);
    ek_program_close(program);
    ek_event_close(event);
    close_arrays(place, &a);
}
END_TEST

START_TEST(program_arguments)
{
    const ek_place *place = place_of(_i);
    if (!place)
        return;
    ek_queue *queue = place->queue;
    ek_program *program = NULL;
    REFUSED(ek_record_begin(NULL), EK_INVALID_ARGUMENT, "queue is null");
    REFUSED(ek_record_end(NULL, &program), EK_INVALID_ARGUMENT, "queue is null");
    REFUSED(ek_record_end(queue, &program), EK_INVALID_ARGUMENT, "not recording");
    ck_assert_ptr_null(program);
    REFUSED(ek_program_run(queue, NULL), EK_INVALID_ARGUMENT, "program is null");
    MUST(ek_record_begin(queue));
    MUST(ek_record_end(queue, &program));
    REFUSED(ek_program_run(NULL, program), EK_INVALID_ARGUMENT, "queue is null");
    if (ek_testing_gpu()) {
        const ek_place *places;
        ek_places(&places);
        REFUSED(ek_program_run(places[0].queue, program), EK_DEVICE_MISMATCH,
                "queue is of cpu: the program is of cuda:0");
    }
    ek_program_close(program);
}
END_TEST

/* A queue closed while it records leaves nothing; the device goes on. */
START_TEST(dropped_recordings)
{
    const ek_place *place = place_of(_i);
    if (!place)
        return;
    arrays a = open_arrays(place);
    ek_queue *queue = open_queue(place);
    void *memory;
    MUST(ek_record_begin(queue));
    MUST(ek_alloc(queue, 1000, &memory));
    MUST(ek_add_f32(queue, N, a.one, a.two, a.out));
    ek_queue_close(queue);
    check_floats(place, a.out, 0);
    MUST(ek_add_f32(place->queue, N, a.one, a.two, a.out));
    check_floats(place, a.out, 3);
    close_arrays(place, &a);
}
END_TEST

/* ---- copies */

START_TEST(copies)
{
    const ek_place *place = place_of(_i);
    if (!place)
        return;
    ek_queue *queue = place->queue;
    ek_program *program;
    arrays a = open_arrays(place);
    int64_t shape[] = {N / 8, 8}, columns[] = {1, N / 8}, gaps[] = {16, 2};
    float host[2 * N];
    ek_array one = ek_array_view(a.one, EK_F32, ek_queue_device(queue), 2, shape);
    ek_array out = ek_array_view(a.out, EK_F32, ek_queue_device(queue), 2, shape);
    ek_array turned = ek_array_view(a.zero, EK_F32, ek_queue_device(queue), 2, shape);
    ek_array outside = one;
    turned.strides = columns;
    outside.data = host;
    outside.device.type = EK_DEVICE_CPU;
    MUST(ek_record_begin(queue));
    MUST(ek_copy(queue, &out, &one));
    MUST(ek_copy(queue, &turned, &out));
    if (ek_testing_gpu()) {
        REFUSED(ek_copy(queue, &outside, &out), EK_UNSUPPORTED, "dst is pageable");
        REFUSED(ek_copy(queue, &out, &outside), EK_UNSUPPORTED, "src is pageable");
        REFUSED(ek_copy(queue, &turned, &outside), EK_UNSUPPORTED, "src is pageable");
        outside.strides = gaps;
        REFUSED(ek_copy(queue, &outside, &out), EK_UNSUPPORTED, "dst is pageable");
    }
    MUST(ek_record_end(queue, &program));
    check_floats(place, a.out, 0);
    MUST(ek_program_run(queue, program));
    check_floats(place, a.out, 1);
    check_floats(place, a.zero, 1);
    ek_program_close(program);
    close_arrays(place, &a);
}
END_TEST

/* ---- threads, queues */

typedef struct handed {
    ek_queue *queue;
    ek_program *program;
    ek_status status;
} handed;

static void *end_recording(void *context)
{
    handed *h = context;
    h->status = ek_record_end(h->queue, &h->program);
    return NULL;
}

static void *run_program(void *context)
{
    handed *h = context;
    h->status = ek_program_run(h->queue, h->program);
    return NULL;
}

static void elsewhere(void *(*work)(void *), handed *h)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, h);
    pthread_join(thread, NULL);
    ck_assert_int_eq(h->status, EK_OK);
}

/* Begun in one thread, ended in another, run in a third on a queue that is not the recording one,
 * which is closed by then. */
START_TEST(handed_between_threads)
{
    const ek_place *place = place_of(_i);
    if (!place)
        return;
    arrays a = open_arrays(place);
    handed h = {.queue = open_queue(place)};
    MUST(ek_record_begin(h.queue));
    MUST(ek_add_f32(h.queue, N, a.one, a.two, a.out));
    elsewhere(end_recording, &h);
    ek_queue_close(h.queue);
    h.queue = place->queue;
    elsewhere(run_program, &h);
    check_floats(place, a.out, 3);
    ek_program_close(h.program);
    close_arrays(place, &a);
}
END_TEST

/* Two queues may record at the same time, while a third works. */
START_TEST(recordings_side_by_side)
{
    const ek_place *place = place_of(_i);
    if (!place)
        return;
    ek_program *programs[2];
    arrays a = open_arrays(place);
    ek_queue *queues[] = {open_queue(place), open_queue(place)};
    for (int i = 0; i < 2; i++)
        MUST(ek_record_begin(queues[i]));
    for (int i = 0; i < 2; i++)
        MUST(ek_add_f32(queues[i], N, i ? a.out : a.zero, a.one, i ? a.out : a.zero));
    MUST(ek_mul_f32(place->queue, N, a.two, a.two, a.two));
    check_floats(place, a.two, 4);
    MUST(ek_add_f32(queues[1], N, a.out, a.two, a.out));
    for (int i = 0; i < 2; i++)
        MUST(ek_record_end(queues[i], &programs[i]));
    MUST(ek_program_run(place->queue, programs[0]));
    MUST(ek_program_run(place->queue, programs[1]));
    check_floats(place, a.zero, 1);
    check_floats(place, a.out, 5);
    for (int i = 0; i < 2; i++) {
        ek_program_close(programs[i]);
        ek_queue_close(queues[i]);
    }
    close_arrays(place, &a);
}
END_TEST

/* The fast product, again and again, between products of the queue itself. */
START_TEST(products)
{
    enum { SIDE = 8 };
    const ek_place *place = place_of(_i);
    if (!place)
        return;
    ek_queue *queue = open_queue(place); /* that has made no product yet */
    ek_program *program;
    arrays a = open_arrays(place);
    ek_gemm_shape shape = ek_gemm_plain_shape(SIDE, SIDE, SIDE);
    MUST(ek_record_begin(queue));
    MUST(ek_gemm_f32(queue, &shape, 1, a.one, a.two, 1, a.out));
    MUST(ek_gemm_f32(queue, &shape, 2, a.out, a.two, 0, a.zero));
    MUST(ek_record_end(queue, &program));
    MUST(ek_gemm_f32(queue, &shape, 1, a.two, a.two, 0, a.zero));
    MUST(ek_queue_sync(queue));
    check_floats(place, a.zero, 32);
    check_floats(place, a.out, 0);
    MUST(ek_program_run(place->queue, program));
    check_floats(place, a.out, 16);
    check_floats(place, a.zero, 512);
    MUST(ek_program_run(queue, program));
    MUST(ek_gemm_f32(queue, &shape, 1, a.one, a.one, 0, a.two));
    MUST(ek_queue_sync(queue));
    check_floats(place, a.zero, 1024);
    check_floats(place, a.two, 8);
    ek_queue_close(queue);
    MUST(ek_program_run(place->queue, program));
    ek_program_close(program);
    MUST(ek_queue_sync(place->queue));
    close_arrays(place, &a);
}
END_TEST

static Suite *programs_suite(void)
{
    enum { MOST_PLACES = 6 };
    Suite *suite = suite_create("programs");
    TCase *operations = tcase_create("operations");
    tcase_set_timeout(operations, 120);
    tcase_add_loop_test(operations, every_operation, 0, ek_op_count);
    tcase_add_loop_test(operations, every_typed_call, 0, ek_typed_test_count);
    suite_add_tcase(suite, operations);
    TCase *programs = tcase_create("programs");
    tcase_set_timeout(programs, 60);
    tcase_add_loop_test(programs, addresses_not_values, 0, MOST_PLACES);
    tcase_add_loop_test(programs, fills_keep_their_value, 0, MOST_PLACES);
    tcase_add_loop_test(programs, empty_programs, 0, MOST_PLACES);
    tcase_add_loop_test(programs, workspaces_are_their_own, 0, MOST_PLACES);
    tcase_add_loop_test(programs, memory_of_a_program, 0, MOST_PLACES);
    tcase_add_loop_test(programs, refused_calls_are_not_recorded, 0, MOST_PLACES);
    tcase_add_loop_test(programs, program_arguments, 0, MOST_PLACES);
    tcase_add_loop_test(programs, dropped_recordings, 0, MOST_PLACES);
    tcase_add_loop_test(programs, copies, 0, MOST_PLACES);
    tcase_add_loop_test(programs, handed_between_threads, 0, MOST_PLACES);
    tcase_add_loop_test(programs, recordings_side_by_side, 0, MOST_PLACES);
    tcase_add_loop_test(programs, products, 0, MOST_PLACES);
    suite_add_tcase(suite, programs);
    return suite;
}

int main(void)
{
    ek_counts counts = {0, 0, 0};
    if (ek_testing_gpu() && ek_device_count(EK_DEVICE_CUDA) == 0) {
        printf("no GPU: its tests are skipped\n");
        counts.skipped = 1;
        return ek_end(&counts);
    }
    ek_run_suite(programs_suite(), &counts);
    return ek_end(&counts);
}
