/* Names for code that is compiled once a CPU variant: EK_CPU_NAME(f) is f__avx2 and so on. The
 * build defines EK_CPU_VARIANT. */
#ifndef EK_CPU_VARIANT_H
#define EK_CPU_VARIANT_H

#define EK_CPU_PASTE_(name, variant) name##__##variant
#define EK_CPU_PASTE(name, variant) EK_CPU_PASTE_(name, variant)
#define EK_CPU_NAME(name) EK_CPU_PASTE(name, EK_CPU_VARIANT)

/* Iterations are independent: an output is an input or shares nothing with it (the wrapper saw to
 * that), so the compiler may vectorize without tests of its own. */
#define EK_SIMD _Pragma("omp simd")

/* The same for a loop that adds to a number, or looks for the smallest. */
#define EK_SIMD_SUM(name) EK_PRAGMA(omp simd reduction(+ : name))
#define EK_SIMD_MIN(name) EK_PRAGMA(omp simd reduction(min : name))
#define EK_PRAGMA(text) _Pragma(#text)

/* First in a strided loop with little work: keeps it scalar, since vectorized gathers bring it
 * nothing but code. */
#define EK_SCALAR __asm__ volatile("")

/* For kernels that several others call with much work each: one copy is enough. */
#if defined(__clang__)
#    define EK_NOINLINE __attribute__((noinline)) static
#else
#    define EK_NOINLINE __attribute__((noinline, noclone)) static
#endif

/* For what runs once where others run a thousand times: small code, no vectors. */
#define EK_COMPACT __attribute__((cold)) static

#endif
