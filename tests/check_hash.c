/* Hashes against published checks, hashes of arrays in every layout, and permutations of indices.
 * EK_TEST_DEVICE=cuda tests a GPU; without one all is skipped. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "einkorn/array.h"
#include "einkorn/hash.h"
#include "einkorn/ops/murmur3_x64_128.h"
#include "einkorn/ops/murmur3_x86_32.h"
#include "einkorn/ops/murmur64_step.h"
#include "einkorn/ops/permute_index.h"
#include "place.h"
#include "values.h"

#define MUST(call) ck_assert_msg((call) == EK_OK, "%s: %s", #call, ek_error_message())

static uint64_t little_endian(const uint8_t *at, size_t bytes)
{
    uint64_t x = 0;
    for (size_t i = bytes; i > 0; i--)
        x = x << 8 | at[i - 1];
    return x;
}

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

/* MurmurHash3 x64_128 of any bytes, written from its description. */
static void murmur3_x64_128(const void *bytes, size_t length, uint32_t seed, uint8_t *result)
{
    const uint64_t c[2] = {0x87c37b91114253d5u, 0x4cf5ad432745937fu};
    const uint8_t *at = bytes;
    uint64_t h[2] = {seed, seed};
    size_t whole = length / 16 * 16;
    for (size_t i = 0; i < whole; i += 16) {
        h[0] ^= rotate(little_endian(at + i, 8) * c[0], 31) * c[1];
        h[0] = (rotate(h[0], 27) + h[1]) * 5 + 0x52dce729;
        h[1] ^= rotate(little_endian(at + i + 8, 8) * c[1], 33) * c[0];
        h[1] = (rotate(h[1], 31) + h[0]) * 5 + 0x38495ab5;
    }
    size_t rest = length - whole;
    if (rest > 8)
        h[1] ^= rotate(little_endian(at + whole + 8, rest - 8) * c[1], 33) * c[0];
    if (rest > 0)
        h[0] ^= rotate(little_endian(at + whole, rest < 8 ? rest : 8) * c[0], 31) * c[1];
    h[0] ^= length;
    h[1] ^= length;
    h[0] += h[1];
    h[1] += h[0];
    for (int k = 0; k < 2; k++) {
        h[k] = (h[k] ^ h[k] >> 33) * 0xff51afd7ed558ccdu;
        h[k] = (h[k] ^ h[k] >> 33) * 0xc4ceb9fe1a85ec53u;
        h[k] ^= h[k] >> 33;
    }
    h[0] += h[1];
    h[1] += h[0];
    memcpy(result, h, sizeof h);
}

/* MurmurHash64A. */
static void murmur64a(const void *bytes, size_t length, uint32_t seed, uint8_t *result)
{
    const uint64_t m = 0xc6a4a7935bd1e995u;
    const uint8_t *at = bytes;
    uint64_t h = seed ^ length * m;
    for (size_t i = 0; i + 8 <= length; i += 8) {
        uint64_t k = little_endian(at + i, 8) * m;
        h = (h ^ (k ^ k >> 47) * m) * m;
    }
    if (length % 8)
        h = (h ^ little_endian(at + length / 8 * 8, length % 8)) * m;
    h = (h ^ h >> 47) * m;
    h ^= h >> 47;
    memcpy(result, &h, sizeof h);
}

static void murmur3_x86_32(const void *bytes, size_t length, uint32_t seed, uint8_t *result)
{
    uint32_t h = ek_murmur3_x86_32_bytes(bytes, length, seed);
    memcpy(result, &h, sizeof h);
}

typedef void hash_fn(const void *bytes, size_t length, uint32_t seed, uint8_t *result);

/* The check of A. Appleby's SMHasher (VerificationTest): hashes of the keys {}, {0}, {0, 1}, ...
 * with the seeds 256, 255, ..., hashed once more. */
static uint32_t verification(hash_fn *hash, size_t bytes)
{
    uint8_t key[256], hashes[256 * 16], last[16];
    for (int i = 0; i < 256; i++) {
        key[i] = (uint8_t)i;
        hash(key, (size_t)i, (uint32_t)(256 - i), hashes + (size_t)i * bytes);
    }
    hash(hashes, 256 * bytes, 0, last);
    return (uint32_t)little_endian(last, 4);
}

/* The numbers that SMHasher lists. */
START_TEST(published_checks)
{
    ck_assert_uint_eq(verification(murmur3_x86_32, 4), 0xb0f57ee3);
    ck_assert_uint_eq(verification(murmur3_x64_128, 16), 0x6384ba69);
    ck_assert_uint_eq(verification(murmur64a, 8), 0x1f0d3804);
    ck_assert_uint_eq(ek_murmur3_x86_32_bytes(NULL, 0, 0), 0);
}
END_TEST

