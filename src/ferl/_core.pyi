from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Flags = NDArray[np.bool_] | NDArray[np.uint8]

# Constants of the core that its copies (ONNX graphs, the page) must share.
UNSEEN_GATE: float  # how open the gate of a split is to a category that none of its training rows had
MOST_FIRING: float  # of a source in combinations that take maxima, which need some ignorance
TIE: float  # masses that differ by no more are equal: a class that falls short by rounding alone is in the set
LEAST_MASS: float  # masses of a row that sum to less are multiplied by MASS_SCALE, so that they do not underflow
MASS_SCALE: float
FAR_AWAY: float  # in units of distance: values further away are all equally far for the search of the nearest exemplar
LARGEST_EXPONENT: float  # exponents beyond it, on either side, count as this
EXEMPLAR_FIRING: float  # a row that fires a node this much or less is no exemplar of it
NEGLIGIBLE_FIRING: float  # growth drops firings at or below this share of a row's weight
LEAST_PROBABILITY: float  # a logarithm needs more than zero
WEIGHT_SPAN: float  # the largest ratio of two weights of rows such that the smaller one is sure to count

class Sample:
    n_rows: int
    x: Floats
    y: Ints
    weight: Floats
    place: NDArray[np.uint64]
    def with_columns(self, x: Floats, n_categories: Ints) -> Sample: ...
    def part(self, rows: Ints, weight: Floats) -> Sample: ...
    def with_groups(self, group: Floats) -> Sample: ...

class Sampler:
    low: Floats
    high: Floats
    most_weight: float
    def __init__(
        self, n_categories: Ints, n_classes: int, seed: int, n_rows: int, n_class_rows: int, columns: Ints
    ) -> None: ...
    def add(self, x: Floats, y: Ints, weight: Floats, first_place: int, n_threads: int) -> None: ...
    def limit(self, of_all: int, of_class: NDArray[np.uint64]) -> None: ...
    def state(self) -> dict[str, Any]: ...
    def merge(self, state: dict[str, Any]) -> None: ...
    def finish(self, n_threads: int) -> Sample: ...

class Moments:
    def __init__(
        self,
        parent: Ints,
        feature: Ints,
        trapezoid: Floats,
        share: Floats,
        category_start: Ints,
        category: Floats,
        n_categories: Ints,
        n_classes: int,
        low: Floats,
        high: Floats,
        most_weight: float,
        n_exemplars: int,
        key_bound: NDArray[np.uint64],
        seed: int,
        columns: Ints,
    ) -> None: ...
    def add(self, x: Floats, y: Ints, weight: Floats, n_threads: int, report: Report) -> None: ...
    def state(self) -> dict[str, Any]: ...
    def merge(self, state: dict[str, Any]) -> None: ...
    def finish(self) -> dict[str, Any]: ...

Report = Callable[[int], object] | None

class SplitOptions:
    def __init__(
        self,
        *,
        max_rules: int = 150,
        max_depth: int = 12,
        min_leaf_weight: float = 2.0,
        min_gain: float = 0.0,
        patience: int = 0,
        min_coverage: float = 0.0,
        criterion: str = "gini",
        n_resamples: int = 25,
        band: str = "mean_std",
        band_scale: float = 1.0,
        two_mode: bool = True,
        n_exemplars: int = 0,
        n_banded_features: int = 1,
        class_unit: list[float],
        monotone: list[int] = [],
        n_threads: int = 1,
    ) -> None: ...

class WordOptions:
    def __init__(
        self,
        *,
        max_rules: int = 15,
        max_depth: int = 5,
        min_leaf_weight: float = 2.0,
        min_gain: float = 0.005,
        patience: int = 3,
        min_coverage: float = 0.0,
        min_rule_worth: float = 0.045,
        soft_share: float = 1.0,
        n_threads: int = 1,
    ) -> None: ...

def grow_tree(sample: Sample, options: SplitOptions, report: Report) -> dict[str, Any]: ...
def grow_words(
    sample: Sample,
    term_feature: Ints,
    term_trapezoid: Floats,
    term_is_complement: Ints,
    options: WordOptions,
    report: Report,
) -> dict[str, Any]: ...

