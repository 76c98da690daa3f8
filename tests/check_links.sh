#!/bin/sh
# A program links the operations it calls and no other: check_links.sh SRCDIR CC LIBS
# The build folder, which holds the library, is the current one.
srcdir=$1 cc=$2 libs=$3
passed=0 failed=0 skipped=0
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT

count() {
    if [ "$2" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$1"
    fi
}

# shellcheck disable=SC2086
$cc -O2 -Wall -Wextra -Werror -Iinclude -Igenerated/include -I"$srcdir/include" -o "$out/three" \
    "$srcdir/tests/link_three.c" libeinkorn.a $libs
count "the program of three operations does not link" $?
[ "$("$out/three")" = 21 ]
count "the program of three operations is wrong" $?

# Rows, typed calls and kernels all carry their operation's name.
names=$(nm "$out/three" | sed -n 's/.* [DRdr] ek_op_\([a-z0-9_]*\)$/\1/p' | sort | tr '\n' ' ')
[ "$names" = "add mul neg " ]
count "the program of add, mul and neg links the rows: $names" $?
# The helpers of all kernels are compiled once a variant too.
others=$(nm "$out/three" | sed -n 's/.* ek_\([a-z0-9_]*\)__.*/\1/p' | grep -v '^\(half_run\|tile_move\)$' |
    grep -v '^\(add\|mul\|neg\)\(_[a-z0-9]*\)\{0,1\}$')
[ -z "$others" ]
count "the program of add, mul and neg links kernels of: $others" $?
! nm "$out/three" | grep -q ' ek_ops$'
count "the program of three operations links the whole table" $?

strip "$out/three"
bytes=$(wc -c <"$out/three")
echo "three operations, stripped: $bytes bytes"
if grep -q 'EK_HAVE_CUDA 1\|EK_HAVE_BLAS 1' config.h || echo "$cc" | grep -q fsanitize; then
    skipped=1 # the bound is for the CPU alone
else
    [ "$bytes" -le 300000 ]
    count "the program of three operations has $bytes bytes, more than 300000" $?
fi
echo "ek-counts: $passed $failed $skipped"
[ "$failed" = 0 ]
