"""What all plots share: Axes to draw on, shades of grey, and text that stays text."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ferl.quoting import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


def plain(text: object) -> str:
    """Text as it is: a dollar would start a formula, a line break a second line, and no font has control letters."""
    return one_line(str(text)).replace("$", r"\$")


def shortened(text: object, length: int) -> str:
    """Text of at most this many letters."""
    whole = one_line(str(text))
    return plain(whole if len(whole) <= length else whole[: length - 1] + "…")


def bare(ax: Any) -> None:
    """Without the frame's upper and right sides."""
    ax.spines[["top", "right"]].set_visible(False)
