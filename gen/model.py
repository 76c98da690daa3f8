"""The data the generator works on: dtypes, kinds, operations."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path


@dataclass(frozen=True)
class Dtype:
    """An element type: its name, its C type in memory and the dtype bodies compute in."""

    name: str
    c: str
    group: str  # bool, int, float, complex
    bits: int
    signed: bool = True
    compute_name: str = ""
    real_name: str = ""

    @property
    def enum(self) -> str:
        return "EK_" + self.name.upper()

    @property
    def place(self) -> tuple[int, int]:
        """Size and alignment in memory, in bits."""
        return (self.bits, self.real.bits)

    @property
    def signless(self) -> tuple[str, int]:
        """What a dtype is if the sign of integers does not matter."""
        return (self.group if self.group == "int" else self.name, self.bits)

    @property
    def compute(self) -> Dtype:
        return DTYPES[self.compute_name or self.name]

    @property
    def real(self) -> Dtype:
        return DTYPES[self.real_name or self.name]

    @property
    def is_half(self) -> bool:
        return self.group == "float" and self.bits == 16

    @property
    def fits_f32(self) -> bool:
        """True if float32 holds every value, or every real part, exactly."""
        real = self.real
        return real.group == "bool" or real.bits <= (16 if real.group == "int" else 32)

    @property
    def lowest(self) -> str:
        """The lowest finite number of a floating dtype that bodies compute in, in C."""
        return {"f32": "-0x1.fffffep+127f", "f64": "-0x1.fffffffffffffp+1023"}[self.name]

    @property
    def blocks(self) -> tuple[str, ...]:
        """The endings a block for this dtype may have, most specific first."""
        if self.group == "bool":
            return ("_b8", "")
        if self.group == "int":
            return ("_" + self.name, "_signed" if self.signed else "_unsigned", "_int", "")
        return ("_" + self.compute.name, "_" + self.group, "")


def _dtypes() -> dict[str, Dtype]:
    rows = [Dtype("b8", "ek_b8", "bool", 8, signed=False)]
    rows += [Dtype(f"i{bits}", f"int{bits}_t", "int", bits) for bits in (8, 16, 32, 64)]
    rows += [Dtype(f"u{bits}", f"uint{bits}_t", "int", bits, signed=False)
             for bits in (8, 16, 32, 64)]
    rows += [
        Dtype("f16", "ek_f16", "float", 16, compute_name="f32"),
        Dtype("bf16", "ek_bf16", "float", 16, compute_name="f32"),
        Dtype("f32", "float", "float", 32),
        Dtype("f64", "double", "float", 64),
        Dtype("c64", "ek_c64", "complex", 64, real_name="f32"),
        Dtype("c128", "ek_c128", "complex", 128, real_name="f64"),
    ]
    return {row.name: row for row in rows}


DTYPES = _dtypes()


def _named_sets() -> dict[str, tuple[str, ...]]:
    def of(*groups: str) -> tuple[str, ...]:
        return tuple(d.name for d in DTYPES.values() if d.group in groups)

    return {
        "ALL": of("bool", "int", "float", "complex"),
        "BOOL": of("bool"),
        "INTS": of("int"),
        "SIGNED": tuple(n for n in of("int") if DTYPES[n].signed),
        "UNSIGNED": tuple(n for n in of("int") if not DTYPES[n].signed),
        "FLOATS": of("float"),
        "COMPLEX": of("complex"),
        "REAL": of("int", "float"),
        "NUMERIC": of("int", "float", "complex"),
    }


DTYPE_SETS = _named_sets()

# How an operand's dtype follows from the T of a loop, beside "T" itself and plain dtype names.
DTYPE_RULES = ("T", "real", "sum", "mean", "size", "double", "order")


def dtype_by_rule(rule: str, t: Dtype) -> Dtype:
    """The dtype that `rule` gives for T: real part, NumPy's sum or mean dtype, the real part of the
    latter, double precision, an integer of at least 32 bits that holds T's order, or a fixed
    one."""
    if rule == "T":
        return t
    if rule == "real":
        return t.real
    if rule == "sum":
        if t.group in ("bool", "int"):
            return DTYPES["i64" if t.signed or t.group == "bool" else "u64"]
        return t
    if rule == "mean":
        return DTYPES["f64"] if t.group in ("bool", "int") else t
    if rule == "size":
        return dtype_by_rule("mean", t).real
    if rule == "double":
        return DTYPES["c128" if t.group == "complex" else "f64"]
    if rule == "order":
        bits = max(t.compute.bits, 32)
        return DTYPES[("u" if t.group == "int" and not t.signed else "i") + str(bits)]
    return DTYPES[rule]


@dataclass(frozen=True)
class Param:
    """A scalar parameter: a real number, which has the type of the loop, or is a double in every
    loop; an integer (int); or a truth value (bool)."""

    name: str
    type: str
    brief: str
    default: float
    least: float | None = None  # what it may be, ends included
    most: float | None = None
    above: float | None = None  # the same without the ends
    below: float | None = None
    tries: tuple[float, ...] = ()  # what tests use

    @property
    def allowed(self) -> str:
        """What it may be, in words; empty: anything."""
        low = {"least": self.least, "above": self.above}
        high = {"most": self.most, "below": self.below}
        words = {"least": "{} or larger", "above": "larger than {}", "most": "{} or smaller",
                 "below": "smaller than {}"}
        if self.least is not None and self.most is not None:
            return f"{plain(self.least)} to {plain(self.most)}"
        return " and ".join(words[key].format(plain(value))
                            for key, value in [*low.items(), *high.items()] if value is not None)

    @property
    def ends(self) -> tuple[str, str]:
        """The smallest and the largest number it may be, in C."""
        low = -math.inf if self.least is None else self.least
        high = math.inf if self.most is None else self.most
        if self.above is not None:
            low = math.nextafter(self.above, math.inf)
        if self.below is not None:
            high = math.nextafter(self.below, -math.inf)
        return (number(low), number(high))

    @property
    def brief_and_default(self) -> str:
        """What a row says of it."""
        return f"{self.brief}; default {plain(self.default)}"

    @property
    def standard(self) -> str:
        """The default, in C."""
        return number(self.default)

    def c(self, loop: Loop) -> str:
        """Its type in typed calls and bodies."""
        if self.type == "real":
            return loop.t.compute.real.c if loop.t.group in ("float", "complex") else loop.t.c
        return {"double": "double", "int": "int64_t", "bool": "bool"}[self.type]

    def slot_type(self) -> str:
        """Its type as slots name them."""
        return {"real": "real", "double": "double", "int": "int64_t", "bool": "bool"}[self.type]

    @property
    def array_c(self) -> str:
        """Its type in array calls."""
        return {"real": "double", "double": "double", "int": "int64_t", "bool": "bool"}[self.type]

    @property
    def array_field(self) -> str:
        """The member of an ek_scalar that holds it on the way from an array call."""
        return "f64" if self.type in ("real", "double") else "i64"

    def field(self, loop: Loop) -> str:
        """The member of an ek_scalar that holds it in a loop."""
        if self.type == "real" and loop.t.group in ("float", "complex"):
            return loop.t.compute.real.name
        return "f64" if self.type == "double" else "i64"


def number(value: float) -> str:
    """A number in C: what is finite as exactly as it is."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return str(int(value)) if value == int(value) and abs(value) < 2**31 else repr(value)


