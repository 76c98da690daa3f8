"""The generator's command line: `python3 -m gen make|render|list|check`."""

from __future__ import annotations

import argparse
import filecmp
import os
import sys
import tempfile
from functools import partial
from pathlib import Path

from gen.count import arithmetic
from gen.few import few
from gen.model import Op
from gen.read import (BodyRenderer, TemplateError, environment, find_templates, read_op)
from gen.write import Tree, add_filters, remove_deleted, render, write_index


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="gen", description="Turns operation templates into C, CUDA C, tests and pages.")
    parser.add_argument("command", choices=("make", "render", "list", "check"), help=(
        "make: write what is out of date, then the make fragment; render OP...: write these; "
        "list: the operations; check: render twice and compare"))
    parser.add_argument("names", nargs="*", help="operations, for render")
    parser.add_argument("--templates", type=Path, required=True, help="folder with kinds/ and ops/")
    parser.add_argument("--ops", type=Path, action="append", default=[],
                        help="one more folder of operations (may be repeated)")
    parser.add_argument("--few", type=Path, metavar="DIR", help=(
        "only operations that stand for all, with those that the C code and tests in DIR name"))
    parser.add_argument("--also", action="append", default=[], metavar="OP", help=(
        "with --few, one more operation (may be repeated)"))
    parser.add_argument("--out", type=Path, default=Path("generated"), help="output folder")
    return parser.parse_args()


def newest(paths: list[Path]) -> float:
    return max((path.stat().st_mtime for path in paths), default=0.0)


def stale(op: Op, tree: Tree, shared: float) -> bool:
    stamp = tree.out / "stamp" / op.name
    return not stamp.exists() or stamp.stat().st_mtime <= max(shared, op.path.stat().st_mtime)


def shared_time(templates: Path) -> float:
    """The newest of what every output depends on: the generator and the skeletons."""
    return newest([*Path(__file__).parent.glob("*.py"), *templates.glob("kinds/*/*.j2")])


def run(options: argparse.Namespace) -> int:
    op_dirs = [options.templates / "ops", *options.ops]
    env = environment([options.templates])
    add_filters(env)
    tree = Tree(options.templates, options.out)
    paths = find_templates(op_dirs)
    ops = {name: read_op(env, path) for name, path in paths.items()}
    if options.command == "list":
        for op in ops.values():
            print(f"{op.name:16} {op.kind.name:12} {op.brief}")
        return 0
    bodies = BodyRenderer(env, ops)
    ops = {name: bodies.render(op) for name, op in ops.items()}
    env.globals["arithmetic"] = partial(arithmetic, ops)
    if options.few:
        for name in options.also:
            if name not in ops:
                raise TemplateError(f"--also {name}: no such operation")
        ops = few(ops, options.few, options.also)
    if options.command == "check":
        return check(options, ops)
    for name in options.names:
        if name not in ops:
            raise TemplateError(f"no operation '{name}'")
    shared = shared_time(options.templates)
    for op in ops.values():
        if op.name in options.names or (options.command == "make" and stale(op, tree, shared)):
            render(env, op, tree)
    if options.command == "make":
        make_paths = {name: os.path.relpath(path, options.templates.parent)
                      if path.is_relative_to(options.templates) else str(path)
                      for name, path in paths.items() if name in ops}
        remove_deleted(ops, tree)
        write_index(env, ops, tree, make_paths)
    return 0


def check(options: argparse.Namespace, ops: dict[str, Op]) -> int:
    """Renders everything twice and compares byte for byte."""
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        for folder in (first, second):
            env = environment([options.templates])
            add_filters(env)
            env.globals["arithmetic"] = partial(arithmetic, ops)
            for op in ops.values():
                render(env, op, Tree(options.templates, Path(folder)))
        names = [str(path.relative_to(first)) for path in Path(first).rglob("*") if path.is_file()]
        _, differ, errors = filecmp.cmpfiles(first, second, names, shallow=False)
        for name in differ + errors:
            print(f"{name}: two runs differ")
        return 1 if differ or errors else 0


def main() -> int:
    try:
        return run(arguments())
    except TemplateError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
