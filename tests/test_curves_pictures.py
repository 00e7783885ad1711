"""How curves and maps are read: texts of their course, charts of their cells, and how many there are."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from ferl import FERLClassifier, export_text, overview
from ferl._models.shapes import read_shapes
from ferl._tell.curves import MAX_RANGES, curve_lines, curve_summary, merged_cells, pieces_of
from ferl._tell.statements import Style
from ferl.export import export_latex, export_scorecard
from ferl.plot import plot_shapes
from ferl.report import write_report
from ferl.report.charts import shape_charts


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 5000
    frame = pd.DataFrame({"age": rng.normal(45, 12, n).round(), "hours": rng.integers(0, 60, n).astype(float)})
    frame["region"] = rng.choice(["north", "south", "east", "west"], n)
    frame["job"] = rng.choice(list("abcdefgh"), n)
    places = frame["region"].map({"north": 1, "south": -1, "east": 0.5, "west": 0})
    odds = 1.5 * np.sin(frame["age"] / 6) + 1.2 * places * np.where(frame["hours"] > 30, 1, -1)
    odds += frame["job"].map({job: k / 4 - 1 for k, job in enumerate("abcdefgh")})
    y = np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-odds)), "good", "bad")
    frame.loc[rng.uniform(size=n) < 0.05, "hours"] = np.nan
    return frame, y


@pytest.fixture(scope="module")
def clf(table):
    found = FERLClassifier(max_rules=1, random_state=0).fit(*table)
    assert found.n_curves_ > 0
    assert found.n_maps_ > 0
    return found


def style_of(clf):
    model = clf.model_
    return Style(model, model.column_names(), [str(label) for label in model.labels])


def test_the_size_counts_curves_and_maps_wherever_it_is_told(clf):
    expected = f"{clf.n_curves_} curves ({clf.n_corners_} steps)"
    for text in (repr(clf.model_), overview(clf).summary, overview(clf)._repr_html_()):
        assert expected in text
    assert f"({clf.n_cells_} cells)" in repr(clf.model_)
    uses = clf.model_.uses
    assert sum(uses["curves"]) == clf.n_curves_
    assert sum(uses["maps"]) == 2 * clf.n_maps_


def test_texts_have_few_ranges_and_exact_texts_all(clf):
    short, exact = export_text(clf), export_text(clf, exact=True)
    style = style_of(clf)
    for curve in read_shapes(clf.model_).curves:
        if not curve.is_categorical:
            assert curve_lines(style, curve)[-1].count("; ") <= MAX_RANGES
    assert len(short) < len(exact) / 2
    assert "exact=True prints all" in " ".join(short.split())
    assert export_latex(clf).count("age &") <= MAX_RANGES + 1


def test_a_course_that_turns_is_not_told_as_a_steady_one(clf):
    curve = read_shapes(clf.model_).curve(0)
    told = curve_summary(style_of(clf), curve)
    assert not told.startswith("the higher")
    assert "turns" in told or ("rises" in told and "falls" in told)


def test_many_small_steps_back_are_no_steady_course(clf):
    curve = read_shapes(clf.model_).curve(0)
    n = len(curve.values)
    line = np.concatenate([np.linspace(0, 0.1, n // 2), np.linspace(0.1, 0.0, n - n // 2)])
    small = replace(curve, evidence=np.column_stack([-line, line]) / 2, mean=np.zeros(2))
    assert not curve_summary(style_of(clf), small).startswith("the higher")


def test_pieces_of_a_curve_are_its_values(clf):
    curve = read_shapes(clf.model_).curve(0)
    for piece in pieces_of(curve):
        if np.isfinite([piece.low, piece.high]).all():
            middle = curve.at(np.array([(piece.low + piece.high) / 2]))[0]
            np.testing.assert_allclose(middle, (piece.start + piece.end) / 2, atol=1e-9)


def test_merged_cells_keep_the_mean():
    rng = np.random.default_rng(0)
    value, weight = rng.normal(size=(7, 9, 2)), rng.uniform(1, 5, (7, 9))
    groups, merged = merged_cells(value, weight, 12, ((0,), ()))
    assert len(groups[0]) * len(groups[1]) <= 12
    assert groups[0][0] == [0]
    cell = np.ix_(groups[0][1], groups[1][0])
    np.testing.assert_allclose(merged[1, 0], np.average(value[cell], axis=(0, 1), weights=weight[cell]))


def test_a_card_with_whole_points_has_no_equal_neighbours(clf):
    frame = export_scorecard(clf, rounded=True)
    own = frame[(frame["feature"] == "age") & (frame["when"] != "missing")]
    is_level = (own["points"] == own["points_to"]).to_numpy()
    points = own["points"].to_numpy()
    assert not ((points[1:] == points[:-1]) & is_level[1:] & is_level[:-1]).any()
    assert (own["from"].to_numpy()[1:] == own["to"].to_numpy()[:-1]).all()


def test_charts_are_small_and_have_the_cells_of_the_maps(clf):
    charts = shape_charts(clf.model_, style_of(clf), read_shapes(clf.model_))
    assert len(charts["maps"]) == len({tuple(own) for own in clf.model_.curves.column[clf.n_curves_ :].tolist()})
    for chart in charts["maps"]:
        assert sum(len(cell["path"]) for cell in chart["cells"]) < 60_000
        assert all(0 < cell["opacity"] <= 1 for cell in chart["cells"])
    for chart in charts["curves"]:
        for line in chart.get("lines", []):
            points = [tuple(map(float, own.split(","))) for own in line["points"].split()]
            assert all(a <= b for (a, _), (b, _) in pairwise(points))
            assert len(points) <= 2 * clf.n_corners_ + 4


def test_a_report_of_few_rules_is_whole(clf, table, tmp_path):
    X, y = table
    write_report(clf, X[:100], y[:100], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    text = re.sub(r"<[^>]+>", "", page)
    assert "Learned map" in text or "learned map" in text
    assert "Rules ." not in text
    assert f"{clf.n_corners_} steps in all" in text
    assert "Scorecard" in text


def test_plots_draw_steps_without_dots_and_maps_by_their_cells(clf):
    figure = plot_shapes(clf, figure=Figure(), max_features=25)
    drawn = {ax.get_gid(): ax for ax in figure.axes}
    assert all(line.get_marker() != "o" for line in drawn["shape-0"].lines)
    for pair in {tuple(sorted(own)) for own in clf.model_.curves.column[clf.n_curves_ :].tolist()}:
        mesh = drawn[f"shape-{pair[0]}-{pair[1]}"].collections[0]
        assert mesh.get_array().shape[-1] in (3, 4)


def test_stories_of_missing_values_name_their_weight_in_curves(clf, table):
    row = table[0].iloc[[0]].assign(hours=np.nan)
    told = " ".join(str(clf.explain(row, details=True)).split())
    assert "Missing: hours. Rules on it count as they do for the average training row." in told
    assert "Curves and maps have a weight for missing values." in told
    assert re.search(r"hours missing: [x/] [\d.]+, the product of The (curve|map with \w+): [x/] \d", told)
