"""Reads and checks operation templates.

The literal `{% set op = {...} %}` is taken from Jinja2's syntax tree and never run. Whatever is
wrong is a TemplateError that says `file:line: what is wrong, what is allowed`."""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import nodes

from gen.model import (DTYPE_RULES, DTYPE_SETS, DTYPES, KINDS, RANDOM_PARAMS, SUMS, Body, Dtype,
                       Kind, Loop, Op, Param, Slot, Stage, dtype_by_rule, elementwise_slots,
                       image_slots, place_slots, random_slots, rowbackward_slots)

COMMON_KEYS = frozenset(
    {"kind", "brief", "dtypes", "ulp", "domain", "edges", "reference", "reference_im",
     "reference_int", "reference_re", "reference_real", "bits", "signless", "cuda", "names"})

# Keys with a text, and with a list of texts.
TEXTS = frozenset({"kind", "brief", "dtypes", "domain", "bits", "out", "acc", "any_order", "sums",
                   "first", "uses"})
LISTS = frozenset({"args", "in", "edges"})

# Keys with one of a few words.
CHOICES = {
    "bits": ("same", "library"),
    "first": ("nothing", "max", "sum"),
    "uses": ("x", "term"),
}

# The libraries whose name for an operation "names" may give, and how they are written.
LIBRARIES = {"thinc": "Thinc", "dfdx": "dfdx", "cupy": "CuPy"}

# How much an operation in the table may take and give, as include/einkorn/limits.h has it.
MAX_INPUTS, MAX_OUTPUTS, MAX_PARAMS = 6, 4, 8

# What gives the results that tests want.
REFERENCES = ("reference", "reference_int", "reference_real", "reference_re", "reference_im")

# A name that operands and parameters may have.
NAME = re.compile(r"[a-z][a-z0-9_]*")

# Names that generated code has for itself.
TAKEN = frozenset({"q", "n", "i", "rows", "data", "step", "params", "size", "out", "op", "walk",
                   "loop", "count", "rare", "at", "in", "result", "self"})
TAKEN_BESIDE_PLACES = frozenset({"q", "rows", "columns", "n", "i", "j", "e", "line", "params", "out",
                                 "op", "walk", "at", "values", "loops", "kernels"})

# An edge: a number as C writes it, or what is none.
NUMBER = re.compile(r"-?(nan|inf|\d+(\.\d*)?(e[-+]?\d+)?|0x[0-9a-f]+(\.[0-9a-f]*)?p[-+]?\d+)")

# Body functions that include/einkorn/body.h has by hand.
PRIMITIVES = frozenset({"bits", "from_bits", "nearest", "complex", "larger", "smaller", "mulhi"})

# Beginnings of functions that bodies call as they are: other slots, and what include/einkorn/body.h,
# src/image_body.h and src/philox.h have by hand for a dtype or for none.
HELPERS = ("at_", "load_", "philox_", "store_", "quick_", "rare_", "usual_", "window_")

CALL = re.compile(r"\bek_([a-z][a-z0-9_]*)\(")
THEN = re.compile(r"^ *ek_then\(([\w, ]+)\);\n", re.MULTILINE)


class TemplateError(Exception):
    """A template that breaks a rule."""


def environment(folders: list[Path]) -> jinja2.Environment:
    """Jinja2 with delimiters that C does not use: `${value}`, `{% block %}`, `<# comment #>`."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader([str(folder) for folder in folders]),
        undefined=jinja2.StrictUndefined,
        variable_start_string="${", variable_end_string="}",
        comment_start_string="<#", comment_end_string="#>",
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)


def find_templates(op_dirs: list[Path]) -> dict[str, Path]:
    """Every operation's template by name, sorted; two of one name are an error."""
    found: dict[str, Path] = {}
    for folder in op_dirs:
        for path in sorted(folder.glob("**/*.j2")):
            if path.stem in found:
                raise TemplateError(f"{path}:1: operation '{path.stem}' is defined twice, "
                                    f"also in {found[path.stem]}")
            found[path.stem] = path
    return dict(sorted(found.items()))


