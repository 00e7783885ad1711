"""Curves and maps behind the rules in plain NumPy: bins, steps, boosting, merging, purification.

A term is a column (a curve) or a pair of columns (a map). Its table has a row of scores for each bin or cell, a column
for each channel: one of two classes, the second class's score minus the first's, else one for each class.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WEIGHT_PER_BIN = 40  # of the rows
RIDGE = 1.0  # added to the curvature of a level
LEAST = 3.0  # curvature that a level must have
MOST_STEP = 4.0
THRESHOLDS = (32, 16, 8, 4, 2, 1, 0.5, 0.25)
ROUNDS, LAST_ROUNDS = 60, 1500
MAP_PRICE = 2  # times the threshold
MAP_LEVELS = 16  # of a step
TOGETHER = 1.0  # what the rates of terms that take a step at once add up to
MOVING_SHARE = 0.05


def cut_places(weight: Floats, most: int) -> list[int]:
    """After which of ascending values a cut comes: large ones have a bin of their own, the others equal shares."""
    if len(weight) <= most:
        return list(range(len(weight) - 1))
    large = weight >= weight.sum() / most
    share = weight[~large].sum() / max(most - large.sum(), 1)
    places, run = [], 0.0
    for k in range(len(weight) - 1):
        run += weight[k]
        if large[k] or large[k + 1] or run >= share:
            places.append(k)
            run = 0.0
    return places


def bins(x: Floats, weight: Floats) -> tuple[Floats, Ints]:
    """Cuts of a number, and the bin of a map's axis for each bin of its curve; bin 0 is missing."""
    paid = weight.sum() / WEIGHT_PER_BIN
    known = ~np.isnan(x)
    values, code = np.unique(x[known], return_inverse=True)
    of_value = np.bincount(code, weights=weight[known])
    places = cut_places(of_value, int(np.clip(paid, 16, 512)))
    cuts = np.array([(values[k] + values[k + 1]) / 2 for k in places])
    of_bin = np.array([own.sum() for own in np.split(of_value, np.array(places, int) + 1)])
    coarse = cut_places(of_bin, int(np.clip(np.sqrt(paid), 4, 40)))
    of_map = np.r_[0, 1 + np.searchsorted(coarse, np.arange(len(of_bin)), side="left")]
    return cuts, of_map


def code(x: Floats, cuts: Floats) -> Ints:
    return np.where(np.isnan(x), 0, 1 + np.searchsorted(cuts, x, side="left"))


def sums(p: Floats, y: Ints, weight: Floats, cell: Ints, n_cells: int) -> tuple[Floats, Floats]:
    """Residuals and curvature of every cell and channel."""
    target = (y == 1)[:, None] if p.shape[1] == 1 else np.eye(p.shape[1])[y]
    g, h = np.zeros((n_cells, p.shape[1])), np.zeros((n_cells, p.shape[1]))
    np.add.at(g, cell, weight[:, None] * (target - p))
    np.add.at(h, cell, weight[:, None] * p * (1 - p))
    return g, h


def level(g: Floats, h: Floats, rate: float) -> Floats:
    return np.asarray(rate * np.clip(g / (h + RIDGE), -MOST_STEP, MOST_STEP))


def worth(g: Floats, h: Floats) -> float:
    """What one level for these sums gains."""
    return float((g**2 / (h + RIDGE)).sum())


def best_cut(g: Floats, h: Floats, a: int, b: int, sign: int) -> tuple[float, int]:
    """The best cut of bins ``a`` to ``b - 1`` into two levels: its gain, and the first bin above it; 0: none."""
    best = (0.0, 0)
    for k in range(a + 1, b):
        (g1, h1), (g2, h2) = [(g[u:v].sum(0), h[u:v].sum(0)) for u, v in ((a, k), (k, b))]
        rise = sign * (g2 / (h2 + RIDGE) - g1 / (h1 + RIDGE))[0]
        if h1.sum() < LEAST or h2.sum() < LEAST or (rise < 0 and k > 1):
            continue
        best = max(best, (worth(g1, h1) + worth(g2, h2), k), key=lambda own: own[0])
    return (best[0] - worth(g[a:b].sum(0), h[a:b].sum(0)), best[1]) if best[1] else best


def curve_step(g: Floats, h: Floats, threshold: float, rate: float, n_levels: int, sign: int = 0) -> Floats:
    """Levels that begin and end where that gains most; zero where no cut gains the threshold."""
    step, runs = np.zeros_like(g), [(0, len(g))]
    while len(runs) < n_levels:
        gain, at, run = max((*best_cut(g, h, *own, sign), own) for own in runs)
        if at == 0 or gain < threshold:
            break
        runs.remove(run)
        runs += [(run[0], at), (at, run[1])]
    if len(runs) == 1:
        return step
    runs.sort()
    value = np.array([level(g[a:b].sum(0), h[a:b].sum(0), rate) for a, b in runs])
    if sign:
        weight = np.array([h[a:b].sum() + RIDGE for a, b in runs])
        first = int(runs[0] == (0, 1))
        value[first:, 0] = sign * isotonic(sign * value[first:, 0], weight[first:])
    for (a, b), own in zip(runs, value, strict=True):
        step[a:b] = own
    return step if len(np.unique(value)) > 1 else np.zeros_like(g)


