"""Counts the arithmetic of a body, for the benchmark's roofline."""

from __future__ import annotations

import re

from gen.model import Loop, Op

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
OPERATOR = re.compile(r" [-+*/] ")
CALL = re.compile(r"\bek_body_([a-z][a-z0-9_]*)_([a-z0-9]+)\(")

# Operations of what include/einkorn/body.h and C have by hand, where they are any.
PRIMITIVES = {"nearest": 2}


def arithmetic(ops: dict[str, Op], op: Op, loop: Loop) -> int:
    """Arithmetic operations of one element as the body is written; an fma is two."""
    return _of_body(ops, op.name, loop.key)


def _of_body(ops: dict[str, Op], name: str, key: str) -> int:
    wanted = f"ek_body_{name}_{key}"
    body = next((b for b in ops[name].bodies if b.name == wanted), None) if name in ops else None
    if name == "fma":
        return 2
    if body is None:
        return PRIMITIVES.get(name, 0)
    text = COMMENT.sub("", body.text)
    # A body is at least one operation: a comparison, or what the machine has one instruction for.
    own = len(OPERATOR.findall(text))
    called = sum(_of_body(ops, *call) for call in CALL.findall(text))
    return max(own + called, 1)
