"""The nearest change of one feature that alters the label: within the range seen in training no smaller one does.

Of numbers the core searches: moving away from a row's value, it passes over intervals on which the label provably stays
and divides the others, until the first value with another label stands next to a proven interval. Here the value is
rounded to few digits. Of categories all are tried. Values that training never saw are no advice: they are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from typing import Any

import numpy as np

from ferl._models.evidence import Evidence
from ferl._models.model import Model
from ferl._models.novelty import total_spread
from ferl._tables.values import finer_steps
from ferl._util.arrays import Floats
from ferl._util.text import DIGITS, plain

TOLERANCE = 1e-7  # of a spread, between the proven distance and the change
# The maxima of the cautious rule nearly jump where a source comes to fire fully: proofs need intervals that short. The
# scores of wide rules are linear between the corners of one feature: each proof is a comparison, and the search exact.
_FINE_TOLERANCE = 1e-14
_OVERSHOOT = 0.05  # of the change, that rounding to fewer digits may add
_MOST_WHOLE = 1000  # whole numbers behind a flip that are tried, where the label comes back at the first one
_UNNOTICED = 0.02  # of a spread, that rounding to four digits may add where it adds more than that


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
        The nearest value with another label within the range seen in training, rounded away from the row to few
        digits, to a whole number in columns of those; a category, for categories and for ordered ones. Where rules
        speak on one side of the row and not on the other, the value is on that side.
    exact : object
        The nearest value with another label on this side before rounding, within 1e-7 spreads.
    label : object
        The label there.
    is_silent : bool
        Whether no rule fires there any more, so that the label is no more than the first of the classes.
    distance : float
        From ``value`` to ``to`` in spreads (standard deviations over the training rows); 1 for another category.
    proven : float
        The label provably stays for changes of the feature alone up to this many spreads, up or down, within the range
        seen in training. The proof goes
        all the way to ``exact``, but for 1e-7, except where two classes nearly tie on the way; what lies behind is
        searched. Of categories all were tried: 1.
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
    """What the search along every feature found.

    Attributes
    ----------
    found : tuple of Change
        The nearest change of each feature that has one within the range seen in training, nearest first; those to
        where no rule speaks come last.
    unproven : tuple of str
        Features of which none was found, without a proof that there is none.
    """

    found: tuple[Change, ...]
    unproven: tuple[str, ...]


def nearest_changes(model: Model, row: Floats, label: int, unseen: dict[int, Any]) -> Changes:
    """The nearest change of each feature that alters the label, nearest first; features that cannot are left out.

    Changes to where rules speak come before others, whatever their distance. Values outside the range seen in training
    are no changes: nobody knows what such a row is. A missing value has no distance from others: such features are left
    out as well.

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
    line = _Line(model, row, label, model.feature_names())
    tested = [f for f in model.tree.tested_columns if f < model.n_features and not math.isnan(row[0, f])]
    # Ordered categories, and 0 and 1: a value between or outside them is none that the column can have.
    ordered = [f for f in tested if model.column_kind(f).is_ordered or _is_binary(line, f)]
    found, unproven = _other_numbers(line, [f for f in tested if f not in model.category_names and f not in ordered])
    for feature in tested:
        if feature in model.category_names or feature in ordered:
            is_ordered = feature in ordered
            change = _other_step(line, feature) if is_ordered else _other_category(line, feature, unseen.get(feature))
            found |= {} if change is None else {feature: change}
    in_order = [found[feature] for feature in sorted(found)]
    return Changes(tuple(sorted(in_order, key=lambda change: (change.is_silent, change.distance))), unproven)


@dataclass(frozen=True)
class _Line:
    """A row whose features move, one at a time."""

    model: Model
    row: Floats
    label: int
    names: list[str]

    def label_of(self, row: Floats) -> int:
        """The label of another row."""
        return int(self.model.evidence(row).probability[0].argmax())

    def at(self, feature: int, *values: float) -> Evidence:
        """The evidence when a feature has these values."""
        rows = np.repeat(self.row, len(values), axis=0)
        rows[:, feature] = values
        return self.model.evidence(rows)


def _other_category(line: _Line, feature: int, unseen: Any) -> Change | None:
    """The category with the most probable label, among those that give another one; where rules speak, if any does."""
    categories = line.model.category_names[feature]
    evidence = line.at(feature, *range(len(categories)))
    probability, speaks = evidence.probability, np.asarray(evidence.belief.any(axis=1))
    labels = probability.argmax(axis=1)
    if (labels == line.label).all():
        return None
    best = int(np.where(labels == line.label, -1.0, probability.max(axis=1) + speaks).argmax())
    code = int(line.row[0, feature])
    value, to = categories[code] if code < len(categories) else unseen, categories[best]
    return Change(line.names[feature], value, to, to, line.model.labels[labels[best]], not bool(speaks[best]), 1.0, 1.0)


def _is_binary(line: _Line, feature: int) -> bool:
    """Whether a column holds 0 and 1, and so does the row."""
    return line.model.column_kind(feature).name == "binary" and line.row[0, feature] in (0.0, 1.0)