enum { N = 1000 };

static uint64_t keys[N];

static void make_keys(void)
{
    for (uint64_t i = 0; i < N; i++)
        keys[i] = i < 10 ? i : ek_random(3, i);
}

START_TEST(hashes_of_ids)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    make_keys();
    for (int i = 0; i < count; i++) {
        const ek_device *device = ek_queue_device(places[i].queue);
        int64_t shape[] = {20, 50}, table[] = {20, 50, 4}, turned[] = {4, 80, 1};
        int64_t across[] = {1, 20};
        static uint32_t got[N][4];
        char *memory = ek_place_memory(&places[i], sizeof keys + sizeof got);
        ek_upload(&places[i], memory, keys, sizeof keys);
        ek_array ids = ek_array_view(memory, EK_U64, device, 2, shape);
        ek_array out = ek_array_view(memory + sizeof keys, EK_U32, device, 3, table);
        for (int layout = 0; layout < 2; layout++) {
            for (uint32_t seed = 0; seed < 3; seed++) {
                uint32_t own = seed == 2 ? UINT32_MAX : seed;
                MUST(ek_hash(places[i].queue, &ids, own, &out));
                ek_download(&places[i], got, out.data, sizeof got);
                for (int k = 0; k < N; k++) {
                    uint32_t wanted[4];
                    murmur3_x64_128(&keys[k], 8, own, (uint8_t *)wanted);
                    ck_assert_mem_eq(got[k], wanted, sizeof wanted);
                }
            }
            /* The same memory as columns of both. */
            ids.strides = across;
            out.strides = turned;
        }
    }
}
END_TEST

START_TEST(hashes_of_features)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    make_keys();
    for (int i = 0; i < count; i++) {
        static uint32_t got[N];
        char *memory = ek_place_memory(&places[i], sizeof keys + sizeof got);
        uint32_t *out = (uint32_t *)(memory + sizeof keys);
        ek_upload(&places[i], memory, keys, sizeof keys);
        MUST(ek_murmur3_x86_32_u64(places[i].queue, N, (uint64_t *)memory, 1, out));
        ek_download(&places[i], got, out, sizeof got);
        for (int k = 0; k < N; k++)
            ck_assert_uint_eq(got[k], ek_murmur3_x86_32_bytes(&keys[k], 8, 1));
    }
}
END_TEST

START_TEST(hashes_of_windows)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    make_keys();
    for (int i = 0; i < count; i++) {
        const ek_device *device = ek_queue_device(places[i].queue);
        static uint64_t got[N];
        uint64_t *memory = ek_place_memory(&places[i], sizeof keys + sizeof got);
        ek_upload(&places[i], memory, keys, sizeof keys);
        for (int64_t n = -1; n <= N + 1; n = n < 5 ? n + 1 : n + 499) {
            int64_t all[] = {N}, windows[] = {n < 1 || n > N ? 0 : N - n + 1}, back[] = {-1};
            ek_array in = ek_array_view(memory, EK_U64, device, 1, all);
            ek_array out = ek_array_view(memory + N, EK_U64, device, 1, windows);
            MUST(ek_ngrams(places[i].queue, n, &in, &out));
            ek_download(&places[i], got, memory + N, sizeof got);
            for (int64_t k = 0; k < windows[0]; k++) {
                uint64_t wanted;
                murmur64a(keys + k, 8 * (size_t)n, 0, (uint8_t *)&wanted);
                ck_assert(got[k] == wanted);
            }
            if (n != 2)
                continue;
            in.data = memory + N - 1; /* backward */
            in.strides = back;
            MUST(ek_ngrams(places[i].queue, n, &in, &out));
            ek_download(&places[i], got, memory + N, sizeof got);
            uint64_t pair[] = {keys[N - 1], keys[N - 2]}, wanted;
            murmur64a(pair, sizeof pair, 0, (uint8_t *)&wanted);
            ck_assert(got[0] == wanted);
        }
    }
}
END_TEST

/* Numbers from 0 on, permuted, on the last place. */
static void permute(int64_t length, int64_t seed, int64_t *x)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    const ek_place *place = &places[count - 1];
    size_t bytes = (size_t)length * sizeof *x;
    for (int64_t i = 0; i < length; i++)
        x[i] = i;
    int64_t *memory = ek_place_memory(place, bytes);
    ek_upload(place, memory, x, bytes);
    MUST(ek_permute_index_i64(place->queue, length, memory, length, seed, memory));
    ek_download(place, x, memory, bytes);
}

