"""The diagram of critical differences: the test behind it against published values, and what is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason='plots need matplotlib: pip install "ferl[plot]"')

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ferl_bench.critical_difference import alike_groups, average_ranks, critical_difference, plot_critical_difference

# Demšar (2006), table 5(a): for 2 to 10 methods.
PUBLISHED = {
    0.05: (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164),
    0.10: (1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920),
}
DEMSAR = {"C4.5": 3.143, "C4.5+m": 2.000, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964}


@pytest.fixture
def ax() -> Iterator[Axes]:
    figure = Figure(figsize=(7, 3), layout="constrained")
    yield figure.subplots()
    figure.canvas.draw()  # what was drawn can be rendered


def lines(ax: Axes, label: str) -> list[tuple[list[float], list[float]]]:
    return [(list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines if line.get_label() == label]


@pytest.mark.parametrize("alpha", PUBLISHED)
@pytest.mark.parametrize("place", range(9))
def test_critical_differences_are_those_published(alpha: float, place: int) -> None:
    n_methods = place + 2
    quantile = critical_difference(n_methods, 10, alpha) / sqrt(n_methods * (n_methods + 1) / 60)
    # The table was printed from one of quantiles of the range with three digits, and divided by sqrt(2) after that.
    assert quantile == pytest.approx(PUBLISHED[alpha][place], abs=1.1e-3)


def test_ranks_of_equals_are_their_mean_and_errors_are_ranked_the_other_way() -> None:
    scores = {"a": [0.9, 0.5, 0.7], "b": [0.9, 0.6, 0.8], "c": [0.1, 0.7, 0.9]}
    assert average_ranks(scores) == pytest.approx({"a": 7.5 / 3, "b": 5.5 / 3, "c": 5 / 3})
    assert average_ranks(scores, higher_is_better=False) == pytest.approx({"a": 4.5 / 3, "b": 6.5 / 3, "c": 7 / 3})


@pytest.mark.parametrize("seed", range(20))
def test_groups_join_exactly_the_pairs_that_do_not_differ(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ranks, difference = sorted(rng.uniform(1, 9, 9).tolist()), float(rng.uniform(0.2, 4))
    groups = alike_groups(ranks, difference)
    for i in range(9):
        for j in range(i + 1, 9):
            joined = any(first <= i and j <= last for first, last in groups)
            assert joined == (ranks[j] - ranks[i] < difference)
    for first, last in groups:
        assert not any((a, b) != (first, last) and a <= first and last <= b for a, b in groups)


def test_methods_stand_at_their_ranks_with_their_names(ax: Axes) -> None:
    assert plot_critical_difference(DEMSAR, 14, ax=ax) is ax
    stems = {round(line.get_xdata()[0], 3) for line in ax.lines if len(line.get_xdata()) == 3}
    assert stems == set(DEMSAR.values())
    texts = {text.get_text() for text in ax.texts}
    assert {"C4.5+m+cf  1.96", "C4.5+m  2.00", "3.14  C4.5", "2.89  C4.5+cf"} <= texts


def test_the_ruler_is_as_long_as_the_critical_difference(ax: Axes) -> None:
    plot_critical_difference(DEMSAR, 14, ax=ax)
    (((start, end), _),) = lines(ax, "critical difference")
    assert end - start == pytest.approx(critical_difference(4, 14))


@pytest.mark.parametrize(("n_sets", "n_bars"), [(14, 1), (40, 2), (2000, 1)])
def test_a_bar_for_each_group_from_its_first_to_its_last_method(ax: Axes, n_sets: int, n_bars: int) -> None:
    plot_critical_difference(DEMSAR, n_sets, ax=ax)
    ranks = sorted(DEMSAR.values())
    groups = alike_groups(ranks, critical_difference(4, n_sets))
    drawn = lines(ax, "alike")
    assert len(drawn) == len(groups) == n_bars
    for (ends, _), (first, last) in zip(drawn, groups, strict=True):
        assert ends == pytest.approx([ranks[first], ranks[last]], abs=0.03)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ValueError, match=r"sum to 10; these sum to 12\.000"):
        plot_critical_difference({"a": 3, "b": 3, "c": 3, "d": 3}, 10)
    with pytest.raises(ValueError, match="has 1 methods"):
        plot_critical_difference({"a": 1}, 10)
    with pytest.raises(ValueError, match="n_sets is 1"):
        critical_difference(4, 1)
    with pytest.raises(ValueError, match=r"alpha is 1\.5"):
        critical_difference(4, 10, 1.5)
    with pytest.raises(ValueError, match=r"\['b'\] are missing"):
        average_ranks({"a": [1, 2], "b": [1, np.nan]})
    with pytest.raises(ValueError, match="the same sets for all"):
        average_ranks({"a": [1, 2], "b": [1, 2, 3]})
