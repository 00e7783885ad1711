from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

def fit_tree(
    x: Floats,
    y: Ints,
    weight: Floats,
    n_classes: int,
    seed: int,
    growth_rows: int,
    options: dict[str, Any],
    report: Callable[[int], object] | None,
) -> dict[str, Any]: ...
def fit_linguistic(
    x: Floats,
    y: Ints,
    weight: Floats,
    n_classes: int,
    seed: int,
    growth_rows: int,
    term_feature: Ints,
    term_trapezoid: Floats,
    term_is_complement: Ints,
    options: dict[str, Any],
    report: Callable[[int], object] | None,
) -> dict[str, Any]: ...
def resample(
    x: Floats, y: Ints, weight: Floats, n_classes: int, seed: int, growth_rows: int, n_resamples: int
) -> tuple[NDArray[np.uint32], Floats, Floats]: ...

class Tree:
    def __init__(self, parent: Ints, feature: Ints, trapezoid: Floats, support: Floats, gate_margin: float) -> None: ...
    def combine(
        self,
        consequent: Floats,
        reliability: Floats,
        x: Floats,
        rule: str,
        all_nodes: bool,
        gated: bool,
        n_threads: int,
        belief: Floats,
        ignorance: Floats,
        conflict: Floats,
    ) -> None: ...
    def fire(self, x: Floats, gated: bool, n_threads: int, out: Floats) -> None: ...
    def neighbour_distance(
        self,
        exemplar_row: Floats,
        exemplar: Ints,
        centre: Floats,
        per_unit: Floats,
        x: Floats,
        n_threads: int,
        out: Floats,
    ) -> None: ...
    def residual(self, mean: Floats, precision: Floats, x: Floats, n_threads: int, out: Floats) -> None: ...
    def support_deficit(self, x: Floats, n_threads: int, out: Floats) -> None: ...
    def bound(
        self, x: Floats, radius: float, scale: Floats, gated: bool, n_threads: int, low: Floats, high: Floats
    ) -> None: ...
    def certified_radius(
        self,
        consequent: Floats,
        reliability: Floats,
        x: Floats,
        label: Ints,
        scale: Floats,
        rule: str,
        all_nodes: bool,
        gated: bool,
        n_threads: int,
        out: Floats,
    ) -> None: ...
    def open_radius(self, x: Floats, scale: Floats, n_threads: int, out: Floats) -> None: ...