# What learning rules is tuned with; cpp/rules/tuning.h has what each number does and why it is what it is.
class Tuning:
    def __init__(self, other: Tuning = ..., /) -> None: ...
    small_rows: int
    path_share: float
    most_path_work: int
    most_path_rows: int
    scan_share: float
    most_scan_work: int
    most_scan_rows: int
    curvature_share: float
    most_curvature_rows: int
    curvature_rows_per_rule: int
    more_ridges: list[float]
    least_pieces: int
    most_pieces: int
    heavy_row: float
    knot_budget: int
    min_knots: int
    max_knots: int
    weight_per_knot: float
    least_gap: float
    far_out: float
    least_share: float
    linear_tau: float
    empty_tau: float
    linear_rules: int
    linear_curves: int
    scan_work: int
    min_scan_rows: int
    max_scan_rows: int
    most_active_work: float
    min_active: int
    feature_work: float
    least_spread: float
    set_orderings: int
    luck_deviations: float
    smoothing: float
    least_weight: float
    beam: int
    random_starts: int
    single_candidates: int
    pair_extensions: int
    pair_candidates: int
    newton_share: float
    newton_smoothing: float
    most_step: float
    pairs_after: int
    most_correlation: float
    least_of_best: float
    path_rows: int
    path_ridge: float
    path_iterations: int
    path_tolerance: float
    refit_every: int
    refit_rule_share: int
    refit_channel_share: int
    refit_always: int
    intercept_ridge: float
    curvature_rows: int
    memory: int
    most_halvings: int
    armijo: float
    bounded_sweeps: int
    bounded_tolerance: float
    validation_rows: int
    most_validation_work: int
    min_validation_rows: int
    few_weight: float
    some_weight: float
    parts_of_few: int
    parts_of_some: int
    parts_of_many: int
    sizes: list[int]
    next_size: int
    ridges: list[float]
    scales: list[float]
    linear_slack: float
    choice_iterations: int
    choice_tolerance: float
    better: float
    patience: int
    far_worse: float
    many_classes: int
    hopeless: float
    ridges_around: int
    worse: float
    most_loss: float
    least_prior: float
    fitted_rows: int
    most_fitted_work: int
    min_fitted_rows: int
    grown_rules: int
    averaged: int
    most_parts: int
    parts_work: int
    parts_channels: int
    last_iterations: int
    last_tolerance: float
    drop_share: float
    prune_ridge_share: float
    most_prune_ridge: float
    prune_rows: int
    prune_nats: float
    prune_iterations: int
    prune_tolerance: float
    pack_above: int
    share_firings: int
    share_linear: int
    share_search: int
    share_scan: int
    share_refit: int
    share_grid: int

TUNING: Tuning  # of all fits that are given no other; the benchmark changes it

class RuleOptions:
    last_stage_ignores_groups: bool
    def __init__(
        self,
        *,
        max_rules: int = 150,
        max_conditions: int = 3,
        prune: float = 0.0015,
        min_rule_worth: float = 0.0,
        effort: int = 1,
        monotone: list[int] = [],
        words: tuple[Ints, Floats] | None = None,  # columns and trapezoids of the words that conditions are
        curves_only: list[int] = [],  # 1: curves and maps read the column, conditions do not
        n_threads: int = 1,
        seed: int = 0,
        max_maps: int = 25,
        tuning: Tuning | None = None,
        last_stage_ignores_groups: bool = False,  # curves and maps of such columns are validated on rows of all groups
    ) -> None: ...

# Rules as chains of nodes from the root ("parent", "feature", "trapezoid", "share", "category_start", "category";
# "rule_node": the last node of each), "weight" (n_rules, n_classes) and "prior" (n_classes,), rows centred. "choices":
# what inner validation has tried, the best first: (log-loss, start, n_rules, ridge, scale of the weights). "n_grown":
# rules before pruning.
# judge: returns how far to prune. It gets what inner validation has learned, for each part that validated the rules,
# curves and maps in the same form, "fit" (rows that they were learned from) and "other" (rows that they were not).
def grow_rules(
    sample: Sample, options: RuleOptions, report: Report, judge: Callable[[list[dict[str, Any]]], float] | None = None
) -> dict[str, Any]: ...
def stratified_parts(sample: Sample, n_parts: int, turn: int = 0) -> Ints: ...
def refit_rules(
    firing: Floats,
    target: Floats,
    weight: Floats,
    sign: Ints,
    ridge: Floats,
    offset: Floats,
    n_threads: int,
    is_packed: bool = False,
) -> dict[str, Any]: ...

