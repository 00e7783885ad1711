"""What all plots share: Axes to draw on, and colours that all readers can tell apart."""

from __future__ import annotations

import colorsys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito (2008), "Color Universal Design": told apart with any of the common kinds of colour vision. Black is
# left to text, and yellow comes last, since it is faint on white.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442")
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


def class_colours(n_classes: int) -> list[str]:
    """One colour for each class; beyond the palette it comes again, darker each time."""
    rounds = -(-n_classes // len(PALETTE))
    shades = [shade(colour, 1 - 0.3 * turn / max(rounds - 1, 1)) for turn in range(rounds) for colour in PALETTE]
    return shades[:n_classes]


def shade(colour: str, strength: float) -> str:
    """A colour made darker: its lightness times ``strength``."""
    hue, light, saturation = colorsys.rgb_to_hls(*rgb(colour))
    return "#" + "".join(f"{round(255 * part):02X}" for part in colorsys.hls_to_rgb(hue, light * strength, saturation))


def tint(colour: str, strength: float) -> str:
    """A colour mixed with white: 1 is the colour, 0 is white."""
    mixed = 1 + strength * (np.array(rgb(colour)) - 1)
    return "#" + "".join(f"{round(255 * part):02X}" for part in mixed)


def rgb(colour: str) -> tuple[float, float, float]:
    """Red, green and blue of "#RRGGBB", from 0 to 1."""
    return int(colour[1:3], 16) / 255, int(colour[3:5], 16) / 255, int(colour[5:7], 16) / 255


def plain(text: object) -> str:
    """Text as it is: a dollar sign would start a formula, and a line break a second line."""
    return " ".join(str(text).replace("$", r"\$").split())


def shortened(text: object, length: int) -> str:
    """Text of at most this many letters."""
    whole = " ".join(str(text).split())
    return plain(whole if len(whole) <= length else whole[: length - 1] + "…")


def bare(ax: Any) -> None:
    """Without the frame's upper and right sides."""
    ax.spines[["top", "right"]].set_visible(False)
