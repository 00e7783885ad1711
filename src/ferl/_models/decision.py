"""How a label is chosen: by probability, compared with frequencies, at a threshold, or by what mistakes cost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._models.evidence import Evidence
from ferl._models.model import Model
from ferl._util.arrays import Floats
from ferl._util.text import listed, shown, spoken

# By name: the power of the class frequency that the probability is divided by.
FREQUENCY_POWER = {"probable": 0.0, "balanced": 1.0, "mild": 0.5}
MAX_COSTS = 4  # that a sentence has; of more, the largest

_WISH = (
    f"it must be {', '.join(map(repr, FREQUENCY_POWER))}, a threshold between 0 and 1, or costs by true and predicted "
    "class"
)


@dataclass(frozen=True)
class Decision:
    """How the label of a row is chosen. It never changes, is equal to another one of the same values, and has a hash.

    Attributes
    ----------
    name : {"probable", "balanced", "mild", "threshold", "costs"}, default="probable"
        The class of the largest probability; of the largest probability divided by its frequency in training; divided
        by the square root of that frequency; the second of two classes at a threshold; the least expected cost.
    threshold : float or None, default=None
        Least probability of the second class where it is the label.
    costs : tuple of tuple of float or None, default=None
        Cost by the true and the predicted class.
    """

    name: str = "probable"
    threshold: float | None = None
    costs: tuple[tuple[float, ...], ...] | None = None

    @classmethod
    def of(cls, wish: AnyDecision, classes: NDArray[Any]) -> Decision:
        """The decision that a user wishes for, checked.

        Parameters
        ----------
        wish : str, float, mapping, array-like of shape (n_classes, n_classes), data frame or Decision
            See :meth:`ferl.FERLClassifier.predict`.
        classes : ndarray of shape (n_classes,)
            The labels.

        Returns
        -------
        Decision
        """
        if isinstance(wish, Decision):
            wish = wish.plain  # it may be of other classes
        if isinstance(wish, str):
            if wish not in FREQUENCY_POWER:
                raise ValueError(f"decision is {wish!r}; {_WISH}.")
            return cls(wish)
        if isinstance(wish, Mapping) or _is_frame(wish):
            return cls("costs", costs=_checked_costs(_costs_by_name(wish, classes), classes))
        if isinstance(wish, bool | np.bool_) or wish is None:
            raise ValueError(f"decision is {wish!r}; {_WISH}.")
        if isinstance(wish, Real) or not np.iterable(wish):
            return cls("threshold", threshold=_checked_threshold(wish, classes))
        return cls("costs", costs=_checked_costs(wish, classes))

    @classmethod
    def read(cls, text: str, classes: NDArray[Any]) -> Decision:
        """The decision that text has: a name, a number, or costs as JSON, {"true": {"predicted": cost}}.

        Parameters
        ----------
        text : str
            For example from a request.
        classes : ndarray of shape (n_classes,)
            The labels.

        Returns
        -------
        Decision
        """
        try:
            result = json.loads(text)
        except (ValueError, RecursionError):
            result = text
        return cls.of(text if isinstance(result, str | None) else result, classes)

    @property
    def plain(self) -> str | float | list[list[float]]:
        """The decision as text, a number or lists, as files have it and :meth:`of` takes it."""
        if self.costs is not None:
            return [list(cost) for cost in self.costs]
        return self.name if self.threshold is None else self.threshold

    def among(self, kept: Sequence[int]) -> Decision:
        """The same decision among some of the classes, by their indices."""
        if self.costs is not None:
            return Decision("costs", costs=tuple(tuple(self.costs[t][p] for p in kept) for t in kept))
        return PROBABLE if self.threshold is not None and len(kept) < 2 else self

    @property
    def is_usual(self) -> bool:
        """Whether the label is the most probable class."""
        return self.name == "probable"

    @property
    def is_for_recall(self) -> bool:
        """Whether rare classes count for more than their probability, so that the mean recall is what counts."""
        return FREQUENCY_POWER.get(self.name, 0.0) > 0

    def text(self, labels: Sequence[Any]) -> str:
        """What the label is, as a part of a sentence: "the class of the largest probability", say.

        Parameters
        ----------
        labels : sequence
            The labels, as people read them.
        """
        names = [spoken(label) for label in labels]
        if self.threshold is not None:
            return f"{names[1]} where its probability is at least {self.threshold:.4g}, else {names[0]}"
        if self.costs is not None:
            return f"the class of the least expected cost ({_costs_text(self.costs, names)})"
        return {
            "probable": "the most probable class",
            "balanced": "the class that is most probable compared with its frequency in training",
            "mild": "the class that is most probable compared with the square root of its frequency in training",
        }[self.name]

    def codes(self, model: Model, rows: Floats, evidence: Evidence) -> NDArray[np.intp]:
        """Index of each row's label.

        Parameters
        ----------
        model : Model
            The model.
        rows : ndarray of shape (n_samples, n_columns)
            Rows as the model reads them.
        evidence : Evidence
            The evidence of these rows, calibrated or not.

        Returns
        -------
        ndarray of shape (n_samples,)
            The first of equals; of a tree without evidence, the most frequent class, unless there is a threshold.
        """
        if self.threshold is not None:
            return self._by_probability(evidence.probability)
        if self.is_for_recall:
            code = np.asarray(model.lift(rows, evidence, FREQUENCY_POWER[self.name]).argmax(axis=1))
        elif self.costs is not None:
            code = self._least_cost(evidence.committed)
        else:
            code = self._by_probability(evidence.probability)
        if model.shares_ignorance:
            code[~evidence.committed.any(axis=1)] = model.usual_class
        return code

    def decide(self, model: Model, rows: Floats, n_threads: int = 1) -> NDArray[np.intp]:
        """As :meth:`codes`, of the model's own evidence, of which no more is computed than needed."""
        if not self.is_usual and self.threshold is None:
            return self.codes(model, rows, model.evidence(rows, n_threads))
        probability = model.probabilities(rows, n_threads)
        code = self._by_probability(probability)
        if self.is_usual and model.shares_ignorance:
            # All classes are equal where nothing fires; hardly a row has a first and a last class that are.
            even = np.flatnonzero(probability[:, 0] == probability[:, -1])
            if len(even) and len(even := even[(probability[even] == probability[even, :1]).all(axis=1)]):
                some = np.ascontiguousarray(rows[even])
                code[even] = self.codes(model, some, model.evidence(some, n_threads))
        return code

    def _by_probability(self, probability: Floats) -> NDArray[np.intp]:
        if self.threshold is not None:
            return (probability[:, 1] >= self.threshold).astype(np.intp)
        return np.asarray(probability.argmax(axis=1))

    def _least_cost(self, weight: Floats) -> NDArray[np.intp]:
        costs = np.array(self.costs)
        # What a label saves beside the worst one: with costs of 0 and 1 it is the weight itself, to the last bit.
        saved = costs.max(axis=1, keepdims=True) - costs
        saved /= saved.max() or 1.0  # all are equal, among some of the classes
        expected = np.zeros_like(weight)
        for item, of_class in zip(saved, weight.T, strict=True):
            expected += of_class[:, None] * item  # a product of matrices may round by the number of rows
        return np.asarray(expected.argmax(axis=1))

    def mean_cost(self, counts: ArrayLike) -> tuple[float, float] | None:
        """What labels cost a row, and the least that always the same label would; None: without costs or rows.

        Parameters
        ----------
        counts : array-like of shape (n_classes, n_classes)
            Number of rows by true and predicted class.
        """
        number = np.asarray(counts, dtype=np.float64)
        if self.costs is None or not number.sum():
            return None
        costs, total = np.array(self.costs), number.sum()
        return float((costs * number).sum() / total), float((number.sum(axis=1) @ costs).min() / total)


