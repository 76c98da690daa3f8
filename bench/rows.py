"""What `einkorn bench --json` and peers.py write: one timing a row."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Case:
    """What was computed where: rows of the same case can be compared."""

    op: str
    dtype: str
    device: str  # "cpu", "cuda"
    shape: str  # of the first input: "100000", "16384x16384"
    axes: tuple[int, ...] | None  # those a reduction goes over; None: all, or no reduction
    threads: int
    inputs: tuple[str, ...] = ()  # how each lies in memory, if not all have `shape` in C order
    cold: bool = False  # on the CPU: arrays that no cache holds

    @property
    def lengths(self) -> tuple[int, ...]:
        return tuple(int(length) for length in self.shape.split("x"))

    @property
    def size(self) -> int:
        product = 1
        for length in self.lengths:
            product *= length
        return product

    @property
    def label(self) -> str:
        """The operation with what tells it from others of its name: "sum axis 0", "cast to f16"."""
        if self.axes is not None:
            return f"{self.op} axis {','.join(map(str, self.axes))}"
        source, cast, target = self.dtype.partition("_")
        return f"{self.op} to {target}" if cast else self.op

    @property
    def operands(self) -> str:
        """Shapes and layouts in words."""
        text = ", ".join(dict.fromkeys(self.inputs)) or self.shape
        return f"{text}, cold" if self.cold else text

    @property
    def source(self) -> str:
        """The dtype of the inputs."""
        return self.dtype.partition("_")[0]


@dataclass(frozen=True)
class Row:
    case: Case
    who: str  # a variant of ours, or the name of a peer
    call: str  # ours: "typed", "array"
    ns: float
    rate: float  # of `unit`
    unit: str  # "gbps", "gflops"
    share: float | None = None  # of this machine's limit
    goal: float | None = None  # the share that was hoped for
    arithmetic: int | None = None  # operations an element costs


def load(path: Path) -> dict[str, Any]:
    """A file's JSON; ends the program with a line if there is none with rows."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(document, dict) or not isinstance(document.get("rows"), list):
            raise ValueError("no rows in it")
    except (OSError, ValueError) as problem:
        sys.exit(f"{path}: not what einkorn bench --json or peers.py writes: {problem}")
    return document


def dump(document: dict[str, Any]) -> str:
    """JSON with a line for each member, and for each row."""
    members = []
    for key, value in document.items():
        text = json.dumps(value)
        if key == "rows":
            text = "[\n" + ",\n".join(f"    {json.dumps(row)}" for row in value) + "\n  ]"
        members.append(f"  {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def _axes(row: dict[str, Any]) -> tuple[int, ...] | None:
    """Peers' rows have a list, ours the operation's parameters as text: "axes=0"."""
    if "axes" in row:
        return tuple(row["axes"])
    found = re.search(r"\bax[ei]s=(-?\d+)", str(row.get("params") or ""))
    return (int(found.group(1)),) if found else None


def _case(row: dict[str, Any]) -> Case:
    device = str(row["device"]).split(":")[0]
    shape = row["shape"]
    lengths = str(shape).split("x") if isinstance(shape, str) else [str(n) for n in shape]
    axes = _axes(row)
    if axes is not None and len(axes) in (0, len(lengths)):
        axes = None
    # Threads are the CPU's.
    threads = 0 if device == "cuda" else int(row.get("threads") or 1)
    return Case(str(row["op"]), str(row["dtype"]), device, "x".join(lengths), axes, threads,
                tuple(row.get("inputs") or ()), device == "cpu" and row.get("cache") == "cold")


def read_rows(document: dict[str, Any]) -> list[Row]:
    rows = []
    for row in document["rows"]:
        unit = "gflops" if "gflops" in row else "gbps"
        rows.append(Row(_case(row), str(row.get("peer") or row.get("variant")),
                        str(row.get("call", "")), float(row["ns"]), float(row.get(unit) or 0),
                        unit, row.get("share"), row.get("goal"), row.get("arithmetic")))
    return rows


def is_ours(document: dict[str, Any]) -> bool:
    return "peers" not in document