def isotonic(value: Floats, weight: Floats) -> Floats:
    """The nearest rising values."""

    def mean(a: int, b: int) -> float:
        return float(np.average(value[a : b + 1], weights=weight[a : b + 1]))

    n = len(value)
    return np.array([max(min(mean(a, b) for b in range(k, n)) for a in range(k + 1)) for k in range(n)])


def category_step(g: Floats, h: Floats, threshold: float, rate: float) -> Floats:
    """A level for every category."""
    gain = worth(g, h) - worth(g.sum(0), h.sum(0))
    return level(g, h, rate) if gain >= threshold and gain > 0 else np.zeros_like(g)


def map_step(g: Floats, h: Floats, threshold: float, rate: float, n_levels: int) -> tuple[float, Floats]:
    """The gain of a cross of cuts, and levels for its parts, divided further; `g`, `h` are (first, second, channel)."""
    found = [cross(g, h), cross(g.swapaxes(0, 1), h.swapaxes(0, 1))]
    turned = found[1][0] > found[0][0]
    best, parts = found[turned]
    step = np.zeros_like(g)
    if not parts:
        return 0.0, step
    gain = best - worth(g.sum((0, 1)), h.sum((0, 1)))
    if gain >= threshold:
        for part in divided(g, h, [part[::-1] if turned else part for part in parts], threshold, n_levels):
            step[part] = level(g[part].sum((0, 1)), h[part].sum((0, 1)), rate)
    return gain, step


Part = tuple[slice, slice]
"""A rectangle of cells that gets one level."""


def divided(g: Floats, h: Floats, parts: list[Part], threshold: float, n_levels: int) -> list[Part]:
    """The parts, cut one after the other where that gains most, while that is the threshold."""
    while len(parts) < n_levels:
        found = [(gain, at, halves) for at, part in enumerate(parts) for gain, halves in halvings(g, h, part)]
        gain, at, halves = max(found, key=lambda own: own[0], default=(0.0, 0, []))
        if gain <= 0 or gain < threshold:
            break
        parts = [*parts[:at], halves[0], *parts[at + 1 :], halves[1]]
    return parts


def halvings(g: Floats, h: Floats, part: Part) -> list[tuple[float, list[Part]]]:
    """All ways to cut a part along an axis, and what each gains."""
    out = []
    for axis in (0, 1):
        first, last, _ = part[axis].indices(g.shape[axis])
        for at in range(first + 1, last):
            ends = [slice(first, at), slice(at, last)]
            halves: list[Part] = [(own, part[1]) if axis == 0 else (part[0], own) for own in ends]
            (g1, h1), (g2, h2), (g0, h0) = [(g[own].sum((0, 1)), h[own].sum((0, 1))) for own in (*halves, part)]
            if h1.sum() >= LEAST and h2.sum() >= LEAST:
                out.append((worth(g1, h1) + worth(g2, h2) - worth(g0, h0), halves))
    return out


def cross(g: Floats, h: Floats) -> tuple[float, list[Part]]:
    """The largest sum of four levels' gains: a cut along the first axis, one across on either side; and the parts."""
    best: tuple[float, list[Part]] = (0.0, [])
    for a in range(1, g.shape[0]):
        total, parts = 0.0, []
        for lines in (slice(0, a), slice(a, None)):
            found = [
                (sum(worth(g[lines, own].sum((0, 1)), h[lines, own].sum((0, 1))) for own in halves), halves)
                for b in range(1, g.shape[1])
                for halves in [(slice(0, b), slice(b, None))]
                if all(h[lines, own].sum() >= LEAST for own in halves)
            ]
            if not found:
                break
            top, halves = max(found, key=lambda own: own[0])
            total += top
            parts += [(lines, own) for own in halves]
        if len(parts) == 4 and total > best[0]:
            best = total, parts
    return best


class Term:
    """A curve or a map: its cells, and how it steps."""

    def __init__(self, codes: list[Ints], sizes: list[int], *, is_categorical: bool = False, sign: int = 0) -> None:
        self.sizes, self.is_categorical, self.sign = sizes, is_categorical, sign
        self.cell = codes[0] if len(codes) == 1 else codes[0] * sizes[1] + codes[1]
        self.n_cells = int(np.prod(sizes))

    def step(self, g: Floats, h: Floats, threshold: float, rate: float, n_levels: int) -> Floats:
        if len(self.sizes) == 2:
            shape = (*self.sizes, g.shape[1])
            own = map_step(g.reshape(shape), h.reshape(shape), MAP_PRICE * threshold, rate, MAP_LEVELS)[1]
            return own.reshape(g.shape)
        if self.is_categorical:
            return category_step(g, h, threshold * max(self.n_cells - 3, 1) ** 0.5, rate)
        return curve_step(g, h, threshold, rate, n_levels, self.sign)


