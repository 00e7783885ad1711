"""Attacks on certificates: rows within a box around a row, chosen to change its label."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats

if TYPE_CHECKING:
    from ferl import FERLClassifier, FERLTreeClassifier


GROWTH = 1.1
MAX_GROWTHS = 80
N_SHRINKS = 12  # of a box in which another label was found: each halves what is left of the distance
N_RANDOM = 60
N_STARTS = 4  # rows from which one feature at a time is moved
# Values tried for a feature beside the ends of its interval: where the tree bends, thinned to this many.
MAX_BENDS = 24


@dataclass(frozen=True)
class Attacker:
    """Searches a box for a row with another label.

    Attributes
    ----------
    classifier : FERLClassifier or FERLTreeClassifier
        The model under attack.
    scale : ndarray of shape (n_features,)
        Units of the radius.
    """

    classifier: FERLClassifier | FERLTreeClassifier
    scale: Floats

    @cached_property
    def bends(self) -> list[Floats]:
        """For each feature the values at which some membership or gate bends, and their neighbours in float64."""
        model: Any = self.classifier.model_
        tree, margin = model.tree, model.reading.gate_margin
        # Rules have one gate for each feature, trees one for each node.
        low, high = (model.ranges[tree.feature] if model.kind == "rules" else tree.support).T
        width = margin * (high - low)
        ends = np.column_stack([tree.trapezoid, low, high, low - width, high + width])
        result = []
        for f in range(len(self.scale)):
            values = np.unique(ends[tree.feature == f])
            values = values[np.isfinite(values)]
            result.append(np.unique([np.nextafter(values, -np.inf), values, np.nextafter(values, np.inf)]))
        return result

    @cached_property
    def tested(self) -> NDArray[np.intp]:
        """Features that the tree tests and that move."""
        features = np.unique(self.classifier.tree_.feature[1:])
        return np.asarray(features[self.scale[features] > 0], dtype=np.intp)

    def within(
        self, x: Floats, radius: float, rng: np.random.Generator, start: Floats | None = None
    ) -> tuple[Floats, int]:
        """Search the box of that radius.

        Parameters
        ----------
        x : ndarray of shape (n_features,)
            The row.
        radius : float
            Size of the box, in units of ``scale``.
        rng : Generator
            Source of random rows.
        start : ndarray of shape (n_features,), default=None
            A row whose nearest neighbour in the box is tried as well.

        Returns
        -------
        rows : ndarray of shape (n_found, n_features)
            Rows of the box whose label is another one; empty if none was found.
        n_tried : int
            How many rows were tried.
        """
        label = self._label(x)
        low, high = x - radius * self.scale, x + radius * self.scale
        tried = self._random_rows(x, low, high, rng)
        if start is not None:
            tried = np.vstack([np.clip(start, low, high), tried])
        advantage = self._advantage(tried, label)
        if (advantage <= 0).any():
            changed = self._changed(tried, label)
            if len(changed):
                return changed, len(tried)
        best = np.argsort(advantage, kind="stable")[:N_STARTS]
        result, n_searched = self._coordinate_search(tried[best], low, high, label)
        return result, len(tried) + n_searched

    def smallest(self, x: Floats, certified: float, rng: np.random.Generator) -> float:
        """Distance of the nearest row with another label that is found; NaN if none.

        The box grows until another label is found in it, then shrinks again as long as one is found.
        """
        label, radius = self._label(x), certified
        for _ in range(MAX_GROWTHS):
            radius *= GROWTH
            result, _ = self.within(x, radius, rng)
            if len(result):
                return self._shrunk(x, certified, result, label, rng)
        return float("nan")

    def _shrunk(self, x: Floats, certified: float, result: Floats, label: int, rng: np.random.Generator) -> float:
        """Distance of the nearest row with another label in ever smaller boxes, from rows that have one."""
        low, (nearest, start) = certified, self._pulled_in(x, result, label)
        for _ in range(N_SHRINKS):
            radius = (low + nearest) / 2
            result, _ = self.within(x, radius, rng, start)
            if len(result):
                nearest, start = self._pulled_in(x, result, label)
            else:
                low = radius
        return nearest

    def _pulled_in(self, x: Floats, rows: Floats, label: int) -> tuple[float, Floats]:
        """The nearest row with another label between x and rows that have one, after its distance."""
        share, moving = np.linspace(0, 1, 201)[1:, None], self.scale > 0
        pulled = []
        for row in rows[:5]:
            between = x + share * (row - x)
            first = between[(self._probabilities(between).argmax(axis=1) != label).argmax()]
            pulled.append((float((np.abs(first - x)[moving] / self.scale[moving]).max()), first))
        return min(pulled, key=lambda pair: pair[0])

    def _random_rows(self, x: Floats, low: Floats, high: Floats, rng: np.random.Generator) -> Floats:
        """The row itself, corners of the box, corners of its faces, and rows inside."""
        shape = (N_RANDOM, len(x))
        corners = np.where(rng.random(shape) < 0.5, low, high)
        faces = np.where(rng.random(shape) < 0.5, corners, x)
        return np.vstack([x, corners, faces, rng.uniform(low, np.maximum(low, high), shape)])

    def _coordinate_search(self, starts: Floats, low: Floats, high: Floats, label: int) -> tuple[Floats, int]:
        """Move one feature at a time to where the label is weakest, twice around, from each of some rows."""
        now, n_tried = starts.copy(), 0
        for _ in range(2):
            for f in self.tested:
                values = self._values(f, low[f], high[f])
                rows = np.repeat(now, len(values) + 1, axis=0).reshape(len(now), len(values) + 1, -1)
                rows[:, 1:, f] = values  # the first one stays
                tried = rows.reshape(-1, now.shape[1])
                n_tried += len(tried)
                advantage = self._advantage(tried, label).reshape(rows.shape[:2])
                now = rows[np.arange(len(now)), advantage.argmin(axis=1)]
                if advantage.min() <= 0 and len(changed := self._changed(tried, label)):
                    return changed, n_tried
        return np.empty((0, now.shape[1])), n_tried

    def _values(self, f: int, low: float, high: float) -> Floats:
        bends = self.bends[f]
        bends = bends[(bends > low) & (bends < high)]
        if len(bends) > MAX_BENDS:
            bends = bends[np.linspace(0, len(bends) - 1, MAX_BENDS).astype(int)]
        return np.array([low, high, (low + high) / 2, *bends])

    def _probabilities(self, rows: Floats) -> Floats:
        return self.classifier.predict_proba(rows)

    def _label(self, x: Floats) -> int:
        return int(self._probabilities(x[None])[0].argmax())

    def _advantage(self, rows: Floats, label: int) -> Floats:
        """By how much the label leads the best other class: in scores, which do not saturate, where there are any."""
        model: Any = self.classifier.model_
        lead = model.decision_scores(rows) if model.kind == "rules" else self._probabilities(rows)
        lead_of_label = lead[:, label].copy()
        lead[:, label] = -np.inf
        return np.asarray(lead_of_label - lead.max(axis=1))

    def _changed(self, rows: Floats, label: int) -> Floats:
        return np.asarray(rows[self._probabilities(rows).argmax(axis=1) != label])
