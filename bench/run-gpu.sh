#!/usr/bin/env bash
# usage: run-gpu.sh [--pack] OUT [STEP...]
#
# Runs all that needs a GPU and writes JSON, a log and a summary into the folder OUT. Each step has
# a time limit of its own, a failed one does not stop the others, and after nine minutes none is
# begun or waited for. Files are complete when their step ends, and what the step under way has
# printed is in OUT/step.txt, so fetch OUT from a run that was cut off too. With --pack all but that
# and the summary are in OUT/results.tar.gz, written again after each step. The programs are those
# that bench/carry.sh put into _carry (CARRY names another folder).
#
# The limits of all steps come to more than that, should a machine be slow; those of two calls do
# not:
#
#   run-gpu.sh OUT1 env verify bench overhead peers examples
#   run-gpu.sh OUT2 check sanitize
#
# BENCH is where peers finds what bench has measured, if that was another call.
#
#   env         the machine, its versions, and what the programs lack here
#   verify      same bits on every CPU variant and the GPU
#   bench       einkorn bench on the GPU
#   overhead    what a call costs the host; matrix products beside cuBLAS
#   peers       PyTorch and CuPy on the rows of bench
#   examples    digits on every device, inputs from either side, a pipeline of threads: same results
#   check       the test programs, on the GPU
#   sanitize    compute-sanitizer: memory errors, uninitialised memory and races of a few
#               operations, copies, memory, threads and programs
#
# These are the steps by default. On request:
#
#   exhaustive  all 2^32 inputs of the float32 functions, on the CPU and the GPU
#   cpu         bench and peers on this machine's CPU

# shellcheck disable=SC2317 # steps are called by name
set -u
all_steps="env verify bench overhead peers examples check sanitize"
pack=0
[ "${1:-}" = --pack ] && pack=1 && shift
out=${1:?usage: run-gpu.sh [--pack] OUT [STEP...]}
shift
steps=${*:-$all_steps}
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
bench=${BENCH:+$(cd "$BENCH" && pwd)}
cd "$(dirname "$0")/.." || exit 2
carry=$(cd "${CARRY:-_carry}" && pwd) || exit 2
einkorn=$carry/einkorn
python=${PYTHON:-python3}
deadline=$((SECONDS + 530))

# Where our programs look for libraries: what came along, then cuBLAS and the CUDA runtime, of the
# toolkit or of Python's packages. Python itself finds its own.
libraries=$carry/lib:/usr/local/cuda/lib64:$("$python" - <<'PY' 2>/dev/null
import glob, site
print(":".join(sorted({file.rpartition("/")[0] for folder in site.getsitepackages()
                       for name in ("libcublas.so.*", "libcudart.so.*")
                       for file in glob.glob(f"{folder}/nvidia/*/lib/{name}")})) or "/usr/lib")
PY
)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1

summary=$out/summary.txt
part=$out/step.txt
packed=$out/results.tar.gz
[ "$pack" = 0 ] || out=$(mktemp -d)
log=$out/log.txt
: >"$log"
: >"$summary"

ours() {
    env LD_LIBRARY_PATH="$libraries" "$@"
}

# Standard output of one of them becomes the file OUT/NAME, unless it is empty.
write() {
    local name=$1
    shift
    ours "$@" >"$out/$name"
    local status=$?
    [ -s "$out/$name" ] || rm -f "$out/$name"
    return "$status"
}

step_env() {
    nvidia-smi
    nvidia-smi --format=csv \
        --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem
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
    for program in "$einkorn" "$carry"/{bench/overhead,_build/{digits,glm,pipeline}} "$carry"/tests/check_*; do
        ours ldd "$program" | grep 'not found' && echo "  needed by $program" && missing=1
    done
    ours "$einkorn" info && [ "$missing" = 0 ]
}

step_check() {
    local program status=0
    for program in "$carry"/tests/check_*; do
        case ${program##*/} in # those with a driver of their own run where they were built
        check_guards | check_every_row | check_faults | check_mixed) continue ;;
        esac
        echo "-- ${program##*/}"
        ours EK_TEST_DEVICE=cuda CK_FORK=no timeout --foreground 200 "$program" || status=1
    done
    echo "-- process"
    ours sh tests/check_process.sh "$carry/tests" cpu cuda || status=1
    echo "-- dlpack"
    ours "$python" tests/test_dlpack.py "$carry/tests/plugin.so" || status=1
    return "$status"
}

step_verify() {
    write verify.json "$einkorn" verify --device cuda --json
}

step_exhaustive() {
    write exhaustive.json "$einkorn" verify --device cuda --exhaustive --dtype f32 --json
}

# sanitize TOOL [VAR=VALUE...] PROGRAM...: in the background, into a log of its own. Driver calls
# that fail are not reported: cuPointerGetAttribute tells pageable memory by failing.
sanitize() {
    local tool=$1 variables=()
    shift
    while [[ $1 == *=* ]]; do variables+=("$1") && shift; done
    logs+=("$(mktemp)")
    {
        echo "-- $tool" "${variables[@]}" "${@##*/}"
        ours "${variables[@]}" EK_TEST_DEVICE=cuda CK_FORK=no timeout -k 2 90 compute-sanitizer \
            --tool "$tool" --report-api-errors no --error-exitcode 9 "$@"
    } >"${logs[-1]}" 2>&1 &
    workers+=($!)
}

