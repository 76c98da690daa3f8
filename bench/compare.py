#!/usr/bin/env python3
"""Puts Einkorn's timings beside its peers': a Markdown table, a bar chart and a roofline as SVG.

    compare.py FILE.json... [--svg FILE] [--roofline FILE] [--dtype f32] [--title TEXT]
               [--call array]

The files are what `einkorn bench --json` and peers.py wrote, in any order. Our time is that of the
typed call where there is one; with --call array, that of the call for arrays of any layout. A
number in a peer's column is how many times as fast as the peer Einkorn is: above 1 it is faster.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import roofline
from chart import Bar, Panel, draw
from roofline import Dot, Roof
from rows import Case, Row, is_ours, load, read_rows

# From the plainest to the widest. A queue starts with the widest, so of several that one counts.
VARIANTS = ("base", "avx2", "avx512", "neon", "cuda")
PRODUCTS = ("gemm", "gemm_exact")  # of matrices
ITEM_BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}

# Bytes of arrays that are in no cache, and of those that are.
LARGE, SMALL, LEAST = 1 << 27, 1 << 22, 1 << 17

# A device, a number of threads and a number of elements; None: products of matrices.
Group = tuple[str, int, "int | None"]


@dataclass
class Line:
    """Our row, and each peer's of the same case."""

    ours: Row
    peers: dict[str, Row] = field(default_factory=dict)

    def speed(self, peer: str) -> float | None:
        row = self.peers.get(peer)
        return row.ns / self.ours.ns if row else None


def chosen(rows: list[Row], call: str) -> dict[Case, Row]:
    """One row a case."""

    def rank(row: Row) -> tuple[bool, int]:
        return row.call == call, VARIANTS.index(row.who) if row.who in VARIANTS else -1

    best: dict[Case, Row] = {}
    for row in rows:
        if row.case not in best or rank(row) > rank(best[row.case]):
            best[row.case] = row
    return best


def join(documents: list[dict[str, Any]], call: str) -> list[Line]:
    ours = [row for document in documents if is_ours(document) for row in read_rows(document)]
    lines = {case: Line(row) for case, row in chosen(ours, call).items()}
    for document in documents:
        for row in [] if is_ours(document) else read_rows(document):
            if row.case in lines:
                lines[row.case].peers[row.who] = row
    return list(lines.values())


def grouped(lines: list[Line]) -> dict[Group, list[Line]]:
    """Lines of one device, number of threads and about one size: a matrix of 99,328 elements stands
    beside an array of 100,000."""
    found: dict[tuple[str, int, float], list[Line]] = defaultdict(list)
    for line in lines:
        case = line.ours.case
        size = math.inf if case.op in PRODUCTS else round(4 * math.log2(max(case.size, 1)))
        found[case.device, case.threads, size].append(line)
    groups: dict[Group, list[Line]] = {}
    for (device, threads, size), members in sorted(found.items(), key=lambda item: item[0]):
        largest = max(line.ours.case.size for line in members)
        groups[device, threads, None if size == math.inf else largest] = members
    return groups


def count_text(count: int) -> str:
    exponent = count.bit_length() - 1
    if count >= 1 << 20 and count == 1 << exponent:
        return f"2^{exponent}"
    return f"{count:,}"


def group_text(group: Group) -> str:
    device, threads, size = group
    where = "GPU" if device == "cuda" else f"CPU, {threads} thread{'s' if threads > 1 else ''}"
    return f"{where}, " + ("matrix products" if size is None else f"{count_text(size)} elements")


def time_text(ns: float) -> str:
    for unit, factor in (("ns", 1.0), ("µs", 1e3), ("ms", 1e6)):
        if ns < 1000 * factor or unit == "ms":
            value = ns / factor
            return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}"
    raise AssertionError


