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
    def add(
        self, x: Floats, y: Ints, weight: Floats, n_threads: int, report: Callable[[int], object] | None
    ) -> None: ...
    def state(self) -> dict[str, Any]: ...
    def merge(self, state: dict[str, Any]) -> None: ...
    def finish(self) -> dict[str, Any]: ...

def grow_tree(sample: Sample, options: dict[str, Any], report: Callable[[int], object] | None) -> dict[str, Any]: ...
def grow_words(
    sample: Sample,
    term_feature: Ints,
    term_trapezoid: Floats,
    term_is_complement: Ints,
    options: dict[str, Any],
    report: Callable[[int], object] | None,
) -> dict[str, Any]: ...
def resample(sample: Sample, n_resamples: int) -> Floats: ...

# Rules as chains of nodes from the root ("parent", "feature", "trapezoid", "share", "category_start", "category";
# "rule_node": the last node of each), "weight" (n_rules, n_classes) and "prior" (n_classes,), rows centred. "choices":
# what inner validation has tried, the best first: (log-loss, start, n_rules, ridge, scale of the weights). "n_grown":
# rules before pruning.
# options["words"]: None, or (feature, trapezoid) of the words that conditions are.
def grow_rules(sample: Sample, options: dict[str, Any], report: Callable[[int], object] | None) -> dict[str, Any]: ...

# The stages of grow_rules, for the tests.
def rule_knots(sample: Sample) -> list[Floats]: ...
def scan_rules(
    sample: Sample,
    gradient: Floats,
    hessian: Floats,
    base: Floats,
    monotone: Ints,
    sign: int,
    words: tuple[Ints, Floats] | None = None,
) -> dict[str, Any]: ...
def rule_path(sample: Sample, linear: bool, tau: float, max_conditions: int, n_rules: int) -> dict[str, Any]: ...
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
def prune_rules(
    firing: Floats,
    row_weight: Floats,
    weight: Floats,
    prior: Floats,
    tolerance: float,
    max_rules: int,
    ridge: float,
    worth: float = 0.0,
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
    def residual(self, mean: Floats, precision: Floats, x: Floats, n_threads: int, out: Floats) -> None: ...
    def support_deficit(self, x: Floats, n_threads: int, out: Floats) -> None: ...
    def bound(
        self, x: Floats, radius: float, scale: Floats, gated: bool, n_threads: int, low: Floats, high: Floats
    ) -> None: ...
    def open_radius(self, x: Floats, scale: Floats, n_threads: int, out: Floats) -> None: ...

class Sources:
    def __init__(
        self,
        tree: Tree,
        consequent: Floats,
        reliability: Floats,
        is_source: Flags,
        combination: str,
        gated: bool,
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

class Scores:
    def __init__(
        self,
        tree: Tree,
        rule_node: Ints,
        weight: Floats,
        prior: Floats,
        columns: Ints,
        range: Floats,
        n_categories: Ints,
        margin: float,
    ) -> None: ...
    def scores(self, x: Floats, n_threads: int, out: Floats) -> None: ...
    def probabilities(self, x: Floats, n_threads: int, out: Floats) -> None: ...
    def weigh(
        self,
        x: Floats,
        n_threads: int,
        belief: Floats,
        plausibility: Floats,
        probability: Floats,
        ignorance: Floats,
        conflict: Floats,
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
def weigh_scores(
    scores: Floats, belief: Floats, plausibility: Floats, probability: Floats, ignorance: Floats
) -> None: ...
