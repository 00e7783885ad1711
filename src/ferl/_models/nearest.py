"""The nearest change of one feature that alters the label: within the range seen in training no smaller one does.

For numbers the compiled core searches: moving away from a row's value, it skips intervals on which the label provably
stays and divides the others, until the first value with another label is next to a proven interval. This module rounds
the value to few digits. For categories it tries all of them. Values outside the training data are left out, since they
are no useful advice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from typing import Any, NamedTuple

import numpy as np

from ferl._models.evidence import Evidence
from ferl._models.model import Model
from ferl._models.novelty import total_spread
from ferl._tables import with_derived
from ferl._tables.values import finer_steps
from ferl._util.arrays import Floats
from ferl._util.text import DIGITS, plain

_OVERSHOOT = 0.05  # of the change, that rounding to fewer digits may add
_MOST_WHOLE = 1000  # whole numbers behind a flip that are tried, where the label comes back at the first one
_UNNOTICED = 0.02  # of a standard deviation, that rounding to four digits may add where it adds more than that


@dataclass(frozen=True)
class Change:
    """A change of one feature that alters the label.

    Attributes
    ----------
    feature : str
        Which feature.
    value : object
        The row's value.
    to : object
        The nearest value with another label within the range seen in training, rounded away from the row to few digits,
        or to a whole number in columns of whole numbers; a category, for categories and ordered categories. If rules
        fire on one side of the row only, the value is on that side.
    exact : object
        The nearest value with another label on this side before rounding, within 1e-7 standard deviations.
    label : object
        The label there.
    is_silent : bool
        Whether no rule fires there, so the label is only the first of the classes.
    distance : float
        From ``value`` to ``to`` in standard deviations over the training rows; 1 for another category.
    proven : float
        The label provably stays for changes of the feature alone by this many standard deviations, within the training
        range. The proof reaches ``exact``, within 1e-7, unless two classes nearly tie on the way; beyond such
        a tie values are searched without proof. For categories it is 1, since all were tried.
    """

    feature: str
    value: Any
    to: Any
    exact: Any
    label: Any
    is_silent: bool
    distance: float
    proven: float

    def to_dict(self) -> dict[str, Any]:
        """The change in the types of JSON."""
        return {name: plain(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class Changes:
    """The results of the search along every feature.

    Attributes
    ----------
    found : tuple of Change
        The nearest change of each feature within the training range, nearest first; changes to values where no rule
        fires come last.
    unproven : tuple of str
        Features without a known change, where the search did not prove that no change exists.
    """

    found: tuple[Change, ...]
    unproven: tuple[str, ...]


def nearest_changes(model: Model, row: Floats, label: int, unseen: dict[int, Any]) -> Changes:
    """The nearest change of each feature that alters the label, nearest first; features that cannot are left out.

    Changes to values where rules fire come before others, whatever their distance. Values outside the training range
    are not considered: the training rows provide no evidence about them. Features with a missing value are left out as
    well, since it has no distance from other values.

    Parameters
    ----------
    model : Model
        The model.
    row : ndarray of shape (1, n_columns)
        The row.
    label : int
        Index of its label.
    unseen : dict
        Categories of the row that training did not have, by feature.

    Returns
    -------
    Changes
    """
    line = _Line(model, row, label)
    columns = model.read_columns.tolist()
    of_evidence = {model.feature_of(k) for k in columns} & set(model.replaced) & set(model.category_names)
    tested = [
        f for f in sorted({*columns, *of_evidence}) if f < model.n_features and not math.isnan(row[0, f])
    ]  # dates do not move
    # Ordered categories, and 0 and 1: the column cannot have a value between or outside them.
    ordered = [f for f in tested if model.column_kinds[f].is_ordered or line.is_binary(f)]
    categories = [f for f in tested if f in model.category_names]
    result, unproven = _other_numbers(line, [f for f in tested if f not in (*categories, *ordered)])
    result |= {f: _other_category(line, f, unseen.get(f)) for f in categories}
    result |= {f: _other_step(line, f) for f in ordered}
    changes = [change for _, change in sorted(result.items()) if change is not None]
    return Changes(tuple(sorted(changes, key=lambda change: (change.is_silent, change.distance))), unproven)


class _There(NamedTuple):
    """A value with another label."""

    to: float
    label: int
    is_silent: bool


@dataclass(frozen=True)
class _Line:
    """A row whose features move, one at a time."""

    model: Model
    row: Floats
    label: int

    def at(self, feature: int, values: list[float]) -> Evidence:
        """The evidence when a feature has these values."""
        rows = np.repeat(self.row, len(values), axis=0)
        rows[:, feature] = values
        return self.model.evidence(with_derived(rows[:, : self.model.n_features], self.model.derived))

    def is_binary(self, feature: int) -> bool:
        """Whether a column holds 0 and 1, and so does the row."""
        return self.model.column_kinds[feature].name == "binary" and self.row[0, feature] in (0.0, 1.0)

    def first_change(self, feature: int, values: list[float]) -> _There | None:
        """The nearest of some values with another label, preferably where rules fire; all are tried."""
        if not values:
            return None
        evidence, now = self.at(feature, values), float(self.row[0, feature])
        labels, is_silent = evidence.probability.argmax(axis=1).tolist(), (evidence.belief.max(axis=1) == 0).tolist()
        result = [there for there in map(_There, values, labels, is_silent) if there.label != self.label]
        return min(result, key=lambda there: (there.is_silent, abs(there.to - now)), default=None)

    def change(self, feature: int, value: Any, to: Any, exact: Any, there: _There, *distances: float) -> Change:
        """A change in the words of the table."""
        names, labels = self.model.feature_names(), self.model.labels
        return Change(names[feature], value, to, exact, labels[there.label], there.is_silent, *distances)


def _other_category(line: _Line, feature: int, unseen: Any) -> Change | None:
    """The category whose label is another one and most probable; preferably where rules fire."""
    categories, code = line.model.category_names[feature], int(line.row[0, feature])
    evidence = line.at(feature, list(range(len(categories))))
    probability, speaks = evidence.probability, np.asarray(evidence.belief.any(axis=1))
    labels = probability.argmax(axis=1)
    if (labels == line.label).all():
        return None
    best = int(np.where(labels == line.label, -1.0, probability.max(axis=1) + speaks).argmax())
    value, to = categories[code] if code < len(categories) else unseen, categories[best]
    return line.change(feature, value, to, to, _There(best, int(labels[best]), not speaks[best]), 1.0, 1.0)


def _other_step(line: _Line, feature: int) -> Change | None:
    """The nearest of ordered categories that training had, or of 0 and 1, that gives another label; all are tried."""
    model, now = line.model, float(line.row[0, feature])
    low, high = model.training_range(feature)
    codes = np.arange(len(model.column_kinds[feature].order) or 2)
    there = line.first_change(feature, codes[(codes >= low) & (codes <= high)].tolist())
    if there is None:
        return None
    to, distance = model.value(feature, there.to), abs(there.to - now) / float(total_spread(model.tree)[feature])
    return line.change(feature, model.value(feature, now), to, to, there, distance, distance)


# ---------------------------------------------------------------------------------------------------------------------
# Numbers
# ---------------------------------------------------------------------------------------------------------------------


class _Flip(NamedTuple):
    """Where the label changes along a feature, on one side of the row's value, within the range seen in training."""

    feature: int
    value: float
    at: float
    spread: float
    low: float
    high: float

    def whole_numbers(self) -> list[float]:
        """Whole numbers behind the flip within the range seen in training, the nearest first."""
        if self.at > self.value:
            first, last = math.ceil(self.at), math.floor(self.high)
            return [float(item) for item in range(first, min(last, first + _MOST_WHOLE - 1) + 1)]
        first, last = math.floor(self.at), math.ceil(self.low)
        return [float(item) for item in range(first, max(last, first - _MOST_WHOLE + 1) - 1, -1)]


