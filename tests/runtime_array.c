/* Arrays: DLPack's layout, sizes, allocation. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "check_runtime.h"
#include "einkorn/array.h"
#include "einkorn/memory.h"

#ifdef HAVE_DLPACK_DLPACK_H
#    include <dlpack/dlpack.h>

#    define SAME(mine, theirs)                                                                     \
        do {                                                                                       \
            ck_assert_uint_eq(offsetof(ek_array, mine), offsetof(DLTensor, theirs));               \
            ck_assert_uint_eq(sizeof((ek_array *)0)->mine, sizeof((DLTensor *)0)->theirs);         \
        } while (0)

START_TEST(layout_is_dlpack)
{
    ck_assert_uint_eq(sizeof(ek_array), sizeof(DLTensor));
    SAME(data, data);
    SAME(device, device);
    SAME(device.type, device.device_type);
    SAME(device.index, device.device_id);
    SAME(ndim, ndim);
    SAME(type, dtype);
    SAME(type.code, dtype.code);
    SAME(type.bits, dtype.bits);
    SAME(type.lanes, dtype.lanes);
    SAME(shape, shape);
    SAME(strides, strides);
    SAME(byte_offset, byte_offset);
    ck_assert_int_eq(EK_DEVICE_CPU, kDLCPU);
    ck_assert_int_eq(EK_DEVICE_CUDA, kDLCUDA);
    ck_assert_int_eq(EK_DEVICE_CUDA_HOST, kDLCUDAHost);
    static const struct {
        ek_dtype dtype;
        DLDataTypeCode code;
    } codes[] = {{EK_I8, kDLInt},      {EK_I64, kDLInt},     {EK_U8, kDLUInt},
                 {EK_U64, kDLUInt},    {EK_F16, kDLFloat},   {EK_F64, kDLFloat},
                 {EK_BF16, kDLBfloat}, {EK_C64, kDLComplex}, {EK_C128, kDLComplex}};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        ek_array array = ek_array_view(NULL, codes[i].dtype, ek_cpu, 0, NULL);
        ck_assert_int_eq(array.type.code, codes[i].code);
    }
}
END_TEST
#endif

START_TEST(every_dtype_returns)
{
    for (int dtype = 0; dtype < EK_DTYPES; dtype++) {
        int64_t shape[] = {2, 3};
        ek_dtype got = EK_DTYPES;
        ek_array array = ek_array_view(shape, (ek_dtype)dtype, ek_cpu, 2, shape);
        EK_MUST(ek_array_dtype(&array, &got));
        ck_assert_int_eq(got, dtype);
        ck_assert_uint_eq(array.type.bits, 8 * ek_dtype_size(got));
        ck_assert_int_eq(array.type.lanes, 1);
        ck_assert_ptr_null(array.strides);
        ck_assert_ptr_eq(ek_array_data(&array), shape);
    }
}
END_TEST

START_TEST(other_types_are_refused)
{
    /* Every code, with widths that no dtype of it has. */
    static const struct {
        uint8_t code, bits;
        uint16_t lanes;
    } wrong[] = {{0, 1, 1},  {0, 128, 1}, {0, 0, 1},  {1, 4, 1},  {2, 8, 1},  {2, 128, 1},
                 {3, 64, 1}, {4, 32, 1},  {5, 32, 1}, {5, 16, 1}, {6, 1, 1},  {6, 16, 1},
                 {7, 8, 1},  {255, 8, 1}, {0, 8, 0},  {0, 8, 2},  {0, 24, 1}, {2, 255, 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ek_dtype dtype = EK_DTYPES;
        ek_array array = ek_array_view(NULL, EK_F32, ek_cpu, 0, NULL);
        array.type.code = wrong[i].code;
        array.type.bits = wrong[i].bits;
        array.type.lanes = wrong[i].lanes;
        EK_MUST_REFUSE(ek_array_dtype(&array, &dtype), EK_DTYPE_MISMATCH, "no dtype");
        ck_assert_int_eq(dtype, EK_DTYPES);
    }
    ek_dtype dtype;
    ek_array array = ek_array_view(NULL, EK_F32, ek_cpu, 0, NULL);
    EK_MUST_REFUSE(ek_array_dtype(NULL, &dtype), EK_INVALID_ARGUMENT, "array is null");
    EK_MUST_REFUSE(ek_array_dtype(&array, NULL), EK_INVALID_ARGUMENT, "dtype is null");
    EK_MUST_REFUSE(ek_dtype_parse("f32", NULL), EK_INVALID_ARGUMENT, "dtype is null");
}
END_TEST

