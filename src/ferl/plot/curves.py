"""Curves of how far answers can be trusted: error against the share of rows answered, accuracy against confidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ferl._util.arrays import Floats
from ferl._util.text import PALETTE
from ferl.metrics import aurc, expected_calibration_error, reliability_curve, risk_coverage_curve
from ferl.plot.canvas import FAINT, axes_for, bare, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVEL = 0.95  # of the intervals around accuracies
_MARKERS = "osD^vPX"


def plot_risk_coverage(
    y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike, *, label: str | None = None, ax: Axes | None = None
) -> Axes:
    """Error rate among the answered rows against the share of rows answered, the most confident ones first.

    A second call with the same ``ax`` adds a second curve.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels.
    confidence : array-like of shape (n_samples,)
        One number per row, larger means more certain.
    label : str, default=None
        Name of the curve in the legend, where its AURC follows.
    ax : matplotlib Axes, default=None
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    The points are those of :func:`ferl.metrics.risk_coverage_curve`, one for each distinct confidence. Before the first
    of them rows are equally certain, so that the error rate expected there is the same.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ferl.plot import plot_risk_coverage
    >>> truth, answers, confidence = [0, 1, 1, 0], [0, 1, 0, 1], [0.9, 0.8, 0.7, 0.6]
    >>> ax = plot_risk_coverage(truth, answers, confidence, label="tree", ax=Figure().subplots())
    >>> ax.lines[0].get_label()
    'tree (AURC 0.208)'
    """
    coverage, risk, _ = risk_coverage_curve(y_true, y_pred, confidence)
    area = aurc(y_true, y_pred, confidence)
    ax = axes_for("plot_risk_coverage", ax, (5.2, 3.6))
    ax.plot(
        np.concatenate([[0.0], coverage]),
        np.concatenate([risk[:1], risk]),
        color=PALETTE[len(ax.lines) % len(PALETTE)],
        linewidth=1.8,
        label=_named(label, f"AURC {area:.3f}"),
    )
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.08 * max(0.01, *(float(np.max(own.get_ydata())) for own in ax.lines)))
    ax.set_xlabel("coverage: share of the rows that are answered")
    ax.set_ylabel("risk: error rate among them")
    bare(ax)
    ax.legend(frameon=False, fontsize=9, loc="upper left")
    return ax


def plot_reliability(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    confidence: ArrayLike,
    *,
    n_bins: int = 15,
    label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Accuracy against the confidence it was claimed with; on the diagonal, probabilities mean what they say.

    A point is a bin of rows with similar confidence, its area their number; the line through it is a 95 % interval of
    the accuracy (Clopper and Pearson). Below the diagonal the classifier is too sure of itself. A second call with the
    same ``ax`` adds a second curve.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels.
    confidence : array-like of shape (n_samples,)
        Probability given to the predicted label, in [0, 1].
    n_bins : int, default=15
        Number of equally wide bins; empty ones have no point.
    label : str, default=None
        Name of the curve in the legend, where its expected calibration error follows.
    ax : matplotlib Axes, default=None
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ferl.plot import plot_reliability
    >>> ax = plot_reliability([0, 1, 1, 0], [0, 1, 1, 1], [0.9, 0.9, 0.9, 0.9], label="tree", ax=Figure().subplots())
    >>> ax.get_legend_handles_labels()[1]
    ['tree (ECE 0.150)']
    """
    mean, accuracy, n_rows = reliability_curve(y_true, y_pred, confidence, n_bins)
    error = expected_calibration_error(y_true, y_pred, confidence, n_bins)
    ax = axes_for("plot_reliability", ax, (4.6, 4.4))
    drawn = len(ax.collections) // 2
    if drawn == 0:
        ax.plot([0, 1], [0, 1], color=FAINT, linewidth=1, linestyle="--", label="_calibrated")
    colour = PALETTE[drawn % len(PALETTE)]
    low, high = _interval(accuracy * n_rows, n_rows)
    ax.vlines(mean, low, high, color=colour, linewidth=1.2, alpha=0.6)
    ax.plot(mean, accuracy, color=colour, linewidth=1, alpha=0.6, label="_line")
    area = 14 + 180 * n_rows / n_rows.sum()
    marker = _MARKERS[drawn % len(_MARKERS)]
    name = _named(label, f"ECE {error:.3f}")
    ax.scatter(mean, accuracy, s=area, color=colour, marker=marker, edgecolor="white", linewidth=0.6, zorder=3)
    ax.plot([], [], color=colour, marker=marker, linewidth=1, label=name)
    ax.set_xlim(0, 1.02)
    ax.set_ylim(0, 1.02)
    ax.set_aspect("equal")
    ax.set_xlabel("confidence")
    ax.set_ylabel("accuracy")
    bare(ax)
    ax.legend(frameon=False, fontsize=9, loc="upper left")
    return ax


def _named(label: str | None, figure: str) -> str:
    return figure if label is None else f"{plain(label)} ({figure})"


def _interval(n_right: Floats, n_rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Clopper and Pearson's interval of a share."""
    right, wrong, tail = np.round(n_right), np.round(n_rows - n_right), (1 - _LEVEL) / 2
    low = np.where(right == 0, 0.0, stats.beta.ppf(tail, np.maximum(right, 0.5), wrong + 1))
    high = np.where(wrong == 0, 1.0, stats.beta.ppf(1 - tail, right + 1, np.maximum(wrong, 0.5)))
    return low, high
