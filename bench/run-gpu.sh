#!/usr/bin/env bash
# usage: run-gpu.sh OUT [STEP...]
#
# Runs all that needs a GPU and writes JSON, a log and a summary into the folder OUT. Each step has a
# time limit of its own, a failed one does not stop the others, and all together end within nine
# minutes. The programs are those that bench/carry.sh put into _carry (CARRY names another folder).
#
#   env         the machine, its versions, and what the programs lack here
#   check       the test programs, on the GPU
#   verify      same bits on every CPU variant and the GPU
#   sanitize    compute-sanitizer: memory errors and races of a few operations
#   bench       einkorn bench on the GPU
#   overhead    what a call costs the host; matrix products beside cuBLAS
#   peers       PyTorch and CuPy on the rows of bench
#   digits      the example on every device: same hash
#
# These are the steps by default. On request:
#
#   exhaustive  all 2^32 inputs of the float32 functions, on the CPU and the GPU
#   cpu         bench and peers on this machine's CPU
# shellcheck disable=SC2317 # steps are called by name
set -u
all_steps="env check verify bench overhead peers digits sanitize"
out=${1:?usage: run-gpu.sh OUT [STEP...]}
shift
steps=${*:-$all_steps}
cd "$(dirname "$0")/.." || exit 2
carry=${CARRY:-_carry}
mkdir -p "$out"
out=$(cd "$out" && pwd)
carry=$(cd "$carry" && pwd) || exit 2
einkorn=$carry/einkorn
python=${PYTHON:-python3}
deadline=$((SECONDS + 530))

# The libraries that came along, and cuBLAS and the CUDA runtime where Python's packages hold them.
python_cuda=$("$python" - <<'PY' 2>/dev/null
import glob, site
found = {f.rpartition("/")[0] for p in site.getsitepackages()
         for n in ("libcublas.so.*", "libcudart.so.*") for f in glob.glob(f"{p}/nvidia/*/lib/{n}")}
print(":".join(sorted(found)))
PY
)
export LD_LIBRARY_PATH=$carry/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}:/usr/local/cuda/lib64:$python_cuda
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1

log=$out/log.txt
summary=$out/summary.txt
: >"$log"
: >"$summary"

# Standard output of a program becomes the file OUT/NAME, unless it is empty.
write() {
    local name=$1
    shift
    "$@" >"$out/$name"
    local status=$?
    [ -s "$out/$name" ] || rm -f "$out/$name"
    return "$status"
}

step_env() {
    nvidia-smi
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem --format=csv
    uname -srm
    lscpu | grep -E '^(Model name|CPU\(s\)|Thread|L[123])'
    nvcc --version | tail -n 2
    gcc --version | head -n 1
    ldd --version | head -n 1
    "$python" -c '
import importlib
for name in ("numpy", "torch", "cupy"):
    try:
        print(name, importlib.import_module(name).__version__)
    except Exception as problem:
        print(name, "missing:", problem)'
    local program missing=0
    for program in "$einkorn" "$carry"/bench/overhead "$carry"/_build/digits "$carry"/tests/check_*; do
        ldd "$program" | grep 'not found' && echo "  needed by $program" && missing=1
    done
    "$einkorn" info && [ "$missing" = 0 ]
}

step_check() {
    local program status=0
    for program in "$carry"/tests/check_*; do
        echo "-- $(basename "$program")"
        EK_TEST_DEVICE=cuda CK_FORK=no timeout --foreground 90 "$program" || status=1
    done
    return "$status"
}

step_verify() {
    write verify.json "$einkorn" verify --device cuda --json
}

step_exhaustive() {
    write exhaustive.json "$einkorn" verify --device cuda --exhaustive --dtype f32 --json
}

step_sanitize() {
    local tool status=0
    for tool in memcheck racecheck; do
        echo "-- $tool"
        EK_TEST_DEVICE=cuda CK_FORK=no timeout --foreground 50 \
            compute-sanitizer --tool "$tool" --error-exitcode 9 "$carry"/tests/check_ops exp add sum argmax softmax cast || status=1
    done
    return "$status"
}

step_bench() {
    write bench.json "$einkorn" bench --device cuda --min-time 30 --json
}

step_overhead() {
    "$carry"/bench/overhead "$out/overhead.json"
}

step_peers() {
    [ -s "$out/bench.json" ] || { echo "peers: there is no bench.json to follow"; return 1; }
    "$python" bench/peers.py "$out/bench.json" --dtypes f16,bf16,f32 -o "$out/peers.json" &&
        "$python" bench/compare.py "$out/bench.json" "$out/peers.json"
}

step_cpu() {
    write bench-cpu.json "$einkorn" bench --min-time 50 --json &&
        "$python" bench/peers.py "$out/bench-cpu.json" -o "$out/peers-cpu.json" &&
        "$python" bench/compare.py "$out/bench-cpu.json" "$out/peers-cpu.json"
}

step_digits() {
    "$carry"/_build/digits --data examples/digits --compare
}

# Seconds a step may take.
limit_of() {
    case $1 in
    check | bench) echo 150 ;;
    verify | peers) echo 90 ;;
    sanitize) echo 110 ;;
    exhaustive) echo 420 ;;
    cpu) echo 300 ;;
    *) echo 60 ;;
    esac
}

# What the summary says of a step beside its status: its own closing words.
words_of() {
    case $1 in
    check) grep -E '^[0-9]+ passed, [0-9]+ failed' "$2" | tr '\n' ';' ;;
    verify | exhaustive) grep -o '"failed": [0-9]*' "$out/$1.json" 2>/dev/null ;;
    sanitize) grep -o 'ERROR SUMMARY.*\|RACECHECK SUMMARY.*' "$2" | sort | uniq -c | tr '\n' ';' ;;
    overhead) echo "goals reached: $(grep -c ': yes$' "$2"), missed: $(grep -c ': NO$' "$2")" ;;
    digits) tail -n 1 "$2" ;;
    esac
}

export -f write step_env step_check step_verify step_exhaustive step_sanitize step_bench \
    step_overhead step_peers step_cpu step_digits
export out carry einkorn python

failed=0
for step in $steps; do
    case " $all_steps exhaustive cpu " in
    *" $step "*) ;;
    *)
        echo "run-gpu.sh: no step '$step': $all_steps exhaustive cpu" >&2
        exit 2
        ;;
    esac
done
for step in $steps; do
    left=$((deadline - SECONDS))
    limit=$(limit_of "$step")
    [ "$limit" -le "$left" ] || limit=$left
    if [ "$limit" -lt 5 ]; then
        printf '%-10s left out: no time left\n' "$step" >>"$summary"
        failed=1
        continue
    fi
    echo "== $step"
    part=$(mktemp)
    start=$SECONDS
    timeout -k 5 "$limit" bash -c "step_$step" >"$part" 2>&1
    status=$?
    tail -n 25 "$part"
    { echo "== $step"; cat "$part"; echo; } >>"$log"
    case $status in
    0) result=passed ;;
    124 | 137) result="TIMED OUT" failed=1 ;;
    *) result="FAILED ($status)" failed=1 ;;
    esac
    printf '%-10s %-12s %4d s  %s\n' "$step" "$result" $((SECONDS - start)) \
        "$(words_of "$step" "$part")" >>"$summary"
    rm -f "$part"
done
echo "== summary"
cat "$summary"
exit "$failed"
