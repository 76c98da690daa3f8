/* OpenBLAS itself, as it was found at run time. */
#ifndef BLAS_H
#define BLAS_H

/* What it says of itself, on a line; null: this build has none. */
const char *blas_library(void);

/* Why ek_gemm computes with the exact kernels instead; null: it does not. */
const char *blas_refusal(void);

/* How many threads it may use when it is called directly from this one. Returns how many they were,
 * for a second call. */
int blas_set_threads(int threads);

#endif
