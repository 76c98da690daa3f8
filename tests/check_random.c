/* Random operations: the generator's published answers, and the bits of every operation whatever
 * computes them, in how many calls and in which layout. EK_TEST_DEVICE=cuda tests a GPU; without
 * one all is skipped. */
#include "check_random.h"

#include <stdlib.h>
#include <string.h>

#include "body/uniform.h"
#include "einkorn/array.h"
#include "einkorn/ops/bernoulli.h"
#include "einkorn/ops/dropout.h"
#include "einkorn/ops/dropout_mask.h"
#include "einkorn/ops/normal.h"
#include "einkorn/ops/randint.h"
#include "einkorn/ops/random_bits.h"
#include "einkorn/ops/uniform.h"
#include "einkorn/table.h"
#include "place.h"
#include "values.h"

#define MUST(call) ck_assert_msg((call) == EK_OK, "%s: %s", #call, ek_error_message())

enum { SHAPE = 3, N = 7 * 13 * 35, BYTES = 8 * N };

static const ek_op_info *const operations[] = {
    &ek_op_random_bits.info, &ek_op_uniform.info, &ek_op_normal.info,       &ek_op_bernoulli.info,
    &ek_op_randint.info,     &ek_op_dropout.info, &ek_op_dropout_mask.info,
};

enum { OPERATIONS = sizeof operations / sizeof operations[0] };

/* The vectors of the authors' own library, Random123 (tests/kat_vectors, philox4x32 with 10
 * rounds). */
