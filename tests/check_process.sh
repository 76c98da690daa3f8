#!/bin/sh
# What becomes of the library when its process forks or ends: check_process.sh FOLDER WHERE...
# FOLDER holds process and plugin.so; WHERE is cpu, fake (CUDA on the driver of the tests) or cuda.
folder=$(cd "$1" && pwd) || exit 1
shift
passed=0 failed=0 skipped=0
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT

# AddressSanitizer's allocator has locks that a fork beside other threads leaves taken, and what a
# process does not close before it ends is a leak to it.
sanitized=
if ldd "$folder/process" | grep -q libasan; then
    sanitized=yes
    export ASAN_OPTIONS="detect_leaks=0:$ASAN_OPTIONS"
fi

# scenario WHERE WORDS...: what it prints, if that is certain, then its arguments before the device.
scenario() {
    where=$1 wanted=$2
    shift 2
    device=$where
    set -- "$folder/process" "$@"
    if [ "$where" = fake ]; then
        device=cuda
        set -- env LD_LIBRARY_PATH="$folder/fake_cuda:$LD_LIBRARY_PATH" "$@"
    fi
    timeout 60 "$@" "$device" >"$out" 2>&1
    status=$?
    if [ $status = 0 ] && { [ -z "$wanted" ] || [ "$(cat "$out")" = "$wanted" ]; }; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$*, $where: status $status"
        cat "$out"
    fi
}

for where; do
    product=6
    [ "$where" != fake ] || product= # no cuBLAS there
    scenario "$where" '' fork-computes
    [ "$where" = cpu ] || scenario "$where" '' fork-refuses
    scenario "$where" '' fork-before-threads
    scenario "$where" '' fork-beside-products
    # Other threads of the parent may be inside the real driver, whose locks are its own affair.
    if [ -n "$sanitized" ]; then
        skipped=$((skipped + 1))
    elif [ "$where" != cuda ]; then
        scenario "$where" '' fork-beside-opening
    fi
    scenario "$where" freed end-frees-late
    scenario "$where" "$product" end-returns
    scenario "$where" "$product" end-in-thread
    scenario "$where" "$product" end-at-once
    scenario "$where" "$product" plugin "$folder/plugin.so"
done
echo "ek-counts: $passed $failed $skipped"
[ "$failed" = 0 ]