def read_op(env: jinja2.Environment, path: Path) -> Op:
    """The operation in `path`, checked; its bodies are not rendered yet."""
    text = path.read_text(encoding="utf-8")
    try:
        tree = env.parse(text)
    except jinja2.TemplateSyntaxError as error:
        raise TemplateError(f"{path}:{error.lineno}: {error.message}") from error
    literal, line = _literal(tree, path)
    if tree.find(nodes.Extends) is None:
        raise TemplateError(f"{path}:1: '{{% extends skeleton %}}' is missing")
    return _Checker(path, line, literal, _blocks(tree)).op()


def _literal(tree: nodes.Template, path: Path) -> tuple[dict[str, Any], int]:
    for node in tree.find_all(nodes.Assign):
        if isinstance(node.target, nodes.Name) and node.target.name == "op":
            assert isinstance(node.node, nodes.Expr)
            try:
                if not isinstance(node.node, nodes.Expr):
                    raise nodes.Impossible
                value = node.node.as_const()
            except nodes.Impossible:
                raise TemplateError(f"{path}:{node.lineno}: op is not a literal: only strings, "
                                    "numbers, lists and dictionaries are allowed") from None
            if isinstance(value, dict):
                return value, node.lineno
    raise TemplateError(f"{path}:1: no operation: '{{% set op = {{...}} %}}' must be there")


def _blocks(tree: nodes.Template) -> dict[str, int]:
    return {node.name: node.lineno for node in tree.find_all(nodes.Block)}


