#!/usr/bin/env python3
"""Times NumPy, PyTorch and CuPy on the rows of `einkorn bench --json`.

    peers.py BENCH.json... [-o PEERS.json] [--dtypes f32,f64,...] [--peers numpy,torch,cupy]
             [--seconds S]

The work is what those files name, so both sides have the same list. A peer has a row where one
public call of it does the work, into an output that exists already. Copies and sums of two arrays
of the largest size are always timed: they are the peers' reading of the machine's limit. Each
number of threads has a process of its own, started with it; a library that is missing is left out
and named.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, repeat
from pathlib import Path
from typing import Any, Optional

from rows import Case, Row, dump, load, read_rows

Call = Callable[[], object]

ROUND_NS = 2e6  # a round is long beside what the clock costs
ROUNDS = 15
BUDGET_S = 0.25  # no round beyond the fifth starts after it
COLD_BYTES = 1 << 29  # more than any cache
MOST_SETS = 2000  # of operands; smaller ones are not timed cold

# Our operations, and the peers' functions that do the same.
SAME = ("abs", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sinh", "cosh", "tanh",
        "arcsinh", "arccosh", "arctanh", "sqrt", "sin", "cos", "maximum", "minimum", "sum", "mean",
        "argmax", "argmin", "var", "std", "any", "all", "count_nonzero", "cumsum", "cumprod",
        "where")
NUMPY = {name: name for name in SAME} | {
    "abs": "absolute", "neg": "negative", "relu": "maximum", "add": "add", "sub": "subtract",
    "mul": "multiply", "div": "divide", "pow": "power", "eq": "equal", "lt": "less",
    "le": "less_equal", "max": "amax", "min": "amin", "gemm": "matmul", "gemm_exact": "matmul",
    "cummax": "maximum.accumulate", "cummin": "minimum.accumulate", "norm2": "linalg.norm",
    "clamp": "clip", "relu_k": "clip", "hard_tanh": "clip", "add_scalar": "add",
    "sub_scalar": "subtract", "mul_scalar": "multiply", "div_scalar": "true_divide",
    "frexp": "frexp", "modf": "modf", "divmod": "divmod", "isclose": "isclose",
    "nan_to_num": "nan_to_num",
}
CUPYX = {"sigmoid": "expit", "erf": "erf", "exp10": "exp10", "logit": "logit",
         "log_expit": "log_expit", "softmax": "softmax",
         "log_softmax": "log_softmax", "logsumexp": "logsumexp"}
TORCH = {name: name for name in SAME} | {
    "neg": "neg", "sigmoid": "sigmoid", "erf": "erf", "relu": "clamp_min", "add": "add",
    "sub": "sub", "mul": "mul", "div": "div", "pow": "pow", "eq": "eq", "lt": "lt", "le": "le",
    "max": "amax", "min": "amin", "softmax": "softmax", "log_softmax": "log_softmax",
    "gemm": "matmul", "gemm_exact": "matmul", "cummax": "cummax", "cummin": "cummin",
    "logsumexp": "logsumexp", "norm2": "linalg.vector_norm", "gelu": "_C._nn.gelu",
    "softplus": "_C._nn.softplus", "log_expit": "nn.functional.logsigmoid", "logit": "logit",
    "layer_norm": "nn.functional.layer_norm", "rms_norm": "nn.functional.rms_norm",
    "fma": "addcmul", "clamp": "clamp", "relu_k": "clamp", "hard_tanh": "clamp",
    "add_scalar": "add", "sub_scalar": "sub", "mul_scalar": "mul", "div_scalar": "div",
    "leaky_relu": "_C._nn.leaky_relu", "hard_sigmoid": "_C._nn.hardsigmoid", "frexp": "frexp",
    "isclose": "isclose", "nan_to_num": "nan_to_num", "axpy": "add",
}
BINARY = {"add", "sub", "mul", "div", "maximum", "minimum", "pow", "eq", "lt", "le", "divmod",
          "isclose", "axpy"}
COMPARISON = {"eq", "lt", "le", "isclose"}
REDUCTION = {"sum", "mean", "max", "min", "argmax", "argmin", "var", "std", "norm2", "logsumexp",
             "any", "all", "count_nonzero"}
ALONG = {"softmax", "log_softmax", "cumsum", "cumprod", "cummax", "cummin"}  # an axis
GEMM = {"gemm", "gemm_exact"}  # of square matrices
MOVE = {"copy", "cast"}
SHIFT = 1000  # of a roll; how far makes no difference to anyone
# Functions that are numbers for positive arguments only, or mostly.
POSITIVE = {"log", "log2", "log10", "log1p", "arccosh", "logit", "sqrt", "pow"}
RESULT = {"argmax": "i64", "argmin": "i64", "count_nonzero": "i64", "any": "b8", "all": "b8"}

# What the peers' functions take after the arrays.
SCALARS = {"relu": (0,), "clamp": (0, 1), "relu_k": (0, 6), "hard_tanh": (-1, 1),
           "add_scalar": (1.5,), "sub_scalar": (1.5,), "mul_scalar": (1.5,), "div_scalar": (1.5,),
           "leaky_relu": (0.05,)}

# Operations of two outputs, and the dtype of the second one if it is another.
SEVERAL = {"frexp": "i32", "modf": "", "divmod": ""}

# Functions that make their result anew: they take no out=.
FRESH = {"numpy": {"norm2", "count_nonzero", "where", "roll", "isclose", "nan_to_num"},
         "cupy": {"norm2", "count_nonzero", "where", "roll", "softmax", "log_softmax", "logsumexp",
                  "isclose", "nan_to_num"},
         "torch": {"roll", "log_expit", "count_nonzero", "cummax", "cummin", "layer_norm",
                   "rms_norm", "isclose"}}


def dtypes_of(case: Case) -> tuple[str, str]:
    """The dtypes of inputs and output: a cast's is "f32_f16"."""
    source, _, target = case.dtype.partition("_")
    if case.op in COMPARISON:
        return source, "b8"
    return source, RESULT.get(case.op, target or source)


