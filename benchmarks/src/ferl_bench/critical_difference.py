"""Which of several methods differ over many data sets: average ranks, Nemenyi's test, and Demšar's diagram of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ferl.plot.canvas import FAINT, INK, axes_for, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROUNDING = 0.05  # by which an average rank may have been rounded
_BAR_STEP = 0.42  # between two bars of groups, in units of a line of text


def average_ranks(scores: Mapping[str, ArrayLike], *, higher_is_better: bool = True) -> dict[str, float]:
    """Mean over data sets of the rank of each method; 1 is best, equals share the mean of their ranks.

    Parameters
    ----------
    scores : mapping of str to array-like of shape (n_sets,)
        Score of each method on every data set, in the same order.
    higher_is_better : bool, default=True
        False for errors.

    Returns
    -------
    dict of str to float

    Examples
    --------
    >>> from ferl_bench.critical_difference import average_ranks
    >>> average_ranks({"tree": [0.8, 0.9, 0.7], "forest": [0.9, 0.9, 0.8]})
    {'tree': 1.8333333333333333, 'forest': 1.1666666666666667}
    """
    columns = [np.asarray(score, dtype=np.float64) for score in scores.values()]
    if len({column.shape for column in columns}) > 1 or any(column.ndim != 1 for column in columns):
        shapes = {name: column.shape for name, column in zip(scores, columns, strict=True)}
        raise ValueError(f"scores have the shapes {shapes}; give one number for each data set, the same sets for all.")
    table = np.column_stack(columns)
    if np.isnan(table).any():
        unmeasured = [name for name, column in zip(scores, columns, strict=True) if np.isnan(column).any()]
        raise ValueError(f"scores of {unmeasured} are missing on some data sets; leave those sets out for all methods.")
    ranks = stats.rankdata(-table if higher_is_better else table, axis=1).mean(axis=0)
    return dict(zip(scores, ranks.tolist(), strict=True))


def critical_difference(n_methods: int, n_sets: int, alpha: float = 0.05) -> float:
    """Least difference of two average ranks that is significant by Nemenyi's test.

    ``q * sqrt(k (k + 1) / (6 N))`` for k methods on N data sets, where q is the quantile of the studentised range of k
    normal variables, divided by the square root of two. It holds for all pairs of methods at once [1]_.

    Parameters
    ----------
    n_methods : int
        Number of methods that are compared, at least 2.
    n_sets : int
        Number of data sets, at least 2.
    alpha : float, default=0.05
        Probability of calling any two equal methods different.

    Returns
    -------
    float

    References
    ----------
    .. [1] Demšar, "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 7, 2006.

    Examples
    --------
    Demšar's example, four methods on fourteen data sets:

    >>> from ferl_bench.critical_difference import critical_difference
    >>> round(critical_difference(4, 14), 2), round(critical_difference(4, 14, alpha=0.1), 2)
    (1.25, 1.12)
    """
    for name, value in (("n_methods", n_methods), ("n_sets", n_sets)):
        if value < 2:
            raise ValueError(f"{name} is {value}; a comparison needs at least 2.")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha}; it must lie between 0 and 1.")
    quantile = float(stats.studentized_range.ppf(1 - alpha, n_methods, np.inf)) / math.sqrt(2)
    return quantile * math.sqrt(n_methods * (n_methods + 1) / (6 * n_sets))


def alike_groups(ranks: list[float], difference: float) -> list[tuple[int, int]]:
    """Largest groups of methods without a significant difference, as indices of the first and last; ranks ascend."""
    groups: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = max(index for index, other in enumerate(ranks) if other - rank < difference)
        if last > first and not (groups and groups[-1][1] == last):
            groups.append((first, last))
    return groups


def plot_critical_difference(
    average_ranks: Mapping[str, float], n_sets: int, alpha: float = 0.05, ax: Axes | None = None
) -> Axes:
    """Demšar's diagram: methods on the axis of their average rank, those that do not differ joined by a bar.

    Parameters
    ----------
    average_ranks : mapping of str to float
        Rank of each method, averaged over the data sets; 1 is best. See :func:`average_ranks`.
    n_sets : int
        Number of data sets.
    alpha : float, default=0.05
        Level of Nemenyi's test, see :func:`critical_difference`.
    ax : matplotlib Axes, default=None
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Nemenyi's test follows a test of Friedman that found a difference at all; this function draws, and does not make it.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ferl_bench.critical_difference import plot_critical_difference
    >>> ranks = {"C4.5": 3.143, "C4.5+m": 2.0, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964}
    >>> ax = plot_critical_difference(ranks, n_sets=14, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts][0]
    'critical difference 1.25'
    """
    names, ranks = _in_order(average_ranks)
    difference = critical_difference(len(ranks), n_sets, alpha)
    groups = alike_groups(ranks, difference)
    rows = -(-len(ranks) // 2)
    depth = 0.5 + _BAR_STEP * len(groups)
    ax = axes_for("plot_critical_difference", ax, (7.0, 0.9 + 0.3 * (rows + depth)))
    low = math.floor(ranks[0])
    high = max(math.ceil(ranks[-1]), low + math.ceil(difference), low + 1)
    _draw_scale(ax, low, high, difference)
    for index, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        on_left = index < rows
        row = index if on_left else len(ranks) - 1 - index
        end, align = (low - 0.01 * (high - low), "right") if on_left else (high + 0.01 * (high - low), "left")
        level = -depth - row
        ax.plot([rank, rank, end], [0, level, level], color=INK, linewidth=0.9, clip_on=False)
        ax.annotate(
            f"{plain(name)}  {rank:.2f}" if on_left else f"{rank:.2f}  {plain(name)}",
            (end, level),
            xytext=(-3 if on_left else 3, 0),
            textcoords="offset points",
            ha=align,
            va="center",
            fontsize=9,
            annotation_clip=False,
        )
    for bar, (first, last) in enumerate(groups):
        reach, level = 0.008 * (high - low), -_BAR_STEP * (bar + 1)
        ends = [ranks[first] - reach, ranks[last] + reach]
        ax.plot(ends, [level, level], color=INK, linewidth=3.5, solid_capstyle="butt", clip_on=False, label="alike")
    ax.set_ylim(-depth - rows + 0.5, 0)
    return ax


def _in_order(average_ranks: Mapping[str, float]) -> tuple[list[str], list[float]]:
    """Names and ranks, best first; an error where they cannot be average ranks."""
    n = len(average_ranks)
    if n < 2:
        raise ValueError(f"average_ranks has {n} methods; a comparison needs at least 2.")
    total = sum(average_ranks.values())
    if not abs(total - n * (n + 1) / 2) <= _ROUNDING * n:
        raise ValueError(
            f"average_ranks of {n} methods sum to {n * (n + 1) / 2:g}; these sum to {total:.3f}. "
            "Rank all methods on every data set, equal ones by the mean of their ranks: use average_ranks."
        )
    ordered = sorted(average_ranks.items(), key=lambda item: item[1])
    return [name for name, _ in ordered], [float(rank) for _, rank in ordered]


def _draw_scale(ax: Axes, low: int, high: int, difference: float) -> None:
    """The axis of ranks on top, and above it how long a critical difference is."""
    from matplotlib.transforms import ScaledTranslation

    ax.set_xlim(low, high)
    ax.xaxis.tick_top()
    ax.tick_params(axis="x", labelsize=9)
    ax.set_xticks(range(low, high + 1))
    ax.set_yticks([])
    ax.spines[["left", "right", "bottom"]].set_visible(False)
    # In points above the upper edge, so that it clears the numbers of the axis whatever the height of the Axes.
    edge, figure = ax.get_xaxis_transform(), cast("Figure", ax.figure)
    above = edge + ScaledTranslation(0, 27 / 72, figure.dpi_scale_trans)
    line: dict[str, Any] = {"color": INK, "linewidth": 1.2, "marker": "|", "markersize": 7, "clip_on": False}
    ax.plot([low, low + difference], [1, 1], transform=above, label="critical difference", **line)
    beside: dict[str, Any] = {"xycoords": edge, "textcoords": "offset points", "fontsize": 9}
    ax.annotate(f"critical difference {difference:.2f}", (low, 1), xytext=(0, 32), ha="left", va="bottom", **beside)
    ax.annotate("average rank (1 is best)", (high, 1), xytext=(0, 32), ha="right", va="bottom", color=FAINT, **beside)
