#!/bin/sh
# Compiles each public header alone, as C11 and as C++17: check_headers.sh SRCDIR CC CXX
# The build folder, which holds the generated headers, is the current one.
srcdir=$1 cc=$2 cxx=$3
passed=0 failed=0 skipped=0
include="-Iinclude -Igenerated/include -I$srcdir/include"
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT

compile() {
    # shellcheck disable=SC2086
    if $1 $include -Wall -Wextra -Werror -fsyntax-only "$2" >"$out/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$1: <$header> does not compile alone:"
        cat "$out/log"
    fi
}

for file in "$srcdir"/include/*.h "$srcdir"/include/einkorn/*.h include/einkorn/*.h \
    generated/include/einkorn/*.h generated/include/einkorn/ops/*.h; do
    header=einkorn${file##*include/einkorn}
    # Twice, so that a missing guard shows.
    printf '#include <%s>\n#include <%s>\nint ek_one;\n' "$header" "$header" >"$out/one.c"
    cp "$out/one.c" "$out/one.cc"
    compile "$cc -std=c11 -pedantic" "$out/one.c"
    if command -v "${cxx%% *}" >/dev/null; then
        compile "$cxx -std=c++17" "$out/one.cc"
    else
        skipped=$((skipped + 1))
    fi
done
echo "ek-counts: $passed $failed $skipped"
[ "$failed" = 0 ]
