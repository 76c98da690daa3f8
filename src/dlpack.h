/* DLPack's structs as ABI version 1 lays them out. A test compares them with DLPack's header. */
#ifndef EK_DLPACK_H
#define EK_DLPACK_H

#include "einkorn/dlpack.h"

/* DLManagedTensor */
typedef struct ek_managed {
    ek_array array;
    void *context;
    void (*deleter)(struct ek_managed *self);
} ek_managed;

/* DLManagedTensorVersioned */
typedef struct ek_managed_versioned {
    struct {
        uint32_t major, minor;
    } version;
    void *context;
    void (*deleter)(struct ek_managed_versioned *self);
    uint64_t flags;
    ek_array array;
} ek_managed_versioned;

enum { EK_DLPACK_MAJOR = 1, EK_DLPACK_MINOR = 0, EK_DLPACK_READ_ONLY = 1 };

#endif
