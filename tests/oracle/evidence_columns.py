"""Evidence of categories and days, row by row, as it is defined.

For a value v and a class c, with p the probability of c at each of its rows: g is the sum of y - p, h that of
p (1 - p), over the rows of v; the evidence is g t / (1 + h t). The variance t maximises the marginal likelihood of g,
whose variance is h + h^2 t; where that gains at most two nats over t = 0 there is no evidence at all.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

Sums = dict[Any, tuple[float, float]]
VARIANCES = [0.0] + [4.0**power for power in range(-6, 3)]


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
