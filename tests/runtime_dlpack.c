/* Arrays that come from and go to other libraries. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check_runtime.h"
#include "dlpack.h"
#include "einkorn/ops/add.h"

#ifdef HAVE_DLPACK_DLPACK_H
#    include <dlpack/dlpack.h>
#endif

enum { N = 6 };

/* ---- the structs */

#define SAME_PLACE(ours, our_field, theirs, their_field)                                           \
    ck_assert_uint_eq(offsetof(ours, our_field), offsetof(theirs, their_field))

START_TEST(structs_are_dlpack)
{
    /* As the ABI of version 1 says, where DLPack's header is older or missing. */
    ck_assert_uint_eq(offsetof(ek_managed_versioned, version), 0);
    ck_assert_uint_eq(offsetof(ek_managed_versioned, context), 8);
    ck_assert_uint_eq(offsetof(ek_managed_versioned, deleter), 16);
    ck_assert_uint_eq(offsetof(ek_managed_versioned, flags), 24);
    ck_assert_uint_eq(offsetof(ek_managed_versioned, array), 32);
    ck_assert_uint_eq(offsetof(ek_managed, context), 48);
    ck_assert_uint_eq(offsetof(ek_managed, deleter), 56);
#ifdef HAVE_DLPACK_DLPACK_H
    ck_assert_uint_eq(sizeof(ek_managed), sizeof(DLManagedTensor));
    SAME_PLACE(ek_managed, array, DLManagedTensor, dl_tensor);
    SAME_PLACE(ek_managed, context, DLManagedTensor, manager_ctx);
    SAME_PLACE(ek_managed, deleter, DLManagedTensor, deleter);
#    ifdef DLPACK_MAJOR_VERSION
    ck_assert_int_eq(EK_DLPACK_MAJOR, DLPACK_MAJOR_VERSION);
    ck_assert_uint_eq(EK_DLPACK_READ_ONLY, DLPACK_FLAG_BITMASK_READ_ONLY);
    ck_assert_uint_eq(sizeof(ek_managed_versioned), sizeof(DLManagedTensorVersioned));
    SAME_PLACE(ek_managed_versioned, version.major, DLManagedTensorVersioned, version.major);
    SAME_PLACE(ek_managed_versioned, version.minor, DLManagedTensorVersioned, version.minor);
    SAME_PLACE(ek_managed_versioned, context, DLManagedTensorVersioned, manager_ctx);
    SAME_PLACE(ek_managed_versioned, deleter, DLManagedTensorVersioned, deleter);
    SAME_PLACE(ek_managed_versioned, flags, DLManagedTensorVersioned, flags);
    SAME_PLACE(ek_managed_versioned, array, DLManagedTensorVersioned, dl_tensor);
#    endif
#endif
}
END_TEST

/* ---- taking */

/* Another library's tensor of two by three floats, transposed, and how often it was released. */
static float theirs[N];
static int64_t their_shape[] = {3, 2}, their_strides[] = {1, 3};
static int released;
static ek_managed plain;
static ek_managed_versioned versioned;

static void delete_plain(ek_managed *self)
{
    released += self == &plain;
}

static void delete_versioned(ek_managed_versioned *self)
{
    released += self == &versioned;
}

static void make_theirs(void)
{
    ek_array array = ek_array_view(theirs, EK_F32, ek_cpu, 2, their_shape);
    array.strides = their_strides;
    for (int i = 0; i < N; i++)
        theirs[i] = (float)i;
    plain = (ek_managed){array, NULL, delete_plain};
    versioned = (ek_managed_versioned){{1, 7}, NULL, delete_versioned, 0, array};
    released = 0;
}

#define PLAIN ((struct DLManagedTensor *)&plain)
#define VERSIONED ((struct DLManagedTensorVersioned *)&versioned)

