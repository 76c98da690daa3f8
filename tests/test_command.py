"""Runs the built `einkorn` command: what it prints, reads, writes and refuses.

Needs the standard library only; tests that compare with NumPy are skipped where it is missing. The
environment variable EINKORN names the program (default: ./einkorn)."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy
except ImportError:
    numpy = None

EINKORN = os.environ.get("EINKORN", "./einkorn")
SOURCE = Path(__file__).parents[1]

# dtype: what .npy calls it, the format of one number for struct, numbers in an element.
DTYPES = {
    "b8": ("|b1", "B", 1), "i8": ("|i1", "b", 1), "i16": ("<i2", "h", 1), "i32": ("<i4", "i", 1),
    "i64": ("<i8", "q", 1), "u8": ("|u1", "B", 1), "u16": ("<u2", "H", 1), "u32": ("<u4", "I", 1),
    "u64": ("<u8", "Q", 1), "f16": ("<f2", "e", 1), "bf16": ("<V2", "H", 1),
    "f32": ("<f4", "f", 1), "f64": ("<f8", "d", 1), "c64": ("<c8", "f", 2),
    "c128": ("<c16", "d", 2),
}


def npy(descr: str, shape: tuple[int, ...], data: bytes, fortran: bool = False,
        version: int = 1, header: str | None = None) -> bytes:
    """A .npy file; `header` replaces the dictionary."""
    text = header if header is not None else repr(
        {"descr": descr, "fortran_order": fortran, "shape": shape})
    size = 10 if version == 1 else 12
    text += " " * (-(size + len(text) + 1) % 64) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode() + data


def parse(file: bytes) -> tuple[str, tuple[int, ...], bytes]:
    """descr, shape and data of a file that the command wrote."""
    assert file[:8] == b"\x93NUMPY\x01\x00"
    length = struct.unpack("<H", file[8:10])[0]
    assert (10 + length) % 64 == 0
    header = eval(file[10:10 + length].decode(), {"__builtins__": {}})
    assert header["fortran_order"] is False
    return header["descr"], header["shape"], file[10 + length:]


class CommandTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = Path(folder.name)

    def command(self, *words: object, status: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([EINKORN, *map(str, words)], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, status, f"{words}: {done.stderr}")
        if status:
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertTrue(done.stderr.startswith("einkorn"), done.stderr)
        return done

    def write(self, name: str, data: bytes) -> Path:
        path = self.dir / name
        path.write_bytes(data)
        return path

    def refuse(self, *words: object, says: str) -> None:
        """The command fails with a line that holds `says`, and leaves no output behind."""
        out = self.dir / "refused.npy"
        before = sorted(self.dir.iterdir())
        done = self.command(*words, "-o", out, status=1)
        self.assertIn(says, done.stderr)
        self.assertEqual(sorted(self.dir.iterdir()), before)


class Coverage(CommandTest):
    @unittest.skipIf("EK_FEW_OPS" in os.environ, "this build has few operations")
    def test_names_exist(self) -> None:
        """What docs/coverage.tsv says covers a primitive is in the table or in the headers."""
        done = subprocess.run([sys.executable, SOURCE / "tools/coverage.py", EINKORN,
                               SOURCE / "include"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


class Listings(CommandTest):
    def test_help(self) -> None:
        self.assertIn("usage", self.command("--help").stdout)
        for name in ("info", "ops", "run", "verify", "bench"):
            self.assertIn(f"usage: einkorn {name}", self.command(name, "--help").stdout)
            self.assertEqual(self.command(name, "-h").stderr, "")

    def test_misuse(self) -> None:
        self.command(status=2)
        self.command("fly", status=2)
        for name in ("info", "ops", "run", "verify", "bench"):
            self.assertIn("--wrong", self.command(name, "--wrong", status=2).stderr)
        self.command("info", "more", status=2)
        self.command("run", "-o", status=2)
        self.command("run", "add", status=2)
        self.command("run", "-o", "x.npy", status=2)
        self.command("bench", "--sizes", "many", status=2)
        self.command("bench", "--threads", "0", status=2)
        self.command("bench", "gemm", "--sizes", "2^62", status=1)

    def test_info(self) -> None:
        info = json.loads(self.command("info", "--json").stdout)
        self.assertEqual(set(info) & {"version", "build", "devices", "variants", "threads"},
                         {"version", "build", "devices", "variants", "threads"})
        self.assertEqual(info["devices"][0]["name"], "cpu")
        self.assertIn("base", info["variants"])
        self.assertGreaterEqual(info["threads"], 1)
        if not info["build"]["blas"]:
            self.assertNotIn("library", info["gemm"])
        self.assertEqual(info["gemm"]["used"], "refusal" not in info["gemm"])
        self.assertEqual(info["options"], {"host_to_device": False, "fallback": False,
                                           "sync_each_call": False})
        self.assertIn(info["version"], self.command("--version").stdout)
        self.assertIn("variants", self.command("info").stdout)

    def test_ops(self) -> None:
        ops = json.loads(self.command("ops", "--json").stdout)["ops"]
        keys = {"name", "kind", "brief", "dtypes", "variants", "ulp", "bits"}
        names = [op["name"] for op in ops]
        self.assertEqual(names, sorted(names))
        for op in ops:
            self.assertEqual(keys & set(op), keys)
            self.assertIn(op["bits"], ("same", "library"))
            self.assertEqual(list(op["ulp"]), op["dtypes"])
            self.assertLessEqual(set(op["dtypes"]), set(DTYPES))
        one = json.loads(self.command("ops", "add", "--json").stdout)["ops"]
        self.assertEqual(one, [op for op in ops if op["name"] == "add"])
        self.assertIn("sum of x and y", self.command("ops", "add").stdout)
        self.assertEqual(self.command("ops").stdout.count("\n"), len(ops) + 1)
        self.assertIn("'nothing'", self.command("ops", "nothing", status=1).stderr)

    def test_verify(self) -> None:
        found = json.loads(self.command("verify", "add", "where", "sum", "--json").stdout)
        keys = {"op", "dtype", "variant", "device", "compared", "differing", "max_ulp",
                "worst_input"}
        self.assertEqual(found["failed"], 0)
        for row in found["rows"]:
            self.assertEqual(keys & set(row), keys)
            self.assertEqual(row["differing"], 0)
            self.assertGreater(row["compared"], 0)
        table = self.command("verify", "sqrt", "--dtype", "f32").stdout
        self.assertIn("0 failed", table)
        self.command("verify", "nothing", status=1)
        self.command("verify", "--dtype", "f31", status=1)
        self.command("verify", "add", "--device", "abacus", status=1)

    def test_bench(self) -> None:
        words = ("bench", "add", "sum", "--sizes", "16,2^12", "--min-time", "1", "--threads", "1")
        found = json.loads(self.command(*words, "--json").stdout)
        self.assertEqual(set(found) & {"machine", "limits", "rows"}, {"machine", "limits", "rows"})
        keys = {"op", "dtype", "device", "variant", "shape", "threads", "ns", "gbps", "share",
                "call"}
        for row in found["rows"]:
            self.assertEqual(keys & set(row), keys)
            self.assertGreater(row["ns"], 0)
        self.assertEqual({row["call"] for row in found["rows"]}, {"typed", "array"})
        self.assertEqual({tuple(row["shape"]) for row in found["rows"]}, {(16,), (4096,)})
        products = json.loads(self.command("bench", "gemm_exact", "--sizes", "32", "--min-time",
                                           "1", "--json").stdout)
        self.assertIn("gflops", products["rows"][0])
        self.assertIn("OPERATION", self.command(*words).stdout)

    def test_bench_cases(self) -> None:
        """Layouts one by one, and what is wrong with a line."""
        lines = {
            "add f32 64x32 1x32 goal=0.5": ["64x32", "1x32"],
            "copy f64 8x16:transposed": ["8x16:transposed"],
            "copy u8 4x6x8:permuted=2,0,1:flipped=0": ["4x6x8:permuted=2,0,1:flipped=0"],
            "exp f32 1000:offset=1": ["1000:offset=1"],
            "exp f32 100x20:every=3:first=2 cache=cold": ["100x20:every=3:first=2"],
            "sum f32 100x10 axes=0 threads=1": None,
            "fill i16 100": None,
            "gemm_exact f32 16": None,
        }
        path = self.dir / "cases.txt"
        with open(path, "w", encoding="utf-8") as file:
            file.write("# layouts\n\n" + "\n".join(lines) + "\n")
        words = ("bench", "--cases", path, "--min-time", "1")
        rows = json.loads(self.command(*words, "--json").stdout)["rows"]
        self.assertEqual([row.get("inputs") for row in rows], list(lines.values()))
        self.assertEqual(rows[0]["goal"], 0.5)
        self.assertEqual(rows[0]["arithmetic"], 1)
        self.assertEqual(rows[1]["shape"], [16, 8])
        self.assertEqual(rows[2]["shape"], [8, 4, 6])
        self.assertEqual((rows[4]["shape"], rows[4]["cache"]), ([100, 2], "cold"))
        self.assertIn("4x6x8:permuted=2,0,1", self.command(*words).stdout)
        for bad in ("add", "nothing f32 8", "add f99 8", "add f32 8 8 8", "add f32 0x8",
                    "copy f32 8x8:twisted", "copy f32 8x8:permuted=1,1", "copy f32 8:transposed",
                    "copy f32 8x8:first=9", "copy f32 8x8:flipped=2", "add f32 8 cache=warm",
                    "add f32 8 threads=0", "add f32 8 goal=0", "add f32 8 goal=1x", "sum f32 8 order=1",
                    "add f32 1x1x1x1x1",
                    "add f32 4294967296x4294967296", "gemm_exact f32 8 8"):
            with self.subTest(bad), open(path, "w", encoding="utf-8") as file:
                file.write(bad + "\n")
                file.flush()
                self.assertIn(":1: ", self.command(*words, status=1).stderr)


class Run(CommandTest):
    def values(self, dtype: str) -> tuple[int, ...] | tuple[float, ...]:
        numbers = (0, 1, 2, 3, 100, 1, 0, 7)[:4 * DTYPES[dtype][2]]
        if dtype == "b8":
            return tuple(min(x, 1) for x in numbers)
        return numbers

    def data(self, dtype: str, order: str = "<") -> bytes:
        values = self.values(dtype)
        return struct.pack(f"{order}{len(values)}{DTYPES[dtype][1]}", *values)

    def run_op(self, *words: object) -> tuple[str, tuple[int, ...], bytes]:
        out = self.dir / "out.npy"
        done = self.command("run", *words, "-o", out)
        self.assertEqual(done.stdout + done.stderr, "")
        return parse(out.read_bytes())

    def test_every_dtype_and_version(self) -> None:
        for dtype, (descr, _, _) in DTYPES.items():
            for version in (1, 2, 3):
                path = self.write("in.npy", npy(descr, (2, 2), self.data(dtype), version=version))
                with self.subTest(dtype=dtype, version=version):
                    self.assertEqual(self.run_op("copy", path),
                                     (descr, (2, 2), self.data(dtype)))

    def test_other_byte_order(self) -> None:
        for dtype, (descr, _, _) in DTYPES.items():
            path = self.write("in.npy", npy(">" + descr[1:], (4,), self.data(dtype, ">")))
            with self.subTest(dtype=dtype):
                self.assertEqual(self.run_op("copy", path), (descr, (4,), self.data(dtype)))

    def test_params_and_outputs(self) -> None:
        path = self.write("in.npy", npy("<f4", (4,), struct.pack("<4f", -3, 0.5, 2, 6)))
        self.assertEqual(self.run_op("clamp", "-p", "min=-1", "-p", "max=2.5", path),
                         ("<f4", (4,), struct.pack("<4f", -1, 0.5, 2, 2.5)))
        mantissa, exponent = self.dir / "mantissa.npy", self.dir / "exponent.npy"
        self.command("run", "frexp", path, "-o", mantissa, "-o", exponent)
        self.assertEqual(parse(mantissa.read_bytes()),
                         ("<f4", (4,), struct.pack("<4f", -0.75, 0.5, 0.5, 0.75)))
        self.assertEqual(parse(exponent.read_bytes()), ("<i4", (4,), struct.pack("<4i", 2, 0, 2, 3)))
        self.refuse("run", "frexp", path, says="1 output files given: it has 2 outputs")
        self.refuse("run", "isclose", "-p", "rtol=-1", path, path,
                    says="ek_isclose: rtol is -1: must be 0 or larger")
        whole = self.write("whole.npy", npy("<i4", (2,), struct.pack("<2i", 1, 2)))
        self.refuse("run", "add_scalar", "-p", "s=0.5", whole,
                    says="ek_add_scalar: s is 0.5: must be a number that i32 holds")

    def test_bfloat16_by_name(self) -> None:
        path = self.write("in.npy", npy("bfloat16", (4,), self.data("bf16")))
        self.assertEqual(self.run_op("copy", path), ("<V2", (4,), self.data("bf16")))

    def test_fortran_order(self) -> None:
        data = struct.pack("<6i", 1, 2, 3, 4, 5, 6)
        path = self.write("in.npy", npy("<i4", (2, 3), data, fortran=True))
        self.assertEqual(self.run_op("copy", path),
                         ("<i4", (2, 3), struct.pack("<6i", 1, 3, 5, 2, 4, 6)))

    def test_shapes(self) -> None:
        for shape, count in (((), 1), ((0,), 0), ((3, 0, 2), 0), ((1,) * 32, 1), ((1, 2, 1, 3), 6)):
            for fortran in (False, True):
                data = struct.pack(f"<{count}d", *range(count))
                path = self.write("in.npy", npy("<f8", shape, data, fortran=fortran))
                with self.subTest(shape=shape, fortran=fortran):
                    descr, got, _ = self.run_op("copy", path)
                    self.assertEqual((descr, got), ("<f8", shape))

    def test_other_headers(self) -> None:
        for header in ("{'shape':(2,),'fortran_order':False,'descr':'<f4'}",
                       '{"descr": "=f4", "fortran_order": False, "shape": (2L,), }',
                       "{'descr': 'f4', 'fortran_order': False, 'shape': (1, 2, ), }"):
            path = self.write("in.npy", npy("", (), struct.pack("<2f", 1, 2), header=header))
            with self.subTest(header=header):
                self.assertEqual(self.run_op("copy", path)[2], struct.pack("<2f", 1, 2))

    def test_two_inputs_broadcast(self) -> None:
        x = self.write("x.npy", npy("<f4", (2, 1), struct.pack("<2f", 1, 2)))
        y = self.write("y.npy", npy("<f4", (3,), struct.pack("<3f", 10, 20, 30)))
        self.assertEqual(self.run_op("add", x, y),
                         ("<f4", (2, 3), struct.pack("<6f", 11, 21, 31, 12, 22, 32)))
        c = self.write("c.npy", npy("|b1", (3,), b"\x01\x00\x01"))
        self.assertEqual(self.run_op("where", c, x, y)[2],
                         struct.pack("<6f", 1, 20, 1, 2, 20, 2))

    def test_conversion(self) -> None:
        x = self.write("x.npy", npy("<i4", (3,), struct.pack("<3i", 1, 4, 9)))
        self.assertEqual(self.run_op("sqrt", "--dtype", "f64", x),
                         ("<f8", (3,), struct.pack("<3d", 1, 2, 3)))
        self.assertEqual(self.run_op("cast", "--dtype", "c64", x),
                         ("<c8", (3,), struct.pack("<6f", 1, 0, 4, 0, 9, 0)))
        c = self.write("c.npy", npy("<i4", (3,), struct.pack("<3i", 0, 5, 0)))
        self.assertEqual(self.run_op("where", "--dtype", "f32", c, x, c),
                         ("<f4", (3,), struct.pack("<3f", 0, 4, 0)))
        self.refuse("run", "cast", x, says="--dtype")
        self.refuse("run", "sqrt", x, says="i32")
        self.refuse("run", "sqrt", "--dtype", "i32", x, says="i32")
        self.refuse("run", "sqrt", "--dtype", "real", x, says="'real'")

    def test_parameters(self) -> None:
        x = self.write("x.npy", npy("<f8", (2, 3), struct.pack("<6d", 1, 2, 3, 4, 5, 6)))
        self.assertEqual(self.run_op("sum", "-p", "axes=0", x),
                         ("<f8", (3,), struct.pack("<3d", 5, 7, 9)))
        self.assertEqual(self.run_op("sum", "-p", "axes=0,1", "-p", "keepdims=1", x),
                         ("<f8", (1, 1), struct.pack("<d", 21)))
        self.assertEqual(self.run_op("fill", "-p", "value=2.5", "-p", "shape=2", "-t", "f16"),
                         ("<f2", (2,), struct.pack("<2e", 2.5, 2.5)))
        y = self.write("y.npy", npy("<f8", (3, 2), struct.pack("<6d", 1, 0, 0, 1, 1, 1)))
        self.assertEqual(self.run_op("gemm_exact", "-p", "alpha=2", x, y)[2],
                         struct.pack("<4d", 8, 10, 20, 22))
        self.refuse("run", "sum", "-p", "axis=0", x, says="'axis'")
        self.refuse("run", "sum", "-p", "axes", x, says="NAME=VALUE")
        self.refuse("run", "sum", "-p", "axes=0;1", x, says="'0;1'")
        self.refuse("run", "sum", "-p", "axes=7", x, says="7")
        self.refuse("run", "sum", "-p", "keepdims=maybe", x, says="'maybe'")
        self.refuse("run", "gemm_exact", "-p", "alpha=two", x, y, says="'two'")
        self.refuse("run", "gemm_exact", "-p", "transa=2", x, y, says="'2'")
        self.refuse("run", "sum", "-p", "keepdims=1", "-p", "keepdims=0", x, says="twice")
        self.refuse("run", "add", "-p", "alpha=1", x, x, says="it has none")

    def test_refusals(self) -> None:
        x = self.write("x.npy", npy("<f4", (2,), struct.pack("<2f", 1, 2)))
        y = self.write("y.npy", npy("<f4", (3,), struct.pack("<3f", 1, 2, 3)))
        self.refuse("run", "subtract", x, x, says="'subtract'")
        self.refuse("run", "add", x, says="2 inputs")
        self.refuse("run", "add", x, x, x, says="2 inputs")
        self.refuse("run", "add", x, y, says="(3,)")
        self.refuse("run", "copy", self.dir / "missing.npy", says="missing.npy")
        self.refuse("run", "copy", "--device", "cuda:99", x, says="cuda")
        self.refuse("run", "copy", "--device", "tpu", x, says="'tpu'")
        self.refuse("run", "copy", "--cpu", "avx1024", x, says="'avx1024'")
        self.refuse("run", "copy", "--threads", "none", x, says="'none'")
        self.command("run", "copy", x, "-o", self.dir / "no" / "folder.npy", status=1)

    def test_output_is_replaced_whole(self) -> None:
        out = self.write("out.npy", b"precious")
        bad = self.write("bad.npy", b"\x93NUMPY")
        self.command("run", "copy", bad, "-o", out, status=1)
        self.assertEqual(out.read_bytes(), b"precious")
        good = npy("<f4", (1,), struct.pack("<f", 1))
        link = self.dir / "link.npy"
        link.symlink_to(out)
        self.command("run", "copy", self.write("good.npy", good), "-o", link)
        self.assertTrue(link.is_symlink())
        self.assertEqual(parse(out.read_bytes())[1], (1,))
        self.command("run", "copy", self.dir / "good.npy", "-o", "/dev/null")
        self.assertTrue(Path("/dev/null").is_char_device())

    def test_variants_agree(self) -> None:
        data = struct.pack("<1000f", *(0.01 * i - 5 for i in range(1000)))
        x = self.write("x.npy", npy("<f4", (1000,), data))
        variants = json.loads(self.command("info", "--json").stdout)["variants"]
        results = {self.run_op("exp", "--cpu", variant, x)
                   for variant in variants if variant != "cuda"}
        self.assertEqual(len(results), 1)


class BadFiles(CommandTest):
    def test_truncated_anywhere(self) -> None:
        whole = npy("<i2", (3,), struct.pack("<3h", 1, 2, 3))
        for length in range(len(whole)):
            path = self.write("cut.npy", whole[:length])
            with self.subTest(length=length):
                self.refuse("run", "copy", path, says="cut.npy: ")

    def test_trailing_bytes(self) -> None:
        path = self.write("long.npy", npy("<i2", (1,), b"\0\0\0"))
        self.refuse("run", "copy", path, says="data: the file goes on")

    def test_headers(self) -> None:
        good = {"descr": "'<f4'", "fortran_order": "False", "shape": "(1,)"}

        def header(**changes: str) -> str:
            return "{" + ", ".join(f"'{key}': {text}" for key, text in
                                   {**good, **changes}.items()) + "}"

        cases = {
            header(descr="'<f16'"): "descr is '<f16'",
            header(descr="'<U4'"): "descr is '<U4'",
            header(descr="'|O'"): "descr is '|O'",
            header(descr="''"): "descr is ''",
            header(descr="[('a', '<f4')]"): "descr is a list",
            header(descr="'" + "f" * 100 + "'"): "too long",
            header(descr="4"): "descr expected",
            "{'descr': '<f4": "a string has no end",
            header(fortran_order="1"): "fortran_order",
            header(fortran_order="'False'"): "fortran_order",
            header(shape="1"): "'(' of shape",
            header(shape="(1)"): "must be a tuple",
            header(shape="(-1,)"): "length of shape",
            header(shape="(1.5,)"): "of shape",
            header(shape="(1 1)"): "of shape",
            header(shape="(,)"): "length of shape",
            header(shape="(9223372036854775808,)"): "2^63",
            header(shape="(9223372036854775807,)"): "2^63",
            header(shape="(4294967296, 4294967296, 4)"): "2^63",
            header(shape="(99999999999999999999999999,)"): "2^63",
            header(shape="(1000000000000,)"): "the file ends after 4 of",
            header(shape="(" + "1, " * 33 + ")"): "more than 32",
            header(extra="1"): "unknown key 'extra'",
            header() + header(): "nothing more",
            header()[:-1]: "expected",
            header().replace("'shape': (1,)", ""): "'shape' is missing",
            header()[:-1] + ", 'descr': '<f4'}": "twice",
            "": "'{' expected",
            "{}": "'descr' is missing",
            "[]": "'{' expected",
        }
        for text, says in cases.items():
            path = self.write("bad.npy", npy("", (), b"\0\0\0\0", header=text))
            with self.subTest(header=text):
                self.refuse("run", "copy", path, says=says)

    def test_preambles(self) -> None:
        for data, says in ((b"", "the file ends"), (b"not a file", "magic"),
                           (b"\x93NUMPY\x04\x00\x10\x00", "version is 4.0"),
                           (b"\x93NUMPY\x01\x01\x10\x00", "version is 1.1"),
                           (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "header length is 4294967295")):
            with self.subTest(data=data):
                self.refuse("run", "copy", self.write("bad.npy", data), says=says)


@unittest.skipUnless(numpy, "NumPy is not installed")
class WithNumpy(CommandTest):
    def test_against_numpy(self) -> None:
        random = numpy.random.default_rng(1)
        x = random.standard_normal((37, 20)).astype("f4")
        y = numpy.asfortranarray(random.standard_normal((37, 20)).astype(">f4"))
        numpy.save(self.dir / "x.npy", x)
        numpy.save(self.dir / "y.npy", y)
        self.command("run", "add", self.dir / "x.npy", self.dir / "y.npy", "-o",
                     self.dir / "out.npy")
        out = numpy.load(self.dir / "out.npy")
        self.assertEqual(out.dtype, numpy.dtype("f4"))
        self.assertTrue((out == x + y).all())

    def test_every_dtype(self) -> None:
        for dtype, (descr, _, _) in DTYPES.items():
            if dtype == "bf16":
                continue
            for order in "CF":
                x = numpy.arange(24).reshape(2, 3, 4).astype(descr, order=order)
                numpy.save(self.dir / "x.npy", x)
                self.command("run", "copy", self.dir / "x.npy", "-o", self.dir / "out.npy")
                out = numpy.load(self.dir / "out.npy")
                with self.subTest(dtype=dtype, order=order):
                    self.assertEqual(out.dtype, x.dtype)
                    self.assertTrue(numpy.array_equal(out, x))


def main() -> int:
    """Runs the tests and prints the line that all test programs end with."""
    result = unittest.main(exit=False).result
    failed, skipped = len(result.failures) + len(result.errors), len(result.skipped)
    print(f"ek-counts: {max(result.testsRun - failed - skipped, 0)} {failed} {skipped}")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