def plain(value: float) -> str:
    """A number in words."""
    return number(value).lower()


@dataclass(frozen=True)
class Slot:
    """A piece of code an operation gives its kind: a block, the arguments it sees, its result.

    Types are "in0", "in1", ..., "out", "acc", "lane" (the loop's dtypes), "real" (a parameter's),
    "word" (random bits), "results" (all outputs') or a C type."""

    name: str
    args: tuple[tuple[str, str], ...]
    result: str
    default: str | None = None
    optional: bool = False  # an operation, or a dtype of it, may do without


def _count(name: str, brief: str, default: int, least: int, *tries: int) -> Param:
    """A parameter that counts elements."""
    return Param(name, "int", brief, default, least=least, tries=tries)


# How windows lie over an image: src/window.c takes them in this order.
POOL_PARAMS = (
    _count("kernel_y", "rows of a window", 2, 1, 2, 3, 1),
    _count("kernel_x", "columns of a window", 2, 1, 2, 3, 4),
    _count("stride_y", "rows from one window to the next", 2, 1, 2, 1, 3),
    _count("stride_x", "columns from one window to the next", 2, 1, 2, 1, 2),
    _count("padding_y", "rows added above and below the image", 0, 0, 0, 1, 0),
    _count("padding_x", "columns added on its left and on its right", 0, 0, 0, 1, 2),
    _count("dilation", "steps in the image from one element of a window to the next", 1, 1, 1, 2),
)

