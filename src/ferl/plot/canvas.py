"""What all plots share: Axes to draw on, shades of grey, and text that stays text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from ferl._tables import ColumnKind
from ferl._tables.values import rounded_text
from ferl._util.arrays import Floats
from ferl._util.text import one_line, shown, words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle


INK = "#222222"
"""Text and lines that matter."""
FAINT = "#8a8a8a"
"""Lines that help."""
PALE = "#e4e4e4"
"""Areas behind others."""


def require_matplotlib(caller: str) -> None:
    """Refuse to go on without matplotlib, and say how to get it."""
    if find_spec("matplotlib") is None:
        raise ImportError(f'{caller} needs matplotlib. Install it: pip install "ferl[plot]"')


def axes_for(caller: str, ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The given Axes, or those of a new figure of this size in inches."""
    require_matplotlib(caller)
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout="constrained")[1]


def feature_index(feature: int | str, names: list[str], columns: Sequence[str] = ()) -> int:
    """Index of a feature that a caller named as the picture or as the table does, or numbered."""
    if isinstance(feature, str):
        for known in (names, list(columns)):
            if feature in known:
                return known.index(feature)
        raise ValueError(f"There is no feature {shown(feature)}; the features are {shown(names)}.")
    if not 0 <= feature < len(names):
        raise ValueError(f"feature is {feature}; there are features 0 to {len(names) - 1}.")
    return int(feature)


def plain(text: object) -> str:
    """Text as it is: a dollar would start a formula, a line break a second line, and no font has control letters."""
    return one_line(str(text)).replace("$", r"\$")


def shortened(text: object, length: int) -> str:
    """Text of at most this many letters."""
    whole = one_line(words_of(text))
    return plain(whole if len(whole) <= length else whole[: length - 1] + "…")


def write_values(axis: Any, kind: ColumnKind) -> None:
    """Let the ticks of an axis tell dates and ordered categories as people write them."""
    if not kind.is_coded:
        return
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    def text(value: float, _position: Any = None) -> str:
        if kind.is_date:
            return rounded_text(value, 2.0 if kind.name == "date" else 2 / 1440)
        is_category = value == round(value) and 0 <= value < len(kind.order)
        return shortened(kind.said_order[round(value)], 14) if is_category else ""

    axis.set_major_locator(MaxNLocator(nbins=3 if kind.is_date else 9, integer=kind.is_whole))
    axis.set_major_formatter(FuncFormatter(text))


def bare(ax: Any) -> None:
    """Without the frame's upper and right sides."""
    ax.spines[["top", "right"]].set_visible(False)


BAND = "#8f9ba5"
"""Where both sides of a split fire: no colour, since those are classes."""
_SIDE = "#d5dbe0"  # membership of the left side, or of a word


@dataclass(frozen=True)
class Panel:
    """The frame of a small picture: its lower left corner, its size, and the values its width stands for."""

    left: float
    base: float
    width: float
    height: float
    low: float = 0.0
    high: float = 1.0

    def x(self, value: float) -> float:
        """Where a value lies; those outside the range lie on its ends."""
        if not self.high > self.low:
            return self.left + self.width / 2
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.left + self.width * share

    def y(self, membership: float) -> float:
        """Height of a membership; the axis points downwards."""
        return self.base - self.height * membership


def draw_band(ax: Axes, panel: Panel, low: float, high: float, node: int) -> None:
    """The membership of a split's left side over the range that its node saw, the band from ``low`` to ``high``."""
    _draw_shape(ax, panel, [(low, 1.0), (high, 0.0)], f"side-{node}")
    left, right = panel.x(low), panel.x(high)
    band = _rectangle(left, panel.y(1), right - left, panel.height, f"band-{node}", BAND, edge=BAND, line=0.8)
    band.set(alpha=0.7)  # over the membership; a narrow band stays visible by its outline
    ax.add_patch(band)


def draw_word(ax: Axes, panel: Panel, trapezoid: Floats, node: int) -> None:
    """The membership of a word over the range that the node's parent saw."""
    a, b, c, d = (float(end) for end in trapezoid)
    corners = [(a, 0.0), (b, 1.0), (c, 1.0), (d, 0.0)]
    _draw_shape(ax, panel, [corner for corner in corners if math.isfinite(corner[0])], f"word-{node}")


def draw_categories(ax: Axes, panel: Panel, membership: Floats, node: int) -> None:
    """A bar for each category: its membership in the left side of a split, or in a word."""
    step = panel.width / len(membership)
    for code, value in enumerate(np.nan_to_num(membership)):
        left, width = panel.left + step * (code + 0.1), 0.8 * step
        ax.add_patch(_rectangle(left, panel.y(1), width, panel.height, f"track-{node}-{code}", PALE))
        height = panel.height * float(value)
        ax.add_patch(_rectangle(left, panel.base - height, width, height, f"category-{node}-{code}", "#7b8a96"))
    _draw_base(ax, panel)


def draw_shares(ax: Axes, panel: Panel, shares: Floats, colours: list[str], node: int) -> None:
    """A class distribution as one bar, cut in the proportions of the classes."""
    ends = np.concatenate([[0.0], np.cumsum(shares / shares.sum())])
    for c, colour in enumerate(colours):
        left, right = panel.x(float(ends[c])), panel.x(float(ends[c + 1]))
        ax.add_patch(_rectangle(left, panel.y(1), right - left, panel.height, f"share-{node}-{c}", colour))


def _draw_shape(ax: Axes, panel: Panel, corners: list[tuple[float, float]], gid: str) -> None:
    """A membership function, level beyond its corners, filled down to the base and cut off at the ends of the range."""
    from matplotlib.patches import Polygon

    inside = [corner for corner in corners if panel.low < corner[0] < panel.high]
    ends = [(value, _height_at(corners, value)) for value in (panel.low, panel.high)]
    line = [(panel.x(value), panel.y(height)) for value, height in (ends[0], *inside, ends[1])]
    closed = [(panel.x(panel.low), panel.base), *line, (panel.x(panel.high), panel.base)]
    ax.add_patch(Polygon(closed, closed=True, facecolor=_SIDE, edgecolor="none", gid=f"{gid}-area"))
    ax.plot([x for x, _ in line], [y for _, y in line], color=INK, linewidth=0.9, gid=gid, solid_joinstyle="round")
    _draw_base(ax, panel)


def _height_at(corners: list[tuple[float, float]], value: float) -> float:
    """Membership of a value; on an upright side it is a member."""
    exact = [height for x, height in corners if x == value]
    return max(exact) if exact else float(np.interp(value, [x for x, _ in corners], [y for _, y in corners]))


def _draw_base(ax: Axes, panel: Panel) -> None:
    ax.plot([panel.left, panel.left + panel.width], [panel.base, panel.base], color=FAINT, linewidth=0.6)


def _rectangle(
    left: float, top: float, width: float, height: float, gid: str, colour: str, edge: str = "none", line: float = 0.0
) -> Rectangle:
    from matplotlib.patches import Rectangle

    return Rectangle((left, top), width, height, facecolor=colour, edgecolor=edge, linewidth=line, gid=gid)
