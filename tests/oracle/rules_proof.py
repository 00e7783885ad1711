"""How far a row may move before rules give it another label: by trying all corners.

By how much a class is ahead of another is a sum of products of memberships, each of another column. Along one column
it is linear between the corners of the ramps, so that over a box it is least where every column is at a corner or at an
end of its interval. The gates mix this lead with that of the class frequencies, in proportion to the support: over a
box the lead is at least the lesser one at the two ends of the support. Along one column alone the labels change only at
corners and where two scores are equal; between corners lead and support are linear, and scores differ by a parabola.
"""

from __future__ import annotations

import math
from itertools import pairwise, product
from typing import Any

import numpy as np

from oracle.inference import UNSEEN_GATE, Floats, fire, gate
from oracle.weights import base_scores

FAR = 1e12  # beyond all corners


def advantages(model: Any, rows: Floats, label: int) -> Floats:
    """By how much the label is ahead of each class, before the gates, shape (n_rows, n_classes)."""
    scores = model.prior + fire(model.tree, rows, gated=False)[:, model.rules.node] @ model.rules.weight
    return scores[:, [label]] - scores


def support(model: Any, rows: Floats) -> Floats:
    """The product of the gates that fade scores, shape (n_rows,)."""
    found = np.ones(len(rows))
    n_categories = model.tree.n_categories(rows.shape[1])
    for column in np.setdiff1d(model.gated_columns, model.level_columns):
        x = rows[:, column]
        if n_categories[column]:
            found *= np.where(x >= n_categories[column], UNSEEN_GATE, 1.0)
        else:
            found *= np.where(np.isnan(x), 1.0, gate(model.ranges[column], x, model.reading.gate_margin))
    return found


def leads(model: Any, rows: Floats, label: int) -> Floats:
    """By how much the label is ahead of each class, gates counted, shape (n_rows, n_classes)."""
    base, is_open = base_scores(model), support(model, rows)[:, None]
    return is_open * advantages(model, rows, label) + (1 - is_open) * (base[label] - base)


def labels(model: Any, rows: Floats) -> Any:
    """The most probable class, the first of equals."""
    return leads(model, rows, 0).argmin(axis=1)


def corners(model: Any, column: int) -> list[float]:
    """Where ramps and the gate of a column bend."""
    points = set(model.tree.trapezoid[model.tree.feature == column].ravel().tolist())
    if column in model.gated_columns and column not in model.level_columns:
        low, high = model.ranges[column].tolist()
        reach = model.reading.gate_margin * (high - low)
        points |= {low - reach, low, high, high + reach}
    return sorted(point for point in points if math.isfinite(point))


def keeps_label(model: Any, row: Floats, label: int, reach: Floats) -> bool:
    """Whether the label stays at all rows within ``reach`` of a row, by trying all corners."""
    values = []
    for column, (value, own) in enumerate(zip(row.tolist(), reach.tolist(), strict=True)):
        low, high = value - own, value + own
        values.append([value] if not own > 0 else [low, *(x for x in corners(model, column) if low < x < high), high])
    box = np.array(list(product(*values)))
    open_, base = support(model, box), base_scores(model)
    least = advantages(model, box, label).min(axis=0)
    # Of a tie of frequencies the first class has the label as soon as there is no support.
    is_tied, others = base == base[label], np.arange(len(base))
    for s in (open_.min(), open_.max()):
        ahead = s * least + (1 - s) * (base[label] - base)
        holds = (ahead > 0) | ((s == 0) & is_tied & (others > label) & ((least > 0) | (open_.max() == 0)))
        if not holds[others != label].all():
            return False
    return True


def first_flip(model: Any, row: Floats, label: int, column: int, outward: int) -> float:
    """The nearest value of a column with another label, on one side of the row's value; infinite if there is none."""
    value = float(row[column])
    beyond = [x for x in corners(model, column) if outward * x > outward * value]
    ends = [value, *sorted(beyond, key=lambda x: outward * x), outward * FAR]

    def line(*values: float) -> Floats:
        rows = np.repeat(row[None], len(values), axis=0)
        rows[:, column] = values
        return rows

    for near, far in pairwise(ends):
        first, middle, last = leads(model, line(near, (near + far) / 2, far), label)
        equal = [
            near + (far - near) * float(root.real)  # of a parabola through three points
            for a, b, c in zip(first, middle, last, strict=True)
            for root in np.roots([2 * (a + c) - 4 * b, 4 * b - 3 * a - c, a])
            if abs(root.imag) < 1e-9
        ]
        inside = [x for x in equal if outward * near < outward * x < outward * far]
        breaks = [near, *sorted(inside, key=lambda x: outward * x), far]
        for start, end in pairwise(breaks):
            if labels(model, line((start + end) / 2))[0] != label:
                return start
    return outward * math.inf