START_TEST(messages_are_one_line)
{
    ek_dtype dtype;
    EK_MUST_REFUSE(ek_dtype_parse("f\n32", &dtype), EK_INVALID_ARGUMENT, "'f?32'");
}
END_TEST

static int64_t size_of(ek_dtype dtype, int32_t ndim, int64_t *shape)
{
    ek_array array = ek_array_view(NULL, dtype, ek_cpu, ndim, shape);
    int64_t size = -1;
    EK_MUST(ek_array_size(&array, &size));
    return size;
}

START_TEST(sizes)
{
    int64_t zero[] = {0}, two[] = {2, 3}, none[] = {0, 0, 2, 0}, ones[EK_MAX_NDIM];
    int64_t largest[] = {INT64_MAX}, row[] = {1, 0, 5};
    for (int d = 0; d < EK_MAX_NDIM; d++)
        ones[d] = 1;
    ck_assert_int_eq(size_of(EK_F32, 0, NULL), 1);
    ck_assert_int_eq(size_of(EK_F32, 1, zero), 0);
    ck_assert_int_eq(size_of(EK_F32, 2, two), 6);
    ck_assert_int_eq(size_of(EK_F32, 4, none), 0);
    ck_assert_int_eq(size_of(EK_F32, 3, row), 0);
    ck_assert_int_eq(size_of(EK_C128, EK_MAX_NDIM, ones), 1);
    ck_assert_int_eq(size_of(EK_I8, 1, largest), INT64_MAX);
}
END_TEST

START_TEST(sizes_are_refused)
{
    int64_t negative[] = {3, -1}, large[] = {INT64_C(1) << 32, INT64_C(1) << 32};
    int64_t hidden[] = {INT64_C(1) << 32, 0, INT64_C(1) << 32}, bytes[] = {INT64_C(1) << 62};
    int64_t size = -1;
    ek_array array = ek_array_view(NULL, EK_F32, ek_cpu, 2, negative);
    EK_MUST_REFUSE(ek_array_size(&array, &size), EK_INVALID_ARGUMENT, "(3, -1)");
    array.shape = large;
    EK_MUST_REFUSE(ek_array_size(&array, &size), EK_INVALID_ARGUMENT, "4294967296");
    array.ndim = 3;
    array.shape = hidden;
    EK_MUST_REFUSE(ek_array_size(&array, &size), EK_INVALID_ARGUMENT, "4294967296");
    array.ndim = 1;
    array.shape = bytes;
    EK_MUST_REFUSE(ek_array_size(&array, &size), EK_INVALID_ARGUMENT, "4611686018427387904");
    array.shape = NULL;
    EK_MUST_REFUSE(ek_array_size(&array, &size), EK_INVALID_ARGUMENT, "shape");
    array.ndim = -1;
    EK_MUST_REFUSE(ek_array_size(&array, &size), EK_INVALID_ARGUMENT, "ndim is -1");
    array.ndim = EK_MAX_NDIM + 1;
    EK_MUST_REFUSE(ek_array_size(&array, &size), EK_INVALID_ARGUMENT, "ndim is 33");
    EK_MUST_REFUSE(ek_array_size(NULL, &size), EK_INVALID_ARGUMENT, "array is null");
    EK_MUST_REFUSE(ek_array_size(&array, NULL), EK_INVALID_ARGUMENT, "size is null");
    ck_assert_int_eq(size, -1);
}
END_TEST

