"""Evidence of categories and days, and what dates are to a model, row by row, as it is defined.

For a value v and a class c, with p the probability of c at each of its rows: g is the sum of y - p, and h the sum of
p (1 - p), over the rows of v; the evidence is g t / (1 + h t). The variance t maximises the marginal likelihood of g,
whose variance is h + h^2 t; where that gains at most two nats over t = 0 there is no evidence at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Sums = dict[Any, tuple[float, float]]
VARIANCES = [0.0] + [4.0**power for power in range(-6, 3)]
DAY_RULES = 40  # the most rules that days are learned beyond
SPANS = {"weekday": 14, "hour": 2, "month": 700, "day of the year": 700}  # days that a part needs, two periods or more


def sums(values: list[Any], is_class: list[bool], p: list[float], weight: list[float]) -> Sums:
    """The sums g and h of each value of a column."""
    found: Sums = {}
    for value, own, share, times in zip(values, is_class, p, weight, strict=True):
        g, h = found.get(value, (0.0, 0.0))
        found[value] = g + times * (own - share), h + times * share * (1 - share)
    return found


def best_variance(all_sums: list[Sums]) -> float:
    """The variance of the largest marginal likelihood over all classes."""

    def likelihood(t: float) -> float:
        pairs = [pair for own in all_sums for pair in own.values() if pair[1] > 0]
        return math.fsum(-0.5 * (math.log(h + h * h * t) + g * g / (h + h * h * t)) for g, h in pairs)

    best = max(VARIANCES, key=likelihood)
    return best if likelihood(best) > likelihood(0.0) + 2.0 else 0.0


def evidence(all_sums: list[Sums]) -> list[dict[Any, float]] | None:
    """The evidence of each value for each class; None: the column is noise."""
    t = best_variance(all_sums)
    if t == 0.0:
        return None
    return [{value: g * t / (1 + h * t) for value, (g, h) in own.items()} for own in all_sums]


def category_evidence(values: list[Any], y: list[int], weight: list[float], classes: list[int]) -> Any:
    """The evidence of categories, where p is the share of the class among all rows."""
    total = math.fsum(weight)
    found = []
    for c in classes:
        share = math.fsum(w for w, own in zip(weight, y, strict=True) if own == c) / total
        found.append(sums(values, [own == c for own in y], [share] * len(y), weight))
    return evidence(found)


def date_part(days: float, part: str) -> float:
    """A part of a date, by pandas; weekdays and months count from 0."""
    moment = pd.Timestamp(0) + pd.Timedelta(round(days * 86_400), unit="s")
    if part == "hour":
        return moment.hour + moment.minute / 60 + moment.second / 3600
    return {"weekday": moment.weekday(), "month": moment.month - 1, "day of the year": moment.day_of_year}[part]


# ---------------------------------------------------------------------------------------------------------------------
# Dates
# ---------------------------------------------------------------------------------------------------------------------


def date_in_range(days: float, first: float, last: float) -> float:
    """A date as curves and maps read it beside the evidence of days: missing outside the training range."""
    return days if first <= days <= last else math.nan


def known_date(days: float, first: float, last: float) -> float:
    """A date as rules read it: the nearest one of the training range."""
    return days if math.isnan(days) else min(max(days, first), last)


def date_copies(dates: list[float], columns: list[list[float]]) -> list[int]:
    """Which columns repeat a part of a date: no more than one row in a hundred differs, in some time zone.

    The parts are the year, the month from 1 to 12, the day of the month and the day of the year. A part that is the
    same in all rows is no part, and rows without a date are left out. Fewer than 100 dates, or fewer than half of the
    rows, are too few to compare.
    """
    known = [i for i, days in enumerate(dates) if not math.isnan(days)]
    if len(known) < max(100, len(dates) // 2):
        return []
    found = set()
    for hours in range(-14, 15):
        moments = [datetime(1970, 1, 1) + timedelta(days=dates[i], hours=hours) for i in known]
        for part in ("%Y", "%m", "%d", "%j"):
            numbers = [int(moment.strftime(part)) for moment in moments]
            if min(numbers) == max(numbers):
                continue
            for j, column in enumerate(columns):
                n_misses = sum(column[i] != number for i, number in zip(known, numbers, strict=True))
                if n_misses <= 0.01 * len(known):
                    found.add(j)
    return sorted(found)


def rule_columns(x: Floats, dates: list[int], left_out: list[int], has_numbers: bool) -> Floats:
    """The columns of the rules that days are learned beyond, shape (n_rows, n_columns).

    Dates and the features that are left out have no values. The parts of dates follow, and the dates as rules read
    them if they are read as numbers.
    """
    features = x.copy()
    features[:, [*dates, *left_out]] = math.nan
    parts, numbers = [], []
    for j in dates:
        first, last = np.nanmin(x[:, j]), np.nanmax(x[:, j])
        for part, span in SPANS.items():
            column = [math.nan if math.isnan(days) else date_part(days, part) for days in x[:, j].tolist()]
            if last - first >= span and np.nanmin(column) < np.nanmax(column):
                parts.append(column)
        if has_numbers and first < last:
            numbers.append([known_date(days, first, last) for days in x[:, j].tolist()])
    return np.column_stack([features, *parts, *numbers])


def day_evidence(
    x: Floats, y: list[int], weight: list[float], dates: list[int], p: Floats, classes: list[int]
) -> dict[int, list[dict[int, float]]]:
    """The evidence of the days of each date for each class beyond the probabilities p; dates without any are left out.

    Rows without a date are of no day.
    """
    result = {}
    for j in dates:
        known = np.flatnonzero(~np.isnan(x[:, j])).tolist()
        days = [math.floor(x[i, j]) for i in known]
        found = evidence(
            [sums(days, [y[i] == c for i in known], p[known, c].tolist(), [weight[i] for i in known]) for c in classes]
        )
        if len(set(days)) > 1 and found is not None:
            result[j] = found
    return result


def date_columns(
    dates: list[int],
    has_evidence: Callable[[list[int], bool], list[int]],
    copies: Callable[[list[int]], list[int]],
    has_curves: bool,
) -> tuple[list[tuple[str, int]], list[int]]:
    """The columns that stand for dates besides their parts, and the columns that are left out as copies.

    Rules that read all dates as numbers are learned first, at most ``DAY_RULES`` of them, without curves and maps. If
    days of some dates differ beyond these rules, rules are learned a second time. They read no date as a number, and no
    copies of these dates. The evidence of days is what differs beyond both.

    Parameters
    ----------
    dates : list of int
        Features of dates.
    has_evidence : callable
        The dates whose days have evidence beyond rules that do not read some features, and that read all dates as
        numbers or none.
    copies : callable
        The columns that repeat parts of some dates.
    has_curves : bool
        Whether the model may have curves: without words, with ``max_maps``.
    """
    differing = has_evidence([], True)
    left_out = copies(differing) if differing else []
    evident = has_evidence(left_out, False) if differing else []
    evident = [j for j in evident if j in differing]
    if not evident:
        return [("date", j) for j in dates], []
    numbers = [("date", j) for j in dates if j not in evident]
    late = [("date in range", j) for j in evident] if has_curves else []
    return [*(("day", j) for j in evident), *numbers, *late], left_out


def validation_groups(dates: list[float], weight: list[float]) -> list[tuple[str, int]]:
    """The groups that inner validation holds out as a whole where days of a date have evidence.

    Rows of one day have more in common than the date, and new rows will come on new days: a day is a group. A row
    without a date is a group of its own, and so is a row of a day that has more than a twentieth of the weight.

    With several such dates, the days of the one count whose evidence moves rows most: the largest weighted sum of
    squares, over rows and classes. Groups passed by the user count instead of days. Curves and maps of the date itself,
    the last stage, are validated on single rows unless the user passed groups.
    """
    day = [None if math.isnan(days) else math.floor(days) for days in dates]
    heavy = {
        own
        for own in set(day) - {None}
        if math.fsum(w for w, other in zip(weight, day, strict=True) if other == own) > math.fsum(weight) / 20
    }
    return [("row", i) if own is None or own in heavy else ("day", own) for i, own in enumerate(day)]


def stages(n_columns: int, late: set[int], most_maps: int) -> list[tuple[list[int], list[tuple[int, int]], int]]:
    """Curves, pairs that maps may have, and the most maps, of each stage of boosting.

    Columns that no rule reads come last: what they explain is what all other columns leave over. They get five maps, or
    half of the maps where these are fewer, and what the first stage leaves. Their maps keep the main effects of the
    other column, and add nothing where the late column has no value. So the last stage adds a constant at most there.
    """
    first = [j for j in range(n_columns) if j not in late]
    pairs = [(a, b) for a in range(n_columns) for b in range(a + 1, n_columns)]
    early = [pair for pair in pairs if not late & set(pair)]
    if not late:
        return [(first, early, most_maps)]
    kept = min(most_maps // 2, 5)
    return [
        (first, early, most_maps - kept),
        (sorted(late), [pair for pair in pairs if late & set(pair)], most_maps),
    ]