class _Checker:
    """Turns a template's literal into an Op, or says what is wrong with it."""

    def __init__(self, path: Path, line: int, literal: dict[str, Any],
                 blocks: dict[str, int]) -> None:
        self.path, self.line, self.literal, self.blocks = path, line, literal, blocks

    def fail(self, text: str, line: int | None = None) -> TemplateError:
        return TemplateError(f"{self.path}:{line or self.line}: {text}")

    def get(self, key: str, default: Any = None) -> Any:
        if key in self.literal:
            return self.literal[key]
        if default is None:
            raise self.fail(f"key '{key}' is missing")
        return default

    def op(self) -> Op:
        name = self.path.stem
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise self.fail(f"'{name}' is no name: lower-case letters, digits and _ are allowed")
        self.check_values()
        kind = self.kind()
        allowed = COMMON_KEYS | kind.keys
        for key in self.literal:
            if key not in allowed:
                raise self.fail(f"unknown key '{key}': allowed are {', '.join(sorted(allowed))}")
        if "doc" not in self.blocks:
            raise self.fail("block 'doc' is missing")
        args = self.args(kind)
        if kind.table and len(args) > MAX_INPUTS:
            raise self.fail(f"'args' has {len(args)} names: at most {MAX_INPUTS} are allowed")
        outputs = self.outputs(kind)
        params = self.params(kind)
        self.check_names(kind, args, tuple(outputs), params)
        dtypes = self.dtypes(kind)
        ins = tuple(self.literal.get("in", kind.ins or ("T",) * len(args)))
        if len(ins) != len(args):
            raise self.fail(f"'in' has {len(ins)} dtypes: must be one for each of {list(args)}")
        loops = self.loops(kind, dtypes, ins, tuple(outputs.values()))
        self.check_blocks(kind)
        return Op(name=name, kind=kind, path=self.path, brief=str(self.get("brief")), args=args,
                  outputs=tuple(outputs), params=params, dtypes=dtypes, loops=loops,
                  edges=tuple(map(str, self.get("edges", []))),
                  references={key: self.references(tuple(outputs), key) for key in REFERENCES},
                  domain=str(self.get("domain", "all")), meta=dict(self.literal),
                  known_as=tuple((LIBRARIES[key], value)
                                 for key, value in self.literal.get("names", {}).items()))

    def check_values(self) -> None:
        for key in sorted(TEXTS & self.literal.keys()):
            if not isinstance(self.literal[key], str):
                raise self.fail(f"'{key}' must be a text")
        for key in sorted(LISTS & self.literal.keys()):
            value = self.literal[key]
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise self.fail(f"'{key}' must be a list of texts")
        for edge in self.literal.get("edges", []):
            if not NUMBER.fullmatch(edge):
                raise self.fail(f"edge '{edge}' is no number")
        ulp = self.literal.get("ulp", 0)
        for value in ulp.values() if isinstance(ulp, dict) else [ulp]:
            if not isinstance(value, (int, float)):
                raise self.fail("'ulp' must be a number, or a dictionary of numbers by dtype")
        for key in ("signless", "cuda"):
            if not isinstance(self.literal.get(key, False), bool):
                raise self.fail(f"'{key}' must be True or False")
        names = self.literal.get("names", {})
        if not isinstance(names, dict) or not all(
                key in LIBRARIES and isinstance(value, str) for key, value in names.items()):
            raise self.fail("'names' must be a dictionary of texts by "
                            f"{', '.join(sorted(LIBRARIES))}")
        for key in sorted(CHOICES.keys() & self.literal.keys()):
            if self.literal[key] not in CHOICES[key]:
                raise self.fail(f"unknown {key} '{self.literal[key]}': allowed are "
                                f"{', '.join(CHOICES[key])}")

        if self.get("kind") == "moments" and self.get("sums") not in SUMS:
            raise self.fail(f"unknown sums '{self.literal['sums']}': allowed are {', '.join(SUMS)}")

    def kind(self) -> Kind:
        name = self.get("kind")
        if name not in KINDS:
            raise self.fail(f"unknown kind '{name}': allowed are {', '.join(sorted(KINDS))}")
        return KINDS[name]

    def args(self, kind: Kind) -> tuple[str, ...]:
        if kind.args is not None:
            return kind.args
        if kind.name == "random" and "args" not in self.literal:
            return ()
        args = tuple(self.get("args"))
        most = kind.most_args
        if most and (not args or args != most[:len(args)]):
            raise self.fail(f"'args' is {list(args)}: must be the first ones of {list(most)}")
        return args

    def outputs(self, kind: Kind) -> dict[str, str]:
        """The outputs by name, and the rules of their dtypes."""
        single = {"c" if kind.name == "gemm" else "out": str(self.literal.get("out", kind.out))}
        outputs = self.literal.get("outputs", single)
        if "out" in self.literal and "outputs" in self.literal:
            raise self.fail("'out' and 'outputs' are both there: one of them says what comes out")
        if not isinstance(outputs, dict) or not all(
                isinstance(word, str) for pair in outputs.items() for word in pair):
            raise self.fail("'outputs' must be a dictionary of dtypes by name")
        if not 1 <= len(outputs) <= MAX_OUTPUTS:
            raise self.fail(f"'outputs' has {len(outputs)} names: must be 1 to {MAX_OUTPUTS}")
        return outputs

    def params(self, kind: Kind) -> tuple[Param, ...]:
        literal = self.literal.get("params", {})
        if not isinstance(literal, dict):
            raise self.fail("'params' must be a dictionary of dictionaries by name")
        most = MAX_PARAMS - len(kind.params)
        if len(literal) > most:
            raise self.fail(f"'params' has {len(literal)} names: at most {most} are allowed")
        own = tuple(self.param(name, value) for name, value in literal.items())
        return (*kind.params, *own, *(RANDOM_PARAMS if kind.name == "random" else ()))

    def param(self, name: str, literal: object) -> Param:
        keys = ("type", "brief", "default", "least", "most", "above", "below", "tries")
        if not isinstance(literal, dict):
            raise self.fail(f"parameter '{name}' must be a dictionary")
        for key in literal:
            if key not in keys:
                raise self.fail(f"parameter '{name}': unknown key '{key}': allowed are "
                                f"{', '.join(keys)}")
        for key in keys[:3]:
            if key not in literal:
                raise self.fail(f"parameter '{name}': key '{key}' is missing")
        if literal["type"] not in ("real", "double", "int", "bool"):
            raise self.fail(f"parameter '{name}': unknown type '{literal['type']}': allowed are "
                            "real, double, int, bool")
        ends = {key: self.number(name, key, literal[key]) for key in keys[3:7] if key in literal}
        tries = tuple(self.number(name, "tries", value) for value in literal.get("tries", ()))
        default = self.number(name, "default", literal["default"])
        return Param(name, literal["type"], str(literal["brief"]), default, **ends,
                     tries=tries or (default,))

    def number(self, name: str, key: str, value: object) -> float:
        """A number, or the text of one that is none: "inf", "-inf", "nan"."""
        if isinstance(value, (int, float)):
            return float(value)
        if value not in ("inf", "-inf", "nan"):
            raise self.fail(f"parameter '{name}': '{key}' is '{value}': must be a number, 'inf', "
                            "'-inf' or 'nan'")
        return float(str(value))

    def check_names(self, kind: Kind, args: tuple[str, ...], outputs: tuple[str, ...],
                    params: tuple[Param, ...]) -> None:
        """Operands and parameters are all variables of generated code."""
        names = [*args, *outputs, *(param.name for param in params)]
        own = [] if len(outputs) == 1 else list(outputs)
        taken = TAKEN_BESIDE_PLACES if kind.places else TAKEN if kind.family == "elementwise" else ()
        for name in [*(args if kind.args is None else ()), *own, *(p.name for p in params)]:
            if not NAME.fullmatch(name) or name in taken:
                raise self.fail(f"'{name}' cannot name an operand or a parameter: lower-case "
                                "letters, digits and _ are allowed, and no name of generated code")
        for name in names:
            if names.count(name) > 1:
                raise self.fail(f"'{name}' names two of the operands and parameters")

    def references(self, outputs: tuple[str, ...], key: str = "reference") -> dict[str, str]:
        """The reference of each output that has one."""
        given = self.literal.get(key, {})
        references = {outputs[0]: given} if isinstance(given, str) else given
        if not isinstance(references, dict) or not all(
                isinstance(text, str) for text in references.values()):
            raise self.fail(f"'{key}' must be a text, or a dictionary of texts by output")
        for name in references:
            if name not in outputs:
                raise self.fail(f"'{key}' of '{name}': outputs are {', '.join(outputs)}")
        return {name: text.strip() for name, text in references.items()}

    def dtypes(self, kind: Kind) -> tuple[str, ...]:
        chosen = self.dtype_set(str(self.get("dtypes", "FLOATS" if not kind.table else None)))
        return tuple(name for name in DTYPES if name in chosen)

    def dtype_set(self, text: str) -> set[str]:
        chosen: set[str] = set()
        for word in text.split("+"):
            if word in DTYPES:
                chosen.add(word)
            elif word in DTYPE_SETS:
                chosen.update(DTYPE_SETS[word])
            else:
                raise self.fail(f"unknown dtype '{word}': allowed are "
                                f"{', '.join([*DTYPE_SETS, *DTYPES])}")
        return chosen

    def lane(self, t: Dtype) -> Dtype | None:
        """What "lane" says of T; half types have float32's."""
        lanes = self.literal.get("lane", {})
        if not isinstance(lanes, dict) or not all(
                name in DTYPES for pair in lanes.items() for name in pair):
            raise self.fail("'lane' must be a dictionary of dtypes by dtype")
        return DTYPES[lanes[t.compute.name]] if t.compute.name in lanes else None

    def rule(self, text: str, t: Dtype) -> Dtype:
        if text not in DTYPE_RULES and text not in DTYPES:
            raise self.fail(f"unknown dtype rule '{text}': allowed are "
                            f"{', '.join([*DTYPE_RULES, *DTYPES])}")
        return dtype_by_rule(text, t)

    def loops(self, kind: Kind, dtypes: tuple[str, ...], ins: tuple[str, ...],
              outs: tuple[str, ...]) -> tuple[Loop, ...]:
        if kind.pairs:
            return tuple(Loop(DTYPES[a], (DTYPES[a],), (DTYPES[b],), DTYPES[a], True, kind.stored,
                              0) for a in dtypes for b in dtypes)
        acc = str(self.literal.get("acc", kind.acc))
        any_order = self.dtype_set(self.literal["any_order"]) if "any_order" in self.literal else ()
        made = []
        indices = [DTYPES["i32"], DTYPES["i64"]] if kind.indexed else [None]
        for t, index in ((DTYPES[name], index) for name in dtypes for index in indices):
            made.append(Loop(t, tuple(index or t if rule == "index" else self.rule(rule, t)
                                      for rule in ins),
                             tuple(self.rule(rule, t) for rule in outs),
                             self.rule(acc, t).compute, False, kind.stored, self.ulp(t),
                             self.lane(t), t.name in any_order, kind.own, self.words(t), index))
        return tuple(made)

    def words(self, t: Dtype) -> int:
        """How many random words an element of T takes: as many as it has, unless "words" says so."""
        words = self.literal.get("words", 2 if t.bits == 64 else 1)
        if words not in (1, 2):
            raise self.fail("'words' must be 1 or 2")
        return int(words)

    def ulp(self, t: Dtype) -> float:
        """The stated error; a half type's is float32's rounding error plus its own half."""
        ulp = self.literal.get("ulp", 0)
        if isinstance(ulp, dict):
            for key in ulp:
                if key not in DTYPES:
                    raise self.fail(f"unknown dtype '{key}' in 'ulp'")
            if t.group == "float" and t.bits == 16:
                return float(ulp.get(t.name, 0.51 if ulp.get("f32", 0) else 0))
            return float(ulp.get(t.name, -1 if t.group == "complex" else 0))
        return float(ulp)

    def check_blocks(self, kind: Kind) -> None:
        slots = [slot.name for slot in slots_of(kind, (), (), 1)]
        for slot in ("quick", "rare"):
            if "usual" in slots and any(b.startswith("usual") for b in self.blocks) != any(
                    b.startswith(slot) for b in self.blocks):
                raise self.fail("blocks 'usual', 'quick' and 'rare' go together")
        endings = {ending for dtype in DTYPES.values() for ending in dtype.blocks}
        allowed = {"doc"} | {slot + ending for slot in slots for ending in endings}
        for block, line in self.blocks.items():
            if block not in allowed:
                raise self.fail(f"unknown block '{block}': allowed are doc and "
                                f"{', '.join(slots)}, each also with a dtype's ending", line)


