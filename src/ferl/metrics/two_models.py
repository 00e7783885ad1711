"""Two classifiers on the same rows: which is better, where they differ, and by which features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._tables import codes_of
from ferl._tell.page import Readable, Section, Table, as_plain
from ferl._util.arrays import Floats
from ferl._util.text import listed, percent_text, plain, shown, spoken

NORMAL_95 = 1.959963984540054  # 97.5 % of a normal distribution lie below it
LEAST_PROBABILITY = 1e-15  # as in scikit-learn's log_loss
MAX_FEATURES = 10
Codes = NDArray[np.intp]


@dataclass(frozen=True)
class Difference:
    """A measure of two classifiers on the same rows.

    Attributes
    ----------
    measure : str
        "accuracy", "AUC" or "log-loss".
    a, b : float
        The measure of each.
    difference : float
        The measure of ``b`` minus the measure of ``a``.
    low, high : float
        The 95 % interval of the difference; NaN where a single row leaves it open.
    is_larger_better : bool
        Whether a larger value is better.
    """

    measure: str
    a: float
    b: float
    difference: float
    low: float
    high: float
    is_larger_better: bool = True

    @property
    def interval(self) -> str:
        """The interval in words."""
        return "not known" if math.isnan(self.low) else f"{self.low:+.4f} to {self.high:+.4f}"

    @property
    def better(self) -> str | None:
        """The classifier that is better beyond chance, "a" or "b"; None where the interval holds zero."""
        if not (self.low > 0 or self.high < 0):
            return None
        return "b" if (self.low > 0) == self.is_larger_better else "a"


@dataclass(frozen=True)
class RowDifference:
    """A row that two classifiers judge differently.

    Attributes
    ----------
    row : int
        Its index, from 0.
    truth, label_a, label_b : object
        The true label, and the predicted ones.
    probability_a, probability_b : float
        The probability of the true label by each classifier.
    """

    row: int
    truth: Any
    label_a: Any
    label_b: Any
    probability_a: float
    probability_b: float


@dataclass(frozen=True)
class FeatureDifference:
    """What a feature does in two models of rules.

    Attributes
    ----------
    feature : str
        Its name.
    a, b : float
        How far it moves two classes apart in each, in log-odds: the mean over the rows of its contributions, each less
        the mean contribution over the rows.
    difference : float
        The same of the difference of both contributions: 0 where both models use the feature alike.
    """

    feature: str
    a: float
    b: float
    difference: float


@dataclass(frozen=True)
class Comparison(Readable):
    """Two classifiers on the same rows; see :func:`ferl.compare`.

    Attributes
    ----------
    names : tuple of str
        What the classifiers are called.
    n_rows : int
        Number of rows.
    measures : tuple of Difference
        Accuracy, AUC and log-loss. AUC is missing where some class has no row.
    n_both, n_only_a, n_only_b, n_neither : int
        Rows that both label rightly, only one of them, or neither.
    n_changed : int
        Rows with different labels.
    rows : tuple of RowDifference
        The rows whose probabilities lie furthest apart, the furthest first.
    features : tuple of FeatureDifference or None
        The features, those first that the models use most differently; None unless both are ``FERLClassifier``.
    """

    names: tuple[str, str]
    n_rows: int
    measures: tuple[Difference, ...]
    n_both: int
    n_only_a: int
    n_only_b: int
    n_neither: int
    n_changed: int
    rows: tuple[RowDifference, ...]
    features: tuple[FeatureDifference, ...] | None

    @cached_property
    def summary(self) -> str:
        """Which classifier is better, by which measures."""
        a, b = map(spoken, self.names)
        won = {
            name: [one.measure for one in self.measures if one.better == side] for side, name in (("a", a), ("b", b))
        }
        clauses = [f"{name} is better by {listed(one)}" for name, one in won.items() if one]
        changed = f"They label {self.n_changed:,} of {self.n_rows:,} rows differently."
        return f"{'; '.join(clauses) or f'No difference between {a} and {b} beyond chance'}. {changed}"

    @cached_property
    def _sections(self) -> list[Section]:
        a, b = map(spoken, self.names)
        figures = tuple(
            (
                one.measure,
                f"{one.a:.4f}",
                f"{one.b:.4f}",
                f"{one.difference:+.4f}",
                f"{one.low:+.4f} to {one.high:+.4f}",
            )
            for one in self.measures
        )
        right = (("both", self.n_both), (f"only {a}", self.n_only_a), (f"only {b}", self.n_only_b))
        counts = tuple((who, f"{n:,}", f"{n / self.n_rows:.1%}") for who, n in (*right, ("neither", self.n_neither)))
        rows = tuple(
            (
                str(one.row),
                *map(spoken, (one.truth, one.label_a, one.label_b)),
                percent_text(one.probability_a),
                percent_text(one.probability_b),
            )
            for one in self.rows
        )
        page = [
            Section("", (self.summary,), is_lead=True),
            Section(
                f"Measures on {self.n_rows:,} rows",
                (
                    Table(("", a, b, f"{b} less {a}", "95 % interval"), figures),
                    "Intervals: paired differences by the normal approximation; for AUC, DeLong's method.",
                ),
            ),
            Section("Who is right", (Table(("", "rows", ""), counts),)),
        ]
        if rows:
            heads = ("row", "truth", a, b, f"truth by {a}", f"truth by {b}")
            page.append(Section("Where they differ most", (Table(heads, rows, "rlllrr"),)))
        if self.features:
            used = tuple(
                (spoken(one.feature), f"{one.a:.2f}", f"{one.b:.2f}", f"{one.difference:.2f}")
                for one in self.features[:MAX_FEATURES]
            )
            note = (
                "The mean log-odds by which a feature moves two classes apart; the last column applies this to the "
                "difference of both models."
            )
            page.append(Section("Features", (Table(("feature", a, b, "difference"), used), note)))
        return page

    def to_dict(self) -> dict[str, Any]:
        """All of it in the types of JSON."""
        fields = {name: as_plain(value) for name, value in vars(self).items() if not name.startswith("_")}
        better = [one.better for one in self.measures]
        for figures, one in zip(fields["measures"], better, strict=True):
            figures["better"] = one
        return {key: value for key, value in fields.items() if key != "summary"} | {"summary": self.summary}


def compare(
    a: Any, b: Any, X: ArrayLike, y: ArrayLike, *, names: Sequence[str] = ("a", "b"), n_rows: int = 10
) -> Comparison:
    """Compare two fitted classifiers on the same rows: a challenger with a champion.

    Parameters
    ----------
    a, b : classifier
        Fitted classifiers in the style of scikit-learn, with ``classes_``, ``predict`` and ``predict_proba``, of the
        same classes.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows that neither was fitted on.
    y : array-like of shape (n_samples,)
        Their labels.
    names : sequence of two str, default=("a", "b")
        What the classifiers are called.
    n_rows : int, default=10
        Largest number of rows to list.

    Returns
    -------
    Comparison
        ``print`` it for text, show it in a notebook for HTML, or take its fields. The intervals are for paired
        differences, by the normal approximation. AUC (with three or more classes, the mean of each class against the
        others) uses the components of DeLong's method. Two ``FERLClassifier`` are also compared by what each feature
        contributes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ferl import FERLClassifier, compare
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> champion = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[::2], y[::2])
    >>> challenger = FERLClassifier(random_state=0).fit(X[::2], y[::2])
    >>> result = compare(champion, challenger, X[1::2], y[1::2], names=("logistic", "rules"))
    >>> print(result.summary)
    No difference between logistic and rules beyond chance. They label 7 of 284 rows differently.
    """
    if len(names) != 2 or names[0] == names[1]:
        raise ValueError(f"names is {shown(list(names))}; give two different names.")
    if n_rows < 0:
        raise ValueError(f"n_rows is {n_rows}; it must be at least 0.")
    classes, labels = _shared_classes(a, b), np.asarray(y)
    p = [_probabilities(one, X, classes) for one in (a, b)]
    if labels.shape != (len(p[0]),):
        raise ValueError(f"y has shape {labels.shape} and X has {len(p[0])} rows; pass one label for each row.")
    if not len(labels):
        raise ValueError("X has no rows; a comparison needs some.")
    truth = codes_of(labels, classes)
    if (truth < 0).any():
        other = labels[int(np.argmax(truth < 0))]
        raise ValueError(f"y holds {shown(plain(other))}, which is none of the classes {shown(classes.tolist())}.")
    guess = [codes_of(np.asarray(one.predict(X)), classes) for one in (a, b)]
    right = [one == truth for one in guess]
    everyone = np.arange(len(truth))
    losses = [-np.log(np.clip(one[everyone, truth], LEAST_PROBABILITY, None)) for one in p]
    measures = [_difference("accuracy", [one.astype(np.float64) for one in right])]
    if len(np.unique(truth)) == len(classes) > 1:
        measures.append(_difference("AUC", [auc_components(truth, one) for one in p]))
    measures.append(_difference("log-loss", losses, is_larger_better=False))
    apart = np.abs(p[0] - p[1]).max(axis=1)
    order = [k for k in np.argsort(-apart, kind="stable")[:n_rows].tolist() if apart[k] > 0]
    rows = tuple(
        RowDifference(
            k,
            plain(classes[truth[k]]),
            plain(classes[guess[0][k]]),
            plain(classes[guess[1][k]]),
            float(p[0][k, truth[k]]),
            float(p[1][k, truth[k]]),
        )
        for k in order
    )
    both, neither = right[0] & right[1], ~right[0] & ~right[1]
    return Comparison(
        (str(names[0]), str(names[1])),
        len(truth),
        tuple(measures),
        int(both.sum()),
        int((right[0] & ~right[1]).sum()),
        int((right[1] & ~right[0]).sum()),
        int(neither.sum()),
        int((guess[0] != guess[1]).sum()),
        rows,
        _features(a, b, X, classes),
    )


def _shared_classes(a: Any, b: Any) -> NDArray[Any]:
    for name, one in (("a", a), ("b", b)):
        lacking = [part for part in ("classes_", "predict", "predict_proba") if not hasattr(one, part)]
        if lacking:
            raise TypeError(
                f"{name} is a {type(one).__name__} without {lacking[0]}; pass a fitted classifier that has it."
            )
    first, second = (np.asarray(one.classes_) for one in (a, b))
    if set(first.tolist()) != set(second.tolist()):
        raise ValueError(
            f"a has the classes {shown(first.tolist())} and b {shown(second.tolist())}; fit both on the same classes."
        )
    return first


def _probabilities(one: Any, X: Any, classes: NDArray[Any]) -> Floats:
    order = [one.classes_.tolist().index(label) for label in classes.tolist()]
    return np.asarray(one.predict_proba(X), dtype=np.float64)[:, order]


def _difference(measure: str, parts: Sequence[Floats], is_larger_better: bool = True) -> Difference:
    """Means of what each row adds to a measure, and the interval of their paired difference."""
    a, b = parts
    apart, n = b - a, len(a)
    middle = float(apart.mean())
    spread = NORMAL_95 * float(apart.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return Difference(
        measure, float(a.mean()), float(b.mean()), middle, middle - spread, middle + spread, is_larger_better
    )


def auc_components(truth: NDArray[Any], probability: Floats) -> Floats:
    """What each row adds to the AUC, so that the mean over the rows is the AUC, shape (n_samples,).

    These are DeLong's structural components, scaled: a row of a class counts by the share of other rows that it
    outranks, and a row of the others by the share of this class that outranks it. Two classes have one AUC, three and
    more the mean over the classes.

    Parameters
    ----------
    truth : ndarray of int of shape (n_samples,)
        Index of the true class of each row; every class has rows.
    probability : ndarray of shape (n_samples, n_classes)
        Probabilities.

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> p = np.array([0.1, 0.4, 0.35, 0.8])
    >>> float(auc_components(np.array([0, 0, 1, 1]), np.stack([1 - p, p], axis=1)).mean())
    0.75
    """
    n_classes = probability.shape[1]
    compared = [1] if n_classes == 2 else list(range(n_classes))
    out = np.zeros(len(truth))
    for c in compared:
        score, one = probability[:, c], truth == c
        positive, negative = np.sort(score[one]), np.sort(score[~one])
        # The share of the others that a row outranks; equal ones count half.
        above = _outranked(negative, score[one])
        below = 1 - _outranked(positive, score[~one])
        auc = float(above.mean())
        part = np.empty(len(truth))
        part[one] = auc + (above - auc) * len(truth) / one.sum()
        part[~one] = auc + (below - auc) * len(truth) / (~one).sum()
        # Each sum of deviations is zero, so that the mean stays the AUC.
        out += part / len(compared)
    return out


def _outranked(ranked: Floats, score: Floats) -> Floats:
    lower, upper = np.searchsorted(ranked, score, "left"), np.searchsorted(ranked, score, "right")
    return np.asarray((lower + upper) / (2 * len(ranked)))


def _features(a: Any, b: Any, X: Any, classes: NDArray[Any]) -> tuple[FeatureDifference, ...] | None:
    """What the features do in two models of rules; None unless both are, on the same features."""
    if not all(hasattr(one, "feature_contributions") and hasattr(one, "model_") for one in (a, b)):
        return None
    names = a.model_.feature_names()
    if names != b.model_.feature_names():
        return None
    parts = []
    for one in (a, b):
        order = [one.classes_.tolist().index(label) for label in classes.tolist()]
        result = one.feature_contributions(X)[:, : len(names)][:, :, order]
        parts.append(result - result.mean(axis=0))
    spans = [np.ptp(one, axis=2).mean(axis=0) for one in (*parts, parts[1] - parts[0])]
    result = [FeatureDifference(name, *(float(one[k]) for one in spans)) for k, name in enumerate(names)]
    return tuple(sorted((one for one in result if one.a or one.b), key=lambda one: -one.difference))