def _other_step(line: _Line, feature: int) -> Change | None:
    """The nearest of ordered categories that training had, or of 0 and 1, that gives another label; all are tried."""
    model, own = line.model, float(line.row[0, feature])
    low, high = model.training_range(feature)
    codes = np.arange(len(model.column_kind(feature).order) or 2)
    found = _first_change(line, feature, codes[(codes >= low) & (codes <= high)].tolist())
    if found is None:
        return None
    value, to = model.value(feature, own), model.value(feature, found.to)
    distance = abs(found.to - own) / float(total_spread(model.tree)[feature])
    return Change(line.names[feature], value, to, to, model.labels[found.label], found.is_silent, distance, distance)


@dataclass(frozen=True)
class _There:
    """A value with another label."""

    to: float
    label: int
    is_silent: bool


def _first_change(line: _Line, feature: int, values: list[float]) -> _There | None:
    """The nearest of some values that gives another label, where rules speak if there is one; all are tried."""
    if not values:
        return None
    evidence, own = line.at(feature, *values), float(line.row[0, feature])
    labels, is_silent = evidence.probability.argmax(axis=1).tolist(), (evidence.belief.max(axis=1) == 0).tolist()
    found = [
        _There(value, label, silent)
        for value, label, silent in zip(values, labels, is_silent, strict=True)
        if label != line.label
    ]
    return min(found, key=lambda there: (there.is_silent, abs(there.to - own)), default=None)


# ---------------------------------------------------------------------------------------------------------------------
# Numbers
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Flip:
    """Where the label changes along a feature, on one side of the row's value, within the range seen in training."""

    feature: int
    value: float
    at: float
    spread: float
    low: float
    high: float


@dataclass(frozen=True)
class _Search:
    """The flips along a feature, at most one on each side, and what is proven.

    Attributes
    ----------
    flips : tuple of _Flip
        Within the range seen in training.
    proven : float
        The label provably stays for values of this range up to this distance; infinite where it stays for all.
    is_settled : bool
        Whether the label provably stays all the way to the end of the range on the sides without a flip.
    """

    flips: tuple[_Flip, ...]
    proven: float
    is_settled: bool


def _other_numbers(line: _Line, features: list[int]) -> tuple[dict[int, Change], tuple[str, ...]]:
    """The nearest number of each feature with another label; and names of features without, and without a proof."""
    searches = dict(zip(features, _search(line, features), strict=True))
    found = _changes(line, [flip for search in searches.values() for flip in search.flips])
    changes, unproven = {}, []
    for feature, search in searches.items():
        reached = [(there, flip) for flip in search.flips if (there := found[flip]) is not None]
        if reached:
            # Of whole numbers, the nearer one; of others the nearer flip, since few digits may make it seem farther.
            is_whole = _is_whole(line, feature)
            there, flip = min(
                reached,
                key=lambda own: (own[0].is_silent, abs((own[0].to if is_whole else own[1].at) - own[1].value)),
            )
            changes[feature] = _change(line, flip, there, search.proven / flip.spread)
        elif not (search.is_settled and _has_tried_all(line, search)):
            unproven.append(line.names[feature])
    return changes, tuple(unproven)


def _search(line: _Line, features: list[int]) -> list[_Search]:
    """What lies within the range seen in training along each feature."""
    model, value = line.model, line.row[0, features]
    low, high = np.array([model.training_range(f) for f in features]).reshape(-1, 2).T
    # A row from outside the range begins to move at its end: what lies before it is no value that training saw.
    start, spread = np.clip(value, low, high), total_spread(model.tree)[features]
    # Below this two values are the same to the eye, and near the resolution of the numbers nothing can be told apart.
    tolerance = (
        _FINE_TOLERANCE if getattr(model.reading, "combination", "weights") in ("cautious", "weights") else TOLERANCE
    )
    width = np.maximum(tolerance * spread, 4 * np.spacing(np.abs(start)))
    at, proven = np.empty((len(features), 2)), np.empty((len(features), 2))
    inside = np.flatnonzero(start == value)
    for group in ([inside] if len(inside) else []) + [np.array([k]) for k in np.flatnonzero(start != value)]:
        row, columns = line.row.copy(), np.array(features, dtype=np.int32)[group]
        row[0, columns] = start[group]
        flips, ends = np.empty((len(group), 2)), np.empty((len(group), 2))
        if row[0, columns[0]] != line.row[0, columns[0]] and line.label_of(row) != line.label:
            flips[:] = ends[:] = start[group]  # another label at the end of the range already
        else:
            model.prover.nearest_flips(row, line.label, columns, width[group], flips, ends)
        at[group], proven[group] = flips, ends
    return [
        _within(feature, float(value[k]), (float(low[k]), float(high[k])), float(spread[k]), at[k], proven[k])
        for k, feature in enumerate(features)
    ]


