/* cuBLAS, opened at run time on first use. It works in the current context, so every call of it
 * stands between ek_cuda_guard_enter and ek_cuda_guard_leave (cuda/guard.h). */
#ifndef EK_CUDA_CUBLAS_H
#define EK_CUDA_CUBLAS_H

#include <cublas_api.h>

#include "einkorn/queue.h"
#include "einkorn/status.h"

/* Bytes of workspace that a handle has: what NVIDIA recommends for sm_90 and later; more than the
 * older ones ask for. */
#define EK_CUBLAS_WORKSPACE (32 << 20)

/* The entry points; null until ek_cublas_handle has succeeded once, constant from then on. */
typedef struct ek_cublas_table {
    __typeof__(cublasCreate_v2) *create;
    __typeof__(cublasDestroy_v2) *destroy;
    __typeof__(cublasSetStream_v2) *set_stream;
    __typeof__(cublasSetWorkspace_v2) *set_workspace;
    __typeof__(cublasSetMathMode) *set_math_mode;
    __typeof__(cublasGetStatusString) *status_string;
    __typeof__(cublasGemmStridedBatchedEx_64) *gemm_ex;
} ek_cublas_table;

extern ek_cublas_table ek_cublas;

/* A handle, of a queue or spare. To destroy one waits for the whole device, which would end every
 * recording that is under way there, so a queue that closes leaves its own for the next. */
struct ek_cublas_owned {
    struct ek_cublas_owned *next; /* of those that are spare */
    cublasHandle_t handle;
};

/* The queue's handle: on its stream, with a workspace of its own, scalars on the host, no TF32 and
 * sums of half types in float. Made on first use; later calls only return it. The caller's current
 * context may be any. EK_UNSUPPORTED if this machine has no cuBLAS. */
ek_status ek_cublas_handle(ek_queue *queue, cublasHandle_t *handle);

/* While the queue records, a product stands between these: cuBLAS then works in memory of the
 * program. The queue's context is current. */
ek_status ek_cublas_enter_program(ek_queue *queue);
void ek_cublas_leave_program(ek_queue *queue);

/* Fails with the operation, the entry point and cuBLAS's own words, or as ek_cuda_queue_fail does
 * if earlier work of the queue has failed. */
ek_status ek_cublas_fail(const ek_queue *queue, const char *call, const char *entry,
                         cublasStatus_t result) __attribute__((cold));

#endif
