"""Writes what the operations make: sources, tests, pages, the table's index and a make fragment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from gen.model import DTYPES, KINDS, Kind, Op, dtype_by_rule
from gen.read import TemplateError

# Where a skeleton's output goes: `templates/kinds/<family>/<skeleton>.j2`, or the one in `common`.
OUTPUTS = {
    "body.h": "body/{op}.h",
    "op.h": "include/einkorn/ops/{op}.h",
    "cpu.c": "cpu/{op}.c",
    "cuda.cu": "cuda/{op}.cu",
    "cuda.c": "cuda/{op}.c",
    "row.c": "row/{op}.c",
    "test.c": "test/{op}.c",
    "bench.c": "bench/{op}.c",
    "page.md": "page/{op}.md",
}

# What is written once for all operations, under names that no operation can have.
INDEX = {
    "ops.h": "include/einkorn/ops.h",
    "table.c": "table.c",
    "tests.c": "test/every-op.c",
    "benches.c": "bench/every-op.c",
    "index.md": "page/README.md",
    "ops.mk": "ops.mk",
}


@dataclass(frozen=True)
class Tree:
    """The folders a run works on."""

    templates: Path  # holds kinds/
    out: Path

    def skeleton(self, kind: Kind, output: str) -> Path | None:
        """The skeleton that renders `output` for a kind, if it has one."""
        for folder in (kind.family, kind.like or kind.family, "common"):
            path = self.templates / "kinds" / folder / f"{output}.j2"
            if path.exists():
                return path
        return None


def write_if_changed(path: Path, text: str) -> bool:
    """Writes `text` unless the file holds it already, so that nothing is compiled in vain."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True


def add_filters(env: jinja2.Environment) -> None:
    """What templates may ask beside Jinja2's own filters."""

    def c_string(value: object) -> str:
        return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'

    def mentions(text: str, name: str) -> bool:
        return re.search(rf"\b{name}\b", text) is not None

    env.filters["c_string"] = c_string
    env.filters["mentions"] = mentions
    env.globals.update(dtypes=DTYPES, dtype_by_rule=dtype_by_rule, kinds=KINDS)


def outputs_of(op: Op, tree: Tree) -> dict[str, Path]:
    """The outputs an operation has: name of the skeleton to the path below the output folder."""
    names = ["body.h"] if not op.kind.table else list(OUTPUTS)
    if op.kind.slots == ():
        names.remove("body.h")
    if op.meta.get("library"):  # has no kernels of its own
        names.remove("cuda.cu")
    if not op.has_cuda:
        names = [name for name in names if not name.startswith("cuda.")]
    return {name: Path(OUTPUTS[name].format(op=op.name)) for name in names
            if tree.skeleton(op.kind, name)}


def render(env: jinja2.Environment, op: Op, tree: Tree) -> None:
    """Writes every output of one operation, then its stamp."""
    template = env.from_string(op.path.read_text(encoding="utf-8"))
    for name, path in outputs_of(op, tree).items():
        skeleton = tree.skeleton(op.kind, name)
        assert skeleton
        values: dict[str, Any] = {
            "skeleton": f"kinds/{skeleton.parent.name}/{skeleton.name}", "this": op,
            "source": f"{op.path.parent.name}/{op.path.name}",
            "made_with": f"kinds/{skeleton.parent.name}/{skeleton.name}"}
        try:
            text = template.render(values)
        except jinja2.TemplateError as error:
            raise TemplateError(f"{op.path}:1: {name}: {error.message}") from error
        write_if_changed(tree.out / path, text)
    stamp = tree.out / "stamp" / op.name
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text("", encoding="utf-8")


def remove_deleted(ops: dict[str, Op], tree: Tree) -> None:
    """Deletes what operations left whose templates are gone, or their headers would be installed."""
    for stamp in (tree.out / "stamp").glob("*"):
        if stamp.name not in ops:
            for path in OUTPUTS.values():
                (tree.out / path.format(op=stamp.name)).unlink(missing_ok=True)
            stamp.unlink()


def write_index(env: jinja2.Environment, ops: dict[str, Op], tree: Tree,
                make_paths: dict[str, str]) -> None:
    """Writes what names all operations; the make fragment last, since make waits for it."""
    rows = [op for op in ops.values() if op.kind.table]
    outputs = {op.name: {name: str(path) for name, path in outputs_of(op, tree).items()}
               for op in ops.values()}
    for name, path in INDEX.items():
        text = env.get_template(f"kinds/index/{name}.j2").render(
            ops=list(ops.values()), rows=rows, outputs=outputs, make_paths=make_paths)
        target = tree.out / path
        if not write_if_changed(target, text) and name == "ops.mk":
            target.touch()