def slots_of(kind: Kind, args: tuple[str, ...], params: tuple[Param, ...],
             outputs: int, redraws: bool = False) -> tuple[Slot, ...]:
    """The slots of an operation of a kind; a random one may draw again."""
    if kind.slots is not None:
        return kind.slots
    if kind.family == "image":
        return image_slots(args)
    if kind.places:
        return place_slots(args, params)
    if kind.family == "random":
        return random_slots(args, params, redraws)
    if kind.family == "rowbackward":
        return rowbackward_slots(args, params)
    return elementwise_slots(args, params, outputs)


class BodyRenderer:
    """Renders the body blocks of operations and resolves what they call."""

    def __init__(self, env: jinja2.Environment, ops: dict[str, Op]) -> None:
        self.env, self.ops = env, ops

    def render(self, op: Op) -> Op:
        """The operation with its bodies and the names of the operations they call."""
        template = self.env.from_string(op.path.read_text(encoding="utf-8"))
        slots = slots_of(op.kind, op.args, op.params, len(op.outputs),
                         bool(op.meta.get("redraws")))
        bodies: dict[str, Body] = {}
        calls: set[str] = set()
        for loop in op.loops:
            for slot in slots:
                name = f"ek_{slot.name}_{op.name}_{loop.key}"
                if name in bodies or op.kind.name == "fill":
                    continue
                if slot.result == "lane" and not loop.lane:
                    continue
                if slot.name == "take4" and loop.ins[0].bits != 8:
                    continue
                text = self._text(op, template, slot, loop)
                if text is None:
                    if op.kind.table and not slot.optional:
                        raise TemplateError(f"{op.path}:1: block '{slot.name}' is missing for "
                                            f"dtype {loop.name}")
                    continue
                text = self._resolve(op, loop, text, calls)
                results = f"ek_results_{op.name}_{loop.key}"
                bodies[name] = Body(
                    name, results if slot.result == "results" else loop.c(slot.result),
                    tuple((arg, loop.c(which)) for arg, which in slot.args),
                    THEN.sub("", text), slot.result == "results" and ";" in text,
                    self._stages(op, slot, text))
        return replace(op, bodies=tuple(bodies.values()), calls=tuple(sorted(calls - {op.name})))

    def _text(self, op: Op, template: jinja2.Template, slot: Slot, loop: Loop) -> str | None:
        endings = loop.t.blocks
        block = next((slot.name + e for e in endings if slot.name + e in template.blocks), None)
        if block is None:
            return self._chosen(op, template, slot, loop) or slot.default
        t = loop.t if loop.stored else loop.t.compute
        values = {"T": t.c, "t": t.name, "R": t.real.c, "r": t.real.name, "A": loop.acc.c,
                  "a": loop.acc.name, "src": loop.ins[0] if loop.ins else loop.out,
                  "dst": loop.out, "op": op.meta, "skeleton": ""}
        try:
            text = "".join(template.blocks[block](template.new_context(values)))
        except jinja2.UndefinedError as error:
            raise TemplateError(f"{op.path}:1: block '{block}': {error.message}") from error
        lines = [line.rstrip() for line in textwrap.dedent(text.strip("\n")).split("\n")]
        return "\n".join(lines).strip()

    @staticmethod
    def _stages(op: Op, slot: Slot, text: str) -> tuple[Stage, ...]:
        """The parts of a body between the lines ek_then(...);"""
        if "ek_then" not in text:
            return ()
        if op.kind.family != "elementwise" or slot.name not in ("quick", "body"):
            raise TemplateError(f"{op.path}:1: ek_then in '{slot.name}': only 'quick' and 'body' of "
                                "elementwise operations have stages")
        if op.params or len(op.outputs) > 1:
            raise TemplateError(f"{op.path}:1: ek_then in '{slot.name}': operations with parameters "
                                "or several outputs have no stages")
        texts, given = THEN.split(text)[::2], THEN.findall(text)
        if any("ek_then" in part for part in texts):
            raise TemplateError(f"{op.path}:1: ek_then in '{slot.name}': must be a line of its own, "
                                "'ek_then(name, ...);'")
        names = [(), *(tuple(re.findall(r"\w+", line)) for line in given), ()]
        return tuple(Stage(part.strip("\n"), takes, gives)
                     for part, takes, gives in zip(texts, names, names[1:]))

    @staticmethod
    def _chosen(op: Op, template: jinja2.Template, slot: Slot, loop: Loop) -> str | None:
        """The body of an operation that says what is usual."""
        sees = ", ".join(arg for arg, _ in slot.args)
        if slot.name != "body" or not any("usual" + e in template.blocks for e in loop.t.blocks):
            return None
        quick, rare, usual = (f"ek_{name}_{op.name}_{loop.key}({sees})"
                              for name in ("quick", "rare", "usual"))
        return f"{usual} ? {quick} : {rare}"

    def _resolve(self, op: Op, loop: Loop, text: str, calls: set[str]) -> str:
        """Gives each ek_NAME( of a body the dtype of the loop: ek_body_NAME_f32(."""

        def put_dtype(match: re.Match[str]) -> str:
            name = match.group(1)
            if name in PRIMITIVES:
                return f"ek_body_{name}_{loop.t.compute.name}("
            if name == "then" or name.startswith(HELPERS):
                return match.group(0)
            if name.startswith("body_"):  # of the dtype that it names
                called = name[len("body_"):].rpartition("_")[0]
                calls.update({called} & self.ops.keys())
                return match.group(0)
            if name not in self.ops:
                raise TemplateError(f"{op.path}:1: body calls ek_{name}, which is no operation")
            calls.add(name)
            return f"ek_body_{name}_{self._operand(loop).compute.name}("

        return CALL.sub(put_dtype, text)

    @staticmethod
    def _operand(loop: Loop) -> Dtype:
        return loop.acc if loop.acc.name != loop.t.compute.name else loop.t