PROBABLE = Decision()
AnyDecision: TypeAlias = str | float | ArrayLike | Mapping[Any, Any] | Decision


def _checked_threshold(wish: Any, classes: NDArray[Any]) -> float:
    if not isinstance(wish, Real) and not (isinstance(wish, np.ndarray) and wish.dtype.kind in "fiu"):
        raise ValueError(f"decision is {shown(wish)}; {_WISH}.")
    if not 0 < wish < 1:  # type: ignore[operator]
        raise ValueError(f"decision is {shown(wish)}; a threshold must lie strictly between 0 and 1.")
    threshold = float(wish)
    if len(classes) != 2:
        raise ValueError(
            f"decision is {threshold:g}; a threshold is for two classes, and there are {len(classes)}. Use costs by "
            "true and predicted class."
        )
    return threshold


def _is_frame(wish: Any) -> bool:
    return hasattr(wish, "index") and hasattr(wish, "columns")


def _costs_by_name(wish: Any, classes: NDArray[Any]) -> Floats:
    """Costs by the names of classes; pairs that are left out cost 0 where the label is right, and 1 where not."""
    table = wish if isinstance(wish, Mapping) else wish.to_dict(orient="index")  # a data frame: rows are true classes
    pairs: dict[Any, Any] = {}
    for key, item in table.items():
        pairs |= {(key, label): cost for label, cost in item.items()} if isinstance(item, Mapping) else {key: item}
    labels = classes.tolist()
    known = {str(label): code for code, label in enumerate(labels)} | {label: c for c, label in enumerate(labels)}
    costs = 1.0 - np.eye(len(labels))
    for pair, cost in pairs.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(f"costs has the key {shown(pair)}; each must be a pair (true class, predicted class).")
        for label in pair:
            if label not in known:
                raise ValueError(f"costs names the class {shown(label)}; the classes are {shown(labels)}.")
        costs[known[pair[0]], known[pair[1]]] = _number(cost, pair)
    return costs


