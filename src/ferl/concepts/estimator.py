"""Corrections: concepts that somebody looked at and that the detector is no longer asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from ferl._read.evidence import Evidence
from ferl._sklearn import HasMethods, StrOptions, fit_context
from ferl._util.arrays import Floats
from ferl._wrapper import checked_labels
from ferl.classifier import FERLClassifier
from ferl.concepts.crossfit import ConceptCalibrator, see_concepts
from ferl.concepts.detectors import ConceptDetector
from ferl.concepts.explanation import ConceptExplanation, explain_concepts
from ferl.concepts.labels import concept_labels, named_table


def intervene(concepts: Floats, names: Sequence[str], known: Mapping[str, Any] | None) -> Floats:
    """Concepts of rows with some of them corrected.

    Parameters
    ----------
    concepts : ndarray of shape (n_rows, n_concepts)
        As detected.
    names : sequence of str
        Names of the concepts.
    known : mapping of str to value, optional
        What is known of some concepts: one value for all rows, or one for each. 1: present, 0: absent, between: as
        probable as that; NaN: cannot be seen, so that the detector is not trusted either; None: as detected.

    Returns
    -------
    ndarray of shape (n_rows, n_concepts)
        A copy.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl.concepts import intervene
    >>> seen = np.array([[0.2, 0.9], [0.6, 0.4]])
    >>> intervene(seen, ["has red wing", "swims"], {"has red wing": 1, "swims": [None, float("nan")]})
    array([[1. , 0.9],
           [1. , nan]])
    """
    corrected = np.array(concepts, dtype=np.float64)
    for name, value in (known or {}).items():
        column = _column(name, names)
        given, is_given = _values(name, value, len(corrected))
        corrected[is_given, column] = given[is_given]
    return corrected


def _column(name: str, names: Sequence[str]) -> int:
    if name not in names:
        near = get_close_matches(str(name), names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the first ones are {', '.join(map(repr, names[:3]))}."
        raise ValueError(f"There is no concept {name!r}; {hint}")
    return list(names).index(name)


def _values(name: str, value: ArrayLike | None, n_rows: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Values for all rows, and in which of them there is one."""
    entries = np.asarray(value, dtype=object)
    if entries.ndim == 0:
        entries = np.full(n_rows, entries[()], dtype=object)
    if entries.shape != (n_rows,):
        raise ValueError(
            f"known[{name!r}] has the shape {entries.shape} for {n_rows} rows. Give one value, or one for each row."
        )
    is_given = np.array([entry is not None for entry in entries], dtype=bool)
    values = np.full(n_rows, np.nan)
    try:
        values[is_given] = entries[is_given].astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"known[{name!r}] holds {value!r}; use 1, 0, a probability, NaN or None.") from error
    outside = (values < 0) | (values > 1)
    if outside.any():
        raise ValueError(f"known[{name!r}] is {values[outside][0]:g}; use 1 for present and 0 for absent.")
    return values, is_given


Known = Mapping[str, Any]

# Concepts that a network sees are noisier than measurements: larger leaves than for tables. Somebody may have to check
# what an answer rests on: entropy, which halves many classes where Gini takes them off one by one, and narrow bands
# make it rest on few concepts. Chosen on training rows of four sets (docs/concepts.md).
HEAD_SETTINGS: dict[str, Any] = {"criterion": "entropy", "band_scale": 0.75, "min_leaf_weight": 5.0}