def input_dtypes(case: Case) -> list[str]:
    source, _ = dtypes_of(case)
    if case.op == "where":
        return ["b8", source, source]
    many = {"fma": 3, "layer_norm": 3, "rms_norm": 2, "fill": 0}
    return [source] * many.get(case.op, 2 if case.op in BINARY | GEMM else 1)


def reduced_axes(case: Case) -> tuple[int, ...]:
    return tuple(range(len(case.lengths))) if case.axes is None else case.axes


@dataclass(frozen=True)
class View:
    """How an operand lies in memory, as tools/view.h has it: "4096x4096:flipped=0"."""

    shape: tuple[int, ...]  # of the memory
    changes: tuple[tuple[str, tuple[int, ...]], ...]

    @staticmethod
    def of(text: str) -> View:
        lengths, *words = text.split(":")
        changes = []
        for word in words:
            name, _, numbers = word.partition("=")
            changes.append((name, tuple(map(int, numbers.split(","))) if numbers else ()))
        return View(tuple(map(int, lengths.split("x"))), tuple(changes))


def output_shape(case: Case) -> tuple[int, ...]:
    if case.op in REDUCTION:
        reduced = reduced_axes(case)
        return tuple(n for axis, n in enumerate(case.lengths) if axis not in reduced)
    return case.lengths


def member(module: Any, path: str) -> Any:
    """What a dotted name stands for; None if there is no such thing."""
    for name in path.split("."):
        module = getattr(module, name, None)
    return module


