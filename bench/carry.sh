#!/bin/sh
# usage: carry.sh BUILD OUT
#
# Puts what bench/run-gpu.sh runs into the folder OUT: the programs of BUILD without their symbols,
# the examples, and the shared libraries they need that a machine without Check and MPFR lacks.
# It has the C library (as new as here), OpenMP and OpenBLAS itself.
set -eu
build=${1:?usage: carry.sh BUILD OUT}
out=${2:?usage: carry.sh BUILD OUT}
top=$(cd "$(dirname "$0")/.." && pwd)
system='libc|libm|libdl|librt|libpthread|libgomp|libgcc_s|libstdc\+\+|libopenblas|libgfortran|libquadmath'
staged=$(mktemp -d)
trap 'rm -rf "$staged"' EXIT

make -C "$build" --no-print-directory all bench/overhead
# shellcheck disable=SC2016 # make's variable
tests=$(printf 'carried:\n\t@echo $(check_PROGRAMS)\n' |
    make -C "$build" -s --no-print-directory -f Makefile -f - carried | tail -n 1)
# shellcheck disable=SC2086
make -C "$build" --no-print-directory $tests
make -C "$build" --no-print-directory -s install DESTDIR="$staged"
pc=$(find "$staged" -name einkorn.pc)
prefix=$staged$(sed -n 's/^prefix=//p' "$pc")
flags=$(PKG_CONFIG_PATH=$(dirname "$pc") \
    pkg-config --define-variable=prefix="$prefix" --cflags --libs --static einkorn)

mkdir -p "$out/tests" "$out/bench" "$out/lib" "$out/_build"
for example in digits glm pipeline; do
    # shellcheck disable=SC2086
    cc -O2 -o "$out/_build/$example" "$top/examples/$example"/*.c $flags
done
cp "$build/einkorn" "$out/"
cp "$build/bench/overhead" "$out/bench/"
for test in $tests; do
    cp "$build/$test" "$out/tests/"
done
cp "$build/tests/plugin.so" "$out/tests/"
find "$out" -maxdepth 2 -type f -perm -u+x ! -path '*/lib/*' -exec strip {} + \
    -exec ldd {} + |
    sed -n 's/.* => \(\/[^ ]*\).*/\1/p' | sort -u |
    grep -Ev "/($system)\.so" |
    while read -r library; do
        cp -L "$library" "$out/lib/"
    done
du -sh "$out"
