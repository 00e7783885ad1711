"""Attacks on certificates: rows within a box around a row, chosen to change its label."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats

if TYPE_CHECKING:
    from ferl import FERLClassifier


GROWTH = 1.1
MAX_GROWTHS = 80
N_RANDOM = 60
# Values tried for a feature beside the ends of its interval: where the tree bends, thinned to this many.
MAX_BENDS = 24


@dataclass(frozen=True)
class Attacker:
    """Searches a box for a row with another label.

    Attributes
    ----------
    classifier : FERLClassifier
        The model under attack.
    scale : ndarray of shape (n_features,)
        Units of the radius.
    """

    classifier: FERLClassifier
    scale: Floats

    @cached_property
    def bends(self) -> list[Floats]:
        """For each feature the values at which some membership or gate bends, and their neighbours in float64."""
        tree, margin = self.classifier.tree_, self.classifier.model_.reading.gate_margin
        low, high = tree.support.T
        width = margin * (high - low)
        ends = np.column_stack([tree.trapezoid, low, high, low - width, high + width])
        found = []
        for f in range(len(self.scale)):
            values = np.unique(ends[tree.feature == f])
            values = values[np.isfinite(values)]
            found.append(np.unique([np.nextafter(values, -np.inf), values, np.nextafter(values, np.inf)]))
        return found

    @cached_property
    def tested(self) -> NDArray[np.intp]:
        """Features that the tree tests and that move."""
        features = np.unique(self.classifier.tree_.feature[1:])
        return np.asarray(features[self.scale[features] > 0], dtype=np.intp)

    def within(self, x: Floats, radius: float, rng: np.random.Generator) -> tuple[Floats, int]:
        """Search the box of that radius.

        Parameters
        ----------
        x : ndarray of shape (n_features,)
            The row.
        radius : float
            Size of the box, in units of ``scale``.
        rng : Generator
            Source of random rows.

        Returns
        -------
        rows : ndarray of shape (n_found, n_features)
            Rows of the box whose label is another one; empty if none was found.
        n_tried : int
            How many rows were tried.
        """
        label = int(self._probabilities(x[None])[0].argmax())
        low, high = x - radius * self.scale, x + radius * self.scale
        tried = self._random_rows(x, low, high, rng)
        advantage = self._advantage(tried, label)
        if (advantage <= 0).any():
            changed = self._changed(tried, label)
            if len(changed):
                return changed, len(tried)
        found, n_searched = self._coordinate_search(tried[advantage.argmin()], low, high, label)
        return found, len(tried) + n_searched

    def smallest(self, x: Floats, certified: float, rng: np.random.Generator) -> float:
        """Distance of the nearest row with another label that a search with growing radius finds; NaN if none."""
        label = int(self._probabilities(x[None])[0].argmax())
        radius = certified
        for _ in range(MAX_GROWTHS):
            radius *= GROWTH
            found, _ = self.within(x, radius, rng)
            if len(found):
                return min(self._pulled_in(x, row, label) for row in found[:5])
        return float("nan")

    def _pulled_in(self, x: Floats, row: Floats, label: int) -> float:
        """Distance of the nearest row with another label between x and a row that has one."""
        share = np.linspace(0, 1, 201)[1:, None]
        between = x + share * (row - x)
        first = int((self._probabilities(between).argmax(axis=1) != label).argmax())
        moving = self.scale > 0
        return float((np.abs(between[first] - x)[moving] / self.scale[moving]).max())

    def _random_rows(self, x: Floats, low: Floats, high: Floats, rng: np.random.Generator) -> Floats:
        """The row itself, corners of the box, corners of its faces, and rows inside."""
        shape = (N_RANDOM, len(x))
        corners = np.where(rng.random(shape) < 0.5, low, high)
        faces = np.where(rng.random(shape) < 0.5, corners, x)
        return np.vstack([x, corners, faces, rng.uniform(low, np.maximum(low, high), shape)])

    def _coordinate_search(self, start: Floats, low: Floats, high: Floats, label: int) -> tuple[Floats, int]:
        """Move one feature at a time to where the label is weakest, twice around."""
        row, n_tried = start.copy(), 0
        for _ in range(2):
            for f in self.tested:
                values = self._values(f, low[f], high[f], row[f])
                rows = np.repeat(row[None], len(values), axis=0)
                rows[:, f] = values
                n_tried += len(rows)
                advantage = self._advantage(rows, label)
                row = rows[advantage.argmin()]
                if advantage.min() <= 0 and len(changed := self._changed(rows, label)):
                    return changed, n_tried
        return np.empty((0, len(row))), n_tried

    def _values(self, f: int, low: float, high: float, now: float) -> Floats:
        bends = self.bends[f]
        bends = bends[(bends > low) & (bends < high)]
        if len(bends) > MAX_BENDS:
            bends = bends[np.linspace(0, len(bends) - 1, MAX_BENDS).astype(int)]
        return np.array([now, low, high, (low + high) / 2, *bends])

    def _probabilities(self, rows: Floats) -> Floats:
        return self.classifier.predict_proba(rows)

    def _advantage(self, rows: Floats, label: int) -> Floats:
        """By how much the label leads the best other class."""
        probabilities = self._probabilities(rows)
        own = probabilities[:, label].copy()
        probabilities[:, label] = -np.inf
        return np.asarray(own - probabilities.max(axis=1))

    def _changed(self, rows: Floats, label: int) -> Floats:
        return np.asarray(rows[self._probabilities(rows).argmax(axis=1) != label])
