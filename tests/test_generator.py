"""The generator: what it says of wrong templates, and that it writes the same bytes every time.

`python3 tests/test_generator.py --update` rewrites the golden outputs in tests/golden, whose change
then shows what a changed skeleton does to an operation of every kind."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"

GOOD = """{% extends skeleton %}
{% set op = {
  "kind": "unary",
  "brief": "twice x",
  "dtypes": "FLOATS",
} %}
{% block body %}x + x{% endblock %}
{% block doc %}Doubles.{% endblock %}
"""


def gen(*args: str | Path, seed: str = "0") -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ, PYTHONPATH=str(ROOT), PYTHONDONTWRITEBYTECODE="1",
                       PYTHONHASHSEED=seed)
    return subprocess.run([sys.executable, "-m", "gen", *map(str, args)], env=environment,
                          capture_output=True, text=True, check=False)


def outputs(folder: Path) -> dict[str, str]:
    """Every file below a folder, but for the stamps."""
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8")
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.parent.name != "stamp"}


def golden_text(out: Path, name: str) -> str:
    """What an operation's files hold, one after the other."""
    return "".join(f"==== {path}\n{text}" for path, text in outputs(out).items()
                   if Path(path).stem == name)


class GeneratorTest(unittest.TestCase):
    """A folder with the project's kinds and operations of the test's own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = Path(folder.name)
        self.templates = self.dir / "templates"
        (self.templates / "ops" / "unary").mkdir(parents=True)
        (self.templates / "kinds").symlink_to(ROOT / "templates" / "kinds")
        self.out = self.dir / "out"

    def write(self, text: str, name: str = "twice") -> Path:
        path = self.templates / "ops" / "unary" / f"{name}.j2"
        path.write_text(text, encoding="utf-8")
        return path

    def make(self, *args: str | Path) -> subprocess.CompletedProcess[str]:
        return gen("make", "--templates", self.templates, "--out", self.out, *args)

    def made(self) -> dict[str, str]:
        result = self.make()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return outputs(self.out)

    def refuse(self, text: str, line: int, message: str, name: str = "twice") -> None:
        """The template is refused with exactly this line, and nothing is written."""
        path = self.write(text, name)
        result = self.make()
        self.assertEqual(result.stderr, f"{path}:{line}: {message}\n")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertFalse((self.out / "ops.mk").exists())


class ErrorsTest(GeneratorTest):
    """Every message: the file, the line, what is wrong, what is allowed."""

    def test_syntax(self) -> None:
        self.refuse(GOOD.replace("x + x{% endblock %}", "x + x{% endblok %}"), 7,
                    "Encountered unknown tag 'endblok'. Jinja was looking for the following tags: "
                    "'endblock'. The innermost block that needs to be closed is 'block'.")

    def test_no_operation(self) -> None:
        self.refuse("{% extends skeleton %}\n", 1,
                    "no operation: '{% set op = {...} %}' must be there")

    def test_not_a_literal(self) -> None:
        self.refuse(GOOD.replace('"twice x"', "brief"), 2, "op is not a literal: only strings, "
                    "numbers, lists and dictionaries are allowed")

    def test_not_a_dictionary(self) -> None:
        self.refuse('{% extends skeleton %}\n{% set op = "unary" %}\n', 1,
                    "no operation: '{% set op = {...} %}' must be there")

    def test_no_skeleton(self) -> None:
        self.refuse(GOOD.replace("{% extends skeleton %}", ""), 1,
                    "'{% extends skeleton %}' is missing")

    def test_name(self) -> None:
        self.refuse(GOOD, 2, "'Twice' is no name: lower-case letters, digits and _ are allowed",
                    name="Twice")

    def test_missing_keys(self) -> None:
        for key in ("kind", "brief", "dtypes"):
            text = "\n".join("" if f'"{key}"' in line else line for line in GOOD.split("\n"))
            self.refuse(text, 2, f"key '{key}' is missing")

    def test_unknown_key(self) -> None:
        self.refuse(GOOD.replace('"brief"', '"color": "red", "brief"'), 2,
                    "unknown key 'color': allowed are bits, brief, cuda, domain, dtypes, edges, in, "
                    "kind, names, out, outputs, params, reference, reference_im, reference_int, "
                    "reference_re, reference_real, signless, ulp")

    def test_switches(self) -> None:
        for key in ("cuda", "signless"):
            self.refuse(GOOD.replace('"brief"', f'"{key}": 1, "brief"'), 2,
                        f"'{key}' must be True or False")

    def test_names(self) -> None:
        for names in ('"relu"', '{"numpy": "relu"}', '{"cupy": 1}'):
            self.refuse(GOOD.replace('"brief"', f'"names": {names}, "brief"'), 2,
                        "'names' must be a dictionary of texts by cupy, dfdx, thinc")

    def test_unknown_kind(self) -> None:
        self.refuse(GOOD.replace('"unary"', '"unari"'), 2,
                    "unknown kind 'unari': allowed are argreduction, binary, cast, comparison, "
                    "contraction, conv, conv_filters, convtrans, copy, elementwise, fill, function, gemm, grid, moments, norm, place, pool, "
                    "pool_bwd, random, reduction, row, rowbackward, rowreduction, scale, scale_bwd, scan, "
                    "ternary, unary")

    def test_unknown_dtype(self) -> None:
        self.refuse(GOOD.replace('"FLOATS"', '"FLOATS+f99"'), 2,
                    "unknown dtype 'f99': allowed are ALL, BOOL, INTS, SIGNED, UNSIGNED, FLOATS, "
                    "COMPLEX, REAL, NUMERIC, b8, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, "
                    "f32, f64, c64, c128")

    def test_unknown_dtype_rule(self) -> None:
        self.refuse(GOOD.replace('"brief"', '"out": "wide", "brief"'), 2,
                    "unknown dtype rule 'wide': allowed are T, real, sum, mean, size, double, order, "
                    "b8, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128")

    def test_ulp(self) -> None:
        self.refuse(GOOD.replace('"brief"', '"ulp": {"f23": 1}, "brief"'), 2,
                    "unknown dtype 'f23' in 'ulp'")
        for ulp in ('"small"', '{"f32": "1"}', "[1]"):
            self.refuse(GOOD.replace('"brief"', f'"ulp": {ulp}, "brief"'), 2,
                        "'ulp' must be a number, or a dictionary of numbers by dtype")

    def test_values(self) -> None:
        for key in ("kind", "brief", "dtypes", "domain", "bits", "out"):
            text = "\n".join("" if f'"{key}"' in line else line for line in GOOD.split("\n"))
            self.refuse(text.replace("{% set op = {", '{% set op = {"' + key + '": ["x"],'), 2,
                        f"'{key}' must be a text")
        self.refuse(GOOD.replace('"brief"', '"edges": "nan", "brief"'), 2,
                    "'edges' must be a list of texts")
        self.refuse(GOOD.replace('"brief"', '"edges": [1.5], "brief"'), 2,
                    "'edges' must be a list of texts")
        self.refuse(GOOD.replace('"brief"', '"edges": ["1.5", "pi"], "brief"'), 2,
                    "edge 'pi' is no number")
        self.refuse(GOOD.replace('"brief"', '"bits": "most", "brief"'), 2,
                    "unknown bits 'most': allowed are same, library")

    def test_sums(self) -> None:
        moments = GOOD.replace('"unary"', '"moments"').replace("body", "finish")
        self.refuse(moments, 2, "key 'sums' is missing")
        self.refuse(moments.replace('"dtypes"', '"sums": "cubes", "dtypes"'), 2,
                    "unknown sums 'cubes': allowed are spread, squares")

    def test_rows(self) -> None:
        row = GOOD.replace('"unary"', '"row"')
        self.refuse(row.replace('"brief"', '"first": "last", "brief"'), 2,
                    "unknown first 'last': allowed are nothing, max, sum")
        self.refuse(row.replace('"brief"', '"uses": "y", "brief"'), 2,
                    "unknown uses 'y': allowed are x, term")
        self.refuse(GOOD.replace('"unary"', '"norm"').replace('"brief"',
                                                            '"args": ["x", "bias"], "brief"'), 2,
                    "'args' is ['x', 'bias']: must be the first ones of ['x', 'gain', 'bias']")

    def test_missing_doc(self) -> None:
        self.refuse(GOOD.replace("{% block doc %}Doubles.{% endblock %}", ""), 2,
                    "block 'doc' is missing")

    def test_unknown_block(self) -> None:
        self.refuse(GOOD.replace("block body", "block code"), 7,
                    "unknown block 'code': allowed are doc and usual, quick, rare, body, each also "
                    "with a dtype's ending")

    def test_usual_alone(self) -> None:
        self.refuse(GOOD.replace("block body", "block usual"), 2,
                    "blocks 'usual', 'quick' and 'rare' go together")

    def test_missing_body(self) -> None:
        self.refuse(GOOD.replace("block body", "block body_f64"), 1,
                    "block 'body' is missing for dtype f16")

    def test_unknown_call(self) -> None:
        self.refuse(GOOD.replace("x + x{%", "ek_thrice(x){%"), 1,
                    "body calls ek_thrice, which is no operation")

    def test_then(self) -> None:
        staged = GOOD.replace("x + x{%", "\n${T} a = x + x;\nek_then(a);\nreturn a;\n{%")
        self.refuse(staged.replace("ek_then(a)", "ek_then(a + 1)"), 1,
                    "ek_then in 'body': must be a line of its own, 'ek_then(name, ...);'")
        self.refuse(staged.replace('"unary"', '"function"').replace(
            '"brief"', '"args": ["x"], "brief"'), 1,
                    "ek_then in 'body': only 'quick' and 'body' of elementwise operations have stages")
        param = '"params": {"p": {"type": "real", "default": 1, "brief": "x"}}'
        self.refuse(staged.replace('"brief"', f'{param}, "brief"'), 1,
                    "ek_then in 'body': operations with parameters or several outputs have no stages")

    def test_undefined_value(self) -> None:
        self.refuse(GOOD.replace("x + x{%", "x + ${two}{%"), 1,
                    "block 'body': 'two' is undefined")
        path = self.write(GOOD.replace("Doubles.", "Doubles ${much}."))
        result = self.make()
        self.assertEqual(result.stderr, f"{path}:1: page.md: 'much' is undefined\n")
        self.assertEqual(result.returncode, 1)

    def test_arguments(self) -> None:
        ternary = GOOD.replace('"unary"', '"ternary"').replace("x + x{%", "x + y + z{%")
        self.refuse(ternary, 2, "key 'args' is missing")
        self.refuse(ternary.replace('"brief"', '"args": "x", "brief"'), 2,
                    "'args' must be a list of texts")
        self.refuse(ternary.replace('"brief"', '"args": ["a", "b", "c", "d", "e", "f", "g"], "brief"'),
                    2, "'args' has 7 names: at most 6 are allowed")
        self.refuse(ternary.replace('"brief"', '"args": ["x", "y", "x"], "brief"'), 2,
                    "'x' names two of the operands and parameters")
        self.refuse(ternary.replace('"brief"', '"args": ["x", "y", "data"], "brief"'), 2,
                    "'data' cannot name an operand or a parameter: lower-case letters, digits and _ "
                    "are allowed, and no name of generated code")
        self.refuse(ternary.replace('"brief"', '"args": ["x", "y", "z"], "in": ["T"], "brief"'), 2,
                    "'in' has 1 dtypes: must be one for each of ['x', 'y', 'z']")

    def test_outputs(self) -> None:
        def refuse(outputs: str, message: str) -> None:
            self.refuse(GOOD.replace('"brief"', f'"outputs": {outputs}, "brief"'), 2, message)

        refuse('["a", "b"]', "'outputs' must be a dictionary of dtypes by name")
        refuse("{}", "'outputs' has 0 names: must be 1 to 4")
        refuse('{"a": "T", "b": "T", "c": "T", "d": "T", "e": "T"}',
               "'outputs' has 5 names: must be 1 to 4")
        refuse('{"a": "T", "x": "T"}', "'x' names two of the operands and parameters")
        refuse('{"a": "T"}, "out": "T"',
               "'out' and 'outputs' are both there: one of them says what comes out")
        refuse('{"a": "T", "b": "T"}, "reference": {"c": "mpfr_set(r, x, MPFR_RNDN);"}',
               "'reference' of 'c': outputs are a, b")
        refuse('{"a": "T", "b": "T"}, "reference": 1',
               "'reference' must be a text, or a dictionary of texts by output")

    def test_params(self) -> None:
        def refuse(param: str, message: str) -> None:
            self.refuse(GOOD.replace('"brief": "twice x"',
                                     f'"params": {{"a": {param}}}, "brief": "x"'), 2, message)

        good = '"type": "real", "brief": "a", "default": 1'
        refuse("1", "parameter 'a' must be a dictionary")
        refuse('{"type": "real", "brief": "a"}', "parameter 'a': key 'default' is missing")
        refuse("{" + good + ', "low": 1}', "parameter 'a': unknown key 'low': allowed are type, "
               "brief, default, least, most, above, below, tries")
        refuse("{" + good.replace("real", "float") + "}",
               "parameter 'a': unknown type 'float': allowed are real, double, int, bool")
        refuse("{" + good.replace("1", '"one"') + "}", "parameter 'a': 'default' is 'one': must be a "
               "number, 'inf', '-inf' or 'nan'")
        refuse("{" + good + '}, "x": {' + good + "}",
               "'x' names two of the operands and parameters")
        refuse("{" + good + '}, "step": {' + good + "}", "'step' cannot name an operand or a "
               "parameter: lower-case letters, digits and _ are allowed, and no name of generated "
               "code")
        self.refuse(GOOD.replace('"brief"', '"params": ["a"], "brief"'), 2,
                    "'params' must be a dictionary of dictionaries by name")

    def test_defined_twice(self) -> None:
        first = self.write(GOOD)
        second = self.templates / "ops" / "zz" / "twice.j2"
        second.parent.mkdir()
        second.write_text(GOOD, encoding="utf-8")
        result = self.make()
        self.assertEqual(result.stderr,
                         f"{second}:1: operation 'twice' is defined twice, also in {first}\n")
        self.assertEqual(result.returncode, 1)

    def test_unknown_operation_to_render(self) -> None:
        self.write(GOOD)
        result = gen("render", "thrice", "--templates", self.templates, "--out", self.out)
        self.assertEqual((result.returncode, result.stderr), (1, "no operation 'thrice'\n"))


class OutputTest(GeneratorTest):
    """What is written, and when."""

    def test_same_bytes_every_time(self) -> None:
        first, second = self.dir / "first", self.dir / "second"
        for out, seed in ((first, "1"), (second, "2")):
            result = gen("make", "--templates", ROOT / "templates", "--out", out, seed=seed)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(outputs(first), outputs(second))
        self.assertGreater(len(outputs(first)), 100)

    def test_check_command(self) -> None:
        result = gen("check", "--templates", ROOT / "templates")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_list_command(self) -> None:
        self.write(GOOD)
        result = gen("list", "--templates", self.templates)
        self.assertEqual(result.stdout.split(), ["twice", "unary", "twice", "x"])
        self.assertFalse(self.out.exists())

    def test_names_no_folder_and_no_date(self) -> None:
        self.write(GOOD)
        for name, text in self.made().items():
            self.assertNotIn(str(self.dir), text, name)

    def test_comment_changes_nothing_but_the_stamp(self) -> None:
        path = self.write(GOOD)
        before = self.made()
        times = {name: (self.out / name).stat().st_mtime_ns for name in before}
        stamp = self.out / "stamp" / "twice"
        os.utime(stamp, (1, 1))
        path.write_text(GOOD.replace("{% block body", "<# why #>\n{% block body"),
                        encoding="utf-8")
        self.assertEqual(self.made(), before)
        self.assertGreater(stamp.stat().st_mtime, 1)
        for name, time in times.items():
            if name != "ops.mk":  # make waits for it
                self.assertEqual((self.out / name).stat().st_mtime_ns, time, name)

    def test_add_and_delete(self) -> None:
        self.write(GOOD)
        before = self.made()
        other = self.write(GOOD.replace("twice x", "x again"), "again")
        added = self.made()
        new = {name for name in added if Path(name).stem == "again"}
        self.assertTrue({"include/einkorn/ops/again.h", "cpu/again.c", "row/again.c"} <= new)
        self.assertEqual(set(added) - new, set(before))
        self.assertIn("ek_op_again", added["table.c"])
        self.assertIn("again", added["ops.mk"])
        self.assertIn("einkorn/ops/again.h", added["include/einkorn/ops.h"])
        other.unlink()
        self.assertEqual(self.made(), before)

    def test_operation_from_another_folder(self) -> None:
        self.write(GOOD)
        mine = self.dir / "mine"
        mine.mkdir()
        (mine / "thrice.j2").write_text(
            GOOD.replace("x + x{%", "ek_twice(x) + x{%").replace("twice x", "3 x"),
            encoding="utf-8")
        result = self.make("--ops", mine)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        made = outputs(self.out)
        self.assertIn('#include "body/twice.h"', made["body/thrice.h"])
        self.assertIn("ek_body_twice_f64(x) + x", made["body/thrice.h"])
        self.assertIn(f"generated/stamp/thrice: {mine}/thrice.j2", made["ops.mk"])
        self.assertIn("generated/stamp/twice: $(srcdir)/templates/ops/unary/twice.j2",
                      made["ops.mk"])
        for name in ("row/thrice.c", "cpu/thrice.c"):
            self.assertNotIn(str(self.dir), made[name])

    def test_without_cuda(self) -> None:
        self.write(GOOD)
        with_cuda = self.made()
        self.write(GOOD.replace('"brief"', '"cuda": False, "brief"'))
        for path in (self.out / "cuda").glob("*"):
            path.unlink()
        made = self.made()
        self.assertEqual(set(with_cuda) - set(made), {"cuda/twice.c", "cuda/twice.cu"})
        self.assertNotIn("EK_NO_CUDA", with_cuda["row/twice.c"])
        self.assertLess(made["row/twice.c"].index("#define EK_NO_CUDA 1"),
                        made["row/twice.c"].index("#include"))
        self.assertIn("cuda/twice.o", with_cuda["ops.mk"])
        self.assertNotIn("cuda/twice.o", made["ops.mk"])

    def test_half_types_share_a_body(self) -> None:
        self.write(GOOD)
        body = self.made()["body/twice.h"]
        self.assertEqual(body.count("EK_BODY float ek_body_twice_f32(float x)"), 1)
        self.assertEqual(body.count("EK_BODY "), 2)

    def test_generated_text_is_tidy(self) -> None:
        result = gen("make", "--templates", ROOT / "templates", "--out", self.out)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for name, text in outputs(self.out).items():
            if name.endswith((".c", ".h", ".cu")):
                self.assertNotIn("\n\n\n", text, name)
                self.assertNotIn(" \n", text, name)
                self.assertNotIn("\t", text, name)
                self.assertTrue(text.endswith("\n") and not text.endswith("\n\n"), name)
                self.assertIn("do not edit", text, name)


class FewTest(GeneratorTest):
    """--few: operations that stand for all."""

    def few(self, *options: str) -> set[str]:
        code = self.dir / "tests"
        code.mkdir(exist_ok=True)
        (code / "named.c").write_text(
            '#include "einkorn/ops/named.h"\nconst char *name = "quoted"; /* comment */\n',
            encoding="utf-8")
        result = self.make("--few", self.dir, *options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return {path.stem for path in (self.out / "body").glob("*.h")}

    def test_one_of_those_alike(self) -> None:
        for name in ("again", "once", "twice"):
            self.write(GOOD, name)
        self.assertEqual(self.few(), {"again"})
        table = (self.out / "table.c").read_text(encoding="utf-8")
        self.assertIn("ek_op_again", table)
        self.assertNotIn("ek_op_twice", table)
        self.assertEqual(self.few("--also", "twice"), {"twice"})

    def test_also_of_an_unknown_name(self) -> None:
        self.write(GOOD, "again")
        result = self.make("--few", self.dir, "--also", "nothing")
        self.assertIn("--also nothing: no such operation", result.stderr)

    def test_every_dtype_and_choice(self) -> None:
        self.write(GOOD, "again")
        self.write(GOOD.replace("FLOATS", "REAL"), "more")
        self.write(GOOD.replace("FLOATS", "FLOATS+INTS"), "none_new")
        self.write(GOOD.replace('"brief"', '"cuda": False, "brief"'), "off")
        self.write(GOOD.replace('"brief"', '"out": "b8", "brief"'), "test")
        self.write(GOOD.replace("{% block body %}x + x{% endblock %}",
                                "{% block usual %}x < 1{% endblock %}"
                                "{% block quick %}x{% endblock %}"
                                "{% block rare %}x + x{% endblock %}"), "usual")
        self.assertEqual(self.few(), {"again", "more", "off", "test", "usual"})

    def test_what_code_names_and_calls(self) -> None:
        for name in ("again", "called", "comment", "quoted"):
            self.write(GOOD, name)
        self.write(GOOD.replace("x + x{%", "ek_called(x){%"), "named")
        self.assertEqual(self.few(), {"called", "named", "quoted"})


class GoldenTest(GeneratorTest):
    """One toy operation of every family of kinds."""

    def test_golden(self) -> None:
        result = gen("make", "--templates", self.templates, "--ops", GOLDEN / "ops", "--out",
                     self.out)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        names = sorted(path.stem for path in (GOLDEN / "ops").glob("*.j2"))
        self.assertTrue(names)
        for name in names:
            with self.subTest(name):
                golden = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
                self.assertEqual(golden_text(self.out, name).splitlines(), golden.splitlines(),
                                 "if this is meant: python3 tests/test_generator.py --update")


def update() -> None:
    with tempfile.TemporaryDirectory() as folder:
        templates, out = Path(folder) / "templates", Path(folder) / "out"
        (templates / "ops").mkdir(parents=True)
        (templates / "kinds").symlink_to(ROOT / "templates" / "kinds")
        result = gen("make", "--templates", templates, "--ops", GOLDEN / "ops", "--out", out)
        sys.stderr.write(result.stderr)
        for path in sorted((GOLDEN / "ops").glob("*.j2")):
            (GOLDEN / f"{path.stem}.txt").write_text(golden_text(out, path.stem), encoding="utf-8")



def main() -> int:
    if sys.argv[1:] == ["--update"]:
        update()
        return 0
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    result = unittest.TextTestRunner(stream=sys.stdout).run(suite)
    failed = len(result.failures) + len(result.errors)
    skipped = len(result.skipped)
    print(f"ek-counts: {result.testsRun - failed - skipped} {failed} {skipped}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
