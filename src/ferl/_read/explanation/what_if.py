"""What if: the answer to a row beside the answer to the same row with other values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from ferl._model.model import Model
from ferl._read.explanation.balance import FeatureWeight
from ferl._read.explanation.explain import explain, shown_values
from ferl._read.explanation.page import Readable, Section, Table
from ferl._read.explanation.sentences import Explanation, answer_text, class_order
from ferl._read.explanation.weight_reasons import LEAST_SHOWN
from ferl._read.wide_text import weight_text
from ferl._tables import OneRow, read_row, with_indicators
from ferl._util.text import listed, percent_text, plain, spoken, value_text


@dataclass(frozen=True)
class WhatIf(Readable):
    """The answer to a row, and to the same row with other values.

    ``print`` it for text, look at it in a notebook for HTML, or take :meth:`to_dict`.

    Attributes
    ----------
    changes : tuple of (str, object, object)
        Features, the row's value of each, and the other one.
    before, after : Explanation
        The story of the row, and of the other; neither has nearest changes.
    """

    changes: tuple[tuple[str, Any, Any], ...]
    before: Explanation
    after: Explanation

    @cached_property
    def summary(self) -> str:
        """One sentence: the changes, and the answer before and after."""
        clauses = [
            f"{spoken(name)} were {value_text(to)} instead of {value_text(own)}" for name, own, to in self.changes
        ]
        then, now = answer_text(self.after), answer_text(self.before)
        named = f"{spoken(self.after.target)}: " if self.after.target else ""
        return f"{named}If {listed(clauses)}, the answer would {_beside(then, now)}."

    @cached_property
    def _sections(self) -> list[Section]:
        return [Section("", (self.summary,), is_lead=True), self._probabilities(), *self._weights()]

    def _probabilities(self) -> Section:
        before, after = self.before, self.after
        rows = tuple(
            (spoken(after.classes[c]), percent_text(before.probability[c]), percent_text(after.probability[c]))
            for c in class_order(after)
        )
        return Section("Probability", (), Table(("class", "now", "then"), rows))

    def _weights(self) -> list[Section]:
        """Of wide models: the features whose weights the changes alter."""
        if self.before.balance is None or self.after.balance is None:
            return []
        balance = self.before.balance.between(*self.after.balance.compared)
        now = {part.feature: part for part in balance.features}
        rows = []
        for part in self.after.balance.features:
            weights = balance.moves(now[part.feature]), self.after.balance.moves(part)
            if abs(weights[1] - weights[0]) >= LEAST_SHOWN:
                rows.append((spoken(part.feature), _values(now[part.feature], part), *map(weight_text, weights)))
        sums = [weight_text(own.apart(own.scores)) for own in (balance, self.after.balance)]
        towards, against = (spoken(self.after.classes[c]) for c in self.after.balance.compared)
        rows.append(("sum of all features", "", *sums))
        title = f"What speaks for {towards} (+) and for {against} (-)"
        return [Section(title, (), Table(("feature", "value", "now", "then"), tuple(rows)))]

    def to_dict(self) -> dict[str, Any]:
        """All of it in the types of JSON."""
        return {
            "summary": self.summary,
            "changes": [{"feature": name, "value": plain(own), "to": plain(to)} for name, own, to in self.changes],
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
        }


def _beside(then: str, now: str) -> str:
    """An answer beside the one before it: "be yes (80 %) instead of no (60 %)", "still be yes (80 %)"."""
    then, now = (f"n{own[1:]}" if own.startswith("No answer") else own for own in (then, now))
    return f"still be {then}" if then == now else f"be {then} instead of {now}"


def _values(now: FeatureWeight, then: FeatureWeight) -> str:
    one, other = value_text(now.value), value_text(then.value)
    return one if one == other else f"{one}, {other}"


def what_if(model: Model, one: OneRow, changes: Mapping[Any, Any]) -> WhatIf:
    """What the answer would be if some values were others; see :meth:`ferl.FERLClassifier.what_if`.

    Parameters
    ----------
    model : Model
        The model.
    one : OneRow
        The row.
    changes : mapping of feature to value
        Other values, by name or index.

    Returns
    -------
    WhatIf
    """
    if not changes:
        raise ValueError("changes is empty; give the other values, for example {'age': 50}.")
    names = model.feature_names()
    other = {_index(feature, names): value for feature, value in changes.items()}
    there = _with_values(model, one, other)
    # As the model reads them: a number of a category column is a category, "7" in a column of numbers is 7.
    values, read = shown_values(model, one), shown_values(model, there)
    before, after = (explain(model, row, counterfactual=False) for row in (one, there))
    return WhatIf(tuple((names[f], values[f], read[f]) for f in other), before, after)


def _with_values(model: Model, one: OneRow, other: Mapping[int, Any]) -> OneRow:
    """The row with other values of some features; those that stay are never told and read again."""
    read = read_row(model.schema, model.missing_features, [other.get(f) for f in range(model.n_features)])
    values = one.values[:, : model.n_features].copy()
    values[:, list(other)] = read.values[:, list(other)]
    unseen = {f: value for f, value in one.unseen.items() if f not in other} | read.unseen
    return OneRow(with_indicators(values, model.missing_features), unseen)


def _index(feature: Any, names: list[str]) -> int:
    if feature in names:
        return names.index(feature)
    if isinstance(feature, int) and 0 <= feature < len(names):
        return feature
    near = get_close_matches(str(feature), names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"the first ones are {', '.join(map(repr, names[:3]))}."
    raise ValueError(f"changes has {feature!r}, which is no feature of the model; {hint}")