START_TEST(allocation)
{
    ek_array array;
    int64_t *shape = malloc(2 * sizeof *shape), size = 0;
    shape[0] = 5;
    shape[1] = 7;
    EK_MUST(ek_array_alloc(ek_cpu_queue, EK_F64, 2, shape, &array));
    free(shape); /* it may be temporary */
    ck_assert_int_eq(array.shape[0], 5);
    ck_assert_int_eq(array.shape[1], 7);
    ck_assert_int_eq(array.device.type, EK_DEVICE_CPU);
    EK_MUST(ek_array_size(&array, &size));
    ck_assert_int_eq(size, 35);
    memset(array.data, 0, 35 * sizeof(double));
    EK_MUST(ek_array_free(ek_cpu_queue, &array));
    ck_assert_ptr_null(array.data);
    ck_assert_ptr_null(array.shape);
    EK_MUST(ek_array_free(ek_cpu_queue, NULL));
    EK_MUST(ek_array_alloc(ek_cpu_queue, EK_I8, 0, NULL, &array));
    ck_assert_ptr_nonnull(array.data);
    EK_MUST(ek_array_free(ek_cpu_queue, &array));
}
END_TEST

START_TEST(allocation_is_refused)
{
    int64_t zero[] = {0, 4}, negative[] = {-4}, large[] = {INT64_C(1) << 58};
    ek_array array = {.ndim = 77};
    EK_MUST_REFUSE(ek_array_alloc(NULL, EK_F32, 1, zero, &array), EK_INVALID_ARGUMENT, "queue");
    EK_MUST_REFUSE(ek_array_alloc(ek_cpu_queue, EK_F32, 1, NULL, &array), EK_INVALID_ARGUMENT,
                   "shape");
    EK_MUST_REFUSE(ek_array_alloc(ek_cpu_queue, EK_F32, 1, zero, NULL), EK_INVALID_ARGUMENT,
                   "array");
    EK_MUST_REFUSE(ek_array_alloc(ek_cpu_queue, EK_DTYPES, 1, zero, &array), EK_INVALID_ARGUMENT,
                   "dtype is 15");
    EK_MUST_REFUSE(ek_array_alloc(ek_cpu_queue, EK_F32, -1, zero, &array), EK_INVALID_ARGUMENT,
                   "ndim is -1");
    EK_MUST_REFUSE(ek_array_alloc(ek_cpu_queue, EK_F32, 33, zero, &array), EK_INVALID_ARGUMENT,
                   "ndim is 33");
    EK_MUST_REFUSE(ek_array_alloc(ek_cpu_queue, EK_F32, 1, negative, &array), EK_INVALID_ARGUMENT,
                   "(-4,)");
    EK_MUST_REFUSE(ek_array_alloc(ek_cpu_queue, EK_F64, 1, large, &array), EK_OUT_OF_MEMORY, "");
    ck_assert_int_eq(array.ndim, 77);
    EK_MUST(ek_array_alloc(ek_cpu_queue, EK_F32, 2, zero, &array));
    ck_assert_ptr_null(array.data);
    EK_MUST(ek_array_free(ek_cpu_queue, &array));
}
END_TEST

START_TEST(empty_like)
{
    float cells[6];
    int64_t shape[] = {2, 3}, other[] = {4, 0, 5}, turned[] = {1, 2};
    ek_array like = ek_array_view(cells, EK_F32, ek_cpu, 2, shape), made = {0};
    like.strides = turned;
    EK_MUST(ek_empty_like(ek_cpu_queue, &like, EK_SAME_SHAPE, NULL, &made));
    ck_assert_int_eq(made.ndim, 2);
    ck_assert_int_eq(made.shape[1], 3);
    ck_assert_ptr_ne(made.shape, shape);
    ck_assert_ptr_null(made.strides);
    ck_assert_ptr_ne(made.data, cells);
    EK_MUST(ek_array_free(ek_cpu_queue, &made));
    EK_MUST(ek_empty_like(ek_cpu_queue, &like, 3, other, &made));
    ck_assert_int_eq(made.ndim, 3);
    ck_assert_int_eq(made.shape[2], 5);
    EK_MUST(ek_array_free(ek_cpu_queue, &made));
    EK_MUST(ek_empty_like(ek_cpu_queue, &like, 0, NULL, &made)); /* one element, not like's six */
    ck_assert_int_eq(made.ndim, 0);
    EK_MUST(ek_array_free(ek_cpu_queue, &made));
    EK_MUST_REFUSE(ek_empty_like(ek_cpu_queue, NULL, 0, NULL, &made), EK_INVALID_ARGUMENT,
                   "ek_empty_like: like is null");
    EK_MUST_REFUSE(ek_empty_like(NULL, &like, 0, NULL, &made), EK_INVALID_ARGUMENT, "queue");
    EK_MUST_REFUSE(ek_empty_like(ek_cpu_queue, &like, -2, other, &made), EK_INVALID_ARGUMENT,
                   "ndim is -2");
}
END_TEST

