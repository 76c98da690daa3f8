# EK_PYTHON: a Python 3 that can import Jinja2; there may be several. A release tarball holds what
# the generator writes and needs none.
AC_DEFUN([EK_PYTHON], [
  AC_ARG_VAR([PYTHON], [a Python 3 that can import Jinja2])
  AC_MSG_CHECKING([for a Python 3 with Jinja2])
  ek_found=
  for ek_python in $PYTHON python3 /usr/bin/python3 /usr/local/bin/python3; do
    AS_IF([test -z "$ek_found" && $ek_python -c 'import sys, jinja2; sys.exit(sys.version_info < (3, 9))' 2>/dev/null],
      [ek_found=$ek_python])
  done
  AS_IF([test -n "$ek_found"], [
    PYTHON=$ek_found
    EK_PYTHON_SUMMARY=$PYTHON
    AC_MSG_RESULT([$PYTHON])
  ], [test -f "$srcdir/generated/ops.mk"], [
    PYTHON=:
    EK_PYTHON_SUMMARY="none; the sources that came with the release are used"
    AC_MSG_RESULT([none, not needed])
  ], [
    AC_MSG_RESULT([no])
    AC_MSG_ERROR([no Python 3 can import Jinja2: install the package python3-jinja2])
  ])
])

# EK_CUDA: --with-cuda[=DIR], --with-cuda-arch.
AC_DEFUN([EK_CUDA], [
  AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@],
    [build CUDA kernels with the toolkit in DIR (default: if nvcc is found)])],
    [], [with_cuda=check])
  AC_ARG_WITH([cuda-arch], [AS_HELP_STRING([--with-cuda-arch="75 80 90 ..."],
    [GPU architectures to compile for (default: those of 75 80 86 89 90 100 120 that nvcc knows)])],
    [], [with_cuda_arch=])
  ek_cuda=0 ek_sm_90=0 ek_clusters=0 NVCC= EK_CUDA_CFLAGS= EK_NVCC_ARCH= EK_NVCC_COMPRESS= EK_NVCC_SPLIT=
  AS_IF([test "x$with_cuda" != xno], [
    AS_CASE([$with_cuda],
      [yes|check], [AC_PATH_PROG([NVCC], [nvcc], [], [$PATH:/usr/local/cuda/bin])],
      [AC_PATH_PROG([NVCC], [nvcc], [], [$with_cuda/bin])])
    AS_IF([test -n "$NVCC"], [
      ek_root=$(cd "$(dirname "$(readlink -f "$NVCC")")/.." && pwd)
      EK_CUDA_CFLAGS="-isystem $ek_root/include"
      ek_saved_CPPFLAGS=$CPPFLAGS
      CPPFLAGS="$CPPFLAGS $EK_CUDA_CFLAGS"
      ek_missing=
      AC_CHECK_HEADER([cuda.h], [], [ek_missing=cuda.h])
      AC_CHECK_HEADER([cublas_v2.h], [], [ek_missing=cublas_v2.h])
      AC_PREPROC_IFELSE([AC_LANG_SOURCE([
#include <cuda.h>
#if CUDA_VERSION < 12000
#error "too old"
#endif
])], [], [ek_missing=${ek_missing:-version 12.0 or later}])
      CPPFLAGS=$ek_saved_CPPFLAGS
      AS_IF([test -z "$ek_missing"], [ek_cuda=1], [EK_CUDA_CFLAGS=])
    ])
    AS_IF([test $ek_cuda = 0 && test "x$with_cuda" != xcheck],
      [AC_MSG_ERROR([CUDA is missing (${ek_missing:-nvcc}): install NVIDIA's CUDA toolkit, 12.0 or newer, or configure --without-cuda])])
  ])
  EK_CUDA_SUMMARY=no
  AS_IF([test $ek_cuda = 1], [
    AS_IF([test -z "$with_cuda_arch"], [
      ek_known=$("$NVCC" --list-gpu-arch 2>/dev/null | tr '\n' ' ')
      for ek_arch in 75 80 86 89 90 100 120; do
        AS_CASE(["$ek_known "], [*"compute_$ek_arch "*],
          [with_cuda_arch="$with_cuda_arch${with_cuda_arch:+ }$ek_arch"])
      done
      AS_IF([test -z "$with_cuda_arch"],
        [AC_MSG_ERROR([$NVCC lists none of the architectures 75 to 120: choose with --with-cuda-arch])])
    ])
    for ek_arch in $with_cuda_arch; do
      AS_IF([test "$ek_arch" -ge 90], [ek_clusters=1])
      EK_NVCC_ARCH="$EK_NVCC_ARCH -gencode arch=compute_$ek_arch,code=sm_$ek_arch"
    done
    # Code for 9.0 itself may use instructions known to be right there.
    AS_CASE([" $with_cuda_arch "], [*" 90 "*], [ek_sm_90=1])
    # PTX of the newest, so that a later GPU can run it too.
    EK_NVCC_ARCH="$EK_NVCC_ARCH -gencode arch=compute_$ek_arch,code=compute_$ek_arch"
    # Smaller by a quarter to two fifths, and loaded about as fast. Drivers of CUDA 13 all read it;
    # earlier releases of nvcc would ask for a newer driver than their own.
    AS_IF(["$NVCC" --version 2>/dev/null | grep -q 'release @<:@2-9@:>@@<:@0-9@:>@\|release 1@<:@3-9@:>@'],
      [EK_NVCC_COMPRESS=--compress-mode=size])
    # A file is compiled by two processors, or a reduction's edit would wait for one.
    AS_IF(["$NVCC" --help 2>/dev/null | grep -q '[[-]]-split-compile'], [EK_NVCC_SPLIT=--split-compile=2])
    EK_CUDA_SUMMARY="$NVCC, architectures $with_cuda_arch"
  ])
  AC_DEFINE_UNQUOTED([EK_HAVE_CUDA], [$ek_cuda], [1 if CUDA kernels are built])
  AC_DEFINE_UNQUOTED([EK_HAVE_SM_90], [$ek_sm_90],
    [1 if they are built for compute capability 9.0])
  AC_DEFINE_UNQUOTED([EK_CUDA_CLUSTERS], [$ek_clusters],
    [1 if CUDA kernels are built for GPUs that have clusters of blocks])
  AC_SUBST([NVCC])
  AC_SUBST([EK_CUDA_CFLAGS])
  AC_SUBST([EK_NVCC_ARCH])
  AC_SUBST([EK_NVCC_COMPRESS])
  AC_SUBST([EK_NVCC_SPLIT])
  AM_CONDITIONAL([EK_WITH_CUDA], [test $ek_cuda = 1])
])

# EK_BLAS: --with-blas. OpenBLAS computes the fast GEMM.
AC_DEFUN([EK_BLAS], [
  AC_ARG_WITH([blas], [AS_HELP_STRING([--without-blas],
    [no OpenBLAS: the fast GEMM is the exact one])], [], [with_blas=check])
  ek_blas=0 EK_BLAS_LIBS= EK_BLAS_SUMMARY="no; the fast GEMM is the exact one"
  AS_IF([test "x$with_blas" != xno], [
    AS_IF([test -n "$PKG_CONFIG" && $PKG_CONFIG --exists openblas], [
      EK_BLAS_CFLAGS=$($PKG_CONFIG --cflags openblas)
      EK_BLAS_LIBS=$($PKG_CONFIG --libs openblas)
    ], [EK_BLAS_LIBS=-lopenblas])
    ek_saved_LIBS=$LIBS ek_saved_CPPFLAGS=$CPPFLAGS
    LIBS="$EK_BLAS_LIBS $LIBS" CPPFLAGS="$CPPFLAGS $EK_BLAS_CFLAGS"
    AC_CHECK_HEADER([cblas.h], [AC_CHECK_FUNC([cblas_sgemm], [ek_blas=1])])
    LIBS=$ek_saved_LIBS CPPFLAGS=$ek_saved_CPPFLAGS
    AS_IF([test $ek_blas = 1], [EK_BLAS_SUMMARY="OpenBLAS ($EK_BLAS_LIBS)"], [
      EK_BLAS_LIBS=
      AS_IF([test "x$with_blas" != xcheck],
        [AC_MSG_ERROR([OpenBLAS is missing: install the package libopenblas-openmp-dev or configure --without-blas])])
    ])
  ])
  AC_DEFINE_UNQUOTED([EK_HAVE_BLAS], [$ek_blas], [1 if OpenBLAS computes the fast GEMM])
  AC_SUBST([EK_BLAS_CFLAGS])
  AC_SUBST([EK_BLAS_LIBS])
])

# EK_TESTS: --disable-tests; what make check needs beside the library.
AC_DEFUN([EK_TESTS], [
  AC_ARG_ENABLE([tests], [AS_HELP_STRING([--disable-tests],
    [no test programs (default: if Check and MPFR are found)])])
  ek_tests=no
  EK_TESTS_SUMMARY="no: install the packages check and libmpfr-dev"
  AS_IF([test "x$enable_tests" = xno], [EK_TESTS_SUMMARY=no], [
    AS_IF([test -n "$PKG_CONFIG" && $PKG_CONFIG --exists check], [
      CHECK_CFLAGS=$($PKG_CONFIG --cflags check)
      CHECK_LIBS=$($PKG_CONFIG --libs --static check)
      AC_CHECK_HEADER([mpfr.h], [AC_CHECK_LIB([mpfr], [mpfr_erfc], [ek_tests=yes], [])])
    ])
  ])
  AS_IF([test $ek_tests = yes], [EK_TESTS_SUMMARY="Check, MPFR"])
  AC_CHECK_HEADERS([dlpack/dlpack.h])
  AC_SUBST([EK_TESTS_SUMMARY])
  AC_SUBST([CHECK_CFLAGS])
  AC_SUBST([CHECK_LIBS])
  AM_CONDITIONAL([EK_WITH_TESTS], [test $ek_tests = yes])
])

# EK_OPDIRS: more folders of operation templates.
AC_DEFUN([EK_OPDIRS], [
  AC_ARG_VAR([OPDIRS], [more folders of operation templates, absolute, separated by spaces])
  for ek_dir in $OPDIRS; do
    AS_CASE([$ek_dir], [/*], [], [AC_MSG_ERROR([OPDIRS names '$ek_dir', which is no absolute path])])
    AS_IF([test ! -d "$ek_dir"], [AC_MSG_ERROR([OPDIRS names '$ek_dir', which is no folder])])
  done
])

# EK_FEW_OPS: --enable-few-ops; substitutes EK_ALSO_OPS, what it is given besides.
AC_DEFUN([EK_FEW_OPS], [
  AC_ARG_ENABLE([few-ops], [AS_HELP_STRING([--enable-few-ops="OP ..."],
    [only operations that stand for all kinds and dtypes, and those named])], [], [enable_few_ops=no])
  AS_IF([test "x$enable_few_ops" != xno && test "$PYTHON" = :],
    [AC_MSG_ERROR([--enable-few-ops needs Python 3 with Jinja2: install the package python3-jinja2])])
  AM_CONDITIONAL([EK_WITH_FEW_OPS], [test "x$enable_few_ops" != xno])
  AS_CASE([$enable_few_ops], [yes|no], [EK_ALSO_OPS=], [EK_ALSO_OPS=$enable_few_ops])
  AC_SUBST([EK_ALSO_OPS])
])