class Peer(ABC):
    """A library on a device."""

    name: str
    version: str
    dtypes: dict[str, Any]
    _shape: Optional[tuple[int, ...]] = None
    _operands: dict[tuple[int, str, float], Any] = {}

    @abstractmethod
    def function(self, case: Case) -> Optional[Callable[..., object]]:
        """What takes the inputs and out= and does the work."""

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any: ...

    @abstractmethod
    def random(self, shape: tuple[int, ...], dtype: Any, low: float) -> Any:
        """Numbers between `low` and 4."""

    def forget(self) -> None:
        """The next operands are made anew."""
        self._shape, self._operands = None, {}

    def operand(self, number: int, shape: tuple[int, ...], dtype: str, low: float) -> Any:
        """An input; rows of one shape share theirs, since making them takes long."""
        if self._shape != shape:
            self._shape, self._operands = shape, {}
        key = number, dtype, low
        if key not in self._operands:
            self._operands[key] = self.random(shape, self.dtypes[dtype], low)
        return self._operands[key]

    @abstractmethod
    def timed(self, call: Call, times: int) -> float:
        """Nanoseconds of one of that many calls in a row."""

    def changed(self, array: Any, name: str, numbers: tuple[int, ...]) -> Any:
        """The view that one modifier makes of an array."""
        if name == "transposed":
            return array.swapaxes(-1, -2)
        if name == "every":
            return array[..., :: numbers[0]]
        return array[..., : numbers[0]]  # first

    def input(self, case: Case, number: int, dtype: str) -> Any:
        low = 0.0 if case.op in POSITIVE else -4.0
        if not case.inputs:
            return self.operand(number, case.lengths, dtype, low)
        view = View.of(case.inputs[number])
        offset = dict(view.changes).get("offset", (0,))[0]
        if offset:
            size = math.prod(view.shape)
            array = self.operand(number, (size + offset,), dtype, low)[offset:].reshape(view.shape)
        else:
            array = self.operand(number, view.shape, dtype, low)
        for name, numbers in view.changes:
            array = array if name == "offset" else self.changed(array, name, numbers)
        return array

    def call(self, case: Case) -> Optional[Call]:
        _, target = dtypes_of(case)
        function = self.function(case)
        sources = input_dtypes(case)
        if function is None or not {target, *sources} <= self.dtypes.keys():
            return None
        inputs = [self.input(case, i, dtype) for i, dtype in enumerate(sources)]
        inputs += SCALARS.get(case.op, ())
        if case.op in FRESH[self.name]:
            return partial(function, *inputs)
        if case.op in SEVERAL:
            results = [self.dtypes[dtype] for dtype in (target, SEVERAL[case.op] or target)]
            return partial(function, *inputs, out=tuple(self.empty(output_shape(case), dtype)
                                                        for dtype in results))
        return partial(function, *inputs, out=self.empty(output_shape(case), self.dtypes[target]))

    def ns(self, call: Call) -> float:
        """The median over rounds of calls."""
        for _ in range(3):
            self.timed(call, 1)
        times = max(1, int(ROUND_NS / max(self.timed(call, 1), 1.0)))
        times = max(1, int(ROUND_NS / max(self.timed(call, times), 1.0)))
        end = time.perf_counter() + BUDGET_S
        rounds: list[float] = []
        while len(rounds) < 5 or (len(rounds) < ROUNDS and time.perf_counter() < end):
            rounds.append(self.timed(call, times))
        return statistics.median(rounds)


def host_ns(call: Call, times: int) -> float:
    start = time.perf_counter_ns()
    for _ in repeat(None, times):
        call()
    return (time.perf_counter_ns() - start) / times


