/* Pinned memory through which pageable or scattered host memory is copied. */
#ifndef EK_CUDA_STAGING_H
#define EK_CUDA_STAGING_H

#include "cuda/queue.h"

/* Gives the pinned memory back. The queue has done its work. A null pointer is allowed. */
void ek_cuda_staging_free(ek_device *device, struct ek_cuda_staging *staging);

#endif
