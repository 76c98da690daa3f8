/* Devices: what computes. A device owns what is costly to make (a context, a memory pool). It is
 * counted, does not change once open, and may be used from any thread. */
#ifndef EINKORN_DEVICE_H
#define EINKORN_DEVICE_H

#include <stdint.h>

#include "einkorn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ek_device ek_device;

/* The variants an operation may have: one column of the ops table each. */
typedef enum ek_variant {
    EK_CPU_BASE,   /* what every machine of the architecture has (x86-64: SSE2) */
    EK_CPU_AVX2,   /* AVX2, FMA, BMI2, F16C */
    EK_CPU_AVX512, /* AVX-512 F, DQ, BW, VL */
    EK_CPU_NEON,   /* aarch64 */
    EK_CUDA,
    EK_VARIANTS
} ek_variant;

/* Devices as DLPack numbers them (DLDeviceType). */
typedef enum ek_device_type {
    EK_DEVICE_CPU = 1,
    EK_DEVICE_CUDA = 2,
    EK_DEVICE_CUDA_HOST = 3 /* pinned host memory: an operand like any other for the CPU */
} ek_device_type;

/* Opens "cpu", "cuda" (the first GPU) or "cuda:N" and stores it in *device. Opening the same
 * device again gives the same object with one more count. EK_NO_DEVICE, with the reason in the
 * message, if there is none. Reads EINKORN_CPU (base, avx2, avx512), which names the variant that
 * queues of a CPU device start with; the default is the best this machine has. */
ek_status ek_device_open(const char *name, ek_device **device);

/* Gives one count back; the last one releases the device. Queues and events hold counts of their
 * own, so any order of closing is safe. A null pointer is allowed. */
void ek_device_close(ek_device *device);

/* How many devices of a type this machine has: 1 for the CPU, 0 GPUs where there is no driver. */
int32_t ek_device_count(ek_device_type type);

/* "cpu", "cuda:0" and so on. */
const char *ek_device_name(const ek_device *device);

/* The maker's name of the processor or GPU; "" if the system does not tell. */
const char *ek_device_model(const ek_device *device);

ek_device_type ek_device_get_type(const ek_device *device);

/* The N of "cuda:N"; 0 for the CPU. */
int32_t ek_device_index(const ek_device *device);

/* 1 if this build has the variant and this machine can run it, else 0. */
int ek_variant_available(ek_variant variant);

/* "base", "avx2", "avx512", "neon", "cuda"; "?" for a value that is no variant. */
const char *ek_variant_name(ek_variant variant);

/* The variant of that name. EK_INVALID_ARGUMENT for any other text. */
ek_status ek_variant_parse(const char *name, ek_variant *variant);

#ifdef __cplusplus
}
#endif
#endif