# How filters lie over an image: src/conv.c takes them in this order.
CONV_PARAMS = (
    _count("stride_y", "rows from one place of the filters to the next", 1, 1),
    _count("stride_x", "columns from one place of the filters to the next", 1, 1),
    _count("padding_y", "rows of zeros above and below the image", 0, 0),
    _count("padding_x", "columns of zeros on its left and on its right", 0, 0),
    _count("dilation", "steps in the image from one element of a filter to the next", 1, 1),
    _count("groups", "into which channels and filters are divided, each by itself", 1, 1),
)

# The size of the larger, or of the restored, image.
SCALE_PARAMS = (
    _count("to_height", "rows of the result; 0: {}", 0, 0, 0, 7),
    _count("to_width", "columns of the result; 0: {}", 0, 0, 0, 11),
)


def _scaled(what: str) -> tuple[Param, ...]:
    return tuple(replace(param, brief=param.brief.format(what)) for param in SCALE_PARAMS)


@dataclass(frozen=True)
class Kind:
    """A kind of operation: which skeletons render it and what an operation of it must say."""

    name: str
    family: str  # the folder of skeletons in templates/kinds
    args: tuple[str, ...] | None = None  # None: the operation names them
    most_args: tuple[str, ...] | None = None  # of which the operation names the first ones
    ins: tuple[str, ...] | None = None  # dtype rules of the inputs; None: T for each
    out: str = "T"
    acc: str = "T"
    slots: tuple[Slot, ...] | None = None  # None: one slot "body" from the inputs to the output
    pairs: bool = False  # a loop for every pair of dtypes
    stored: bool = False  # bodies see elements as memory holds them
    own: bool = False  # half types have bodies of their own, which compute in float32 all the same
    per_row: bool = False  # rows: one result each
    keys: frozenset[str] = field(default_factory=frozenset)  # keys beside the common ones
    params: tuple[Param, ...] = ()  # of all its operations, before their own
    like: str = ""  # the family whose skeletons serve where this one has none
    table: bool = True  # has a row in the ops table
    array_call: bool = True  # has a generated array call
    moves: bool = False  # its output is its input, byte for byte: no kernels for the CPU, and on
    # CUDA one for all dtypes of a size
    places: bool = False  # bodies see where an element is: i and j, its last two indices


# Where combining takes much more than one instruction, quick may do for usual elements: the result
# of a chunk counts if trusted(result, sum of the elements) holds.
def _quick_slots(dtype: str) -> tuple[Slot, ...]:
    return (Slot("quick", (("a", dtype), ("b", dtype)), dtype, optional=True),
            Slot("trusted", (("a", dtype), ("total", dtype)), "bool", optional=True))


def elementwise_slots(args: tuple[str, ...], params: tuple[Param, ...],
                      outputs: int) -> tuple[Slot, ...]:
    """An element's result is its body, which sees the inputs and the parameters. An operation may
    say in place of it how usual arguments are done quickly and how all others are:
    usual(x) ? quick(x) : rare(x). quick is then also tried on arguments that are not usual, and its
    result thrown away. The results of several outputs are a struct."""
    ins = (*((arg, f"in{i}") for i, arg in enumerate(args)),
           *((param.name, param.slot_type()) for param in params))
    out = "out" if outputs == 1 else "results"
    return (Slot("usual", ins, "bool", optional=True), Slot("quick", ins, out, optional=True),
            Slot("rare", ins, out, optional=True), Slot("body", ins, out))


def place_slots(args: tuple[str, ...], params: tuple[Param, ...]) -> tuple[Slot, ...]:
    """An element's result is its body, which sees the element's last two indices, the inputs and
    the parameters."""
    body = elementwise_slots(args, params, 1)[-1]
    return (replace(body, args=(("i", "int64_t"), ("j", "int64_t"), *body.args)),)