class ConceptBottleneckFERL(ClassifierMixin, BaseEstimator):
    """Rules over what a detector sees.

    A detector gives each row (an image, its features, a text) the probability of concepts with names, "has a red
    wing". They are calibrated, and a FERL tree decides from them alone: its rules, evidence, abstention and novelty
    speak of concepts, and a concept that was seen wrongly can be corrected.

    Parameters
    ----------
    detector : None, "precomputed", callable or estimator
        What sees the concepts. An estimator with ``fit(X, concepts)`` and ``predict_proba(X)`` is fitted here:
        scikit-learn's classifiers of several outputs, or :class:`ferl.concepts.TorchDetector`. A callable returns
        probabilities of shape (n_rows, n_concepts) and is used as it is. "precomputed": X holds the probabilities.
        None: a logistic regression for each concept on standardised features.
    head : FERLClassifier, optional
        The rules. None: ``FERLClassifier(band_scale=2, min_leaf_weight=5)``. With more classes than its 150 rules give
        one with a larger ``max_rules``.
    class_concepts : mapping, or array-like or data frame of shape (n_classes, n_concepts), optional
        Concepts of each class, 1 or 0: a row for each label (a dict, or a data frame with the labels as its index), or
        in the sorted order of the labels. Needed where ``fit`` gets no concepts of each row.
    concept_names : sequence of str, optional
        Names of the concepts. None: those of the data frame that the concepts come in, or "concept 0", ...
    calibration : {"isotonic"} or None
        Whether to calibrate, one isotonic regression for each concept.
    cv : int, cross-validation splitter, list of splits or None
        Folds for cross-fitting: calibration and head learn from concepts of rows that the detector had not seen.
        None: they learn from concepts that are cleaner than any they will meet.
    refit : bool
        Whether the detector is fitted once more, on all rows, to judge new ones. False: the detectors of the folds
        judge them together, by their mean; slower, and steadier.
    random_state : int, RandomState or None
        Seed of folds, and of detector and head where these have no seed of their own.

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
    training_concepts_ : ndarray of shape (n_rows, n_concepts)
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
        X : array-like of shape (n_rows, ...)
            Rows, whatever the detector takes.
        y : array-like of shape (n_rows,)
            Labels.
        concepts : array-like or data frame of shape (n_rows, n_concepts), optional
            Concepts of each row: 1, 0, or NaN where not known. None: those of its class.

        Returns
        -------
        ConceptBottleneckFERL
            The estimator itself.
        """
        # An interrupted or refused fit leaves no half-new, half-old model behind.
        for name in ("head_", "detector_", "calibrator_", "concept_names_", "training_concepts_"):
            self.__dict__.pop(name, None)
        labels = checked_labels(y, X.shape[0] if hasattr(X, "shape") else len(X))
        truth = concept_labels(labels, concepts, self.class_concepts, self.concept_names)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        detector = ConceptDetector(_seeded(self.detector, seed))
        seen = see_concepts(detector, X, truth.value, labels, self.cv, seed, refit=self.refit)
        calibrator, trained_on = None, seen.probability
        if self.calibration is not None:
            calibrator = ConceptCalibrator().fit(seen.probability, truth.value)
            trained_on = calibrator.transform(seen.probability)
        head = _seeded(FERLClassifier(**HEAD_SETTINGS) if self.head is None else self.head, seed)
        self.head_ = head.fit(named_table(trained_on, truth.names), labels)
        self.detector_, self.calibrator_ = seen.detector, calibrator
        self.concept_names_, self.training_concepts_ = truth.names, trained_on
        return self

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of the columns."""
        check_is_fitted(self)
        return np.asarray(self.head_.classes_)

    def predict_concepts(self, X: Any, known: Known | None = None) -> Floats:
        """Calibrated probability of each concept, as the rules see it, shape (n_rows, n_concepts).

        Parameters
        ----------
        X : array-like of shape (n_rows, ...)
            Rows.
        known : mapping of str to value, optional
            Concepts that somebody looked at: 1 for present, 0 for absent, NaN for what cannot be seen (a missing value,
            whatever the detector says); one value for all rows, or one for each, with None where nobody looked.

        Returns
        -------
        ndarray of shape (n_rows, n_concepts)
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
        """Pignistic probability, shape (n_rows, n_classes); ``known`` as in :meth:`predict_concepts`."""
        return self.predict_evidence(X, known).pignistic

    def predict(self, X: Any, known: Known | None = None) -> NDArray[Any]:
        """Most probable label of each row, shape (n_rows,); ``known`` as in :meth:`predict_concepts`."""
        return np.asarray(self.classes_[self.predict_proba(X, known).argmax(axis=1)])

    def predict_set(self, X: Any, known: Known | None = None) -> NDArray[np.bool_]:
        """Classes that cannot be ruled out, bool of shape (n_rows, n_classes); ``known`` as above."""
        return self.predict_evidence(X, known).prediction_set()

    def novelty(self, X: Any, known: Known | None = None, *, measure: str | None = None) -> Floats:
        """How unlike those of the training rows the concepts of each row are, shape (n_rows,).

        Parameters
        ----------
        X, known
            As in :meth:`predict_concepts`.
        measure : {"neighbour", "residual"}, optional
            As in :meth:`ferl.FERLClassifier.novelty`.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return np.asarray(self.head_.novelty(self._rows(X, known), measure=measure))

    def novelty_attribution(self, X: Any, known: Known | None = None, *, measure: str | None = None) -> Floats:
        """What each concept adds to :meth:`novelty`, shape (n_rows, n_concepts)."""
        return np.asarray(self.head_.novelty_attribution(self._rows(X, known), measure=measure))

    def explain(self, x: Any, known: Known | None = None) -> ConceptExplanation:
        """One row's story, in concepts: the rules that fired, what is anomalous, and which correction matters most.

        Parameters
        ----------
        x : array-like of shape (1, ...)
            A table of one row.
        known : mapping of str to value, optional
            As in :meth:`predict_concepts`.

        Returns
        -------
        ConceptExplanation
        """
        concepts = self.predict_concepts(x, known)
        if len(concepts) != 1:
            raise ValueError(f"explain tells the story of one row; x has {len(concepts)}. Pass X[i : i + 1].")
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
    """A copy that takes this seed where it has a place for one and none in it; what is no estimator, as it is."""
    if not hasattr(estimator, "get_params") or isinstance(estimator, type):
        return estimator
    copy = clone(estimator)
    empty = [name for name, value in copy.get_params().items() if name.endswith("random_state") and value is None]
    return copy.set_params(**dict.fromkeys(empty, seed))
