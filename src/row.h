/* How generated rows name their cells. A cell that this build does not have holds a function that
 * refuses, so that a typed call needs no test. */
#ifndef EK_ROW_H
#define EK_ROW_H

#include "einkorn/table.h"

/* Fails with the operation's name and the queue's variant. */
ek_status ek_refuse_variant(const char *call, const ek_queue *queue);

#if EK_HAVE_X86
#    define EK_X86(...) __VA_ARGS__
#else
#    define EK_X86(...)
#endif

/* A row that begins with EK_NO_CUDA has no cells for CUDA. */
#if EK_HAVE_CUDA && !defined EK_NO_CUDA
#    define EK_ROW_CUDA 1
#    define EK_GPU(...) __VA_ARGS__
#else
#    define EK_ROW_CUDA 0
#    define EK_GPU(...)
#endif

/* Prototypes of the typed functions of every variant of this build. */
#define EK_DECLARE_VARIANTS(name, args)                                                            \
    ek_status name##__base args;                                                                   \
    EK_X86(ek_status name##__avx2 args; ek_status name##__avx512 args;)                            \
    EK_GPU(ek_status name##__cuda args;)

/* A row's column: one cell a variant. */
#if EK_HAVE_X86 && EK_ROW_CUDA
#    define EK_CELLS(name, missing)                                                                \
        {                                                                                          \
            name##__base, name##__avx2, name##__avx512, missing, name##__cuda                      \
        }
#elif EK_HAVE_X86
#    define EK_CELLS(name, missing)                                                                \
        {                                                                                          \
            name##__base, name##__avx2, name##__avx512, missing, missing                           \
        }
#elif EK_ROW_CUDA
#    define EK_CELLS(name, missing)                                                                \
        {                                                                                          \
            name##__base, missing, missing, missing, name##__cuda                                  \
        }
#else
#    define EK_CELLS(name, missing)                                                                \
        {                                                                                          \
            name##__base, missing, missing, missing, missing                                       \
        }
#endif

/* The kernel tables a kind's array call uses: CPU variants of type `type name[]`, and CUDA's. */
#define EK_DECLARE_TABLES(type, name)                                                              \
    extern type name##__base[];                                                                    \
    EK_X86(extern type name##__avx2[]; extern type name##__avx512[];)                              \
    EK_GPU(extern const struct ek_cuda_kernels name##__cuda;)

#if EK_HAVE_X86 && EK_ROW_CUDA
#    define EK_TABLES(name)                                                                        \
        {                                                                                          \
            name##__base, name##__avx2, name##__avx512, 0, &name##__cuda                           \
        }
#elif EK_HAVE_X86
#    define EK_TABLES(name)                                                                        \
        {                                                                                          \
            name##__base, name##__avx2, name##__avx512, 0, 0                                       \
        }
#elif EK_ROW_CUDA
#    define EK_TABLES(name)                                                                        \
        {                                                                                          \
            name##__base, 0, 0, 0, &name##__cuda                                                   \
        }
#else
#    define EK_TABLES(name)                                                                        \
        {                                                                                          \
            name##__base, 0, 0, 0, 0                                                               \
        }
#endif

#endif
