"""How often answers are right, beside how often the commonest answer would be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._read.explanation.page import Section, Table
from ferl._util.text import percent_text, plain, spoken


@dataclass(frozen=True)
class Accuracy:
    """How often a model is right on some rows.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    accuracy : float
        Share of the rows that get their label.
    commonest : object
        The commonest label of these rows.
    baseline : float
        Its share: the accuracy of always answering this label.
    recalls : tuple of (object, int, float)
        For each label, its number of rows and the share of them that get it.
    """

    n_rows: int
    accuracy: float
    commonest: Any
    baseline: float
    recalls: tuple[tuple[Any, int, float], ...]

    @property
    def section(self) -> Section:
        """In words."""
        rows = tuple((spoken(label), str(n), percent_text(recall)) for label, n, recall in self.recalls)
        line = (
            f"Accuracy is {100 * self.accuracy:.1f} % on {self.n_rows} rows. Always answering {spoken(self.commonest)} "
            f"would be right for {100 * self.baseline:.1f} % of them."
        )
        return Section("How good it is", (line,), Table(("class", "rows", "found"), rows))

    def to_dict(self) -> dict[str, Any]:
        """All of it in the types of JSON."""
        return {
            "n_rows": self.n_rows,
            "accuracy": self.accuracy,
            "commonest": plain(self.commonest),
            "baseline": self.baseline,
            "recalls": [{"label": plain(label), "n_rows": n, "recall": recall} for label, n, recall in self.recalls],
        }


def read_accuracy(labels: NDArray[Any], answers: NDArray[Any], told: Sequence[Any] = ()) -> Accuracy:
    """How often answers are the labels of their rows.

    Parameters
    ----------
    labels, answers : ndarray of shape (n_samples,)
        The true labels, and what a model answers.
    told : sequence, default=()
        Labels that know what sentences call them.

    Returns
    -------
    Accuracy
    """
    if len(labels) != len(answers) or not len(labels):
        raise ValueError(f"X has {len(answers)} rows and y has {len(labels)}; each row needs one label.")
    is_right = np.asarray(labels == answers)
    distinct, index, counts = np.unique(labels, return_inverse=True, return_counts=True)
    right = np.bincount(index, is_right)
    words = {label: label for label in told}  # a label equals the one that knows its words
    names = [words.get(label, label) for label in distinct.tolist()]
    return Accuracy(
        len(labels),
        float(is_right.mean()),
        names[int(counts.argmax())],
        float(counts.max() / len(labels)),
        tuple(zip(names, counts.tolist(), (right / counts).tolist(), strict=True)),
    )
