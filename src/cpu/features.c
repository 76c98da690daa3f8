#include "cpu/features.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#    include <cpuid.h>
#endif

#if defined(__x86_64__)
/* Not among the names that every compiler's __builtin_cpu_supports knows. */
static int has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

static int can_run(ek_variant variant)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("bmi2") && has_f16c();
    int avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    return variant == EK_CPU_BASE || (variant == EK_CPU_AVX2 && avx2) ||
           (variant == EK_CPU_AVX512 && avx512);
#else
    return variant == EK_CPU_BASE;
#endif
}

ek_variant ek_cpu_best_variant(void)
{
    for (int variant = EK_CPU_NEON; variant > EK_CPU_BASE; variant--) {
        if (can_run((ek_variant)variant))
            return (ek_variant)variant;
    }
    return EK_CPU_BASE;
}

int ek_variant_available(ek_variant variant)
{
    return variant == EK_CUDA ? ek_device_count(EK_DEVICE_CUDA) > 0 : can_run(variant);
}

void ek_cpu_model(char *text, size_t size)
{
    text[0] = '\0';
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        const char *value = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (value) {
            snprintf(text, size, "%s", value + 1 + strspn(value + 1, " "));
            text[strcspn(text, "\n")] = '\0';
            break;
        }
    }
    if (file)
        fclose(file);
}

/* What the kernel says of the last-level cache that this processor shares; 0 if it says nothing.
 * The C library's answer counts, on some machines, the caches of all of them. */
static size_t cache_bytes_of_kernel(void)
{
    unsigned long kilobytes = 0;
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    if (!file)
        return 0;
    if (fscanf(file, "%luK", &kilobytes) != 1)
        kilobytes = 0;
    fclose(file);
    return (size_t)kilobytes << 10;
}

size_t ek_cpu_cache_bytes(void)
{
    enum { COMMON = 32 << 20 };
    /* Asking takes many microseconds, so it is done once; threads that race find the same. */
    static _Atomic size_t known;
    size_t bytes = atomic_load_explicit(&known, memory_order_relaxed);
    if (bytes)
        return bytes;
    bytes = cache_bytes_of_kernel();
    if (!bytes)
        bytes = COMMON;
    atomic_store_explicit(&known, bytes, memory_order_relaxed);
    return bytes;
}