# Small arrays of one dtype: everything is many times slower under these tools. Races are a matter
# of shared memory, which only some kernels have.
step_sanitize() {
    local status=0 workers=() logs=() i tests=$carry/tests
    local verify=("$einkorn" verify --device cuda --dtype f32)
    local operations=(exp add where cast sum argmax var softmax layer_norm cumsum gemm_exact)
    sanitize memcheck "${verify[@]}" "${operations[@]}"
    sanitize initcheck "${verify[@]}" "${operations[@]}"
    sanitize racecheck "${verify[@]}" "${operations[@]:4}"
    sanitize memcheck "$tests/check_memory"
    sanitize initcheck "$tests/check_memory"
    sanitize memcheck CK_RUN_CASE=host "$tests/check_copy"
    sanitize initcheck CK_RUN_CASE=host "$tests/check_copy"
    sanitize racecheck CK_RUN_CASE=host "$tests/check_copy"
    sanitize memcheck "$tests/check_threads"
    sanitize initcheck CK_RUN_CASE=stress "$tests/check_threads"
    sanitize initcheck CK_RUN_CASE=streams "$tests/check_threads"
    sanitize racecheck CK_RUN_CASE=sharing "$tests/check_threads"
    sanitize memcheck "$tests/check_programs"
    sanitize initcheck CK_RUN_CASE=programs "$tests/check_programs"
    sanitize racecheck CK_RUN_CASE=programs "$tests/check_programs"
    for i in "${!workers[@]}"; do
        wait "${workers[i]}" || status=1
        cat "${logs[i]}"
        rm -f "${logs[i]}"
    done
    return "$status"
}

step_bench() {
    write bench.json "$einkorn" bench --device cuda --min-time 20 --json &&
        write cases.json "$einkorn" bench --device cuda --cases bench/cases-gpu.txt --min-time 40 \
            --json
}

step_overhead() {
    ours "$carry"/bench/overhead "$out/overhead.json"
}

step_peers() {
    [ -s "$bench/bench.json" ] || { echo "peers: there is no bench.json to follow"; return 1; }
    "$python" bench/peers.py "$bench/bench.json" "$bench/cases.json" --seconds 70 \
        -o "$out/peers.json" &&
        "$python" bench/compare.py "$bench/bench.json" "$bench/cases.json" "$out/peers.json"
}

step_cpu() {
    write bench-cpu.json "$einkorn" bench --min-time 40 --json &&
        write cases-cpu.json "$einkorn" bench --cases bench/cases-cpu.txt --min-time 40 --json &&
        "$python" bench/peers.py "$out/bench-cpu.json" "$out/cases-cpu.json" --seconds 150 \
            -o "$out/peers-cpu.json" &&
        "$python" bench/compare.py "$out"/{bench,cases,peers}-cpu.json
}

step_examples() {
    ours "$carry"/_build/digits --data examples/digits --compare &&
        ours "$carry"/_build/glm --device cuda &&
        ours "$carry"/_build/pipeline --device cuda
}

# Seconds a step may take.
limit_of() {
    case $1 in
    bench) echo 110 ;;
    check) echo 420 ;;
    verify) echo 80 ;;
    overhead) echo 80 ;;
    peers) echo 100 ;;
    sanitize) echo 125 ;;
    exhaustive) echo 420 ;;
    cpu) echo 240 ;;
    examples) echo 60 ;;
    *) echo 25 ;;
    esac
}

# What the summary says of a step beside its status: its own closing words.
words_of() {
    case $1 in
    check)
        awk '/^ek-counts:/ { p += $2; f += $3; s += $4 }
             END { printf "%d passed, %d failed, %d skipped", p, f, s }' "$2"
        ;;
    verify | exhaustive) grep -o '"failed": [0-9]*' "$out/$1.json" 2>/dev/null ;;
    sanitize) grep -o 'ERROR SUMMARY.*\|RACECHECK SUMMARY.*' "$2" | sort | uniq -c | tr '\n' ';' ;;
    overhead) echo "goals reached: $(grep -c ': yes$' "$2"), missed: $(grep -c ': NO$' "$2")" ;;
    examples) grep -h 'bit for bit\|only computing:' "$2" | tr '\n' ';' ;;
    esac
}

export -f ours write sanitize step_env step_check step_verify step_exhaustive step_sanitize step_bench \
    step_overhead step_peers step_cpu step_examples
bench=${bench:-$out}
export out bench carry einkorn python libraries

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
    [ "$pack" = 0 ] || { tar -czf "$packed.new" -C "$out" . && mv "$packed.new" "$packed"; }
done
[ "$pack" = 0 ] || rm -rf "$out"
echo "== summary"
cat "$summary"
exit "$failed"
