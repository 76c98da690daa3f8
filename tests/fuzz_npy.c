/* Feeds damaged files to the .npy reader. Built with -DEK_LIBFUZZER -fsanitize=fuzzer it is a
 * target of libFuzzer; on its own it changes good files in a way that is the same in every run:
 *
 *     fuzz_npy [ITERATIONS]
 *
 * Whatever the bytes, the reader gives an array that can be walked and written back, or refuses
 * with one printable line; sanitizers see the rest. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/npy.h"
#include "../tools/npy_header.h"

#define REQUIRE(condition)                                                                         \
    ((condition) ? (void)0                                                                         \
                 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), abort()))

static const char name[] = "fuzzed";

/* Reads every element through shape and strides; volatile, so that it happens. */
static void walk(const npy_array *array, int64_t size)
{
    size_t bytes = ek_dtype_size(array->dtype);
    const char *data = ek_array_data(&array->array);
    for (int64_t i = 0; i < size; i++) {
        int64_t rest = i, offset = 0, step = 1;
        for (int32_t d = array->array.ndim - 1; d >= 0; d--) {
            int64_t stride = array->array.strides ? array->strides[d] : step;
            offset += rest % array->shape[d] * stride;
            rest /= array->shape[d];
            step *= array->shape[d];
        }
        const volatile char *at = data + (size_t)offset * bytes;
        (void)at[0];
        (void)at[bytes - 1];
    }
}

static void check_array(const npy_array *array)
{
    char text[NPY_PREAMBLE_BYTES];
    enum { PREFIX = 10 };
    int64_t size;
    npy_header header;
    REQUIRE(ek_array_size(&array->array, &size) == EK_OK);
    walk(array, size);
    size_t length = npy_header_format(array->dtype, array->array.ndim, array->shape, text);
    REQUIRE(length <= sizeof text && length % 64 == 0 && text[length - 1] == '\n');
    REQUIRE(npy_header_parse(name, text + PREFIX, length - PREFIX, &header) == EK_OK);
    REQUIRE(header.dtype == array->dtype && !header.fortran && !header.swapped);
    REQUIRE(header.ndim == array->array.ndim);
    for (int32_t d = 0; d < header.ndim; d++)
        REQUIRE(header.shape[d] == array->shape[d]);
}

static void check_message(void)
{
    const char *message = ek_error_message();
    REQUIRE(strncmp(message, name, sizeof name - 1) == 0);
    for (const char *c = message; *c; c++)
        REQUIRE(isprint((unsigned char)*c));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    npy_array array;
    FILE *file = size ? fmemopen((void *)data, size, "rb") : fopen("/dev/null", "rb");
    REQUIRE(file);
    if (npy_read_file(file, name, &array) == EK_OK)
        check_array(&array);
    else
        check_message();
    npy_free(&array);
    fclose(file);
    return 0;
}

#ifndef EK_LIBFUZZER

enum { MOST_BYTES = 512, ITERATIONS = 100000, MOST_CHANGES = 8 };

static const struct {
    const char *header;
    int version;
    size_t data; /* bytes */
} seeds[] = {
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 1, 24},
    {"{'descr': '>c16', 'fortran_order': True, 'shape': (2, 2), }", 2, 64},
    {"{'descr': '|b1', 'fortran_order': False, 'shape': (7,), }", 3, 7},
    {"{'descr': '<V2', 'fortran_order': True, 'shape': (1, 0, 3), }", 1, 0},
    {"{\"shape\": (), \"descr\": \"bfloat16\", \"fortran_order\": False}", 1, 2},
    {"{'descr': '<i8', 'fortran_order': False, 'shape': (3L, 1L, 1L)}", 1, 24},
};

/* What a reader of headers could stumble over. */
static const char *const words[] = {
    "'descr': ",
    "'shape': ",
    "'fortran_order': ",
    "True",
    "False",
    "None",
    "(",
    ")",
    "{",
    "}",
    "[",
    ",",
    ":",
    "'",
    "\"",
    "\\",
    " ",
    "\n",
    "-1",
    "0",
    "1",
    "9223372036854775807",
    "18446744073709551616",
    "0x10",
    "1e3",
    "L",
    "<f4",
    ">i8",
    "<f16",
    "|O",
    "V2",
    "\x93NUMPY",
    "\xff\xff\xff\xff",
};

enum { SEEDS = sizeof seeds / sizeof seeds[0], WORDS = sizeof words / sizeof words[0] };

/* xorshift64 (Marsaglia 2003). */
static uint64_t state = 0x9e3779b97f4a7c15u;

static size_t below(size_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state >> 33) % limit;
}

static size_t make_seed(size_t index, uint8_t *file)
{
    size_t header = strlen(seeds[index].header), prefix = seeds[index].version == 1 ? 10 : 12;
    memset(file, 0, MOST_BYTES);
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (uint8_t)seeds[index].version;
    file[8] = (uint8_t)(header + 1);
    memcpy(file + prefix, seeds[index].header, header);
    file[prefix + header] = '\n';
    return prefix + header + 1 + seeds[index].data;
}

/* Puts `count` bytes into the file at `at`, over `removed` others. */
static size_t splice(uint8_t *file, size_t size, size_t at, size_t removed, const char *bytes,
                     size_t count)
{
    if (size - removed + count > MOST_BYTES)
        return size;
    memmove(file + at + count, file + at + removed, size - at - removed);
    memcpy(file + at, bytes, count);
    return size - removed + count;
}

static size_t change(uint8_t *file, size_t size)
{
    if (size == 0)
        return size;
    size_t at = below(size), left = size - at;
    char byte = (char)below(256);
    const char *word = words[below(WORDS)];
    switch (below(6)) {
    case 0:
        file[at] ^= (uint8_t)(1u << below(8));
        return size;
    case 1:
        return splice(file, size, at, 1, &byte, 1);
    case 2:
        return splice(file, size, at, 1 + below(left < 16 ? left : 16), "", 0);
    case 3:
        return splice(file, size, at, 0, word, strlen(word));
    case 4:
        return splice(file, size, at, left < strlen(word) ? left : strlen(word), word,
                      strlen(word));
    default:
        return below(8) ? size : at; /* cut off */
    }
}

int main(int argc, char **argv)
{
    long iterations = argc > 1 ? strtol(argv[1], NULL, 10) : ITERATIONS;
    uint8_t file[MOST_BYTES];
    for (size_t i = 0; i < SEEDS; i++) {
        npy_array array;
        size_t size = make_seed(i, file);
        FILE *good = fmemopen(file, size, "rb");
        REQUIRE(good && npy_read_file(good, name, &array) == EK_OK);
        npy_free(&array);
        fclose(good);
    }
    for (long i = 0; i < iterations; i++) {
        size_t size = make_seed(below(SEEDS), file);
        for (size_t changes = below(MOST_CHANGES); changes > 0; changes--)
            size = change(file, size);
        LLVMFuzzerTestOneInput(file, size);
    }
    printf("%ld damaged files\nek-counts: 1 0 0\n", iterations);
    return 0;
}

#endif
