#!/bin/sh
# usage: run-cpu.sh BUILD OUT
#
# Times every operation of BUILD on the CPU, what its calls cost, and the peers that are installed,
# and puts JSON, a table and a chart into OUT. Some minutes on two cores.
set -eu
build=${1:?usage: run-cpu.sh BUILD OUT}
out=${2:?usage: run-cpu.sh BUILD OUT}
here=$(dirname "$0")
mkdir -p "$out"

# Settings for the sake of older OpenBLAS builds; they slow both sides.
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE

echo "timing float32 and float64 ..."
"$build/einkorn" bench --json >"$out/bench.json"
"$build/einkorn" bench --dtype f64 --json >"$out/bench-f64.json"
echo "timing layouts, rows and columns ..."
"$build/einkorn" bench --cases "$here/cases-cpu.txt" --json >"$out/cases.json"
set -- "$out/bench.json" "$out/bench-f64.json" "$out/cases.json"

"$build/bench/overhead" "$out/overhead.json"

script=
peers=
for python in "${PYTHON:-python3}" python3 /usr/bin/python3; do
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || continue
    [ -n "$script" ] || script=$python
    if [ -z "$peers" ] &&
        { "$python" -c 'import numpy' || "$python" -c 'import torch'; } 2>/dev/null; then
        peers=$python
    fi
done
if [ -n "$peers" ]; then
    echo "timing the peers ..."
    "$peers" -W ignore "$here/peers.py" "$@" --seconds 300 -o "$out/peers.json"
    set -- "$@" "$out/peers.json"
else
    echo "peers: left out, no Python here imports numpy or torch:" \
        "install the packages python3-numpy and python3-torch"
fi
if [ -n "$script" ]; then
    "$script" "$here/compare.py" "$@" --svg "$out/chart.svg" --roofline "$out/roofline.svg" \
        >"$out/table.md"
    cat "$out/table.md"
fi
echo "JSON, table and chart: $out"