class NumPy(Peer):
    def __init__(self, name: str = "numpy") -> None:
        self.name = name
        self.module = importlib.import_module(name)
        self.version = str(self.module.__version__)
        if name == "numpy":
            self.module.seterr(all="ignore")
        names = {"b8": "bool", "i32": "int32", "i64": "int64", "f16": "float16", "f32": "float32",
                 "f64": "float64"}
        self.dtypes = {ours: self.module.dtype(theirs) for ours, theirs in names.items()}

    def function(self, case: Case) -> Optional[Callable[..., object]]:
        if case.op in MOVE:
            return self._move
        if case.op == "fill":
            return self._fill
        if case.op == "roll":
            return self._roll
        name = NUMPY.get(case.op)
        return self.along(case, member(self.module, name) if name else None)

    def along(self, case: Case,
              function: Optional[Callable[..., object]]) -> Optional[Callable[..., object]]:
        if function is not None and case.op in REDUCTION:
            axes = case.axes if case.axes is None or len(case.axes) > 1 else case.axes[0]
            return partial(function, axis=axes)
        if function is not None and case.op in ALONG:
            return partial(function, axis=case.axes[0] if case.axes else -1)
        return function

    def changed(self, array: Any, name: str, numbers: tuple[int, ...]) -> Any:
        if name == "permuted":
            return array.transpose(numbers)
        if name == "flipped":
            return self.module.flip(array, numbers)
        return super().changed(array, name, numbers)

    @staticmethod
    def _fill(out: Any) -> None:
        out.fill(1.5)

    def _roll(self, source: Any) -> Any:
        return self.module.roll(source, SHIFT, axis=-1)

    def _move(self, source: Any, out: Any) -> None:
        self.module.copyto(out, source, casting="unsafe")

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        out = self.module.empty(shape, dtype=dtype)
        out.fill(0)  # the pages are there
        return out

    def random(self, shape: tuple[int, ...], dtype: Any, low: float) -> Any:
        values = self.module.random.default_rng(1).random(shape, dtype=self.module.float32)
        return (values * (4 - low) + low).astype(dtype)

    def timed(self, call: Call, times: int) -> float:
        return host_ns(call, times)


class CuPy(NumPy):
    def __init__(self) -> None:
        super().__init__("cupy")
        self.special = importlib.import_module("cupyx.scipy.special")
        self.start, self.end = self.module.cuda.Event(), self.module.cuda.Event()

    def function(self, case: Case) -> Optional[Callable[..., object]]:
        if case.op in CUPYX:
            return self.along(case, getattr(self.special, CUPYX[case.op]))
        return super().function(case)

    def timed(self, call: Call, times: int) -> float:
        self.start.record()
        for _ in repeat(None, times):
            call()
        self.end.record()
        self.end.synchronize()
        elapsed = self.module.cuda.get_elapsed_time(self.start, self.end)
        return float(elapsed) * 1e6 / times