class _Search(NamedTuple):
    """The flips along a feature, at most one on each side, and what is proven within the range seen in training.

    Attributes
    ----------
    flips : list of _Flip
        Where the label changes.
    proven : float
        The label provably stays for values up to this distance; infinite where it stays for all.
    is_settled : bool
        Whether the label provably stays all the way to the end of the range on the sides without a flip.
    """

    flips: list[_Flip]
    proven: float
    is_settled: bool


def _other_numbers(line: _Line, features: list[int]) -> tuple[dict[int, Change | None], tuple[str, ...]]:
    """The nearest number of each feature with another label; and names of features without, and without a proof."""
    model, searches = line.model, _search(line, features)
    result = _values_behind(line, [flip for search in searches for flip in search.flips])
    changes: dict[int, Change | None] = {}
    unproven = []
    for feature, search in zip(features, searches, strict=True):
        is_whole = model.is_whole(feature)
        reached = [(there, flip) for flip in search.flips if (there := result[flip]) is not None]
        if reached:
            # Whole numbers: the nearer one. Other numbers: the nearer flip, since rounding may move it away.
            there, flip = min(
                reached,
                key=lambda item: (item[0].is_silent, abs((item[0].to if is_whole else item[1].at) - item[1].value)),
            )
            value, to, exact = (model.number(feature, number) for number in (flip.value, there.to, flip.at))
            distance = abs(there.to - flip.value) / flip.spread
            changes[feature] = line.change(feature, value, to, exact, there, distance, search.proven / flip.spread)
        elif not (
            search.is_settled and all(is_whole and len(flip.whole_numbers()) < _MOST_WHOLE for flip in search.flips)
        ):
            unproven.append(model.feature_names()[feature])
    return changes, tuple(unproven)


