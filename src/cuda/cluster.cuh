/* Clusters of blocks, which reach each other's shared memory (compute capability 9.0). Elsewhere a
 * block is a cluster of its own, and the host launches no larger ones. */
#ifndef EK_CUDA_CLUSTER_CUH
#define EK_CUDA_CLUSTER_CUH

#include <stdint.h>

#include "cuda/rows.cuh"

/* Says that this block runs: nobody may write into its shared memory before. */
EK_INLINE void ek_cluster_arrive(int blocks)
{
#if __CUDA_ARCH__ >= 900
    if (blocks > 1)
        asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}

/* Waits until all blocks have arrived. */
EK_INLINE void ek_cluster_wait(int blocks)
{
#if __CUDA_ARCH__ >= 900
    if (blocks > 1)
        asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/* All threads of the cluster, which then see what was written before. */
EK_INLINE void ek_cluster_sync(int blocks)
{
    if (blocks == 1)
        __syncthreads();
    ek_cluster_arrive(blocks);
    ek_cluster_wait(blocks);
}

/* Writes to a place in shared memory, in every block of the cluster. */
template <typename T> EK_INLINE void ek_cluster_write(T *place, T value, int blocks)
{
    if (blocks == 1) {
        *place = value;
        return;
    }
#if __CUDA_ARCH__ >= 900
    uint32_t here = (uint32_t)__cvta_generic_to_shared(place);
#    pragma unroll 1
    for (int block = 0; block < blocks; block++) {
        uint32_t there;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(block));
        if constexpr (sizeof(T) == 4)
            asm volatile("st.shared::cluster.b32 [%0], %1;" ::"r"(there),
                         "r"(*(const uint32_t *)&value)
                         : "memory");
        else
            asm volatile("st.shared::cluster.b64 [%0], %1;" ::"r"(there),
                         "l"(*(const uint64_t *)&value)
                         : "memory");
    }
#endif
}

#endif
