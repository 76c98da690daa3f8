#include "npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "npy_header.h"

/* Memory grows with what is really there, so a header that promises too much costs nothing. */
enum { FIRST_BYTES = 1 << 24 };

static ek_status system_failure(const char *path, const char *what)
{
    return ek_fail(EK_INVALID_ARGUMENT, "%s: %s: %s", path, what, strerror(errno));
}

static ek_status read_exactly(FILE *file, const char *name, const char *what, void *data,
                              size_t bytes)
{
    size_t got = fread(data, 1, bytes, file);
    if (got == bytes)
        return EK_OK;
    if (ferror(file))
        return system_failure(name, "cannot be read");
    return ek_fail(EK_INVALID_ARGUMENT, "%s: %s: the file ends after %zu of %zu bytes", name, what,
                   got, bytes);
}

static ek_status read_header(FILE *file, const char *name, npy_header *header)
{
    unsigned char head[12];
    EK_TRY(read_exactly(file, name, "magic string and version", head, 8));
    if (memcmp(head, "\x93NUMPY", 6) != 0)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: magic string: this is no .npy file", name);
    if (head[6] < 1 || head[6] > 3 || head[7] != 0)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: version is %d.%d: must be 1.0, 2.0 or 3.0", name,
                       head[6], head[7]);
    size_t digits = head[6] == 1 ? 2 : 4, length = 0;
    EK_TRY(read_exactly(file, name, "header length", head + 8, digits));
    for (size_t i = digits; i-- > 0;)
        length = length << 8 | head[8 + i];
    if (length > NPY_HEADER_BYTES)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: header length is %zu: must be at most %d", name,
                       length, NPY_HEADER_BYTES);
    char *text = malloc(length + 1);
    if (!text)
        return ek_fail(EK_OUT_OF_MEMORY, "%s: no host memory", name);
    ek_status status = read_exactly(file, name, "header", text, length);
    if (status == EK_OK)
        status = npy_header_parse(name, text, length, header);
    free(text);
    return status;
}

/* Reads `bytes` bytes, and makes sure that none follow. */
static ek_status read_data(FILE *file, const char *name, size_t bytes, void **data)
{
    char *block = NULL;
    size_t room = 0, filled = 0;
    while (filled < bytes) {
        room = room ? (bytes / 2 < room ? bytes : 2 * room) : FIRST_BYTES;
        room = room > bytes ? bytes : room;
        char *more = realloc(block, room);
        if (!more) {
            free(block);
            return ek_fail(EK_OUT_OF_MEMORY, "%s: data: no host memory for %zu bytes", name, room);
        }
        block = more;
        size_t got = fread(block + filled, 1, room - filled, file);
        filled += got;
        if (filled < room)
            break;
    }
    ek_status status = EK_OK;
    if (ferror(file))
        status = system_failure(name, "cannot be read");
    else if (filled < bytes)
        status = ek_fail(EK_INVALID_ARGUMENT, "%s: data: the file ends after %zu of %zu bytes",
                         name, filled, bytes);
    else if (getc(file) != EOF)
        status = ek_fail(EK_INVALID_ARGUMENT,
                         "%s: data: the file goes on after the %zu bytes of its shape and descr",
                         name, bytes);
    if (status != EK_OK) {
        free(block);
        return status;
    }
    *data = block;
    return EK_OK;
}

static void swap_bytes(unsigned char *data, size_t bytes, size_t number)
{
    for (size_t at = 0; at < bytes; at += number) {
        for (size_t i = 0; i < number / 2; i++) {
            unsigned char kept = data[at + i];
            data[at + i] = data[at + number - 1 - i];
            data[at + number - 1 - i] = kept;
        }
    }
}

/* A description of memory on the host, without data. */
static ek_status host_array(ek_dtype dtype, int32_t ndim, int64_t *shape, ek_array *array)
{
    ek_device *cpu;
    EK_TRY(ek_device_open("cpu", &cpu));
    *array = ek_array_view(NULL, dtype, cpu, ndim, shape);
    ek_device_close(cpu);
    return EK_OK;
}

