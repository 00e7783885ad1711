"""ConceptBottleneckFERL: rules over the concepts that a detector sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ferl._answers import model_of
from ferl._models.evidence import Evidence
from ferl._models.rule_model import RuleModel
from ferl._sklearn import HasMethods, StrOptions, fit_context
from ferl._tell.reasons import Reason, read_reasons
from ferl._util.arrays import Floats
from ferl._wrapper import checked_labels, drawn_seed, unfitted
from ferl.concepts.detectors import ConceptCalibrator, ConceptDetector, n_rows_of, see_concepts
from ferl.concepts.explanation import (
    ConceptExplanation,
    Correction,
    concept_words,
    explain_concepts,
    intervene,
    is_known,
    named_table,
    rank_corrections,
)
from ferl.rules import FERLClassifier

Known = Mapping[str, Any]


def default_head(concept_names: Sequence[str]) -> FERLClassifier:
    """Rules, one for each concept that matters: the more it is present, the more the rule adds.

    Chosen on training rows (docs/guide/concepts.md): rules that are free to choose their ramps were no better, and
    pruning less than elsewhere keeps a few concepts more.

    Parameters
    ----------
    concept_names : sequence of str
        Names of the concepts.

    Returns
    -------
    FERLClassifier
        Not fitted.
    """
    words = concept_words(concept_names, between=(0.0, 1.0))
    return FERLClassifier(words, max_conditions=1, prune=0.0007)


class ConceptBottleneckFERL(ClassifierMixin, BaseEstimator):
    """Rules over what a detector sees.

    A detector gives each row (an image, its features, a text) the probability of concepts with names, "has a red wing".
    They are calibrated, and FERL's rules decide from them alone: rules, evidence, reasons, abstention and novelty refer
    to concepts, and a wrongly detected concept can be corrected.

    Parameters
    ----------
    detector : None, "precomputed", callable or estimator, default=None
        Detects the concepts. An estimator with ``fit(X, concepts)`` and ``predict_proba(X)`` is fitted here:
        scikit-learn's classifiers of several outputs, or a network with these two methods. A callable returns
        probabilities of shape (n_samples, n_concepts) and is used as it is. "precomputed": X holds the probabilities.
        None: a logistic regression for each concept on standardised features.
    head : FERLClassifier, default=None
        The rules. None: ``FERLClassifier(max_conditions=1, words=concept_words(names, between=(0, 1)),
        prune=0.0007)``: at most one rule for each of up to 150 concepts, "has a red wing is present", whose evidence
        adds up.
    class_concepts : mapping, or array-like or data frame of shape (n_classes, n_concepts), default=None
        Concepts of each class, 1 or 0: a row for each label (a dict, or a data frame with the labels as its index), or
        in the sorted order of the labels. Needed where ``fit`` gets no concepts of each row.
    concept_names : sequence of str, default=None
        Names of the concepts. None: the column names of the data frame of concepts, or "concept 0", ...
    calibration : {"isotonic"} or None, default="isotonic"
        Whether to calibrate, one isotonic regression for each concept.
    cv : int, cross-validation splitter, list of splits or None, default=5
        Folds for cross-fitting: calibration and head learn from concepts of rows that the detector had not seen.
        None: they learn from concepts that are more accurate than the concepts of new rows.
    refit : bool, default=True
        Whether the detector is fitted once more, on all rows, to judge new ones. False: the detectors of the folds
        judge them together, by their mean; slower, and steadier.
    random_state : int, RandomState or None, default=None
        Seed of folds, and of detector and head where these have no seed.

    Attributes
    ----------
    detector_ : ConceptDetector or FoldDetectors
        What judges new rows.
    calibrator_ : ConceptCalibrator or None
        The calibration.
    head_ : FERLClassifier
        The rules; ``export_text(model.head_)`` prints them.
    concept_names_ : tuple of str
        Names of the concepts.
    training_concepts_ : ndarray of shape (n_samples, n_concepts)
        What the head was fitted on: to fit other heads, or a :class:`ferl.NoveltyDetector`, on the same.
    classes_ : ndarray of shape (n_classes,)
        The labels.

    Notes
    -----
    With a callable or precomputed probabilities there is no detector to cross-fit: give rows that it was not trained
    on, or probabilities that are out-of-fold already.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl.concepts import ConceptBottleneckFERL
    >>> rng = np.random.default_rng(0)
    >>> y = rng.choice(["magpie", "raven", "swan"], 300)
    >>> table = {"magpie": [1, 1], "raven": [0, 1], "swan": [1, 0]}
    >>> X = np.array([table[bird] for bird in y]) + rng.normal(0, 0.4, (300, 2))  # two noisy measurements
    >>> model = ConceptBottleneckFERL(
    ...     class_concepts=table, concept_names=["has white", "has black"], random_state=0
    ... ).fit(X, y)
    >>> bird = [[0.9, 0.2]]
    >>> model.predict(bird), model.predict(bird, known={"has black": 1})
    (array(['swan'], dtype='<U6'), array(['magpie'], dtype='<U6'))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "detector": [HasMethods(["fit", "predict_proba"]), callable, StrOptions({"precomputed"}), None],
        "head": [HasMethods(["fit", "predict_evidence", "novelty_attribution"]), None],
        "class_concepts": [Mapping, "array-like", None],
        "concept_names": ["array-like", None],
        "calibration": [StrOptions({"isotonic"}), None],
        "cv": ["cv_object"],
        "refit": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        detector: Any = None,
        head: FERLClassifier | None = None,
        *,
        class_concepts: Mapping[Any, ArrayLike] | ArrayLike | None = None,
        concept_names: Sequence[str] | None = None,
        calibration: str | None = "isotonic",
        cv: Any = 5,
        refit: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.detector = detector
        self.head = head
        self.class_concepts = class_concepts
        self.concept_names = concept_names
        self.calibration = calibration
        self.cv = cv
        self.refit = refit
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike, concepts: ArrayLike | None = None) -> Self:
        """Fit detector, calibration and rules.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            Rows, whatever the detector takes.
        y : array-like of shape (n_samples,)
            Labels.
        concepts : array-like or data frame of shape (n_samples, n_concepts), default=None
            Concepts of each row: 1, 0, or NaN where unknown. None: the concepts of its class.

        Returns
        -------
        ConceptBottleneckFERL
            The estimator itself.
        """
        # An interrupted or refused fit leaves no half-new, half-old model behind.
        for name in ("head_", "detector_", "calibrator_", "concept_names_", "training_concepts_"):
            self.__dict__.pop(name, None)
        labels = checked_labels(y, n_rows_of(X))
        truth, names = concept_labels(labels, concepts, self.class_concepts, self.concept_names)
        seed = drawn_seed(self.random_state)
        detector = ConceptDetector(_seeded(self.detector, seed))
        seen = see_concepts(detector, X, truth, labels, self.cv, seed, refit=self.refit)
        calibrator, trained_on = None, seen.probability
        if self.calibration is not None:
            calibrator = ConceptCalibrator().fit(seen.probability, truth)
            trained_on = calibrator.transform(seen.probability)
        head = _seeded(default_head(names) if self.head is None else self.head, seed)
        self.head_ = head.fit(named_table(trained_on, names), labels)
        self.detector_, self.calibrator_ = seen.detector, calibrator
        self.concept_names_, self.training_concepts_ = names, trained_on
        return self

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of the columns."""
        check_is_fitted(self)
        return np.asarray(self.head_.classes_)

    def predict_concepts(self, X: Any, known: Known | None = None) -> Floats:
        """Calibrated probability of each concept, as the rules see it, shape (n_samples, n_concepts).

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            Rows.
        known : mapping of str to value, default=None
            Concepts that somebody looked at: 1 for present, 0 for absent, NaN for what cannot be seen (a missing value,
            whatever the detector returns); one value for all rows, or one for each, with None for unchecked rows.

        Returns
        -------
        ndarray of shape (n_samples, n_concepts)
        """
        check_is_fitted(self)
        seen = self.detector_.predict_proba(X)
        calibrated = seen if self.calibrator_ is None else self.calibrator_.transform(seen)
        return intervene(calibrated, self.concept_names_, known)

    def predict_evidence(self, X: Any, known: Known | None = None) -> Evidence:
        """Belief, plausibility, ignorance and conflict of each row; ``known`` as in :meth:`predict_concepts`."""
        evidence: Evidence = self.head_.predict_evidence(self._rows(X, known))
        return evidence

    def predict_proba(self, X: Any, known: Known | None = None) -> Floats:
        """Pignistic probability, shape (n_samples, n_classes); ``known`` as in :meth:`predict_concepts`."""
        return self.predict_evidence(X, known).probability

    def predict(self, X: Any, known: Known | None = None) -> NDArray[Any]:
        """Most probable label of each row, shape (n_samples,); ``known`` as in :meth:`predict_concepts`."""
        return np.asarray(self.classes_[self.predict_proba(X, known).argmax(axis=1)])

    def predict_set(self, X: Any, known: Known | None = None, *, level: float | None = None) -> NDArray[np.bool_]:
        """Classes in the prediction set, bool of shape (n_samples, n_classes).

        ``known`` as in :meth:`predict_concepts`, ``level`` as in :meth:`ferl.FERLClassifier.predict_set`, for a head of
        rules alone.
        """
        return self.predict_evidence(X, known).prediction_set(level)

    def novelty(self, X: Any, known: Known | None = None, *, measure: str | None = None) -> Floats:
        """How unlike the training rows the concepts of each row are, shape (n_samples,).

        Parameters
        ----------
        X, known
            As in :meth:`predict_concepts`.
        measure : {"neighbour", "residual"}, default=None
            As in :meth:`ferl.FERLClassifier.novelty`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.asarray(self.head_.novelty(self._rows(X, known), measure=measure))

    def novelty_attribution(self, X: Any, known: Known | None = None, *, measure: str | None = None) -> Floats:
        """What each concept adds to :meth:`novelty`, shape (n_samples, n_concepts)."""
        return np.asarray(self.head_.novelty_attribution(self._rows(X, known), measure=measure))

    def reason_codes(
        self, X: Any, known: Known | None = None, *, n: int = 4, positive: Any = None, against: str = "average"
    ) -> list[tuple[Reason, ...]]:
        """What cost each row most on its way to a class, in concepts; for heads that are rules.

        Parameters
        ----------
        X, known
            As in :meth:`predict_concepts`.
        n, positive, against
            As in :func:`ferl.export.reason_codes`.

        Returns
        -------
        list of tuple of Reason
            For each row what cost it most, first.
        """
        rows = self._rows(X, known)
        return read_reasons(
            model_of(self.head_, "reason_codes", RuleModel, "explain"), self.head_._rows(rows), n, positive, against
        )

    def corrections(self, X: Any, known: Known | None = None, *, n: int = 4) -> list[tuple[Correction, ...]]:
        """Which concepts of each row, if somebody corrected them, would change its answer most.

        Each concept that the rules use is tried as present and as absent; the change in the probabilities of all
        classes counts, whether or not the label changes.

        Parameters
        ----------
        X, known
            As in :meth:`predict_concepts`. What is known of a row already is not tried again.
        n : int, default=4
            Most corrections of a row.

        Returns
        -------
        list of tuple of Correction
            For each row the correction that changes its answer most, first.

        Examples
        --------
        >>> import numpy as np
        >>> from ferl.concepts import ConceptBottleneckFERL
        >>> seen = np.tile([[0.9, 0.9], [0.1, 0.9], [0.9, 0.1]], (50, 1))  # how probable white and black are
        >>> table = {"magpie": [1, 1], "raven": [0, 1], "swan": [1, 0]}
        >>> model = ConceptBottleneckFERL(
        ...     "precomputed", class_concepts=table, concept_names=["has white", "has black"], random_state=0
        ... ).fit(seen, np.tile(["magpie", "raven", "swan"], 50))
        >>> (best,) = model.corrections([[0.9, 0.1]], n=1)[0]
        >>> best.concept, best.to, best.label
        ('has black', 1, 'magpie')
        """
        if n < 1:
            raise ValueError(f"n is {n}; it must be at least 1.")
        concepts = self.predict_concepts(X, known)
        rows = zip(concepts, is_known(self.concept_names_, known, len(concepts)), strict=True)
        return [rank_corrections(self.head_, row, self.concept_names_, done)[:n] for row, done in rows]

    def explain(self, x: Any, known: Known | None = None) -> ConceptExplanation:
        """One row's story, in concepts: the rules that fired, what is anomalous, and which correction matters most.

        Parameters
        ----------
        x : array-like of shape (1, ...)
            A table of one row.
        known : mapping of str to value, default=None
            As in :meth:`predict_concepts`.

        Returns
        -------
        ConceptExplanation
        """
        concepts = self.predict_concepts(x, known)
        if len(concepts) != 1:
            raise ValueError(f"explain explains one row; x has {len(concepts)}. Pass X[i : i + 1].")
        return explain_concepts(self.head_, concepts[0], self.concept_names_, known or {})

    def _rows(self, X: Any, known: Known | None) -> Any:
        concepts = self.predict_concepts(X, known)
        return named_table(concepts, self.concept_names_)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self.detector is None or isinstance(self.detector, str)
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "training_concepts_")