START_TEST(known_answers)
{
    static const struct {
        uint32_t counter[4], key[2], answer[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        ek_philox_words x;
        memcpy(x.at, known[i].counter, sizeof x.at);
        x = ek_philox(x, known[i].key[0], known[i].key[1]);
        ck_assert_mem_eq(x.at, known[i].answer, sizeof x.at);
    }
}
END_TEST

/* Words lie in the sequence as src/philox.h says, from any place on. */
START_TEST(words_in_order)
{
    static const int64_t seeds[] = {0, 1, -1, 0x123456789abcdef};
    static const int64_t offsets[] = {0, 1, 6, 1000003, INT64_C(1) << 40, (INT64_C(1) << 62) + 3};
    const ek_place *places;
    int count = ek_tested_places(&places);
    static uint32_t got[N];
    static uint64_t pairs[N];
    for (int i = 0; i < count; i++) {
        void *memory = ek_place_memory(&places[i], BYTES);
        for (int k = 0; k < 24; k++) {
            int64_t seed = seeds[k % 4], offset = offsets[k / 4];
            MUST(ek_random_bits_u32(places[i].queue, N, seed, offset, memory));
            ek_download(&places[i], got, memory, sizeof got);
            MUST(ek_random_bits_u64(places[i].queue, N, seed, offset, memory));
            ek_download(&places[i], pairs, memory, sizeof pairs);
            for (int j = 0; j < N; j++) {
                uint64_t at = (uint64_t)offset + (uint64_t)j;
                ek_philox_words x = ek_philox_draw(seed, at / 4, 0);
                if (got[j] != x.at[at % 4])
                    ck_abort_msg("%s: word %d", places[i].name, j);
                x = ek_philox_draw(seed, at / 2, 0);
                if (pairs[j] != ((uint64_t)x.at[at % 2 * 2 + 1] << 32 | x.at[at % 2 * 2]))
                    ck_abort_msg("%s: pair %d", places[i].name, j);
            }
        }
    }
}
END_TEST

typedef struct call {
    const ek_op_info *op;
    const ek_loop *loop;
    int64_t offset;
} call;

/* Parameters that are not the default ones. */
static void apply(const call *c, ek_queue *queue, ek_array *x, ek_array *out, int64_t skipped)
{
    ek_param params[] = {{"seed", .integer = 42},
                         {"offset", .integer = c->offset + skipped},
                         {"low", .integer = -7, .real = -0.75},
                         {"high", .integer = INT32_MAX, .real = 3},
                         {"mean", .real = 0.5},
                         {"std", .real = 2},
                         {"p", .real = 0.3}};
    ek_param own[EK_MAX_PARAMS];
    int32_t count = 0;
    for (size_t i = 0; i < sizeof params / sizeof params[0]; i++) {
        for (int32_t k = 0; k < c->op->param_count; k++) {
            if (strcmp(c->op->params[k].name, params[i].name) == 0)
                own[count++] = params[i];
        }
    }
    const ek_array *in[] = {x};
    ek_status status = ek_apply(queue, c->op, in, count, own, &out);
    ck_assert_msg(status == EK_OK, "%s", ek_error_message());
}

/* Element (i, j, k) of a permuted, padded or reversed view. */
typedef struct view {
    int64_t offset, stride[SHAPE];
} view;

static const int64_t lengths[SHAPE] = {7, 13, 35};

static int64_t place_in(const view *v, int64_t number)
{
    return v->offset + number / (13 * 35) * v->stride[0] + number / 35 % 13 * v->stride[1] +
           number % 35 * v->stride[2];
}

static ek_array array_of(const ek_place *place, void *memory, ek_dtype dtype, int64_t *shape,
                         view *v)
{
    ek_array array = ek_array_view(memory, dtype, ek_queue_device(place->queue), SHAPE, shape);
    array.byte_offset = (uint64_t)v->offset * ek_dtype_size(dtype);
    array.strides = v->stride;
    return array;
}

/* The same call with everything in order, on the first place, in one piece. */
static void expect(const call *c, const void *x, void *out)
{
    const ek_place *places;
    ek_places(&places);
    const ek_device *device = ek_queue_device(places->queue);
    int64_t shape[] = {N};
    ek_array in = ek_array_view((void *)x, (ek_dtype)c->loop->dtype, device, 1, shape);
    ek_array result = ek_array_view(out, (ek_dtype)c->loop->out[0], device, 1, shape);
    apply(c, places->queue, &in, &result, 0);
}

static void check_layout(const call *c, const ek_place *place, view *from, view *to,
                         const char *wanted, const char *x, size_t size)
{
    static char before[2 * BYTES], after[2 * BYTES];
    int64_t shape[SHAPE];
    memcpy(shape, lengths, sizeof shape);
    memset(before, 0x5a, sizeof before);
    for (int64_t i = 0; i < N; i++)
        memcpy(before + (size_t)place_in(from, i) * size, x + (size_t)i * size, size);
    char *memory = ek_place_memory(place, 2 * sizeof before);
    ek_upload(place, memory, before, sizeof before);
    ek_upload(place, memory + sizeof before, before, sizeof before);
    ek_array in = array_of(place, memory, (ek_dtype)c->loop->dtype, shape, from);
    ek_array out = array_of(place, memory + sizeof before, (ek_dtype)c->loop->out[0], shape, to);
    apply(c, place->queue, &in, &out, 0);
    ek_download(place, after, memory + sizeof before, sizeof after);
    for (int64_t i = 0; i < N; i++)
        memcpy(before + (size_t)place_in(from, i) * size, x + (size_t)i * size, size);
    for (int64_t i = 0; i < N; i++) {
        if (memcmp(after + (size_t)place_in(to, i) * size, wanted + (size_t)i * size, size) != 0)
            ck_abort_msg("%s %s on %s: element %d", c->op->name,
                         ek_dtype_name((ek_dtype)c->loop->out[0]), place->name, (int)i);
        memcpy(after + (size_t)place_in(to, i) * size, before + (size_t)place_in(to, i) * size,
               size);
    }
    ck_assert_msg(memcmp(after, before, sizeof after) == 0, "%s on %s: wrote beside its elements",
                  c->op->name, place->name);
}

/* Pieces of a call are the call. */
static void check_pieces(const call *c, const ek_place *place, const char *wanted, const char *x,
                         size_t size)
{
    static const int64_t ends[] = {0, 1, 2, 7, 12, 1000, 1003, N};
    static char after[BYTES];
    char *memory = ek_place_memory(place, 2 * BYTES);
    ek_upload(place, memory, x, BYTES);
    for (size_t i = 0; i + 1 < sizeof ends / sizeof ends[0]; i++) {
        int64_t first = ends[i], n = ends[i + 1] - first;
        const ek_device *device = ek_queue_device(place->queue);
        char *at = memory + (size_t)first * size;
        ek_array in = ek_array_view(at, (ek_dtype)c->loop->dtype, device, 1, &n);
        ek_array out = ek_array_view(at + BYTES, (ek_dtype)c->loop->out[0], device, 1, &n);
        apply(c, place->queue, &in, &out, first);
    }
    ek_download(place, after, memory + BYTES, BYTES);
    ck_assert_msg(memcmp(after, wanted, N * size) == 0, "%s %s on %s in pieces", c->op->name,
                  ek_dtype_name((ek_dtype)c->loop->out[0]), place->name);
}

START_TEST(same_bits)
{
    static char x[BYTES], wanted[BYTES];
    view plain = {0, {13 * 35, 35, 1}}, padded = {5, {13 * 40, 40, 1}}, turned = {0, {1, 7, 91}};
    view reversed = {N - 1, {-13 * 35, -35, -1}}, one = {3, {0, 0, 0}};
    view *views[] = {&plain, &padded, &turned, &reversed};
    const ek_place *places;
    int count = ek_tested_places(&places);
    const ek_op_info *op = operations[_i];
    for (int32_t k = 0; k < op->loop_count; k++) {
        for (int64_t offset = 0; offset < 8; offset += 3) {
            call c = {op, &op->loops[k], offset};
            size_t size = ek_dtype_size((ek_dtype)c.loop->out[0]);
            ek_ordinary_values((ek_dtype)c.loop->out[0], 1, N, x);
            expect(&c, x, wanted);
            for (int i = 0; i < count; i++) {
                for (int v = 0; v < 4; v++)
                    check_layout(&c, &places[i], views[(v + 1) % 4], views[v], wanted, x, size);
                check_pieces(&c, &places[i], wanted, x, size);
            }
            for (int64_t i = 1; i < N; i++) /* one element for all */
                memcpy(x + (size_t)i * size, x, size);
            expect(&c, x, wanted);
            for (int i = 0; i < count; i++)
                check_layout(&c, &places[i], &one, &turned, wanted, x, size);
        }
    }
}
END_TEST

/* O100: what becomes of words around those that would round up; O103: bounds far apart, equal,
 * and of neighbours. */
START_TEST(uniform_ends)
{
    static const uint32_t words[] = {0, 1, 0xffffff7f, 0xffffff80, 0xffffffff};
    for (int i = 0; i < 5; i++) {
        float f32 = ek_body_uniform_f32(words[i], 0, 1);
        float f16 = ek_body_uniform_f16(words[i], 0, 1),
              bf16 = ek_body_uniform_bf16(words[i], 0, 1);
        ck_assert(f32 >= 0 && f32 < 1 && f16 >= 0 && f16 < 1 && bf16 >= 0 && bf16 < 1);
        ck_assert(ek_body_uniform_f32(words[i], -3e38f, 3e38f) <= 3e38f);
        ck_assert(ek_body_uniform_f32(words[i], -3e38f, 3e38f) >= -3e38f);
        ck_assert(ek_body_uniform_f32(words[i], 1, 1) == 1);
        ck_assert(ek_body_uniform_f32(words[i], 0.1f, 0.1f) == 0.1f);
        ck_assert(ek_body_uniform_f32(words[i], 0, 1e-45f) == 0);
        ck_assert(ek_load_f16(ek_store_f16(ek_body_uniform_f16(words[i], 1, 2))) < 2);
        ck_assert(ek_load_bf16(ek_store_bf16(ek_body_uniform_bf16(words[i], -2, -1))) < -1);
        ck_assert(ek_body_uniform_f32(words[i], -1, 0) < 0);
    }
    ck_assert(ek_body_uniform_f32(0xffffffff, 0, 1) == 1 - 0x1p-24f);
    ck_assert(ek_body_uniform_f16(0xffffffff, 0, 1) == 0.99951171875f);
    ck_assert(ek_body_uniform_bf16(0xffffffff, 0, 1) == 0.99609375f);
    ck_assert(ek_body_uniform_f64(UINT64_MAX, 0, 1) == 1 - 0x1p-53);
    ck_assert(ek_body_uniform_f64(0, 0, 1) == 0);
    ck_assert(ek_body_uniform_f64(0x800, 0, 1) == 0x1p-53);
    ck_assert(ek_body_uniform_f64(UINT64_MAX, -1.5e308, 1.5e308) <= 1.5e308);
}
END_TEST

/* O089: what is dropped is chosen, not multiplied; and it is the same for all dtypes and in masks.
 */
START_TEST(dropped_elements)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    static const double chances[] = {0, 0.5, 1};
    for (int i = 0; i < 3 * count; i++) {
        const ek_place *place = &places[i / 3];
        double p = chances[i % 3];
        static float x[N], y[N], mask[N];
        static double z[N];
        ek_b8 *kept = ek_place_memory(place, 2 * BYTES), below[N];
        for (int k = 0; k < N; k++)
            x[k] = k % 3 == 0 ? INFINITY : (k % 3 == 1 ? NAN : (float)k);
        MUST(ek_bernoulli_b8(place->queue, N, p, 9, 2, kept));
        ek_download(place, below, kept, N);
        ek_upload(place, kept, x, sizeof x);
        MUST(ek_dropout_f32(place->queue, N, (float *)kept, p, 9, 2, (float *)kept));
        ek_download(place, y, kept, sizeof y);
        MUST(ek_dropout_mask_f32(place->queue, N, p, 9, 2, (float *)kept));
        ek_download(place, mask, kept, sizeof mask);
        MUST(ek_dropout_mask_f64(place->queue, N, p, 9, 2, (double *)kept));
        ek_download(place, z, kept, sizeof z);
        for (int k = 0; k < N; k++) {
            float factor = below[k] ? 0 : (float)(1 / (1 - p));
            ck_assert(mask[k] == factor && z[k] == (double)factor);
            ck_assert(below[k] || p < 1);
            ck_assert(!below[k] || p > 0);
            if (below[k])
                ck_assert(y[k] == 0 && !signbit(y[k]));
            else
                ck_assert(y[k] == x[k] * factor || (x[k] != x[k] && y[k] != y[k]));
        }
    }
}
END_TEST

