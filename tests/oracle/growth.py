"""The best split of a node, by brute force: every cut is summed afresh."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_stages import stages
from ferl import _core
from ferl._learn.rows import weight_scale
from oracle.categories import category_band, cross_fitted_left, is_heavy, parts_of_rows, tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

BETTER = 1 + 1e-10  # ties go to the first: a later cut or feature must be better by more than rounding
NEGLIGIBLE_FIRING = 1e-6  # a row that reaches a node with less of its weight does not count there
LEAST_HALF_WIDTH = 1e-3  # of the node's range on the feature


@dataclass(frozen=True)
class Sample:
    """The distinct training rows with their weights, and their bootstrap resamples.

    ``share`` (n_rows, n_resamples) is a row's weight in a resample as a share of its weight: 0 where it is absent.
    ``n_categories`` is the number of categories of each feature, 0 for numbers; missing values are NaN. ``copies``: how
    many equal rows each row stands for.
    """

    x: Floats
    y: Ints
    weight: Floats
    share: Floats
    n_classes: int
    n_categories: Ints
    copies: Floats

    def class_weight(self, weight: Floats) -> Floats:
        """Total weight of each class, when the rows weigh ``weight``."""
        return np.asarray(np.bincount(self.y, weight, minlength=self.n_classes), dtype=np.float64)


@dataclass(frozen=True)
class GrowthOptions:
    """The parameters of growth, under the names they have in FERLClassifier."""

    max_rules: int
    max_depth: int
    min_leaf_weight: float
    min_gain: float
    patience: int
    min_coverage: float
    criterion: str
    n_resamples: int
    band: str
    band_scale: float
    two_mode: bool
    n_banded_features: int | None


class Band(NamedTuple):
    """The ramp of a split: the left branch is full up to ``low``, empty from ``high``."""

    low: float
    high: float

    @classmethod
    def around(cls, theta: float, h: float) -> Band:
        # Beside very large values theta + h can round to theta: then the band is the neighbouring numbers.
        return cls(min(theta - h, np.nextafter(theta, -np.inf)), max(theta + h, np.nextafter(theta, np.inf)))

    def left(self, x: Floats) -> Floats:
        return np.clip((self.high - x) / (self.high - self.low), 0.0, 1.0)


class Gain(NamedTuple):
    """Gini decrease and nothing, or CCI and the Gini decrease; both times the node's weight."""

    first: float
    second: float

    def better_than(self, other: Gain) -> bool:
        if self.first > other.first * BETTER:
            return True
        return self.first * BETTER >= other.first and self.second > other.second * BETTER


class CutSpread(NamedTuple):
    """What the resamples say of a cut.

    ``interval``: without the outermost 5 % of the resamples' cuts on either side, at least one, and out to the next
    values of rows; ``share``: of all resamples, those without a cut included, that have their cut inside the band.
    """

    interval: tuple[float, float]
    share: float


NO_SPREAD = CutSpread((np.nan, np.nan), np.nan)  # at leaves


@dataclass(frozen=True)
class Split:
    """A candidate: one feature with its band, what the resamples say of it, and what it gains."""

    feature: int
    band: Band
    spread: CutSpread
    gain: Gain
    rank: int  # how many features had their turn before; by their crisp cuts, unless all get a band
    is_one_mode: bool  # whether the two-mode rule chose the band
    missing: float  # share of the weight with a value that goes left: where a missing value goes
    category: Floats | None = None  # how much of each category goes left

    def left(self, x: Floats) -> Floats:
        """Membership of values in the left side."""
        if self.category is None:
            return np.where(np.isnan(x), self.missing, self.band.left(x))
        known = np.where(np.isnan(x), np.nan, self.category[np.nan_to_num(x).astype(int)])
        return np.where(np.isnan(known), self.missing, known)


def take_sample(
    x: Floats,
    y: Ints,
    weight: Floats,
    n_classes: int,
    seed: int,
    rows: int,
    n_resamples: int,
    n_categories: Ints | None = None,
) -> Sample:
    """The rows that growth works on: the one thing taken over from the core."""
    levels = np.zeros(x.shape[1], dtype=np.int32) if n_categories is None else n_categories
    valued = np.flatnonzero(~np.isnan(x[weight > 0]).all(axis=0)).astype(np.int32)
    sampler = _core.Sampler(levels, n_classes, seed, rows, 0, valued)
    sampler.add(x, y, weight * weight_scale(math.fsum(weight), np.count_nonzero(weight)), 0, 1)
    sample = sampler.finish(1)
    row, merged, share = sample.place.astype(int), sample.weight, stages().resample(sample, n_resamples)
    are_counts = np.abs(merged - np.round(merged)).max() <= 1e-9 * merged.min()
    return Sample(
        x[row], y[row], merged, share, n_classes, levels, np.round(merged) if are_counts else np.ones(len(row))
    )


