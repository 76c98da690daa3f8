#!/usr/bin/env python3
"""Sets the operations of this build against docs/coverage.tsv, the list of what Thinc, dfdx and CuPy
offer, row by row.

usage: coverage.py EINKORN HEADERS [--markdown]

Each row's last column names what covers it: operations of the table, functions of the public headers
(`roll()` is ek_roll), and after a semicolon a remark. Exit status 1 if a name there does not exist."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).parents[1] / "docs" / "coverage.tsv"
PARENTS = ("Thinc", "dfdx", "CuPy")


@dataclass(frozen=True)
class Row:
    """A primitive of the list: which of the parents have it ("y*": as a composition), and what
    covers it here."""

    section: str
    name: str
    parents: dict[str, str]
    names: tuple[str, ...]
    remark: str

    @property
    def covered(self) -> bool:
        return bool(self.names)

    def offered_by(self, parent: str) -> bool:
        return self.parents[parent].startswith("y")


def read_rows(path: Path) -> list[Row]:
    rows = []
    with path.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            by, _, remark = line["by"].partition(";")
            names = () if by.strip() == "-" else tuple(by.split())
            rows.append(Row(line["section"], line["primitive"],
                            {parent: line[parent] for parent in PARENTS}, names, remark.strip()))
    return rows


def known_names(einkorn: str, headers: Path) -> set[str]:
    """Names of operations, and of functions with () behind them."""
    text = subprocess.run([einkorn, "ops", "--json"], check=True, capture_output=True).stdout
    names = {op["name"] for op in json.loads(text)["ops"]}
    for header in headers.glob("**/*.h"):
        names |= {f"{name}()" for name in
                  re.findall(r"\bek_(\w+)\(", header.read_text(encoding="utf-8"))}
    return names


def markdown(rows: list[Row]) -> str:
    lines = ["# Coverage", "",
             "What Thinc, dfdx and CuPy offer as primitives, and what covers it here. Written by "
             "`make coverage` from `docs/coverage.tsv` and the table of operations.", "",
             "y: an operation of its own there; y*: a composition, or a case of another one; n: not "
             "offered. Of CuPy, the rows counted are those of the list's sections.", ""]
    lines += summary(rows)
    section = ""
    for row in rows:
        if row.section != section:
            section = row.section
            lines += ["", f"## {section}", "", "| primitive | Thinc | dfdx | CuPy | here |",
                      "|---|---|---|---|---|"]
        names = [f"`ek_{name}`" for name in row.names]
        here = " ".join(names) + (f"; {row.remark}" if row.remark else "")
        name = row.name.replace("|", "\\|")
        lines.append(f"| {name} | {' | '.join(row.parents[p] for p in PARENTS)} | {here or '-'} |")
    return "\n".join(lines) + "\n"


def summary(rows: list[Row]) -> list[str]:
    lines = []
    for parent in PARENTS:
        offered = [row for row in rows if row.offered_by(parent)]
        covered = sum(row.covered for row in offered)
        lines.append(f"- {parent}: {covered} of {len(offered)}")
    return lines


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    rows = read_rows(LIST)
    known = known_names(sys.argv[1], Path(sys.argv[2]))
    missing = [f"{LIST.name}: '{row.name}' names '{name}', which does not exist"
               for row in rows for name in row.names if name not in known]
    for line in missing:
        print(line, file=sys.stderr)
    print(markdown(rows) if "--markdown" in sys.argv[3:] else "\n".join(summary(rows)), end="")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
