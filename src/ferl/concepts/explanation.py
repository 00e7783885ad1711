"""One row's story in concepts: words for concepts, anomalies, and corrections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from ferl._models.words import FuzzySet, LinguisticVariable
from ferl._tell.explanation import NOVELTY_TITLE, Explanation
from ferl._tell.page import Readable, Section, Table
from ferl._util.arrays import Floats
from ferl._util.text import index_of, plain

if TYPE_CHECKING:
    from ferl.rules import FERLClassifier


def concept_words(
    names: Sequence[str], *, words: tuple[str, str] = ("absent", "present"), between: tuple[float, float] = (0.3, 0.7)
) -> list[LinguisticVariable]:
    """Two words for each concept, for a head in words.

    Parameters
    ----------
    names : sequence of str
        Names of the concepts.
    words : (str, str), default=("absent", "present")
        The word for a low probability, and that for a high one.
    between : (float, float), default=(0.3, 0.7)
        Probabilities up to the first are fully the first word, from the second on fully the second.

    Returns
    -------
    list of LinguisticVariable
        For ``FERLClassifier(words=...)``, where ``between=(0, 1)`` lets evidence grow with the probability,
        or ``FERLClassifier(max_rules=15, words=...)``.

    Examples
    --------
    >>> from ferl.concepts import concept_words
    >>> print(concept_words(["has a red wing"])[0])
    has a red wing: absent below 0.3..0.7, present above 0.3..0.7
    """
    low, high = words
    return [
        LinguisticVariable(name, (FuzzySet.falling(low, *between), FuzzySet.rising(high, *between))) for name in names
    ]


LEAST_SHARE = 0.1  # of a row's novelty, for a concept to be listed
MOST_SHOWN = 5  # lines of a list in text; to_dict has them all


@dataclass(frozen=True)
class Anomaly:
    """A concept that makes a row unlike the training rows.

    Attributes
    ----------
    concept : str
        Its name.
    value : float or None
        How probable it is here; None where it is missing.
    usual : tuple of (float, float) or None
        Between which probabilities nine in ten of the training rows lie that the row is compared with.
    share : float
        Its share of the row's novelty.
    is_unusual : bool
        Whether the value itself lies clearly outside the usual ones. Where none does, it is their combination that is
        new, or nothing much: use :class:`ferl.NoveltyDetector`.
    """

    concept: str
    value: float | None
    usual: tuple[float, float] | None
    share: float
    is_unusual: bool


@dataclass(frozen=True)
class Correction:
    """What would happen if somebody said that a concept is present, or absent.

    Attributes
    ----------
    concept : str
        Its name.
    value : float or None
        How probable it is now; None where it is missing.
    to : int
        1: present; 0: absent.
    label : object
        The most probable class then.
    probability : float
        Of that class then.
    change : float
        Half the sum of the changes of all probabilities, between 0 and 1.
    """

    concept: str
    value: float | None
    to: int
    label: Any
    probability: float
    change: float


@dataclass(frozen=True)
class ConceptExplanation(Readable):
    """Why a row got its answer, in concepts.

    ``print`` it for text, look at it in a notebook for HTML, or take :meth:`to_dict`.

    Attributes
    ----------
    head : Explanation
        Explanation by the rules: label, evidence, fired rules, ignorance.
    concepts : dict of str to float
        Probability of each concept as the rules read it; NaN where it is missing.
    known : tuple of str
        Concepts that somebody corrected.
    anomalies : tuple of Anomaly
        Concepts with at least a tenth of the row's novelty, the largest share first.
    corrections : tuple of Correction
        For each uncorrected concept that the rules use, the correction that changes most; the largest change first.
    """

    head: Explanation
    concepts: dict[str, float]
    known: tuple[str, ...]
    anomalies: tuple[Anomaly, ...]
    corrections: tuple[Correction, ...]

    @property
    def label(self) -> Any:
        """The most probable class."""
        return self.head.label

    @cached_property
    def summary(self) -> str:
        """The answer and its reason, the most anomalous concept, and the correction that matters most."""
        return " ".join([self.head.summary, *(self._sentences())])

    @cached_property
    def _sections(self) -> list[Section]:
        lead = Section("", (self.summary,), is_lead=True)
        # Novelty is described by concepts already.
        rest = [one for one in self.head.detail_sections if one.title != NOVELTY_TITLE]
        return [lead, *self._own_sections(), *rest]

    def to_dict(self) -> dict[str, Any]:
        """All of it in the types of JSON."""
        return {
            "label": plain(self.label),
            "summary": self.summary,
            "concepts": {name: plain(value) for name, value in self.concepts.items()},
            "known": list(self.known),
            "anomalies": [vars(one) | {"usual": one.usual and list(one.usual)} for one in self.anomalies],
            "corrections": [vars(one) | {"label": plain(one.label)} for one in self.corrections],
            "head": self.head.to_dict(),
        }

    def _sentences(self) -> Iterable[str]:
        unusual = [one for one in self.anomalies if one.is_unusual]
        if unusual:
            yield f"Most anomalous: {_anomaly_sentence(unusual[0])}."
        if self.corrections and self.corrections[0].change > 0:
            best = self.corrections[0]
            then = "the answer stays" if best.label == self.label else f"the answer becomes {best.label}"
            yield f"If {best.concept} were {_presence(best.to)}, {then} ({best.probability:.2f})."

    def _own_sections(self) -> Iterable[Section]:
        if self.known:
            yield Section(
                "Corrected by hand", tuple(f"{name}: {_presence_text(self.concepts[name])}" for name in self.known)
            )
        if self.anomalies:
            rows = tuple(
                (one.concept, _number(one.value), _between(one.usual), f"{one.share:.0%}")
                for one in self.anomalies[:MOST_SHOWN]
            )
            title = f"Concepts unlike those of the training rows (novelty {self.head.novelty:.3g})"
            yield Section(title, (Table(("Concept", "Here", "Usual", "Of the novelty"), rows),))
        moving = [one for one in self.corrections if one.change > 0][:MOST_SHOWN]
        if moving:
            cells = tuple(_cells(one) for one in moving)
            yield Section("Corrections", (Table(("Concept", "Here", "If it were", "Answer", "Change"), cells),))


def explain_concepts(
    head: FERLClassifier, concepts: Floats, names: Sequence[str], known: Mapping[str, Any]
) -> ConceptExplanation:
    """The story of one row; see :meth:`ferl.concepts.ConceptBottleneckFERL.explain`.

    Parameters
    ----------
    head : FERLClassifier
        Fitted on concepts with these names.
    concepts : ndarray of shape (n_concepts,)
        The row.
    names : sequence of str
        Names of the concepts.
    known : mapping
        What was corrected.

    Returns
    -------
    ConceptExplanation
    """
    # The search for the nearest change of a number is of little use here: nobody corrects a concept by 0.13.
    row = {name: None if np.isnan(value) else float(value) for name, value in zip(names, concepts, strict=True)}
    story = head.explain(row, counterfactual=False)
    return ConceptExplanation(
        head=story,
        concepts=dict(zip(names, concepts.tolist(), strict=True)),
        known=tuple(name for name, value in known.items() if not _is_none(value)),
        anomalies=_anomalies(story),
        corrections=rank_corrections(head, concepts, names, is_known(names, known, 1)[0]),
    )


def _anomalies(story: Explanation) -> tuple[Anomaly, ...]:
    result = []
    for part in story.novelty_parts:
        share = part.part / story.novelty if story.novelty > 0 else 0.0
        if share >= LEAST_SHARE:
            usual = part.usual
            between = None if usual is None or usual.low is None or usual.high is None else (usual.low, usual.high)
            result.append(Anomaly(part.feature, part.value, between, share, part.is_unusual))
    return tuple(result)


def rank_corrections(
    head: FERLClassifier, concepts: Floats, names: Sequence[str], skip: NDArray[np.bool_]
) -> tuple[Correction, ...]:
    """Try each concept that a rule uses as present and as absent.

    Parameters
    ----------
    head : FERLClassifier
        Fitted on concepts with these names.
    concepts : ndarray of shape (n_concepts,)
        The row.
    names : sequence of str
        Names of the concepts.
    skip : ndarray of bool of shape (n_concepts,)
        Concepts that are not tried.

    Returns
    -------
    tuple of Correction
        For each concept the one of both that changes the answer more, the largest change first.
    """
    asked = np.unique(head.tree_.feature[1:]) if head.tree_.n_nodes > 1 else np.zeros(0, dtype=np.intp)
    asked = asked[asked < len(names)]
    asked = asked[~skip[asked]]
    tries = np.tile(concepts, (2 * len(asked) + 1, 1))
    tries[np.arange(2 * len(asked)), np.repeat(asked, 2)] = np.tile([0.0, 1.0], len(asked))
    probability = head.predict_evidence(named_table(tries, names)).probability
    change = np.abs(probability - probability[-1]).sum(axis=1) / 2
    result = []
    for index, concept in enumerate(asked.tolist()):
        to = int(change[2 * index + 1] > change[2 * index])
        then = probability[2 * index + to]
        value = None if np.isnan(concepts[concept]) else float(concepts[concept])
        label = head.classes_.tolist()[int(then.argmax())]
        result.append(Correction(names[concept], value, to, label, float(then.max()), float(change[2 * index + to])))
    return tuple(sorted(result, key=lambda one: -one.change))


def _cells(one: Correction) -> tuple[str, ...]:
    answer = f"{one.label} {one.probability:.2f}"
    return one.concept, _number(one.value), _presence(one.to), answer, f"{one.change:.2f}"


def _is_none(value: Any) -> bool:
    return bool(np.all([entry is None for entry in np.ravel(np.asarray(value, dtype=object))]))


def _anomaly_sentence(anomaly: Anomaly) -> str:
    usual = "" if anomaly.usual is None else f", usually {_between(anomaly.usual)}"
    return f"{anomaly.concept} is {_number(anomaly.value)}{usual}"


def _presence(value: int) -> str:
    return "present" if value else "absent"


def _presence_text(value: float) -> str:
    return "cannot be seen" if np.isnan(value) else {0.0: "absent", 1.0: "present"}.get(value, f"{value:.2f}")


def _number(value: float | None) -> str:
    return "missing" if value is None else f"{value:.2f}"


def _between(usual: tuple[float, float] | None) -> str:
    if usual is None:
        return ""
    return f"{usual[0]:.2f}" if usual[0] == usual[1] else f"{usual[0]:.2f} to {usual[1]:.2f}"


def named_table(concepts: Floats, names: Sequence[str]) -> pa.Table:
    """Concepts of rows as a table with their names, for the head; NaN is a missing value."""
    return pa.table([pa.array(concepts[:, column]) for column in range(len(names))], names=list(names))


# ---------------------------------------------------------------------------------------------------------------------
# Corrections: concepts that somebody checked, which replace the detector's
# ---------------------------------------------------------------------------------------------------------------------


def intervene(concepts: Floats, names: Sequence[str], known: Mapping[str, Any] | None) -> Floats:
    """Concepts of rows with some of them corrected.

    Parameters
    ----------
    concepts : ndarray of shape (n_samples, n_concepts)
        As detected.
    names : sequence of str
        Names of the concepts.
    known : mapping of str to value, or None
        What is known of some concepts: one value for all rows, or one for each. 1: present, 0: absent, between: as
        probable as that; NaN: cannot be seen, so that the detector is not trusted either; None: as detected.

    Returns
    -------
    ndarray of shape (n_samples, n_concepts)
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
        column = index_of(name, names, "concept")
        given, is_given = _values(name, value, len(corrected))
        corrected[is_given, column] = given[is_given]
    return corrected


def is_known(names: Sequence[str], known: Mapping[str, Any] | None, n_rows: int) -> NDArray[np.bool_]:
    """Which concepts of which rows somebody has looked at, shape (n_rows, n_concepts); as in :func:`intervene`."""
    result = np.zeros((n_rows, len(names)), dtype=bool)
    for name, value in (known or {}).items():
        result[:, index_of(name, names, "concept")] = _values(name, value, n_rows)[1]
    return result


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