# --- Gains -----------------------------------------------------------------------------------------------------------


def gini_gain(left: Floats, total: Floats) -> Floats:
    """Gini decrease of a fuzzy split times the node's weight (supplement, Prop. 1); classes on the last axis."""
    right = total - left
    left_weight, right_weight = left.sum(axis=-1), right.sum(axis=-1)
    distance = ((left / left_weight[..., None] - right / right_weight[..., None]) ** 2).sum(axis=-1)
    return np.asarray(left_weight * right_weight / (left_weight + right_weight) * distance)


def entropy(class_weight: Floats) -> float:
    """Entropy of a node in nats, times its weight."""
    share = class_weight[class_weight > 0] / class_weight.sum()
    return -float(class_weight.sum() * (share * np.log(share)).sum())


def gain_of(left: Floats, total: Floats, criterion: str) -> Gain:
    """What the criterion gives for a split with these class weights on its left side."""
    gini = float(gini_gain(left, total))
    if criterion == "gini":
        return Gain(gini, 0.0)
    if criterion == "entropy":
        decrease = entropy(total) - entropy(left) - entropy(total - left)
        return Gain(decrease if decrease > 1e-12 * total.sum() else 0.0, gini)
    cci = float(left.max() + (total - left).max() - total.max())
    # Where the majority does not change CCI is zero, and Gini decides: rounding must not.
    return Gain(cci if cci > 1e-12 * total.sum() else 0.0, gini)


def first_best(gains: list[Gain]) -> int:
    """Place of the best gain; the first of equals."""
    best = 0
    for place, gain in enumerate(gains):
        if gain.better_than(gains[best]):
            best = place
    return best


# --- Crisp cuts ------------------------------------------------------------------------------------------------------


def best_cut(x: Floats, y: Ints, weight: Floats, n_classes: int, min_leaf_weight: float) -> float | None:
    """The Gini-optimal cut between two adjacent distinct values of the rows that have weight; None: nothing separates.

    The lowest of equals.
    """
    order = np.argsort(x, kind="stable")
    order = order[weight[order] > 0]
    if len(order) == 0:
        return None
    value = x[order]
    class_weight = np.zeros((len(order), n_classes))
    class_weight[np.arange(len(order)), y[order]] = weight[order]
    total = class_weight.sum(axis=0)
    last_left = np.flatnonzero(value[:-1] < value[1:])
    left = class_weight.cumsum(axis=0)[last_left]
    left_weight, right_weight = left.sum(axis=1), (total - left).sum(axis=1)
    heavy = is_heavy(np.minimum(left_weight, right_weight), min_leaf_weight)
    last_left, left = last_left[heavy], left[heavy]
    if len(left) == 0:
        return None
    quality, least = cut_quality(left, total)
    best = None
    for k, q in zip(last_left, quality.tolist(), strict=True):
        if q > least * BETTER:
            least, best = q, 0.5 * value[k] + 0.5 * value[k + 1]
    return best


def cut_quality(left: Floats, total: Floats) -> tuple[Floats, float]:
    """What cuts are compared by, and what a cut needs to be more than rounding.

    Two classes: the Gini gain. More: the part of it that depends on the cut, S_left / W_left + S_right / W_right, with
    S the sum of squared class weights. The order is the same; "better by a share of 1e-10" is not.
    """
    if len(total) == 2:
        return gini_gain(left, total), 8e-20 * float(total.sum())
    right = total - left
    quality = (left**2).sum(axis=1) / left.sum(axis=1) + (right**2).sum(axis=1) / right.sum(axis=1)
    return quality, float((total**2).sum() / total.sum())


# --- Bands -----------------------------------------------------------------------------------------------------------


def resampled_cuts(sample: Sample, weight: Floats, feature: int, min_leaf_weight: float) -> list[float | None]:
    """The best cut of a feature in each resample; None where nothing separates."""
    x = sample.x[:, feature]
    return [best_cut(x, sample.y, weight * share, sample.n_classes, min_leaf_weight) for share in sample.share.T]