# What every random operation has behind its own parameters: which numbers it draws.
RANDOM_PARAMS = (
    Param("seed", "int", "which sequence of random bits", 0, tries=(0, 1, -3)),
    Param("offset", "int", "the place of the first element in it", 0, least=0, tries=(0, 5, 1024)),
)


def random_slots(args: tuple[str, ...], params: tuple[Param, ...],
                 redraws: bool) -> tuple[Slot, ...]:
    """A random element's result is a body of the inputs, a word of random bits and the operation's
    own parameters. A body that draws again also sees the seed and the place of its element."""
    again = (("seed", "int64_t"), ("place", "uint64_t")) if redraws else ()
    own = params[:len(params) - len(RANDOM_PARAMS)]
    return (Slot("body", (*((arg, f"in{i}") for i, arg in enumerate(args)), ("word", "word"), *again,
                          *((param.name, param.slot_type()) for param in own)), "out"),)


def rowbackward_slots(args: tuple[str, ...], params: tuple[Param, ...]) -> tuple[Slot, ...]:
    """Of each row the center(sum of first, n), if there is one; up to three sums of terms, which see
    the center; of those, factors; and of the factors each element's result. All are numbers of the
    type that the loop computes in."""
    ins = tuple((arg, f"in{i}") for i, arg in enumerate(args))
    own = tuple((param.name, param.slot_type()) for param in params)
    sums = tuple((f"sum{i}", "in0") for i in range(ROW_SUMS))
    terms = (Slot(f"term{i}", (*ins, ("center", "in0")), "in0", optional=True)
             for i in range(ROW_SUMS))
    factors = (Slot(f"factor{i}", (("center", "in0"), *sums, ("n", "int64_t"), *own), "in0",
                    optional=True) for i in range(ROW_SUMS))
    seen = tuple((f"factor{i}", "in0") for i in range(ROW_SUMS))
    return (Slot("first", ins, "in0", optional=True),
            Slot("center", (("sum", "in0"), ("n", "int64_t")), "in0", optional=True),
            *terms, *factors, Slot("result", (*ins, ("center", "in0"), *seen), "out"))


ROW_SUMS = 3


# A reduction's result is finish(combine of map(x) over all elements, n).
REDUCE_SLOTS = (
    Slot("identity", (), "acc"),
    Slot("map", (("x", "in0"),), "acc", default="x"),
    Slot("combine", (("a", "acc"), ("b", "acc")), "acc"),
    Slot("take", (("a", "lane"), ("x", "in0")), "lane", optional=True),  # where "lane" names one
    # The same for the four bytes of a word, on GPUs.
    Slot("take4", (("a", "lane"), ("word", "uint32_t")), "lane", optional=True),
    *_quick_slots("acc"),
    Slot("finish", (("a", "acc"), ("n", "int64_t")), "out", default="a"),
)

# Of an argreduction map(x) is what is compared.
ARG_REDUCE_SLOTS = (
    Slot("identity", (), "acc"),  # a value that comes before none
    Slot("map", (("x", "in0"),), "acc", default="x"),
    Slot("before", (("a", "acc"), ("b", "acc")), "bool"),
    *_quick_slots("acc"),  # of two values, the one that comes first
    Slot("first", (), "acc", optional=True),  # a value that none comes before, if it is usual
)

# What moments add up is said by "sums": "spread" for elements and their squares about a center,
# "squares" for squares; src/moments.h has both. finish sees the variance or the root of the sum.
MOMENTS_SLOTS = (Slot("finish", (("a", "double"),), "double", default="a"),)

SUMS = ("spread", "squares")