START_TEST(taken_tensors_are_views)
{
    make_theirs();
    for (int i = 0; i < 2; i++) {
        ek_dlpack taken;
        float out[N];
        EK_MUST(i ? ek_dlpack_take(VERSIONED, &taken) : ek_dlpack_take_unversioned(PLAIN, &taken));
        ek_array sum = ek_array_view(out, EK_F32, ek_cpu, 2, their_shape);
        EK_MUST(ek_add(ek_cpu_queue, &taken.array, &taken.array, &sum));
        for (int j = 0; j < N; j++)
            ck_assert(out[j] == 2 * theirs[j % 2 * 3 + j / 2]);
        EK_MUST(ek_add(ek_cpu_queue, &taken.array, &taken.array, &taken.array));
        ck_assert_int_eq(released, i);
        EK_MUST(ek_dlpack_release(i ? ek_cpu_queue : NULL, &taken));
        EK_MUST(ek_dlpack_release(NULL, &taken));
        ck_assert_int_eq(released, i + 1);
    }
    EK_MUST(ek_dlpack_release(NULL, NULL));
    ck_assert(theirs[1] == 4);
}
END_TEST

START_TEST(read_only_is_told)
{
    ek_dlpack taken;
    make_theirs();
    for (uint64_t flags = 0; flags < 8; flags++) {
        versioned.flags = flags;
        EK_MUST(ek_dlpack_take(VERSIONED, &taken));
        ck_assert_int_eq(taken.read_only, flags & 1);
    }
    plain.deleter = NULL; /* nothing to do is allowed */
    EK_MUST(ek_dlpack_take_unversioned(PLAIN, &taken));
    EK_MUST(ek_dlpack_release(NULL, &taken));
}
END_TEST

START_TEST(refused_tensors_stay_theirs)
{
    ek_dlpack taken;
    make_theirs();
    EK_MUST_REFUSE(ek_dlpack_take(NULL, &taken), EK_INVALID_ARGUMENT, "tensor is null");
    EK_MUST_REFUSE(ek_dlpack_take(VERSIONED, NULL), EK_INVALID_ARGUMENT, "taken is null");
    versioned.version.major = 2;
    EK_MUST_REFUSE(ek_dlpack_take(VERSIONED, &taken), EK_UNSUPPORTED, "version 2.7");
    plain.array.type.lanes = 4;
    EK_MUST_REFUSE(ek_dlpack_take_unversioned(PLAIN, &taken), EK_DTYPE_MISMATCH, "type code 2");
    make_theirs();
    plain.array.device.type = 10; /* ROCm */
    EK_MUST_REFUSE(ek_dlpack_take_unversioned(PLAIN, &taken), EK_DEVICE_MISMATCH, "type 10");
    make_theirs();
    plain.array.ndim = EK_MAX_NDIM + 1;
    EK_MUST_REFUSE(ek_dlpack_take_unversioned(PLAIN, &taken), EK_INVALID_ARGUMENT, "dimensions");
    make_theirs();
    plain.array.data = NULL;
    EK_MUST_REFUSE(ek_dlpack_take_unversioned(PLAIN, &taken), EK_INVALID_ARGUMENT, "tensor");
    ck_assert_int_eq(released, 0);
}
END_TEST

/* ---- lending */

static void count(void *context)
{
    ++*(int *)context;
}

START_TEST(lent_arrays_come_back_once)
{
    struct DLManagedTensorVersioned *tensor;
    struct DLManagedTensor *unversioned;
    float x[N];
    int64_t shape[] = {2, 3}, strides[] = {3, 1};
    int back = 0;
    ek_array array = ek_array_view(x, EK_F32, ek_cpu, 2, shape);
    EK_MUST(ek_dlpack_lend(&array, 1, count, &back, &tensor));
    EK_MUST(ek_dlpack_lend_unversioned(&array, count, &back, &unversioned));
    shape[0] = shape[1] = -1; /* no longer needed */
    ek_managed_versioned *v = (ek_managed_versioned *)tensor;
    ek_managed *p = (ek_managed *)unversioned;
    ck_assert_uint_eq(v->flags, EK_DLPACK_READ_ONLY);
    ck_assert_uint_eq(v->version.major, 1);
    ck_assert_ptr_eq(v->array.data, x);
    ck_assert_int_eq(v->array.shape[0], 2);
    ck_assert_mem_eq(p->array.strides, strides, sizeof strides);
    ck_assert_int_eq(back, 0);
    v->deleter(v);
    ck_assert_int_eq(back, 1);
    p->deleter(p);
    ck_assert_int_eq(back, 2);
    array.ndim = -1;
    EK_MUST_REFUSE(ek_dlpack_lend(&array, 0, count, &back, &tensor), EK_INVALID_ARGUMENT,
                   "dimensions");
    ck_assert_int_eq(back, 2);
}
END_TEST

