# EK_TRY_FLAGS(VARIABLE, FLAGS): adds each flag the C compiler takes to VARIABLE.
AC_DEFUN([EK_TRY_FLAGS], [
  for ek_flag in $2; do
    ek_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror $ek_flag"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [$1="$[]$1 $ek_flag"])
    CFLAGS=$ek_saved_CFLAGS
  done
])

# EK_ARITHMETIC: the flags that make arithmetic the same everywhere, and C11. gcc 12 puts short
# vectors into MMX registers, which are those of long double, and leaves them in that state.
AC_DEFUN([EK_ARITHMETIC], [
  AC_MSG_CHECKING([for the flags of exact arithmetic])
  EK_ARITHMETIC_CFLAGS=
  EK_TRY_FLAGS([EK_ARITHMETIC_CFLAGS],
    [-std=gnu11 -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -fwrapv -fopenmp-simd -mno-mmx])
  AS_CASE([$EK_ARITHMETIC_CFLAGS], [*-ffp-contract=off*-fwrapv*], [],
    [AC_MSG_ERROR([the C compiler must take -ffp-contract=off and -fwrapv: use gcc or clang])])
  AC_MSG_RESULT([$EK_ARITHMETIC_CFLAGS])
  AC_SUBST([EK_ARITHMETIC_CFLAGS])
])

# EK_OPENMP: OpenMP is how the CPU uses threads.
AC_DEFUN([EK_OPENMP], [
  AC_OPENMP
  AS_IF([test -z "$OPENMP_CFLAGS"],
    [AC_MSG_ERROR([OpenMP is missing: with clang install the package libomp-dev])])
])

# EK_VARIANTS: which CPU variants this architecture and compiler have.
AC_DEFUN([EK_VARIANTS], [
  AC_CANONICAL_HOST
  ek_x86=0
  EK_VARIANT_LIST="base"
  AS_CASE([$host_cpu], [x86_64], [
    EK_AVX2_CFLAGS= EK_AVX512_CFLAGS=
    EK_TRY_FLAGS([EK_AVX2_CFLAGS], [-mavx2 -mfma -mbmi2 -mf16c])
    EK_TRY_FLAGS([EK_AVX512_CFLAGS], [$EK_AVX2_CFLAGS -mavx512f -mavx512dq dnl
-mavx512bw -mavx512vl -mprefer-vector-width=512])
    ek_x86=1
    EK_VARIANT_LIST="base avx2 avx512"
  ])
  AC_DEFINE_UNQUOTED([EK_HAVE_X86], [$ek_x86], [1 if the avx2 and avx512 variants are built])
  AC_SUBST([EK_AVX2_CFLAGS])
  AC_SUBST([EK_AVX512_CFLAGS])
  AC_SUBST([EK_VARIANT_LIST])
])

# EK_CHECKS: --enable-werror, --enable-debug and --enable-sanitizers.
AC_DEFUN([EK_CHECKS], [
  EK_WARNING_CFLAGS=
  EK_TRY_FLAGS([EK_WARNING_CFLAGS], [-Wall -Wextra -Wno-unused-parameter -Wno-unknown-pragmas -Wno-pass-failed])
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [warnings are errors])])
  AS_IF([test "x$enable_werror" = xyes], [EK_WARNING_CFLAGS="$EK_WARNING_CFLAGS -Werror"])
  AC_ARG_ENABLE([debug], [AS_HELP_STRING([--enable-debug],
    [queues notice when two threads use one at once])])
  ek_debug=0
  AS_IF([test "x$enable_debug" = xyes], [ek_debug=1])
  AC_DEFINE_UNQUOTED([EK_DEBUG], [$ek_debug], [1 if queues notice two threads in one])
  AC_ARG_ENABLE([sanitizers], [AS_HELP_STRING([--enable-sanitizers@<:@=LIST@:>@],
    [compile with these sanitizers (default: address,undefined)])])
  AS_CASE([$enable_sanitizers],
    [yes], [enable_sanitizers=address,undefined],
    [no|""], [enable_sanitizers=])
  AS_IF([test -n "$enable_sanitizers"], [
    # A finding ends the program, so that a test notices it. -O1: kernels compile in half the time or
    # less, and find the same.
    EK_SANITIZER_FLAGS="-O1 -fsanitize=$enable_sanitizers -fno-sanitize-recover=all -fno-omit-frame-pointer -g"
    # A program without the sanitizer that loads a shared object with it must load its runtime first.
    AS_CASE([$enable_sanitizers], [*address*],
      [EK_SANITIZER_PRELOAD="LD_PRELOAD=$($CC -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0"])
    AC_MSG_NOTICE([sanitizers: $enable_sanitizers])])
  AC_SUBST([EK_WARNING_CFLAGS])
  AC_SUBST([EK_SANITIZER_FLAGS])
  AC_SUBST([EK_SANITIZER_PRELOAD])
])
