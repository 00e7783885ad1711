"""Plots of a classifier and its answers: what is drawn is what the model says."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.pipeline import make_pipeline

import ferl
from ferl import FERLClassifier, FERLTreeClassifier
from ferl.calibration import CalibratedFERL
from ferl.metrics import aurc, expected_calibration_error, reliability_curve, risk_coverage_curve
from ferl.plot import (
    plot_decision_regions,
    plot_evidence,
    plot_memberships,
    plot_reliability,
    plot_risk_coverage,
    plot_tree,
)
from table_examples import Mixed, mixed_table

matplotlib = pytest.importorskip("matplotlib", reason='plots need matplotlib: pip install "ferl[plot]"')
colors = pytest.importorskip("matplotlib.colors")
figure_module = pytest.importorskip("matplotlib.figure")

IRIS = load_iris()
LABELS = IRIS.target_names[IRIS.target]
COLOURS = ["#0072B2", "#E69F00", "#009E73"]  # of the first three classes: Okabe and Ito
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
FAR = [50.0, 50.0, 50.0, 50.0]  # where nothing fires


@pytest.fixture
def ax() -> Iterator[Any]:
    """Axes without pyplot; rendered in the end, so that what was drawn can be."""
    figure = figure_module.Figure(figsize=(6, 4), layout="constrained")
    yield figure.subplots()
    figure.canvas.draw()


@pytest.fixture(scope="module")
def medium() -> FERLClassifier:
    return FERLTreeClassifier("medium", random_state=0).fit(IRIS.data, LABELS)


@pytest.fixture(scope="module")
def compact() -> FERLClassifier:
    return FERLTreeClassifier("compact", random_state=0).fit(IRIS.data, LABELS)


@pytest.fixture(scope="module")
def table() -> Mixed:
    return mixed_table(np.random.default_rng(0), n=300)


@pytest.fixture(scope="module")
def mixed(table: Mixed) -> FERLClassifier:
    return FERLTreeClassifier("medium", max_rules=12, random_state=0).fit(table.frame, table.y)


def same_colour(one: Any, other: Any) -> bool:
    return bool(np.allclose(colors.to_rgb(one), colors.to_rgb(other), atol=1 / 255))


def texts(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


# ---------------------------------------------------------------------------------------------------------------------
# Evidence
# ---------------------------------------------------------------------------------------------------------------------


def doubtful_row(clf: FERLClassifier) -> Any:
    size = clf.predict_set(IRIS.data).sum(axis=1)
    assert (size == 2).any()
    return IRIS.data[np.argmax(size == 2)]


@pytest.mark.parametrize("kind", ["certain", "doubtful", "unknown"])
def test_bars_are_belief_and_plausibility(ax: Any, medium: FERLClassifier, kind: str) -> None:
    row = {"certain": IRIS.data[0], "doubtful": doubtful_row(medium), "unknown": FAR}[kind]
    evidence = medium.predict_evidence([row])
    assert plot_evidence(medium, row, ax=ax) is ax
    bars = {container.get_label(): container for container in ax.containers}
    assert [bar.get_width() for bar in bars["belief"]] == pytest.approx(evidence.belief[0])
    ends = [bar.get_x() + bar.get_width() for bar in bars["plausibility"]]
    assert ends == pytest.approx(evidence.plausibility[0])
    lines = {line.get_label(): line for line in ax.lines}
    assert lines["probability"].get_xdata() == pytest.approx(evidence.pignistic[0])
    assert lines["largest belief"].get_xdata()[0] == pytest.approx(evidence.belief.max())
    assert [text.get_text() for text in ax.get_yticklabels()] == medium.classes_.tolist()
    for bar, inside, colour in zip(bars["belief"], evidence.prediction_set()[0], COLOURS[:3], strict=True):
        assert same_colour(bar.get_facecolor(), colour) == inside
    title = {"certain": "setosa", "doubtful": "versicolor or virginica", "unknown": "no answer"}
    assert ax.get_title(loc="left") == title[kind]
    assert ax.get_xlabel() == f"mass of evidence (ignorance {evidence.ignorance[0]:.2f})"


@pytest.mark.parametrize("row", [IRIS.data[70], FAR], ids=["doubtful", "unknown"])
def test_bars_of_wide_rules_hold_masses_on_several_classes_too(ax: Any, row: Any) -> None:
    clf = FERLClassifier(random_state=0).fit(IRIS.data, LABELS)
    evidence = clf.predict_evidence([row])
    plot_evidence(clf, row, ax=ax)
    bars = {container.get_label(): container for container in ax.containers}
    ends = [bar.get_x() + bar.get_width() for bar in bars["plausibility"]]
    assert ends == pytest.approx(evidence.plausibility[0])
    lines = {line.get_label(): line for line in ax.lines}
    assert lines["probability"].get_xdata() == pytest.approx(clf.predict_proba([row])[0])


def test_evidence_of_a_row_with_categories_and_gaps(ax: Any, mixed: FERLClassifier, table: Mixed) -> None:
    row = table.frame.iloc[[3]]
    plot_evidence(mixed, row, class_names=["no", "yes"], legend=False, ax=ax)
    bars = {container.get_label(): container for container in ax.containers}
    belief = mixed.predict_evidence(row).belief[0]
    assert [bar.get_width() for bar in bars["belief"]] == pytest.approx(belief)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["no", "yes"]
    assert ax.get_legend() is None


def test_calibrated_evidence_can_be_drawn(ax: Any, medium: FERLClassifier) -> None:
    calibrated = CalibratedFERL(medium).calibrate(IRIS.data, LABELS)
    plot_evidence(calibrated, IRIS.data[100], ax=ax)
    bars = {container.get_label(): container for container in ax.containers}
    belief = calibrated.predict_evidence(IRIS.data[100:101]).belief[0]
    assert [bar.get_width() for bar in bars["belief"]] == pytest.approx(belief)


# ---------------------------------------------------------------------------------------------------------------------
# Memberships
# ---------------------------------------------------------------------------------------------------------------------


def test_lines_of_words_are_their_memberships(ax: Any, compact: FERLClassifier) -> None:
    plot_memberships(compact, "petal length", feature_names=NAMES, ax=ax)
    assert compact.words_ is not None
    variable = compact.words_[2]
    assert variable is not None
    assert [line.get_label() for line in ax.lines] == [own.name for own in variable.sets]
    low, high = ax.get_xlim()
    for line, own in zip(ax.lines, variable.sets, strict=True):
        values = np.linspace(low, high, 101)
        np.testing.assert_allclose(
            np.interp(values, line.get_xdata(), line.get_ydata()), own.membership(values), atol=1e-9
        )
    assert ax.get_xlabel() == "petal length"
    assert {"low", "medium", "high"} <= set(texts(ax))


@pytest.mark.parametrize("feature", [2, 3])
def test_spans_and_ramps_of_splits_are_their_bands(ax: Any, medium: FERLClassifier, feature: int) -> None:
    plot_memberships(medium, feature, ax=ax)
    tree = medium.tree_
    left = [n + 1 for n in np.flatnonzero(~tree.is_leaf) if tree.feature[n + 1] == feature]
    bands = {(float(tree.trapezoid[node, 2]), float(tree.trapezoid[node, 3])) for node in left}
    spans = {(own.get_x(), own.get_x() + own.get_width()) for own in ax.patches}
    assert sorted(spans) == [pytest.approx(band) for band in sorted(bands)]
    ramps = {(line.get_xdata()[1], line.get_xdata()[2]) for line in ax.lines}
    assert ramps == bands
    assert all(list(line.get_ydata()) == [1, 1, 0, 0] for line in ax.lines)


def test_at_most_so_many_splits_are_drawn_the_heaviest(ax: Any) -> None:
    digits = load_digits()
    clf = FERLTreeClassifier("medium", random_state=0).fit(digits.data, digits.target)
    tree = clf.tree_
    feature = int(np.bincount(tree.feature[1:]).argmax())
    parents = [n for n in np.flatnonzero(~tree.is_leaf) if tree.feature[n + 1] == feature]
    plot_memberships(clf, feature, max_splits=2, ax=ax)
    heaviest = sorted(parents, key=lambda n: -tree.weight[n])[:2]
    assert [line.get_xdata()[1] for line in ax.lines] == [tree.trapezoid[n + 1, 2] for n in heaviest]
    assert ax.get_title(loc="right") == f"the 2 heaviest of {len(parents)} splits"


def test_bars_of_categories_are_their_memberships(ax: Any, mixed: FERLClassifier) -> None:
    plot_memberships(mixed, "c1", ax=ax)
    tree = mixed.tree_
    assert tree.categories is not None
    feature = list(mixed.feature_names_in_).index("c1")
    sides = [n + 1 for n in np.flatnonzero(~tree.is_leaf) if tree.feature[n + 1] == feature]
    expected = [
        np.nan_to_num(tree.categories.of(side)) for side in sorted(sides, key=lambda s: -tree.weight[tree.parent[s]])
    ]
    drawn = [[bar.get_height() for bar in container] for container in ax.containers]
    np.testing.assert_allclose(drawn, expected)
    assert [text.get_text() for text in ax.get_xticklabels()] == [f"level {k}" for k in range(7)]


def test_features_that_no_rule_asks_for_are_refused(medium: FERLClassifier) -> None:
    stump = FERLTreeClassifier("medium", max_rules=2, random_state=0).fit(IRIS.data, LABELS)
    with pytest.raises(ValueError, match=r"No rule reads feature 'x0'\. Choose one that they read: \['x2'\]"):
        plot_memberships(stump, 0)
    with pytest.raises(ValueError, match="There is no feature 'height'"):
        plot_memberships(medium, "height")
    with pytest.raises(ValueError, match="feature is 4; there are features 0 to 3"):
        plot_memberships(medium, 4)
    with pytest.raises(ValueError, match="max_splits is 0"):
        plot_memberships(medium, 2, max_splits=0)


# ---------------------------------------------------------------------------------------------------------------------
# Decision regions
# ---------------------------------------------------------------------------------------------------------------------


def grid_of(ax: Any, n: int) -> tuple[Any, Any]:
    left, right, bottom, top = ax.images[0].get_extent()
    across, up = np.meshgrid(np.linspace(left, right, n), np.linspace(bottom, top, n))
    return across.ravel(), up.ravel()


def test_regions_have_the_colour_of_the_label_and_fade_with_ignorance(ax: Any) -> None:
    clf = FERLTreeClassifier("medium", random_state=0).fit(IRIS.data[:, 2:], LABELS)
    plot_decision_regions(clf, IRIS.data[:, 2:], LABELS, n_steps=40, ax=ax)
    image = np.asarray(ax.images[0].get_array()).reshape(-1, 3)
    rows = np.column_stack(grid_of(ax, 40))
    evidence = clf.predict_evidence(rows)
    code = evidence.pignistic.argmax(axis=1)
    pure = np.array([colors.to_rgb(colour) for colour in COLOURS[:3]])[code]
    away = 1 - image  # from white
    np.testing.assert_allclose(away, 0.6 * (1 - evidence.ignorance)[:, None] * (1 - pure), atol=1e-9)
    assert evidence.ignorance.max() > 0.99  # the picture reaches to where nothing is known, which is white
    np.testing.assert_allclose(image[evidence.ignorance.argmax()], 1.0, atol=0.01)


def test_hatching_covers_the_rows_without_a_single_answer(ax: Any) -> None:
    clf = FERLTreeClassifier("medium", random_state=0).fit(IRIS.data[:, 2:], LABELS)
    plot_decision_regions(clf, IRIS.data[:, 2:], n_steps=60, ax=ax)
    hatched = {own.get_label(): own for own in ax.collections}
    rows = np.column_stack(grid_of(ax, 60))
    size = clf.predict_set(rows).sum(axis=1)
    for label, region in (("several classes", size == 2), ("no answer", size == 3)):
        paths = hatched[label].get_paths()
        covered = np.any([path.contains_points(rows) for path in paths], axis=0)
        assert np.mean(covered == region) > 0.97  # contours cut the cells at their borders
    assert hatched["no answer"].hatches == ["xxxx"]


def test_points_are_the_rows_in_the_colours_of_their_labels(ax: Any, medium: FERLClassifier) -> None:
    plot_decision_regions(medium, IRIS.data, LABELS, features=("x3", 0), n_steps=10, ax=ax)
    points = [own for own in ax.collections if len(own.get_offsets()) == 50]
    assert len(points) == 3
    for own, label, colour in zip(points, medium.classes_, COLOURS[:3], strict=True):
        np.testing.assert_allclose(own.get_offsets(), IRIS.data[label == LABELS][:, [3, 0]])
        assert same_colour(own.get_facecolor()[0], colour)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x3", "x0")


def test_labels_that_training_did_not_have_are_crosses(ax: Any) -> None:
    known = LABELS != "virginica"
    clf = FERLTreeClassifier("medium", random_state=0).fit(IRIS.data[known], LABELS[known])
    plot_decision_regions(clf, IRIS.data, LABELS, features=(2, 3), n_steps=10, ax=ax)
    crosses = next(own for own in ax.collections if own.get_label() == "not a class of training")
    np.testing.assert_allclose(crosses.get_offsets(), IRIS.data[~known][:, [2, 3]])
    assert "not a class of training" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_categories_are_strips_and_hidden_features_have_their_middle(
    ax: Any, mixed: FERLClassifier, table: Mixed
) -> None:
    plot_decision_regions(mixed, table.frame, table.y, features=("x0", "c1"), n_steps=35, ax=ax)
    assert [text.get_text() for text in ax.get_yticklabels()] == [f"level {k}" for k in range(7)]
    across, up = grid_of(ax, 35)
    rows = table.frame.iloc[np.zeros(len(across), dtype=int)].copy()
    rows["x0"], rows["x1"] = across, float(table.frame["x1"].median())
    rows["c1"] = [f"level {int(np.clip(np.round(k), 0, 6))}" for k in up]
    rows["c0"] = table.frame["c0"].mode()[0]
    code = mixed.predict_proba(rows).argmax(axis=1)
    evidence = mixed.predict_evidence(rows)
    pure = np.array([colors.to_rgb(colour) for colour in COLOURS[:2]])[code]
    image = np.asarray(ax.images[0].get_array()).reshape(-1, 3)
    np.testing.assert_allclose(1 - image, 0.6 * (1 - evidence.ignorance)[:, None] * (1 - pure), atol=1e-9)


def test_regions_that_cannot_be_drawn_are_refused(medium: FERLClassifier) -> None:
    with pytest.raises(ValueError, match="name two different ones"):
        plot_decision_regions(medium, IRIS.data, features=(1, "x1"))
    with pytest.raises(ValueError, match="y has 3 labels; X has 150 rows"):
        plot_decision_regions(medium, IRIS.data, ["a", "b", "c"], ax=figure_module.Figure().subplots())
    with pytest.raises(ValueError, match="there are features 0 to 3"):
        plot_decision_regions(medium, IRIS.data, features=(0, 9))
    with pytest.raises(ValueError, match="n_steps is 1"):
        plot_decision_regions(medium, IRIS.data, n_steps=1)


# ---------------------------------------------------------------------------------------------------------------------
# Curves
# ---------------------------------------------------------------------------------------------------------------------


def answers(seed: int, n: int = 200) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.uniform(0.3, 1, n), 2)  # with ties
    truth = rng.integers(3, size=n)
    return truth, np.where(rng.random(n) < confidence, truth, (truth + 1) % 3), confidence


def test_the_risk_coverage_curve_is_that_of_the_metrics(ax: Any) -> None:
    for seed, name in enumerate(("one", "$other$")):
        plot_risk_coverage(*answers(seed), label=name, ax=ax)
    for seed, (line, name, colour) in enumerate(zip(ax.lines, ("one", r"\$other\$"), COLOURS[:2], strict=True)):
        coverage, risk, _ = risk_coverage_curve(*answers(seed))
        np.testing.assert_array_equal(line.get_xdata()[1:], coverage)
        np.testing.assert_array_equal(line.get_ydata()[1:], risk)
        assert (line.get_xdata()[0], line.get_ydata()[0]) == (0.0, risk[0])
        assert line.get_label() == f"{name} (AURC {aurc(*answers(seed)):.3f})"
        assert same_colour(line.get_color(), colour)
        assert ax.get_ylim()[1] > risk.max()


def test_reliability_points_are_the_bins_of_the_calibration_error(ax: Any) -> None:
    for seed in range(2):
        plot_reliability(*answers(seed), n_bins=10, label=f"run {seed}", ax=ax)
    intervals = [own for own in ax.collections if hasattr(own, "get_segments")]
    scatters = [own for own in ax.collections if own not in intervals]
    for seed in range(2):
        mean, accuracy, n_rows = reliability_curve(*answers(seed), n_bins=10)
        np.testing.assert_allclose(scatters[seed].get_offsets(), np.column_stack([mean, accuracy]))
        assert np.argmax(scatters[seed].get_sizes()) == np.argmax(n_rows)
        for segment, x, y in zip(intervals[seed].get_segments(), mean, accuracy, strict=True):
            assert segment[0, 0] == segment[1, 0] == pytest.approx(x)
            assert segment[0, 1] <= y <= segment[1, 1]
    labels = ax.get_legend_handles_labels()[1]
    assert labels == [f"run {s} (ECE {expected_calibration_error(*answers(s), 10):.3f})" for s in range(2)]


def test_intervals_are_those_of_clopper_and_pearson(ax: Any) -> None:
    # 9 of 10 right: the exact interval is 0.555 to 0.9975.
    plot_reliability([1] * 10, [1] * 9 + [0], [0.9] * 10, n_bins=1, ax=ax)
    (segments,) = (own.get_segments() for own in ax.collections if hasattr(own, "get_segments"))
    np.testing.assert_allclose(segments[0][:, 1], [0.5550, 0.99747], atol=1e-4)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_bins", [1, 7, 15])
def test_the_gaps_of_the_reliability_curve_sum_to_the_calibration_error(seed: int, n_bins: int) -> None:
    mean, accuracy, n_rows = reliability_curve(*answers(seed), n_bins=n_bins)
    error = np.sum(n_rows * np.abs(mean - accuracy)) / n_rows.sum()
    assert error == pytest.approx(expected_calibration_error(*answers(seed), n_bins))
    assert n_rows.sum() == 200
    assert (np.diff(mean) > 0).all()


# ---------------------------------------------------------------------------------------------------------------------
# All plots
# ---------------------------------------------------------------------------------------------------------------------


def test_plots_leave_the_settings_of_matplotlib_alone(medium: FERLClassifier) -> None:
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    before, figures = dict(matplotlib.rcParams), pyplot.get_fignums()
    made = [
        plot_evidence(medium, IRIS.data[0]),
        plot_memberships(medium, 2),
        plot_decision_regions(medium, IRIS.data, LABELS, n_steps=5),
        plot_risk_coverage(*answers(0)),
        plot_reliability(*answers(0)),
        plot_tree(medium),
    ]
    assert dict(matplotlib.rcParams) == before
    assert len(pyplot.get_fignums()) == len(figures) + len(made)
    for own in made:
        own.figure.canvas.draw()
        pyplot.close(own.figure)


@pytest.mark.parametrize("plot", [plot_tree, plot_evidence, plot_memberships, plot_decision_regions])
def test_a_pipeline_is_refused_with_a_remedy(plot: Any, medium: FERLClassifier) -> None:
    pipeline, rest = make_pipeline(medium), () if plot is plot_tree else (IRIS.data[0],)
    with pytest.raises(TypeError, match=f"{plot.__name__} got a Pipeline; pass the fitted FERLClassifier"):
        plot(pipeline, *rest)


def test_without_matplotlib_the_error_says_what_to_install(medium: FERLClassifier, monkeypatch: Any) -> None:
    monkeypatch.setattr("ferl.plot.canvas.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'plot_tree needs matplotlib. Install it: pip install "ferl\[plot\]"'):
        ferl.plot_tree(medium)
    with pytest.raises(ImportError, match="plot_risk_coverage needs matplotlib"):
        plot_risk_coverage(*answers(0))


def test_importing_the_plots_does_not_import_matplotlib() -> None:
    code = "import sys, ferl, ferl.plot; ferl.plot_tree; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names_with_control_letters_draw_without_a_warning() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"one\x00\x1b$": rng.choice(["a\x07", "$b"], 100)})
    model = FERLTreeClassifier("compact", random_state=0).fit(table, table.iloc[:, 0])
    ax = plot_memberships(model, 0, ax=figure_module.Figure().subplots())
    ax.figure.savefig(io.BytesIO())
    assert ax.get_xlabel() == r"one \$"
