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
import os
import platform
import statistics
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any, Optional

from rows import Case, Row, dump, load, read_rows

Call = Callable[[], object]

ROUND_NS = 2e6  # a round is long beside what the clock costs
ROUNDS = 15
BUDGET_S = 0.25  # no round beyond the fifth starts after it

# Our operations, and the peers' functions that do the same.
NUMPY = {
    "abs": "absolute", "neg": "negative", "exp": "exp", "log": "log", "tanh": "tanh",
    "sqrt": "sqrt", "relu": "maximum", "add": "add", "sub": "subtract", "mul": "multiply",
    "div": "divide", "maximum": "maximum", "minimum": "minimum", "pow": "power", "eq": "equal",
    "lt": "less", "le": "less_equal", "sum": "sum", "mean": "mean", "max": "amax", "min": "amin",
    "argmax": "argmax", "gemm": "matmul", "gemm_exact": "matmul",
}
CUPYX = {"sigmoid": "expit", "erf": "erf"}
TORCH = {
    "abs": "abs", "neg": "neg", "exp": "exp", "log": "log", "tanh": "tanh", "sqrt": "sqrt",
    "sigmoid": "sigmoid", "erf": "erf", "relu": "clamp_min", "add": "add", "sub": "sub",
    "mul": "mul", "div": "div", "maximum": "maximum", "minimum": "minimum", "pow": "pow",
    "eq": "eq", "lt": "lt", "le": "le", "sum": "sum", "mean": "mean", "max": "amax", "min": "amin",
    "argmax": "argmax", "softmax": "softmax", "log_softmax": "log_softmax", "gemm": "matmul",
    "gemm_exact": "matmul",
}
BINARY = {"add", "sub", "mul", "div", "maximum", "minimum", "pow", "eq", "lt", "le"}
COMPARISON = {"eq", "lt", "le"}
REDUCTION = {"sum", "mean", "max", "min", "argmax"}
ROW = {"softmax", "log_softmax"}
GEMM = {"gemm", "gemm_exact"}  # of square matrices
MOVE = {"copy", "cast"}
POSITIVE = {"log", "sqrt", "pow"}  # where these functions are numbers


def dtypes_of(case: Case) -> tuple[str, str]:
    """The dtypes of inputs and output: a cast's is "f32_f16"."""
    source, _, target = case.dtype.partition("_")
    if case.op in COMPARISON:
        return source, "b8"
    return source, "i64" if case.op == "argmax" else target or source


def input_count(case: Case) -> int:
    return 2 if case.op in BINARY | GEMM else 1


def reduced_axes(case: Case) -> tuple[int, ...]:
    return tuple(range(len(case.lengths))) if case.axes is None else case.axes


def output_shape(case: Case) -> tuple[int, ...]:
    if case.op in REDUCTION:
        reduced = reduced_axes(case)
        return tuple(n for axis, n in enumerate(case.lengths) if axis not in reduced)
    return case.lengths


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

    def call(self, case: Case) -> Optional[Call]:
        source, target = dtypes_of(case)
        function = self.function(case)
        if function is None or source not in self.dtypes or target not in self.dtypes:
            return None
        low = 0.0 if case.op in POSITIVE else -4.0
        inputs = [self.operand(i, case.lengths, source, low) for i in range(input_count(case))]
        if case.op == "relu":
            inputs.append(0)
        out = self.empty(output_shape(case), self.dtypes[target])
        return partial(function, *inputs, out=out)

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
        names = {"b8": "bool", "i64": "int64", "f16": "float16", "f32": "float32", "f64": "float64"}
        self.dtypes = {ours: self.module.dtype(theirs) for ours, theirs in names.items()}

    def function(self, case: Case) -> Optional[Callable[..., object]]:
        if case.op in MOVE:
            return self._move
        name = NUMPY.get(case.op)
        function: Optional[Callable[..., object]] = getattr(self.module, name) if name else None
        if function is not None and case.op in REDUCTION:
            axes = case.axes if case.axes is None or len(case.axes) > 1 else case.axes[0]
            return partial(function, axis=axes)
        return function

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
            function: Callable[..., object] = getattr(self.special, CUPYX[case.op])
            return function
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
        self.dtypes = {"b8": torch.bool, "i64": torch.int64, "f16": torch.float16,
                       "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
        if device == "cuda":
            self.start = torch.cuda.Event(enable_timing=True)
            self.end = torch.cuda.Event(enable_timing=True)
        else:
            torch.set_num_threads(threads)

    def function(self, case: Case) -> Optional[Callable[..., object]]:
        if case.op in MOVE:
            return self._move
        if case.op == "gelu":
            # What torch.nn.functional.gelu is, with its out=.
            gelu: Callable[..., object] = self.module._C._nn.gelu
            return gelu
        name = TORCH.get(case.op)
        function: Optional[Callable[..., object]] = getattr(self.module, name) if name else None
        if function is None:
            return None
        if case.op == "argmax":
            return partial(function, dim=case.axes[0] if case.axes else None)
        if case.op in REDUCTION:
            return partial(function, dim=reduced_axes(case))
        return partial(function, dim=-1) if case.op in ROW else function

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


def time_case(peer: Peer, row: Row) -> Optional[Row]:
    try:
        call = peer.call(row.case)
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
            case = replace(largest, op=op, dtype="f32", shape=str(largest.size), axes=None)
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
    return {"op": case.op, "dtype": case.dtype, "device": case.device, "shape": case.shape, **axes,
            "threads": case.threads, "peer": row.who, "ns": round(row.ns, 1),
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
