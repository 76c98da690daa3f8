/* ek_copy and ek_fill on the host, and the stores that go around the cache. */
#include <stdint.h>
#include <stdlib.h>

#include "check_runtime.h"
#include "cpu/features.h"
#include "cpu/stream.h"
#include "einkorn/array.h"
#include "einkorn/ops/fill.h"
#include "einkorn/ops/neg.h"
#include "values.h"

START_TEST(copies_broadcast_and_turn)
{
    int16_t row[] = {1, 2, 3}, cells[2][2][3] = {0};
    int64_t three[] = {3}, shape[] = {2, 2, 3}, turned[] = {3, 6, -1};
    ek_array src = ek_array_view(row, EK_I16, ek_cpu, 1, three);
    ek_array dst = ek_array_view(cells, EK_I16, ek_cpu, 3, shape);
    dst.byte_offset = 2 * sizeof(int16_t);
    dst.strides = turned;
    EK_MUST(ek_copy(ek_cpu_queue, &dst, &src));
    for (int i = 0; i < 12; i++)
        ck_assert_int_eq((&cells[0][0][0])[i], 3 - i % 3);
}
END_TEST

START_TEST(copies_of_nothing_and_of_one)
{
    float one = 5, three[3] = {0};
    int64_t none[] = {0}, shape[] = {3};
    ek_array scalar = ek_array_view(&one, EK_F32, ek_cpu, 0, NULL);
    ek_array dst = ek_array_view(three, EK_F32, ek_cpu, 1, shape);
    ek_array empty = ek_array_view(NULL, EK_F32, ek_cpu, 1, none);
    EK_MUST(ek_copy(ek_cpu_queue, &dst, &scalar));
    ck_assert_float_eq(three[2], 5);
    EK_MUST(ek_copy(ek_cpu_queue, &empty, &scalar));
    EK_MUST(ek_copy(ek_cpu_queue, &empty, &empty));
    EK_MUST(ek_copy(ek_cpu_queue, &dst, &dst)); /* onto itself */
    EK_MUST_REFUSE(ek_copy(ek_cpu_queue, &dst, &empty), EK_SHAPE_MISMATCH, "src");
    EK_MUST_REFUSE(ek_copy(ek_cpu_queue, &scalar, &dst), EK_SHAPE_MISMATCH, "src");
    ck_assert_float_eq(three[0], 5);
}
END_TEST

START_TEST(pinned_memory_is_host_memory)
{
    float x[2] = {1, 2}, y[2] = {0, 0};
    int64_t two[] = {2};
    ek_array src = ek_array_view(x, EK_F32, ek_cpu, 1, two);
    ek_array dst = ek_array_view(y, EK_F32, ek_cpu, 1, two);
    src.device.type = EK_DEVICE_CUDA_HOST;
    EK_MUST(ek_copy(ek_cpu_queue, &dst, &src));
    ck_assert_float_eq(y[1], 2);
    EK_MUST(ek_neg(ek_cpu_queue, &src, &dst));
    ck_assert_float_eq(y[1], -2);
    src.device.type = EK_DEVICE_CUDA;
    EK_MUST_REFUSE(ek_copy(ek_cpu_queue, &dst, &src), EK_DEVICE_MISMATCH, "src");
    EK_MUST_REFUSE(ek_copy(ek_cpu_queue, &src, &dst), EK_DEVICE_MISMATCH, "dst");
    EK_MUST_REFUSE(ek_copy(ek_cpu_queue, &src, &src), EK_DEVICE_MISMATCH, "src");
}
END_TEST

START_TEST(fills_of_every_dtype)
{
    for (int dtype = 0; dtype < EK_DTYPES; dtype++) {
        size_t size = ek_dtype_size((ek_dtype)dtype);
        char cells[7 * 16], value[16];
        int64_t shape[] = {2, 3}, stride[] = {4, 1};
        memset(cells, 0x55, sizeof cells);
        ek_random_values((ek_dtype)dtype, 1, 1, value);
        ek_array out = ek_array_view(cells, (ek_dtype)dtype, ek_cpu, 2, shape);
        out.strides = stride;
        EK_MUST(ek_fill(ek_cpu_queue, value, &out));
        if (dtype == EK_B8)
            value[0] = value[0] != 0;
        for (size_t i = 0; i < 7; i++) {
            char guard[16];
            memset(guard, 0x55, sizeof guard);
            ck_assert_mem_eq(cells + i * size, i == 3 ? guard : value, size);
        }
    }
}
END_TEST

