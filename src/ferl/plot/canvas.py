"""What all plots share: Axes to draw on, text that stays text, names beside bars, maps over two features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ferl._models.model import Model
from ferl._tables.values import rounded_text
from ferl._util.arrays import Floats
from ferl._util.text import feature_index, one_line, rgb, words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch


INK = "#222222"
"""Text and lines that matter."""
FAINT = "#8a8a8a"
"""Lines that help."""
PALE = "#e4e4e4"
"""Areas behind others."""


def require_matplotlib(caller: str) -> None:
    """Raise an error that explains how to install matplotlib where it is missing."""
    if find_spec("matplotlib") is None:
        raise ImportError(f'{caller} needs matplotlib. Install it: pip install "ferl[plot]"')


def axes_for(caller: str, ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The given Axes, or the Axes of a new figure of this size in inches."""
    require_matplotlib(caller)
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(figsize=size, layout="constrained")[1]
    return ax


def bare(ax: Any) -> None:
    """Hide the frame's upper and right sides."""
    ax.spines[["top", "right"]].set_visible(False)


def check_least(name: str, value: int, least: int = 1) -> None:
    """Refuse a number that is too small."""
    if value < least:
        raise ValueError(f"{name} is {value}; it must be at least {least}.")


def drawn_feature(model: Model, feature: int | str, names: list[str]) -> int:
    """Index of a feature, given as a number, as a name of the picture or as a name of the training table."""
    drawn, known = names[: model.n_features], model.feature_names()
    return feature_index(feature, known if feature in known and feature not in drawn else drawn)


def plain(text: object) -> str:
    """Text as it is: a dollar would start a formula, a line break a second line, and no font has control letters."""
    return one_line(str(text)).replace("$", r"\$")


def shortened(text: object, length: int) -> str:
    """Text of at most this many letters."""
    whole = one_line(words_of(text))
    return plain(whole if len(whole) <= length else whole[: length - 1] + "…")


def write_values(axis: Any, model: Model, feature: int) -> None:
    """Ticks of an axis: whole numbers where values are, dates and ordered categories as people write them."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    kind = model.column_kinds[feature]
    if not kind.is_coded:
        if model.is_whole(feature):
            axis.get_major_locator().set_params(integer=True)
        return

    def text(value: float, _position: Any = None) -> str:
        if kind.is_date:
            return rounded_text(value, 2.0 if kind.name == "date" else 2 / 1440)
        is_category = value == round(value) and 0 <= value < len(kind.order)
        return shortened(kind.display_order[round(value)], 14) if is_category else ""

    axis.set_major_locator(MaxNLocator(nbins=3 if kind.is_date else 9, integer=kind.is_whole))
    axis.set_major_formatter(FuncFormatter(text))


def name_bars(ax: Axes, names: Sequence[str], size: float | None = 8.5) -> None:
    """Names beside horizontal bars, the first on top."""
    ax.set_yticks(range(len(names)), names, fontsize=size)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    bare(ax)


def write_categories(ax: Axes, categories: Sequence[object], length: int, most_letters: int) -> None:
    """Categories below an axis, slanted where they have more letters than that."""
    crowded = sum(len(str(category)) for category in categories) > most_letters
    texts = [shortened(category, length) for category in categories]
    ax.set_xticks(range(len(texts)), texts, rotation=45 if crowded else 0, ha="right" if crowded else "center")


def class_patches(labels: Sequence[object], colours: Sequence[str]) -> list[Patch]:
    """Entries of a legend, one for each class."""
    from matplotlib.patches import Patch

    return [Patch(color=colour, label=shortened(label, 20)) for label, colour in zip(labels, colours, strict=True)]


@dataclass(frozen=True, eq=False)
class Side:
    """A feature along one side of a map: values that are computed, ends of the picture, names of categories if any.

    ``edges``: where the cells of the values begin and end; by default these are equally wide.
    """

    feature: int
    values: Floats
    limits: tuple[float, float]
    categories: Sequence[object] = ()
    edges: Floats | None = None

    @property
    def cell_edges(self) -> Floats:
        """Where cells begin and end."""
        return np.linspace(*self.limits, len(self.values) + 1) if self.edges is None else self.edges

    def jitter(self, column: Floats, rng: np.random.Generator) -> Floats:
        """The positions of points; points of a category get random offsets."""
        return np.asarray(column + rng.uniform(-0.3, 0.3, len(column)) if self.categories else column)


def draw_map(
    ax: Axes, model: Model, right: Side, up: Side, classes: ArrayLike, strength: Floats, colours: Sequence[str]
) -> None:
    """Paint the colour of a class on each point of a grid, white in proportion to what ``strength`` lacks of 1.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    model : Model
        Which values features have.
    right, up : Side
        The features.
    classes, strength : array-like of shape (len(up.values), len(right.values))
        Index of the class, and the strength of its colour.
    colours : sequence of str
        Colours of the classes.
    """
    pure = np.array([rgb(colour) for colour in colours])[np.asarray(classes)]
    painted = np.clip(1 + strength[..., None] * (pure - 1), 0.0, 1.0)
    if right.edges is None and up.edges is None:
        extent = (*right.limits, *up.limits)
        ax.imshow(painted, origin="lower", extent=extent, aspect="auto", interpolation="nearest")
    else:
        ax.pcolormesh(right.cell_edges, up.cell_edges, painted)
    for axis, side in ((ax.xaxis, right), (ax.yaxis, up)):
        if side.categories:
            axis.set_ticks(range(len(side.categories)), [shortened(category, 12) for category in side.categories])
        else:
            write_values(axis, model, side.feature)