def _search(line: _Line, features: list[int]) -> list[_Search]:
    """What lies within the range seen in training along each feature."""
    model, value = line.model, line.row[0, features]
    low, high = np.array([model.training_range(f) for f in features]).reshape(-1, 2).T
    # A row from outside the range begins to move at its end: what lies before it is no value that training saw.
    start, spread = np.clip(value, low, high), total_spread(model.tree)[features]
    # Below this two values look the same, and near the resolution of the numbers they cannot be distinguished.
    width = np.maximum(model.flip_tolerance * spread, 4 * np.spacing(np.abs(start)))
    at, proven = np.empty((len(features), 2)), np.empty((len(features), 2))
    inside = np.flatnonzero(start == value)
    for group in ([inside] if len(inside) else []) + [np.array([k]) for k in np.flatnonzero(start != value)]:
        row, columns = line.row.copy(), np.array(features, dtype=np.int32)[group]
        row[0, columns] = start[group]
        flips, ends = np.empty((len(group), 2)), np.empty((len(group), 2))
        has_moved = row[0, columns[0]] != line.row[0, columns[0]]
        if has_moved and int(model.evidence(row).probability[0].argmax()) != line.label:
            flips[:] = ends[:] = start[group]  # another label at the end of the range already
        else:
            model.find_flips(row, line.label, columns, width[group], flips, ends)
        at[group], proven[group] = flips, ends
    numbers = (value, spread, low, high, at, proven)
    return list(map(_within, features, *(number.tolist() for number in numbers)))


def _within(
    feature: int, value: float, spread: float, low: float, high: float, at: list[float], proven: list[float]
) -> _Search:
    """What the two searches, down and up, found within the range seen in training."""
    flips = {item: _Flip(feature, value, item, spread, low, high) for item in at if low <= item <= high}
    is_open = [at[0] not in flips and not proven[0] <= low, at[1] not in flips and not proven[1] >= high]
    ends = [abs(proven[side] - value) for side in (0, 1) if is_open[side] or at[side] in flips]
    return _Search(list(flips.values()), min(ends, default=math.inf), not any(is_open))


def _values_behind(line: _Line, flips: list[_Flip]) -> dict[_Flip, _There | None]:
    """The values with few digits at or just behind each flip that still alter the label.

    The candidates of all flips are tried together, the first ones first: one row at a time would cost more. Columns of
    whole numbers have no other values: further ones are tried where the label comes back between two of them.
    """
    result: dict[_Flip, _There | None] = {}
    candidates = {flip: _candidates(line.model, flip) for flip in flips}
    tried = {flip: next(values) for flip, values in candidates.items()}
    while tried:
        rows = np.repeat(line.row, len(tried), axis=0)
        rows[np.arange(len(tried)), [flip.feature for flip in tried]] = list(tried.values())
        evidence = line.model.evidence(rows)
        labels = evidence.probability.argmax(axis=1).tolist()
        is_silent = np.logical_not(evidence.belief.any(axis=1)).tolist()
        later: dict[_Flip, float] = {}
        for k, (flip, to) in enumerate(tried.items()):
            if labels[k] != line.label:
                result[flip] = _There(to, labels[k], is_silent[k])
            elif (following := next(candidates[flip], None)) is not None:
                later[flip] = following
            else:
                is_whole = line.model.is_whole(flip.feature)
                result[flip] = line.first_change(flip.feature, flip.whole_numbers()) if is_whole else None
        tried = later
    return result


def _candidates(model: Model, flip: _Flip) -> Iterator[float]:
    """Values within the range seen in training, at or just behind a flip."""
    whole = _away(flip.at, 0, flip.at > flip.value)
    if model.is_whole(flip.feature) and flip.low <= whole <= flip.high:
        return iter([whole])
    return (to for to in _rounded(flip, model.column_kinds[flip.feature].is_date) if flip.low <= to <= flip.high)


def _rounded(flip: _Flip, is_date: bool) -> Iterator[float]:
    """Values just behind a flip, whole steps of dates or few digits first; last where it is."""
    at, is_up = flip.at, flip.at > flip.value
    most = _OVERSHOOT * abs(at - flip.value)
    for step in finer_steps() if is_date else ():
        rounded = (math.ceil(at / step) if is_up else math.floor(at / step)) * step
        if abs(rounded - at) <= most:
            yield rounded
    first = math.ceil(-math.log10(most))
    few = DIGITS - 1 - math.floor(math.log10(abs(at))) if at else first
    if first > few and abs((rounded := _away(at, few, is_up)) - at) <= _UNNOTICED * flip.spread:
        yield rounded
    for places in range(first, first + 12):
        rounded = _away(at, places, is_up)
        if abs(rounded - at) <= most:
            yield rounded
    yield at


def _away(at: float, places: int, upward: bool) -> float:
    """Rounded to decimal places, up or down; exactly, as a decimal number."""
    with localcontext(Context(prec=400)):
        step = Decimal(1).scaleb(-places)
        rounded = Decimal(at).quantize(step, rounding=ROUND_CEILING if upward else ROUND_FLOOR)
        return float(rounded) + 0.0  # no negative zero