START_TEST(permutations)
{
    enum { MOST = 70000 };
    static const int64_t lengths[] = {1, 2, 3, 4, 5, 16, 17, 255, 4096, 65537, MOST};
    static int64_t x[MOST];
    static bool seen[MOST];
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        memset(seen, 0, sizeof seen);
        permute(lengths[k], (int64_t)k, x);
        for (int64_t i = 0; i < lengths[k]; i++) {
            ck_assert(x[i] >= 0 && x[i] < lengths[k] && !seen[x[i]]);
            seen[x[i]] = true;
        }
    }
}
END_TEST

/* Over many seeds every element comes to every place, and every pair to every pair of places,
 * equally often: Pearson's sum, and a limit that chance exceeds once in a million. */
START_TEST(permutations_are_mixed)
{
    enum { LENGTH = 7, SEEDS = 20000 };
    static int64_t place[LENGTH][LENGTH], pair[LENGTH][LENGTH];
    int64_t x[LENGTH];
    for (int64_t seed = 0; seed < SEEDS; seed++) {
        permute(LENGTH, seed, x);
        for (int i = 0; i < LENGTH; i++)
            place[i][x[i]]++;
        pair[x[0]][x[1]]++;
    }
    double places = 0, pairs = 0, each = (double)SEEDS / LENGTH, both = each / (LENGTH - 1);
    for (int i = 0; i < LENGTH; i++) {
        for (int k = 0; k < LENGTH; k++) {
            places += ((double)place[i][k] - each) * ((double)place[i][k] - each) / each;
            if (i != k)
                pairs += ((double)pair[i][k] - both) * ((double)pair[i][k] - both) / both;
        }
    }
    ck_assert_msg(places < 85 && pairs < 95, "%g, %g", places, pairs);
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
    int64_t three[] = {3}, two[] = {2}, table[] = {3, 4}, wrong[] = {3, 3};
    char *memory = ek_place_memory(places, 1024);
    ek_array x = ek_array_view(memory, EK_U64, device, 1, three);
    ek_array out = ek_array_view(memory + 256, EK_U32, device, 2, table);
    ek_array grams = ek_array_view(memory + 512, EK_U64, device, 1, two);
    refused(ek_hash(q, &x, -1, &out), EK_INVALID_ARGUMENT, "seed is -1");
    refused(ek_hash(q, &x, INT64_C(1) << 32, &out), EK_INVALID_ARGUMENT, "seed is");
    refused(ek_hash(q, NULL, 0, &out), EK_INVALID_ARGUMENT, "ids is null");
    refused(ek_hash(q, &x, 0, NULL), EK_INVALID_ARGUMENT, "out is null");
    refused(ek_hash(q, &grams, 0, &out), EK_SHAPE_MISMATCH, "last dimension of 4");
    refused(ek_hash(q, &out, 0, &out), EK_DTYPE_MISMATCH, "must be u64 and u32");
    out.shape = wrong;
    refused(ek_hash(q, &x, 0, &out), EK_SHAPE_MISMATCH, "(3, 3)");
    refused(ek_ngrams(q, 1, &x, &grams), EK_SHAPE_MISMATCH, "3 keys have 3 windows of 1");
    refused(ek_ngrams(q, 4, &x, &grams), EK_SHAPE_MISMATCH, "0 windows of 4");
    refused(ek_ngrams(q, 2, &out, &grams), EK_DTYPE_MISMATCH, "keys is u32");
    ek_array matrix = ek_array_view(memory, EK_U64, device, 2, table);
    refused(ek_ngrams(q, 2, &matrix, &grams), EK_SHAPE_MISMATCH, "keys has 2");
    grams.data = memory + 8;
    refused(ek_ngrams(q, 2, &x, &grams), EK_OVERLAP, "out overlaps keys");
    refused(ek_ngrams(q, 2, NULL, &grams), EK_INVALID_ARGUMENT, "keys is null");
    refused(ek_permute_index_i64(q, 1, (int64_t *)memory, -1, 0, (int64_t *)memory),
            EK_INVALID_ARGUMENT, "length is -1");
}
END_TEST

static Suite *hash_suite(void)
{
    Suite *suite = suite_create("hash");
    TCase *all = tcase_create("hash");
    tcase_set_timeout(all, 120);
    tcase_add_test(all, published_checks);
    tcase_add_test(all, hashes_of_ids);
    tcase_add_test(all, hashes_of_features);
    tcase_add_test(all, hashes_of_windows);
    tcase_add_test(all, permutations);
    tcase_add_test(all, permutations_are_mixed);
    tcase_add_test(all, refusals);
    suite_add_tcase(suite, all);
    return suite;
}

int main(void)
{
    return ek_run_at_places(hash_suite, 7);
}