def _within(
    feature: int, value: float, seen: tuple[float, float], spread: float, at: Floats, proven: Floats
) -> _Search:
    """What the two searches, down and up, found within the range seen in training."""
    low, high = seen
    flips = {float(own): _Flip(feature, value, float(own), spread, low, high) for own in at if low <= own <= high}
    is_open = [
        end not in flips and not is_all for end, is_all in zip(at, (proven[0] <= low, proven[1] >= high), strict=True)
    ]
    ends = [abs(float(proven[side]) - value) for side in (0, 1) if is_open[side] or at[side] in flips]
    return _Search(tuple(flips.values()), min(ends, default=math.inf), not any(is_open))


def _has_tried_all(line: _Line, search: _Search) -> bool:
    """Whether all values behind the flips were tried: whole numbers, and few enough."""
    return all(_is_whole(line, flip.feature) and len(_whole_numbers(flip)) < _MOST_WHOLE for flip in search.flips)


def _changes(line: _Line, flips: list[_Flip]) -> dict[_Flip, _There | None]:
    """The values with few digits at or just behind each flip that still alter the label.

    The candidates of all flips are tried together, the first ones first: one row at a time would cost more. Columns of
    whole numbers have no other values: further ones are tried where the label comes back between two of them.
    """
    found: dict[_Flip, _There | None] = {}
    candidates = {flip: _candidates(line, flip) for flip in flips}
    tried = {flip: next(values) for flip, values in candidates.items()}
    while tried:
        rows = np.repeat(line.row, len(tried), axis=0)
        rows[np.arange(len(tried)), [flip.feature for flip in tried]] = list(tried.values())
        evidence = line.model.evidence(rows)
        labels = evidence.probability.argmax(axis=1).tolist()
        is_silent = np.asarray(~evidence.belief.any(axis=1))
        later: dict[_Flip, float] = {}
        for k, (flip, to) in enumerate(tried.items()):
            if labels[k] != line.label:
                found[flip] = _There(to, labels[k], bool(is_silent[k]))
            elif (following := next(candidates[flip], None)) is not None:
                later[flip] = following
            else:
                is_whole = _is_whole(line, flip.feature)
                found[flip] = _first_change(line, flip.feature, _whole_numbers(flip)) if is_whole else None
        tried = later
    return found


def _candidates(line: _Line, flip: _Flip) -> Iterator[float]:
    whole = _away(flip.at, 0, flip.at > flip.value)
    if _is_whole(line, flip.feature) and flip.low <= whole <= flip.high:
        return iter([whole])
    steps = finer_steps() if line.model.column_kind(flip.feature).is_date else ()
    rounded = _rounded(flip.value, flip.at, flip.spread, steps)
    return (to for to in rounded if flip.low <= to <= flip.high)


def _whole_numbers(flip: _Flip) -> list[float]:
    """Whole numbers behind a flip within the range seen in training, the nearest first."""
    if flip.at > flip.value:
        first, last = math.ceil(flip.at), math.floor(flip.high)
        return [float(own) for own in range(first, min(last, first + _MOST_WHOLE - 1) + 1)]
    first, last = math.floor(flip.at), math.ceil(flip.low)
    return [float(own) for own in range(first, max(last, first - _MOST_WHOLE + 1) - 1, -1)]


def _change(line: _Line, flip: _Flip, there: _There, proven: float) -> Change:
    value, told, exact = (line.model.number(flip.feature, number) for number in (flip.value, there.to, flip.at))
    distance = abs(there.to - flip.value) / flip.spread
    label = line.model.labels[there.label]
    return Change(line.names[flip.feature], value, told, exact, label, there.is_silent, distance, proven)


def _rounded(value: float, at: float, spread: float, steps: Iterable[float] = ()) -> Iterator[float]:
    """Values just behind ``at``, whole steps or few digits first; last ``at`` itself."""
    most = _OVERSHOOT * abs(at - value)
    for step in steps:
        rounded = (math.ceil(at / step) if at > value else math.floor(at / step)) * step
        if abs(rounded - at) <= most:
            yield rounded
    first = math.ceil(-math.log10(most))
    few = DIGITS - 1 - math.floor(math.log10(abs(at))) if at else first
    if first > few:
        rounded = _away(at, few, at > value)
        if abs(rounded - at) <= _UNNOTICED * spread:
            yield rounded
    for places in range(first, first + 12):
        rounded = _away(at, places, at > value)
        if abs(rounded - at) <= most:
            yield rounded
    yield at


def _away(at: float, places: int, upward: bool) -> float:
    """Rounded to decimal places, up or down; exactly, as a decimal number."""
    with localcontext(Context(prec=400)):
        step = Decimal(1).scaleb(-places)
        rounded = Decimal(at).quantize(step, rounding=ROUND_CEILING if upward else ROUND_FLOOR)
        return float(rounded) + 0.0  # no negative zero


def _is_whole(line: _Line, feature: int) -> bool:
    """Whether a feature holds whole numbers, as the training table or the rows that were kept say."""
    return line.model.is_whole(feature)