def _seeded(estimator: Any, seed: int) -> Any:
    """A copy with this seed, if it takes a seed and has none; what is no estimator is returned as it is."""
    if not hasattr(estimator, "get_params") or isinstance(estimator, type):
        return estimator
    copy = unfitted(estimator)
    empty = [name for name, value in copy.get_params().items() if name.endswith("random_state") and value is None]
    return copy.set_params(**dict.fromkeys(empty, seed))


# ---------------------------------------------------------------------------------------------------------------------
# Concepts of the training rows
# ---------------------------------------------------------------------------------------------------------------------


def concept_labels(
    y: NDArray[Any],
    concepts: ArrayLike | None,
    class_concepts: Mapping[Any, ArrayLike] | ArrayLike | None,
    names: Sequence[str] | None,
) -> tuple[Floats, tuple[str, ...]]:
    """Concepts of the training rows, from labels of the rows or of their classes.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Classes of the rows.
    concepts : array-like or data frame of shape (n_samples, n_concepts), or None
        Labels of the rows.
    class_concepts : mapping, or array-like or data frame of shape (n_classes, n_concepts), or None
        Labels of the classes: a row for each class by name (a dict, or a data frame with the labels as its index), or
        in the sorted order of the classes that are in ``y``.
    names : sequence of str or None
        Names of the concepts. None: the column names of the data frame, or "concept 0", "concept 1", ...

    Returns
    -------
    truth : ndarray of shape (n_samples, n_concepts)
        1 where the row has the concept, 0 where it lacks it, NaN where this is unknown.
    names : tuple of str
        Names of the concepts.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl.concepts.estimator import concept_labels
    >>> table = {"swan": [1, 0], "magpie": [1, 1]}
    >>> concept_labels(np.array(["magpie", "swan"]), None, table, ["has white", "has black"])[0]
    array([[1., 1.],
           [1., 0.]])
    """
    if concepts is not None:
        value, own_names = _table(concepts), _column_names(concepts)
        if len(value) != len(y):
            raise ValueError(f"concepts has {len(value)} rows and y {len(y)} labels. Pass the concepts of each row.")
    elif class_concepts is not None:
        value, own_names = _of_classes(y, class_concepts), _column_names(class_concepts)
    else:
        raise ValueError(
            "No concept labels. Pass the concepts of each row, fit(X, y, concepts), or those of each class, "
            "ConceptBottleneckFERL(class_concepts={label: [0, 1, ...]})."
        )
    _refuse_other_values(value)
    return value, _checked_names(names or own_names, value.shape[1])