class PyTorch(Peer):
    def __init__(self, device: str, threads: int) -> None:
        torch = importlib.import_module("torch")
        self.name = "torch"
        self.version = str(torch.__version__)
        self.module = torch
        self.device = device
        self.dtypes = {"b8": torch.bool, "i32": torch.int32, "i64": torch.int64,
                       "f16": torch.float16,
                       "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
        if device == "cuda":
            self.start = torch.cuda.Event(enable_timing=True)
            self.end = torch.cuda.Event(enable_timing=True)
        else:
            torch.set_num_threads(threads)

    def function(self, case: Case) -> Optional[Callable[..., object]]:
        if case.op in MOVE:
            return self._move
        if case.op == "fill":
            return self._fill
        if case.op == "roll":
            return partial(self.module.roll, shifts=SHIFT, dims=-1)
        name = TORCH.get(case.op)
        function: Optional[Callable[..., object]] = member(self.module, name) if name else None
        if function is None or (case.op in ("any", "all") and case.axes is None):
            return function
        if case.op in ("argmax", "argmin"):
            return partial(function, dim=case.axes[0] if case.axes else None)
        if case.op in ("var", "std"):
            return partial(function, dim=reduced_axes(case), unbiased=False)
        if case.op in REDUCTION:
            return partial(function, dim=reduced_axes(case))
        if case.op in ALONG:
            return partial(function, dim=case.axes[0] if case.axes else -1)
        return function

    def call(self, case: Case) -> Optional[Call]:
        function = self.function(case)
        flips = [numbers for text in case.inputs for name, numbers in View.of(text).changes
                 if name == "flipped"]
        if flips and case.op == "copy":  # instead of negative strides it has a function
            array = self.operand(0, case.lengths, case.source, -4.0)
            return partial(self.module.flip, array, flips[0])
        if flips:
            return None
        if case.op == "fma" and function is not None:  # addcmul(z, x, y) = z + x y
            x, y, z = (self.input(case, i, case.source) for i in range(3))
            return partial(function, z, x, y, out=self.empty(case.lengths, z.dtype))
        if case.op in ("layer_norm", "rms_norm") and function is not None:
            x, *weights = (self.input(case, i, dtype) if i == 0 or case.inputs
                           else self.operand(i, case.lengths[-1:], dtype, -4.0)
                           for i, dtype in enumerate(input_dtypes(case)))
            return partial(function, x, case.lengths[-1:], *weights)
        return super().call(case)

    def changed(self, array: Any, name: str, numbers: tuple[int, ...]) -> Any:
        if name == "permuted":
            return array.permute(numbers)
        return super().changed(array, name, numbers)

    @staticmethod
    def _fill(out: Any) -> None:
        out.fill_(1.5)

    @staticmethod
    def _move(source: Any, out: Any) -> None:
        out.copy_(source)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.module.zeros(shape, dtype=dtype, device=self.device)

    def random(self, shape: tuple[int, ...], dtype: Any, low: float) -> Any:
        return (self.module.rand(shape, device=self.device) * (4 - low) + low).to(dtype)

    def timed(self, call: Call, times: int) -> float:
        if self.device == "cpu":
            return host_ns(call, times)
        self.start.record()
        for _ in repeat(None, times):
            call()
        self.end.record()
        self.end.synchronize()
        return float(self.start.elapsed_time(self.end)) * 1e6 / times


def open_peers(names: Iterable[str], device: str, threads: int) -> list[Peer]:
    """Those that are installed; the others are named on standard error."""
    makers: dict[str, Callable[[], Peer]] = {"torch": lambda: PyTorch(device, threads)}
    makers["numpy" if device == "cpu" else "cupy"] = NumPy if device == "cpu" else CuPy
    peers = []
    for name in names:
        if name not in makers:
            continue
        try:
            peers.append(makers[name]())
        except Exception as problem:  # a library may fail in any way of its own
            print(f"peers.py: {name} on {device} is left out: {problem}", file=sys.stderr)
    return peers


def cold_call(peer: Peer, row: Row) -> Optional[Call]:
    """Calls that find their operands in no cache: each time others, in turn."""
    count = int(COLD_BYTES / (row.rate * row.ns)) + 1  # GB/s by ns is bytes
    if count > MOST_SETS:
        return None
    calls = []
    for _ in range(count):
        peer.forget()
        call = peer.call(row.case)
        if call is None:
            return None
        calls.append(call)
    turns = cycle(calls)
    return lambda: next(turns)()


def time_case(peer: Peer, row: Row) -> Optional[Row]:
    try:
        call = cold_call(peer, row) if row.case.cold else peer.call(row.case)
        if call is None:
            return None
        ns = peer.ns(call)
    except Exception as problem:
        print(f"peers.py: {peer.name} {row.case}: {problem}", file=sys.stderr)
        return None
    # The same work, so the same count of bytes or operations as in our row.
    return replace(row, who=peer.name, call="", ns=ns, rate=row.rate * row.ns / ns, share=None)


def limit_rows(rows: list[Row]) -> list[Row]:
    """A copy and a sum of the largest array of each device, in the order of devices."""
    limits = []
    for device in sorted({row.case.device for row in rows}):
        largest = max((row.case for row in rows if row.case.device == device),
                      key=lambda case: (0 if case.op in GEMM else case.size, case.threads))
        for op, arrays in (("copy", 2), ("add", 3)):
            case = replace(largest, op=op, dtype="f32", shape=str(largest.size), axes=None,
                           inputs=(), cold=False)
            limits.append(Row(case, "", "", 1.0, arrays * 4.0 * case.size, "gbps"))
    return limits


def work_of(arguments: argparse.Namespace) -> tuple[list[Row], set[Case]]:
    """What is to be timed, the largest first, and which of it shows the limits."""
    dtypes = set(arguments.dtypes.split(","))
    rows = [row for path in arguments.bench for row in read_rows(load(path))
            if set(row.case.dtype.split("_")) <= dtypes]
    limits = limit_rows(rows)
    work = sorted({row.case: row for row in rows + limits}.values(), key=lambda row: -row.case.size)
    return work, {row.case for row in limits}


def to_json(row: Row) -> dict[str, Any]:
    case = row.case
    axes = {} if case.axes is None else {"axes": list(case.axes)}
    inputs = {"inputs": list(case.inputs)} if case.inputs else {}
    cache = {"cache": "cold"} if case.cold else {}
    return {"op": case.op, "dtype": case.dtype, "device": case.device, "shape": case.shape, **axes,
            **inputs, **cache, "threads": case.threads, "peer": row.who, "ns": round(row.ns, 1),
            row.unit: round(row.rate, 3)}


def run_one(arguments: argparse.Namespace) -> dict[str, Any]:
    """What a process of its own does: all rows of one device and number of threads."""
    device, threads = arguments.device, arguments.threads
    work, limit_cases = work_of(arguments)
    peers = open_peers(arguments.peers.split(","), device, threads)
    rows: list[Row] = []
    end = time.monotonic() + arguments.seconds
    mine = [row for row in work if (row.case.device, row.case.threads) == (device, threads)]
    for number, row in enumerate(mine):
        if time.monotonic() > end:
            print(f"peers.py: {device}: no time for {len(mine) - number} rows", file=sys.stderr)
            break
        rows += filter(None, (time_case(peer, row) for peer in peers))
    limits: dict[str, float] = {}
    for row in rows:
        if row.case in limit_cases:
            key = f"{row.case.op}_gbps"
            limits[key] = max(limits.get(key, 0.0), round(row.rate, 3))
    return {"peers": {peer.name: peer.version for peer in peers},
            "limits": {device: limits} if limits else {}, "rows": [to_json(row) for row in rows]}


def child_env(threads: int) -> dict[str, str]:
    """Threads are fixed when a library starts. Settings for older OpenBLAS slow the peers' own."""
    env = {key: value for key, value in os.environ.items()
           if key not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    for key in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        env[key] = str(max(threads, 1))
    return env


def run_all(arguments: argparse.Namespace) -> dict[str, Any]:
    machine = load(arguments.bench[0]).get("machine") or {"name": platform.node()}
    result: dict[str, Any] = {"machine": machine, "peers": {}, "limits": {}, "rows": []}
    work, _ = work_of(arguments)
    end = time.monotonic() + arguments.seconds
    for device, threads in sorted({(row.case.device, row.case.threads) for row in work}):
        command = [sys.executable, __file__, *map(str, arguments.bench), "--device", device,
                   "--threads", str(threads), "--dtypes", arguments.dtypes,
                   "--peers", arguments.peers, "--seconds", str(end - time.monotonic())]
        child = subprocess.run(command, env=child_env(threads), stdout=subprocess.PIPE, check=False)
        if child.returncode != 0:
            print(f"peers.py: {device}, {threads} threads: failed", file=sys.stderr)
            continue
        part = json.loads(child.stdout)
        result["peers"].update(part["peers"])
        result["limits"].update(part["limits"])
        result["rows"] += part["rows"]
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("bench", type=Path, nargs="+", help="what einkorn bench --json wrote")
    parser.add_argument("-o", "--output", type=Path, help="file for the JSON (standard output)")
    parser.add_argument("--dtypes", default="f16,bf16,f32,f64", help="those to time (%(default)s)")
    parser.add_argument("--peers", default="numpy,torch,cupy", help="libraries (%(default)s)")
    parser.add_argument("--seconds", type=float, default=3600.0,
                        help="start no row after this time (%(default)g)")
    parser.add_argument("--device", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.device is not None:
        print(json.dumps(run_one(arguments)))
        return 0
    result = run_all(arguments)
    text = dump(result)
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0 if result["rows"] else 1


if __name__ == "__main__":
    sys.exit(main())