def _number(cost: Any, pair: tuple[Any, Any]) -> float:
    if isinstance(cost, bool | np.bool_) or not isinstance(cost, Real):
        raise ValueError(f"the cost of {_mistake(*pair)} is {shown(cost)}; it must be a number.")
    return float(cost)


def _checked_costs(wish: Any, classes: NDArray[Any]) -> tuple[tuple[float, ...], ...]:
    try:
        costs = np.array(wish, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"decision is {shown(wish)}; {_WISH}.") from None
    labels, n = classes.tolist(), len(classes)
    if costs.shape != (n, n):
        raise ValueError(
            f"costs have the shape {costs.shape}; with {n} classes it must be ({n}, {n}): a row for each true class, a "
            "column for each predicted one."
        )
    bad = np.argwhere(~(costs >= 0) | np.isinf(costs))
    if len(bad):
        true, label = bad[0]
        raise ValueError(
            f"the cost of {_mistake(labels[true], labels[label])} is {costs[true, label]:g}; costs must be numbers "
            "from 0 up."
        )
    worse = np.argwhere(costs.diagonal()[:, None] > costs)
    if len(worse):
        true, label = worse[0]
        raise ValueError(
            f"{_mistake(labels[true], labels[true])} costs {costs[true, true]:g}, more than "
            f"{_mistake(labels[true], labels[label])}, {costs[true, label]:g}. A right label must not cost more than a "
            "wrong one; costs are by row the true class, by column the predicted one."
        )
    if n > 1 and (costs == costs[:, :1]).all():
        raise ValueError("costs are the same for every label, so that no label is better than another. Pass others.")
    return tuple(map(tuple, costs.tolist()))


def _mistake(true: Any, label: Any) -> str:
    """What a cost is about: the label, and the class that is true."""
    return f"{spoken(label)} for a row of {spoken(true)}"


def _costs_text(costs: tuple[tuple[float, ...], ...], names: list[str]) -> str:
    pairs = [
        (cost, f"{names[p]} costs {cost:.4g} where {names[t]} is true")
        for t, item in enumerate(costs)
        for p, cost in enumerate(item)
        if t != p or cost
    ]
    rest = f", and {len(pairs) - MAX_COSTS:,} more" if len(pairs) > MAX_COSTS else ""
    largest = sorted(pairs, key=lambda pair: -pair[0])[:MAX_COSTS]
    texts = [text for _, text in largest]
    return f"{', '.join(texts)}{rest}" if rest else listed(texts)
