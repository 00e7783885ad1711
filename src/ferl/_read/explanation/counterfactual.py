"""The nearest change of one feature that alters the label: no smaller change of this feature does.

Of numbers the core searches: moving away from a row's value, it passes over intervals on which the label provably stays
and divides the others, until the first value with another label stands next to a proven interval. Here the value is
rounded to few digits. Of categories all are tried.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from typing import Any

import numpy as np

from ferl._model.model import Model
from ferl._read.evidence import Evidence, read_evidence
from ferl._read.novelty import total_spread
from ferl._tables.dates import finer_steps
from ferl._util.arrays import Floats
from ferl._util.text import DIGITS, plain

TOLERANCE = 1e-7  # of a spread, between the proven distance and the change
# The maxima of the cautious rule nearly jump where a source comes to fire fully: proofs need intervals that short. The
# scores of wide rules are linear between the corners of one feature: each proof is a comparison, and the search exact.
_FINE_TOLERANCE = 1e-14
_OVERSHOOT = 0.05  # of the change, that rounding to fewer digits may add
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
        The nearest value with another label, rounded away from the row to few digits; a category, for categories and
        for ordered ones.
    exact : object
        The nearest value with another label before rounding, within 1e-7 spreads.
    label : object
        The label there.
    is_silent : bool
        Whether no rule fires there any more, so that the label is no more than the first of the classes.
    distance : float
        From ``value`` to ``to`` in spreads (standard deviations over the training rows); 1 for another category.
    proven : float
        The label provably stays for changes of the feature alone up to this many spreads, up or down. The proof goes
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
        The nearest change of each feature that has one, nearest first.
    unproven : tuple of str
        Features of which none was found, without a proof that there is none.
    """

    found: tuple[Change, ...]
    unproven: tuple[str, ...]