START_TEST(fills_are_refused)
{
    float cells[2] = {1, 2}, value = 3;
    int64_t two[] = {2}, zero[] = {0};
    ek_array out = ek_array_view(cells, EK_F32, ek_cpu, 1, two);
    EK_MUST_REFUSE(ek_fill(ek_cpu_queue, NULL, &out), EK_INVALID_ARGUMENT, "value is null");
    EK_MUST_REFUSE(ek_fill(ek_cpu_queue, &value, NULL), EK_INVALID_ARGUMENT, "out is null");
    EK_MUST_REFUSE(ek_fill(NULL, &value, &out), EK_INVALID_ARGUMENT, "queue is null");
    EK_MUST_REFUSE(ek_fill_f32(ek_cpu_queue, -1, value, cells), EK_INVALID_ARGUMENT, "n is -1");
    EK_MUST_REFUSE(ek_fill_f32(ek_cpu_queue, 1, value, NULL), EK_INVALID_ARGUMENT, "out is null");
    EK_MUST(ek_fill_f32(ek_cpu_queue, 0, value, NULL));
    out.strides = zero;
    EK_MUST_REFUSE(ek_fill(ek_cpu_queue, &value, &out), EK_OVERLAP, "out");
    ck_assert_float_eq(cells[0], 1);
}
END_TEST

START_TEST(streams_copy_bytes)
{
    enum { MOST = 400 };
    static unsigned char from[MOST + 64], to[MOST + 192];
    ek_variant variant = (ek_variant)_i;
    ek_random_values(EK_U8, 1, sizeof from, from);
    for (size_t offset = 0; offset < 64 && ek_variant_available(variant); offset += 7) {
        for (size_t bytes = 0; bytes <= MOST; bytes++) {
            memset(to, 0xa5, sizeof to);
            ek_stream(variant, to + 64 + offset, from + offset / 2, bytes);
            ek_stream_end();
            if (memcmp(to + 64 + offset, from + offset / 2, bytes) != 0 ||
                to[63 + offset] != 0xa5 || to[64 + offset + bytes] != 0xa5)
                ck_abort_msg("%zu bytes from offset %zu", bytes, offset);
        }
    }
}
END_TEST

/* Results larger than the cache are streamed: the output in place of the input, and not aligned. */
START_TEST(large_results_are_streamed)
{
    enum { MOST = 1 << 29 };
    size_t n = ek_cpu_cache_bytes() + 100001;
    if (n > MOST)
        return;
    uint8_t *cells = malloc(n + 1);
    ck_assert_ptr_nonnull(cells);
    for (size_t i = 0; i <= n; i++)
        cells[i] = (uint8_t)(i * 37);
    EK_MUST(ek_queue_set_threads(ek_cpu_queue, 2));
    EK_MUST(ek_neg_u8(ek_cpu_queue, (int64_t)n, cells + 1, cells + 1));
    for (size_t i = 0; i <= n; i++) {
        uint8_t value = (uint8_t)(i * 37);
        if (cells[i] != (i ? (uint8_t)-value : value))
            ck_abort_msg("element %zu", i);
    }
    free(cells);
}
END_TEST

TCase *ek_copy_case(void)
{
    TCase *copy = tcase_create("copy");
    tcase_add_checked_fixture(copy, ek_open_cpu, ek_close_cpu);
    tcase_set_timeout(copy, 120);
    tcase_add_test(copy, copies_broadcast_and_turn);
    tcase_add_test(copy, copies_of_nothing_and_of_one);
    tcase_add_test(copy, pinned_memory_is_host_memory);
    tcase_add_test(copy, fills_of_every_dtype);
    tcase_add_test(copy, fills_are_refused);
    tcase_add_loop_test(copy, streams_copy_bytes, EK_CPU_BASE, EK_CPU_NEON);
    tcase_add_test(copy, large_results_are_streamed);
    return copy;
}
