"""One value of a row moves: where the label provably stays, and the nearest other label, one interval at a time.

Along one column a firing is a constant times the memberships and gates of the conditions on that column. Each of these
is monotone between its corners, so on an interval without corners it lies between its values at the two ends. Bounds on
how far the label is ahead of each other class follow from them.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from oracle.inference import Floats, fits, opens

FAR = 1e300
SLACK = 1e-12  # what rounding may add to an advantage
MOST_FIRING = 1 - 1e-12


class Line:
    """A row along one column of numbers; ``model``: a tree, how it is read, and what its nodes say."""

    def __init__(self, model: Any, row: Floats, column: int, label: int) -> None:
        self.model, self.tree, self.row, self.column, self.label = model, model.tree, row, column, label
        self.tested = [o for o in range(1, self.tree.n_nodes) if self.tree.feature[o] == column]

    def corners(self, outward: int) -> list[float]:
        """Ends of the intervals to look at on one side of the row's value, nearest first."""
        value, points = float(self.row[self.column]), []
        for node in self.tested:
            low, high = self.tree.support[node]
            reach = self.model.reading.gate_margin * (high - low)
            points += [*self.tree.trapezoid[node], low - reach, low, high, high + reach]
        points = sorted(
            {p for p in points if math.isfinite(p) and outward * (p - value) > 0}, key=lambda p: outward * p
        )
        last = points[-1] if points else value
        return [value, *points, last + outward * (1e-6 * abs(last) + 1e-6), outward * FAR]

    def firings(self, one: float, other: float) -> tuple[Floats, Floats]:
        """Bounds on what each node is believed to, while the value moves from one to the other."""
        bounds = np.ones((2, self.tree.n_nodes))
        for node in range(1, self.tree.n_nodes):
            at = [one, other] if self.tree.feature[node] == self.column else [self.row[self.tree.feature[node]]]
            factors = [fits(self.tree, node, np.array(at))]
            if self.model.reading.support_gate:
                factors.append(opens(self.tree, node, np.array(at), self.model.reading.gate_margin))
            above = bounds[:, self.tree.parent[node]]
            bounds[:, node] = above * np.prod([[own.min(), own.max()] for own in factors], axis=0)
        self.fired = bounds  # before it is doubted
        return tuple(bounds * self.model.reliability)

    def keeps_label(self, one: float, other: float) -> bool:
        """Whether the label is proven to be the same from one to the other, without corners inside."""
        low, high = self.firings(one, other)
        others = [j for j in range(self.tree.n_classes) if j != self.label]
        return all(self.ahead(j, low, high) > SLACK or self.cannot_overtake(j, high) for j in others)

    def cannot_overtake(self, j: int, high: Floats) -> bool:
        """Whether nothing that may be heard says more for a class than for the label, the first of equals."""
        p = self.tree.consequent
        return j > self.label and all(p[o, j] <= p[o, self.label] for path in self.paths(high) for o in path)

    def paths(self, high: Floats) -> list[list[int]]:
        """The sources that may fire; of "chain" each with the nodes above it, of "cautious" all in one list."""
        sources = [o for o in np.flatnonzero(self.model.is_source) if high[o] > 0]
        if self.model.reading.combination == "chain":
            return [self.tree.path(int(o)) for o in sources]
        return [sources] if self.model.reading.combination == "cautious" else [[o] for o in sources]

    def ahead(self, j: int, low: Floats, high: Floats) -> float:
        """Least advantage of the label over class j."""
        combination, p, c = self.model.reading.combination, self.tree.consequent, self.label
        total = 0.0
        for path in self.paths(high):
            end = path[-1] if path else 0
            if combination in ("dempster", "vote"):
                s = low[end] if p[end, c] > p[end, j] else high[end]
                kept = 1 - s + s * p[end, c], 1 - s + s * p[end, j]
                total += s * (p[end, c] - p[end, j]) if combination == "vote" else _log_ratio(*kept)
            elif path:
                if combination == "chain":  # all nodes of a path speak as its end fires
                    ends = list(self.fired[:, [end]] * self.model.reliability[path])
                else:
                    ends = [low[path], high[path]]
                total += _least_on_path(*ends, p[path, c], p[path, j])
        return -math.inf if math.isnan(total) else total

    def first_flip(self, outward: int, width: float, labels: Any) -> tuple[float, float]:
        """The nearest value found with another label, and up to where the label is proven to stay."""
        corners = self.corners(outward)
        rest = list(pairwise(corners))[::-1]  # the nearest last
        flip = gap = outward * math.inf
        while rest and outward * rest[-1][0] < outward * min(flip, gap, key=lambda end: outward * end):
            near, far = rest.pop()
            if self.keeps_label(near, far):
                continue
            if labels(far) != self.label:
                flip = min(flip, far, key=lambda end: outward * end)
            if abs(far - near) <= max(width, 4 * math.ulp(far)) or abs(far) >= FAR:
                gap = near
            else:
                middle = near + (far - near) / 2
                rest += [(middle, far), (near, middle)]
        return flip, min(flip, gap, key=lambda end: outward * end)


def _log_ratio(own: float, other: float) -> float:
    if not own > 0:
        return -math.inf
    return math.inf if not other > 0 else math.log(own / other)


def _least_on_path(low: Floats, high: Floats, own: Floats, other: Floats) -> float:
    """Least ``log(1 + E(c)) - log(1 + E(j))`` at the ends of a ratio, and where it reaches the certain one."""
    low, high = (np.minimum(s, MOST_FIRING) / (1 - np.minimum(s, MOST_FIRING)) for s in (low, high))
    certain = (low * own).max()
    reached = np.clip(np.divide(certain, own, out=np.full(len(own), np.inf), where=own > 0), low, high)
    ratio = np.stack([low, high, reached])
    return float((np.log1p(np.maximum(certain, ratio * own)) - np.log1p(ratio * other)).min())