def nearest_changes(model: Model, row: Floats, label: int, unseen: dict[int, Any]) -> Changes:
    """The nearest change of each feature that alters the label, nearest first; features that cannot are left out.

    A missing value has no distance from others: such features are left out as well.

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
    ordered = [f for f in tested if model.kind(f).is_ordered or _is_binary(line, f)]
    found, unproven = _other_numbers(line, [f for f in tested if f not in model.category_names and f not in ordered])
    for feature in tested:
        if feature in model.category_names or feature in ordered:
            is_ordered = feature in ordered
            change = _other_step(line, feature) if is_ordered else _other_category(line, feature, unseen.get(feature))
            found |= {} if change is None else {feature: change}
    in_order = [found[feature] for feature in sorted(found)]
    return Changes(tuple(sorted(in_order, key=lambda change: change.distance)), unproven)


@dataclass(frozen=True)
class _Line:
    """A row whose features move, one at a time."""

    model: Model
    row: Floats
    label: int
    names: list[str]

    def at(self, feature: int, *values: float) -> Evidence:
        """The evidence when a feature has these values."""
        rows = np.repeat(self.row, len(values), axis=0)
        rows[:, feature] = values
        return read_evidence(self.model, rows)


def _other_category(line: _Line, feature: int, unseen: Any) -> Change | None:
    """The category whose label is most probable, among those that give another label."""
    categories = line.model.category_names[feature]
    evidence = line.at(feature, *range(len(categories)))
    probability = evidence.probability
    labels = probability.argmax(axis=1)
    if (labels == line.label).all():
        return None
    best = int(np.where(labels == line.label, -1.0, probability.max(axis=1)).argmax())
    code = int(line.row[0, feature])
    value, to = categories[code] if code < len(categories) else unseen, categories[best]
    new, is_silent = line.model.labels[labels[best]], not evidence.belief[best].any()
    return Change(line.names[feature], value, to, to, new, is_silent, 1.0, 1.0)


def _is_binary(line: _Line, feature: int) -> bool:
    """Whether a column holds 0 and 1, and so does the row."""
    return line.model.kind(feature).name == "binary" and line.row[0, feature] in (0.0, 1.0)


def _other_step(line: _Line, feature: int) -> Change | None:
    """The nearest of ordered categories, or of 0 and 1, that gives another label; all are tried."""
    model, own = line.model, float(line.row[0, feature])
    evidence = line.at(feature, *range(len(model.kind(feature).order) or 2))
    labels = evidence.probability.argmax(axis=1)
    codes = np.flatnonzero(labels != line.label)
    if not len(codes):
        return None
    best = int(codes[np.abs(codes - own).argmin()])
    value, to = model.value(feature, own), model.value(feature, best)
    distance = abs(best - own) / float(total_spread(model.tree)[feature])
    is_silent = not evidence.belief[best].any()
    return Change(line.names[feature], value, to, to, model.labels[labels[best]], is_silent, distance, distance)


def _other_numbers(line: _Line, features: list[int]) -> tuple[dict[int, Change], tuple[str, ...]]:
    """The nearest number of each feature with another label; and names of features without, and without a proof."""
    model = line.model
    spread, value = total_spread(model.tree)[features], line.row[0, features]
    # Below this two values are the same to the eye, and near the resolution of the numbers nothing can be told apart.
    tolerance = _FINE_TOLERANCE if model.reading.combination in ("cautious", "weights") else TOLERANCE
    width = np.maximum(tolerance * spread, 4 * np.spacing(np.abs(value)))
    at, proven = np.empty((len(features), 2)), np.empty((len(features), 2))
    model.prover.nearest_flips(line.row, line.label, np.array(features, dtype=np.int32), width, at, proven)
    side = np.abs(at - value[:, None]).argmin(axis=1)
    nearest, proven = at[np.arange(len(features)), side], np.abs(proven - value[:, None]).min(axis=1)
    flips = [
        _Flip(feature, float(value[k]), float(nearest[k]), float(spread[k]), float(proven[k]))
        for k, feature in enumerate(features)
        if math.isfinite(nearest[k])
    ]
    unproven = [
        line.names[feature]
        for k, feature in enumerate(features)
        if math.isfinite(proven[k]) and not math.isfinite(nearest[k])
    ]
    return _changes(line, flips), tuple(unproven)


@dataclass(frozen=True)
class _Flip:
    """Where the label changes along a feature: between ``at``, and what is proven of the way to it."""

    feature: int
    value: float
    at: float
    spread: float
    proven: float


def _changes(line: _Line, flips: list[_Flip]) -> dict[int, Change]:
    """The changes to values with few digits at or just behind the flips that still alter the label.

    The candidates of all features are tried together, the first ones first: one row at a time would cost more.
    """
    found: dict[int, Change] = {}
    candidates = {flip: _candidates(line, flip) for flip in flips}
    tried = {flip: next(values) for flip, values in candidates.items()}
    while tried:
        rows = np.repeat(line.row, len(tried), axis=0)
        rows[np.arange(len(tried)), [flip.feature for flip in tried]] = list(tried.values())
        evidence = read_evidence(line.model, rows)
        labels = evidence.probability.argmax(axis=1).tolist()
        is_silent = np.asarray(~evidence.belief.any(axis=1))
        later: dict[_Flip, float] = {}
        for k, (flip, to) in enumerate(tried.items()):
            following = next(candidates[flip], None) if labels[k] == line.label else None
            if following is None:
                found[flip.feature] = _change(line, flip, to, line.model.labels[labels[k]], bool(is_silent[k]))
            else:
                later[flip] = following
        tried = later
    return found


def _candidates(line: _Line, flip: _Flip) -> Iterator[float]:
    steps = finer_steps() if line.model.kind(flip.feature).is_date else ()
    return _rounded(flip.value, flip.at, _is_whole(line, flip.feature), flip.spread, steps)


def _change(line: _Line, flip: _Flip, to: float, label: Any, is_silent: bool) -> Change:
    value, told, exact = (line.model.number(flip.feature, number) for number in (flip.value, to, flip.at))
    distance, proven = abs(to - flip.value) / flip.spread, flip.proven / flip.spread
    return Change(line.names[flip.feature], value, told, exact, label, is_silent, distance, proven)


def _rounded(value: float, at: float, is_whole: bool, spread: float, steps: Iterable[float] = ()) -> Iterator[float]:
    """Values just behind ``at``, whole steps or few digits first; last ``at`` itself."""
    if is_whole:
        yield _away(at, 0, at > value)
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
    """Whether a feature seems to hold whole numbers: the row and all training rows that were kept do."""
    return float(line.row[0, feature]).is_integer() and line.model.is_whole(feature)
