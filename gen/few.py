"""Chooses few operations that stand for all, for builds that are about the runtime and the kinds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from gen.model import Loop, Op

# Where hand-written code names operations: by their headers, in quotes to look them up, or as calls,
# typed ones with the dtype behind the name.
SOURCES = ("examples", "src", "tests", "tools")
NAMED = re.compile(r'einkorn/ops/([a-z][a-z0-9_]*)\.h|"([a-z][a-z0-9_]*)"'
                   r'|\bek_([a-z][a-z0-9_]*?)(?:_[a-z]+[0-9]+)?\(')


def few(ops: dict[str, Op], root: Path, also: Iterable[str] = ()) -> dict[str, Op]:
    """The operations `also` and those that hand-written code below `root` names, then those that show
    what no chosen one does: every kind, dtypes and choice that its skeletons know. And what the
    chosen ones call."""
    chosen: set[str] = set()
    shown: set[object] = set()

    def choose(name: str) -> None:
        if name not in chosen:
            chosen.add(name)
            shown.update(_features(ops[name]))
            for called in ops[name].calls:
                choose(called)
            derivative = ops[name].derivative
            if derivative:  # which is tested against it
                choose(derivative.of)

    for name in sorted((_named(root) & ops.keys()).union(also)):
        choose(name)
    for name, op in ops.items():
        if op.kind.table and not shown.issuperset(_features(op)):
            choose(name)
    return {name: op for name, op in ops.items() if name in chosen}


def _named(root: Path) -> set[str]:
    """What might be names of operations in hand-written code."""
    paths = [path for folder in SOURCES for path in (root / folder).rglob("*")
             if path.suffix in (".c", ".h", ".py", ".sh")]
    return {name for path in paths
            for pair in NAMED.findall(path.read_text(encoding="utf-8")) for name in pair if name}


# Keys whose values are an operation's own names, or are seen in its loops.
OWN = {"args", "in", "out", "outputs", "params", "derivative_of"}


def _features(op: Op) -> Iterator[object]:
    """What skeletons make differently, each by itself: one operation shows several, and no one needs
    to show a combination of them."""
    kind = op.kind.name
    yield kind, op.has_cuda, len(op.outputs), bool(op.meta.get("signless"))
    for param in op.params:
        yield kind, "parameter", param.type
    for key in sorted(op.kind.keys - OWN):
        yield kind, key, repr(op.meta.get(key))
    for loop in op.loops:
        yield kind, "dtypes", repr(_dtypes(loop))
        yield kind, "any order", loop.any_order
        for slot in _slots(op, loop):
            yield kind, "slot", slot, loop.t.group


def _dtypes(loop: Loop) -> list[list[str]]:
    lane = [loop.lane] if loop.lane else []
    return [[dtype.name for dtype in part] for part in (loop.ins, loop.outs, [loop.acc], lane)]


def _slots(op: Op, loop: Loop) -> list[str]:
    """The slots that the operation fills in itself for the loop."""
    defaults = {slot.name: slot.default for slot in op.kind.slots or ()}
    made = ((body.name.split("_")[1], body) for body in op.bodies
            if body.name.endswith(f"_{op.name}_{loop.key}"))
    return sorted(slot for slot, body in made if body.text != defaults.get(slot))