/* ---- giving */

static void *delete_elsewhere(void *tensor)
{
    ek_managed_versioned *managed = tensor;
    managed->deleter(managed);
    return NULL;
}

/* The memory outlives its queue and device, and goes in another thread. */
START_TEST(given_arrays_are_on_their_own)
{
    struct DLManagedTensorVersioned *tensor;
    struct DLManagedTensor *unversioned;
    int64_t shape[] = {2, 3};
    ek_device *device;
    ek_queue *queue;
    ek_array array, other;
    pthread_t thread;
    EK_MUST(ek_device_open("cpu", &device));
    EK_MUST(ek_queue_open(device, &queue));
    EK_MUST(ek_array_alloc(queue, EK_I64, 2, shape, &array));
    EK_MUST(ek_array_alloc(queue, EK_I64, 2, shape, &other));
    int64_t *data = array.data;
    EK_MUST(ek_dlpack_give(queue, &array, &tensor));
    EK_MUST(ek_dlpack_give_unversioned(queue, &other, &unversioned));
    ck_assert_ptr_null(array.data);
    ck_assert_ptr_null(other.shape);
    ek_queue_close(queue);
    ek_device_close(device);
    ek_managed_versioned *v = (ek_managed_versioned *)tensor;
    ck_assert_ptr_eq(v->array.data, data);
    for (int i = 0; i < N; i++)
        data[i] = i;
    pthread_create(&thread, NULL, delete_elsewhere, v);
    pthread_join(thread, NULL);
    ek_managed *p = (ek_managed *)unversioned;
    p->deleter(p);
    EK_MUST_REFUSE(ek_dlpack_give(NULL, &array, &tensor), EK_INVALID_ARGUMENT, "queue is null");
}
END_TEST

/* What is given and taken again is the same memory. */
START_TEST(there_and_back)
{
    struct DLManagedTensorVersioned *tensor;
    int64_t shape[] = {5};
    ek_array array;
    ek_dlpack taken;
    EK_MUST(ek_array_alloc(ek_cpu_queue, EK_BF16, 1, shape, &array));
    void *data = array.data;
    EK_MUST(ek_dlpack_give(ek_cpu_queue, &array, &tensor));
    EK_MUST(ek_dlpack_take(tensor, &taken));
    ck_assert_ptr_eq(taken.array.data, data);
    ck_assert_int_eq(taken.array.shape[0], 5);
    EK_MUST(ek_dlpack_release(ek_cpu_queue, &taken));
}
END_TEST

START_TEST(cpu_has_no_streams)
{
    int stream;
    EK_MUST(ek_queue_wait_stream(ek_cpu_queue, NULL));
    EK_MUST(ek_queue_signal_stream(ek_cpu_queue, NULL));
    EK_MUST_REFUSE(ek_queue_wait_stream(ek_cpu_queue, &stream), EK_UNSUPPORTED, "no streams");
    EK_MUST_REFUSE(ek_queue_signal_stream(NULL, NULL), EK_INVALID_ARGUMENT, "queue is null");
}
END_TEST

TCase *ek_dlpack_case(void)
{
    TCase *dlpack = tcase_create("dlpack");
    tcase_add_checked_fixture(dlpack, ek_open_cpu, ek_close_cpu);
    tcase_add_test(dlpack, structs_are_dlpack);
    tcase_add_test(dlpack, taken_tensors_are_views);
    tcase_add_test(dlpack, read_only_is_told);
    tcase_add_test(dlpack, refused_tensors_stay_theirs);
    tcase_add_test(dlpack, lent_arrays_come_back_once);
    tcase_add_test(dlpack, given_arrays_are_on_their_own);
    tcase_add_test(dlpack, there_and_back);
    tcase_add_test(dlpack, cpu_has_no_streams);
    return dlpack;
}