def moved(p: Floats, score: Floats) -> Floats:
    """Probabilities after scores were added."""
    more = p * np.exp(score)
    return more / (1 - p + more) if p.shape[1] == 1 else more / more.sum(axis=1, keepdims=True)


def boost(
    terms: list[Term], p: Floats, y: Ints, weight: Floats, rate: float, n_levels: int, end: tuple[int, int]
) -> tuple[list[Floats], Floats]:
    """Rounds over all terms, up to a threshold's number and a number of rounds with it: tables and probabilities."""
    tables = [np.zeros((term.n_cells, p.shape[1])) for term in terms]
    unit, together = max(p.shape[1] - 1, 1) ** 0.5, int(max(TOGETHER / rate + 1e-9, 1))
    for at, threshold in enumerate(THRESHOLDS[: end[0] + 1]):
        rest, wait = np.zeros(len(terms), int), np.ones(len(terms), int)
        most = end[1] if at == end[0] else LAST_ROUNDS if at + 1 == len(THRESHOLDS) else ROUNDS
        for number in range(most):
            active, n_moved = np.flatnonzero(rest <= number), 0
            for some in np.split(active, range(together, len(active), together)):
                score = np.zeros_like(p)
                for t in some:
                    own = terms[t].step(
                        *sums(p, y, weight, terms[t].cell, terms[t].n_cells), threshold * unit, rate, n_levels
                    )
                    if own.any():
                        tables[t] += own
                        score += own[terms[t].cell]
                        wait[t], n_moved = 1, n_moved + 1
                    else:
                        rest[t], wait[t] = number + 1 + wait[t], 2 * wait[t]
                p = moved(p, score)
            if n_moved <= MOVING_SHARE * len(terms):
                break
    return tables, p


def bands(values: Floats, h: Floats, price: float) -> tuple[Floats, Floats, Ints]:
    """Neighbouring lines become one, the cheapest first, while each costs less than the price; line 0 stays.

    Returns
    -------
    values, h : ndarray of shape (n_bands, n_entries, n_channels)
        Of the bands.
    band : ndarray of shape (n_lines,)
        The band of each line.
    """
    own = [[k] for k in range(len(values))]
    lines, curvature = list(values), list(h)

    def cost(k: int) -> float:
        a, b = curvature[k], curvature[k + 1]
        return float(0.5 * (a * b / (a + b + 1e-9) * (lines[k] - lines[k + 1]) ** 2).sum())

    while len(lines) > 2:
        k = min(range(1, len(lines) - 1), key=cost)
        n_different = 1 + np.count_nonzero((np.diff(lines[k], axis=0) != 0).any(axis=1))
        if cost(k) >= price * n_different**0.5:
            break
        both = curvature[k] + curvature[k + 1]
        mean = (lines[k] * curvature[k] + lines[k + 1] * curvature[k + 1]) / np.where(both > 0, both, 1)
        lines[k] = np.where(both > 0, mean, lines[k])
        curvature[k] = both
        own[k] += own[k + 1]
        del lines[k + 1], curvature[k + 1], own[k + 1]
    return np.array(lines), np.array(curvature), np.repeat(np.arange(len(own)), [len(k) for k in own])


def merged(table: Floats, h: Floats, sizes: list[int], price: float) -> Floats:
    """The table with the fewest lines that are worth it."""
    shape = (sizes[0], sizes[1] if len(sizes) == 2 else 1, table.shape[1])
    values, h, first = bands(table.reshape(shape), h.reshape(shape), price)
    if len(sizes) == 1:
        return values[first].reshape(table.shape)
    values, _, second = bands(values.swapaxes(0, 1), h.swapaxes(0, 1), price)
    return values[second].swapaxes(0, 1)[first].reshape(table.shape)


def purified(table: Floats, weight: Floats, axes: str = "both") -> tuple[Floats, Floats, Floats]:
    """A map without its main effects, and these: table (first, second, channel), weight (first, second).

    ``axes``: the main effect of the "first" or the "second" column alone leaves the map, or "both" do.
    """
    effects = [np.zeros_like(table[:, 0]), np.zeros_like(table[0])]
    for _ in range(200):
        for axis in {"both": (1, 0), "first": (1,), "second": (0,)}[axes]:
            all_ = weight.sum(axis=axis)[:, None]
            mean = (weight[:, :, None] * table).sum(axis=axis) / np.where(all_ > 0, all_, 1)
            effects[1 - axis] += mean
            table = table - np.expand_dims(mean, axis)
    return table, *effects