class Tree:
    def __init__(
        self,
        parent: Ints,
        feature: Ints,
        trapezoid: Floats,
        share: Floats,
        category_start: Ints,
        category: Floats,
        support: Floats,
        gate_margin: float,
    ) -> None: ...
    @property
    def rise(self) -> Floats: ...  # (n_nodes, 3): start, slope, base; membership is clip(base + (x - start) * slope)
    @property
    def fall(self) -> Floats: ...  # (n_nodes, 3): start, slope, base; membership is clip(base + (start - x) * slope)
    @property
    def gate(self) -> Floats: ...  # (n_nodes, 3): low, high, slope; clip(1 - max(low - x, x - high) * slope)
    @property
    def is_split(self) -> NDArray[np.bool_]: ...  # (n_nodes,): the children are the two sides of one split
    def fire(self, x: Floats, gated: bool, n_threads: int, out: Floats) -> None: ...
    # Adds to out sums over rows of the products of two firings, rounded to 2^-10, a one before those of the rules.
    def products(self, rule_node: Ints, x: Floats, n_threads: int, out: Floats) -> None: ...
    def residual(self, mean: Floats, precision: Floats, x: Floats, n_threads: int, out: Floats) -> None: ...
    def support_deficit(self, x: Floats, n_threads: int, out: Floats) -> None: ...
    def open_radius(self, x: Floats, scale: Floats, n_threads: int, out: Floats) -> None: ...

class Sources:
    def __init__(
        self, tree: Tree, consequent: Floats, reliability: Floats, is_source: Flags, combination: str, gated: bool
    ) -> None: ...
    def combine(self, x: Floats, n_threads: int, belief: Floats, ignorance: Floats, conflict: Floats) -> None: ...
    def certified_radius(self, x: Floats, label: Ints, scale: Floats, n_threads: int, out: Floats) -> None: ...
    def nearest_flips(
        self, row: Floats, label: int, columns: Ints, width: Floats, at: Floats, proven: Floats
    ) -> None: ...

def cover(row: Floats, centre: Floats, per_unit: Floats, n_categories: Ints, n_kept: int) -> Ints: ...

class Exemplars:
    def __init__(
        self,
        tree: Tree,
        exemplar_row: Floats,
        exemplar: Ints,
        group: Ints,
        centre: Floats,
        per_unit: Floats,
        n_categories: Ints,
    ) -> None: ...
    def distance(self, x: Floats, n_threads: int, out: Floats) -> None: ...

class CurvesAndMaps:
    def __init__(
        self, column: Ints, cut_start: Ints, cut: Floats, cell_start: Ints, value: Floats, n_categories: Ints
    ) -> None: ...
    def cells(self, x: Floats, out: Ints) -> None: ...

class RowsBehind:
    def __init__(self, products: Floats, ridge: Floats, curvature: float, support: Floats) -> None: ...
    @property
    def mean(self) -> Floats: ...
    @property
    def per_deviation(self) -> Floats: ...
    @property
    def triangle(self) -> Floats: ...
    @property
    def least(self) -> float: ...

class Cases:
    def __init__(
        self,
        row: Floats,
        start: Ints,
        label: Ints,
        weight: Floats,
        centre: Floats,
        per_unit: Floats,
        n_categories: Ints,
        frequency: Floats,
        n_nearest: Ints,
        strength: Floats,
    ) -> None: ...
    def votes(self, x: Floats, others_alone: bool, n_threads: int, out: Floats) -> None: ...
    def nearest(self, x: Floats, n_threads: int, index: Ints, distance: Floats) -> None: ...
    def away(self, x: Floats, place: Ints, out: Floats) -> None: ...

def neighbour_loss(
    away: Floats,
    log_weight: Floats,
    share: Floats,
    frequency: Floats,
    weight: Floats,
    at: Floats,
    n_behind: float,
    slope: Floats,
) -> float: ...

class Scores:
    def __init__(
        self,
        tree: Tree,
        rule_node: Ints,
        weight: Floats,
        prior: Floats,
        base: Floats,
        columns: Ints,
        n_fading: int,
        range: Floats,
        n_categories: Ints,
        margin: float,
        curves: CurvesAndMaps | None = None,
        cases: Cases | None = None,
    ) -> None: ...
    def scores(self, x: Floats, n_threads: int, out: Floats) -> None: ...
    def probabilities(self, x: Floats, n_threads: int, out: Floats) -> None: ...
    def weigh(
        self,
        x: Floats,
        behind: RowsBehind,
        n_threads: int,
        probability: Floats,
        conflict: Floats,
        support: Floats,
        n_rows: Floats,
    ) -> None: ...
    def certified_radius(self, x: Floats, label: Ints, scale: Floats, n_threads: int, out: Floats) -> None: ...
    def nearest_flips(
        self, row: Floats, label: int, columns: Ints, width: Floats, at: Floats, proven: Floats
    ) -> None: ...
    def entropy(self, x: Floats, n_threads: int, out: Floats) -> None: ...
    def supports(self, x: Floats, out: Floats) -> None: ...
    @property
    def gate(self) -> Floats: ...

def rows_digest(x: Floats, y: Ints, weight: Floats) -> int: ...
def instruction_set() -> int: ...
def json_size(content: bytes) -> dict[str, int]: ...
