/* Several devices: what reaches which, and who decides. */
#include <pthread.h>
#include <string.h>

#include "check_guards.h"
#include "einkorn/event.h"
#include "einkorn/memory.h"
#include "einkorn/ops/add.h"
#include "einkorn/ops/copy.h"
#include "einkorn/ops/sum.h"
#include "einkorn/ops/where.h"
#include "fake.h"

static ek_array row(ek_device *device, float *data, const int64_t *length)
{
    return ek_array_view(data, EK_F32, device, 1, (int64_t *)length);
}

/* O001: a device that is not used gets no context. */
START_TEST(unused_devices_stay_asleep)
{
    const int64_t length = 4;
    float host[] = {1, 2, 3, 4}, back[4] = {0};
    ek_device *cpu = NULL;
    OK(ek_device_open("cpu", &cpu));
    ek_queue *queue = fake_queue("cuda:1");
    float *x = fake_floats(queue, 4);
    ek_array on_device = row(ek_queue_device(queue), x, &length);
    ek_array in = row(cpu, host, &length), out = row(cpu, back, &length);
    OK(ek_copy(queue, &on_device, &in));
    OK(ek_add_f32(queue, 4, x, x, x)); /* which the fake only notes */
    OK(ek_copy(queue, &out, &on_device));
    OK(ek_queue_sync(queue));
    ck_assert_mem_eq(host, back, sizeof host);
    unsigned flags;
    int active[FAKE_DEVICES];
    for (int device = 0; device < FAKE_DEVICES; device++)
        fake.state(device, &flags, &active[device]);
    ck_assert_int_eq(active[0], 0);
    ck_assert_int_eq(active[1], 1);
    OK(ek_free(queue, x));
    ek_queue_close(queue);
    ek_device_close(cpu);
}
END_TEST

/* O002: calls on two devices in turns, freed in the opposite order of allocation. */
START_TEST(devices_take_turns)
{
    enum { TURNS = 100, N = 8 };
    CUcontext mine = fake_set_current(_i - 1);
    ek_queue *queue[FAKE_DEVICES];
    float *x[FAKE_DEVICES];
    for (int device = 0; device < FAKE_DEVICES; device++) {
        queue[device] = fake_queue(fake_device_names[device]);
        x[device] = fake_floats(queue[device], N);
    }
    for (int turn = 1; turn <= TURNS; turn++) {
        for (int device = 0; device < FAKE_DEVICES; device++) {
            OK(ek_add_f32(queue[device], N, x[device], x[device], x[device]));
            ck_assert_int_eq(fake.kernels_of(device), turn);
            ck_assert_ptr_eq(fake.last_launch().stream, ek_queue_stream(queue[device]));
        }
    }
    for (int device = FAKE_DEVICES - 1; device >= 0; device--)
        OK(ek_free(queue[device], x[device]));
    for (int device = 0; device < FAKE_DEVICES; device++)
        ek_queue_close(queue[device]);
    ck_assert_ptr_eq(fake_current(), mine);
    ck_assert_int_eq(fake.context_failures(), 0);
}
END_TEST

typedef struct handed_over {
    ek_queue *queue;
    float *x;
    ek_status status;
    CUcontext after;
} handed_over;

static void *use_elsewhere(void *argument)
{
    handed_over *h = argument;
    h->status = ek_add_f32(h->queue, 8, h->x, h->x, h->x);
    h->after = fake_current();
    return NULL;
}

/* O005: the queue alone decides where a call runs, in a thread that has opened nothing and never
 * had a context. */
START_TEST(queues_decide)
{
    pthread_t thread;
    fake_set_current(0);
    handed_over h = {.queue = fake_queue("cuda:1"), .status = EK_DEVICE_ERROR};
    h.x = fake_floats(h.queue, 8);
    pthread_create(&thread, NULL, use_elsewhere, &h);
    pthread_join(thread, NULL);
    ck_assert_int_eq(h.status, EK_OK);
    ck_assert_ptr_null(h.after);
    ck_assert_int_eq(fake.kernels_of(1), 1);
    ck_assert_int_eq(fake.kernels_of(0), 0);
    OK(ek_free(h.queue, h.x));
    ek_queue_close(h.queue);
}
END_TEST

/* O006: an operand in host memory, or of another GPU, is refused before anything is launched and
 * changes nothing for later calls. */
START_TEST(operands_of_elsewhere)
{
    const int64_t length = 2;
    float values[] = {1, 2};
    ek_b8 which[] = {1, 0};
    ek_device *cpu = NULL;
    OK(ek_device_open("cpu", &cpu));
    ek_queue *queue = fake_queue("cuda:1"), *other = fake_queue("cuda:0");
    float *x = fake_floats(queue, 4), *far = fake_floats(other, 2);
    ek_array here = row(ek_queue_device(queue), x, &length);
    ek_array out = row(ek_queue_device(queue), x + 2, &length);
    ek_array wrong[] = {row(cpu, values, &length), row(ek_queue_device(other), far, &length)};
    ek_array mask = here;
    mask = ek_array_view(which, EK_B8, cpu, 1, (int64_t *)&length);
    int calls = fake.calls(NULL);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(ek_add(queue, &here, &wrong[i], &out), EK_DEVICE_MISMATCH);
        ck_assert_ptr_nonnull(strstr(ek_error_message(), "ek_add: y is on "));
        ck_assert_int_eq(ek_add(queue, &wrong[i], &here, &out), EK_DEVICE_MISMATCH);
        ck_assert_int_eq(ek_add(queue, &here, &here, &wrong[i]), EK_DEVICE_MISMATCH);
        ck_assert_int_eq(ek_sum(queue, &wrong[i], 0, NULL, false, &out), EK_DEVICE_MISMATCH);
    }
    ck_assert_int_eq(ek_where(queue, &mask, &here, &here, &out), EK_DEVICE_MISMATCH);
    ck_assert_int_eq(fake.calls(NULL), calls);
    OK(ek_add(queue, &here, &here, &out));
    ck_assert_int_eq(fake.kernels_of(1), 1);
    OK(ek_free(queue, x));
    OK(ek_free(other, far));
    ek_queue_close(other);
    ek_queue_close(queue);
    ek_device_close(cpu);
}
END_TEST

TCase *devices_case(void)
{
    TCase *devices = tcase_create("devices");
    tcase_add_test(devices, unused_devices_stay_asleep);
    tcase_add_loop_test(devices, devices_take_turns, 0, FAKE_DEVICES + 1);
    tcase_add_test(devices, queues_decide);
    tcase_add_test(devices, operands_of_elsewhere);
    return devices;
}
