"""A roofline as SVG: how fast work can go that does so many operations for each byte it moves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from xml.sax.saxutils import escape

from chart import DARK, LIGHT, STYLE, STYLE_DARK

# Pixels.
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, DOT = 860, 470, 64, 24, 64, 52, 4
KINDS = ("large arrays", "cached arrays", "products")


@dataclass(frozen=True)
class Roof:
    """The machine's limits; None: not measured."""

    peak: float | None  # GFLOP/s of the fastest product of matrices
    memory: float | None  # GB/s
    cache: float | None


@dataclass(frozen=True)
class Dot:
    label: str
    intensity: float  # operations a byte
    rate: float  # of them, in GFLOP/s
    kind: str  # one of KINDS


@dataclass(frozen=True)
class Axes:
    """Logarithmic, whole powers of two at the ends of x and of ten at the ends of y."""

    x_low: int
    x_high: int
    y_low: int
    y_high: int

    @staticmethod
    def of(roof: Roof, dots: list[Dot]) -> Axes:
        xs = [math.log2(dot.intensity) for dot in dots] or [0.0]
        ys = [math.log10(value) for value in
              [*(dot.rate for dot in dots), roof.peak or 1.0, roof.memory or 1.0] if value > 0]
        return Axes(math.floor(min(xs)) - 1, math.ceil(max(xs)) + 1,
                    math.floor(min(ys)), math.ceil(max(ys)))

    def x(self, intensity: float) -> float:
        part = (math.log2(intensity) - self.x_low) / (self.x_high - self.x_low)
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    def y(self, rate: float) -> float:
        part = (math.log10(rate) - self.y_low) / (self.y_high - self.y_low)
        return HEIGHT - BOTTOM - part * (HEIGHT - BOTTOM - TOP)


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">'
            f"{escape(text)}</text>")


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def _grid(axes: Axes) -> list[str]:
    out = []
    for power in range(axes.x_low, axes.x_high + 1):
        x = axes.x(2.0 ** power)
        out.append(_line(x, TOP, x, HEIGHT - BOTTOM, "tick"))
        text = str(2 ** power) if power >= 0 else f"1/{2 ** -power}"
        out.append(_text(x, HEIGHT - BOTTOM + 15, text, "small", "middle"))
    for power in range(axes.y_low, axes.y_high + 1):
        y = axes.y(10.0 ** power)
        out.append(_line(LEFT, y, WIDTH - RIGHT, y, "tick"))
        out.append(_text(LEFT - 6, y + 3, f"{10.0 ** power:g}", "small", "end"))
    out.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14,
                     "arithmetic operations for each byte moved", "", "middle"))
    out.append(_text(WIDTH - RIGHT, TOP - 10, "10⁹ operations a second", "small", "end"))
    return out


def _slope(axes: Axes, bandwidth: float, peak: float, name: str, kind: str) -> list[str]:
    """The roof that a memory's rate is, up to the machine's peak."""
    low, high = 2.0 ** axes.x_low, 2.0 ** axes.x_high
    floor, ceiling = 10.0 ** axes.y_low, min(peak, 10.0 ** axes.y_high)
    start, end = max(low, floor / bandwidth), min(high, ceiling / bandwidth)
    if start >= end:
        return []
    x, y = axes.x(start), axes.y(start * bandwidth)
    return [_line(x, y, axes.x(end), axes.y(end * bandwidth), kind),
            _text(axes.x(end) - 8, axes.y(end * bandwidth) - 4, f"{name} {bandwidth:,.0f} GB/s",
                  "small", "end")]


def _roofs(axes: Axes, roof: Roof) -> list[str]:
    peak = roof.peak or 10.0 ** axes.y_high
    out = []
    if roof.memory:
        out += _slope(axes, roof.memory, peak, "memory", "one")
    if roof.cache:
        out += _slope(axes, roof.cache, peak, "cache", "one")
    if roof.peak:
        first = roof.peak / max(roof.memory or 1.0, roof.cache or 1.0)
        y = axes.y(roof.peak)
        out += [_line(axes.x(max(first, 2.0 ** axes.x_low)), y, WIDTH - RIGHT, y, "one"),
                _text(WIDTH - RIGHT, y - 5, f"fastest product {roof.peak:,.0f} GFLOP/s", "small",
                      "end")]
    return out


def _dots(axes: Axes, dots: list[Dot]) -> list[str]:
    out: list[str] = []
    taken: list[tuple[float, float]] = []
    for dot in dots:
        x, y = axes.x(dot.intensity), axes.y(dot.rate)
        words = f"{dot.label}: {dot.rate:,.0f} GFLOP/s"
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{DOT}" '
                   f'class="s{KINDS.index(dot.kind)}"><title>{escape(words)}</title></circle>')
        # A name where there is room for it; the others are in the dots' titles.
        if all(abs(x - a) > 46 or abs(y - b) > 11 for a, b in taken):
            out.append(_text(x + DOT + 2, y + 3, dot.label, "small"))
            taken.append((x, y))
    return out


def draw(title: str, roof: Roof, dots: list[Dot]) -> str:
    """The plot's SVG."""
    axes = Axes.of(roof, dots)
    legend, x = [], LEFT
    for number, kind in enumerate(KINDS):
        if any(dot.kind == kind for dot in dots):
            legend.append(f'<circle cx="{x + 5}" cy="41" r="{DOT}" class="s{number}"/>')
            legend.append(_text(x + 15, 45, kind))
            x += 40 + 7 * len(kind)
    light = "".join(f"  .s{i} {{ fill: {color} }}\n" for i, color in enumerate(LIGHT))
    dark = "".join(f"    .s{i} {{ fill: {color} }}\n" for i, color in enumerate(DARK))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}{light}  @media (prefers-color-scheme: dark) {{{STYLE_DARK}{dark}  }}\n"
        "</style>",
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>',
        _text(LEFT, 24, title, "title"), *legend, *_grid(axes), *_roofs(axes, roof),
        *_dots(axes, dots), "</svg>", ""])
