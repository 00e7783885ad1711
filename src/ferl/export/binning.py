"""Binning tables, information value and population stability, as credit departments read scorecards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._models.model import Model
from ferl._tables import data_frame
from ferl._tell.page import Readable, Section, Table
from ferl._util.arrays import Floats
from ferl._util.text import category_text, cut, number_text, one_line

MAX_BIN, MAX_NAME = 60, 40  # characters of a bin and of a feature in a table
SMOOTHING = 0.5  # rows that are added to every count, so that an empty bin has a finite weight
STABLE, SHIFTED = 0.1, 0.25  # of population stability: the limits that are customary
Codes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Bins:
    """How the values of one feature are divided into bins. The last bin is for missing values.

    Attributes
    ----------
    name : str
        The feature.
    labels : tuple of str
        The bins.
    edges : ndarray of shape (n_bins - 2,)
        The largest number of each bin but the last two; empty for categories.
    bin_of_category : ndarray of shape (n_categories + 1,) or None
        The bin of each category, and last the bin of unknown categories; None for numbers.
    """

    name: str
    labels: tuple[str, ...]
    edges: Floats
    bin_of_category: Codes | None = None

    def assign(self, values: Floats) -> Codes:
        """The bin of each value."""
        missing = len(self.labels) - 1
        known = np.where(np.isnan(values), 0.0, values)
        if self.bin_of_category is None:
            result = np.searchsorted(self.edges, known)
        else:
            last = len(self.bin_of_category) - 1
            result = self.bin_of_category[np.minimum(known, last).astype(np.intp)]
        return np.where(np.isnan(values), missing, result).astype(np.intp)

    def counts(self, values: Floats, weight: Floats | None = None) -> Floats:
        """The number of rows in each bin, or the sum of what they weigh."""
        return np.bincount(self.assign(values), weight, len(self.labels)).astype(np.float64)

    def merged(self, kept: Sequence[int], number: Any) -> Bins:
        """The same with some of the edges alone."""
        edges = self.edges[list(kept)]
        return replace(self, edges=edges, labels=(*_ranges(edges, number), "missing"))


def read_bins(model: Model, feature: int, name: str, values: Floats, n_bins: int) -> Bins:
    """Bins of about equally many rows; categories: a bin for each of the most frequent, and one for the others."""

    def number(value: float) -> str:
        return number_text(model.number(feature, value))

    if feature in model.category_names:
        names = [cut(one_line(category_text(one)), MAX_BIN) for one in model.category_names[feature]]
        counts = np.bincount(values[~np.isnan(values)].astype(np.intp), minlength=len(names) + 1)[: len(names)]
        order = np.argsort(-counts, kind="stable").tolist()
        alone = order if len(order) <= n_bins else order[: n_bins - 1]
        rest = len(names) - len(alone)
        bins = np.full(len(names) + 1, len(alone), dtype=np.intp)
        bins[alone] = range(len(alone))
        others = f"{rest} other categories" if rest else "any other"
        return Bins(name, (*(names[k] for k in alone), others, "missing"), np.zeros(0), bins)
    known = np.unique(values[~np.isnan(values)])
    if len(known) <= n_bins:
        edges = known[:-1]
    else:
        shares = np.arange(1, n_bins) / n_bins
        edges = np.unique(np.quantile(values[~np.isnan(values)], shares, method="inverted_cdf"))
        edges = edges[edges < known[-1]]
    return Bins(name, (*_ranges(edges, number), "missing"), edges)


def _ranges(edges: Floats, number: Any) -> list[str]:
    texts = [number(float(edge)) for edge in edges]
    if not texts:
        return ["any number"]
    return [f"up to {texts[0]}", *(f"above {low} to {high}" for low, high in pairwise(texts)), f"above {texts[-1]}"]


@dataclass(frozen=True, eq=False)
class FeatureBins:
    """The binning table of one feature.

    Attributes
    ----------
    feature : str
        Its name.
    bins : tuple of str
        The bins that have rows.
    rows : ndarray of shape (n_bins,)
        Number of rows.
    events : ndarray of shape (n_bins,)
        Number of events.
    points : ndarray of shape (n_bins,)
        Mean points that the rows get for this feature, less the mean over the training rows.
    """

    feature: str
    bins: tuple[str, ...]
    rows: Floats
    events: Floats
    points: Floats

    @property
    def share(self) -> Floats:
        """Share of all rows in each bin."""
        return np.asarray(self.rows / self.rows.sum())

    @property
    def event_rate(self) -> Floats:
        """Share of events among the rows of each bin."""
        return np.asarray(self.events / self.rows)

    @property
    def _shares(self) -> tuple[Floats, Floats]:
        """Shares of all other rows, and of all events, that each bin has; half a row is added to every count."""
        counts = np.stack([self.rows - self.events, self.events]) + SMOOTHING
        others, events = counts / counts.sum(axis=1, keepdims=True)
        return others, events

    @property
    def weight_of_evidence(self) -> Floats:
        """The logarithm of the share of other rows against the share of events; above 0 where events are rare."""
        others, events = self._shares
        return np.asarray(np.log(others / events))

    @property
    def information_value(self) -> float:
        """How well the bins separate events from other rows: below 0.02 hardly, above 0.3 strongly."""
        others, events = self._shares
        return float(((others - events) * self.weight_of_evidence).sum())


@dataclass(frozen=True, eq=False)
class Binning(Readable):
    """Binning tables of all features of a scorecard, the most informative first.

    Attributes
    ----------
    event : str
        The class whose rows are events.
    features : tuple of FeatureBins
        The tables.
    """

    event: str
    features: tuple[FeatureBins, ...]

    _width = 160

    @property
    def information_value(self) -> dict[str, float]:
        """The information value of each feature, the largest first."""
        return {one.feature: one.information_value for one in self.features}

    def frame(self, backend: str | None = None) -> Any:
        """All bins as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default=None
            As in :func:`ferl.export.export_scorecard`.

        Returns
        -------
        data frame
            Columns: ``feature``, ``bin``, ``rows``, ``share``, ``events``, ``event_rate``, ``weight_of_evidence``,
            ``points`` and ``information_value`` (of the feature).
        """
        columns: dict[str, list[Any]] = {
            "feature": [one.feature for one in self.features for _ in one.bins],
            "bin": [text for one in self.features for text in one.bins],
        }
        for name in ("rows", "share", "events", "event_rate", "weight_of_evidence", "points"):
            columns[name] = [value for one in self.features for value in getattr(one, name).tolist()]
        columns["rows"], columns["events"] = ([int(value) for value in columns[name]] for name in ("rows", "events"))
        columns["information_value"] = [one.information_value for one in self.features for _ in one.bins]
        return data_frame(columns, backend)

    @cached_property
    def _sections(self) -> list[Section]:
        values = tuple((cut(one_line(name), MAX_NAME), f"{one:.3f}") for name, one in self.information_value.items())
        overall = Table(("feature", "information value"), values)
        heads = ("bin", "rows", "share", f"rate of {cut(self.event, MAX_NAME)}", "weight of evidence", "points")
        tables = []
        for one in self.features:
            cells = zip(one.bins, one.rows, one.share, one.event_rate, one.weight_of_evidence, one.points, strict=True)
            rows = tuple(
                (text, f"{rows:.0f}", f"{share:.1%}", f"{rate:.1%}", f"{woe:+.2f}", f"{points:+.0f}")
                for text, rows, share, rate, woe, points in cells
            )
            title = f"{cut(one_line(one.feature), MAX_NAME)}: information value {one.information_value:.3f}"
            tables.append(Section(title, (Table(heads, rows),)))
        return [Section("Information value", (overall,)), *tables]


@dataclass(frozen=True, eq=False)
class Shift:
    """The population stability of one quantity.

    Attributes
    ----------
    name : str
        "total points", or a feature.
    bins : tuple of str
        The bins.
    before, later : ndarray of shape (n_bins,)
        Share of the rows in each bin.
    psi : float
        The population stability index.
    """

    name: str
    bins: tuple[str, ...]
    before: Floats
    later: Floats
    psi: float

    @property
    def verdict(self) -> str:
        """The customary verdict on the index."""
        return "stable" if self.psi < STABLE else "moved a little" if self.psi < SHIFTED else "shifted"


def shift_of(name: str, bins: Sequence[str], before: Floats, later: Floats) -> Shift:
    """The shift between two counts of rows by bin; bins without any row are left out.

    Examples
    --------
    >>> round(shift_of("age", ["young", "old"], np.array([50.0, 50.0]), np.array([70.0, 30.0])).psi, 3)
    0.166
    """
    kept = (before + later) > 0
    shares = [(one[kept] + SMOOTHING) / (one[kept] + SMOOTHING).sum() for one in (before, later)]
    psi = float(((shares[1] - shares[0]) * np.log(shares[1] / shares[0])).sum())
    named = tuple(text for text, is_kept in zip(bins, kept.tolist(), strict=True) if is_kept)
    return Shift(name, named, before[kept] / before.sum(), later[kept] / later.sum(), psi)


@dataclass(frozen=True, eq=False)
class PopulationStability(Readable):
    """How far later rows lie from earlier ones: the population stability index (PSI) of the total and of each feature.

    Attributes
    ----------
    total : Shift
        That of the total points.
    features : tuple of Shift
        Those of the features, the largest first.
    n_before, n_later : int
        Numbers of rows.
    """

    total: Shift
    features: tuple[Shift, ...]
    n_before: int
    n_later: int

    _width = 160

    @property
    def psi(self) -> float:
        """The index of the total points."""
        return self.total.psi

    def frame(self, backend: str | None = None) -> Any:
        """The index of the total and of each feature as a data frame with columns ``name``, ``psi``, ``verdict``.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default=None
            As in :func:`ferl.export.export_scorecard`.

        Returns
        -------
        data frame
        """
        every = (self.total, *self.features)
        columns = {name: [getattr(one, name) for one in every] for name in ("name", "psi", "verdict")}
        return data_frame(columns, backend)

    @cached_property
    def _sections(self) -> list[Section]:
        lead = (
            f"Population stability: the total has a PSI of {self.psi:.3f} ({self.total.verdict}), from "
            f"{self.n_before:,} rows to {self.n_later:,}."
        )
        rows = tuple((cut(one_line(one.name), MAX_NAME), f"{one.psi:.3f}", one.verdict) for one in self.features)
        cells = zip(self.total.bins, self.total.before, self.total.later, strict=True)
        shares = tuple((text, f"{before:.1%}", f"{later:.1%}") for text, before, later in cells)
        limits = f"Below {STABLE:g} is stable, from {SHIFTED:g} on shifted."
        return [
            Section("", (lead,), is_lead=True),
            Section("By feature", (Table(("feature", "PSI", ""), rows, "lrl"), limits)),
            Section("Total points", (Table(("points", "before", "later"), shares),)),
        ]


def bins_of_points(points: Floats, n_bins: int) -> Bins:
    """Bins of equally many rows by their total points."""
    shares = np.arange(1, n_bins) / n_bins
    edges = np.unique(np.quantile(points, shares, method="inverted_cdf"))
    edges = edges[edges < points.max()]
    return Bins("total points", (*_ranges(edges, lambda value: f"{value:.0f}"), "missing"), edges)


def monotone_edges(rows: Floats, events: Floats) -> list[int]:
    """Edges that are kept when neighbouring bins are merged until the event rate only rises, or only falls.

    The direction is that in which fewer bins are lost.

    Parameters
    ----------
    rows, events : ndarray of shape (n_bins,)
        Counts of the bins of numbers, in ascending order.

    Returns
    -------
    list of int
        Indices of edges: edge k is between bins k and k + 1.

    Examples
    --------
    >>> monotone_edges(np.array([10.0, 10.0, 10.0, 10.0]), np.array([1.0, 4.0, 3.0, 6.0]))
    [0, 2]
    """

    def pooled(sign: int) -> list[int]:
        blocks: list[list[float]] = []  # rows, events, last bin
        for k, (n, e) in enumerate(zip(rows.tolist(), events.tolist(), strict=True)):
            blocks.append([n, e, k])
            while len(blocks) > 1 and sign * _rate(blocks[-1]) <= sign * _rate(blocks[-2]):
                last = blocks.pop()
                blocks[-1] = [blocks[-1][0] + last[0], blocks[-1][1] + last[1], last[2]]
        return [int(one[2]) for one in blocks[:-1]]

    return max(pooled(1), pooled(-1), key=len)


def _rate(block: list[float]) -> float:
    return block[1] / block[0] if block[0] else math.nan