# Rows are looked at chunk by chunk, so that one reading is enough: of each chunk `first` (a key of the
# literal: nothing, the maximum or the sum of its elements), the center(first, n) of it, and the sum of
# term(x, center). moved(sum, from, to, n) is what the sum of n terms becomes for another center: the
# row's. rest is a number for each row; result one for each element, or, if the kind says so, for each
# row. Results that look at the term of their element (`uses`) get it for the center of its chunk, and
# rest moved likewise. Where results look at no element, near may be the term for finite centers: a
# function of x - center. For an infinite center it gets that distance, 0 for what is equal, and 0.
ROW_SLOTS = (
    Slot("center", (("a", "in0"), ("n", "int64_t")), "in0", default="a"),
    Slot("term", (("x", "in0"), ("center", "in0")), "in0"),
    Slot("near", (("x", "in0"), ("center", "in0")), "in0", optional=True),
    Slot("moved", (("sum", "in0"), ("from", "in0"), ("to", "in0"), ("n", "int64_t")), "in0",
         default="sum"),
    Slot("rest", (("sum", "in0"), ("n", "int64_t"), ("eps", "in0")), "in0", default="sum"),
    Slot("result", (("x", "in0"), ("term", "in0"), ("center", "in0"), ("rest", "in0"),
                    ("gain", "in0"), ("bias", "in0")), "out"),
)

# A scan's result i is finish(combine of map(x) over the elements up to i).
SCAN_SLOTS = (
    Slot("map", (("x", "in0"),), "acc", default="x"),
    Slot("combine", (("a", "acc"), ("b", "acc")), "acc"),
    Slot("finish", (("a", "acc"),), "out", default="a"),
)

# A pool's result is finish(take of the window's elements one after the other, n): a is what those
# before x came to, n how many a window has.
POOL_SLOTS = (
    Slot("identity", (), "acc"),
    Slot("take", (("a", "acc"), ("x", "in0")), "acc"),
    Slot("finish", (("a", "acc"), ("n", "int64_t")), "out", default="a"),
)


def image_slots(args: tuple[str, ...]) -> tuple[Slot, ...]:
    """An element of an image, in row y and column x, from planes of the inputs."""
    views = ((arg, f"view{i}") for i, arg in enumerate(args))
    return (Slot("element", (("window", "const ek_window *"), *views, ("row", "int64_t"),
                             ("column", "int64_t")), "compute"),)


ELEMENTWISE_KEYS = frozenset({"in", "out", "outputs", "params"})

KINDS = {
    kind.name: kind
    for kind in (
        Kind("function", "function", table=False, keys=frozenset({"args"})),
        Kind("unary", "elementwise", args=("x",), keys=ELEMENTWISE_KEYS),
        Kind("binary", "elementwise", args=("x", "y"), keys=ELEMENTWISE_KEYS),
        Kind("ternary", "elementwise", keys=ELEMENTWISE_KEYS | {"args"}),
        Kind("elementwise", "elementwise", keys=ELEMENTWISE_KEYS | {"args"}),
        Kind("comparison", "elementwise", args=("x", "y"), out="b8", keys=frozenset({"params"})),
        Kind("cast", "elementwise", args=("x",), pairs=True, stored=True),
        Kind("copy", "elementwise", args=("x",), stored=True, array_call=False,
             moves=True),
        Kind("fill", "fill", args=(), moves=True),
        Kind("grid", "grid", args=(), keys=frozenset({"params"}), places=True),
        Kind("place", "grid", args=("x",), keys=frozenset({"params"}), stored=True, moves=True,
             places=True),
        Kind("reduction", "reduction", args=("x",), slots=REDUCE_SLOTS,
             keys=frozenset({"out", "acc", "lane", "any_order", "empty"})),
        Kind("moments", "moments", args=("x",), out="size", acc="double", slots=MOMENTS_SLOTS,
             keys=frozenset({"sums"}), like="reduction"),
        Kind("argreduction", "argreduction", args=("x",), out="i64", slots=ARG_REDUCE_SLOTS,
             keys=frozenset({"acc"})),
        Kind("row", "row", args=("x",), slots=ROW_SLOTS, keys=frozenset({"first", "uses"})),
        Kind("norm", "row", most_args=("x", "gain", "bias"), slots=ROW_SLOTS,
             keys=frozenset({"args", "first", "uses"})),
        Kind("rowreduction", "row", args=("x",), slots=ROW_SLOTS, keys=frozenset({"first"}),
             per_row=True),
        Kind("scan", "scan", args=("x",), slots=SCAN_SLOTS, keys=frozenset({"out", "acc"})),
        Kind("pool", "pool", args=("x",), slots=POOL_SLOTS, params=POOL_PARAMS, like="image"),
        Kind("pool_bwd", "image", stored=True, params=POOL_PARAMS,
             keys=frozenset({"args", "outputs", "params"})),
        Kind("scale", "image", args=("x",), stored=True,
             params=_scaled("twice as many as x has")),
        Kind("scale_bwd", "image", args=("dy",), stored=True,
             params=_scaled("half as many as dy has, rounded up"), keys=frozenset({"outputs"})),
        Kind("rowbackward", "rowbackward", keys=frozenset({"args", "params"})),
        Kind("random", "random", most_args=("x",), own=True, like="elementwise",
             keys=frozenset({"args", "params", "words", "redraws"})),
        Kind("conv", "conv", args=("x", "filters"), slots=(), params=CONV_PARAMS,
             keys=frozenset({"library"})),
        Kind("convtrans", "conv", args=("x", "filters"), slots=(), params=CONV_PARAMS,
             keys=frozenset({"library"})),
        Kind("conv_filters", "conv", args=("x", "dy"), slots=(), params=CONV_PARAMS,
             keys=frozenset({"library", "outputs"})),
        Kind("gemm", "gemm", args=("a", "b"), slots=(), keys=frozenset({"library"})),
    )
}