def cut_spread(cuts: list[float | None], values: Floats, band: Band) -> CutSpread:
    """How the cuts of the resamples lie about a band; ``values``: of the rows at the node."""
    found = np.sort([c for c in cuts if c is not None])
    if len(found) == 0:
        return CutSpread((np.nan, np.nan), 0.0)
    n_out = max(1, int(0.05 * (len(found) + 1)))
    low = values[values <= found[n_out - 1]].max()
    high = values[values >= found[-n_out]].min()
    slack = 1e-9 * (band.high - band.low)  # cuts often lie on the ends, and rounding must not decide
    n_inside = ((found >= band.low - slack) & (found <= band.high + slack)).sum()
    return CutSpread((float(low), float(high)), float(n_inside / len(cuts)))


def band_of(
    sample: Sample, weight: Floats, feature: int, cut: float, cuts: list[float | None], options: GrowthOptions
) -> tuple[Band, bool]:
    """The band of a feature at a node from the cuts of the resamples, and whether the two-mode rule chose it."""
    x = sample.x[:, feature]
    node_range = float(np.ptp(x[weight > 0]))

    def band(theta: float, h: float) -> Band:
        return Band.around(theta, max(options.band_scale * h, LEAST_HALF_WIDTH * node_range))

    found = np.array([c for c in cuts if c is not None])
    if len(found) == 0:
        return band(cut, 0.0), False
    if options.band == "mean_std":
        theta = float(found.mean())
        h = float(np.sqrt(((found - theta) ** 2).mean()))
    else:
        theta = float(np.median(found))
        h = float(np.median(np.abs(found - theta)))
    wide = band(theta, h)
    # A spread of zero, up to rounding, is one place and not two.
    if not options.two_mode or h <= 1e-12 * node_range or not crisp_cuts_win(sample, weight, x, cuts, wide):
        return wide, False
    distance = np.sort(np.abs(found - cut))
    nearer_half = distance[: (len(distance) + 1) // 2]
    return band(cut, float(np.sqrt((nearer_half**2).mean()))), True


def crisp_cuts_win(sample: Sample, weight: Floats, x: Floats, cuts: list[float | None], wide: Band) -> bool:
    """Whether, on the rows absent from each resample, its own crisp cut beats the ramp by one standard deviation."""
    advantage = []
    for cut, share in zip(cuts, sample.share.T, strict=True):
        if cut is None:
            continue
        absent = np.where(share == 0, weight, 0.0)
        crisp = gain_per_weight(sample, absent, x <= cut)
        soft = gain_per_weight(sample, absent, wide.left(x))
        advantage.append(crisp - soft)
    return bool(np.mean(advantage) > np.std(advantage))


def gain_per_weight(sample: Sample, weight: Floats, left: NDArray[Any]) -> float:
    """Gini decrease per unit of weight; zero where a side is empty."""
    total, to_left = sample.class_weight(weight), sample.class_weight(weight * left)
    least = 1e-12 * total.sum()
    if to_left.sum() <= least or total.sum() - to_left.sum() <= least:
        return 0.0
    return float(gini_gain(to_left, total)) / float(total.sum())


# --- Splits of a node ------------------------------------------------------------------------------------------------


def may_split(sample: Sample, weight: Floats, depth: int, options: GrowthOptions) -> bool:
    """Whether budgets and purity let a node be split at all; ``weight``: that of each row at the node."""
    total = sample.class_weight(weight)
    impurity = total.sum() - (total**2).sum() / total.sum()
    return bool(
        depth < options.max_depth
        and is_heavy(total.sum(), 2 * options.min_leaf_weight)
        and is_heavy(total.sum(), options.min_coverage * sample.weight.sum())
        and impurity > 1e-12 * total.sum()
    )


def best_split(sample: Sample, weight: Floats, options: GrowthOptions) -> Split | None:
    """The best candidate of a node.

    Features are ranked by their crisp cut. The first ``n_banded_features`` get a band and compete by the gain of the
    realised ramp; further ones get their turn only while none of them is valid. Where all get a band, they need no
    ranking: of equal ramps the first feature's is taken, and not that of the better cut.
    """
    n_features = sample.x.shape[1]
    ranking: list[tuple[Gain, int, float | Floats]] = []
    for feature in range(n_features):
        known, own = known_rows(sample, weight, feature)
        total = sample.class_weight(own)
        if sample.n_categories[feature]:
            crossed = crossed_left(known, own, feature, options)
            if crossed is not None and 0 < crossed.sum() < total.sum():
                ranking.append((gain_of(crossed, total, options.criterion), feature, crossed))
            continue
        x = known.x[:, feature]
        cut = best_cut(x, sample.y, own, sample.n_classes, options.min_leaf_weight)
        if cut is not None:
            left = sample.class_weight(own * (x <= cut))
            ranking.append((gain_of(left, total, options.criterion), feature, cut))
    best: Split | None = None
    rank, n_banded = 0, options.n_banded_features or n_features
    are_all_banded = n_banded >= len(ranking)
    while ranking and (rank < n_banded or best is None):
        place = 0 if are_all_banded else first_best([gain for gain, _, _ in ranking])
        gain, feature, found = ranking.pop(place)
        known, own = known_rows(sample, weight, feature)
        if isinstance(found, float):
            split = number_split(known, own, feature, found, rank, options)
        else:
            split = category_split(known, own, feature, gain, rank, options)
        if split is not None and (best is None or split.gain.better_than(best.gain)):
            best = split
        rank += 1
    return best


def known_rows(sample: Sample, weight: Floats, feature: int) -> tuple[Sample, Floats]:
    """The rows as a feature sees them: those without a value of it weigh nothing (and have some value)."""
    missing = np.isnan(sample.x[:, feature])
    if not missing.any():
        return sample, weight
    x = sample.x.copy()
    x[missing, feature] = 0.0
    return replace(sample, x=x), np.where(missing, 0.0, weight)


def number_split(
    sample: Sample, weight: Floats, feature: int, cut: float, rank: int, options: GrowthOptions
) -> Split | None:
    """The candidate of a feature that holds numbers."""
    cuts = resampled_cuts(sample, weight, feature, options.min_leaf_weight)
    band, is_one_mode = band_of(sample, weight, feature, cut, cuts, options)
    gain = ramp_gain(sample, weight, feature, band, options)
    if gain is None:
        return None
    spread = cut_spread(cuts, sample.x[weight > 0, feature], band)
    share = float((weight * band.left(sample.x[:, feature])).sum() / weight.sum())
    return Split(feature, band, spread, gain, rank, is_one_mode, share)


def level_tally(sample: Sample, weight: Floats, feature: int) -> Floats:
    return tally(sample.x[:, feature], sample.y, weight, int(sample.n_categories[feature]), sample.n_classes)


def crossed_left(sample: Sample, weight: Floats, feature: int, options: GrowthOptions) -> Floats | None:
    """Class weights on the left side of a categorical feature, every row judged without itself."""
    if (level_tally(sample, weight, feature).sum(axis=1) > 0).sum() < 2:
        return None
    parts = [level_tally(sample, weight * part, feature) for part in parts_of_rows(sample.copies).T]
    return cross_fitted_left(level_tally(sample, weight, feature), parts, options.min_leaf_weight)


def category_split(
    sample: Sample, weight: Floats, feature: int, gain: Gain, rank: int, options: GrowthOptions
) -> Split | None:
    """The candidate of a categorical feature; it gains what the cross-fitted cut does."""
    table = level_tally(sample, weight, feature)
    resampled = [level_tally(sample, weight * share, feature) for share in sample.share.T]
    category = category_band(table, resampled, options.min_leaf_weight)
    own = np.where(np.isnan(category), 0.0, table.sum(axis=1))
    left = float((own * np.nan_to_num(category)).sum())
    if not is_heavy(min(left, own.sum() - left), options.min_leaf_weight):
        return None
    nowhere = Band(-np.inf, np.inf)
    return Split(feature, nowhere, NO_SPREAD, gain, rank, False, left / float(own.sum()), category)


def ramp_gain(sample: Sample, weight: Floats, feature: int, band: Band, options: GrowthOptions) -> Gain | None:
    """Gain of the realised ramp; None where a child is too light or nothing is gained."""
    total = sample.class_weight(weight)
    left = sample.class_weight(weight * band.left(sample.x[:, feature]))
    if not is_heavy(min(left.sum(), (total - left).sum()), options.min_leaf_weight):
        return None
    gain = gain_of(left, total, options.criterion)
    return gain if max(gain) > 0 else None


def to_child(sample: Sample, weight: Floats, membership: Floats) -> Floats:
    """Weight of each row in a child of a node; negligible rows are dropped."""
    child = weight * membership
    return np.where(child > NEGLIGIBLE_FIRING * sample.weight, child, 0.0)


def node_weights(sample: Sample, tree: Any) -> list[Floats]:
    """Weight of each row at each node of a finished tree (this module's or ferl's), as growth saw it."""
    weights = [sample.weight]
    for parent, feature, (a, b, c, d) in zip(tree.parent[1:], tree.feature[1:], tree.trapezoid[1:], strict=True):
        is_left = np.isinf(a)
        left = (Band(c, d) if is_left else Band(a, b)).left(sample.x[:, feature])
        weights.append(to_child(sample, weights[parent], left if is_left else 1 - left))
    return weights
