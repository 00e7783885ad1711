"""The nearest change of one feature that alters the label: found on the tree, proven from below, checked from above.

Moving away from a row's value, intervals on which the label provably stays are passed over; the others are divided
until the first value with another label stands next to a proven interval. So no smaller change of this feature alters
the label, and this one does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from typing import Any

import numpy as np

from ferl._model.model import Model
from ferl._read.evidence import read_evidence
from ferl._read.explanation.interval_proof import FAR, Line, RowConditions
from ferl._read.novelty import total_spread
from ferl._util.arrays import Floats
from ferl._util.text import plain

TOLERANCE = 1e-7  # of a spread, between the proven distance and the change
# The maxima of the cautious rule nearly jump where a source comes to fire fully: proofs need intervals that short.
_CAUTIOUS_TOLERANCE = 1e-14
_PARTS = 8  # into which an interval is divided
_AT_ONCE = 24  # intervals, the nearest first
_MOST_ROUNDS = 150
_OVERSHOOT = 0.05  # of the change, that rounding to fewer digits may add


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
        The nearest value with another label, rounded away from the row to few digits; a category, for categories.
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
        all the way to ``exact``, but for 1e-7, except where two classes nearly tie on the way and, under "chain",
        where a path begins to fire, a jump; what lies behind is searched. Of categories all were tried: 1.
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
    conditions = RowConditions(model, row)
    names, categories = model.feature_names(), model.category_names
    spread = total_spread(model.tree)
    found: list[Change] = []
    unproven: list[str] = []
    for feature in np.unique(model.tree.feature[1:]).tolist():
        if feature >= len(names) or math.isnan(row[0, feature]):
            continue
        if feature in categories:
            change = _other_category(
                conditions, feature, label, names[feature], list(categories[feature]), unseen.get(feature)
            )
        else:
            change, is_proven = _other_number(conditions, feature, label, names[feature], float(spread[feature]))
            unproven += [names[feature]] * (not is_proven)
        if change is not None:
            found.append(change)
    return Changes(tuple(sorted(found, key=lambda change: change.distance)), tuple(unproven))


def _other_category(
    conditions: RowConditions, feature: int, label: int, name: str, levels: list[Any], unseen: Any
) -> Change | None:
    """The category whose label is most probable, among those that give another label."""
    rows = np.repeat(conditions.row, len(levels), axis=0)
    rows[:, feature] = np.arange(len(levels))
    probability = read_evidence(conditions.model, rows).pignistic
    labels = probability.argmax(axis=1)
    if (labels == label).all():
        return None
    best = int(np.where(labels == label, -1.0, probability.max(axis=1)).argmax())
    code = int(conditions.row[0, feature])
    value = levels[code] if code < len(levels) else unseen
    new, is_silent = _answer(conditions, feature, float(best))
    return Change(name, value, levels[best], levels[best], new, is_silent, 1.0, 1.0)


def _other_number(
    conditions: RowConditions, feature: int, label: int, name: str, spread: float
) -> tuple[Change | None, bool]:
    """The nearest number with another label, or else whether it is proven that there is none."""
    line = Line(conditions, feature, label)
    if not line.can_matter:
        return None, True
    value = float(conditions.row[0, feature])
    # Below this two values are the same to the eye, and near the resolution of the numbers nothing can be told apart.
    tolerance = _CAUTIOUS_TOLERANCE if conditions.model.reading.combination == "cautious" else TOLERANCE
    width = max(tolerance * spread, 4 * math.ulp(value))
    sides = [_first_flip(conditions, line, feature, label, value, outward, width) for outward in (-1, 1)]
    proven = min(abs(side.proven - value) for side in sides)
    nearest = min(sides, key=lambda side: abs(side.at - value))
    if math.isinf(nearest.at):
        return None, math.isinf(proven)
    to = _rounded(conditions, feature, value, nearest.at, label)
    new, is_silent = _answer(conditions, feature, to)
    change = Change(name, value, to, nearest.at, new, is_silent, abs(to - value) / spread, proven / spread)
    return change, True


def _answer(conditions: RowConditions, feature: int, value: float) -> tuple[Any, bool]:
    """The label when a feature has this value, and whether nothing fires there."""
    row = conditions.row.copy()
    row[0, feature] = value
    evidence = read_evidence(conditions.model, row)
    return evidence.classes.tolist()[int(evidence.pignistic[0].argmax())], not evidence.belief.any()


@dataclass(frozen=True)
class _Side:
    """One direction: the nearest value found with another label (infinite: none), and up to where it is proven."""

    at: float
    proven: float


def _first_flip(
    conditions: RowConditions, line: Line, feature: int, label: int, value: float, outward: int, width: float
) -> _Side:
    corners = line.corners(value, outward)
    one, other = corners[:-1], corners[1:]  # intervals still to be judged, nearest first
    flip = gap = outward * math.inf  # the nearest other label, and the beginning of what could not be proven
    for _ in range(_MOST_ROUNDS):
        is_before = outward * one < outward * flip
        one, other = one[is_before], other[is_before]
        if not len(one):
            break
        near, far, rest = one[:_AT_ONCE], other[:_AT_ONCE], (one[_AT_ONCE:], other[_AT_ONCE:])
        is_open = ~line.keeps_label(near, far)
        near, far = near[is_open], far[is_open]
        flip = _nearer(outward, flip, far[conditions.labels(feature, far) != label])
        is_narrow = np.abs(far - near) <= np.maximum(width, 4 * np.spacing(np.abs(far)))
        is_narrow |= np.abs(far) >= FAR  # behind the last corner nothing changes: there is nothing to divide
        gap = _nearer(outward, gap, near[is_narrow])
        if outward * (flip - gap) > width:
            width *= 2  # a tie too close to be proven: what lies behind it is searched, not proven
        parts = _divided(near[~is_narrow], far[~is_narrow])
        one, other = np.concatenate([parts[0], rest[0]]), np.concatenate([parts[1], rest[1]])
    return _Side(flip, _nearer(outward, gap, np.append(one[:1], flip)))


def _nearer(outward: int, value: float, others: Floats) -> float:
    return float(outward * min([outward * value, *(outward * others)]))


def _divided(near: Floats, far: Floats) -> tuple[Floats, Floats]:
    """Each interval in equal parts that share their ends exactly."""
    share = np.arange(1, _PARTS) / _PARTS
    inner = near[:, None] + (far - near)[:, None] * share
    ends = np.hstack([near[:, None], inner, far[:, None]])
    return ends[:, :-1].ravel(), ends[:, 1:].ravel()


def _rounded(conditions: RowConditions, feature: int, value: float, at: float, label: int) -> float:
    """A value with few digits at or just behind ``at`` that still alters the label."""
    distance = abs(at - value)
    first = math.ceil(-math.log10(_OVERSHOOT * distance))
    tries = [_away(at, places, at > value) for places in range(first, first + 12)]
    tries = [own for own in tries if abs(own - at) <= _OVERSHOOT * distance]
    if _is_whole(conditions, feature):
        tries.insert(0, _away(at, 0, at > value))
    labels = conditions.labels(feature, np.array([*tries, at]))
    return [*tries, at][int((labels != label).argmax())]


def _away(at: float, places: int, upward: bool) -> float:
    """Rounded to decimal places, up or down; exactly, as a decimal number."""
    with localcontext(Context(prec=400)):
        step = Decimal(1).scaleb(-places)
        rounded = Decimal(at).quantize(step, rounding=ROUND_CEILING if upward else ROUND_FLOOR)
        return float(rounded) + 0.0  # no negative zero


def _is_whole(conditions: RowConditions, feature: int) -> bool:
    """Whether a feature seems to hold whole numbers: the row and all training rows that were kept do."""
    values = np.append(conditions.tree.profile.exemplar_row[:, feature], conditions.row[0, feature])
    values = values[~np.isnan(values)]
    return len(values) > 1 and bool((values == np.floor(values)).all())
