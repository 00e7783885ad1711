"""Curves over many rows: error by coverage, accuracy by confidence, novelty beside training rows; strips of cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ferl._answers import model_of
from ferl._models.novelty import N_LEVELS
from ferl._tell.unusual import UNUSUAL, VERY_UNUSUAL
from ferl._util.arrays import Floats
from ferl._util.text import PALETTE, percent_text
from ferl.metrics import aurc, expected_calibration_error, reliability_curve, risk_coverage_curve
from ferl.plot.canvas import FAINT, INK, axes_for, bare, plain, shortened
from ferl.rules import FERLClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVEL = 0.95  # of the intervals around accuracies
_MARKERS = "osD^vPX"
_MOST_STRIPS = 20
_FEW_CLASSES = 5  # the legend has them all


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
    The points come from :func:`ferl.metrics.risk_coverage_curve`, one for each distinct confidence. Before the first
    point all rows are equally certain, so the expected error rate is constant.

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
    name = _named(label, f"AURC {aurc(y_true, y_pred, confidence):.3f}")
    ax = axes_for("plot_risk_coverage", ax, (5.2, 3.6))
    colour = PALETTE[len(ax.lines) % len(PALETTE)]
    ax.plot(np.r_[0.0, coverage], np.r_[risk[:1], risk], color=colour, linewidth=1.8, label=name)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.08 * max(0.01, *(float(np.max(line.get_ydata())) for line in ax.lines)))
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
    """Accuracy against confidence; on the diagonal, probabilities are calibrated.

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
    name = _named(label, f"ECE {expected_calibration_error(y_true, y_pred, confidence, n_bins):.3f}")
    ax = axes_for("plot_reliability", ax, (4.6, 4.4))
    drawn = len(ax.collections) // 2
    if drawn == 0:
        ax.plot([0, 1], [0, 1], color=FAINT, linewidth=1, linestyle="--", label="_calibrated")
    colour, marker = PALETTE[drawn % len(PALETTE)], _MARKERS[drawn % len(_MARKERS)]
    area = 14 + 180 * n_rows / n_rows.sum()
    ax.vlines(mean, *_interval(accuracy * n_rows, n_rows), color=colour, linewidth=1.2, alpha=0.6)
    ax.plot(mean, accuracy, color=colour, linewidth=1, alpha=0.6, label="_line")
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


def plot_novelty_of_rows(
    estimator: FERLClassifier, X: ArrayLike, *, label: str = "these rows", ax: Axes | None = None
) -> Axes:
    """How novel many rows are, against the training rows: two curves of the share of rows up to each novelty.

    If the curve of the rows lies to the right of the curve of the training rows, the rows are more novel. Dotted lines
    mark the novelty that 95 % and 99 % of the training rows stay below; the legend has the number of rows beyond the
    first line.

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
            "The model has no novelty of training rows to compare with: it keeps no rows, or was edited. Fit it with "
            "n_exemplars > 0."
        )
    values = model.novelty(estimator._rows(X))
    known = np.sort(values[np.isfinite(values)])
    if not len(known):
        raise ValueError("X has no row whose novelty is a finite number.")
    ax = axes_for("plot_novelty_of_rows", ax, (5.6, 3.6))
    if not any(line.get_gid() == "training" for line in ax.lines):
        _draw_training(ax, np.asarray(scale))
    beyond = float((model.novelty_rank(values) >= UNUSUAL).mean())
    name = f"{shortened(label, 30)}: {percent_text(beyond)} beyond {percent_text(UNUSUAL)}"
    ax.step(known, np.arange(1, len(known) + 1) / len(values), where="post", linewidth=1.6, label=name)
    ax.set_xlim(0, max(float(ax.get_xlim()[1]), 1.05 * float(np.quantile(known, 0.99))))
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("novelty")
    ax.set_ylabel("share of rows up to it")
    bare(ax)
    ax.legend(frameon=False, fontsize=8.5, loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.2)
    return ax


def plot_similar(estimator: FERLClassifier, X: ArrayLike, *, n: int = 10, ax: Axes | None = None) -> Axes:
    """Draw the most similar known cases of rows as strips: one line for each row, one mark for each case.

    A mark is the farther to the right the farther the case is from the row, and has the colour and shape of its class.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted, with cases.
    X : array-like or data frame of shape (n_samples, n_features)
        At most 20 rows.
    n : int, default=10
        Number of cases of each row.
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
    >>> from ferl.plot import plot_similar
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = FERLClassifier(cases=True, random_state=0).fit(X[::2], y[::2])
    >>> ax = plot_similar(clf, X[1:6:2], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0', '1', '2']
    """
    similar = estimator.similar(X, n)
    n_rows = len(similar.case)
    if n_rows > _MOST_STRIPS:
        raise ValueError(f"X has {n_rows} rows; a picture has room for {_MOST_STRIPS}. Choose some of them.")
    labels = estimator.model_.labels
    ax = axes_for("plot_similar", ax, (5.6, 1.2 + 0.35 * n_rows))
    line = np.broadcast_to(np.arange(n_rows)[:, None], similar.distance.shape)
    for k, label in enumerate(labels):
        is_own = similar.label == label
        if len(labels) > _FEW_CLASSES and not is_own.any():
            continue
        # Classes that share a colour have different markers.
        marker, colour = _MARKERS[(k + k // len(PALETTE)) % len(_MARKERS)], PALETTE[k % len(PALETTE)]
        shown = shortened(plain(label), 30)
        ax.scatter(similar.distance[is_own], line[is_own], marker=marker, color=colour, s=36, alpha=0.8, label=shown)
    ax.set_yticks(range(n_rows), [f"row {k}" for k in range(n_rows)])
    ax.set_ylim(n_rows - 0.5, -0.5)
    ax.set_xlim(left=min(0.0, float(similar.distance.min())))
    ax.set_xlabel("distance, in usual distances between training rows")
    bare(ax)
    ax.legend(frameon=False, fontsize=8.5, loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.2, ncols=3)
    return ax


def _draw_training(ax: Axes, scale: Floats) -> None:
    finite, share = np.isfinite(scale), np.linspace(0, 1, N_LEVELS)
    ax.plot(scale[finite], share[finite], color=INK, linewidth=1.2, label="training rows", gid="training")
    for level in (UNUSUAL, VERY_UNUSUAL):
        at = float(scale[round(level * (N_LEVELS - 1))])
        if np.isfinite(at):
            ax.plot([at, at], [0, level], color=FAINT, linestyle=":", linewidth=1, gid=f"level-{level}")
            ax.text(at, 0.01, percent_text(level), ha="right", va="bottom", fontsize=7.5, color=INK, rotation=90)
    ax.set_xlim(0, 1.3 * float(scale[finite][-1]))