@dataclass(frozen=True)
class Loop:
    """One combination of dtypes: what memory holds and what the body computes in."""

    t: Dtype  # the T of the rules
    ins: tuple[Dtype, ...]
    outs: tuple[Dtype, ...]
    acc: Dtype
    pairs: bool
    stored: bool
    ulp: float
    lane: Dtype | None = None  # holds what EK_LANES elements of a chunk at a time come to
    any_order: bool = False  # a chunk's elements combine in any order to the same bits
    own: bool = False  # the body is this dtype's alone
    words: int = 1  # of 32 random bits that an element takes

    @property
    def name(self) -> str:
        """The dtype in names: "f32", or "f32_f16" for a cast."""
        return f"{self.ins[0].name}_{self.out.name}" if self.pairs else self.t.name

    @property
    def out(self) -> Dtype:
        """The dtype of the only output, or of the first one."""
        return self.outs[0]

    @property
    def key(self) -> str:
        """The name of the body: half types share float32's unless it sees them as stored, or they
        have their own."""
        return self.name if self.stored or self.own else self.t.compute.name

    @property
    def converts(self) -> bool:
        """True for a cast between f32 and another dtype."""
        return self.pairs and "f32" in (self.ins[0].name, self.out.name)

    def dtype(self, which: str) -> Dtype:
        """The dtype behind a slot's type name, as stored."""
        return {"out": self.out, "acc": self.acc}.get(which) or self.ins[int(which[2:])]

    def c(self, which: str) -> str:
        """The C type a body sees for a slot's type name."""
        if which == "lane":
            return f"ek_lane_{self.lane.name}" if self.lane else ""
        if which.startswith("view"):
            return f"ek_view_{self.ins[int(which[4:])].name}"
        if which == "compute":
            return self.out.compute.c
        if which == "real":  # as Param.c
            return self.t.compute.real.c if self.t.group in ("float", "complex") else self.t.c
        if which == "word":
            return f"uint{32 * self.words}_t"
        if which not in ("out", "acc") and not (which[:2] == "in" and which[2:].isdigit()):
            return which
        dtype = self.dtype(which)
        return dtype.c if self.stored else dtype.compute.c


@dataclass(frozen=True)
class Stage:
    """A part of a body that CPU kernels run over a block before they begin the next part."""

    text: str
    takes: tuple[str, ...]  # what the stage before gave
    gives: tuple[str, ...]  # nothing: it returns the result


@dataclass(frozen=True)
class Body:
    """A body function, ready to print: `ek_body_<op>_<key>`, or `ek_<slot>_<op>_<key>`."""

    name: str
    result: str
    args: tuple[tuple[str, str], ...]  # name, C type
    text: str  # an expression if it has no semicolon, else statements
    sets: bool = False  # statements that set the members of `out`, a struct of results
    stages: tuple[Stage, ...] = ()  # the same text in parts, if the template says where to part it