static void refused(ek_status status, ek_status wanted, const char *words)
{
    ck_assert_msg(status == wanted && strstr(ek_error_message(), words), "%s", ek_error_message());
}

START_TEST(refusals)
{
    const ek_place *places;
    ek_tested_places(&places);
    ek_queue *q = places->queue;
    const ek_device *device = ek_queue_device(q);
    int64_t shape[] = {2, 3}, wide[] = {2, 4}, zero[] = {0, 1}, minus[] = {-1};
    ek_b8 *memory = ek_place_memory(places, 1024);
    float *f = (float *)memory;
    ek_array out = ek_array_view(memory, EK_F32, device, 2, shape);
    ek_array x = ek_array_view(memory + 512, EK_F32, device, 2, wide);
    ek_array half = ek_array_view(memory + 512, EK_F16, device, 2, shape);
    static const double wrong[] = {-0.1, 1.1, NAN, INFINITY};
    for (int i = 0; i < 4; i++) {
        refused(ek_bernoulli_b8(q, 4, wrong[i], 0, 0, memory), EK_INVALID_ARGUMENT,
                "ek_bernoulli_b8: p is");
        refused(ek_dropout_f32(q, 4, f + 128, wrong[i], 0, 0, f), EK_INVALID_ARGUMENT, "0 to 1");
        refused(ek_dropout_mask(q, wrong[i], 0, 0, &out), EK_INVALID_ARGUMENT,
                "ek_dropout_mask: p is");
    }
    refused(ek_uniform(q, 2, 1, 0, 0, &out), EK_INVALID_ARGUMENT, "low is 2 and high is 1");
    refused(ek_uniform(q, NAN, 1, 0, 0, &out), EK_INVALID_ARGUMENT, "low is nan");
    refused(ek_uniform(q, 0, 1e300, 0, 0, &out), EK_INVALID_ARGUMENT, "high is inf");
    refused(ek_uniform_f32(q, 4, 0, INFINITY, 0, 0, f), EK_INVALID_ARGUMENT, "ek_uniform_f32: low");
    refused(ek_uniform_f64(q, 4, 1, 0, 0, 0, (double *)f), EK_INVALID_ARGUMENT, "ek_uniform_f64");
    refused(ek_normal(q, 0, -1, 0, 0, &out), EK_INVALID_ARGUMENT, "std is -1");
    refused(ek_normal(q, 0, 1, 0, -1, &out), EK_INVALID_ARGUMENT, "offset is -1");
    refused(ek_randint_i32(q, 4, 5, 4, 0, 0, (int32_t *)f), EK_INVALID_ARGUMENT, "low is 5");
    refused(ek_randint_i32(q, 4, 0, INT64_C(1) << 31, 0, 0, (int32_t *)f), EK_INVALID_ARGUMENT,
            "i32 holds");
    refused(ek_uniform_f32(q, -1, 0, 1, 0, 0, f), EK_INVALID_ARGUMENT, "n is -1");
    refused(ek_uniform_f32(q, 1, 0, 1, 0, 0, NULL), EK_INVALID_ARGUMENT, "out is null");
    ck_assert_int_eq(ek_uniform_f32(q, 0, 0, 1, 0, 0, NULL), EK_OK);
    refused(ek_dropout_f32(q, 8, f + 4, 0.5, 0, 0, f), EK_OVERLAP, "overlaps x");
    refused(ek_dropout(q, &x, 0.5, 0, 0, &out), EK_SHAPE_MISMATCH, "(2, 4)");
    refused(ek_dropout(q, &half, 0.5, 0, 0, &out), EK_DTYPE_MISMATCH, "x is f16 and out is f32");
    refused(ek_random_bits(q, 0, 0, &out), EK_DTYPE_MISMATCH, "no kernel makes f32");
    refused(ek_uniform(q, 0, 1, 0, 0, NULL), EK_INVALID_ARGUMENT, "out is null");
    out.strides = zero;
    refused(ek_uniform(q, 0, 1, 0, 0, &out), EK_OVERLAP, "overlaps itself");
    ek_output output;
    ek_param lengths_param = {"shape", .list = minus, .count = 1};
    refused(ek_infer(&ek_op_uniform.info, NULL, 1, &lengths_param, &output), EK_INVALID_ARGUMENT,
            "length of -1");
    ek_param none = {"shape", .list = NULL, .count = 1};
    refused(ek_infer(&ek_op_uniform.info, NULL, 1, &none, &output), EK_INVALID_ARGUMENT, "is null");
    ek_param dtype = {"dtype", .integer = 99};
    refused(ek_infer(&ek_op_uniform.info, NULL, 1, &dtype, &output), EK_INVALID_ARGUMENT,
            "dtype is 99");
}
END_TEST

static Suite *random_suite(void)
{
    Suite *suite = suite_create("random");
    TCase *bits = tcase_create("bits");
    tcase_set_timeout(bits, 120);
    tcase_add_test(bits, known_answers);
    tcase_add_test(bits, words_in_order);
    tcase_add_loop_test(bits, same_bits, 0, OPERATIONS);
    tcase_add_test(bits, uniform_ends);
    tcase_add_test(bits, dropped_elements);
    tcase_add_test(bits, refusals);
    suite_add_tcase(suite, bits);
    suite_add_tcase(suite, random_statistics());
    return suite;
}

int main(void)
{
    return ek_run_at_places(random_suite,
                            RANDOM_BITS_TESTS - 1 + OPERATIONS + RANDOM_STATISTICS_TESTS);
}
