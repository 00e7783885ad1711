"""What a change of a classifier costs on given rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import log_loss, roc_auc_score

from ferl._tables import codes_of
from ferl._util.arrays import Floats
from ferl._util.text import shown


@dataclass(frozen=True)
class Quality:
    """How good probabilities are on given rows; ``auc`` is NaN unless there are two classes, and rows of both."""

    accuracy: float
    log_loss: float
    auc: float


@dataclass(frozen=True)
class Cost:
    """A classifier before and after a change, on the same rows.

    Attributes
    ----------
    before, after : Quality
        Accuracy, log-loss, and the area under the ROC curve.
    n_changed : int
        Number of rows that get another label.
    n_rows : int
        Number of rows.
    """

    before: Quality
    after: Quality
    n_changed: int
    n_rows: int

    def __str__(self) -> str:
        parts = [
            f"accuracy {_figure(self.before.accuracy)} -> {_figure(self.after.accuracy)}",
            f"log-loss {_figure(self.before.log_loss)} -> {_figure(self.after.log_loss)}",
        ]
        if not np.isnan(self.before.auc):
            parts.append(f"AUC {_figure(self.before.auc)} -> {_figure(self.after.auc)}")
        get = "gets" if self.n_changed == 1 else "get"
        return f"{', '.join(parts)}; {self.n_changed} of {self.n_rows} rows {get} another label"


def _figure(value: float) -> str:
    """Four digits."""
    return f"{value:.4f}" if value < 1 else f"{value:.3f}"


def cost_of_change(classes: NDArray[Any], y: ArrayLike, before: Floats, after: Floats) -> Cost:
    """Compare the probabilities of two classifiers.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels.
    y : array-like of shape (n_samples,)
        Labels of the rows, all of them among the classes.
    before, after : ndarray of shape (n_samples, n_classes)
        Probabilities.

    Returns
    -------
    Cost

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([[0.8, 0.2], [0.4, 0.6], [0.3, 0.7]])
    >>> print(cost_of_change(np.array(["no", "yes"]), ["no", "yes", "yes"], p, p[[0, 0, 2]]))
    accuracy 1.000 -> 0.6667, log-loss 0.3635 -> 0.7298, AUC 1.000 -> 0.7500; 1 of 3 rows gets another label
    """
    labels: NDArray[Any] = np.asarray(y)
    if labels.shape != (len(before),):
        raise ValueError(f"y has shape {labels.shape} and X has {len(before)} rows; pass one label for each row.")
    if not len(labels):
        raise ValueError("X has no rows; a cost needs rows to be measured on.")
    codes = codes_of(labels, classes)
    if (codes < 0).any():
        other = labels[int(np.argmax(codes < 0))]
        raise ValueError(f"y holds {shown(other)}, which is none of the classes {shown(classes.tolist())}.")
    n_changed = int((before.argmax(axis=1) != after.argmax(axis=1)).sum())
    return Cost(_quality(codes, before), _quality(codes, after), n_changed, len(codes))


def _quality(codes: NDArray[np.int32], probability: Floats) -> Quality:
    n_classes = probability.shape[1]
    accuracy = float((probability.argmax(axis=1) == codes).mean())
    loss = 0.0 if n_classes == 1 else float(log_loss(codes, probability, labels=np.arange(n_classes)))
    has_both = n_classes == 2 and len(np.unique(codes)) == 2
    return Quality(accuracy, loss, float(roc_auc_score(codes, probability[:, 1])) if has_both else float("nan"))
