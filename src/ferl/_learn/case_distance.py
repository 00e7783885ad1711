"""The distance between cases: how much a difference in each column counts, learned from the training rows.

Some training rows are predicted by their neighbours: a place at distance d counts its weight times ``exp(-s d)``, and
N_BEHIND rows of these shares stand beside one row of the class frequencies. What each column counts is multiplied by a
factor, which begins at 1 and minimises the log-loss of these rows. So columns that do not matter fall out of the
distance, and columns whose effect shows only between neighbours, as in parity, enter it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ferl import _core
from ferl._models.cases import Cases
from ferl._util.arrays import Floats

# Chosen on the calibration parts of 54 tables; decisions.md has what else was tried.
HOLD_FACTORS = 3.0  # rows that hold the logarithm of each factor at 0
N_BEHIND = 10.0  # rows that the shares of neighbours count for
N_ROUNDS = 3  # of a search for neighbours; 0: the factors stay 1
N_STEPS = 12  # of Adam in each round
STEP = 0.2  # of the logarithm of a factor
MOST_LOG = 4.0  # of a factor
N_ROWS = 500  # that are predicted
N_NEAR = 30  # places by which each is predicted
N_SEARCHED = 4000  # cases among which they are
MOST_CELLS = 5_000_000  # differences that are held at once
LEAST_ROWS = 100  # with fewer, because columns are many, the factors stay 1
_START = 10  # at the beginning, the place with this rank counts exp(-2)
_DIGITS = 3  # behind the point, of the logarithm of a factor: rounding of sums must not show
_MEAN_DECAY, _SQUARE_DECAY = 0.9, 0.99  # of Adam


def with_learned_distance(cases: Cases, n_threads: int = 1, n_predicted: int = N_ROWS) -> Cases:
    """The cases, whose order is random, with factors for what each column counts in the distance."""
    some = cases.keep(np.arange(cases.n_cases) < N_SEARCHED)
    assert some is not None
    n_columns = cases.row.shape[1]
    n_rows = min(n_predicted, some.n_cases, MOST_CELLS // (N_NEAR * n_columns))
    if n_rows < min(LEAST_ROWS, some.n_cases) or len(some.by_place[0]) <= _START:
        return cases
    at = np.zeros(1 + n_columns)  # logarithms: of s, and of the factor of each column
    for k in range(N_ROUNDS):
        vicinity = Vicinity.of(some, np.exp(at[1:]), n_rows, n_threads)
        if k == 0:
            usual = vicinity.usual_distance()
            if usual == 0:
                return cases
            at[0] = np.log(2 / usual)
        at = vicinity.improved(at)
    return replace(cases, per_unit=cases.per_unit * np.exp(np.round(at[1:], _DIGITS)))


@dataclass(frozen=True)
class Vicinity:
    """Rows and the places near them, other than their own.

    Attributes
    ----------
    away : ndarray of shape (n_columns, n_rows * n_near)
        What each column adds to the distance while its factor is 1.
    log_weight : ndarray of shape (n_rows, n_near)
        Logarithm of the weight of the cases of each place; minus infinity at the place of the row itself.
    share : ndarray of shape (n_rows, n_near)
        The share of the row's class in that weight.
    frequency, weight : ndarray of shape (n_rows,)
        How frequent the class of each row is, and the weight of the row, as a share.
    """

    away: Floats
    log_weight: Floats
    share: Floats
    frequency: Floats
    weight: Floats

    @classmethod
    def of(cls, cases: Cases, factor: Floats, n_rows: int, n_threads: int) -> Vicinity:
        """The first cases and the places near them, in the distance with these factors."""
        scaled = replace(cases, per_unit=cases.per_unit * factor)
        scaled.__dict__["by_place"] = cases.by_place  # which does not depend on the factors
        rows, itself = np.ascontiguousarray(cases.row[:n_rows]), cases.place_of_case[:n_rows, None]
        start = cases.by_place[1]
        near = scaled.nearest_places(rows, min(N_NEAR + 1, len(start) - 1), n_threads)[0]
        away = np.empty((rows.shape[1], near.size))
        cases.core.away(rows, near, away)
        total = np.bincount(cases.place_of_case, cases.weight)
        by_class = np.zeros((len(total), len(cases.usual)))
        np.add.at(by_class, (cases.place_of_case, cases.label), cases.weight)
        label, weight = cases.label[:n_rows], cases.weight[:n_rows]
        return cls(
            away=away,
            log_weight=np.where(near == itself, -np.inf, np.log(total[near])),
            share=by_class[near, label[:, None]] / total[near],
            frequency=cases.frequency[label],
            weight=weight / weight.sum(),
        )

    def usual_distance(self) -> float:
        """Median over the rows of the distance of a place that is among the nearest, but not the nearest."""
        distance = np.where(np.isinf(self.log_weight), np.inf, self.away.sum(axis=0).reshape(self.log_weight.shape))
        rank = min(_START, distance.shape[1] - 2)
        return float(np.median(np.partition(distance, rank, axis=1)[:, rank]))

    def loss(self, at: Floats) -> tuple[float, Floats]:
        """The penalised log-loss, and its slope by the logarithms of s and of the factors."""
        slope, hold = np.empty_like(at), HOLD_FACTORS / len(self.weight)
        value = _core.neighbour_loss(
            self.away, self.log_weight, self.share, self.frequency, self.weight, at, N_BEHIND, slope
        )
        slope[1:] += hold * at[1:]
        return value + hold * float(at[1:] @ at[1:]) / 2, slope

    def improved(self, at: Floats) -> Floats:
        """Some steps of Adam: where all slopes are small, as in parity, its steps are as long as elsewhere."""
        mean, square = np.zeros_like(at), np.zeros_like(at)
        for k in range(1, N_STEPS + 1):
            slope = self.loss(at)[1]
            mean += (1 - _MEAN_DECAY) * (slope - mean)
            square += (1 - _SQUARE_DECAY) * (slope**2 - square)
            length = np.sqrt(square / (1 - _SQUARE_DECAY**k)) + 1e-8
            at = at - STEP * (mean / (1 - _MEAN_DECAY**k)) / length
            at[1:] = np.clip(at[1:], -MOST_LOG, MOST_LOG)
        return at