def rate_text(row: Row) -> str:
    unit = "GFLOP/s" if row.unit == "gflops" else "GB/s"
    return f"{row.rate:.{0 if row.rate >= 100 else 1}f} {unit}" if row.rate else ""


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def table(header: list[str], rows: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def number_text(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def group_table(lines: list[Line], names: list[str], goals: bool = False) -> str:
    rows = []
    for line in lines:
        case, ours = line.ours.case, line.ours
        rows.append([case.label, case.dtype, case.operands, time_text(ours.ns), rate_text(ours),
                     number_text(ours.share), *([number_text(ours.goal)] if goals else []),
                     *(number_text(line.speed(name)) for name in names)])
    return table(["operation", "dtype", "operands", "time", "rate", "of limit",
                  *(["goal"] if goals else []), *(f"× {name}" for name in names)], rows)


def means_table(groups: dict[Group, list[Line]], names: list[str]) -> str:
    rows = []
    for group, lines in groups.items():
        for dtype in sorted({line.ours.case.source for line in lines}):
            cells = []
            for name in names:
                speeds = [speed for line in lines if line.ours.case.source == dtype
                          and (speed := line.speed(name)) is not None]
                cells.append(f"{geometric_mean(speeds):.2f} ({len(speeds)})" if speeds else "")
            if any(cells):
                rows.append([group_text(group), dtype, *cells])
    return table(["geometric means (of how many rows)", "dtype", *(f"× {n}" for n in names)], rows)


def bar_text(case: Case) -> str:
    return f"{case.op} {case.lengths[0]}³" if case.op in PRODUCTS else case.label


def panels(groups: dict[Group, list[Line]], names: list[str], dtype: str) -> list[Panel]:
    found = []
    for group, lines in groups.items():
        bars = [Bar(bar_text(line.ours.case), {name: speed for name in names
                                               if (speed := line.speed(name)) is not None})
                for line in lines if line.ours.case.source == dtype and line.peers]
        if bars:
            found.append(Panel(group_text(group), bars))
    return found


def dots_of(lines: list[Line], dtype: str) -> list[Dot]:
    """Elementwise operations by their body's arithmetic, products by theirs; those in one thread
    only if they are in a cache."""
    most = max((line.ours.case.threads for line in lines), default=1)
    dots = []
    for line in lines:
        ours, case = line.ours, line.ours.case
        if case.source != dtype or case.inputs or case.cold:
            continue
        traffic = ours.rate * ours.ns
        if ours.unit == "gflops" and case.threads in (0, most):
            n, size = case.lengths[0], ITEM_BYTES.get(dtype, 4)
            dots.append(Dot(f"{case.op} {n}³", 2 * n / (3.0 * size), ours.rate, "products"))
        elif ours.arithmetic and traffic >= LARGE and case.threads in (0, most):
            total = ours.arithmetic * case.size
            dots.append(Dot(case.label, total / traffic, total / ours.ns, "large arrays"))
        elif ours.arithmetic and LEAST <= traffic < SMALL and case.threads == 1:
            total = ours.arithmetic * case.size
            dots.append(Dot(case.label, total / traffic, total / ours.ns, "cached arrays"))
    return dots


def roof_of(documents: list[dict[str, Any]], device: str, dtype: str, dots: list[Dot]) -> Roof:
    """The machine's limits: the fastest product, and memory for large and for cached arrays."""
    limits = [document["limits"] for document in documents if is_ours(document)]
    products = [entry["gflops"] for limit in limits for entry in limit["gemm"]
                if entry["device"] == device and entry["dtype"] == dtype]
    products += [dot.rate for dot in dots if dot.kind == "products"]
    moves = [entry for limit in limits for entry in limit["memory"]
             if entry["device"] == device and entry["reads"] > 0 and entry["writes"] > 0]
    cached = [entry["gbps"] for entry in moves
              if entry["threads"] == 1 and LEAST <= entry["bytes"] < SMALL]
    return Roof(peak=max(products, default=None),
                memory=max((e["gbps"] for e in moves if e["bytes"] >= LARGE), default=None),
                cache=max(cached, default=None) if device == "cpu" else None)


def machine_text(documents: list[dict[str, Any]]) -> str:
    machine: dict[str, Any] = next(
        (d["machine"] for d in documents if d.get("machine")), {})
    names = (machine.get(key) for key in ("model", "cpu", "name"))
    return next((str(name) for name in names if name), "not named")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("files", type=Path, nargs="+",
                        help="what einkorn bench --json and peers.py wrote")
    parser.add_argument("--svg", type=Path, help="file for the chart")
    parser.add_argument("--roofline", type=Path, help="file for the roofline")
    parser.add_argument("--dtype", default="f32", help="dtype of the chart (%(default)s)")
    parser.add_argument("--call", default="typed", choices=("typed", "array"),
                        help="which of our calls, where there are two (%(default)s)")
    parser.add_argument("--title", default="Speed of Einkorn relative to its peers")
    arguments = parser.parse_args()

    documents = [load(path) for path in arguments.files]
    lines = join(documents, arguments.call)
    names = sorted({name for line in lines for name in line.peers})
    versions = {name: str(version) for document in documents
                for name, version in document.get("peers", {}).items()}
    groups = grouped(lines)

    print(f"Machine: {machine_text(documents)}.", end=" ")
    print("Peers: " + (", ".join(f"{n} {versions.get(n, '')}".strip() for n in names) or "none")
          + ".\n")
    for group, members in groups.items():
        print(f"### {group_text(group)}\n\n{group_table(members, names)}\n")
    hoped = [line for line in lines if line.ours.goal is not None]
    if hoped:
        print(f"### Beside their goals\n\n{group_table(hoped, names, goals=True)}\n")
    if names:
        print(f"### Together\n\n{means_table(groups, names)}")
    if arguments.svg:
        found = panels(groups, names, arguments.dtype)
        if not found:
            print(f"compare.py: no {arguments.dtype} row has a peer: no chart", file=sys.stderr)
        else:
            title = f"{arguments.title} ({arguments.dtype})"
            arguments.svg.write_text(draw(title, found, names), encoding="utf-8")
    if arguments.roofline:
        device = lines[0].ours.case.device if lines else "cpu"
        dots = dots_of(lines, arguments.dtype)
        roof = roof_of(documents, device, arguments.dtype, dots)
        title = f"Roofline of {machine_text(documents)} ({arguments.dtype})"
        arguments.roofline.write_text(roofline.draw(title, roof, dots), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
