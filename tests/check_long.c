/* Arrays of more than 2^31 elements, which 32-bit counts and offsets lose. On the CPU they are a
 * few megabytes that are mapped again and again, so that they take neither memory nor long; their
 * last piece alone is its own. EK_TEST_DEVICE=cuda tests a GPU, where they are what they seem. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "einkorn/memory.h"
#include "einkorn/ops/argmax.h"
#include "einkorn/ops/fill.h"
#include "einkorn/ops/max.h"
#include "einkorn/ops/neg.h"
#include "place.h"

#define MUST(call) ck_assert_msg((call) == EK_OK, "%s: %s", #call, ek_error_message())

enum { PIECE = 4 << 20, LONGEST_PIECES = 1024 };

static const int64_t counts[] = {INT64_C(1) << 31, (INT64_C(1) << 31) + 1, INT64_C(1) << 32};

enum { COUNTS = sizeof counts / sizeof counts[0] };

static void *map(void *at, size_t bytes, int flags, int file)
{
    void *memory = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    return memory;
}

static int8_t *map_again_and_again(void)
{
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(ftruncate(fileno(file), PIECE), 0);
    char *memory =
        map(NULL, (size_t)LONGEST_PIECES * PIECE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    for (size_t i = 0; i < LONGEST_PIECES; i++)
        map(memory + i * PIECE, PIECE, MAP_FIXED | MAP_SHARED, fileno(file));
    fclose(file);
    return (int8_t *)memory;
}

static int8_t *open_long(const ek_place *place)
{
    void *memory = NULL;
    if (!ek_testing_gpu())
        return map_again_and_again();
    MUST(ek_alloc(place->queue, (size_t)LONGEST_PIECES * PIECE, &memory));
    return memory;
}

static void close_long(const ek_place *place, int8_t *memory)
{
    if (ek_testing_gpu())
        MUST(ek_free(place->queue, memory));
    else
        munmap(memory, (size_t)LONGEST_PIECES * PIECE);
}

/* Makes all elements `value` but the last, which is `last`. */
static void set(const ek_place *place, int8_t *x, int64_t n, int8_t value, int8_t last)
{
    if (ek_testing_gpu()) {
        MUST(ek_fill_i8(place->queue, n, value, x));
    } else {
        int8_t *own = x + (n - 1) / PIECE * PIECE;
        memset(x, value, PIECE);
        map(own, PIECE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1);
        memset(own, value, PIECE);
    }
    ek_upload(place, x + n - 1, &last, 1);
}

static int8_t element(const ek_place *place, const int8_t *x, int64_t i)
{
    int8_t value;
    ek_download(place, &value, x + i, 1);
    return value;
}

/* O041 */
START_TEST(the_last_is_the_largest)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    int64_t n = counts[_i];
    int8_t *x = open_long(&places[0]);
    void *memory = NULL;
    MUST(ek_alloc(places[0].queue, 16, &memory));
    int8_t *largest = memory;
    int64_t *where = (int64_t *)memory + 1, found;
    set(&places[0], x, n, -5, 7);
    for (int p = 0; p < count; p++) {
        MUST(ek_max_i8(places[p].queue, 1, n, 1, x, largest));
        ck_assert_int_eq(element(&places[p], largest, 0), 7);
    }
    MUST(ek_argmax_i8(places[count - 1].queue, 1, n, 1, x, where));
    ek_download(&places[count - 1], &found, where, sizeof found);
    ck_assert_int_eq(found, n - 1);
    MUST(ek_free(places[0].queue, memory));
    close_long(&places[0], x);
}
END_TEST

START_TEST(every_element_is_computed)
{
    const ek_place *places;
    int count = ek_tested_places(&places);
    const ek_place *place = &places[count - 1];
    int64_t n = counts[1];
    int8_t *x = open_long(place), *out = open_long(place);
    set(place, x, n, -5, 7);
    set(place, out, n, 99, 99);
    MUST(ek_neg_i8(place->queue, n, x, out));
    ck_assert_int_eq(element(place, out, n - 1), -7);
    for (int64_t i = n - 2; i >= 0; i -= INT64_C(1) << 29)
        ck_assert_int_eq(element(place, out, i), 5);
    close_long(place, x);
    close_long(place, out);
}
END_TEST

static Suite *long_suite(void)
{
    Suite *suite = suite_create("long");
    TCase *tests = tcase_create("long");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, the_last_is_the_largest, 0, COUNTS);
    tcase_add_test(tests, every_element_is_computed);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return ek_run_at_places(long_suite, COUNTS + 1);
}