@dataclass(frozen=True)
class Op:
    """An operation as its template states it, checked."""

    name: str
    kind: Kind
    path: Path
    brief: str
    args: tuple[str, ...]
    outputs: tuple[str, ...]
    params: tuple[Param, ...]
    dtypes: tuple[str, ...]
    loops: tuple[Loop, ...]
    edges: tuple[str, ...]
    references: dict[str, dict[str, str]]  # by key of the literal, by output
    domain: str
    meta: dict[str, object]
    bodies: tuple[Body, ...] = ()
    calls: tuple[str, ...] = ()  # other operations whose bodies this one calls
    known_as: tuple[tuple[str, str], ...] = ()  # other libraries and what they call it

    def has(self, slot: str, loop: Loop) -> bool:
        """True if the operation has this optional slot for the loop's dtype."""
        return any(b.name == f"ek_{slot}_{self.name}_{loop.key}" for b in self.bodies)

    @property
    def has_cuda(self) -> bool:
        """True unless the template says that it has no CUDA variant."""
        return bool(self.meta.get("cuda", True))

    @property
    def tries(self) -> list[list[str]]:
        """Sets of values that tests give the parameters: of each the next one, from the front again
        where there is none."""
        most = max((len(param.tries) for param in self.params), default=0)
        return [[number(param.tries[i % len(param.tries)]) for param in self.params]
                for i in range(most)]

    @property
    def has_integers(self) -> bool:
        """True if some loop computes in integers."""
        return any(loop.t.group in ("bool", "int") for loop in self.loops)

    @property
    def has_quick(self) -> bool:
        """True if some loop has a quick way for usual arguments."""
        return any(self.has("usual", loop) for loop in self.loops)

    @property
    def called_early(self) -> list[Body]:
        """Bodies that one before them calls: another dtype's."""
        return [late for i, late in enumerate(self.bodies)
                if any(f"{late.name}(" in early.text for early in self.bodies[:i])]

    def main(self, loop: Loop) -> Body | None:
        """What CPU kernels run over a block of usual elements; None if the operation has no bodies."""
        names = [f"ek_{slot}_{self.name}_{loop.key}" for slot in ("quick", "body")]
        return next((b for name in names for b in self.bodies if b.name == name), None)

    def in_blocks(self, loop: Loop) -> bool:
        """True if CPU kernels run this loop block by block."""
        main = self.main(loop)
        return main is not None and bool(main.stages or self.has("usual", loop))

    def widened(self, loop: Loop) -> Loop | None:
        """The loop with f32 for the half types, if these only are converted on the way in and out.

        A cast does more where float32 does not hold every value of its other side, and nothing at
        all between equal types."""
        if self.kind.moves or not any(d.is_half for d in (*loop.ins, *loop.outs)):
            return None
        if loop.pairs and (loop.ins[0] == loop.out or not loop.ins[0].fits_f32):
            return None

        def wide(dtypes: tuple[Dtype, ...]) -> tuple[Dtype, ...]:
            return tuple(DTYPES["f32"] if d.is_half else d for d in dtypes)

        wanted = wide((*loop.ins, *loop.outs))
        return next((other for other in self.loops if (*other.ins, *other.outs) == wanted), None)

    @property
    def wide_loops(self) -> list[Loop]:
        """The loops that loops with half types run between conversions."""
        wide = [self.widened(loop) for loop in self.loops if not loop.converts]
        return [loop for loop in self.loops if loop in wide]

    def kernel(self, loop: Loop) -> Loop:
        """The loop whose CUDA kernels serve this one: the first that does the same to bits."""

        def bits(loop: Loop) -> object:
            if self.kind.moves:
                return loop.out.place
            return tuple(dtype.signless for dtype in (*loop.ins, *loop.outs))

        if not self.kind.moves and not self.meta.get("signless"):
            return loop
        return next(other for other in self.loops if bits(other) == bits(loop))

    @property
    def kernels(self) -> tuple[Loop, ...]:
        """The loops that have CUDA kernels of their own."""
        return tuple(loop for loop in self.loops if self.kernel(loop) == loop)

    def copies(self, loop: Loop, slot: str) -> bool:
        """True if the slot of one argument gives it as it is, as memory holds it."""
        body = next(b for b in self.bodies if b.name == f"ek_{slot}_{self.name}_{loop.key}")
        ends = {"map": (loop.ins[0], loop.acc), "finish": (loop.acc, loop.out)}[slot]
        return body.text == body.args[0][0] and ends[0] == ends[1]
