#include "einkorn/dtype.h"

#include <string.h>

#include "error.h"

static const struct {
    const char *name;
    size_t size;
} dtypes[EK_DTYPES] = {
    [EK_B8] = {"b8", 1},   [EK_I8] = {"i8", 1},   [EK_I16] = {"i16", 2},    [EK_I32] = {"i32", 4},
    [EK_I64] = {"i64", 8}, [EK_U8] = {"u8", 1},   [EK_U16] = {"u16", 2},    [EK_U32] = {"u32", 4},
    [EK_U64] = {"u64", 8}, [EK_F16] = {"f16", 2}, [EK_BF16] = {"bf16", 2},  [EK_F32] = {"f32", 4},
    [EK_F64] = {"f64", 8}, [EK_C64] = {"c64", 8}, [EK_C128] = {"c128", 16},
};

size_t ek_dtype_size(ek_dtype dtype)
{
    return (unsigned)dtype < EK_DTYPES ? dtypes[dtype].size : 0;
}

const char *ek_dtype_name(ek_dtype dtype)
{
    return (unsigned)dtype < EK_DTYPES ? dtypes[dtype].name : "?";
}

ek_status ek_dtype_parse(const char *name, ek_dtype *dtype)
{
    if (!dtype)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_dtype_parse: dtype is null");
    for (int i = 0; name && i < EK_DTYPES; i++) {
        if (strcmp(name, dtypes[i].name) == 0) {
            *dtype = (ek_dtype)i;
            return EK_OK;
        }
    }
    return ek_fail(EK_INVALID_ARGUMENT, "ek_dtype_parse: name is '%s': no dtype has that name",
                   name ? name : "(null)");
}