def _of_classes(y: NDArray[Any], class_concepts: Any) -> Floats:
    classes, codes = np.unique(y, return_inverse=True)
    class_concepts = _by_label(class_concepts)
    if isinstance(class_concepts, Mapping):
        missing = [label for label in classes.tolist() if label not in class_concepts]
        if missing:
            raise ValueError(f"class_concepts has no row for the class {missing[0]!r}. Add one, or leave its rows out.")
        rows = [class_concepts[label] for label in classes.tolist()]
        if len({np.size(row) for row in rows}) > 1:
            raise ValueError("The rows of class_concepts differ in length. Give each class a value for each concept.")
        return _table(rows)[codes]
    table = _table(class_concepts)
    if len(table) != len(classes):
        raise ValueError(
            f"class_concepts has {len(table)} rows, but y holds {len(classes)} classes. Pass a row for each, in sorted "
            "order, or a dict from label to row, which may hold further classes."
        )
    return table[codes]


def _by_label(class_concepts: Any) -> Any:
    """A data frame whose index holds labels as a mapping; anything else as it is."""
    index = getattr(class_concepts, "index", None)
    if isinstance(class_concepts, Mapping) or index is None or callable(index):
        return class_concepts
    labels = index.tolist()
    if labels == list(range(len(labels))):  # rows that were only counted
        return class_concepts
    return dict(zip(labels, np.asarray(class_concepts), strict=True))


