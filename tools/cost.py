#!/usr/bin/env python3
"""What an operation costs to build: `make cost COST="exp add sum"`, or cost.py MAKE OP... in the build folder.

Compiles each operation's files anew and prints processor seconds and the bytes of its objects. Without a
compiler cache: make CC=gcc NVCC=nvcc cost."""

from __future__ import annotations

import glob
import os
import resource
import subprocess
import sys

# What is made, as the table's columns, and where.
GROUPS = {
    "CPU": ("cpu/{}.*.o", "row/{}.o"),
    "CUDA": ("cuda/{}.o", "cuda/{}.fatbin.o"),
    "tests": ("test/{}.o", "bench/{}.o"),
}
LIBRARY = ("CPU", "CUDA")


def objects(op: str, group: str) -> list[str]:
    return sorted(path for pattern in GROUPS[group]
                  for path in glob.glob("generated/" + pattern.format(op)))


def seconds_of(command: list[str]) -> float:
    """Processor seconds of a command and what it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(make: str, op: str) -> list[str]:
    cells, size = [op], 0
    for group in GROUPS:
        made = objects(op, group)
        for path in made:
            os.unlink(path)
            if path.endswith(".fatbin.o"):
                os.unlink(path.removesuffix(".o"))
        cells.append(f"{seconds_of([make, '-s', *made]):.1f}" if made else "")
        if group in LIBRARY:
            size += sum(os.path.getsize(path) for path in made)
    return [*cells, f"{size / 1000:.0f}"]


def main() -> int:
    make, *ops = sys.argv[1:]
    if not ops:
        print('cost: no operation: say which, as in make cost COST="exp sum"', file=sys.stderr)
        return 1
    empty = seconds_of([make, "-s", "libeinkorn.a"])
    print(f"# of every cell with time, {empty:.1f} s are make's own")
    print("| operation | " + " | ".join(f"{group}, s" for group in GROUPS) + " | library, kB |")
    print("|---" * (len(GROUPS) + 2) + "|")
    for op in ops:
        if not objects(op, "CPU"):
            print(f"cost: no operation '{op}' is built here", file=sys.stderr)
            return 1
        print("| " + " | ".join(measure(make, op)) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
