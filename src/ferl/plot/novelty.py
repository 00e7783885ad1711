"""Novelty: what makes one row unlike the training rows, and how many rows against the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ferl._answers import model_of
from ferl._models.novelty import N_LEVELS
from ferl._tell.unusual import UNUSUAL, VERY_UNUSUAL, novelty_verdict
from ferl._util.text import percent_text, value_text
from ferl.plot.canvas import FAINT, INK, axes_for, bare, shortened
from ferl.rules import FERLClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST_NAME = 30
_BAR = 0.62  # height
_ORDINARY, _ODD = "#5b7083", "#c0562b"


def plot_novelty(
    estimator: FERLClassifier,
    x: Any,
    *,
    max_features: int = 10,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """What each feature adds to the novelty of one row: bars, the largest first.

    A bar is red where the value is clearly unlike those of the training rows around it; behind it stands what is usual
    there. The title says how many training rows are less novel.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    x : array-like of shape (n_features,) or (1, n_features), data frame of one row, Series, or dict
        The row.
    max_features : int, default=10
        The features that add least are drawn as one bar where there are more.
    feature_names : sequence of str, default=None
        Names to print; by default those of the training table.
    ax : matplotlib Axes, default=None
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> from ferl.plot import plot_novelty
    >>> iris = load_iris()
    >>> clf = FERLClassifier(random_state=0).fit(iris.data, iris.target)
    >>> ax = plot_novelty(clf, [5.0, 3.4, 1.5, 2.4], feature_names=iris.feature_names, ax=Figure().subplots())
    >>> print(ax.get_title(loc="left"))
    Very unusual:
    more unusual than all training rows that were compared
    """
    model_of(estimator, "plot_novelty")
    if max_features < 1:
        raise ValueError(f"max_features is {max_features}; it must be at least 1.")
    story = estimator.explain(x, feature_names=feature_names, counterfactual=False)
    if not np.isfinite(story.novelty):
        raise ValueError("The novelty of the row is too large to be drawn; a value is far beyond what can be measured.")
    parts = [part for part in story.novelty_parts if part.part > 0]
    bars = [
        (f"{shortened(part.feature, _LONGEST_NAME)} = {shortened(value_text(part.value), 14)}", part.part, part)
        for part in (parts if len(parts) <= max_features else parts[: max_features - 1])
    ]
    ax = axes_for("plot_novelty", ax, (6.2, 1.3 + 0.32 * max(min(len(parts), max_features), 1)))
    names, lengths = [name for name, _, _ in bars], [length for _, length, _ in bars]
    colours = [_ODD if part.is_unusual else _ORDINARY for _, _, part in bars]
    if len(bars) < len(parts):
        rest = parts[len(bars) :]
        names.append(f"{len(rest)} other features")
        lengths.append(sum(part.part for part in rest))
        colours.append(_ORDINARY)
    for position, (length, colour) in enumerate(zip(lengths, colours, strict=True)):
        ax.barh(position, length, _BAR, color=colour, gid=f"part-{position}")
        ax.text(length, position, f" {length:.3g}", va="center", fontsize=8, color=INK)
    ax.set_yticks(range(len(names)), names, fontsize=8.5)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.margins(x=0.14)
    ax.set_xlim(left=0)
    ax.set_xlabel(f"novelty, {story.novelty:.3g} in all", fontsize=8.5)
    bare(ax)
    rank = story.novelty_rank
    title = "novelty by feature" if rank is None else novelty_verdict(rank).replace(": ", ":\n")
    ax.set_title(title, loc="left", fontsize=10)
    return ax


def plot_novelty_of_rows(
    estimator: FERLClassifier, X: ArrayLike, *, label: str = "these rows", ax: Axes | None = None
) -> Axes:
    """How novel many rows are, against the training rows: two curves of the share of rows up to each novelty.

    Where the curve of the rows lies to the right of that of the training rows they are more novel. Dotted lines mark
    the novelty that 95 % and 99 % of the training rows stay below; the legend says how many of the rows go beyond the
    first of them.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted, with exemplars.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows that the classifier was not fitted on.
    label : str, default="these rows"
        What the legend calls them. Given ``ax``, another call adds another curve.
    ax : matplotlib Axes, default=None
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_wine
    >>> from ferl import FERLClassifier
    >>> from ferl.plot import plot_novelty_of_rows
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = FERLClassifier(random_state=0).fit(X[::2], y[::2])
    >>> ax = plot_novelty_of_rows(clf, X[1::2], ax=Figure().subplots())
    >>> len(ax.lines)  # the training rows, two marks, and these rows
    4
    """
    model = model_of(estimator, "plot_novelty_of_rows")
    scale = model.novelty_quantiles
    if scale is None:
        raise ValueError(
            "The model does not know how novel its training rows are: it keeps no rows, comes from an older file, or "
            "was edited. Fit anew with n_exemplars > 0."
        )
    values = model.novelty(estimator._rows(X))
    known = np.sort(values[np.isfinite(values)])
    if not len(known):
        raise ValueError("X has no row whose novelty is a finite number.")
    ax = axes_for("plot_novelty_of_rows", ax, (5.6, 3.6))
    if not any(line.get_gid() == "training" for line in ax.lines):
        _draw_training(ax, np.asarray(scale))
    beyond = float((model.novelty_rank(values) >= UNUSUAL).mean())
    shares = np.arange(1, len(known) + 1) / len(values)
    told = f"{shortened(label, _LONGEST_NAME)}: {percent_text(beyond)} beyond {percent_text(UNUSUAL)}"
    ax.step(known, shares, where="post", linewidth=1.6, label=told)
    ax.set_xlim(0, max(float(ax.get_xlim()[1]), 1.05 * float(np.quantile(known, 0.99))))
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("novelty")
    ax.set_ylabel("share of rows up to it")
    ax.legend(frameon=False, fontsize=8.5, loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.2)
    bare(ax)
    return ax


def _draw_training(ax: Axes, scale: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    finite = np.isfinite(scale)
    share = np.linspace(0, 1, N_LEVELS)
    ax.plot(scale[finite], share[finite], color=INK, linewidth=1.2, label="training rows", gid="training")
    for level in (UNUSUAL, VERY_UNUSUAL):
        at = float(scale[round(level * (N_LEVELS - 1))])
        if np.isfinite(at):
            ax.plot([at, at], [0, level], color=FAINT, linestyle=":", linewidth=1, gid=f"level-{level}")
            ax.text(at, 0.01, percent_text(level), ha="right", va="bottom", fontsize=7.5, color=INK, rotation=90)
    ax.set_xlim(0, 1.3 * float(scale[finite][-1]))