/* What is here already is taken as it is: no copy, whatever its strides. */
START_TEST(as_array)
{
    float cells[6] = {1, 2, 3, 4, 5, 6};
    int64_t shape[] = {2, 3}, turned[] = {-1, -2};
    ek_array src = ek_array_view(cells, EK_F32, ek_cpu, 2, shape), array = {0};
    bool made = true;
    src.strides = turned;
    src.byte_offset = 5 * sizeof(float);
    for (int pinned = 0; pinned < 2; pinned++) {
        src.device.type = pinned ? EK_DEVICE_CUDA_HOST : EK_DEVICE_CPU;
        EK_MUST(ek_asarray(ek_cpu_queue, EK_F32, &src, &array, &made));
        ck_assert(!made);
        ck_assert_mem_eq(&array, &src, sizeof src);
    }
    EK_MUST(ek_asarray(ek_cpu_queue, EK_I32, &src, &array, &made));
    ck_assert(made);
    ck_assert_ptr_null(array.strides);
    const int32_t wanted[] = {6, 4, 2, 5, 3, 1};
    ck_assert_mem_eq(array.data, wanted, sizeof wanted);
    EK_MUST(ek_array_free(ek_cpu_queue, &array));
    ek_array before = array;
    made = true;
    src.device.type = EK_DEVICE_CUDA; /* never to the host by itself */
    EK_MUST_REFUSE(ek_asarray(ek_cpu_queue, EK_F32, &src, &array, &made), EK_DEVICE_MISMATCH,
                   "src on cuda:0");
    src.device.type = EK_DEVICE_CPU;
    EK_MUST_REFUSE(ek_asarray(ek_cpu_queue, (ek_dtype)77, &src, &array, &made), EK_INVALID_ARGUMENT,
                   "dtype is 77");
    EK_MUST_REFUSE(ek_asarray(NULL, EK_F32, &src, &array, &made), EK_INVALID_ARGUMENT, "queue");
    EK_MUST_REFUSE(ek_asarray(ek_cpu_queue, EK_F32, NULL, &array, &made), EK_INVALID_ARGUMENT,
                   "src is null");
    EK_MUST_REFUSE(ek_asarray(ek_cpu_queue, EK_F32, &src, NULL, &made), EK_INVALID_ARGUMENT,
                   "array is null");
    EK_MUST_REFUSE(ek_asarray(ek_cpu_queue, EK_F32, &src, &array, NULL), EK_INVALID_ARGUMENT,
                   "made is null");
    ck_assert(made);
    ck_assert_mem_eq(&array, &before, sizeof before);
}
END_TEST

TCase *ek_array_case(void)
{
    TCase *array = tcase_create("array");
    tcase_add_checked_fixture(array, ek_open_cpu, ek_close_cpu);
#ifdef HAVE_DLPACK_DLPACK_H
    tcase_add_test(array, layout_is_dlpack);
#endif
    tcase_add_test(array, every_dtype_returns);
    tcase_add_test(array, other_types_are_refused);
    tcase_add_test(array, messages_are_one_line);
    tcase_add_test(array, sizes);
    tcase_add_test(array, sizes_are_refused);
    tcase_add_test(array, allocation);
    tcase_add_test(array, allocation_is_refused);
    tcase_add_test(array, empty_like);
    tcase_add_test(array, as_array);
    return array;
}
