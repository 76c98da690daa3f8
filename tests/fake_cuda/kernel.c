#include "driver.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_KERNELS = 4096, SHARED = 48 << 10, MOST_SHARED = 227 << 10 };

struct CUkern_st {
    char name[64];
    unsigned shared[MAX_DEVICES]; /* bytes of dynamic shared memory it may be launched with */
};

struct CUlib_st {
    CUlibrary next;
    int count;
    struct CUkern_st *kernels[MAX_KERNELS];
};

static CUlibrary libraries;
static int library_count, kernels[MAX_DEVICES];
static ek_fake_launch last_launch;

int ek_fake_libraries(void)
{
    return library_count;
}

ek_fake_launch ek_fake_last_launch(void)
{
    return last_launch;
}

int ek_fake_kernels_of(int device)
{
    return kernels[device];
}

int ek_fake_kernels(void)
{
    int sum = 0;
    for (int i = 0; i < MAX_DEVICES; i++)
        sum += kernels[i];
    return sum;
}

void fake_note_launch(const ek_fake_launch *launch, CUstream stream)
{
    pthread_mutex_lock(&fake_lock);
    kernels[launch->device]++;
    last_launch = *launch;
    last_launch.stream = stream;
    pthread_mutex_unlock(&fake_lock);
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit_options,
                                   void **jit_values, unsigned int jit_count,
                                   CUlibraryOption *options, void **values, unsigned int count)
{
    enum { FATBIN_MAGIC = 0xba55ed50u };
    uint32_t magic;
    (void)jit_options;
    (void)jit_values;
    (void)options;
    (void)values;
    ENTER("cuLibraryLoadData");
    /* As slow as the real one, so that threads have time to cross. */
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    memcpy(&magic, code, sizeof magic);
    REQUIRE(jit_count == 0 && count == 0, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(magic == FATBIN_MAGIC, CUDA_ERROR_INVALID_IMAGE);
    *library = calloc(1, sizeof **library);
    REQUIRE(*library, CUDA_ERROR_OUT_OF_MEMORY);
    pthread_mutex_lock(&fake_lock);
    (*library)->next = libraries;
    libraries = *library;
    library_count++;
    pthread_mutex_unlock(&fake_lock);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
    CUresult injected = fake_enter("cuLibraryUnload");
    pthread_mutex_lock(&fake_lock);
    CUlibrary *at = &libraries;
    while (*at != library)
        at = &(*at)->next;
    *at = library->next;
    library_count--;
    pthread_mutex_unlock(&fake_lock);
    for (int i = 0; i < library->count; i++)
        free(library->kernels[i]);
    free(library);
    return injected;
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    ENTER("cuLibraryGetKernel");
    REQUIRE(library->count < MAX_KERNELS, CUDA_ERROR_OUT_OF_MEMORY);
    CUkernel fresh = malloc(sizeof *fresh);
    REQUIRE(fresh, CUDA_ERROR_OUT_OF_MEMORY);
    snprintf(fresh->name, sizeof fresh->name, "%s", name);
    for (int i = 0; i < MAX_DEVICES; i++)
        fresh->shared[i] = SHARED;
    library->kernels[library->count++] = fresh;
    *kernel = fresh;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                      CUdevice device)
{
    ENTER("cuKernelSetAttribute");
    REQUIRE(kernel && device >= 0 && device < fake_device_count, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value >= 0 &&
                value <= MOST_SHARED,
            CUDA_ERROR_INVALID_VALUE);
    kernel->shared[device] = (unsigned)value;
    return CUDA_SUCCESS;
}

static CUresult launch(CUfunction function, const unsigned *blocks, const unsigned *threads,
                       unsigned shared, CUstream stream, void **params, void **extra)
{
    uint64_t all = (uint64_t)threads[0] * threads[1] * threads[2];
    REQUIRE(function && stream && stream->context->retained > 0, CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(blocks[0] > 0 && blocks[0] <= INT32_MAX && blocks[1] > 0 && blocks[1] <= UINT16_MAX &&
                blocks[2] > 0 && blocks[2] <= UINT16_MAX && all > 0 && all <= 1024 &&
                shared <= ((CUkernel)function)->shared[stream->context->device] && params && !extra,
            CUDA_ERROR_INVALID_VALUE);
    node node = {.launch = {
                     ((CUkernel)function)->name,
                     stream->context->device,
                     stream,
                     {blocks[0], blocks[1], blocks[2]},
                     {threads[0], threads[1], threads[2]},
                 }};
    return fake_submit(&node, stream);
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned int blocks_x, unsigned int blocks_y,
                                unsigned int blocks_z, unsigned int threads_x,
                                unsigned int threads_y, unsigned int threads_z, unsigned int shared,
                                CUstream stream, void **params, void **extra)
{
    ENTER("cuLaunchKernel");
    return launch(function, (unsigned[]){blocks_x, blocks_y, blocks_z},
                  (unsigned[]){threads_x, threads_y, threads_z}, shared, stream, params, extra);
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
                                  void **extra)
{
    ENTER("cuLaunchKernelEx");
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];
        REQUIRE(attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
                    attribute->value.clusterDim.x <= 8 &&
                    config->gridDimX % attribute->value.clusterDim.x == 0,
                CUDA_ERROR_INVALID_VALUE);
    }
    return launch(function, (unsigned[]){config->gridDimX, config->gridDimY, config->gridDimZ},
                  (unsigned[]){config->blockDimX, config->blockDimY, config->blockDimZ},
                  config->sharedMemBytes, config->hStream, params, extra);
}
