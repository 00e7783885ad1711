"""Derived columns of rules: which ones a table has, and their numbers on the rows that rules are learned on.

Categories of many values are replaced by their evidence. For a value and a class, ``g`` is the sum of y - p over its
rows and ``h`` the sum of p (1 - p), where p is the frequency of the class; one Newton step of a random effect of
variance t is the evidence ``g t / (1 + h t)``. The variance maximises the marginal likelihood. If it gains too little
over variance zero, the column is noise, and there is no evidence. New rows get the evidence of all training rows. The
rows that rules are learned on get the evidence of all other folds, so no row depends on its own label.

Dates are read within the training range only, by their calendar parts, and by the evidence of single days beyond the
rules: there p is what rules without it predict. Where days have evidence, no rule reads a date as a number, nor columns
that repeat its year, month or day: such rules describe the training days, and new rows would get the last ones'
answers. Curves and maps read the date there, after the rules, and a date outside the training range is missing for
them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._learn.rows import Facts, Orders
from ferl._tables.derived import (
    MANY_CATEGORIES,
    MOST_DAYS,
    CategoryEvidence,
    DatePart,
    DayEvidence,
    Derived,
    KnownDate,
)
from ferl._util.arrays import Floats, Ints

N_FOLDS = 5
LEAST_GAIN = 2.0  # nats of marginal likelihood that evidence must gain
VARIANCES = (0.0, *(4.0**power for power in range(-6, 3)))  # of evidence; 0: no evidence
LARGEST_DAY = 0.05  # share of the weight of a sample; larger days are no groups
COPY_ROWS, LEAST_COMPARED = 10_000, 100  # rows that are compared with the parts of a date
COPY_MISSES = 0.01  # a column repeats a part of a date if it differs in no more than this share of these rows
_CHUNK_ROWS = 512  # after which columns are left out that have too many misses already
TIME_ZONES = range(-14, 15)  # hours from the time zone of a date; daylight saving time is within COPY_MISSES
LEAST_SPAN = {"weekday": 14, "hour": 2, "month": 700, "day of the year": 700}  # days, twice a period or more


@dataclass(frozen=True, eq=False)
class NewColumn:
    """A derived column, and its numbers on the rows that rules are learned on, shape (n_rows,)."""

    derived: Derived
    numbers: Floats


def replaced_features(facts: Facts) -> tuple[int, ...]:
    """Features that rules read through derived columns alone: dates, and categories of many values."""
    n_used = {j: int((by_class.sum(axis=1) > 0).sum()) for j, by_class in facts.category_weight.items()}
    kinds = enumerate(facts.schema.kinds)
    return tuple(j for j, kind in kinds if kind.is_date or n_used.get(j, 0) > MANY_CATEGORIES)


def evidence_of(g: Floats, h: Floats, variance: float) -> Floats:
    """The shrunken evidence of values from their sums."""
    return np.asarray(g * variance / (1 + h * variance))


def chosen_variance(g: Floats, h: Floats) -> float:
    """The variance of the largest marginal likelihood; 0 where it gains too little over none.

    Parameters
    ----------
    g, h : ndarray of shape (n_values, n_contrasts)
        The sums of each value.
    """
    slope, information = g[h > 0], h[h > 0]
    gained = {}
    for variance in VARIANCES:
        total = information + information**2 * variance  # the variance of g
        gained[variance] = math.fsum((-0.5 * (np.log(total) + slope**2 / total)).tolist())  # in any order of the values
    best = max(gained, key=lambda variance: gained[variance])
    return best if gained[best] > gained[0.0] + LEAST_GAIN else 0.0


def contrasts(n_classes: int) -> range:
    """The classes that have evidence: the second of two, or all."""
    return range(1, 2) if n_classes == 2 else range(n_classes)


def fold_of_rows(y: Ints) -> NDArray[np.intp]:
    """The fold of each row of a sample, whose order is random: in turn, for each class apart."""
    fold = np.empty(len(y), dtype=np.intp)
    for label in np.unique(y).tolist():
        rows = np.flatnonzero(y == label)
        fold[rows] = (np.arange(len(rows)) + label) % N_FOLDS
    return fold


def fold_of_groups(drawn: _core.Sample) -> NDArray[np.intp]:
    """The fold of each row of a sample in groups, each of which is in one fold."""
    return _core.stratified_parts(drawn, N_FOLDS).astype(np.intp)


def groups_of_days(dates: Floats, weight: Floats) -> Floats:
    """The group of each row of a sample: its day, or itself where it has no date or too heavy a day.

    A quarter of the rows validates. A heavy day would be most of these: a placeholder for unknown dates, or one of a
    few days.
    """
    day = np.floor(dates)
    alone = ~(np.abs(day) <= MOST_DAYS)
    _, code = np.unique(np.where(alone, np.nan, day), return_inverse=True)
    of_day = np.bincount(code, weight)
    alone |= of_day[code] > LARGEST_DAY * weight.sum()
    day[alone] = MOST_DAYS + 1 + np.arange(alone.sum())
    return day


def category_columns(
    facts: Facts,
    features: Sequence[int],
    orders: Orders,
    x: Floats,
    y: Ints,
    weight: Floats,
    fold: NDArray[np.intp],
) -> Iterator[NewColumn]:
    """The evidence of categories of many values.

    Parameters
    ----------
    facts : Facts
        With the weights of all categories.
    features : sequence of int
        The features that are replaced.
    orders : dict
        The order of each feature's categories, whose indices the sample holds.
    x, y, weight, fold
        The sample, and the fold of each of its rows.
    """
    total = facts.class_weight * facts.scale
    share = total / total.sum()
    for j in features:
        if j not in facts.category_weight:
            continue
        known = facts.category_weight[j] * facts.scale
        missing = [max(all_of - math.fsum(held), 0.0) for all_of, held in zip(total, known.T.tolist(), strict=True)]
        by_class = np.vstack([known, missing])
        is_missing = np.isnan(x[:, j])
        code = np.append(orders[j], len(known))[np.where(is_missing, len(known), x[:, j]).astype(np.intp)]
        classes = contrasts(len(share))
        g, h = _sums(by_class, share, classes)
        variance = chosen_variance(g, h)
        if variance == 0.0:
            continue
        numbers = np.empty((len(y), len(classes)))
        for part in range(N_FOLDS):
            inside_fold = fold == part
            cell = code[inside_fold] * len(share) + y[inside_fold]
            inside = np.bincount(cell, weight[inside_fold], minlength=by_class.size).reshape(by_class.shape)
            others = evidence_of(*_sums(np.maximum(by_class - inside, 0.0), share, classes), variance)
            numbers[inside_fold] = others[code[inside_fold]]
        table = evidence_of(g, h, variance)
        for k, label in enumerate(classes):
            yield NewColumn(CategoryEvidence(j, label, table[:, k].copy()), numbers[:, k].copy())


def _sums(by_class: Floats, share: Floats, classes: range) -> tuple[Floats, Floats]:
    """The sums g and h of each value from its weight by class, where p is the share of the class."""
    total, p = by_class.sum(axis=1)[:, None], share[list(classes)]
    return by_class[:, list(classes)] - p * total, p * (1 - p) * total


def trend_columns(kind: type[KnownDate], features: Sequence[int], ranges: Floats, x: Floats) -> Iterator[NewColumn]:
    """Dates as numbers; ``ranges``: the range of each column, shape (n_columns, 2)."""
    for j in features:
        if ranges[j, 0] < ranges[j, 1]:
            column = kind(j, *ranges[j].tolist())
            yield NewColumn(column, column.of(x[:, j]))


def part_columns(features: Sequence[int], ranges: Floats, x: Floats) -> Iterator[NewColumn]:
    """The calendar parts of which training has two periods."""
    for j in features:
        for part, least in LEAST_SPAN.items():
            if not ranges[j, 1] - ranges[j, 0] >= least:
                continue
            column = DatePart(j, part)
            numbers = column.of(x[:, j])
            valued = numbers[~np.isnan(numbers)]
            if len(valued) and valued.min() < valued.max():
                yield NewColumn(column, numbers)


def calendar_copies(features: Sequence[int], x: Floats) -> list[int]:
    """Columns of numbers that repeat a part of dates, in their time zone or another one.

    The parts are the year, the month from 1 to 12, the day of the month and the day of the year.

    Parameters
    ----------
    features : sequence of int
        Columns of dates.
    x : ndarray of shape (n_samples, n_columns)
        Rows in a random order, of which the first are compared.
    """
    x = x[:COPY_ROWS]
    found = set()
    for j in features:
        known = x[np.abs(x[:, j]) <= MOST_DAYS]
        if len(known) < max(LEAST_COMPARED, len(x) // 2):  # a few dates may agree with a column by accident
            continue
        for part in _calendar_parts(known[:, j]):
            if part.min() < part.max():
                found |= set(_repeating(part, known).tolist())
    return sorted(found - set(features))


def _calendar_parts(dates: Floats) -> list[Floats]:
    """The parts of dates in all time zones, without the repetitions."""
    parts = {}
    for hours in TIME_ZONES:
        days = np.floor(dates + hours / 24).astype(np.int64).astype("datetime64[D]")
        month, year = days.astype("datetime64[M]"), days.astype("datetime64[Y]")
        of_days = [(days - start).astype(np.int64) + 1 for start in (month, year)]
        for part in (year.astype(np.int64) + 1970, month.astype(np.int64) % 12 + 1, *of_days):
            parts[part.tobytes()] = part.astype(np.float64)
    return list(parts.values())


def _repeating(part: Floats, known: Floats) -> NDArray[np.intp]:
    """The columns that equal the part in nearly all rows; most columns are left out after a few rows."""
    columns, misses = np.arange(known.shape[1]), np.zeros(known.shape[1], dtype=np.int64)
    for first in range(0, len(part), _CHUNK_ROWS):
        rows = slice(first, first + _CHUNK_ROWS)
        misses += (known[rows, columns] != part[rows, None]).sum(axis=0)
        left = misses <= COPY_MISSES * len(part)
        columns, misses = columns[left], misses[left]
    return columns


def day_columns(
    features: Sequence[int], x: Floats, y: Ints, weight: Floats, fold: NDArray[np.intp], probability: Floats
) -> Iterator[NewColumn]:
    """The evidence of single days beyond what rules predict of the rows of a sample, shape (n_rows, n_classes)."""
    classes = contrasts(probability.shape[1])
    p = probability[:, list(classes)]
    residual = weight[:, None] * ((y[:, None] == list(classes)) - p)
    information = weight[:, None] * p * (1 - p)
    for j in features:
        known = np.flatnonzero(np.abs(x[:, j]) <= MOST_DAYS)
        days, code = np.unique(np.floor(x[known, j]).astype(np.int32), return_inverse=True)
        if len(days) < 2:
            continue
        cell = code * N_FOLDS + fold[known]

        def summed(values: Floats, cell: NDArray[np.intp] = cell, n_days: int = len(days)) -> Floats:
            sums = [np.bincount(cell, column, minlength=n_days * N_FOLDS) for column in values.T]
            return np.stack(sums, axis=1).reshape(n_days, N_FOLDS, -1).astype(np.float64)

        g, h = summed(residual[known]), summed(information[known])
        all_g, all_h = g.sum(axis=1), h.sum(axis=1)
        variance = chosen_variance(all_g, all_h)
        if variance == 0.0:
            continue
        others = evidence_of(all_g[:, None] - g, np.maximum(all_h[:, None] - h, 0.0), variance)
        table = evidence_of(all_g, all_h, variance)
        for k, label in enumerate(classes):
            numbers = np.where(np.isnan(x[:, j]), np.nan, 0.0)
            numbers[known] = others[code, fold[known], k]
            yield NewColumn(DayEvidence(j, label, days, table[:, k].copy()), numbers)
