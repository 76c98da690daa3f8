"""What `einkorn bench --json` and peers.py write: one timing a row."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Case:
    """What was computed where: rows of the same case can be compared."""

    op: str
    dtype: str
    device: str  # "cpu", "cuda"
    shape: str  # "100000", "16384x16384"; m x n x k for a product of matrices
    axes: tuple[int, ...] | None  # those a reduction goes over; None: all, or no reduction
    threads: int

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
        """The operation with what tells it from others of its name: "sum, axis 0"."""
        if self.axes is None:
            return self.op
        return f"{self.op}, axis {','.join(map(str, self.axes))}"


@dataclass(frozen=True)
class Row:
    case: Case
    who: str  # a variant of ours, or the name of a peer
    ns: float
    rate: float  # of `unit`
    unit: str  # "gbps", "gflops"
    share: float | None = None  # of this machine's limit


def load(path: Path) -> dict[str, Any]:
    with path.open(encoding="utf-8") as file:
        document: dict[str, Any] = json.load(file)
    return document


def _case(row: dict[str, Any]) -> Case:
    device = str(row["device"]).split(":")[0]
    axes = row.get("axes")
    dimensions = str(row["shape"]).count("x") + 1
    if axes is not None and len(axes) in (0, dimensions):
        axes = None
    # Threads are the CPU's; a GPU's rows may or may not name them.
    threads = 0 if device == "cuda" else int(row.get("threads") or 1)
    return Case(str(row["op"]), str(row["dtype"]), device, str(row["shape"]),
                None if axes is None else tuple(axes), threads)


def read_rows(document: dict[str, Any]) -> list[Row]:
    rows = []
    for row in document["rows"]:
        unit = "gflops" if "gflops" in row else "gbps"
        share = row.get("share")
        rows.append(Row(_case(row), str(row.get("peer") or row.get("variant")), float(row["ns"]),
                        float(row.get(unit) or 0), unit, None if share is None else float(share)))
    return rows
