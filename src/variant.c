#include <string.h>

#include "einkorn/device.h"
#include "error.h"

static const char *const names[EK_VARIANTS] = {
    [EK_CPU_BASE] = "base", [EK_CPU_AVX2] = "avx2", [EK_CPU_AVX512] = "avx512",
    [EK_CPU_NEON] = "neon", [EK_CUDA] = "cuda",
};

const char *ek_variant_name(ek_variant variant)
{
    return (unsigned)variant < EK_VARIANTS ? names[variant] : "?";
}

ek_status ek_variant_parse(const char *name, ek_variant *variant)
{
    if (!variant)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_variant_parse: variant is null");
    for (int i = 0; name && i < EK_VARIANTS; i++) {
        if (strcmp(name, names[i]) == 0) {
            *variant = (ek_variant)i;
            return EK_OK;
        }
    }
    return ek_fail(EK_INVALID_ARGUMENT,
                   "ek_variant_parse: name is '%s': must be base, avx2, avx512, neon or cuda",
                   name ? name : "(null)");
}
