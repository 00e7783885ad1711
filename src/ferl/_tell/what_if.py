"""What if: the answer to a row beside the answer to the same row with other values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ferl._models.model import Model
from ferl._tables import OneRow, read_row, with_derived
from ferl._tell.explain import explain
from ferl._tell.explanation import LEAST_SHOWN, MAX_PROBABLE, Explanation, odds_text, odds_value
from ferl._tell.page import Readable, Section, Table
from ferl._util.text import NumberInWords, feature_index, listed, percent_text, plain, spoken, value_text


@dataclass(frozen=True)
class WhatIf(Readable):
    """The answer to a row, and to the same row with other values.

    ``print`` it for text, look at it in a notebook for HTML, or take :meth:`to_dict`.

    Attributes
    ----------
    changes : tuple of (str, object, object)
        Features, the row's value of each, and the other one.
    before, after : Explanation
        The explanations of the row and of the changed row, both without nearest changes.
    outside : tuple of (str, object, object, object)
        Features whose other value lies outside the range that the model keeps: the value, and the range's ends.
        Rules remember the range of all training rows; trees remember the range of their splits and kept rows, which may
        be smaller.
    """

    changes: tuple[tuple[str, Any, Any], ...]
    before: Explanation
    after: Explanation
    outside: tuple[tuple[str, Any, Any, Any], ...] = ()

    @cached_property
    def summary(self) -> str:
        """One sentence: the changes, and the answer before and after."""
        clauses = [
            f"{spoken(name)} were {value_text(to)} instead of {value_text(item)}" for name, item, to in self.changes
        ]
        named = f"{spoken(self.after.target)}: " if self.after.target else ""
        return f"{named}If {listed(clauses)}, {_beside(self.after, self.before)}."

    @cached_property
    def _sections(self) -> list[Section]:
        before, after = self.before, self.after
        title, *lines = before.outside_lines(self.outside)
        rows = tuple(
            (spoken(after.classes[c]), percent_text(before.probability[c]), percent_text(after.probability[c]))
            for c in after.class_order
        )
        page = [
            Section("", (self.summary,), is_lead=True),
            Section(title, tuple(lines)),
            Section("Probability", (Table(("class", "now", "then"), rows),)),
            *self._effects(),
        ]
        return [section for section in page if section.blocks]

    def _effects(self) -> list[Section]:
        """Where effects add up: the features whose effects the changes alter."""
        story = self.after
        if story.balance is None or story.rival is None:
            return []
        now, then = (item.balance.between(story.best, story.rival) for item in (self.before, story))
        known, rows = {part.feature: part for part in now.features}, []
        for part in then.features:
            before = known[part.feature]
            weights = now.moves(before), then.moves(part)
            if abs(weights[1] - weights[0]) >= LEAST_SHOWN:
                values = dict.fromkeys((value_text(before.value), value_text(part.value)))
                rows.append((spoken(part.feature), ", ".join(values), *map(odds_text, weights)))
        rows.append(("odds of the row", "", *(odds_value(item.apart(item.scores)) for item in (now, then))))
        title = f"Effects on the {story.compared_text}, compared with the average training row"
        return [Section(title, (Table(("feature", "value", "now", "then"), tuple(rows)),))]

    def to_dict(self) -> dict[str, Any]:
        """All of it in the types of JSON."""
        return {
            "summary": self.summary,
            "changes": [{"feature": name, "value": plain(item), "to": plain(to)} for name, item, to in self.changes],
            "outside": [
                {"feature": name, "to": plain(to), "low": plain(low), "high": plain(high)}
                for name, to, low, high in self.outside
            ],
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
        }


def _beside(after: Explanation, before: Explanation) -> str:
    """An answer beside the one before it: "the answer would be yes (80 %) instead of no (60 %)"."""
    then, now = (_no_answer(item) if item.abstains else item.answer_text for item in (after, before))
    is_same = after.abstains == before.abstains and then == now
    if after.abstains:
        still = " still" if before.abstains else ""
        beside = "" if is_same else f"; now there is {now}" if before.abstains else f"; now it is {now}"
        return f"there would{still} be {then}{beside}"
    if before.abstains:
        return f"the answer would be {then}; now there is {now}"
    if is_same:
        return f"the answer would still be {then}"
    if after.prediction_set == before.prediction_set and sum(after.in_set) == 1:
        return f"the answer would still be {then}; now its probability is {percent_text(max(before.probability))}"
    return f"the answer would be {then} instead of {now}"


def _no_answer(story: Explanation) -> str:
    """That there is no answer, and the classes that are most probable, if anything is known of them."""
    probable = [
        f"{spoken(story.classes[c])} {percent_text(story.probability[c])}"
        for c in story.class_order[:MAX_PROBABLE]
        if story.in_set[c]
    ]
    return "no answer" if story.ignorance == 1 or not probable else f"no answer ({', '.join(probable)})"


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
    other: dict[int, Any] = {}
    called: dict[int, Any] = {}
    for feature, value in changes.items():
        f = feature_index(feature, names)
        if f in other:
            raise ValueError(f"changes has {names[f]!r} twice, as {called[f]!r} and as {feature!r}; give it one value.")
        other[f], called[f] = value, feature
    there = _with_values(model, one, other)
    # As the model reads them: a number of a category column is a category, "7" in a column of numbers is 7.
    values, read = model.values_of(one), model.values_of(there)
    before, after = (explain(model, row, counterfactual=False) for row in (one, there))
    outside = tuple(
        (names[f], read[f], *(model.number(f, end) for end in model.training_range(f)))
        for f in other
        if _is_outside(model, f, float(there.values[0, f]))
    )
    return WhatIf(tuple((names[f], values[f], read[f]) for f in other), before, after, outside)


def _is_outside(model: Model, feature: int, value: float) -> bool:
    """Whether a number lies outside the training range that the model keeps; a missing value does not."""
    if feature in model.category_names or model.column_kinds[feature].is_ordered:
        return False
    low, high = model.training_range(feature)
    return value < low or value > high


def _with_values(model: Model, one: OneRow, other: Mapping[int, Any]) -> OneRow:
    """The row with other values of some features; the others stay as they are."""
    # Dates of explanations are days, as the model reads them.
    days = {f: day for f, day in other.items() if model.column_kinds[f].is_date and isinstance(day, NumberInWords)}
    read = read_row(model.schema, model.derived, [None if f in days else other.get(f) for f in range(model.n_features)])
    values = one.values[:, : model.n_features].copy()
    values[:, list(other)] = read.values[:, list(other)]
    values[:, list(days)] = list(days.values())
    unseen = {f: value for f, value in one.unseen.items() if f not in other} | read.unseen
    return OneRow(with_derived(values, model.derived), unseen)
