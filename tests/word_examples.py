"""Random fuzzy sets, variables and columns for the tests of ferl.words."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st

from ferl.words import (
    FuzzySet,
    LinguisticVariable,
    quantile_partition,
    triangular_partition,
    width_partition,
)

INF = math.inf
# The same examples in every run, and no time limit: a busy machine is not a broken law.
LAW = settings(
    max_examples=100,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
BUILDERS = pytest.mark.parametrize(
    "build", [quantile_partition, triangular_partition, width_partition], ids=["quantile", "triangles", "width"]
)

TEMPERATURE = LinguisticVariable(
    "temperature", (FuzzySet.falling("normal", 37.5, 38.0), FuzzySet.rising("fever", 37.5, 38.5)), "°C"
)

numbers = st.one_of(st.integers(-20, 20).map(float), st.floats(-1e6, 1e6), st.floats(-1e150, 1e150))
names = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=8)


@st.composite
def fuzzy_sets(draw: st.DrawFn) -> FuzzySet:
    """Trapezoids of all kinds: shoulders, upright sides, single values."""
    a, b, c, d = sorted(draw(st.lists(numbers, min_size=4, max_size=4)))
    if draw(st.booleans()):
        a = b
    if draw(st.booleans()):
        d = c
    shoulder = draw(st.sampled_from(["none", "left", "right"]))
    a, b = (-INF, -INF) if shoulder == "left" else (a, b)
    c, d = (INF, INF) if shoulder == "right" else (c, d)
    assume(all(not 0 < high - low < 1e-300 for low, high in ((a, b), (c, d))))
    return FuzzySet(draw(names), a, b, c, d)


@st.composite
def variables(draw: st.DrawFn) -> LinguisticVariable:
    """Valid variables: sets that hand over on ramps or steps, with or without an end, or categories."""
    n_sets = draw(st.integers(2, 7))
    words = draw(st.lists(names, min_size=n_sets, max_size=n_sets, unique_by=str.casefold))
    ends = sorted(draw(st.lists(numbers, min_size=2 * n_sets, max_size=2 * n_sets, unique=True)))
    assume(all(high - low >= 1e-300 for low, high in pairwise(ends)))
    kind = draw(st.sampled_from(["ramps", "steps", "range", "categories"]))
    name, unit = draw(names), draw(st.one_of(st.just(""), names))
    if kind == "categories":
        sets = tuple(FuzzySet.crisp(word, end) for word, end in zip(words, ends, strict=False))
        return LinguisticVariable(name, sets, unit)
    hand_over = [(low, low if kind == "steps" else high) for low, high in zip(ends[1:-1:2], ends[2:-1:2], strict=True)]
    first, last = ((ends[0],) * 2, (ends[-1],) * 2) if kind == "range" else ((-INF, -INF), (INF, INF))
    sides = zip([first, *hand_over], [*hand_over, last], strict=True)
    sets = tuple(FuzzySet(word, *rise, *fall) for word, (rise, fall) in zip(words, sides, strict=True))
    return LinguisticVariable(name, sets, unit, (ends[0], ends[-1]) if kind == "range" else (-INF, INF))


@st.composite
def columns(draw: st.DrawFn) -> np.ndarray:
    """Columns of few or many distinct values, at any scale."""
    few = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=40)
    many = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)
    heavy = st.lists(st.one_of(st.just(0.0), st.floats(0, 10)), min_size=1, max_size=40)
    scale = draw(st.sampled_from([1.0, 1e-3, 1e100, 1e-310, 5e-324]))
    return np.array(draw(st.one_of(few, many, heavy))) * scale


def near(values: np.ndarray) -> np.ndarray:
    """Values, the numbers next to them, between, outside and far away."""
    values = np.unique(values[np.isfinite(values)])
    between = (values[:-1] + values[1:]) / 2
    outside = [values.min() - 1, values.max() + 1, -1e200, 1e200]
    return np.concatenate([values, np.nextafter(values, -INF), np.nextafter(values, INF), between, outside])


def ends(variable: LinguisticVariable) -> np.ndarray:
    return np.array([one.ends for one in variable.sets])


def crisp_words(name: str, column: np.ndarray) -> LinguisticVariable:
    """Three words with upright sides."""
    first, second = np.quantile(column, [0.3, 0.7])
    sets = (FuzzySet.falling("small", first), FuzzySet.crisp("usual", first, second), FuzzySet.rising("large", second))
    return LinguisticVariable(name, sets)
