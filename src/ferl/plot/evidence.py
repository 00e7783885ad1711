"""The evidence of one row: what speaks for each class, at least and at most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._models.evidence import Evidence
from ferl._read.text import checked_class_names
from ferl._util.text import class_colours, tint
from ferl.calibration import CalibratedFERL
from ferl.plot.canvas import INK, PALE, axes_for, bare, shortened
from ferl.rules import FERLClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_LONGEST_NAME = 24
_MAX_NAMED = 4  # classes that a title lists


def plot_evidence(
    estimator: FERLClassifier | CalibratedFERL,
    x: ArrayLike,
    *,
    class_names: Sequence[str] | None = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Belief and plausibility of every class for one row.

    A bar is full up to the belief and pale from there to the plausibility. The pale part is the ignorance, which is as
    long for all classes of a tree; of wide rules it also holds masses on several classes. The diamond is the
    probability, which the label maximises: of trees the pignistic one. A class whose bar does not reach the dashed
    line, the largest belief, is not in the prediction set and grey.

    Parameters
    ----------
    estimator : FERLClassifier or CalibratedFERL
        Fitted.
    x : array-like of shape (n_features,) or (1, n_features), or data frame of one row
        The row.
    class_names : sequence of str, default=None
        Names of the classes, in the order of ``classes_``; by default the labels themselves.
    legend : bool, default=True
        Say below what the parts of the bars are.
    ax : matplotlib Axes, default=None
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLTreeClassifier
    >>> from ferl.plot import plot_evidence
    >>> iris = load_iris()
    >>> clf = FERLTreeClassifier("medium", random_state=0).fit(iris.data, iris.target)
    >>> ax = plot_evidence(clf, iris.data[0], class_names=iris.target_names, ax=Figure().subplots())
    >>> ax.get_title(loc="left")
    'setosa'
    """
    if not hasattr(estimator, "predict_evidence"):
        raise TypeError(
            f"plot_evidence got a {type(estimator).__name__}; pass the fitted FERLClassifier inside it, for example "
            "pipeline[-1] or search.best_estimator_."
        )
    inner = getattr(estimator, "estimator_", estimator)  # a calibrated classifier knows the meaning of labels by it
    known = inner.model_.labels if hasattr(inner, "model_") else estimator.classes_
    labels = checked_class_names(known, class_names)
    evidence = _of_one_row(estimator, x)
    names = [shortened(label, _LONGEST_NAME) for label in labels]
    ax = axes_for("plot_evidence", ax, (5.2, 1.1 + 0.36 * len(names)))
    belief, ignorance = evidence.belief[0], float(evidence.ignorance[0])
    in_set = evidence.prediction_set()[0]
    own = class_colours(len(names))
    colours = [colour if inside else "#9a9a9a" for colour, inside in zip(own, in_set, strict=True)]
    positions = np.arange(len(names))
    ax.barh(positions, 1.0, 0.62, color="#f4f4f4", label="_track")
    pale = [tint(colour, 0.35) for colour in colours]
    ax.barh(positions, evidence.plausibility[0] - belief, 0.62, left=belief, color=pale, label="plausibility")
    ax.barh(positions, belief, 0.62, color=colours, label="belief")
    line = ax.axvline(float(belief.max()), color=INK, linestyle="--", linewidth=1, label="largest belief")
    (diamonds,) = ax.plot(
        evidence.probability[0],
        positions,
        linestyle="none",
        marker="D",
        markersize=4.5,
        markerfacecolor="white",
        markeredgecolor=INK,
        label="probability",
        clip_on=False,
    )
    _finish(ax, names, in_set, ignorance)
    if legend:
        _draw_legend(ax, diamonds, line)
    return ax


def _of_one_row(estimator: FERLClassifier | CalibratedFERL, x: Any) -> Evidence:
    # As a list of one row: an array of one would turn numbers into text beside a category.
    is_bare = isinstance(x, list | tuple | np.ndarray) and np.ndim(np.asarray(x, dtype=object)) == 1
    evidence = estimator.predict_evidence([list(x)] if is_bare else x)
    if len(evidence) != 1:
        raise ValueError(f"plot_evidence is about one row; x has {len(evidence)}. Call it once for each.")
    return evidence


def _finish(ax: Axes, names: list[str], in_set: NDArray[np.bool_], ignorance: float) -> None:
    ax.set_yticks(range(len(names)), names)
    for text, inside in zip(ax.get_yticklabels(), in_set, strict=True):
        text.set_color(INK if inside else "#8a8a8a")
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(0, 1)
    ax.set_ylim(len(names) - 0.45, -0.55)
    bare(ax)
    ax.set_xlabel(f"mass of evidence (ignorance {ignorance:.2f})")
    ax.set_title(_answer(names, in_set), loc="left", fontsize=10)


def _draw_legend(ax: Axes, diamonds: Line2D, line: Line2D) -> None:
    from matplotlib.patches import Patch
    from matplotlib.transforms import ScaledTranslation

    # In points below the Axes, so that it clears the label of the axis whatever the height of the Axes.
    below = ax.transAxes + ScaledTranslation(0, -32 / 72, cast("Figure", ax.figure).dpi_scale_trans)
    words = ["belief", "up to plausibility", str(diamonds.get_label()), "largest belief"]
    ax.legend(
        [Patch(color="#666666"), Patch(color=PALE), diamonds, line],
        words,
        fontsize=7.5,
        frameon=False,
        ncols=4,
        columnspacing=1.2,
        handlelength=1.6,
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        bbox_transform=below,
    )


def _answer(names: list[str], in_set: NDArray[np.bool_]) -> str:
    """The prediction set as a reader says it."""
    chosen = [name for name, inside in zip(names, in_set, strict=True) if inside]
    if len(chosen) == 1:
        return chosen[0]
    if len(chosen) == len(names):
        return "no answer"
    more = f" and {len(chosen) - _MAX_NAMED} more" if len(chosen) > _MAX_NAMED else ""
    return " or ".join(chosen[:_MAX_NAMED]) + more