ek_status npy_read_file(FILE *file, const char *name, npy_array *out)
{
    npy_header header;
    memset(out, 0, sizeof *out);
    EK_TRY(read_header(file, name, &header));
    memcpy(out->shape, header.shape, (size_t)header.ndim * sizeof header.shape[0]);
    out->dtype = header.dtype;
    EK_TRY(host_array(header.dtype, header.ndim, out->shape, &out->array));
    int64_t size;
    if (ek_array_size(&out->array, &size) != EK_OK)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: shape: its elements do not fit 2^63 bytes", name);
    size_t bytes = (size_t)size * ek_dtype_size(header.dtype);
    EK_TRY(read_data(file, name, bytes, &out->array.data));
    if (header.swapped)
        swap_bytes(out->array.data, bytes, npy_number_size(header.dtype));
    if (header.fortran && size > 0) {
        int64_t step = 1;
        for (int32_t d = 0; d < header.ndim; d++) {
            out->strides[d] = step;
            step *= header.shape[d];
        }
        out->array.strides = out->strides;
    }
    return EK_OK;
}

ek_status npy_read(const char *path, npy_array *out)
{
    memset(out, 0, sizeof *out);
    FILE *file = fopen(path, "rb");
    if (!file)
        return system_failure(path, "cannot be opened");
    ek_status status = npy_read_file(file, path, out);
    fclose(file);
    return status;
}

void npy_free(npy_array *array)
{
    free(array->array.data);
    array->array.data = NULL;
}

static ek_status write_file(FILE *file, const char *path, const ek_array *array)
{
    ek_dtype dtype;
    int64_t size;
    EK_TRY(ek_array_dtype(array, &dtype));
    EK_TRY(ek_array_size(array, &size));
    char text[NPY_PREAMBLE_BYTES];
    size_t length = npy_header_format(dtype, array->ndim, array->shape, text);
    size_t bytes = (size_t)size * ek_dtype_size(dtype);
    if (fwrite(text, 1, length, file) != length ||
        (bytes && fwrite(ek_array_data(array), 1, bytes, file) != bytes) || fflush(file) != 0)
        return system_failure(path, "cannot be written");
    return EK_OK;
}

/* Writes beside the target and renames, so that no half file is ever seen under its name. */
static ek_status write_and_rename(const char *path, const ek_array *array)
{
    size_t room = strlen(path) + sizeof ".XXXXXX";
    char *temporary = malloc(room);
    if (!temporary)
        return ek_fail(EK_OUT_OF_MEMORY, "%s: no host memory", path);
    snprintf(temporary, room, "%s.XXXXXX", path);
    int descriptor = mkstemp(temporary);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    ek_status status = EK_OK;
    if (!file) {
        status = system_failure(path, "cannot be written");
        if (descriptor >= 0)
            close(descriptor);
    } else {
        /* mkstemp lets nobody else read; an output has the permissions of any new file. */
        mode_t mask = umask(0);
        umask(mask);
        if (fchmod(descriptor, 0666 & ~mask) != 0)
            status = system_failure(path, "cannot be written");
        if (status == EK_OK)
            status = write_file(file, path, array);
        if (fclose(file) != 0 && status == EK_OK)
            status = system_failure(path, "cannot be written");
        if (status == EK_OK && rename(temporary, path) != 0)
            status = system_failure(path, "cannot be written");
    }
    if (descriptor >= 0 && status != EK_OK)
        unlink(temporary);
    free(temporary);
    return status;
}

ek_status npy_write(const char *path, const ek_array *array)
{
    struct stat known;
    if (stat(path, &known) == 0 && !S_ISREG(known.st_mode)) {
        FILE *file = fopen(path, "wb"); /* a pipe or a device is not replaced by a file */
        if (!file)
            return system_failure(path, "cannot be written");
        ek_status status = write_file(file, path, array);
        if (fclose(file) != 0 && status == EK_OK)
            status = system_failure(path, "cannot be written");
        return status;
    }
    char *target = realpath(path, NULL); /* the file behind a link, if it is there */
    ek_status status = write_and_rename(target ? target : path, array);
    free(target);
    return status;
}
