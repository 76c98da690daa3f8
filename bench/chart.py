"""Bar charts as SVG, for light and dark pages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from xml.sax.saxutils import escape

# Pixels.
BAR, GAP, LABEL, PLOT, MARGIN, TITLE = 9, 7, 118, 210, 16, 64
COLUMNS = 3

LIGHT = ("#2f6fb3", "#d1622b", "#3a8f5a", "#8a5bb0")
DARK = ("#6ea8e0", "#f0935f", "#6cc28d", "#bb93dd")

STYLE = """
  text { font: 11px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 14px; font-weight: 600 }
  .name { font-weight: 600 }
  .paper { fill: #ffffff }
  .tick { stroke: #d0d7de; stroke-width: 1 }
  .one { stroke: #57606a; stroke-width: 1.5 }
  .small { font-size: 9.5px }
"""
STYLE_DARK = """
    text { fill: #e6edf3 }
    .paper { fill: #0d1117 }
    .tick { stroke: #30363d }
    .one { stroke: #9198a1 }
"""


@dataclass(frozen=True)
class Bar:
    """A label, and a bar for each series that has a value: a ratio, 1 being even."""

    label: str
    values: dict[str, float]


@dataclass(frozen=True)
class Panel:
    name: str
    bars: list[Bar]

    def height(self, series: int) -> int:
        return 34 + len(self.bars) * (BAR * series + GAP)


@dataclass(frozen=True)
class Scale:
    """Ratios on a logarithmic axis, whole powers of two at its ends."""

    low: int
    high: int

    @staticmethod
    def of(panel: Panel) -> Scale:
        logs = [math.log2(value) for bar in panel.bars for value in bar.values.values()]
        return Scale(min(-1, math.floor(min(logs))), max(1, math.ceil(max(logs))))

    def x(self, ratio: float) -> float:
        return LABEL + PLOT * (math.log2(ratio) - self.low) / (self.high - self.low)


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">'
            f"{escape(text)}</text>")


def _panel(panel: Panel, series: list[str], left: int, top: int) -> list[str]:
    scale = Scale.of(panel)
    out = [f'<g transform="translate({left},{top})">', _text(0, 11, panel.name, "name")]
    bottom = panel.height(len(series)) - GAP
    for power in range(scale.low, scale.high + 1):
        x = scale.x(2.0 ** power)
        text = f"{2 ** power}×" if power >= 0 else f"1/{2 ** -power}"
        if scale.high - scale.low <= 7 or power % 2 == 0:
            out.append(_text(x, 25, text, "small", "middle"))
        kind = "tick" if power else "one"
        out.append(f'<line x1="{x:.1f}" y1="29" x2="{x:.1f}" y2="{bottom}" class="{kind}"/>')
    y = 34
    for bar in panel.bars:
        middle = y + BAR * len(series) / 2 + 4
        out.append(_text(LABEL - 6, middle, bar.label, anchor="end"))
        for number, name in enumerate(series):
            value = bar.values.get(name)
            if value is not None:
                from_x, to_x = sorted((scale.x(1.0), scale.x(value)))
                out.append(f'<rect x="{from_x:.1f}" y="{y + number * BAR}" '
                           f'width="{max(to_x - from_x, 1):.1f}" height="{BAR - 1}" '
                           f'class="s{number}"><title>{escape(bar.label)}: {value:.2f} times '
                           f"{escape(name)}</title></rect>")
        y += BAR * len(series) + GAP
    return [*out, "</g>"]


def draw(title: str, panels: list[Panel], series: list[str]) -> str:
    """The chart's SVG."""
    columns = min(COLUMNS, len(panels))
    width = MARGIN + columns * (LABEL + PLOT + 2 * MARGIN)
    bottoms = [TITLE] * columns
    body: list[str] = []
    for panel in panels:
        column = bottoms.index(min(bottoms))
        left = MARGIN + column * (LABEL + PLOT + 2 * MARGIN)
        body += _panel(panel, series, left, bottoms[column])
        bottoms[column] += panel.height(len(series)) + MARGIN
    legend, x = [], MARGIN
    for number, name in enumerate(series):
        legend.append(f'<rect x="{x}" y="36" width="10" height="10" class="s{number}"/>')
        legend.append(_text(x + 15, 45, f"beside {name}"))
        x += 40 + 7 * len(f"beside {name}")
    legend.append(_text(x, 45, "right of the line: Einkorn is faster", "small"))
    light = "".join(f"  .s{i} {{ fill: {color} }}\n" for i, color in enumerate(LIGHT))
    dark = "".join(f"    .s{i} {{ fill: {color} }}\n" for i, color in enumerate(DARK))
    height = max(bottoms)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}{light}  @media (prefers-color-scheme: dark) {{{STYLE_DARK}{dark}  }}\n"
        "</style>",
        f'<rect class="paper" width="{width}" height="{height}"/>',
        _text(MARGIN, 24, title, "title"), *legend, *body, "</svg>", ""])