def _table(values: Any) -> Floats:
    try:
        table = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("Concept labels must be numbers: 1, 0, or NaN where a concept is not known.") from error
    if table.ndim != 2 or not table.shape[1]:
        raise ValueError(f"Concept labels have the shape {table.shape}; one column for each concept is needed.")
    return table


def _column_names(values: Any) -> list[str] | None:
    columns = getattr(values, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def _refuse_other_values(value: Floats) -> None:
    odd = ~(np.isnan(value) | (value == 0) | (value == 1))
    if odd.any():
        row, column = np.argwhere(odd)[0]
        raise ValueError(
            f"The concept label of row {row}, concept {column} is {value[row, column]:g}; use 1, 0, or NaN where it is "
            "not known."
        )


def _checked_names(names: Sequence[str] | None, n_concepts: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"concept {number}" for number in range(n_concepts))
    if len(names) != n_concepts:
        raise ValueError(f"concept_names has {len(names)} names for {n_concepts} concepts. Pass one for each.")
    repeated = sorted({str(name) for name in names if list(names).count(name) > 1})
    if repeated:
        raise ValueError(f"The concept name {repeated[0]!r} is there more than once. Give each concept its own.")
    return tuple(str(name) for name in names)


# ---------------------------------------------------------------------------------------------------------------------
# An example that needs no download
# ---------------------------------------------------------------------------------------------------------------------

_STROKES: dict[str, str] = {
    "loop at the top": "89",
    "loop at the bottom": "68",
    "one big loop": "0",
    "flat stroke at the top": "57",
    "flat stroke at the bottom": "2",
    "stroke down the middle": "1",
    "long slanted stroke": "7",
    "crossing strokes": "4",
    "bulge to the right at the top": "2389",
    "bulge to the right at the bottom": "3568",
    "stroke on the left at the top": "0456",
    "stroke on the right at the bottom": "049",
}
"""Strokes by name, and the digits that have them as most people write them. No two digits have the same."""


@dataclass(frozen=True, eq=False)
class DigitStrokes:
    """Images of digits with their strokes.

    Attributes
    ----------
    X : ndarray of shape (1797, 64)
        Images of 8 x 8 pixels, line by line, 0 for white and 16 for black.
    y : ndarray of int of shape (1797,)
        The digits.
    class_concepts : dict of int to list of int
        Which strokes each digit has: 1 or 0.
    concept_names : tuple of str
        Names of the strokes.
    """

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    class_concepts: dict[int, list[int]]
    concept_names: tuple[str, ...]


def load_digit_strokes() -> DigitStrokes:
    """Digits of scikit-learn, which brings them along, with a table of twelve strokes.

    Returns
    -------
    DigitStrokes

    Examples
    --------
    >>> from ferl.concepts import load_digit_strokes
    >>> digits = load_digit_strokes()
    >>> [name for name, has in zip(digits.concept_names, digits.class_concepts[7]) if has]
    ['flat stroke at the top', 'long slanted stroke']
    """
    X, y = load_digits(return_X_y=True)
    table = {digit: [int(str(digit) in having) for having in _STROKES.values()] for digit in range(10)}
    return DigitStrokes(np.asarray(X), np.asarray(y, dtype=np.int64), table, tuple(_STROKES))
